//! Which running jobs should make room for an urgent one: [`Preemption`].

use meshalloc::{ConfigureError, JobId, Ticks, VICTIMS_MAX};

use super::cheapest::Cheapest;
use super::{Running, Situation, Waiting};

/// Running jobs that make room for a job that waits, if that is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// The job is granted if these jobs wait again.
    Of {
        /// At most [`VICTIMS_MAX`], by name; none if the job fits now.
        victims: Vec<Victim>,
        /// Whether no other set loses less work. False if the search gave up, so that this is not
        /// known.
        is_least: bool,
    },
    /// More than [`VICTIMS_MAX`] jobs would have to make room.
    TooMany,
    /// The job does not fit without all jobs that it may preempt.
    Never,
    /// The search for places of all slices of a gang is not completed even without these.
    Unknown,
}

/// A job that makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its name.
    pub job: JobId,
    /// The processors that it holds.
    pub processors: u32,
    /// How long it has held them, in ticks.
    pub ran: Ticks,
}

impl Victim {
    /// Its work so far: processors times ticks.
    pub const fn lost(&self) -> u128 {
        self.processors as u128 * self.ran as u128
    }
}

impl Situation<'_> {
    /// The latest time of which this situation knows: that of a submission or a grant.
    pub fn latest(&self) -> Ticks {
        let granted = self.running.iter().map(|job| job.granted_at);
        let submitted = self.waiting.iter().map(|job| job.submitted);
        granted.chain(submitted).max().unwrap_or(0)
    }

    /// Whether the job that waits may preempt this one: it is preemptible and its priority is
    /// lower.
    pub fn may_preempt(waiting: &Waiting, running: &Running) -> bool {
        let (own, other) = (waiting.request.class, running.request.class);
        other.is_preemptible() && other.priority() < own.priority()
    }

    /// The running jobs that should make room for this one at the time `now`: at most
    /// [`VICTIMS_MAX`] jobs that it may preempt, after whose departure it is granted. The sum over
    /// these jobs of processors times the time since the grant is the least possible; among such
    /// sets it has the fewest jobs.
    ///
    /// If the search for the cheapest set gives up, the result is the best set so far; without such
    /// a set, it is a set in which every job has to leave.
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn victims(&self, waiting: &Waiting, now: Ticks) -> Result<Preemption, ConfigureError> {
        let victim = |running: &Running| Victim {
            job: running.job,
            processors: self.held(running),
            ran: now.saturating_sub(running.granted_at),
        };
        let lost =
            |running: &Running| Self::may_preempt(waiting, running).then(|| victim(running).lost());
        let (places, is_least) = match self.cheapest(&waiting.request, &lost, VICTIMS_MAX)? {
            Cheapest::Set(places) => (places, true),
            Cheapest::Open {
                known: Some(places),
                ..
            } => (places, false),
            Cheapest::Open { known: None, .. } => match self.irreducible(waiting, &lost)? {
                places if places.len() <= VICTIMS_MAX => (places, false),
                _ => return Ok(Preemption::TooMany),
            },
            Cheapest::TooMany => return Ok(Preemption::TooMany),
            Cheapest::Never => return Ok(Preemption::Never),
            Cheapest::Unknown => return Ok(Preemption::Unknown),
        };
        let victims = places.iter().map(|&at| victim(&self.running[at]));
        Ok(Preemption::Of {
            victims: victims.collect(),
            is_least,
        })
    }

    /// A set of jobs that may leave, of which none can stay. The search begins with all jobs that
    /// may leave, and drops each job that can stay, the one with most to lose first.
    fn irreducible(
        &self,
        waiting: &Waiting,
        lost: &dyn Fn(&Running) -> Option<u128>,
    ) -> Result<Vec<usize>, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.present_twin(&mut storage)?;
        let in_order = self.running.iter().enumerate();
        let mut leaving: Vec<_> = in_order
            .filter_map(|(at, job)| Some((lost(job)?, at)))
            .collect();
        leaving.sort_unstable();
        let mut at = leaving.len();
        while let Some(next) = at.checked_sub(1) {
            at = next;
            let others = leaving.iter().filter(|&other| *other != leaving[at]);
            let others = others.map(|&(_, other)| &*self.running[other].blocks);
            if twin.fits_without(others, &waiting.request) {
                leaving.remove(at);
            }
        }
        let mut places: Vec<_> = leaving.into_iter().map(|(_, at)| at).collect();
        places.sort_unstable();
        Ok(places)
    }
}
