//! The objects that a replay writes, one for each operation and each job that leaves the queue.

use std::borrow::Cow;
use std::io::{self, Write};

use meshalloc::grid::FormattedBlock;
use meshalloc::{Block, Grid};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::json;

pub(crate) struct Blocks<'b> {
    pub(super) machine: &'b Grid,
    pub(super) blocks: &'b [Block],
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.blocks.iter().map(|&block| self.machine.place(block)))
    }
}

impl JsonSchema for Blocks<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Blocks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let block = BlockSchema::json_schema(generator);
        json_schema!({
            "type": "array",
            "description": "Blocks: x, y, w and h on a two-dimensional mesh, start and extent on any other grid, in the order of coordinates.",
            "items": block,
        })
    }
}

/// [`FormattedBlock`], for the schema.
struct BlockSchema;

impl JsonSchema for BlockSchema {
    fn schema_name() -> Cow<'static, str> {
        "Block".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let object = |keys: &[(&str, &str)], value: &serde_json::Value| {
            let property = |&(key, meaning): &(&str, &str)| {
                let mut value = value.clone();
                value["description"] = meaning.into();
                (key.to_owned(), value)
            };
            let properties: serde_json::Map<_, _> = keys.iter().map(property).collect();
            let keys: Vec<_> = keys.iter().map(|(key, _)| key).collect();
            json!({"type": "object", "properties": properties, "required": keys, "additionalProperties": false})
        };
        let number = json!({"type": "integer", "minimum": 0});
        let plane = [
            (
                "x",
                "On a two-dimensional mesh: the least coordinate along x.",
            ),
            ("y", "The same along y."),
            ("w", "Processors along x."),
            ("h", "Processors along y."),
        ];
        let plane = object(&plane, &number);
        let grid = [
            (
                "start",
                "On any other grid: the first coordinate in each dimension, from dimension 0 on.",
            ),
            ("extent", "Processors along each dimension."),
        ];
        let grid = object(&grid, &json!({"type": "array", "items": number}));
        json_schema!({"oneOf": [plane, grid]})
    }
}

/// What came of a job's operation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome<'b> {
    /// The job holds these blocks.
    Granted(Blocks<'b>),
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
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job")]
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
}

/// Processors that became faulty or work again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct Set<'b> {
    /// The line of the operation, from 1.
    pub(super) line: u64,
    /// `fault` or `repair`.
    pub(super) op: &'static str,
    /// The processors.
    #[schemars(with = "BlockSchema")]
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
