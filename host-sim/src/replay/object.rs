//! The objects that a replay writes, one for each operation and each job that leaves the queue.

use std::borrow::Cow;
use std::io::{self, Write};

use meshalloc::{Block, Grid, Processor};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::json;

/// The blocks of a grant.
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

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let object = |keys: &[&str], value: serde_json::Value| {
            let properties = keys.iter().map(|key| ((*key).to_owned(), value.clone()));
            let properties: serde_json::Map<_, _> = properties.collect();
            json!({"type": "object", "properties": properties, "required": keys, "additionalProperties": false})
        };
        let number = json!({"type": "integer", "minimum": 0});
        let plane = object(&["x", "y", "w", "h"], number.clone());
        let grid = object(
            &["start", "extent"],
            json!({"type": "array", "items": number}),
        );
        json_schema!({
            "type": "array",
            "description": "Blocks: x, y, w and h on a two-dimensional mesh, start and extent on any other grid, in the order of coordinates.",
            "items": {"oneOf": [plane, grid]},
        })
    }
}

/// What came of a job's operation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome<'b> {
    /// The job holds these blocks.
    Granted(Blocks<'b>),
    /// The job waits, behind so many others.
    Waits(u32),
    /// The job gave so many processors back; none if it waited.
    Released(u32),
    /// Why nothing was done.
    Error(&'static str),
}

/// A job's operation, or a job that leaves the queue.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub(crate) struct Served<'b> {
    /// The line of the operation, from 1; of a job that leaves the queue, that of the operation that let it.
    pub(super) line: u64,
    /// `alloc` or `free`; `grant` of a job that leaves the queue.
    pub(super) op: &'static str,
    /// The job.
    pub(super) id: u32,
    #[serde(flatten)]
    pub(super) outcome: Outcome<'b>,
}

/// A processor that became faulty or works again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
pub(crate) struct Set {
    /// The line of the operation, from 1.
    pub(super) line: u64,
    /// `fault` or `repair`.
    pub(super) op: &'static str,
    #[serde(flatten)]
    #[schemars(with = "ProcessorSchema")]
    pub(super) processor: Option<Processor>,
    /// Whether that was new.
    pub(super) changed: bool,
    /// The job that holds the processor.
    pub(super) job: Option<u32>,
}

/// [`Processor`], for the schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its fields are of interest")]
enum ProcessorSchema {
    /// On a two-dimensional mesh.
    Plane {
        /// Its column.
        x: u16,
        /// Its row.
        y: u16,
    },
    /// On any other grid.
    Address {
        /// Its coordinates, as they are written.
        address: Vec<u16>,
    },
}

/// Writes an object as a line.
pub(super) fn json(output: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    output.write_all(b"\n")
}
