//! The controllers of a simulation: in this process, or at the end of a line.

use crate::forward_backend;
use meshalloc::message::Capacity;
use meshalloc::{
    Answer, Block, Change, Configuration, ConfigureError, Description, Error, Event, JobId,
    Outcome, Query, Request, StrategyKind, Ticks,
};

mod around;
mod forward;
pub mod in_process;
pub mod own;
mod stopwatch;

pub use around::Around;
pub use in_process::{GrowingStorage, InProcess, InProcessBackends, heap_storage, needs, room};
pub use own::{OwnBackends, Policy, PolicyBackends, StrategyBackends, Waiting};

/// A callback that gets an event, with the blocks of a job that was granted.
pub type OnEvent<'a> = &'a mut dyn FnMut(&Event, &[Block]);

/// The answer of a controller to a change or a query. The outer error is a [`Backend`] that failed.
pub type Called<T> = Result<Result<T, Error>, BackendError>;

/// What a controller serves, and how.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Its configuration.
    pub configuration: Configuration,
    /// The description of the machine, if it has one.
    pub description: Option<Description>,
}

/// A [`meshalloc::Controller`], wherever it runs.
pub trait Backend {
    /// Carries a change out at virtual time `now`, and passes on the events in order. A controller
    /// with a clock of its own answers by that clock: for virtual time use `now`, not the time in
    /// an event.
    ///
    /// # Errors
    ///
    /// When the change or its outcome was lost, so that the controller's state is unknown. The
    /// inner error is a change that the controller refuses.
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called<Outcome>;

    /// Interrupts running jobs, without an event; then the scheduler tries the waiting jobs. Each
    /// interrupted job waits again at its place in the queue, and its counts go on. If jobs have
    /// the same time in the queue, the smaller name is first ([`meshalloc::Controller::requeue`]).
    ///
    /// # Errors
    ///
    /// When the controller cannot do that, even if `jobs` is empty.
    fn requeue(&mut self, jobs: &[JobId], now: Ticks, on_event: OnEvent<'_>) -> Called<()> {
        let _ = (jobs, now, on_event);
        Err(BackendError::KeepsNoPlaces)
    }

    /// Whether the strategy would find a place for the request now.
    fn fits(&mut self, request: &Request) -> bool;

    /// The processors that must be free for an attempt to be valid: a valid attempt that fails is
    /// an allocation miss ([`meshalloc::Contiguity::requested`]).
    fn requested(&self, request: &Request) -> u32;

    /// Answers a query; an error when the controller cannot be reached, or answers no queries.
    fn query(&mut self, query: &Query) -> Called<Answer> {
        let _ = query;
        Err(BackendError::NoQueries)
    }

    /// The numbers of words, jobs and blocks that the controller has room for.
    fn capacity(&self) -> Capacity;

    /// Whether only the first of the waiting jobs may try: first come, first served.
    fn is_in_order(&self) -> bool;

    /// What the controller serves. `None` if the strategy or the scheduler is your own, or if the
    /// backend does not know; then a run cannot measure reasons or preempt jobs.
    fn served(&self) -> Option<Served> {
        None
    }

    /// Makes room for more jobs than [`Backend::capacity`] said until now; the state of the
    /// controller stays. Returns false if there is no more room, as on a board.
    fn make_room(&mut self) -> bool {
        false
    }

    /// The time that the controller took for the latest change, in seconds on the wall clock;
    /// `None` where it is not measured. Very short times may be measured as slightly less than 0.
    fn latest_seconds(&self) -> Option<f64> {
        None
    }
}

impl<B: Backend + ?Sized> Backend for &mut B {
    forward_backend!(it => (**it); call, requeue, fits, requested, query, capacity, is_in_order,
        served, make_room, latest_seconds);
}

/// Prepares backends: one empty controller in a given configuration for each run. The controller is
/// lent to a closure, so that a backend that borrows its memory and one that reuses a single line
/// have the same interface.
pub trait Backends {
    /// Calls `body` once, with a controller that serves `configuration` and has no job. With a
    /// description, whose grid is that of the configuration, the controller gives only slices that
    /// are legal by the description.
    ///
    /// # Errors
    ///
    /// When the controller cannot be reached or does not take the configuration: `body` is not
    /// called.
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError>;
}

impl<B: Backends + ?Sized> Backends for &mut B {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        (**self).with(configuration, description, body)
    }
}

/// What the strategy expects of the machine, if that is why it does not serve this one.
fn expected(strategy: StrategyKind, reason: ConfigureError) -> String {
    match reason {
        ConfigureError::MachineUnsuitable => format!(" (expected {})", strategy.serves()),
        _ => String::new(),
    }
}

/// Why a backend cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The controller does not take the configuration.
    #[error("{strategy} on a {machine}: {reason}{hint}", strategy = .configuration.strategy,
        machine = .configuration.machine, hint = expected(.configuration.strategy, *.reason))]
    Configure {
        /// The configuration.
        configuration: Configuration,
        /// Why not.
        reason: ConfigureError,
    },
    /// The line to the controller failed.
    #[error("{endpoint}: {reason}")]
    Line {
        /// The other end, as it was named on the command line.
        endpoint: String,
        /// What went wrong.
        reason: String,
    },
    /// A strategy of your own proposed blocks that cannot be granted.
    #[error("the strategy proposed what cannot be granted: {reason}")]
    Illegal {
        /// Why not.
        reason: String,
    },
    /// Interrupted jobs cannot return to their places in the controller's queue.
    #[error(
        "the controller cannot put interrupted jobs back at their old places in the queue \
         (expected restart elsewhere:last, in-place or spare)"
    )]
    KeepsNoPlaces,
    /// The largest slice that could be placed is not known.
    #[error("`largest` cannot be measured with a strategy of your own")]
    NoLargest,
    /// Why jobs wait is not known.
    #[error("`reasons` cannot be measured with a strategy or scheduler of your own")]
    NoReasons,
    /// Which jobs should make room is not known.
    #[error("`preemption` is not possible with a strategy or scheduler of your own")]
    NoPreemption,
    /// The controller's reply does not belong to the command or query.
    #[error("the controller answered {command} with {reply}")]
    UnexpectedReply {
        /// The command.
        command: String,
        /// The reply.
        reply: String,
    },
    /// The controller answers no queries.
    #[error("this controller answers no queries")]
    NoQueries,
    /// The run was abandoned.
    #[error("interrupted")]
    Interrupted,
}
