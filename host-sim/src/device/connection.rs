//! A controller at the end of a line, and the options that say where it is.

use std::sync::LazyLock;

use clap::Args;
use meshalloc::{Configuration, Description, Query};
use meshalloc_firmware::client::{Client, Endpoint, Line, serial_ports};
use meshalloc_firmware::protocol::Greeting;

use crate::failure::Failure;
use crate::line::{connect, run_error};
use meshalloc_sim::backend::BackendError;
use meshalloc_sim::situation::Situation;

/// Where the controller is.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub(crate) struct PlaceArgs {
    /// The serial port, such as /dev/ttyACM0 or COM3; @BAUD behind it chooses a rate
    #[arg(long, value_name = "DEVICE", global = true)]
    port: Option<String>,

    /// A TCP port, such as that of a board in QEMU
    #[arg(long, value_name = "HOST:PORT", global = true)]
    tcp: Option<String>,

    /// A Unix socket
    #[arg(long, value_name = "PATH", global = true)]
    unix: Option<String>,
}

/// A controller at the end of a line.
pub(crate) struct Connection {
    pub(crate) endpoint: Endpoint,
    pub(super) client: Client<Box<dyn Line + Send>>,
    pub(crate) configuration: Configuration,
    pub(super) description: Option<&'static Description>,
}

impl Connection {
    pub(crate) fn open(place: &PlaceArgs) -> Result<Self, Failure> {
        let endpoint = place.endpoint()?;
        let client = connect(&endpoint)?;
        Ok(Connection {
            configuration: client.greeting().configuration,
            description: described(client.greeting())?,
            endpoint,
            client,
        })
    }

    pub(crate) fn situation(&mut self) -> Result<Situation<'static>, BackendError> {
        let Connection {
            endpoint,
            client,
            configuration,
            description,
        } = self;
        let ask = &mut |query: &Query| {
            let answer = client.query(query);
            answer.map_err(|error| run_error(endpoint, &error))
        };
        Situation::read(ask, *configuration, *description)
    }
}

impl PlaceArgs {
    pub(crate) const fn is_given(&self) -> bool {
        self.port.is_some() || self.tcp.is_some() || self.unix.is_some()
    }

    fn endpoint(&self) -> Result<Endpoint, String> {
        let (option, text) = match (&self.port, &self.tcp, &self.unix) {
            (Some(device), _, _) => ("--port", format!("serial:{device}")),
            (_, Some(address), _) => ("--tcp", format!("tcp:{address}")),
            (_, _, Some(path)) => ("--unix", format!("unix:{path}")),
            _ => {
                let ports = serial_ports();
                let found = if ports.is_empty() {
                    "this machine has none".to_owned()
                } else {
                    format!("this machine has {}", ports.join(", "))
                };
                return Err(format!(
                    "no controller is named (expected --port DEVICE, a serial port; {found}; or \
                     --tcp HOST:PORT, or --unix PATH)"
                ));
            }
        };
        text.parse().map_err(|expected: String| {
            let (kind, place) = text.split_once(':').unwrap_or_default();
            let expected = match kind {
                "tcp" => "expected HOST:PORT, such as 127.0.0.1:4000",
                _ => &expected.replace("serial:", ""),
            };
            format!("{option} {place}: {expected}")
        })
    }
}

/// The built-in description of the controller's machine, if it was built for one.
fn described(greeting: &Greeting) -> Result<Option<&'static Description>, String> {
    static KNOWN: LazyLock<Vec<Description>> = LazyLock::new(|| {
        let names = Description::PRESETS.into_iter();
        names.filter_map(Description::preset).collect()
    });
    let Some(digest) = greeting.description else {
        return Ok(None);
    };
    let known = KNOWN.iter().find(|machine| machine.digest() == digest);
    known.map(Some).ok_or_else(|| {
        format!(
            "the controller was built for the description {digest:#010x} of its machine, which is \
             none of the built-in ones"
        )
    })
}
