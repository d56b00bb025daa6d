//! The objects that a replay writes, one for each operation.

use std::io::{self, Write};

use meshalloc::{Block, Grid, Processor};
use serde::{Serialize, Serializer};

/// The blocks of a grant.
pub(super) struct Blocks<'b> {
    pub(super) machine: &'b Grid,
    pub(super) blocks: &'b [Block],
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.blocks.iter().map(|&block| self.machine.place(block)))
    }
}

/// What came of a job's operation.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome<'b> {
    Granted(Blocks<'b>),
    /// The number of processors.
    Released(u32),
    Error(&'static str),
}

#[derive(Serialize)]
pub(super) struct Served<'b> {
    pub(super) line: u64,
    pub(super) op: &'static str,
    pub(super) id: u32,
    #[serde(flatten)]
    pub(super) outcome: Outcome<'b>,
}

#[derive(Serialize)]
pub(super) struct Set {
    pub(super) line: u64,
    pub(super) op: &'static str,
    #[serde(flatten)]
    pub(super) processor: Option<Processor>,
    pub(super) changed: bool,
    pub(super) job: Option<u32>,
}

/// Writes an object as a line.
pub(super) fn json(output: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    output.write_all(b"\n")
}
