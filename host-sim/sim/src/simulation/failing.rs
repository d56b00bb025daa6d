//! Failures in a run: which processors are down, and the jobs that they interrupt.

use std::collections::{BTreeMap, BTreeSet};

use meshalloc::{Block, Change, Flags, Grid, JobId, NodeId, Outcome, Refusal, Ticks};

use super::execution::{Completion, EventKey, Execution};
use super::held::Held;
use super::observer::{Interruption, PlaceEvent};
use super::record::Stage;
use super::state::State;
use super::{IDLE_FAILURES_MAX, RESTARTS_MAX, Run, SimulationError, unexpected};
use crate::failures::{Checkpoint, Effect, Event, Restart, Timeline};
use crate::processors::intervals;
use crate::workload::{Job, Work};

/// What failures do in a run.
pub(super) struct Failing {
    machine: Grid,
    timeline: Timeline,
    /// By processor, how many reasons there are not to give it to a job.
    reasons: Vec<u32>,
    /// Processors with a reason.
    faulty: u32,
    /// Those of them that are spares at first.
    kept: u32,
    /// Processors that have failed, where spares take places: then `faulty` counts places.
    failed: i64,
    /// Jobs that have been started and have not left.
    attempts: BTreeMap<u32, Attempt>,
    /// Those of them that hold processors and wait until these work.
    stopped: BTreeSet<u32>,
    /// Those of them that run.
    running: u32,
    /// Events in a row while no job ran and none was to arrive.
    idle: u32,
}

/// A job that was started, and what it has lost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempt {
    /// The place of its completion in the order of insertion.
    order: u64,
    /// When it started last.
    start: Ticks,
    /// Work that was left then.
    left: Ticks,
    /// When it was interrupted, if it has not started since.
    interrupted: Option<Ticks>,
    pub(super) restarts: u32,
    /// From interruptions to restarts, in ticks.
    pub(super) until_restart: Ticks,
    /// Ticks that are lost.
    pub(super) lost: Ticks,
}

impl Attempt {
    /// Whether the job was started at all.
    pub(super) const fn has_started(&self) -> bool {
        self.order > 0
    }

    /// When the job started, unless it was interrupted since; nothing if that is not known here.
    pub(super) fn last_start(&self) -> Option<Option<Ticks>> {
        let start = self.interrupted.is_none().then_some(self.start);
        self.has_started().then_some(start)
    }
}

impl Failing {
    pub(super) fn new(machine: Grid, timeline: Timeline) -> Self {
        Failing {
            machine,
            timeline,
            reasons: vec![0; machine.nodes() as usize],
            faulty: 0,
            kept: 0,
            failed: 0,
            attempts: BTreeMap::new(),
            stopped: BTreeSet::new(),
            running: 0,
            idle: 0,
        }
    }

    /// Processors that have failed.
    pub(super) fn down(&self) -> u32 {
        match self.timeline.has_spares() {
            true => self.failed as u32,
            false => self.faulty,
        }
    }

    /// Processors of these blocks that are down.
    pub(super) fn faulty_in(&self, blocks: &[Block]) -> u32 {
        if self.faulty == 0 {
            return 0;
        }
        let rows = intervals(self.machine, blocks);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        nodes
            .filter(|&node| self.reasons[node as usize] > 0)
            .count() as u32
    }

    /// Whether the job was interrupted before.
    pub(super) fn was_interrupted(&self, number: u32) -> bool {
        self.attempts.contains_key(&number)
    }

    /// The job starts. What it does from then on.
    ///
    /// # Panics
    ///
    /// When it has no service time.
    pub(super) fn start(&mut self, number: u32, job: Job, now: Ticks, order: u64) -> Job {
        let Work::Service(service) = job.work else {
            panic!("jobs that are interrupted have service times");
        };
        let attempt = self.attempts.entry(number).or_insert(Attempt {
            left: service,
            ..Attempt::default()
        });
        if let Some(at) = attempt.interrupted.take() {
            attempt.restarts += 1;
            attempt.until_restart += now - at;
        }
        (attempt.start, attempt.order) = (now, order);
        self.running += 1;
        let length = Checkpoint::length(self.timeline.checkpoint, attempt.left);
        Job {
            work: Work::Service(length),
            ..job
        }
    }

    /// The job is interrupted, if it runs. When it had started, if it did.
    fn interrupt(&mut self, number: u32, now: Ticks) -> Result<Option<Ticks>, SimulationError> {
        let attempt = self.attempts.get_mut(&number);
        let Some(attempt) = attempt.filter(|attempt| attempt.interrupted.is_none()) else {
            return Ok(None);
        };
        if attempt.restarts >= RESTARTS_MAX {
            return Err(SimulationError::NeverEnds { job: number });
        }
        let ran = now - attempt.start;
        let (saved, lost) = Checkpoint::saved(self.timeline.checkpoint, attempt.left, ran);
        attempt.left -= saved;
        attempt.lost += lost;
        attempt.interrupted = Some(now);
        self.running -= 1;
        Ok(Some(attempt.start))
    }

    /// The job leaves. What became of it; nothing if it was never started.
    pub(super) fn leave(&mut self, number: u32) -> Attempt {
        let attempt = self.attempts.remove(&number).unwrap_or_default();
        self.running -= u32::from(attempt.has_started() && attempt.interrupted.is_none());
        attempt
    }

    /// What became of a job that is there so far.
    pub(super) fn attempt(&self, number: u32) -> Attempt {
        self.attempts.get(&number).copied().unwrap_or_default()
    }

    /// One more reason, or one less, not to give the processors of a block to jobs. Those that are
    /// down from now on, or no more.
    fn mark(&mut self, block: Block, is_down: bool) -> Vec<NodeId> {
        let rows = intervals(self.machine, &[block]);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        let mut changed = Vec::new();
        for node in nodes {
            let reasons = &mut self.reasons[node as usize];
            let before = *reasons;
            *reasons = match is_down {
                true => before + 1,
                false => before - 1,
            };
            if before.min(*reasons) == 0 {
                changed.push(NodeId(node));
            }
        }
        match is_down {
            true => self.faulty += changed.len() as u32,
            false => self.faulty -= changed.len() as u32,
        }
        changed
    }
}

impl State<'_> {
    /// Where jobs start again, if anything fails.
    pub(super) fn restart(&self) -> Option<Restart> {
        self.failing
            .as_ref()
            .map(|failing| failing.timeline.restart)
    }

    /// When the next failure or repair is: behind the other events of its time.
    #[inline]
    pub(super) fn next_failure(&self) -> Option<EventKey> {
        let at = self.failing.as_ref()?.timeline.next_at()?;
        let order = u64::MAX - 1;
        Some(EventKey { at, order })
    }

    /// Whether the job of this completion has not been interrupted since it started.
    #[inline]
    pub(super) fn completes(&self, completion: &Completion) -> bool {
        let Some(failing) = &self.failing else {
            return true;
        };
        let attempt = failing.attempts.get(&completion.number);
        attempt.is_some_and(|attempt| {
            attempt.order == completion.key.order && attempt.interrupted.is_none()
        })
    }

    /// Moves the clock to the next failure or repair and takes it.
    fn take_failure(&mut self) -> Result<Option<Event>, SimulationError> {
        let event = match &mut self.failing {
            Some(failing) => failing.timeline.take(),
            None => None,
        };
        let Some(event) = event else { return Ok(None) };
        self.pass_to(event.at)?;
        if let Some(failing) = &mut self.failing {
            failing.failed += event.failed;
        }
        Ok(Some(event))
    }

    /// The jobs that hold processors of this block, in order of arrival.
    fn on(&self, block: Block) -> Vec<u32> {
        let is_on = |held: &Held| {
            let mut blocks = self.lists.get(held).iter();
            blocks.any(|&held| self.machine.overlap(held, block))
        };
        let jobs = self.present.iter();
        let jobs = jobs.filter(|(_, record)| record.stage == Stage::Runs && is_on(&record.blocks));
        jobs.map(|(number, _)| number).collect()
    }

    /// Marks a place as down or not. The processors that are in another state now; `on` are the
    /// jobs that hold some of the place.
    fn mark(&mut self, block: Block, is_down: bool, on: &[u32]) -> Vec<NodeId> {
        let Some(failing) = &mut self.failing else {
            return Vec::new();
        };
        let changed = failing.mark(block, is_down);
        let mut held = BTreeSet::new();
        for &number in on {
            let record = self.present.here(number);
            let rows = intervals(self.machine, self.lists.get(&record.blocks));
            held.extend(rows.into_iter().flat_map(|(first, last)| first..=last));
        }
        let unheld = changed
            .iter()
            .filter(|node| !held.contains(&node.0))
            .count() as i64;
        self.free += if is_down { -unheld } else { unheld };
        changed
    }

    /// A job is interrupted, if it runs. Whether it did.
    fn interrupt(&mut self, number: u32) -> Result<bool, SimulationError> {
        let Some(failing) = &mut self.failing else {
            return Ok(false);
        };
        let Some(start) = failing.interrupt(number, self.now)? else {
            return Ok(false);
        };
        let record = self.present.here(number);
        self.in_use -= u64::from(record.job.request.processors);
        if failing.timeline.restart.keeps() {
            failing.stopped.insert(number);
        }
        self.observer.interrupted(&Interruption {
            number,
            start,
            end: self.now,
            held: record.held,
            blocks: self.lists.get(&record.blocks),
        });
        Ok(true)
    }

    /// An interrupted job gives its processors back, and is kept.
    fn give_back(&mut self, number: u32) {
        let record = self.present.here(number);
        record.stage = Stage::Kept;
        self.free += i64::from(std::mem::take(&mut record.held));
        let blocks = std::mem::replace(&mut record.blocks, Held::Nothing);
        if let Some(failing) = &self.failing {
            self.free -= i64::from(failing.faulty_in(self.lists.get(&blocks)));
        }
        self.lists.remove(blocks);
        self.running -= 1;
        self.waits_again(number);
    }

    /// A job that was in the controller's queue is kept.
    fn take_back(&mut self, number: u32) {
        self.present.here(number).stage = Stage::Kept;
        self.waiting -= 1;
    }

    fn waits_again(&mut self, number: u32) {
        if number < self.head {
            self.head = number;
            let record = self.present.here(number);
            self.head_wants = record.job.request.processors.into();
        }
    }

    /// The observer receives that a place went down or works again.
    fn report_place(&mut self, block: Block, is_down: bool) {
        let Some(failing) = &self.failing else { return };
        let mut down_and_held = 0;
        for &number in &failing.stopped {
            let record = self.present.here(number);
            down_and_held += failing.faulty_in(self.lists.get(&record.blocks));
        }
        self.observer.place(&PlaceEvent {
            at: self.now,
            block,
            is_down,
            down: failing.faulty - failing.kept,
            down_and_held,
        });
    }

    /// Jobs that kept their processors start again, if these work.
    fn start_again(&mut self, execution: &mut impl Execution) {
        let Some(failing) = &self.failing else { return };
        for number in failing.stopped.clone() {
            let record = self.present.here(number);
            let processors = record.job.request.processors;
            let Some(failing) = &mut self.failing else {
                return;
            };
            if failing.faulty_in(self.lists.get(&record.blocks)) == 0 {
                failing.stopped.remove(&number);
                self.in_use += u64::from(processors);
                self.start(number, execution);
            }
        }
    }
}

impl<J: Iterator<Item = Job>, E: Execution> Run<'_, J, E> {
    /// Marks the processors of spares, which no job is given.
    pub(super) fn set_spares_aside(&mut self) -> Result<(), SimulationError> {
        let failing = self.state.failing.as_ref();
        let kept = failing.map_or(Vec::new(), |failing| failing.timeline.kept());
        for block in kept {
            self.state.mark(block, true, &[]);
            self.set_faulty(block, true, Some(0))?;
        }
        if let Some(failing) = &mut self.state.failing {
            failing.kept = failing.faulty;
        }
        Ok(())
    }

    /// Carries the next failure or repair out.
    pub(super) fn fail(&mut self) -> Result<(), SimulationError> {
        let Some(event) = self.state.take_failure()? else {
            return Ok(());
        };
        self.check_idle()?;
        self.table_limited += u64::from(self.puts_off());
        match event.effect {
            Effect::Down(block) => {
                let on = self.state.on(block);
                self.state.mark(block, true, &on);
                self.set_faulty(block, true, Some(on.len()))?;
                self.interrupt(&on)?;
                self.state.report_place(block, true);
            }
            Effect::Interrupts(block) => {
                let on = self.state.on(block);
                self.interrupt(&on)?;
            }
            Effect::Up(block) => {
                self.repair(block)?;
                self.state.report_place(block, false);
            }
            Effect::Nothing => {}
        }
        self.state.start_again(&mut self.execution);
        self.submit_kept()
    }

    fn repair(&mut self, block: Block) -> Result<(), SimulationError> {
        let machine = self.state.machine;
        let on = self.state.on(block);
        let working = self.state.mark(block, false, &on);
        if working.len() == machine.area(block) as usize {
            return self.set_faulty(block, false, Some(on.len()));
        }
        // The others have another reason to be down.
        for node in working {
            if let Some(node) = machine.unit(node) {
                self.set_faulty(node, false, None)?;
            }
        }
        Ok(())
    }

    /// Has the controller mark a block, on which it knows this number of jobs.
    fn set_faulty(
        &mut self,
        block: Block,
        is_faulty: bool,
        jobs: Option<usize>,
    ) -> Result<(), SimulationError> {
        let change = match is_faulty {
            true => Change::MarkFaulty { block },
            false => Change::ClearFaulty { block },
        };
        match self.call(&change)? {
            Ok(Outcome::Faults(report)) if jobs.is_none_or(|jobs| report.jobs as usize == jobs) => {
                Ok(())
            }
            other => Err(unexpected(&change, format!("{other:?}"))),
        }
    }

    /// These jobs are interrupted.
    fn interrupt(&mut self, jobs: &[u32]) -> Result<(), SimulationError> {
        let mut interrupted = Vec::new();
        for &number in jobs {
            if self.state.interrupt(number)? {
                interrupted.push(number);
            }
        }
        let restart = self.state.restart().unwrap_or_default();
        if restart.keeps() || interrupted.is_empty() {
            return Ok(());
        }
        if restart == Restart::Elsewhere {
            self.empty_queue()?;
        }
        for &number in &interrupted {
            self.state.give_back(number);
            self.release(number)?;
        }
        self.kept.extend(interrupted);
        if restart == Restart::Elsewhere {
            // In order of arrival.
            self.kept.make_contiguous().sort();
        }
        Ok(())
    }

    /// Takes all jobs out of the controller's queue, the last first, so that no other one tries in
    /// the place of a job. Those that it took.
    fn empty_queue(&mut self) -> Result<Vec<u32>, SimulationError> {
        let jobs = self.state.present.iter();
        let waiting = jobs.filter(|(_, record)| record.stage == Stage::Waits);
        let waiting: Vec<_> = waiting.map(|(number, _)| number).collect();
        let mut taken = Vec::new();
        for &number in waiting.iter().rev() {
            if self.state.present.here(number).stage == Stage::Waits {
                self.state.take_back(number);
                self.kept.push_back(number);
                self.release(number)?;
                taken.push(number);
            }
        }
        Ok(taken)
    }

    /// Refuses the jobs that have no place on the machine without its spares, when nothing but
    /// spares is down, none runs, and some wait. Each of them tries alone.
    pub(super) fn refuse_unplaceable(&mut self) -> Result<(), SimulationError> {
        let State {
            failing,
            running,
            waiting,
            ..
        } = &self.state;
        let is_empty = |failing: &Failing| {
            failing.timeline.has_spares() && failing.faulty == failing.kept && *running == 0
        };
        if *waiting == 0 || !failing.as_deref().is_some_and(is_empty) {
            return Ok(());
        }
        let jobs = self.empty_queue()?;
        self.kept.make_contiguous().sort();
        for number in jobs {
            if self.state.running > 0 {
                break;
            }
            let request = self.state.request(number);
            let request = request.with_flags(request.flags | Flags::NO_WAIT);
            let (job, now) = (JobId(number), self.state.now);
            let submitted =
                self.backend
                    .call(&Change::submit(job, request), now, &mut |_, _| {})?;
            if submitted.is_ok() {
                let _ = self
                    .backend
                    .call(&Change::Release { job }, now, &mut |_, _| {})?;
            } else {
                self.kept.retain(|&other| other != number);
                self.state.refuse(number, Refusal::NeverFits);
            }
        }
        self.submit_kept()
    }

    fn release(&mut self, number: u32) -> Result<(), SimulationError> {
        let change = Change::Release { job: JobId(number) };
        self.is_full = false;
        match self.call(&change)? {
            Ok(Outcome::Released { .. }) => Ok(()),
            other => Err(unexpected(&change, format!("{other:?}"))),
        }
    }

    /// Counts events while nothing happens but failures and repairs.
    fn check_idle(&mut self) -> Result<(), SimulationError> {
        let may_start = self.next_arrival().is_some();
        let Some(failing) = &mut self.state.failing else {
            return Ok(());
        };
        failing.idle = match failing.running == 0 && !may_start {
            true => failing.idle + 1,
            false => 0,
        };
        match failing.idle > IDLE_FAILURES_MAX {
            true => {
                let waiting = self.state.left;
                Err(SimulationError::Stalled { waiting })
            }
            false => Ok(()),
        }
    }
}
