//! I/O nodes beside a mesh, their disks, and the load that a job's messages put on each link and
//! disk.
//!
//! On one side of a W x H mesh of processors there is a further column (left, right) or row (top,
//! bottom) of I/O nodes, each with one disk. The links between neighbours are full duplex: each
//! direction is a resource of its own. Routes are XY, along the row of the source first, so within
//! the column of I/O nodes messages go from one I/O node to the next. A node can receive over all
//! its links at once. Jobs only send messages and do not compute.
//!
//! ```text
//!   D-I - P - P - P - P    I/O nodes I on the left, each with a disk D. A write from <2, 0> to
//!   D-I - P - P - P - P    the uppermost I/O node goes left along row 0, then up along the column
//!   D-I - P - P - P - P    of I/O nodes; a read goes right along the uppermost row, down column 2.
//! ```
//!
//! A job runs on as many of its processors as it requests; further processors do nothing. In an
//! *I/O phase* every processor of a job sends a message of 1 MB to each I/O node (a write: files
//! are striped over all disks) or receives one from each (a read). In a *communication phase* the
//! processors of a job send 1 MB to each other. A disk's load is one message for each processor of
//! the job, in both directions. While jobs hold most of the mesh, reads are bound by the disks,
//! whatever the layout; all that one processor reads comes over a link or two.
//!
//! Source: P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers";
//! for the two directions J. Mache, V. Lo, M. Livingston and S. Garg, "The Impact of Spatial Layout
//! of Jobs on Parallel I/O Performance", 1999.

use meshalloc::{Grid, MESH_SIDE_MAX, NodeId};
use serde::Serialize;

use crate::error::SettingError;
use crate::sharing::Load;

mod jobs;
mod loads;
#[cfg(test)]
mod tests;

pub use jobs::{Communication, IoJobs, IoNetwork};
pub use loads::Cells;

/// The side of the mesh on which the I/O nodes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum IoSide {
    /// Beside column 0.
    #[default]
    Left,
    /// Beside the last column.
    Right,
    /// Above the last row.
    Top,
    /// Below row 0.
    Bottom,
}

/// The direction of data in an I/O phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Direction {
    /// From the processors to the disks.
    #[default]
    Write,
    /// From the disks to the processors.
    Read,
}

/// The bandwidths of the hardware, in megabytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bandwidths {
    /// The bandwidth of a link in each direction, in megabytes a second.
    pub link: f64,
    /// The bandwidth of a disk, in megabytes a second.
    pub disk: f64,
}

impl Default for Bandwidths {
    /// The Fast Ethernet and the IDE disks that Liu, Hsu and Wu measured.
    fn default() -> Self {
        Bandwidths {
            link: 11.65,
            disk: 4.545,
        }
    }
}

/// A mesh with I/O nodes: its nodes, links and disks. Resources are numbered: the four links out of
/// each node, east, west, north and south, node by node in row-major order, then the disks. Links
/// that would lead out of the mesh have numbers, too, and never a load.
#[derive(Clone, Debug)]
pub struct IoMesh {
    processors: Grid,
    w: usize,
    h: usize,
    /// Where processor <0, 0> is.
    origin: (usize, usize),
    io_nodes: Cells,
}

impl IoMesh {
    /// I/O nodes along one whole side of a mesh; an error when the machine is not a two-dimensional
    /// mesh.
    pub fn new(processors: Grid, side: IoSide) -> Result<Self, SettingError> {
        if !processors.is_plane() || processors.wraps(0) || processors.wraps(1) {
            return Err(SettingError::out_of_range(
                "the machine with I/O nodes",
                &["io-nodes", "io"],
                processors,
                "a two-dimensional mesh",
            ));
        }
        let (w, h) = (processors.side(0).into(), processors.side(1).into());
        let (across, up) = match side {
            IoSide::Left | IoSide::Right => (1, 0),
            IoSide::Top | IoSide::Bottom => (0, 1),
        };
        let mut io_nodes = Cells::new(w + across, h + up);
        match side {
            IoSide::Left => io_nodes.fill(0..1, 0..h),
            IoSide::Right => io_nodes.fill(w..w + 1, 0..h),
            IoSide::Top => io_nodes.fill(0..w, h..h + 1),
            IoSide::Bottom => io_nodes.fill(0..w, 0..1),
        }
        Ok(IoMesh {
            processors,
            w: w + across,
            h: h + up,
            origin: match side {
                IoSide::Left => (1, 0),
                IoSide::Bottom => (0, 1),
                IoSide::Right | IoSide::Top => (0, 0),
            },
            io_nodes,
        })
    }

    /// The capacity of each resource, in MB/s.
    pub fn capacities(&self, bandwidths: Bandwidths) -> Vec<f64> {
        let mut capacities = vec![bandwidths.link; self.links()];
        capacities.resize(self.links() + self.io_nodes.count(), bandwidths.disk);
        capacities
    }

    /// The mesh with the I/O nodes as one grid; an error when a side with the I/O nodes is longer
    /// than a mesh may be.
    pub fn grid(&self) -> Result<Grid, SettingError> {
        let sides = [self.w, self.h].map(|side| side as u16);
        Grid::mesh(&sides).map_err(|_| {
            let IoMesh { w, h, .. } = self;
            SettingError::out_of_range(
                "the machine whose I/O nodes are a part of its network",
                &["mesh", "io"],
                self.processors,
                format!(
                    "sides of at most {MESH_SIDE_MAX} with the I/O nodes; with them it is {w}x{h}"
                ),
            )
        })
    }

    /// The I/O nodes.
    pub fn io_nodes(&self) -> &Cells {
        &self.io_nodes
    }

    fn links(&self) -> usize {
        4 * self.w * self.h
    }

    /// The nodes of a job on these processors. Panics when one is not a processor of the mesh.
    pub fn cells(&self, processors: &[NodeId]) -> Cells {
        let mut cells = Cells::new(self.w, self.h);
        let w = usize::from(self.processors.side(0));
        for &NodeId(processor) in processors {
            let (x, y) = (processor as usize % w, processor as usize / w);
            cells.insert(self.origin.0 + x, self.origin.1 + y);
        }
        cells
    }

    /// The loads of a communication phase in which each processor sends to each other processor.
    /// This takes time proportional to the number of nodes of the mesh.
    pub fn all_to_all(&self, job: &Cells) -> Vec<Load> {
        loads::complete(job, job)
    }

    /// The loads of a communication phase in which processor `i` of the job, in row-major order,
    /// sends to processor `to[i]`, but not to itself. This takes time proportional to the number of
    /// nodes of the mesh and of links that the messages cross.
    ///
    /// # Panics
    ///
    /// When `to` names other processors than the job has.
    pub fn pairs(&self, job: &Cells, to: &[u32]) -> Vec<Load> {
        loads::pairs(job, to)
    }

    /// The loads of an I/O phase. This takes time proportional to the number of nodes of the mesh.
    pub fn io(&self, job: &Cells, direction: Direction) -> Vec<Load> {
        let mut loads = match direction {
            Direction::Write => loads::complete(job, &self.io_nodes),
            Direction::Read => loads::complete(&self.io_nodes, job),
        };
        let disks = (self.links() as u32..).take(self.io_nodes.count());
        let amount = job.count() as f64;
        loads.extend(disks.map(|resource| Load { resource, amount }));
        loads
    }
}
