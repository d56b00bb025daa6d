//! The objects that a replay writes, one for each operation.

use std::io::{self, Write};

use meshalloc::{Block, Digits, Machine, NodeId};
use serde::{Serialize, Serializer};

/// A block.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part {
    /// A rectangle of a mesh.
    Rectangle { x: u16, y: u16, w: u16, h: u16 },
    /// A subcube: a number for each dimension, dimension 0 last.
    Subcube {
        #[serde(serialize_with = "list")]
        start: Digits,
        #[serde(serialize_with = "list")]
        extent: Digits,
    },
}

impl From<&Block> for Part {
    fn from(block: &Block) -> Self {
        match block {
            Block::Submesh(submesh) => Part::Rectangle {
                x: submesh.base.x,
                y: submesh.base.y,
                w: submesh.sides.w,
                h: submesh.sides.h,
            },
            Block::Subcube(subcube) => Part::Subcube {
                start: subcube.start(),
                extent: subcube.extents(),
            },
            other => unreachable!("no machine has such a block: {other}"),
        }
    }
}

/// Where a processor is.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Place {
    /// On a mesh.
    Mesh { x: u16, y: u16 },
    /// On a cube: a digit for each dimension, dimension 0 last.
    Cube {
        #[serde(serialize_with = "list")]
        address: Digits,
    },
}

impl Place {
    /// Where the processor is, which the machine has.
    pub(super) fn of(node: NodeId, machine: Machine) -> Place {
        const KNOWN: &str = "the parser has checked it";
        match machine {
            Machine::Mesh(mesh) => {
                let at = mesh.coord(node).expect(KNOWN);
                Place::Mesh { x: at.x, y: at.y }
            }
            Machine::Cube(cube) => Place::Cube {
                address: cube.address(node).expect(KNOWN),
            },
            other => unreachable!("there is no such machine: {other}"),
        }
    }
}

fn list<S: Serializer>(digits: &Digits, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(digits.iter())
}

#[derive(Serialize)]
pub(super) struct Granted<'b> {
    pub(super) line: u64,
    pub(super) op: &'static str,
    pub(super) id: u32,
    pub(super) granted: &'b [Part],
}

#[derive(Serialize)]
pub(super) struct Freed {
    pub(super) line: u64,
    pub(super) op: &'static str,
    pub(super) id: u32,
    pub(super) released: u32,
}

#[derive(Serialize)]
pub(super) struct Failed {
    pub(super) line: u64,
    pub(super) op: &'static str,
    pub(super) id: u32,
    pub(super) error: &'static str,
}

#[derive(Serialize)]
pub(super) struct Set {
    pub(super) line: u64,
    pub(super) op: &'static str,
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) changed: bool,
    pub(super) job: Option<u32>,
}

/// Writes an object as a line.
pub(super) fn json(output: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, object)?;
    output.write_all(b"\n")
}
