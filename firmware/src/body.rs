//! Bodies of frames: [`encode`] and [`decode`] messages in the format of `postcard`.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

/// Writes the body of a message into `room`. Returns its length in bytes.
///
/// # Errors
///
/// If the body is longer than `room`.
pub(crate) fn encode(message: &impl Serialize, room: &mut [u8]) -> postcard::Result<usize> {
    postcard::serialize_with_flavor(message, BodyWriter { room, len: 0 })
}

/// Reads a message from its body, which must have no further bytes.
///
/// # Errors
///
/// If the bytes are not the body of a message.
pub(crate) fn decode<'de, T: Deserialize<'de>>(body: &'de [u8]) -> postcard::Result<T> {
    let mut reader = postcard::Deserializer::from_bytes(body);
    // One variable holds the result from beginning to end, so that the compiler reads the message
    // into the place of the result, without a copy.
    let mut message = T::deserialize(&mut reader);
    if !matches!(reader.finalize(), Ok([])) {
        message = Err(postcard::Error::DeserializeBadEncoding);
    }
    message
}

/// Writes bytes into a slice. The writer of `postcard` calls `memcpy` for each number, which
/// usually has one byte.
struct BodyWriter<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Flavor for BodyWriter<'_> {
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
