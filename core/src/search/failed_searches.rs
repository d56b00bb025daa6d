//! Searches that need not be made again: [`FailedSearches`].

use heapless::HistoryBuf;

use super::orders::Orders;
use crate::grid::{Block, Shape};
use crate::occupancy::Occupancy;

/// The most searches that are remembered.
const REMEMBERED_MAX: usize = 16;

/// The latest searches that found nothing since a processor became free.
///
/// Until the next processor becomes free they find nothing either, nor does any search for more.
/// Without this memory, a scheduler that lets many waiting jobs try would repeat the slowest
/// searches, those in vain: on a grid of many dimensions some hundred times.
#[derive(Debug, Default)]
pub(crate) struct FailedSearches {
    searches: HistoryBuf<(Shape, Orders), REMEMBERED_MAX>,
    /// [`Occupancy::releases`] when the searches failed.
    releases: u64,
}

impl FailedSearches {
    /// The result of `search`. If it is known that there is no place, `search` is not called. The
    /// places where it looks must follow from the shape and the orders.
    pub(crate) fn unless_known(
        &mut self,
        occupancy: &Occupancy<'_>,
        shape: Shape,
        orders: Orders,
        search: impl FnOnce() -> Option<Block>,
    ) -> Option<Block> {
        if self.has(occupancy, shape, orders) {
            return None;
        }
        let found = search();
        if found.is_none() {
            self.note(occupancy, shape, orders);
        }
        found
    }

    /// Whether it is known that the search finds nothing.
    #[inline]
    fn has(&mut self, occupancy: &Occupancy<'_>, shape: Shape, orders: Orders) -> bool {
        let Some(releases) = occupancy.releases() else {
            return false;
        };
        if self.releases != releases {
            self.releases = releases;
            self.searches.clear();
        }
        let mut searches = self.searches.iter();
        searches.any(|&(failed, tried)| match (tried, orders) {
            (Orders::All, _) => fits_within(failed, shape),
            _ => tried == orders && failed == shape,
        })
    }

    /// Notes that a search has found nothing.
    fn note(&mut self, occupancy: &Occupancy<'_>, shape: Shape, orders: Orders) {
        if occupancy.releases().is_some() {
            self.searches.write((shape, orders));
        }
    }
}

/// Whether a box with the extents of `outer`, in some order, has one with the extents of `inner`
/// within it: the largest of the one is not larger than the largest of the other, and so on.
fn fits_within(inner: Shape, outer: Shape) -> bool {
    let sorted = |shape: Shape| {
        let extents = shape.extents().filtered(|extent| extent > 1);
        extents.descending()
    };
    let (inner, outer) = (sorted(inner), sorted(outer));
    inner.len() <= outer.len()
        && inner
            .iter()
            .zip(&*outer)
            .all(|(inner, outer)| inner <= outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_fit_within_larger_and_more_ones() {
        let shape = |extents: &[u16]| Shape::new(extents).unwrap();
        for (inner, outer, fits) in [
            (&[][..], &[][..], true),
            (&[], &[2], true),
            (&[2], &[], false),
            (&[2, 4], &[4, 2], true),
            (&[3, 3], &[4, 2], false),
            (&[3, 3], &[2, 3, 4], true),
            (&[2, 2, 2], &[4, 4], false),
            (&[4], &[3, 3, 3], false),
            (&[1, 2, 1], &[3], true),
        ] {
            assert_eq!(
                fits_within(shape(inner), shape(outer)),
                fits,
                "{inner:?} {outer:?}"
            );
        }
    }
}
