//! What lets a request in: [`Departures`] of running jobs, [`Earliest`] by their estimates.

use std::collections::BTreeSet;

use meshalloc::{ConfigureError, Flags, Refusal, Request, SliceRule, Ticks};
use serde::Serialize;

use super::boxes::{Owner, boxes, nodes, orders};
use super::twin::Twin;
use super::{Running, Situation};

/// The most times that [`Situation::departures`] asks the strategy.
pub const TRIES_MAX: u32 = 20_000;

/// As how many tries one counts whose search for the slices of a gang has tried sets of places.
const GANG_TRIES: u32 = 100;

/// Which running jobs have to leave until a request fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "departures", rename_all = "kebab-case")]
pub enum Departures {
    /// A smallest set of jobs; none if the request fits now.
    Jobs {
        /// Their names, in ascending order.
        jobs: Vec<u32>,
    },
    /// No set of this size is enough, and larger ones were not looked at: the search ended after
    /// [`TRIES_MAX`] tries.
    MoreThan {
        /// The size.
        size: u32,
    },
    /// It does not fit when all jobs have left.
    Never,
    /// The search for a place, or for places of all slices of a gang, is not completed even when
    /// all jobs have left.
    Unknown,
}

/// When a request fits at the latest, if no job overruns its estimate and no other job starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earliest {
    /// Now.
    Now,
    /// At this time, when the estimates of some jobs have run out.
    At(Ticks),
    /// It depends on a job without an estimate, or does not fit when all jobs have left.
    Unknown,
}

impl Situation<'_> {
    /// A smallest set of running jobs after whose departure the request is granted, if no other job
    /// starts. A gang is not granted if the search for its slices gives up.
    ///
    /// For a box this is first looked for by place: the box that fewest jobs meet, of all boxes of
    /// the shape without a faulty processor. If the strategy takes it, no smaller set exists.
    /// Otherwise all sets are tried, the smaller ones first, up to [`TRIES_MAX`].
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn departures(&self, request: &Request) -> Result<Departures, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.twin(&mut storage)?;
        let Ok(needs) = twin.allocator.demand(request) else {
            return Ok(Departures::Never);
        };
        twin.fail(&self.faulty);
        match twin.attempt(request) {
            Ok(()) => {}
            Err(Refusal::NotSearchedToTheEnd) => return Ok(Departures::Unknown),
            Err(_) => return Ok(Departures::Never),
        }
        self.running.iter().for_each(|job| twin.hold(&job.blocks));
        let free = twin.allocator.occupancy().free();
        let tolerated = request.tolerated().saturating_mul(request.slices());
        let mut least = self.least_by_number(needs.saturating_sub(tolerated), free);
        if let Some(jobs) = self.fewest_in_the_way(request) {
            least = least.max(jobs.len());
            let leaving = jobs.iter().map(|&at| &*self.running[at].blocks);
            if twin.fits_without(leaving, request) {
                return Ok(self.named(&jobs));
            }
        }
        let mut tries = TRIES_MAX;
        for size in least..=self.running.len() {
            let mut chosen = Vec::new();
            match self.choose(size, 0, &mut chosen, request, &mut twin, &mut tries) {
                Some(true) => return Ok(self.named(&chosen)),
                Some(false) => {}
                None => {
                    let size = size.saturating_sub(1) as u32;
                    return Ok(Departures::MoreThan { size });
                }
            }
        }
        Ok(Departures::Never)
    }

    fn named(&self, places: &[usize]) -> Departures {
        let jobs = places.iter().map(|&at| self.running[at].job.0);
        Departures::Jobs {
            jobs: jobs.collect(),
        }
    }

    /// The fewest jobs that together hold what is missing: those that hold most.
    fn least_by_number(&self, needs: u32, free: u32) -> usize {
        let machine = &self.configuration.machine;
        let held = |job: &Running| job.blocks.iter().map(|&block| machine.area(block)).sum();
        let mut sizes: Vec<u32> = self.running.iter().map(held).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let mut free = free;
        let enough = sizes.iter().take_while(|&&size| {
            let lacks = free < needs;
            free += size;
            lacks
        });
        enough.count()
    }

    /// Adds jobs from this place on to the chosen ones until there are `size`, and asks whether the
    /// request fits without them. `None` when the tries are used up.
    fn choose(
        &self,
        size: usize,
        from: usize,
        chosen: &mut Vec<usize>,
        request: &Request,
        twin: &mut Twin<'_>,
        tries: &mut u32,
    ) -> Option<bool> {
        if chosen.len() == size {
            let attempt = twin.attempt(request);
            *tries = tries.checked_sub(match attempt {
                Err(Refusal::GangIncomplete | Refusal::NotSearchedToTheEnd) => GANG_TRIES,
                _ => 1,
            })?;
            return Some(attempt.is_ok());
        }
        let last = self.running.len() - (size - chosen.len());
        for at in from..=last {
            let blocks = &self.running[at].blocks;
            twin.give_back(blocks);
            chosen.push(at);
            let found = self.choose(size, at + 1, chosen, request, twin, tries);
            twin.hold(blocks);
            if found != Some(false) {
                return found;
            }
            chosen.pop();
        }
        Some(false)
    }

    /// The box of the request's shape, in any order of its extents in which the strategy lays it,
    /// that fewest running jobs meet: their places, ascending. `None` where the strategy gives no
    /// boxes, no box is free of faulty processors, or the request tolerates some.
    fn fewest_in_the_way(&self, request: &Request) -> Option<Vec<usize>> {
        let SliceRule::Box { turns, .. } = self.configuration.strategy.into() else {
            return None;
        };
        let machine = &self.configuration.machine;
        // On a cube the first extent belongs to another dimension.
        let is_reversed = machine.is_written_high_first() && !turns;
        let is_one_box = request.slices() == 1 && request.tolerated() == 0;
        if request.flags.contains(Flags::CHIPS) || !is_one_box || is_reversed {
            return None;
        }
        let owners = self.owners();
        let mut best: Option<BTreeSet<usize>> = None;
        for extents in orders(machine, request.shape, turns && request.may_rotate()) {
            for block in boxes(machine, &extents) {
                let most = best.as_ref().map_or(usize::MAX, BTreeSet::len);
                let mut met = BTreeSet::new();
                let is_better = nodes(machine, block).all(|node| match owners[node.0 as usize] {
                    Owner::Free => true,
                    Owner::Faulty => false,
                    Owner::Job(at) => {
                        met.insert(at);
                        met.len() < most
                    }
                });
                if is_better && met.len() < most {
                    best = Some(met);
                }
            }
        }
        best.map(|jobs| jobs.into_iter().collect())
    }

    /// Whether the strategy would grant the request now; the inner error says why not.
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn attempt(&self, request: &Request) -> Result<Result<(), Refusal>, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.present_twin(&mut storage)?;
        Ok(twin.attempt(request))
    }

    /// When the request fits, if all jobs end by their estimates and no other job starts.
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn earliest(&self, request: &Request) -> Result<Earliest, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.present_twin(&mut storage)?;
        if twin.fits(request) {
            return Ok(Earliest::Now);
        }
        let end = |job: &Running| {
            let estimate = job.request.estimate?;
            Some(job.granted_at.saturating_add(estimate.get()))
        };
        let mut ends: Vec<_> = self.running.iter().collect();
        ends.sort_by_key(|job| end(job).unwrap_or(Ticks::MAX));
        for job in ends {
            let Some(at) = end(job) else { break };
            twin.give_back(&job.blocks);
            if twin.fits(request) {
                return Ok(Earliest::At(at));
            }
        }
        Ok(Earliest::Unknown)
    }
}
