//! A controller at the end of a line: a board on a serial port, or one in an emulator behind a
//! socket.

use std::time::Duration;

use meshalloc::{Change, Configuration, Description, Error, Outcome, StrategyKind};
use meshalloc_firmware::client::{Client, ClientError, Endpoint, Line, Options};
use meshalloc_firmware::protocol::{Greeting, ProtocolError};

use crate::failure::{self, Failure};
use crate::signals::is_interrupted;
use meshalloc_sim::backend::{Backend, BackendError, Backends, Called};
use meshalloc_sim::statistics::Delays;

mod twin;

/// The limits for putting the controller in order at the end: the time for a reply, the number of
/// attempts, and the time without progress. After an interruption the user waits for this.
const LEAVE: (Duration, u32, Duration) = (Duration::from_secs(1), 5, Duration::from_secs(2));
const LEAVE_INTERRUPTED: (Duration, u32, Duration) =
    (Duration::from_millis(200), 2, Duration::from_millis(100));

/// A possible cause of the error, or a remedy.
fn hint(error: &ClientError) -> &'static str {
    match error {
        ClientError::NoReply { stray, .. } if stray.bytes == 0 => {
            "; a controller serves one client at a time, so another one may be connected, or nothing runs there"
        }
        ClientError::Refused {
            error: ProtocolError::LeasesRun,
            ..
        } => "; a simulation needs it: wait until the leases of other clients have ended",
        ClientError::Refused {
            error: ProtocolError::BadMessage,
            ..
        } => {
            "; an image knows gangs, priorities, preemption, replacement and tolerance only with these features"
        }
        _ => "",
    }
}

/// A client of the controller at the end of a line.
pub(crate) fn connect(endpoint: &Endpoint) -> Result<Client<Box<dyn Line + Send>>, Failure> {
    let line = endpoint.open();
    let line = line.map_err(|reason| format!("{endpoint}: {reason}"))?;
    let options = Options {
        baud: endpoint.baud(),
        interrupted: Some(is_interrupted),
        ..Options::default()
    };
    let client = Client::connect(line, options);
    client.map_err(|error| command_failure(endpoint, &error))
}

/// The error of a run whose exchange with the controller failed or was interrupted.
pub(crate) fn run_error(endpoint: &Endpoint, error: &ClientError) -> BackendError {
    match error {
        ClientError::Interrupted => BackendError::Interrupted,
        error => BackendError::Line {
            endpoint: endpoint.to_string(),
            reason: format!("{error}{}", hint(error)),
        },
    }
}

/// The failure of a command whose exchange with the controller failed or was interrupted.
pub(crate) fn command_failure(endpoint: &Endpoint, error: &ClientError) -> Failure {
    match run_error(endpoint, error) {
        BackendError::Interrupted => Failure::Incomplete(failure::interrupted()),
        error => error.to_string().into(),
    }
}

/// The one controller at the end of a line, for one run after another.
///
/// Opening the line takes over the controller and its clock. When a run begins, jobs and faults of
/// earlier clients are forgotten. At the end no job is left behind, and the controller uses its own
/// clock again.
pub struct LineBackends {
    endpoint: Endpoint,
    client: Client<Box<dyn Line + Send>>,
    /// The strategy and the round trips of each configuration so far, the latest last.
    round_trips: Vec<(StrategyKind, Delays)>,
    is_used: bool,
    /// Whether the line is gone or has another client, so that nothing can be put in order at the
    /// end.
    is_lost: bool,
}

impl LineBackends {
    /// Opens the line, reads the greeting and takes over the clock, which is virtual until this
    /// value is dropped. It is an error if other clients have jobs with leases.
    pub fn open(endpoint: &Endpoint) -> Result<Self, Failure> {
        let mut client = connect(endpoint)?;
        let taken = client.use_virtual_clock(true);
        taken.map_err(|error| command_failure(endpoint, &error))?;
        let stays = client.baud();
        if stays != endpoint.baud() {
            failure::to_stderr(&format_args!(
                "{endpoint}: this rate does not work here, the line stays at {stays}"
            ));
        }
        Ok(LineBackends {
            endpoint: endpoint.clone(),
            client,
            round_trips: Vec::new(),
            is_used: false,
            is_lost: false,
        })
    }

    /// The greeting of the controller.
    pub fn greeting(&self) -> &Greeting {
        self.client.greeting()
    }

    /// How long changes took, from sending to the last byte of the reply, in nanoseconds. It covers
    /// all runs so far of a strategy, or of a strategy that was given several seeds.
    pub fn round_trips(&self, strategies: &[StrategyKind]) -> Delays {
        let runs = self.round_trips.iter();
        let of_strategy = runs.filter(|run| strategies.contains(&run.0));
        of_strategy.map(|run| &run.1).collect()
    }

    fn failed(&mut self, error: &ClientError) -> BackendError {
        self.is_lost |= ends_control(error);
        match error {
            // The controller has answered before, so the hint about a wrong place does not apply.
            ClientError::NoReply { .. } => self.error(error.to_string()),
            _ => run_error(&self.endpoint, error),
        }
    }

    fn error(&self, reason: String) -> BackendError {
        BackendError::Line {
            endpoint: self.endpoint.to_string(),
            reason,
        }
    }

    fn prepare(&mut self, change: &Change) -> Called<Outcome> {
        let outcome = self.client.call(change, Some(0), &mut |_, _| ());
        outcome.map_err(|error| self.failed(&error))
    }
}

impl Backends for LineBackends {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        self.check_description(description)?;
        // The reset removes the jobs of an interrupted client, which would forbid the
        // configuration.
        self.prepare(&Change::Reset)?
            .map_err(|error| self.unexpected(&error))?;
        match self.prepare(&Change::Configure(configuration))? {
            Ok(_) => {
                self.is_used = true;
                twin::with(self, configuration, description, body)
            }
            Err(Error::Configure(reason)) => Err(BackendError::Configure {
                configuration,
                reason,
            }),
            Err(error) => Err(self.unexpected(&error)),
        }
    }
}

impl Drop for LineBackends {
    /// Leaves no job behind, and gives the controller its own clock back.
    fn drop(&mut self) {
        if self.is_lost {
            return;
        }
        let (timeout, tries, patience) = if is_interrupted() {
            LEAVE_INTERRUPTED
        } else {
            LEAVE
        };
        self.client.hurry(timeout, tries, patience);
        let mut left = Ok(());
        if self.is_used {
            let reset = self.client.call(&Change::Reset, None, &mut |_, _| ());
            left = reset.map(|_| ());
        }
        let left = left.and_then(|()| self.client.use_virtual_clock(false));
        if let Err(error) = left {
            let endpoint = &self.endpoint;
            failure::to_stderr(&format_args!(
                "{endpoint}: the controller may have jobs of this run still: {error}"
            ));
        }
    }
}

/// Whether this client no longer controls the controller.
const fn ends_control(error: &ClientError) -> bool {
    match error {
        ClientError::Line { .. }
        | ClientError::NoReply { .. }
        | ClientError::WrongVersion { .. }
        | ClientError::SessionLost => true,
        ClientError::Refused { error, .. } => matches!(error, ProtocolError::NoVirtualClock),
        ClientError::ControllerReset { .. }
        | ClientError::UnknownReply { .. }
        | ClientError::NoEnd { .. }
        | ClientError::Untrue { .. }
        | ClientError::Interrupted => false,
    }
}

impl LineBackends {
    /// Whether the controller was built for this description, or for none.
    fn check_description(&self, expected: Option<&Description>) -> Result<(), BackendError> {
        let built = self.client.greeting().description;
        let expected = expected.map(Description::digest);
        if built == expected {
            return Ok(());
        }
        let reason = match (built, expected) {
            (None, _) => {
                "the controller was built without a description of its machine (expected one that \
                 was built for this machine)"
            }
            (Some(_), None) => {
                "the controller serves only the machine of its description (expected --machine with \
                 the same description)"
            }
            _ => {
                "the controller was built for another description of its machine (expected the same \
                 one)"
            }
        };
        Err(self.error(reason.to_owned()))
    }

    fn unexpected(&self, error: &Error) -> BackendError {
        self.error(format!("the controller cannot be made ready: {error}"))
    }
}
