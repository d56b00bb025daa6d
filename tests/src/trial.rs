//! Compares the code under test with the naive models after every operation: [`Trial`] compares
//! everything that a controller does, [`Probe`] the place of one request.

use std::fmt::Debug;

use meshalloc::{
    Block, Change, Configuration, Controller, Error, Flags, Grid, JobId, Outcome, Refusal, Request,
    StrategyKind, Ticks,
};

use crate::convert;
use crate::rig::{
    Answer, HeapMemory, ask_at, configuration, ended_since, free_submesh_list, grants_since,
    list_jobs, occupancy_map, release, requeue, set_faulty, submit,
};
use crate::strategy::{Checked, Held, Strategy};
use crate::submesh::Rect;
use crate::system::{Expected, System};

/// Asserts that a strategy with a list has exactly the dominant free submeshes in it.
fn assert_list(controller: &Controller<'_>, model: &Strategy) {
    if model.kind() == StrategyKind::FreeSubmeshList && model.grid().w_h().is_some() {
        let list = free_submesh_list(controller).into_iter();
        let list: Vec<Rect> = list.map(convert::rect).collect();
        assert_eq!(
            list,
            model.dominant_free_submeshes(),
            "in\n{}",
            model.machine()
        );
    }
}

/// A controller and its naive system.
#[derive(Debug)]
pub struct Trial<'m> {
    controller: Controller<'m>,
    system: System,
}

impl<'m> Trial<'m> {
    /// A controller and a system without jobs.
    ///
    /// # Panics
    ///
    /// When the controller refuses the configuration.
    pub fn new(memory: &'m mut HeapMemory, configuration: Configuration) -> Self {
        let controller = Controller::new(memory.memory(), configuration);
        let controller = controller.unwrap_or_else(|error| panic!("{configuration:?}: {error}"));
        let system = System::new(controller.capacity(), configuration);
        Trial { controller, system }
    }

    /// The naive system.
    pub const fn system(&self) -> &System {
        &self.system
    }

    /// Carries out a change, and compares everything that can be asked for: the answer, the events
    /// read again, the statistics, the jobs, the occupancy and the list of submeshes. Asserts all
    /// invariants.
    ///
    /// # Panics
    ///
    /// When controller and system differ.
    pub fn step(&mut self, change: &Change, now: Ticks) -> (Answer, Expected) {
        let both = self.compare(
            change,
            now,
            |system| system.handle(change, now),
            |controller| ask_at(controller, change, now),
        );
        let (controller, system) = (&self.controller, &self.system);
        if let Change::MarkFaulty { block } | Change::ClearFaulty { block } = *change
            && let Ok(on) = system.jobs_on(block)
        {
            let jobs = system
                .jobs()
                .into_iter()
                .filter(|(job, _)| on.contains(job));
            let jobs: Vec<_> = jobs.collect();
            assert_eq!(list_jobs(controller, Some(block)), jobs, "{change:?}");
        }
        both
    }

    /// Interrupts jobs, and compares likewise.
    pub fn requeue(&mut self, jobs: &[JobId], now: Ticks) -> (Answer, Expected) {
        self.compare(
            &jobs,
            now,
            |system| system.requeue(jobs, now),
            |controller| requeue(controller, jobs, now),
        )
    }

    fn compare(
        &mut self,
        operation: &dyn Debug,
        now: Ticks,
        expect: impl FnOnce(&mut System) -> Expected,
        ask: impl FnOnce(&mut Controller<'_>) -> Answer,
    ) -> (Answer, Expected) {
        let (controller, system) = (&mut self.controller, &mut self.system);
        let before = system.machine().clone();
        let latest = controller.events();
        let expected = expect(system);
        let answer = ask(controller);
        let context = || format!("{:?}, {now}: {operation:?}", system.configuration());
        assert!(
            expected.agrees_with(&answer),
            "{}\nexpected {expected:?}\nanswered {answer:?}, in\n{before}",
            context()
        );
        // Read later: the same grants, none when the change failed.
        let again = grants_since(controller, latest);
        assert!(
            expected.clone().later().grants_agree_with(&again),
            "{}\n{again:?}",
            context()
        );
        assert_eq!(
            ended_since(controller, latest),
            expected.ended,
            "{}",
            context()
        );
        controller.check_invariants();
        assert_eq!(
            controller.statistics(),
            system.statistics(),
            "{}",
            context()
        );
        assert_eq!(list_jobs(controller, None), system.jobs(), "{}", context());
        assert_eq!(
            occupancy_map(controller),
            system.occupancy(),
            "{}",
            context()
        );
        for (job, _) in system.jobs() {
            let blocks: Vec<Block> = controller.view().blocks(job).collect();
            let report = controller.view().job(job).map(|mut report| {
                report.blocks -= blocks.len() as u32;
                report
            });
            assert_eq!(report, system.report(job), "{}", context());
            assert!(
                system.held(job, &blocks),
                "{job}, {blocks:?}: {}",
                context()
            );
        }
        assert_list(controller, system.strategy());
        (answer, expected)
    }

    /// Releases every job in a random order, which never fails, and checks that the machine is
    /// empty except for its faults.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn finish(mut self) {
        for (job, _) in self.system.jobs() {
            let (answer, _) = self.step(&Change::Release { job }, 0);
            let released = matches!(answer.outcome, Ok(Outcome::Released { .. }));
            assert!(released, "{answer:?}");
        }
        let statistics = self.controller.statistics();
        assert_eq!(statistics.free + statistics.faulty, statistics.nodes);
    }
}

/// A controller without jobs, whose busy nodes are all faulty, and its naive strategy.
#[derive(Debug)]
pub struct Probe<'m> {
    controller: Controller<'m>,
    model: Strategy,
}

impl<'m> Probe<'m> {
    /// All nodes are free. The memory is one for this machine.
    ///
    /// # Panics
    ///
    /// When the strategy does not serve the machine.
    pub fn new(memory: &'m mut HeapMemory, kind: StrategyKind, machine: Grid) -> Self {
        let controller = Controller::new(memory.memory(), configuration(machine, kind));
        Probe {
            controller: controller.unwrap_or_else(|error| panic!("{kind} on {machine}: {error}")),
            model: Strategy::new(kind, &convert::grid(machine)),
        }
    }

    /// The controller.
    pub const fn controller(&self) -> &Controller<'m> {
        &self.controller
    }

    /// The naive strategy.
    pub const fn model(&self) -> &Strategy {
        &self.model
    }

    /// Makes a node busy or free.
    pub fn set(&mut self, node: u32, busy: bool) {
        if self.model.machine().is_busy(node) != busy {
            set_faulty(&mut self.controller, node, busy);
            self.model.set(node, busy);
        }
    }

    /// The answer to a request that does not wait. Granted processors are released again.
    pub fn ask(&mut self, request: Request) -> Answer {
        const JOB: u32 = 7;
        let request = request.with_flags(request.flags | Flags::NO_WAIT);
        self.model.arrived(&request);
        let answer = submit(&mut self.controller, JOB, request);
        if answer.outcome.is_ok() {
            let released = release(&mut self.controller, JOB);
            let gone = matches!(released.outcome, Ok(Outcome::Released { .. }));
            assert!(gone && released.grants.is_empty(), "{released:?}");
        }
        answer
    }

    /// The same, compared with the naive strategy.
    ///
    /// # Panics
    ///
    /// When they differ.
    pub fn compare(&mut self, request: Request) -> Result<Held, Refusal> {
        let checked = self.model.check(&request);
        self.compare_checked(request, &checked)
    }

    /// The same for a result of [`Strategy::check`].
    ///
    /// # Panics
    ///
    /// When they differ.
    pub fn compare_checked(
        &mut self,
        request: Request,
        checked: &Result<Checked, Refusal>,
    ) -> Result<Held, Refusal> {
        let answer = self.ask(request);
        let checked = checked.as_ref().map_err(|&refusal| refusal);
        let expected = checked.and_then(|checked| self.model.place_checked(checked));
        let same = match (&expected, &answer.grants[..]) {
            (Ok(held), [granted]) => held.is(self.model.grid(), &granted.blocks),
            (Err(refusal), []) => answer.outcome == Err(Error::Refused(*refusal)),
            _ => false,
        };
        let kind = self.model.kind();
        assert!(
            same,
            "{kind}, {request:?}\nexpected {expected:?}\nanswered {answer:?}, in\n{}",
            self.model.machine()
        );
        expected
    }

    /// Compares the list of submeshes, if the strategy keeps one.
    ///
    /// # Panics
    ///
    /// When it is not that of the dominant free submeshes.
    pub fn check_list(&self) {
        assert_list(&self.controller, &self.model);
    }
}
