//! Places with faulty processors, for slices that tolerate some.
//!
//! # Source
//!
//! This project.
//!
//! # Definition
//!
//! 1. The strategy has found no place for the slice without faulty processors, or too few
//!    processors are free for such a place. Now the slice may have faulty processors that no job
//!    holds and that are not absent. Of these, the [`UNHELD_MAX`] with the lowest numbers are used.
//! 2. If the strategy is monotone, it is asked as if all of these processors worked. If it then
//!    finds no place, there is none.
//! 3. The strategy is asked as if one of these processors worked, for each of them in the order of
//!    their numbers. Then it is asked as if two of them worked, in the order of the higher number,
//!    then of the lower; and so on, up to as many as the slice tolerates. The first place that the
//!    strategy finds is taken. The strategy sees no other jobs ([`Outlook`](crate::Outlook)).
//! 4. After [`SEARCHES_MAX`] searches the search for a place gives up.
//!
//! The slices of a gang are placed one after the other, each where the earlier ones are busy; then
//! sets of places are searched (`gang.rs`).
//!
//! ```text
//!   2 x 2 that tolerates one, first fit:  x faulty, # held, 1 the slice
//!
//!     . . . #          1 1 . #
//!     . x # .          1 x # .        it holds the faulty processor
//!     # # x .          # # x .
//! ```
//!
//! # Complexity and memory
//!
//! At most [`SEARCHES_MAX`] searches of the strategy, and one more, for each slice, with a pause
//! between two of them. O(words) to list the faulty processors; [`UNHELD_MAX`] numbers
//! on the stack.

use heapless::Vec;

use super::Supposition;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::pool::Chain;
use crate::request::Request;
use crate::strategy::{FindsAgain, Purpose, Strategy};
use crate::tolerance::Tolerance;

/// The most faulty processors that are supposed to work, in turn.
const UNHELD_MAX: usize = 32;
/// The most searches with faulty processors for a slice: enough for each one and each pair of 22
/// processors, or for each one of [`UNHELD_MAX`] processors and each pair of 21 of them. Searches
/// take up to 50 ms each on the board.
const SEARCHES_MAX: u32 = 256;

/// The faulty processors that no job holds and that are not absent, in the order of their numbers.
/// If a request tolerates none, the list may be empty.
#[derive(Clone, Debug)]
pub(crate) struct Unheld([List; Tolerance::BUILT as usize]);

#[derive(Clone, Debug)]
struct List {
    nodes: Vec<NodeId, UNHELD_MAX>,
    is_any_left_out: bool,
}

impl Unheld {
    /// An empty list.
    pub(crate) const NONE: Unheld = {
        const NONE: List = List {
            nodes: Vec::new(),
            is_any_left_out: false,
        };
        Unheld([NONE; Tolerance::BUILT as usize])
    };

    /// The processors.
    fn nodes(&self) -> &[NodeId] {
        self.0.first().map_or(&[], |list| &list.nodes)
    }

    /// Whether there are more such processors than the list has room for.
    fn is_any_left_out(&self) -> bool {
        self.0.first().is_some_and(|list| list.is_any_left_out)
    }

    /// Each processor as a block.
    pub(crate) fn units(&self, grid: &Grid) -> impl Iterator<Item = Block> {
        self.nodes().iter().filter_map(|&node| grid.unit(node))
    }

    /// The refusal of a request if `refusal` is the outcome of a search with all processors of the
    /// list.
    pub(super) fn refusal_of(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::GangIncomplete | Refusal::Fragmented if self.is_any_left_out() => {
                Refusal::NotSearchedToTheEnd
            }
            other => other,
        }
    }

    /// The number of faulty processors that all slices of the request together may have.
    pub(crate) fn usable(&self, request: &Request) -> u32 {
        let tolerated = request.tolerated().saturating_mul(request.slices());
        if self.is_any_left_out() {
            tolerated
        } else {
            tolerated.min(self.nodes().len() as u32)
        }
    }

    /// Adds a faulty processor that no job holds.
    pub(crate) fn add(&mut self, mut node: NodeId) {
        let Some(list) = self.0.first_mut() else {
            return;
        };
        if list.nodes.contains(&node) {
            return;
        }
        for other in &mut list.nodes {
            if *other > node {
                core::mem::swap(other, &mut node);
            }
        }
        list.is_any_left_out |= list.nodes.push(node).is_err();
    }

    /// Gives back a block whose processors are all busy. Its faulty processors stay busy.
    pub(super) fn vacate(
        &mut self,
        supposed: &mut Occupancy<'_>,
        occupancy: &Occupancy<'_>,
        block: Block,
    ) {
        supposed.vacate(occupancy, block);
        if Tolerance::BUILT && occupancy.faulty_count() > 0 && occupancy.faulty_in(block) > 0 {
            let nodes = occupancy.faulty_nodes();
            nodes
                .filter(|&node| occupancy.grid().holds(block, node))
                .for_each(|node| self.add(node));
        }
    }

    /// Makes a block busy that a job holds from now on, and forgets its faulty processors.
    pub(crate) fn occupy(&mut self, supposed: &mut Occupancy<'_>, block: Block) {
        supposed.occupy(block);
        if let Some(list) = self.0.first_mut() {
            let grid = supposed.grid();
            list.nodes.retain(|&node| !grid.holds(block, node));
        }
    }
}

impl<S: Strategy> Supposition<'_, '_, S> {
    /// Checks whether a search with faulty processors may succeed where one without them has
    /// failed.
    ///
    /// # Errors
    ///
    /// `refusal`, that of the search without them, if the request may have no faulty processor;
    /// `TooFewFree` if even with faulty processors too few are free.
    pub(super) fn check_usable(
        &self,
        request: &Request,
        demand: u32,
        refusal: Refusal,
    ) -> Result<(), Refusal> {
        let usable = self.unheld.usable(request);
        if usable == 0 {
            return Err(refusal);
        }
        let suffices = demand <= self.free().saturating_add(usable);
        suffices.then_some(()).ok_or(Refusal::TooFewFree)
    }

    /// The blocks of a slice, which has a place only with faulty processors. They are not occupied
    /// here.
    ///
    /// # Errors
    ///
    /// `Fragmented`, `NotSearchedToTheEnd`, `TableFull`.
    pub(super) fn slice_with_faulty(
        &mut self,
        slice: &Request,
        demand: u32,
        purpose: Purpose<'_, '_>,
    ) -> Result<Chain, Refusal> {
        let purpose = if let Purpose::Grant(_) = purpose {
            Purpose::Slice
        } else {
            purpose
        };
        let unheld = self.unheld.clone();
        let nodes = unheld.nodes();
        let not_found = unheld.refusal_of(Refusal::Fragmented);
        let is_monotone = self.strategy.facts().finds_again == FindsAgain::Monotone;
        if is_monotone && nodes.len() > 1 {
            let all = (1 << nodes.len()) - 1;
            match self.where_work(nodes, all, slice, demand, Purpose::Question) {
                Ok(blocks) => self.pool.free(blocks),
                Err(Refusal::TableFull) => {}
                Err(_) => return Err(not_found),
            }
        }
        let fewest = demand.saturating_sub(self.free()).max(1);
        let most = slice.tolerated().min(nodes.len() as u32);
        let mut searches = 0;
        for count in fewest..=most {
            let mut chosen: u64 = (1 << count) - 1;
            while chosen < 1 << nodes.len() {
                if searches == SEARCHES_MAX {
                    return Err(Refusal::NotSearchedToTheEnd);
                }
                searches += 1;
                match self.where_work(nodes, chosen, slice, demand, purpose) {
                    Err(Refusal::Fragmented) => {}
                    other => return other,
                }
                chosen = next_choice(chosen);
            }
        }
        Err(not_found)
    }

    /// The blocks that the strategy finds for a slice if the chosen ones of these faulty processors
    /// work.
    fn where_work(
        &mut self,
        nodes: &[NodeId],
        chosen: u64,
        slice: &Request,
        demand: u32,
        purpose: Purpose<'_, '_>,
    ) -> Result<Chain, Refusal> {
        self.poll();
        let grid = *self.supposed.grid();
        let numbered = (0..).zip(nodes);
        let works = numbered.filter(|&(at, _)| chosen >> at & 1 == 1);
        let units = works.filter_map(|(_, &node)| grid.unit(node));
        for unit in units.clone() {
            self.supposed.leave(unit);
        }
        let blocks = self.next_slice(slice, demand, purpose);
        for unit in units {
            self.supposed.occupy(unit);
        }
        blocks
    }
}

/// The next greater number with as many bits set.
const fn next_choice(chosen: u64) -> u64 {
    let lowest = chosen & chosen.wrapping_neg();
    let carried = chosen + lowest;
    carried | (carried ^ chosen) >> (lowest.trailing_zeros() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_in_order_and_complete() {
        for count in 1..=6 {
            let first = (1 << count) - 1;
            let choices = core::iter::successors(Some(first), |&chosen| Some(next_choice(chosen)));
            let choices = choices.take_while(|&chosen| chosen < 1 << 9);
            let expected = (0..1 << 9).filter(|chosen: &u64| chosen.count_ones() == count);
            assert!(expected.eq(choices));
        }
        let last = 3 << (UNHELD_MAX - 2);
        assert!(next_choice(last) >= 1 << UNHELD_MAX);
    }
}
