//! Failures and repairs as events of a run.

use std::collections::BTreeSet;

use meshalloc::{Block, Change, Flags, JobId, NodeId, Outcome, Refusal};

use super::Failing;
use crate::failures::{Effect, Event, Restart};
use crate::processors::intervals;
use crate::simulation::execution::{Completion, EventKey, Execution};
use crate::simulation::held::Held;
use crate::simulation::observer::{Interruption, PlaceEvent};
use crate::simulation::record::Stage;
use crate::simulation::state::State;
use crate::simulation::{IDLE_FAILURES_MAX, Run, SimulationError, unexpected};
use crate::workload::Job;

impl State<'_> {
    /// Where jobs start again, if anything fails.
    pub(in crate::simulation) fn restart(&self) -> Option<Restart> {
        self.failing
            .as_ref()
            .map(|failing| failing.timeline.restart)
    }

    /// When the next failure or repair is: behind the other events of its time.
    #[inline]
    pub(in crate::simulation) fn next_failure(&self) -> Option<EventKey> {
        let at = self.failing.as_ref()?.timeline.next_at()?;
        let order = u64::MAX - 1;
        Some(EventKey { at, order })
    }

    /// Whether the job of this completion has not been interrupted since it started.
    #[inline]
    pub(in crate::simulation) fn completes(&self, completion: &Completion) -> bool {
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

    /// Marks a place, held by jobs `on`, as down or not; the processors whose state changes.
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
    pub(in crate::simulation) fn set_spares_aside(&mut self) -> Result<(), SimulationError> {
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
    pub(in crate::simulation) fn fail(&mut self) -> Result<(), SimulationError> {
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

    /// Takes all jobs out of the controller's queue, the last first, so that none tries; gives
    /// them.
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
    pub(in crate::simulation) fn refuse_unplaceable(&mut self) -> Result<(), SimulationError> {
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
