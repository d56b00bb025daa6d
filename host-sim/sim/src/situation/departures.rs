//! What lets a request in: [`Departures`] of running jobs, [`Earliest`] by their estimates.

use meshalloc::{ConfigureError, Refusal, Request, Ticks};
use serde::Serialize;

use super::cheapest::Cheapest;
#[cfg(doc)]
use super::cheapest::TRIES_MAX;
use super::{Running, Situation};

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
    /// The request does not fit even when all jobs have left.
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
    /// If the strategy gives boxes, the first attempt goes by place. Of the boxes of the shape
    /// without faulty processors, the search takes the one in which the fewest jobs hold
    /// processors. If the strategy grants the request without these jobs, no smaller set exists.
    /// Otherwise all sets are tried, the smaller ones first, up to [`TRIES_MAX`].
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn departures(&self, request: &Request) -> Result<Departures, ConfigureError> {
        Ok(match self.cheapest(request, &|_| Some(1), usize::MAX)? {
            Cheapest::Set(places) => {
                let jobs = places.iter().map(|&at| self.running[at].job.0);
                Departures::Jobs {
                    jobs: jobs.collect(),
                }
            }
            Cheapest::Open { size, .. } => Departures::MoreThan { size: size as u32 },
            Cheapest::TooMany | Cheapest::Never => Departures::Never,
            Cheapest::Unknown => Departures::Unknown,
        })
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
