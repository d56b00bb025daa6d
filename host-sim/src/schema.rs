//! The JSON Schemas of the documents that `host-sim` writes, and of the operations that `replay`
//! reads, from the types that write and read them.

use schemars::JsonSchema;
use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::list::ListDocument;
use crate::log::LogDocument;
use crate::replay::{Line, ServedObject, SetObject};
use crate::report::RunDocument;
use crate::study::products::StudyDocument;

/// A line of `replay`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the types of its fields are of interest")]
enum ReplayLine<'b> {
    Job(ServedObject<'b>),
    Fault(SetObject<'b>),
}

/// Each schema with the name of its document: results of one point and of several, a log's summary,
/// a line of `replay`, an operation that it reads, and the list.
pub fn schemas() -> [(&'static str, Schema); 6] {
    // In what is written, a key that may be null is always there.
    let written = || SchemaSettings::default().for_serialize().into_generator();
    let read = SchemaSettings::default().into_generator();
    [
        ("run", written().into_root_schema_for::<RunDocument>()),
        (
            "study",
            written().into_root_schema_for::<StudyDocument<'_>>(),
        ),
        ("log", written().into_root_schema_for::<LogDocument>()),
        ("replay", written().into_root_schema_for::<ReplayLine<'_>>()),
        ("operation", read.into_root_schema_for::<Line>()),
        ("list", written().into_root_schema_for::<ListDocument>()),
    ]
}
