//! Failures and repairs as events of a run.

use std::collections::BTreeSet;

use meshalloc::{Block, Change, JobId, NodeId, Outcome, Refusal};

use crate::backend::Backend;
use crate::failures::{Checkpoint, Effect, Restart, Timeline};
use crate::processors::intervals;
use crate::simulation::execution::{Completion, EventKey, Execution};
use crate::simulation::observer::{Interruption, PlaceEvent, Seen};
use crate::simulation::record::{Record, Stage};
use crate::simulation::state::State;
use crate::simulation::{
    FUTILE_MAX, FUTILE_OF_EACH, RESTARTS_MAX, Run, SimulationError, unexpected,
};
use crate::wording::are;

impl State<'_> {
    /// Where jobs start again.
    fn restart(&self) -> Restart {
        self.failing.timeline.restart
    }

    /// A text about the processors that are down when no event is left.
    pub(in crate::simulation) fn why_stalled(&self) -> String {
        match self.failing.down() {
            0 => String::new(),
            down => format!(
                ": {down} of {} processors {} down, and no repair is due",
                self.machine.nodes(),
                are(down as usize)
            ),
        }
    }

    /// The time of the next failure or repair, which comes after all other events of that time.
    #[inline]
    pub(in crate::simulation) fn next_failure(&self) -> Option<EventKey> {
        let at = self.failing.timeline.next_at()?;
        let order = u64::MAX - 1;
        Some(EventKey { at, order })
    }

    /// Whether the job of this completion has not been interrupted since it started.
    #[inline]
    pub(in crate::simulation) fn completes(&mut self, completion: &Completion) -> bool {
        let record = self.present.get(completion.number);
        record.is_some_and(|record| {
            record.order == completion.key.order && record.interrupted.is_none()
        })
    }

    /// The jobs that hold processors of this block, in order of arrival.
    pub(in crate::simulation) fn on(&self, block: Block) -> Vec<u32> {
        let running = self
            .present
            .iter()
            .filter(|(_, record)| record.stage == Stage::Runs);
        // Far more jobs may wait, most of them after the running jobs, so the search ends early.
        let running = running.take(self.running as usize);
        let is_on = |record: &Record| {
            let mut blocks = record.blocks.iter();
            blocks.any(|&held| self.machine.overlap(held, block))
        };
        let on = running.filter(|(_, record)| is_on(record));
        on.map(|(number, _)| number).collect()
    }

    /// Marks a place as down or as working. The jobs `on` hold processors of the place. Returns the
    /// processors whose state changes.
    fn mark(&mut self, block: Block, is_down: bool, on: &[u32]) -> Vec<NodeId> {
        self.moves += 1;
        let changed = self.failing.mark(block, is_down);
        let mut held = BTreeSet::new();
        for &number in on {
            let record = self.present.here(number);
            let rows = intervals(self.machine, &record.blocks);
            held.extend(rows.into_iter().flat_map(|(first, last)| first..=last));
        }
        let unheld = changed
            .iter()
            .filter(|node| !held.contains(&node.0))
            .count() as i64;
        self.free += if is_down { -unheld } else { unheld };
        changed
    }

    /// Interrupts a job if it runs, for the job `by` or because of a failure. Returns whether the
    /// job ran.
    ///
    /// # Panics
    ///
    /// When the job has no service time.
    pub(in crate::simulation) fn interrupt(
        &mut self,
        number: u32,
        by: Option<u32>,
    ) -> Result<bool, SimulationError> {
        let Timeline {
            restart,
            checkpoint,
            ..
        } = self.failing.timeline;
        let record = self.present.here(number);
        assert!(
            record.job.work.service().is_some(),
            "jobs that are interrupted have service times"
        );
        if by.is_some() {
            record.preemptions += 1;
            self.failing.stopped.remove(&number);
        }
        if record.interrupted.is_some() {
            return Ok(false);
        }
        if record.restarts + record.preemptions >= RESTARTS_MAX {
            return Err(SimulationError::NeverEnds { job: number });
        }
        let ran = self.now - record.started;
        let (saved, lost) = Checkpoint::saved(checkpoint, record.left, ran);
        record.left -= saved;
        if by.is_some() {
            record.preempted += lost;
        } else {
            record.lost += lost;
        }
        record.interrupted = Some(self.now);
        record.is_preempted = by.is_some();
        self.in_use -= u64::from(record.job.request.total());
        if restart.keeps() && by.is_none() {
            self.failing.stopped.insert(number);
        }
        self.observer.see(&Seen::Interrupted(&Interruption {
            number,
            by,
            start: record.started,
            end: self.now,
            held: record.held,
            blocks: &record.blocks,
        }));
        Ok(true)
    }

    /// An interrupted job gives its processors back. It returns to its place in the controller's
    /// queue or, if it goes `to_end`, is kept to join it as if it arrived now.
    pub(in crate::simulation) fn give_back(&mut self, number: u32, to_end: bool) {
        self.moves += 1;
        let end = to_end.then(|| (self.now, self.sequence()));
        let record = self.present.here(number);
        self.free += i64::from(std::mem::take(&mut record.held));
        self.free -= i64::from(self.failing.faulty_in(&record.blocks));
        record.blocks.clear();
        self.running -= 1;
        if let Some((now, number)) = end {
            record.stage = Stage::Kept;
            record.place = (record.job.request.class.since(now), number);
        } else {
            record.stage = Stage::Waits;
            // The controller keeps the count of failed attempts, and reports all of them at the
            // next grant.
            record.misses = 0;
            self.waiting += 1;
        }
        self.join(number);
    }

    /// The observer receives that a place went down or works again.
    fn report_place(&mut self, block: Block, is_down: bool) {
        let failing = &self.failing;
        let stopped = failing.stopped.iter();
        let down_and_held = stopped.map(|&number| {
            let record = self.present.here(number);
            failing.faulty_in(&record.blocks)
        });
        self.observer.see(&Seen::Place(&PlaceEvent {
            at: self.now,
            block,
            is_down,
            down: failing.faulty - failing.kept,
            down_and_held: down_and_held.sum(),
        }));
    }

    /// Whether a job has no more faulty processors than it tolerates.
    fn may_run(&mut self, number: u32) -> bool {
        let record = self.present.here(number);
        self.failing.lets_run(&record.job.request, &record.blocks)
    }

    /// Restarts the interrupted jobs that kept their processors, if the processors work again.
    fn start_again(&mut self, execution: &mut dyn Execution) {
        for number in self.failing.stopped.clone() {
            let record = self.present.here(number);
            if self.failing.lets_run(&record.job.request, &record.blocks) {
                self.failing.stopped.remove(&number);
                self.in_use += u64::from(record.job.request.total());
                self.start(number, execution);
            }
        }
    }
}

impl<B: Backend, E: Execution> Run<'_, B, E> {
    /// Marks the processors of spares, which no job is given.
    pub(in crate::simulation) fn set_spares_aside(&mut self) -> Result<(), SimulationError> {
        for block in self.state.failing.timeline.kept() {
            self.state.mark(block, true, &[]);
            self.set_faulty(block, true, Some(0))?;
        }
        self.state.failing.kept = self.state.failing.faulty;
        Ok(())
    }

    /// Carries out the next failure or repair.
    pub(in crate::simulation) fn fail(&mut self) -> Result<(), SimulationError> {
        let Some(event) = self.state.failing.timeline.take() else {
            return Ok(());
        };
        self.state.pass_to(event.at)?;
        self.state.failing.failed += event.failed;
        self.check_progress()?;
        self.table_limited += u64::from(self.puts_off());
        match event.effect {
            Effect::Down(block) => {
                let mut on = self.break_down(block)?;
                on.retain(|&number| !self.state.may_run(number));
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

    /// Marks a place as down, and returns the jobs that hold processors of it.
    pub(in crate::simulation) fn break_down(
        &mut self,
        block: Block,
    ) -> Result<Vec<u32>, SimulationError> {
        let on = self.state.on(block);
        self.state.mark(block, true, &on);
        self.set_faulty(block, true, Some(on.len()))?;
        Ok(on)
    }

    /// Marks a place as working.
    pub(in crate::simulation) fn repair(&mut self, block: Block) -> Result<(), SimulationError> {
        let machine = self.state.machine;
        let on = self.state.on(block);
        let working = self.state.mark(block, false, &on);
        if working.len() == machine.area(block) as usize {
            return self.set_faulty(block, false, Some(on.len()));
        }
        // The other processors of the block stay down for another reason.
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
        let change = if is_faulty {
            Change::MarkFaulty { block }
        } else {
            Change::ClearFaulty { block }
        };
        match self.call(&change)? {
            Ok(Outcome::Faults(report)) if jobs.is_none_or(|jobs| report.jobs as usize == jobs) => {
                Ok(())
            }
            other => Err(unexpected(&change, format!("{other:?}"))),
        }
    }

    /// Interrupts these jobs, and does with them what [`Restart`] says.
    fn interrupt(&mut self, jobs: &[u32]) -> Result<(), SimulationError> {
        let mut interrupted = Vec::new();
        for &number in jobs {
            if self.state.interrupt(number, None)? {
                interrupted.push(number);
            }
        }
        match self.state.restart() {
            Restart::InPlace | Restart::Spare => Ok(()),
            Restart::Elsewhere => self.requeue(&interrupted),
            Restart::Replace => {
                let mut without_place = Vec::new();
                for number in interrupted {
                    if !self.replace(number)? {
                        without_place.push(number);
                    }
                }
                self.requeue(&without_place)
            }
            Restart::ElsewhereLast => {
                for number in interrupted {
                    self.state.give_back(number, true);
                    self.kept.push_back(number);
                    self.release(number)?;
                }
                Ok(())
            }
        }
    }

    /// Moves a job to other processors, if there is a place for it. Returns whether the job was
    /// moved.
    fn replace(&mut self, number: u32) -> Result<bool, SimulationError> {
        let change = Change::Replace { job: JobId(number) };
        let outcome = self.call(&change)?;
        self.note_search(number);
        match outcome {
            Ok(Outcome::Done) => Ok(true),
            Err(error) if error.refusal().is_some() => Ok(false),
            other => Err(unexpected(&change, format!("{other:?}"))),
        }
    }

    /// These jobs give their processors back and return to their places in the queue.
    fn requeue(&mut self, numbers: &[u32]) -> Result<(), SimulationError> {
        let Some(&first) = numbers.first() else {
            return Ok(());
        };
        for &number in numbers {
            self.state.give_back(number, false);
        }
        let jobs: Vec<_> = numbers.iter().copied().map(JobId).collect();
        let outcome = self.take_grants(
            &format_args!("Requeue {{ jobs: {jobs:?} }}"),
            |backend, now, on_event| backend.requeue(&jobs, now, on_event),
        )?;
        outcome.map_err(|error| {
            unexpected(
                &format_args!("Requeue {{ jobs: {jobs:?} }}"),
                format!("{error:?}"),
            )
        })?;
        self.note_search(first);
        Ok(())
    }

    /// Refuses the waiting jobs that have no place on the machine without its spares. This is known
    /// when no job runs and only spares are down.
    pub(in crate::simulation) fn refuse_unplaceable(&mut self) -> Result<(), SimulationError> {
        let State {
            failing,
            running,
            waiting,
            ..
        } = &self.state;
        let is_whole = failing.timeline.has_spares() && failing.faulty == failing.kept;
        if *waiting == 0 || *running > 0 || !is_whole {
            return Ok(());
        }
        let jobs = self.state.present.iter();
        let waiting = jobs.filter(|(_, record)| record.stage == Stage::Waits);
        let waiting: Vec<_> = waiting.map(|(number, _)| number).collect();
        for number in waiting {
            // The release of an earlier job may have let other jobs start.
            if self.state.running > 0 {
                break;
            }
            if !self.backend.fits(&self.state.request(number)) {
                self.state.waiting -= 1;
                self.state.refuse(number, Refusal::NeverFits);
                self.release(number)?;
            }
        }
        self.submit_kept()
    }

    /// Counts the failures and repairs during which no job leaves, once all jobs that must arrive
    /// have arrived. An error when there are too many.
    fn check_progress(&mut self) -> Result<(), SimulationError> {
        let needed = self.state.measured.needed();
        let is_to_come = self.state.arrived < needed && self.next_arrival().is_some();
        let State {
            failing,
            machine,
            left,
            ..
        } = &mut self.state;
        failing.futile = if is_to_come { 0 } else { failing.futile + 1 };
        let most = FUTILE_MAX.max(machine.nodes().saturating_mul(FUTILE_OF_EACH));
        if failing.futile > most {
            Err(SimulationError::Futile {
                failures: most,
                left: *left,
            })
        } else {
            Ok(())
        }
    }
}
