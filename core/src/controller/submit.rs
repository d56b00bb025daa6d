//! A job comes: it is refused, waits, or is tried at once.

use super::{Controller, OnCommit, commit};
use crate::error::{Error, Refusal};
use crate::job_id::JobId;
use crate::jobs::{Cell, Slot};
use crate::message::Change;
use crate::pause::Pauses;
use crate::request::{Flags, Request, Ticks};
use crate::scheduler::{ServedScheduler, Trigger};
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    // Few functions call this one, and an image contains only one of those.
    #[inline(always)]
    pub(super) fn submit(
        &mut self,
        (job, request): (JobId, &Request),
        change: &Change,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
        on_commit: Option<OnCommit<'_>>,
    ) -> Result<Slot, Error> {
        let now = self.clock.max(now);
        let (demand, cell) = match self.vacancy(job, request, pauses) {
            Ok(vacancy) => vacancy,
            Err(refusal) => return Err(self.refused(refusal, request)),
        };
        let looks_ahead = self.strategy().facts().looks_ahead;
        if self.jobs.is_full() && !looks_ahead {
            return Err(self.refused(Refusal::TableFull, request));
        }
        let announced = self.announced(on_commit, change, now);
        // A job that never waits is tried first, unless the strategy remembers its request anyway.
        let never_waits = request.flags.contains(Flags::NO_WAIT);
        let (at_once, if_granted) = if never_waits && !looks_ahead {
            (None, announced)
        } else {
            (announced, None)
        };
        commit::commit(at_once)?;
        self.allocator.strategy.arrived(request);
        let slot = match self.jobs.submit((job, cell), request, demand, now) {
            Ok(slot) => slot,
            Err(refusal) => return Err(self.refused(refusal, request)),
        };
        if never_waits {
            self.try_only(slot, now, pauses, if_granted)?;
        } else {
            self.clock = now;
            self.schedule(Trigger::Arrival(slot));
        }
        self.counts.submitted += 1;
        Ok(slot)
    }

    /// Counts a submission that is refused. Returns the error, with the nearest legal shapes if the
    /// requested shape is not legal.
    fn refused(&mut self, refusal: Refusal, _request: &Request) -> Error {
        self.counts.refused += 1;
        #[cfg(feature = "machine")]
        if refusal == Refusal::NotLegal {
            let description = self.strategy().description();
            let nearest =
                description.map_or([None; _], |description| description.nearest(_request));
            return Error::NotLegal { nearest };
        }
        refusal.into()
    }

    /// The number of processors that the request demands, and the cell of the table for its name.
    #[inline(always)]
    fn vacancy(
        &mut self,
        job: JobId,
        request: &Request,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<(u32, Cell), Refusal> {
        let demand = self.allocator.demand(request)?;
        let cell = self.jobs.cell_for(job)?;
        if self.allocator.may_never_fit(request) {
            let (_, mut world) = self.world(pauses);
            let (_, allocator, pause) = world.parts();
            allocator.check_present(request, demand, pause.as_ref())?;
        }
        Ok((demand, cell))
    }
}
