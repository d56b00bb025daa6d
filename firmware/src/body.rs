//! Bodies of frames: messages in the format of `postcard`, [`encode`] and [`decode`].

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

/// Writes the body of a message; returns its length.
///
/// # Errors
///
/// When there is no room for it.
pub(crate) fn encode(message: &impl Serialize, room: &mut [u8]) -> postcard::Result<usize> {
    postcard::serialize_with_flavor(message, Written { room, len: 0 })
}

/// The message whose body these bytes are, all of them.
///
/// # Errors
///
/// When they are not that of a message.
pub(crate) fn decode<'de, T: Deserialize<'de>>(body: &'de [u8]) -> postcard::Result<T> {
    let mut reader = postcard::Deserializer::from_bytes(body);
    // Where it is returned, without a copy.
    let mut message = T::deserialize(&mut reader);
    if !matches!(reader.finalize(), Ok([])) {
        message = Err(postcard::Error::DeserializeBadEncoding);
    }
    message
}

/// What is written, and how much of it there is. The crate's own copies each number, of a byte as a rule, by a call of `memcpy`.
struct Written<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Flavor for Written<'_> {
    type Output = usize;

    #[inline(always)]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        let place = self.room.get_mut(self.len);
        *place.ok_or(postcard::Error::SerializeBufferFull)? = byte;
        self.len += 1;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.len)
    }
}
