//! What a controller in process and one at the end of a line have in common.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use meshalloc::{Block, Change, Flags, Grid, Happened, JobId, Statistics};
use pyo3::prelude::*;

use crate::convert::{self, Extents};

/// What has happened to a job.
#[pyclass(frozen, get_all, module = "meshalloc")]
pub(crate) struct Event {
    /// One more than that of the event before.
    number: u64,
    /// The job.
    job: u32,
    /// When, in ticks.
    at: u64,
    /// "granted" or "lease-ended".
    what: &'static str,
    /// The processors that the job holds from then on, or held until then.
    processors: u32,
    /// The blocks of a job that was granted.
    blocks: Vec<(Vec<u16>, Vec<u16>)>,
}

impl Event {
    /// An event of a job that holds these blocks.
    pub(crate) fn new(
        grid: &Grid,
        event: &meshalloc::Event,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Self {
        let (what, blocks) = match event.what {
            Happened::Granted { .. } => {
                let blocks = blocks.into_iter();
                let spans =
                    blocks.map(|block| (grid.start(block).to_vec(), grid.extent(block).to_vec()));
                ("granted", spans.collect())
            }
            Happened::LeaseEnded => ("lease-ended", Vec::new()),
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

/// The arguments of `submit`.
pub(crate) struct Submission {
    pub(crate) job: u32,
    pub(crate) shape: Extents,
    pub(crate) processors: Option<u32>,
    pub(crate) rotate: bool,
    pub(crate) wait: bool,
    pub(crate) estimate: Option<NonZeroU64>,
    pub(crate) lease: Option<NonZeroU64>,
}

impl Submission {
    /// As the core has it.
    pub(crate) fn change(self) -> PyResult<Change> {
        let mut request = convert::request(self.shape, self.processors, self.rotate)?;
        request.flags.set(Flags::NO_WAIT, !self.wait);
        request.estimate = self.estimate;
        Ok(Change::Submit {
            job: JobId(self.job),
            request,
            lease: self.lease,
        })
    }
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
    ])
}
