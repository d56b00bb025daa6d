//! The orders in which the extents of a request are laid along the dimensions: [`Orders`].

use crate::grid::Grid;
use crate::request::Request;

/// Which orders of a request's radices are laid along the dimensions of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// The request's own alone.
    AsRequested,
    /// The request's own alone, extents of 1 included: each extent along the dimension for which it
    /// is named.
    AsNamed,
    /// The request's own, then every other, each once.
    All,
}

impl Orders {
    /// The orders that may serve the request.
    pub(crate) fn of(request: &Request, grid: &Grid) -> Orders {
        if request.may_rotate() {
            Orders::All
        } else {
            Orders::requested(request, grid)
        }
    }

    /// The one that was requested. In two dimensions `1 x a` and `a x 1` are the same but for their
    /// extents of 1, so a request that must not be rotated is laid as it is named. On a cube, whose
    /// requests name radices above 1, and in more dimensions it is the order of these that is kept.
    pub(crate) fn requested(request: &Request, grid: &Grid) -> Orders {
        let is_named = grid.dimensions() == 2 && !grid.is_written_high_first();
        if is_named && !request.may_rotate() {
            Orders::AsNamed
        } else {
            Orders::AsRequested
        }
    }
}
