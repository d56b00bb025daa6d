//! The orders in which the extents of a request are laid along the dimensions: [`Orders`].

use crate::grid::Grid;
use crate::request::Request;

/// The orders of a request's radices that are laid along the dimensions of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// Only the request's own order.
    AsRequested,
    /// Only the request's own order, extents of 1 included: each extent along the dimension for
    /// which it is named.
    AsNamed,
    /// The request's own order, then every other order, each once.
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

    /// The order that was requested. In two dimensions `1 x a` and `a x 1` differ only in their
    /// extents of 1, so a request that must not be rotated is laid as it is named. In more
    /// dimensions, and on a cube, whose requests name radices above 1, the order of the radices
    /// above 1 is kept.
    pub(crate) fn requested(request: &Request, grid: &Grid) -> Orders {
        let is_named = grid.dimensions() == 2 && !grid.is_written_high_first();
        if is_named && !request.may_rotate() {
            Orders::AsNamed
        } else {
            Orders::AsRequested
        }
    }
}
