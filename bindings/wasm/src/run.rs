//! One strategy on the machine: [`Run`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Change, Configuration, ConfigureError, Controller, Error, EventKind, Grid, JobId, Outcome,
    Refusal, SchedulerKind, Strategy, StrategyKind, Ticks,
};
use self_cell::{MutBorrow, self_cell};

use crate::boxes::maximal_boxes;
use crate::history::{History, Levels};
use crate::picture::{cuboid, cuboid_text, rects};
use crate::report::{Pieces, RunReport, WaitingJob};
use crate::workload::Arrival;

/// The most jobs that wait and run together.
pub const JOBS_MAX: usize = 256;

/// The most free boxes that are drawn.
const BOXES_MAX: usize = 200;

self_cell!(
    /// A controller with its memory.
    struct Served {
        owner: MutBorrow<HeapStorage>,
        #[covariant]
        dependent: Controller,
    }
);

/// A strategy on the machine, with first-come, first-served scheduling.
pub struct Run {
    served: Served,
    /// The run times of jobs that wait.
    services: Vec<(JobId, Ticks)>,
    /// When jobs that run will end.
    ends: BinaryHeap<Reverse<(Ticks, JobId)>>,
    /// The number of the last event that was read.
    events: u64,
    /// Whether the last change was a request for no more processors than were free, for which there
    /// was no place.
    is_fragmented: bool,
    history: History,
    /// What happened since the last report.
    messages: Vec<String>,
}

impl Run {
    /// The strategy on an empty machine.
    ///
    /// # Errors
    ///
    /// When the strategy does not serve the machine.
    pub fn new(machine: Grid, strategy: StrategyKind) -> Result<Self, ConfigureError> {
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        let needs = Needs::of(strategy, &machine, JOBS_MAX);
        let storage = MutBorrow::new(HeapStorage::new(needs, JOBS_MAX));
        let served = Served::try_new(storage, |storage| {
            Controller::new(storage.borrow_mut().memory(), configuration)
        })?;
        Ok(Run {
            served,
            services: Vec::new(),
            ends: BinaryHeap::new(),
            events: 0,
            is_fragmented: false,
            history: History::new(),
            messages: Vec::new(),
        })
    }

    /// The controller.
    pub fn controller(&self) -> &Controller<'_> {
        self.served.borrow_dependent()
    }

    /// What is measured over time.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// When the next job ends.
    pub fn next_end(&self) -> Option<Ticks> {
        self.ends.peek().map(|&Reverse((at, _))| at)
    }

    /// Carries a change out and reads what was granted.
    fn change(&mut self, change: &Change, now: Ticks) -> Result<Outcome, Error> {
        let outcome = self
            .served
            .with_dependent_mut(|_, controller| controller.handle(change, now));
        self.is_fragmented = outcome == Err(Error::Refused(Refusal::Fragmented));
        let events: Vec<_> = self.controller().view().events_since(self.events).collect();
        for event in events {
            self.events = event.number;
            if let EventKind::Granted {
                blocks_total,
                block,
                ..
            } = event.what
            {
                if let Some(service) = self.take_service(event.job) {
                    self.ends.push(Reverse((event.at + service, event.job)));
                }
                let grid = self.controller().machine();
                let job = event.job;
                self.messages.push(match blocks_total {
                    1 => format!("job {job} gets {}", cuboid_text(grid, &cuboid(grid, block))),
                    n => format!(
                        "job {job} gets {} processors in {n} blocks",
                        event.processors
                    ),
                });
            }
        }
        outcome
    }

    /// The run time of a job that no longer waits.
    fn take_service(&mut self, job: JobId) -> Option<Ticks> {
        let mut waiting = self.services.iter();
        let at = waiting.position(|&(other, _)| other == job)?;
        Some(self.services.swap_remove(at).1)
    }

    /// A job arrives. It waits if it cannot run and may wait.
    pub fn arrive(&mut self, job: JobId, arrival: &Arrival) {
        self.services.push((job, arrival.service));
        let change = Change::submit(job, arrival.request);
        if let Err(error) = self.change(&change, arrival.at) {
            self.take_service(job);
            self.messages.push(format!("job {job} refused: {error}"));
        } else if self.services.iter().any(|&(waiting, _)| waiting == job) {
            self.messages
                .push(match self.controller().jobs().waiting_len() {
                    1 => format!(
                        "job {job} waits: {}",
                        self.blocked().map_or("", |why| why.name())
                    ),
                    n => format!("job {job} waits behind {}", n - 1),
                });
        }
    }

    /// Ends the jobs that end up to this time.
    pub fn end_jobs(&mut self, now: Ticks) {
        while let Some(&Reverse((at, job))) = self.ends.peek()
            && at <= now
        {
            self.ends.pop();
            if self.change(&Change::Release { job }, at).is_ok() {
                self.messages.push(format!("job {job} ends"));
            }
        }
    }

    /// Releases a job, or takes it out of the queue. Returns whether it was there.
    pub fn release(&mut self, job: JobId, now: Ticks) -> bool {
        self.take_service(job);
        self.ends.retain(|&Reverse((_, other))| other != job);
        let released = self.change(&Change::Release { job }, now);
        match released {
            Ok(Outcome::Released { processors }) => {
                self.messages
                    .insert(0, format!("job {job} gives {processors} back"));
            }
            _ => self.messages.push(format!("job {job} is not here")),
        }
        released.is_ok()
    }

    /// Marks a processor as faulty, or as working.
    pub fn set_faulty(&mut self, node: meshalloc::NodeId, faulty: bool, now: Ticks) {
        let Some(block) = self.controller().machine().unit(node) else {
            return;
        };
        let change = if faulty {
            Change::MarkFaulty { block }
        } else {
            Change::ClearFaulty { block }
        };
        if let Ok(Outcome::Faults(report)) = self.change(&change, now) {
            self.messages.insert(
                0,
                match (report.first, faulty) {
                    (Some(job), true) => format!("job {job} keeps running with a faulty processor"),
                    (Some(job), false) => format!("job {job} holds the processor"),
                    (None, true) => "no job gets the processor now".to_owned(),
                    (None, false) => "the processor is free again".to_owned(),
                },
            );
        }
    }

    /// Time passes, in which nothing happens.
    pub fn pass(&mut self, ticks: Ticks) {
        let levels = self.levels();
        self.history.pass(levels, ticks);
    }

    /// Why the first job that waits does not run.
    fn blocked(&self) -> Option<Refusal> {
        let controller = self.controller();
        let queue = controller.jobs().queue();
        let request = queue.get(queue.head()?).request();
        let grid = controller.occupancy().grid();
        match controller.strategy().demand(grid, request) {
            Err(refusal) => Some(refusal),
            Ok(demand) if demand > controller.occupancy().free() => Some(Refusal::TooFewFree),
            Ok(_) => Some(Refusal::Fragmented),
        }
    }

    /// Requested and held processors of the jobs that run.
    fn used(&self) -> (u32, u32) {
        let running = self.controller().jobs().running();
        running.fold((0, 0), |(requested, held), job| {
            (
                requested + job.request().processors,
                held + job.processors(),
            )
        })
    }

    /// Utilisation, external fragmentation and internal fragmentation now.
    pub fn levels(&self) -> Levels {
        let (requested, held) = self.used();
        let occupancy = self.controller().occupancy();
        let nodes = occupancy.grid().nodes();
        let is_fragmented = self.is_fragmented || self.blocked() == Some(Refusal::Fragmented);
        let unused = if is_fragmented { occupancy.free() } else { 0 };
        let thousandths = |part: u32, all: u32| (1000 * part).checked_div(all).unwrap_or(0);
        [
            thousandths(requested, nodes),
            thousandths(unused, nodes),
            thousandths(held - requested, held),
        ]
    }

    /// The state for the page. The messages are forgotten.
    pub(crate) fn report(&mut self) -> RunReport {
        let messages = std::mem::take(&mut self.messages);
        let controller = self.controller();
        let (grid, view) = (controller.machine(), controller.view());
        let mut jobs = Pieces::default();
        let mut numbers = Vec::new();
        for job in controller.jobs().running() {
            numbers.push(job.id().0);
            let blocks = controller.blocks(job);
            jobs.push(blocks.flat_map(|block| rects(grid, &cuboid(grid, block))));
        }
        let queue = controller.jobs().queue();
        let waiting = queue.slots().map(|slot| {
            let job = queue.get(slot);
            let extents = job.request().shape.extents();
            let side = |at: usize| extents.get(at).copied().unwrap_or(1);
            WaitingJob {
                number: job.id().0,
                // Layers side by side.
                size: [side(0) * side(2), side(1)],
            }
        });
        let all = maximal_boxes(controller.occupancy());
        let mut boxes = Pieces::default();
        for one in all.iter().take(BOXES_MAX) {
            boxes.push(rects(grid, one).into_iter());
        }
        RunReport {
            numbers,
            jobs,
            waiting: waiting.collect(),
            blocked: self.blocked().map(|refusal| refusal.to_string()),
            boxes,
            boxes_total: all.len(),
            largest: all.first().map(|one| cuboid_text(grid, one)),
            statistics: view.statistics().into(),
            levels: self.levels(),
            over_time: [0, 1, 2].map(|level| self.history.samples(level)),
            messages,
        }
    }
}
