//! The line of a client: [`Line`], and [`IoLine`] for TCP streams, Unix sockets and serial ports.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A two-way stream of bytes that may lose or change some.
pub trait Line {
    /// Sends all bytes within seconds.
    ///
    /// # Errors
    ///
    /// If the line has failed, or the other end accepts no bytes.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits at most `timeout` for bytes. Returns the number of bytes received, 0 after a timeout.
    ///
    /// # Errors
    ///
    /// If the line has failed, or the other end has closed it.
    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sets the rate of this end, in bits per second. A line without a rate ignores it.
    ///
    /// # Errors
    ///
    /// If the line has failed, or does not support this rate.
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

/// The time in which the other end must accept a frame. At 115,200 baud the longest frame takes 9
/// ms.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// A [`Line`] over a stream that reads and writes with a timeout: a TCP stream, a serial port.
///
/// Written bytes must leave without a flush. Flushing a serial port could wait forever for an other
/// end that accepts no bytes.
pub struct IoLine<S, F> {
    stream: S,
    set_timeout: F,
    /// The timeout to which the stream is set.
    timeout: Option<Duration>,
}

impl<S, F> IoLine<S, F>
where
    S: io::Read + io::Write,
    F: FnMut(&mut S, Duration) -> io::Result<()>,
{
    /// Makes a line over `stream`; `set_timeout` sets the stream's timeout of reading and writing.
    pub const fn new(stream: S, set_timeout: F) -> Self {
        IoLine {
            stream,
            set_timeout,
            timeout: None,
        }
    }

    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        if self.timeout != Some(timeout) {
            (self.set_timeout)(&mut self.stream, timeout)?;
            self.timeout = Some(timeout);
        }
        Ok(())
    }

    /// The stream.
    pub const fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl IoLine<TcpStream, fn(&mut TcpStream, Duration) -> io::Result<()>> {
    /// Makes a line over a TCP stream. It sends without delay (`TCP_NODELAY`), since frames are
    /// small and each waits for its reply.
    ///
    /// # Errors
    ///
    /// If the stream's options cannot be set.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(IoLine::new(stream, |stream, timeout| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))
        }))
    }
}

#[cfg(unix)]
impl IoLine<UnixStream, fn(&mut UnixStream, Duration) -> io::Result<()>> {
    /// Makes a line over a Unix socket. An emulator sends byte by byte; a Unix socket costs it less
    /// than TCP.
    pub const fn unix(stream: UnixStream) -> Self {
        IoLine::new(stream, |stream, timeout| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))
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
        if self.timeout.is_none() {
            self.set_timeout(SEND_TIMEOUT)?;
        }
        let since = Instant::now();
        let mut left = bytes;
        while !left.is_empty() {
            let written = match self.stream.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if is_timeout(&error) => 0,
                Err(error) => return Err(error),
            };
            left = left.get(written..).unwrap_or_default();
            if !left.is_empty() && since.elapsed() > SEND_TIMEOUT {
                let reason = "the other end accepts no bytes";
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        self.set_timeout(timeout)?;
        match self.stream.read(buffer) {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the other end has closed the line",
            )),
            Ok(len) => Ok(len),
            Err(error) if is_timeout(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Whether nothing was read or written before the timeout or a signal.
fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
