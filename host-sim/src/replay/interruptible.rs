//! An input that an interruption ends.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::signals::is_interrupted;

/// The time between two checks for an interruption.
const LOOK: Duration = Duration::from_millis(50);
const CHUNK_BYTES: usize = 1 << 12;

/// Standard input until the program is interrupted.
pub(crate) struct Interruptible {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// The latest chunk. Its position is the first byte that was not read yet.
    chunk: io::Cursor<Vec<u8>>,
}

impl Interruptible {
    /// Reads standard input in a thread of its own, which ends with the program.
    pub(crate) fn standard_input() -> Self {
        let (sender, chunks) = sync_channel(1);
        thread::spawn(move || {
            loop {
                let mut bytes = vec![0; CHUNK_BYTES];
                let read = io::stdin().read(&mut bytes);
                let is_last = !matches!(read, Ok(1..));
                let chunk = read.map(|len| {
                    bytes.truncate(len);
                    bytes
                });
                if sender.send(chunk).is_err() || is_last {
                    return;
                }
            }
        });
        Interruptible {
            chunks,
            chunk: io::Cursor::default(),
        }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.chunk.read(buffer)?;
            if len > 0 {
                return Ok(len);
            }
            if is_interrupted() {
                return Err(io::Error::other("interrupted"));
            }
            match self.chunks.recv_timeout(LOOK) {
                Ok(chunk) => self.chunk = io::Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
