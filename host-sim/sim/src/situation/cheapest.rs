//! Which running jobs have to leave before a request fits, at the least weight: [`Cheapest`].

use std::collections::BTreeSet;

use meshalloc::{ConfigureError, Flags, Refusal, Request, SliceRule};

use super::boxes::{Owner, boxes, nodes, orders};
use super::twin::Twin;
use super::{Running, Situation};

/// The most times that a search asks the strategy.
pub const TRIES_MAX: u32 = 20_000;

/// The number of tries for which a try counts if it searched sets of places for the slices of a
/// gang.
const GANG_TRIES: u32 = 100;

/// What it costs if a job leaves; `None` if it stays.
pub(super) type Weight<'a> = &'a dyn Fn(&Running) -> Option<u128>;

/// Jobs, named by their places in [`Situation::running`], after whose departure a request is
/// granted.
pub(super) enum Cheapest {
    /// The jobs with the least sum of weights, and the fewest jobs among such sets; empty if the
    /// request fits now.
    Set(Vec<usize>),
    /// The search ended after [`TRIES_MAX`] tries.
    Open {
        /// If `known` is `None`, no set of this size or smaller is enough.
        size: usize,
        /// The best set so far.
        known: Option<Vec<usize>>,
    },
    /// It takes more jobs than may leave.
    TooMany,
    /// The request does not fit even when all jobs that may leave have left.
    Never,
    /// The search for a place, or for places of all slices of a gang, gives up even when all jobs
    /// that may leave have left.
    Unknown,
}

impl Situation<'_> {
    /// The cheapest set of at most `most` jobs.
    ///
    /// If the strategy gives boxes, the first attempt goes by place. Of the boxes of the shape
    /// without faulty processors and without jobs that stay, the search takes the one whose jobs
    /// weigh least. If the strategy grants the request without these jobs, no cheaper set exists.
    /// Otherwise all sets are tried, the smaller ones first, up to [`TRIES_MAX`].
    pub(super) fn cheapest(
        &self,
        request: &Request,
        weight: Weight<'_>,
        most: usize,
    ) -> Result<Cheapest, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.twin(&mut storage)?;
        let Ok(needs) = twin.allocator.demand(request) else {
            return Ok(Cheapest::Never);
        };
        twin.fail(&self.faulty);
        let weights: Vec<_> = self.running.iter().map(weight).collect();
        let weighed = || self.running.iter().zip(&weights);
        let stay = weighed().filter(|(_, weight)| weight.is_none());
        stay.for_each(|(job, _)| twin.hold(&job.blocks));
        match twin.attempt(request) {
            Ok(()) => {}
            Err(Refusal::NotSearchedToTheEnd) => return Ok(Cheapest::Unknown),
            Err(_) => return Ok(Cheapest::Never),
        }
        let may_leave = weighed().filter(|(_, weight)| weight.is_some());
        may_leave.for_each(|(job, _)| twin.hold(&job.blocks));
        if let Some(jobs) = self.lightest_in_the_way(request, &weights, most) {
            let leaving = jobs.iter().map(|&at| &*self.running[at].blocks);
            if twin.fits_without(leaving, request) {
                return Ok(Cheapest::Set(jobs));
            }
        }
        let each: Vec<_> = weights.iter().map(|weight| weight.map(|_| 1)).collect();
        let fewest = self.lightest_in_the_way(request, &each, usize::MAX);
        let free = twin.allocator.occupancy().free();
        let tolerated = request.tolerated().saturating_mul(request.slices());
        let least = self.least_by_number(needs.saturating_sub(tolerated), free, &weights);
        let least = least.max(fewest.map_or(0, |jobs| jobs.len()));
        let in_order = (0..).zip(&weights);
        let mut choices: Vec<_> = in_order
            .filter_map(|(at, weight)| Some(((*weight)?, at)))
            .collect();
        choices.sort_by_key(|&(weight, _)| weight);
        let mut sets = Sets {
            situation: self,
            request,
            twin: &mut twin,
            choices,
            chosen: Vec::new(),
            best: None,
            tries: TRIES_MAX,
        };
        for size in least..=most.min(sets.choices.len()) {
            if sets.choose(size, 0, 0).is_none() {
                return Ok(Cheapest::Open {
                    size: size.saturating_sub(1),
                    known: sets.best.map(|(_, known)| known),
                });
            }
        }
        Ok(match sets.best {
            Some((_, best)) => Cheapest::Set(best),
            None => Cheapest::TooMany,
        })
    }

    /// The least number of jobs that may leave and together hold the missing processors. The jobs
    /// that hold most are counted first.
    fn least_by_number(&self, needs: u32, free: u32, weights: &[Option<u128>]) -> usize {
        let may_leave = self.running.iter().zip(weights);
        let may_leave = may_leave.filter(|(_, weight)| weight.is_some());
        let mut sizes: Vec<u32> = may_leave.map(|(job, _)| self.held(job)).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let mut free = free;
        let enough = sizes.iter().take_while(|&&size| {
            let lacks = free < needs;
            free += size;
            lacks
        });
        enough.count()
    }

    /// The number of processors that a job holds.
    pub(super) fn held(&self, job: &Running) -> u32 {
        let machine = &self.configuration.machine;
        job.blocks.iter().map(|&block| machine.area(block)).sum()
    }

    /// The jobs in the box of the request's shape whose jobs weigh least, by their places,
    /// ascending. Boxes have the extents in every order that the strategy uses. `None` if the
    /// strategy gives no boxes, the request tolerates faulty processors, or each box has a faulty
    /// processor or a processor of a job that stays.
    fn lightest_in_the_way(
        &self,
        request: &Request,
        weights: &[Option<u128>],
        most: usize,
    ) -> Option<Vec<usize>> {
        let SliceRule::Box { turns, .. } = self.configuration.strategy.into() else {
            return None;
        };
        let machine = &self.configuration.machine;
        // On a cube the first extent of a shape does not belong to dimension 0.
        let is_reversed = machine.is_written_high_first() && !turns;
        let is_one_box = request.slices() == 1 && request.tolerated() == 0;
        if request.flags.contains(Flags::CHIPS) || !is_one_box || is_reversed {
            return None;
        }
        let owners = self.owners();
        let mut best: Option<((u128, usize), BTreeSet<usize>)> = None;
        for extents in orders(machine, request.shape, turns && request.may_rotate()) {
            for block in boxes(machine, &extents) {
                let mut met = BTreeSet::new();
                let mut sum = 0;
                let is_better = |sum, len| best.as_ref().is_none_or(|(best, _)| (sum, len) < *best);
                let may_have = nodes(machine, block).all(|node| match owners[node.0 as usize] {
                    Owner::Free => true,
                    Owner::Faulty => false,
                    Owner::Job(at) => match weights[at] {
                        None => false,
                        Some(weight) => {
                            if met.insert(at) {
                                sum += weight;
                            }
                            met.len() <= most && is_better(sum, met.len())
                        }
                    },
                });
                if may_have && is_better(sum, met.len()) {
                    best = Some(((sum, met.len()), met));
                }
            }
        }
        best.map(|(_, jobs)| jobs.into_iter().collect())
    }
}

/// The search among all sets.
struct Sets<'a, 'm> {
    situation: &'a Situation<'a>,
    request: &'a Request,
    /// An allocator in which the chosen jobs have given their processors back.
    twin: &'a mut Twin<'m>,
    /// The jobs that may leave, the lightest first.
    choices: Vec<(u128, usize)>,
    chosen: Vec<usize>,
    best: Option<(u128, Vec<usize>)>,
    tries: u32,
}

impl Sets<'_, '_> {
    /// Adds jobs from this place of the choices on to the chosen ones, which weigh `sum`, until
    /// there are `size`, and asks whether the request fits without them. `None` when the tries are
    /// used up.
    fn choose(&mut self, size: usize, from: usize, sum: u128) -> Option<()> {
        let missing = size - self.chosen.len();
        if missing == 0 {
            let attempt = self.twin.attempt(self.request);
            self.tries = self.tries.checked_sub(match attempt {
                Err(Refusal::GangIncomplete | Refusal::NotSearchedToTheEnd) => GANG_TRIES,
                _ => 1,
            })?;
            if attempt.is_ok() {
                let mut places = self.chosen.clone();
                places.sort_unstable();
                self.best = Some((sum, places));
            }
            return Some(());
        }
        for next in from..=self.choices.len() - missing {
            let (weight, at) = self.choices[next];
            // The jobs after this one weigh as much, or more.
            let least = sum + weight * missing as u128;
            if self.best.as_ref().is_some_and(|&(best, _)| least >= best) {
                break;
            }
            let blocks = &self.situation.running[at].blocks;
            self.twin.give_back(blocks);
            self.chosen.push(at);
            let is_open = self.choose(size, next + 1, sum + weight);
            self.twin.hold(blocks);
            self.chosen.pop();
            is_open?;
        }
        Some(())
    }
}
