//! The other end of a line, by its name: [`Endpoint`].

use std::borrow::ToOwned;
use std::boxed::Box;
use std::fmt;
use std::format;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::str::FromStr;
use std::string::{String, ToString};
use std::time::Duration;
use std::vec::Vec;

use serialport::SerialPort;

use super::{IoLine, Line, Stream};
use crate::BAUD_DEFAULT;
use crate::rate::BAUDS;

/// The serial ports of this machine, as the system names them; none where it cannot list them.
pub fn serial_ports() -> Vec<String> {
    let ports = serialport::available_ports().unwrap_or_default();
    ports.into_iter().map(|port| port.port_name).collect()
}

/// How long to wait for a TCP connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The other end of a line.
///
/// ```
/// use meshalloc_firmware::client::Endpoint;
/// let board: Endpoint = "serial:/dev/ttyACM0".parse().unwrap();
/// assert_eq!(board.to_string(), "serial:/dev/ttyACM0@115200");
/// assert!("tcp:localhost".parse::<Endpoint>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `tcp:HOST:PORT`.
    Tcp {
        /// Host and port.
        address: String,
    },
    /// `unix:PATH`, on systems that have such sockets.
    Unix {
        /// The socket's path.
        path: String,
    },
    /// `serial:DEVICE@BAUD`, 8 data bits, no parity, 1 stop bit.
    Serial {
        /// The device, as the system names it.
        device: String,
        /// Bits a second, one of [`BAUDS`], at which it is used: it is opened at [`BAUD_DEFAULT`],
        /// and the controller asked to change.
        baud: u32,
    },
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD".to_owned();
        if let Some(address) = text.strip_prefix("tcp:") {
            let (host, port) = address.rsplit_once(':').ok_or_else(expected)?;
            let port = port.parse::<u16>().ok().filter(|&port| port > 0);
            if host.is_empty() || port.is_none() {
                return Err("expected tcp:HOST:PORT, the port 1 to 65535".to_owned());
            }
            return Ok(Endpoint::Tcp {
                address: address.to_owned(),
            });
        }
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            let path = path.to_owned();
            return Ok(Endpoint::Unix { path });
        }
        let serial = text.strip_prefix("serial:").ok_or_else(expected)?;
        let (device, baud) = match serial.rsplit_once('@') {
            None => (serial, Some(BAUD_DEFAULT)),
            Some((device, baud)) => (
                device,
                baud.parse().ok().filter(|baud| BAUDS.contains(baud)),
            ),
        };
        match baud {
            Some(baud) if !device.is_empty() => Ok(Endpoint::Serial {
                device: device.to_owned(),
                baud,
            }),
            _ => Err(format!(
                "expected serial:DEVICE@BAUD, such as serial:/dev/ttyACM0@115200; BAUD is one of {}",
                BAUDS.map(|baud| baud.to_string()).join(", ")
            )),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { address } => write!(f, "tcp:{address}"),
            Endpoint::Unix { path } => write!(f, "unix:{path}"),
            Endpoint::Serial { device, baud } => write!(f, "serial:{device}@{baud}"),
        }
    }
}

impl Endpoint {
    /// The rate at which it is used, in bits a second. Only a serial port has another one than
    /// [`BAUD_DEFAULT`].
    pub const fn baud(&self) -> u32 {
        match self {
            Endpoint::Serial { baud, .. } => *baud,
            _ => BAUD_DEFAULT,
        }
    }

    /// Opens the line, at [`BAUD_DEFAULT`].
    ///
    /// # Errors
    ///
    /// When it cannot be opened: the reason.
    pub fn open(&self) -> Result<Box<dyn Line + Send>, String> {
        match self {
            Endpoint::Tcp { address } => {
                let stream = connect(address).map_err(|error| {
                    let nothing = error.kind() == io::ErrorKind::ConnectionRefused;
                    let nothing = if nothing {
                        "; nothing listens there"
                    } else {
                        ""
                    };
                    format!("cannot connect: {error}{nothing}")
                })?;
                let line = IoLine::tcp(stream).map_err(|error| error.to_string())?;
                Ok(Box::new(line))
            }
            #[cfg(unix)]
            Endpoint::Unix { path } => {
                let stream = UnixStream::connect(path);
                let stream = stream.map_err(|error| format!("cannot connect: {error}"))?;
                Ok(Box::new(IoLine::new(stream)))
            }
            #[cfg(not(unix))]
            Endpoint::Unix { .. } => Err("this system has no such sockets".to_owned()),
            Endpoint::Serial { device, .. } => {
                let port = serialport::new(device, BAUD_DEFAULT).open();
                let port =
                    port.map_err(|error| format!("cannot open: {error}{}", remedy(&error)))?;
                Ok(Box::new(IoLine::new(port)))
            }
        }
    }
}

/// What can be done about a port that does not open.
fn remedy(error: &serialport::Error) -> &'static str {
    match error.kind {
        serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied) => {
            "; your user may not use it: on Linux, add it to the group of the port \
             (`sudo usermod -aG dialout $USER`), and log in again"
        }
        _ => "",
    }
}

impl Stream for Box<dyn SerialPort> {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        SerialPort::set_timeout(&mut **self, timeout).map_err(io::Error::from)
    }

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        self.set_baud_rate(baud).map_err(io::Error::from)
    }
}

/// Tries every address of the host in turn.
fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_and_written() {
        for (text, written) in [
            ("tcp:127.0.0.1:4000", "tcp:127.0.0.1:4000"),
            ("tcp:[::1]:4000", "tcp:[::1]:4000"),
            ("unix:/tmp/serial", "unix:/tmp/serial"),
            ("serial:/dev/ttyACM0", "serial:/dev/ttyACM0@115200"),
            ("serial:/dev/ttyACM0@1000000", "serial:/dev/ttyACM0@1000000"),
            ("serial:COM3@460800", "serial:COM3@460800"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), written);
        }
        for wrong in [
            "",
            "tcp",
            "tcp:",
            "tcp:host",
            "tcp::4000",
            "tcp:host:0",
            "tcp:host:70000",
            "unix:",
            "serial:",
            "serial:@115200",
            "serial:/dev/x@9600",
            "serial:/dev/x@",
            "serial:/dev/x@fast",
            "udp:host:1",
        ] {
            let error = wrong.parse::<Endpoint>().unwrap_err();
            assert!(error.starts_with("expected "), "{wrong}: {error}");
        }
    }
}
