//! The objects that a replay writes, one for each operation and each job that leaves the queue.

use std::io::{self, Write};

use meshalloc::grid::FormattedBlock;
use serde::Serialize;

/// [`FormattedBlock`], for the schema: x, y, w and h on a two-dimensional mesh, start and extent on
/// any other grid, in the order of coordinates.
#[cfg(feature = "reference")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged, rename = "Block")]
#[expect(dead_code, reason = "only its schema is used")]
enum BlockSchema {
    Plane { x: u32, y: u32, w: u32, h: u32 },
    Grid { start: Vec<u32>, extent: Vec<u32> },
}

/// What came of a job's operation.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome<'b> {
    /// The job holds these blocks.
    Granted(
        #[cfg_attr(feature = "reference", schemars(with = "Vec<BlockSchema>"))]
        Vec<FormattedBlock<'b>>,
    ),
    /// The job waits; the number of jobs ahead of it.
    Waits(u32),
    /// The number of processors that the job gave back; 0 if it waited.
    Released(u32),
    /// The length of the job's lease from now on, in operations; 0 if it has none.
    Leased(u64),
    /// The reason of the failure.
    Error(&'static str),
}

/// A job's operation, a job that leaves the queue, or the end of a lease.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "reference", schemars(rename = "Job"))]
pub(crate) struct Served<'b> {
    /// The line of the operation, from 1. For `grant` and `lease-ended`: the operation after which
    /// it happens.
    pub(super) line: u64,
    /// `alloc`, `lease` or `free`; `grant` if a job leaves the queue, `lease-ended` if it is
    /// released because its lease has ended.
    pub(super) op: &'static str,
    /// The job.
    pub(super) id: u32,
    #[serde(flatten)]
    pub(super) outcome: Outcome<'b>,
    /// Why a job waits: `faults`, `not-its-turn`, `too-few-free`, `ring-not-free`, `fragmented`,
    /// `behind-reservation`, `untried`, `gang-incomplete` or `not-searched-to-the-end`. Not if the
    /// controller does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
}

/// Processors that became faulty or work again.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "reference", schemars(rename = "Fault"))]
pub(crate) struct Set<'b> {
    /// The line of the operation, from 1.
    pub(super) line: u64,
    /// `fault` or `repair`.
    pub(super) op: &'static str,
    /// The processors.
    #[cfg_attr(feature = "reference", schemars(with = "BlockSchema"))]
    pub(super) block: FormattedBlock<'b>,
    /// The number of processors whose state changed.
    pub(super) changed: u32,
    /// Jobs that hold some of the processors, in ascending order.
    pub(super) jobs: Vec<u32>,
}

pub(super) fn json(output: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    output.write_all(b"\n")
}
