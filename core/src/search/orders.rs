//! The orders in which the extents of a request are laid along the dimensions: [`Orders`].

use crate::request::Request;

/// Which orders of a request's radices are laid along the dimensions of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// The request's own alone.
    AsRequested,
    /// The request's own, then every other, each once.
    All,
}

impl Orders {
    /// Those that may serve the request.
    pub(crate) const fn of(request: &Request) -> Orders {
        match request.may_rotate() {
            true => Orders::All,
            false => Orders::AsRequested,
        }
    }
}

/// The next order of the numbers in lexicographic order; false at the last one, which is followed by the first.
pub(super) fn next_order(order: &mut [u16]) -> bool {
    let Some(at) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        order.reverse();
        return false;
    };
    // There is one, `order[at + 1]` at least.
    let larger = order.iter().rposition(|&number| number > order[at]);
    order.swap(at, larger.unwrap_or(at));
    order[at + 1..].reverse();
    true
}
