//! What a controller in process and one at the end of a line have in common.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use meshalloc::{
    Block, Change, Configuration, EventKind, Flags, Grid, JobId, Outcome, Request, Statistics,
    Tuple,
};
use pyo3::prelude::*;

use crate::convert::{self, List, Machine, Numbers, Pair};
use crate::errors::misuse;

/// What has happened to a job.
#[pyclass(frozen, eq, hash, get_all, module = "meshalloc")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Event {
    /// One more than that of the event before.
    number: u64,
    /// The job.
    job: u32,
    /// When, in ticks.
    at: u64,
    /// "granted", "lease-ended" or "preempted".
    what: &'static str,
    /// The processors that the job holds from then on, or held until then.
    processors: u32,
    /// The blocks of a job that was granted.
    blocks: Vec<Pair>,
}

const GRANTED: &str = "granted";
const LEASE_ENDED: &str = "lease-ended";
const PREEMPTED: &str = "preempted";

impl Event {
    /// An event of a job that holds these blocks.
    pub(crate) fn new(
        grid: &Grid,
        event: &meshalloc::Event,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Self {
        let (what, blocks) = match event.what {
            EventKind::Granted { .. } => (GRANTED, convert::pairs(grid, blocks)),
            EventKind::LeaseEnded => (LEASE_ENDED, Vec::new()),
            EventKind::Preempted { .. } => (PREEMPTED, Vec::new()),
        };
        Event {
            number: event.number,
            job: event.job.0,
            at: event.at,
            what,
            processors: event.processors,
            blocks,
        }
    }
}

#[pymethods]
impl Event {
    /// An event like this, such as one that is read from a pickle.
    #[new]
    fn of(
        number: u64,
        job: u32,
        at: u64,
        what: &str,
        processors: u32,
        blocks: Vec<(List<u16>, List<u16>)>,
    ) -> PyResult<Self> {
        let kinds = [GRANTED, LEASE_ENDED, PREEMPTED];
        let Some(what) = kinds.into_iter().find(|&kind| kind == what) else {
            return Err(misuse(format!("what {what:?}: expected one of {kinds:?}")));
        };
        let numbers = |List(numbers): List<u16>| {
            let tuple = Tuple::from_slice(&numbers).map(Numbers);
            tuple.ok_or_else(|| misuse(format!("{numbers:?}: more numbers than dimensions")))
        };
        let blocks = blocks.into_iter();
        let blocks = blocks.map(|(start, extent)| Ok((numbers(start)?, numbers(extent)?)));
        Ok(Event {
            number,
            job,
            at,
            what,
            processors,
            blocks: blocks.collect::<PyResult<_>>()?,
        })
    }

    fn __getnewargs__(&self) -> (u64, u32, u64, &'static str, u32, Vec<Pair>) {
        let blocks = self.blocks.clone();
        (
            self.number,
            self.job,
            self.at,
            self.what,
            self.processors,
            blocks,
        )
    }

    fn __repr__(&self) -> String {
        let Event {
            job,
            at,
            what,
            processors,
            ..
        } = self;
        format!("Event(job={job}, at={at}, what={what:?}, processors={processors})")
    }
}

/// The change of `submit`.
pub(crate) fn submit(
    job: u32,
    mut request: Request,
    wait: bool,
    estimate: Option<NonZeroU64>,
    lease: Option<NonZeroU64>,
) -> Change {
    request.flags.set(Flags::NO_WAIT, !wait);
    request.estimate = estimate;
    let job = JobId(job);
    Change::Submit {
        job,
        request,
        lease,
    }
}

/// The processors that a release has given back.
pub(crate) fn released(outcome: &Outcome) -> PyResult<u32> {
    match *outcome {
        Outcome::Released { processors } => Ok(processors),
        _ => Err(misuse(format!("a release has the outcome {outcome:?}"))),
    }
}

/// The configuration with these names.
pub(crate) fn configuration(
    machine: &Machine,
    strategy: &str,
    scheduler: &str,
) -> PyResult<Configuration> {
    Ok(Configuration {
        machine: machine.grid,
        strategy: convert::strategy(strategy)?,
        scheduler: convert::scheduler(scheduler)?,
    })
}

/// Statistics by their names.
pub(crate) fn statistics(now: &Statistics) -> BTreeMap<&'static str, u64> {
    let counts = now.counts;
    BTreeMap::from([
        ("nodes", now.nodes.into()),
        ("free", now.free.into()),
        ("faulty", now.faulty.into()),
        ("waiting", now.waiting.into()),
        ("running", now.running.into()),
        ("submitted", counts.submitted),
        ("granted", counts.granted),
        ("released", counts.released),
        ("refused", counts.refused),
        ("attempts", counts.attempts),
        ("valid_attempts", counts.valid_attempts),
        ("misses", counts.misses),
        ("lease_ends", counts.lease_ends),
    ])
}
