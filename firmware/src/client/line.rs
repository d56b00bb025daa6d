//! The line of a client: [`Line`], and [`IoLine`] for TCP streams, Unix sockets and serial ports.

use std::boxed::Box;
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

/// A stream that reads and writes with a timeout. Written bytes must leave without a flush: a flush
/// of a serial port could wait forever for an other end that accepts no bytes.
pub trait Stream: io::Read + io::Write {
    /// Sets the timeout of reading and writing.
    ///
    /// # Errors
    ///
    /// If the stream does not support it.
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()>;

    /// Sets the rate of this end, in bits per second. A stream without a rate ignores it.
    ///
    /// # Errors
    ///
    /// If the stream has failed, or does not support this rate.
    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        let _ = baud;
        Ok(())
    }
}

impl Stream for TcpStream {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

#[cfg(unix)]
impl Stream for UnixStream {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

/// A [`Line`] over a [`Stream`]: a TCP stream, a Unix socket, a serial port.
#[derive(Debug)]
pub struct IoLine<S> {
    stream: S,
    /// The timeout to which the stream is set.
    timeout: Option<Duration>,
}

impl<S: Stream> IoLine<S> {
    /// Makes a line over `stream`. For TCP use [`IoLine::tcp`], which sends each frame at once.
    pub const fn new(stream: S) -> Self {
        IoLine {
            stream,
            timeout: None,
        }
    }

    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        if self.timeout != Some(timeout) {
            self.stream.set_timeout(timeout)?;
            self.timeout = Some(timeout);
        }
        Ok(())
    }
}

impl IoLine<TcpStream> {
    /// Makes a line over a TCP stream. It sends without delay (`TCP_NODELAY`), since frames are
    /// small and each waits for its reply.
    ///
    /// # Errors
    ///
    /// If the stream's options cannot be set.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(IoLine::new(stream))
    }
}

impl<S: Stream> Line for IoLine<S> {
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

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        self.stream.set_baud(baud)
    }
}

/// Whether nothing was read or written before the timeout or a signal.
fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
