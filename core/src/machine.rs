//! What is allocated from: [`Machine`], and the names its processors and its parts have.
//!
//! Everything above the strategies (job table, schedulers, controller, messages) speaks of a `Machine`, a
//! [`Shape`] that is asked for and [`Block`]s that are held, and never of x and y or of digits. A topology is one
//! variant in each of the three enums of this file.

use core::fmt;

use crate::cube::{Cube, Radices, Subcube};
use crate::error::Refusal;
use crate::mesh::{Mesh, Sides, Submesh};

/// A processor's number, `0..machine.nodes()`. On a mesh it is `y * width + x`, on a cube the address read as a
/// number in radix k.
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
    /// A subcube of these radices.
    Radices(Radices),
}

impl Shape {
    /// The number of processors in the shape.
    pub const fn area(self) -> u32 {
        match self {
            Shape::Sides(sides) => sides.area(),
            Shape::Radices(radices) => radices.area(),
        }
    }
}

impl From<Sides> for Shape {
    fn from(sides: Sides) -> Shape {
        Shape::Sides(sides)
    }
}

impl From<Radices> for Shape {
    fn from(radices: Radices) -> Shape {
        Shape::Radices(radices)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Sides(sides) => sides.fmt(f),
            Shape::Radices(radices) => radices.fmt(f),
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
    /// A subcube of a cube.
    Subcube(Subcube),
}

impl Block {
    /// The number of processors.
    pub const fn area(self) -> u32 {
        match self {
            Block::Submesh(submesh) => submesh.area(),
            Block::Subcube(subcube) => subcube.area(),
        }
    }

    /// Whether the two share a processor.
    pub fn overlaps(self, other: Block) -> bool {
        match (self, other) {
            (Block::Submesh(one), Block::Submesh(other)) => one.overlaps(other),
            (Block::Subcube(one), Block::Subcube(other)) => one.overlaps(other),
            _ => false,
        }
    }
}

impl From<Submesh> for Block {
    fn from(submesh: Submesh) -> Block {
        Block::Submesh(submesh)
    }
}

impl From<Subcube> for Block {
    fn from(subcube: Subcube) -> Block {
        Block::Subcube(subcube)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Block::Submesh(submesh) => submesh.fmt(f),
            Block::Subcube(subcube) => subcube.fmt(f),
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
    /// A k-ary n-cube.
    Cube(Cube),
}

/// The kinds of machines: what a strategy is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MachineKind {
    /// [`Machine::Mesh`].
    Mesh,
    /// [`Machine::Cube`].
    Cube,
}

impl fmt::Display for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MachineKind::Mesh => "mesh",
            MachineKind::Cube => "cube",
        })
    }
}

impl Machine {
    /// Its kind.
    pub const fn kind(&self) -> MachineKind {
        match self {
            Machine::Mesh(_) => MachineKind::Mesh,
            Machine::Cube(_) => MachineKind::Cube,
        }
    }

    /// The number of processors.
    pub const fn nodes(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.nodes(),
            Machine::Cube(cube) => cube.nodes(),
        }
    }

    /// The number of rows the node numbers are divided into; rows start at a word of the occupancy. A cube is one row.
    pub const fn rows(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.sides().h as u32,
            Machine::Cube(_) => 1,
        }
    }

    /// The number of processors in each row.
    pub const fn row_len(&self) -> u32 {
        match self {
            Machine::Mesh(mesh) => mesh.sides().w as u32,
            Machine::Cube(cube) => cube.nodes(),
        }
    }

    /// Whether the block lies within the machine.
    pub fn contains(&self, block: Block) -> bool {
        match (self, block) {
            (Machine::Mesh(mesh), Block::Submesh(submesh)) => mesh.contains(submesh),
            (Machine::Cube(cube), Block::Subcube(subcube)) => *cube == subcube.cube(),
            _ => false,
        }
    }

    /// The number of processors in a shape that can be asked of this machine, whatever the strategy.
    ///
    /// # Errors
    ///
    /// `Malformed` for the shape of another kind of machine; for a cube `NeverFits` when there are fewer processors,
    /// `DimensionAboveN` and `RadixAboveK`.
    #[inline]
    pub const fn check(&self, shape: Shape) -> Result<u32, Refusal> {
        match (self, shape) {
            // Whether sides fit depends on what the strategy does with them.
            (Machine::Mesh(_), Shape::Sides(sides)) => Ok(sides.area()),
            (Machine::Cube(cube), Shape::Radices(radices)) => {
                if radices.area() > cube.nodes() {
                    Err(Refusal::NeverFits)
                } else if radices.dimensions() > cube.n() as usize {
                    Err(Refusal::DimensionAboveN)
                } else if radices.largest() > cube.k() {
                    Err(Refusal::RadixAboveK)
                } else {
                    Ok(radices.area())
                }
            }
            _ => Err(Refusal::Malformed),
        }
    }

    /// The block that is the single processor `node`.
    pub fn unit(&self, node: NodeId) -> Option<Block> {
        match self {
            Machine::Mesh(mesh) => mesh
                .coord(node)
                .map(|at| Submesh::new(at.x, at.y, 1, 1).into()),
            Machine::Cube(cube) => Subcube::between(*cube, node, node).map(Block::from),
        }
    }

    /// Whether the block holds the processor `node`.
    pub fn block_contains(&self, block: Block, node: NodeId) -> bool {
        match (self, block) {
            (Machine::Mesh(mesh), Block::Submesh(submesh)) => {
                mesh.coord(node).is_some_and(|at| submesh.contains(at))
            }
            (Machine::Cube(cube), Block::Subcube(subcube)) => {
                *cube == subcube.cube() && subcube.contains(node)
            }
            _ => false,
        }
    }
}

impl From<Mesh> for Machine {
    fn from(mesh: Mesh) -> Machine {
        Machine::Mesh(mesh)
    }
}

impl From<Cube> for Machine {
    fn from(cube: Cube) -> Machine {
        Machine::Cube(cube)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::Mesh(mesh) => write!(f, "mesh {mesh}"),
            Machine::Cube(cube) => cube.fmt(f),
        }
    }
}
