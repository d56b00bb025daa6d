//! Free list: every radix is rounded up to a power of two, and any free subcube of these radices will do.
//!
//! # Source
//!
//! H.-L. Chen and C.-T. King, "An Efficient Dynamic Processor Allocation Scheme for K-ary n-cube Multicomputers", Proc.
//! Int. Conf. on Parallel and Distributed Systems, 1993; described by Chuang and Wu, sections 1 and 3.
//!
//! # Differences from the paper
//!
//! Chuang and Wu say of it that it recognises all free subcubes, that k must be a power of two, and that a task is given
//! more than it needs when a radix is not one. This is built from that: not the lists of free subcubes themselves, but a
//! complete search for the rounded radices, in the order of
//! [tree collapsing](super::TreeCollapsing).
//!
//! # Complexity and memory
//!
//! That of [tree collapsing](super::TreeCollapsing); a release takes nothing. Scratch: twice as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete for radices that are powers of two, not for others: on a 4-ary 1-cube with one busy processor, a request
//! for the radix 3 is refused. What a job holds beyond its request is internal fragmentation.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 8, 64, 0>::new();
//! let machine = Cube::new(4, 3)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FreeList)?;
//! let held = allocator.allocate(&Request::subcube(Radices::new(&[3, 2])?))?;
//! assert_eq!(allocator.processors(&held), 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::common::cube_of;
use super::{Strategy, Workspace};
use crate::blocks::Draft;
use crate::cube::Radices;
use crate::cube::search::{Orders, Starts, SubcubeSearch};
use crate::error::{ConfigureError, Refusal};
use crate::machine::Machine;
use crate::occupancy::Occupancy;
use crate::request::Request;

/// Free list.
#[derive(Debug)]
pub struct FreeList<'m> {
    search: SubcubeSearch,
    pub(super) workspace: Workspace<'m>,
}

impl<'m> FreeList<'m> {
    /// Whether it serves the machine.
    pub(super) fn check(machine: Machine) -> Result<(), ConfigureError> {
        if !cube_of(machine)?.k().is_power_of_two() {
            return Err(ConfigureError::MachineUnsuitable);
        }
        Ok(())
    }

    /// The strategy on a cube.
    pub(super) fn new(machine: Machine, workspace: Workspace<'m>) -> Result<Self, ConfigureError> {
        Ok(FreeList {
            search: cube_of(machine)?.into(),
            workspace,
        })
    }
}

/// The radices that are searched for.
fn rounded(request: &Request) -> Result<Radices, Refusal> {
    let requested = request.radices().ok_or(Refusal::Malformed)?;
    // They are at most k, a power of two, so the cube has room for them.
    let rounded = requested.map(|radix| radix.checked_next_power_of_two().unwrap_or(u16::MAX));
    rounded.map_err(|_| Refusal::NeverFits)
}

impl Strategy for FreeList<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        rounded(request).map(Radices::area)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let (orders, starts) = (Orders::of(request), Starts::Anywhere);
        let found = rounded(request).ok().and_then(|radices| {
            let (search, scratch) = (&mut self.search, &mut *self.workspace.words);
            search.first_subcube(occupancy, radices, orders, starts, scratch)
        });
        found.map(|subcube| draft.push(subcube)).is_some()
    }
}
