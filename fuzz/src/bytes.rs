//! Bytes that choose the operations.

/// The rest of an input.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next byte; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    /// The next byte, 0 at the end.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// A number of 16 bits.
    pub(crate) fn short(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// One of these.
    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A byte with a length, and as many bytes, or all that are left.
    pub(crate) fn chunk(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (chunk, rest) = self.0.split_at(len);
        self.0 = rest;
        chunk
    }
}
