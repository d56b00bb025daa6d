//! What is allocated from: [`Machine`], and the names its processors and its parts have.
//!
//! Everything above the strategies (job table, schedulers, controller, messages, simulator) speaks of
//! a `Machine`, a [`Shape`] that is asked for and [`Block`]s that are held, and never of x and y. A new
//! topology is one variant in each of the three enums of this file.

use core::fmt;

use crate::mesh::{Mesh, Sides, Submesh};

/// A processor's number, `0..machine.nodes()`. On a mesh it is `y * width + x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Shape {
    /// A submesh of these side lengths.
    Sides(Sides),
}

impl Shape {
    /// The number of processors in the shape.
    pub const fn area(self) -> u32 {
        match self {
            Shape::Sides(sides) => sides.area(),
        }
    }
}

impl From<Sides> for Shape {
    fn from(sides: Sides) -> Shape {
        Shape::Sides(sides)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Sides(sides) => sides.fmt(f),
        }
    }
}

/// A part of a machine that a job holds. A contiguous allocation is one block, any other is a list of
/// disjoint ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Block {
    /// A rectangle of a mesh.
    Submesh(Submesh),
}

impl Block {
    /// The number of processors.
    pub const fn area(self) -> u32 {
        match self {
            Block::Submesh(submesh) => submesh.area(),
        }
    }

    /// Whether the two share a processor.
    pub const fn overlaps(self, other: Block) -> bool {
        match (self, other) {
            (Block::Submesh(one), Block::Submesh(other)) => one.overlaps(other),
        }
    }
}

impl From<Submesh> for Block {
    fn from(submesh: Submesh) -> Block {
        Block::Submesh(submesh)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Block::Submesh(submesh) => submesh.fmt(f),
        }
    }
}

/// The machine whose processors are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Machine {
    /// A two-dimensional mesh.
    Mesh(Mesh),
}

/// The same processors of consecutive rows: what a block is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The first row, `0..machine.rows()`.
    pub row: u32,
    /// The number of rows, at least 1.
    pub rows: u32,
    /// The first processor's place in each row.
    pub start: u32,
    /// The number of processors in each row, at least 1.
    pub len: u32,
}

impl Machine {
    /// The number of processors.
    pub const fn nodes(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.nodes(),
        }
    }

    /// The number of rows the node numbers are divided into; rows start at a word of the occupancy.
    pub const fn rows(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.sides().h as u32,
        }
    }

    /// The number of processors in each row.
    pub const fn row_len(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.sides().w as u32,
        }
    }

    /// Whether the block lies within the machine.
    pub const fn contains(&self, block: Block) -> bool {
        match (self, block) {
            (Machine::Mesh(mesh), Block::Submesh(submesh)) => mesh.contains(submesh),
        }
    }

    /// Whether the shape is one of this kind of machine.
    pub const fn has_kind_of(&self, shape: Shape) -> bool {
        match (self, shape) {
            (Machine::Mesh(_), Shape::Sides(_)) => true,
        }
    }

    /// The block's processors, rows in increasing order.
    #[inline]
    pub fn bands(&self, block: Block) -> impl Iterator<Item = Band> + use<> {
        match (self, block) {
            (Machine::Mesh(_), Block::Submesh(submesh)) => core::iter::once(Band {
                row: u32::from(submesh.base.y),
                rows: u32::from(submesh.sides.h),
                start: u32::from(submesh.base.x),
                len: u32::from(submesh.sides.w),
            }),
        }
    }

    /// The block that is the single processor `node`.
    pub fn unit(&self, node: NodeId) -> Option<Block> {
        match self {
            Machine::Mesh(mesh) => mesh
                .coord(node)
                .map(|at| Submesh::new(at.x, at.y, 1, 1).into()),
        }
    }

    /// Whether the block holds the processor `node`.
    pub fn block_contains(&self, block: Block, node: NodeId) -> bool {
        match (self, block) {
            (Machine::Mesh(mesh), Block::Submesh(submesh)) => {
                mesh.coord(node).is_some_and(|at| submesh.contains(at))
            }
        }
    }
}

impl From<Mesh> for Machine {
    fn from(mesh: Mesh) -> Machine {
        Machine::Mesh(mesh)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::Mesh(mesh) => write!(f, "mesh {mesh}"),
        }
    }
}
