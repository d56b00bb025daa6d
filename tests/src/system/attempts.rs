//! Which waiting jobs are tried, and when.

use std::num::NonZeroU64;

use meshalloc::{Flags, Refusal, SchedulerKind, Ticks};

use super::{ExpectedGrant, Job, System};
use crate::backfilling::{Situation, Use, end_of};
use crate::foresight::{Other, Outlook};
use crate::strategy::{Held, counts_processors};
use crate::tolerance;

impl System {
    /// The heads try until one is blocked; then those behind it, as long as they may bypass it.
    pub(super) fn departure(&mut self, grants: &mut Vec<ExpectedGrant>) {
        match self.discipline.scheduler() {
            Some(SchedulerKind::Easy { reservations }) => {
                self.backfill(0, reservations, grants);
                return;
            }
            Some(SchedulerKind::Conservative) => {
                self.backfill(0, u64::MAX, grants);
                return;
            }
            Some(SchedulerKind::ShortestJobFirst { threshold }) => {
                self.shortest_first(threshold, grants);
                return;
            }
            _ => self.see_head(),
        }
        self.try_after(0, true, grants);
    }

    /// What follows after the job at this place of the queue has tried: while heads are granted the
    /// next one tries; then those behind try, as long as they may bypass the head.
    pub(super) fn try_after(
        &mut self,
        tried: usize,
        granted: bool,
        grants: &mut Vec<ExpectedGrant>,
    ) {
        if tried == 0 && granted {
            while !self.waiting.is_empty() && self.attempt(0, grants).is_ok() {}
        }
        let mut at = (tried + usize::from(!granted)).max(1);
        while at < self.waiting.len()
            && self
                .discipline
                .may_bypass(self.clock, self.waiting[0].submitted)
        {
            if self.attempt(at, grants).is_err() {
                at += 1;
            }
        }
    }

    /// A job that never waits tries alone. If reservations have to be made anew, they are made for
    /// the jobs before it as if all of these had been refused; if one would start, the job may not
    /// try. If it is granted, those behind it try. Returns it, and why it was refused.
    pub(super) fn only_around(
        &mut self,
        at: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let serial = self.waiting[at].serial;
        let is_last = at + 1 == self.waiting.len();
        if self.begins_anew() || !is_last {
            self.reserved_with = None;
            for job in &mut self.waiting {
                job.reserved = None;
            }
            for before in 0..at {
                let request = self.waiting[before].request;
                if self.situation().would_start(&request) {
                    return Some((serial, Refusal::QueueNotEmpty));
                }
                if (before as u64) < reservations {
                    self.waiting[before].reserved = self.situation().reservation(&request);
                }
            }
        }
        let outcome = self.attempt(at, grants);
        let may_go_on = self.machine().free() > 0 || (at as u64) < reservations;
        if outcome.is_ok() && !is_last && may_go_on {
            self.backfill_from(at, reservations, grants);
        }
        outcome.err().map(|refusal| (serial, refusal))
    }

    /// Whether reservations have to be made anew: a job runs longer than expected, other nodes are
    /// free than when the first was made, or a node became faulty or was repaired since.
    fn begins_anew(&self) -> bool {
        let is_overdue = |job: &Job| match end_of(&job.request, job.granted_at) {
            Ticks::MAX => false,
            end => end <= self.clock,
        };
        let are_others = self.reserved_with != Some(self.machine().free());
        are_others || self.running.iter().any(is_overdue)
    }

    /// When the head of the queue could start if no other job waited.
    pub fn earliest_start_of_head(&self) -> Option<Ticks> {
        let mut situation = self.situation();
        situation.reserved.clear();
        let head = situation.reservation(&self.waiting.first()?.request)?;
        Some(head.start)
    }

    /// The job at this place, which has arrived, or all from the first on after a departure, try in
    /// order, around the reservations: all if reservations have to be made anew, or if others stand
    /// behind the job. Returns the last job that was refused, and why.
    pub(super) fn backfill(
        &mut self,
        from: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let is_last = from + 1 == self.waiting.len();
        let at = if self.begins_anew() || !is_last {
            0
        } else {
            from
        };
        for job in &mut self.waiting[at..] {
            job.reserved = None;
        }
        self.backfill_from(at, reservations, grants)
    }

    /// The jobs from this place in the queue on try in order, around the reservations. The first
    /// `reservations` jobs that have to wait hold one. Returns the last job that was refused, and
    /// why.
    fn backfill_from(
        &mut self,
        mut at: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let mut last = None;
        while at < self.waiting.len() {
            let serial = self.waiting[at].serial;
            if let Err(refusal) = self.attempt(at, grants) {
                last = Some((serial, refusal));
                if at == 0 {
                    self.reserved_with = Some(self.machine().free());
                }
                if (at as u64) < reservations {
                    let reserved = self.situation().reservation(&self.waiting[at].request);
                    self.waiting[at].reserved = reserved;
                }
                at += 1;
            }
            if at as u64 >= reservations && self.machine().free() == 0 {
                break;
            }
        }
        last
    }

    /// The job with the shortest estimate tries, or a head that has waited long enough, until one
    /// is refused.
    pub(super) fn shortest_first(
        &mut self,
        threshold: Ticks,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        loop {
            let at = self.shortest(threshold)?;
            let serial = self.waiting[at].serial;
            if let Err(refusal) = self.attempt(at, grants) {
                return Some((serial, refusal));
            }
        }
    }

    /// The place in the queue of the job that tries next under shortest job first.
    pub(super) fn shortest(&self, threshold: Ticks) -> Option<usize> {
        let head = self.waiting.first()?;
        let estimate = |&at: &usize| {
            let estimate = self.waiting[at].request.estimate;
            estimate.map_or(Ticks::MAX, std::num::NonZero::get)
        };
        if self.clock - head.submitted >= threshold {
            Some(0)
        } else {
            (0..self.waiting.len()).min_by_key(estimate)
        }
    }

    pub(super) fn situation(&self) -> Situation<'_> {
        let running = self.running.iter().map(|job| Use {
            start: job.granted_at,
            end: end_of(&job.request, job.granted_at).max(self.clock),
            nodes: job.nodes(self.grid()),
            processors: job.processors(self.grid()),
            blocks: job
                .held
                .as_ref()
                .map_or(0, |held| self.strategy.blocks(held)),
        });
        Situation {
            strategy: &self.strategy,
            faulty: &self.faulty,
            now: self.clock,
            running: running.collect(),
            reserved: self.reserved(),
        }
    }

    /// The reservations in the order of the queue.
    pub fn reserved(&self) -> Vec<Use> {
        let jobs = self.waiting.iter();
        jobs.filter_map(|job| job.reserved.clone()).collect()
    }

    /// A waiting job tries. Returns how many processors it holds now.
    pub(super) fn attempt(
        &mut self,
        at: usize,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<u32, Refusal> {
        let free = self.machine().free();
        let job = &mut self.waiting[at];
        let is_chips = job.request.flags.contains(Flags::CHIPS);
        let requested = if is_chips || counts_processors(self.strategy.kind()) {
            job.request.processors
        } else {
            job.request.shape.area()
        };
        let valid = free >= requested;
        let request = job.request;
        if self.strategy.looks_ahead() {
            let outlook = self.outlook(at);
            self.strategy.look(outlook);
        }
        let outcome = if self.waiting.iter().any(|job| job.reserved.is_some()) {
            self.situation().place(&request)
        } else {
            tolerance::place(&self.strategy, &self.unheld(&[]), &request)
        };
        // A job may be granted with fewer free nodes, if it tolerates faulty ones.
        let valid = valid || outcome.is_ok();
        let job = &mut self.waiting[at];
        let missed = valid && outcome.is_err();
        job.attempts += 1;
        job.misses += u32::from(missed);
        self.counts.attempts += 1;
        self.counts.valid_attempts += u64::from(valid);
        self.counts.misses += u64::from(missed);
        let held = outcome?;
        let mut job = self.waiting.remove(at);
        job.reserved = None;
        self.take(&held);
        job.held = Some(held);
        job.granted_at = self.clock;
        self.counts.granted += 1;
        if !job.has_run {
            self.discipline.allocated(self.clock - job.submitted);
        }
        if at > 0 {
            self.discipline.bypassed();
        }
        self.see_head();
        grants.push(job.granted());
        let processors = job.processors(self.grid());
        self.running.push(job);
        Ok(processors)
    }

    /// The faulty nodes that no job holds but for these.
    pub(super) fn unheld(&self, leaving: &[Job]) -> Vec<u32> {
        let stays = |job: &&Job| leaving.iter().all(|other| other.id != job.id);
        let stay: Vec<&Job> = self.running.iter().filter(stays).collect();
        let mut faulty = self.faulty_nodes();
        faulty.retain(|&node| !stay.iter().any(|job| job.holds(self.grid(), node)));
        faulty
    }

    /// A job takes these nodes; faulty ones among them were busy.
    pub(super) fn take(&mut self, held: &Held) {
        for node in held.nodes(self.grid()) {
            if self.faulty[node as usize] {
                self.strategy.set(node, false);
            }
        }
        self.strategy.take(held);
    }

    /// The outlook when this job of the queue is placed.
    fn outlook(&self, placed: usize) -> Outlook {
        let others = (1..).zip(self.waiting.iter().skip(1));
        let others = others.filter(|&(at, _)| at != placed);
        let running = self.running.iter().map(|job| Other {
            nodes: job.nodes(self.grid()),
            left: match end_of(&job.request, job.granted_at) {
                Ticks::MAX => None,
                end => Some(end.saturating_sub(self.clock)),
            },
        });
        let until = end_of(&self.waiting[placed].request, self.clock);
        let reserved = self.reserved().into_iter();
        let withheld = reserved.filter(|reserved| reserved.start < until);
        let withheld = withheld.map(|reserved| Other {
            nodes: reserved.nodes,
            left: (reserved.end < Ticks::MAX).then(|| reserved.end.max(self.clock) - self.clock),
        });
        Outlook {
            waiting: others
                .map(|(_, job)| self.strategy.expected(&job.request))
                .collect(),
            running: running.chain(withheld).collect(),
            never_free: self.faulty_nodes(),
            estimate: self.waiting[placed].request.estimate.map(NonZeroU64::get),
        }
    }

    /// A head is what it is as long as it waits, though a job returned to a place before it.
    pub(super) fn see_head(&mut self) {
        let mut serials = self.waiting.iter().map(|job| job.serial);
        if !serials.clone().any(|it| self.discipline.is_head(it)) {
            self.discipline.see_head(serials.next(), self.clock);
        }
    }
}
