//! The data that some strategies keep between decisions: [`Keeps`].

use super::{OccupancyEvent, Workspace};
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::columns;

/// The data that a strategy keeps between decisions. The methods are those of
/// [`Strategy`](super::Strategy), with the memory of the strategy.
pub(super) trait Keeps {
    fn arrived(&mut self, _workspace: &mut Workspace<'_>, _request: &Request) {}

    fn changed(
        &mut self,
        _workspace: &mut Workspace<'_>,
        _occupancy: &Occupancy<'_>,
        _event: OccupancyEvent,
        _poll: &dyn Fn(),
    ) {
    }

    fn save(&self, _state: &mut Writer<'_>) {}

    fn restore(
        &mut self,
        _workspace: &mut Workspace<'_>,
        _state: &mut Reader<'_>,
    ) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }

    fn check_invariants(&self, _workspace: &Workspace<'_>, _occupancy: &Occupancy<'_>) {}
}

/// Bounds of the free runs of each row, in the words of the workspace
/// ([`Scratch::Kept`](columns::Scratch::Kept)).
#[derive(Debug)]
pub(crate) struct Bounds;

impl Keeps for Bounds {
    // A call takes as long as most releases, and the board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn changed(
        &mut self,
        workspace: &mut Workspace<'_>,
        occupancy: &Occupancy<'_>,
        event: OccupancyEvent,
        _poll: &dyn Fn(),
    ) {
        match event {
            OccupancyEvent::Released(block) | OccupancyEvent::Repaired(block) => {
                columns::raise(occupancy, workspace.words, block);
            }
            OccupancyEvent::Reset => columns::forget(occupancy, workspace.words),
            OccupancyEvent::Taken(_) | OccupancyEvent::SuppositionEnded => {}
        }
    }
}

/// The searches that are known to find nothing.
impl Keeps for crate::search::failed_searches::FailedSearches {}
