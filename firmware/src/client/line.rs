//! The bytes below a client: [`Line`], and [`IoLine`] for TCP streams, Unix sockets and serial ports.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A two-way stream of bytes that may lose or change some.
pub trait Line {
    /// Sends all bytes.
    ///
    /// # Errors
    ///
    /// When the line is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits at most `timeout` for bytes. Returns how many came, 0 when none did.
    ///
    /// # Errors
    ///
    /// When the line is gone, also when the other end has closed it.
    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sets the rate of this end, in bits a second. A line that has none ignores it.
    ///
    /// # Errors
    ///
    /// When the line is gone, or does not have this rate.
    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        let _ = baud;
        Ok(())
    }
}

impl<L: Line + ?Sized> Line for Box<L> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).send(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        (**self).receive(buffer, timeout)
    }

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        (**self).set_baud(baud)
    }
}

/// A [`Line`] over anything that reads, writes and has a read timeout: a TCP stream, a serial port.
pub struct IoLine<S, F> {
    stream: S,
    set_timeout: F,
    /// What the stream is set to.
    timeout: Option<Duration>,
}

impl<S, F> IoLine<S, F>
where
    S: io::Read + io::Write,
    F: FnMut(&mut S, Duration) -> io::Result<()>,
{
    /// A line over `stream`, whose read timeout `set_timeout` sets.
    pub const fn new(stream: S, set_timeout: F) -> Self {
        IoLine {
            stream,
            set_timeout,
            timeout: None,
        }
    }

    /// The stream.
    pub const fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl IoLine<TcpStream, fn(&mut TcpStream, Duration) -> io::Result<()>> {
    /// A line over a TCP stream. Frames are small and each waits for its reply, so they are sent without
    /// delay.
    ///
    /// # Errors
    ///
    /// When the stream's options cannot be set.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(IoLine::new(stream, |stream, timeout| {
            stream.set_read_timeout(Some(timeout))
        }))
    }
}

#[cfg(unix)]
impl IoLine<UnixStream, fn(&mut UnixStream, Duration) -> io::Result<()>> {
    /// A line over a Unix socket. An emulator sends byte by byte, for which it takes less than TCP.
    pub const fn unix(stream: UnixStream) -> Self {
        IoLine::new(stream, |stream, timeout| {
            stream.set_read_timeout(Some(timeout))
        })
    }
}

impl<S: fmt::Debug, F> fmt::Debug for IoLine<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoLine")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl<S, F> Line for IoLine<S, F>
where
    S: io::Read + io::Write,
    F: FnMut(&mut S, Duration) -> io::Result<()>,
{
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if self.timeout != Some(timeout) {
            (self.set_timeout)(&mut self.stream, timeout)?;
            self.timeout = Some(timeout);
        }
        match self.stream.read(buffer) {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the other end has closed the line",
            )),
            Ok(len) => Ok(len),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            },
        }
    }
}
