//! One strategy on the machine: [`Panel`].

use std::cell::RefCell;
use std::rc::Rc;

use meshalloc::jobs::JobSlot;
use meshalloc::{
    Block, Controller, EventKind, JobId, Refusal, Request, Strategy, StrategyKind, Ticks,
};
use meshalloc_sim::backend::{GrowingStorage, InProcess, room};
use meshalloc_sim::layout::Layout;
use meshalloc_sim::simulation::{
    FixedService, Measured, Observer, Run, RunResult, Seen, SimulationError,
};
use meshalloc_sim::workload::{JOBS_MAX, Jobs};
use self_cell::{MutBorrow, self_cell};

use crate::boxes::{Cuboid, maximal_boxes};
use crate::history::{History, Levels};
use crate::plain::Plain;
use crate::report::{Numbers, Pieces, RunReport, WaitingJob};
use crate::settings::Settings;

/// The most free boxes that are drawn.
const BOXES_MAX: usize = 200;

/// The numbers of jobs whose results are kept: 1, 2 and 5 times each power of ten from this on.
const RESULTS_FIRST: u32 = 50;

/// The number of a job as files of jobs and pages have it: the first is 1.
pub(crate) const fn shown(number: u32) -> u32 {
    number + 1
}

/// A run of the simulator on a controller of its own.
type Stepped<'m> = Run<'m, Plain<'m>, FixedService>;

/// What a run borrows.
struct Stage {
    storage: GrowingStorage,
    seen: Log,
}

self_cell!(
    struct Served {
        owner: MutBorrow<Stage>,
        #[not_covariant]
        dependent: Stepped,
    }
);

/// What happened since the last report, and whether a job was just refused because the free
/// processors are fragmented.
#[derive(Default)]
struct Noted {
    messages: Vec<String>,
    is_fragmented: bool,
}

#[derive(Clone, Default)]
struct Log(Rc<RefCell<Noted>>);

impl Observer for Log {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Seen::Job(job) = seen {
            let mut noted = self.0.borrow_mut();
            noted.is_fragmented = matches!(
                job.refused,
                Some(Refusal::Fragmented | Refusal::GangIncomplete | Refusal::NotSearchedToTheEnd)
            );
            let number = shown(job.number);
            noted.messages.push(match job.refused {
                Some(why) => format!("job {number} refused: {why}"),
                None => format!("job {number} ends"),
            });
        }
    }
}

/// A strategy on the machine: a run of the simulator, with first-come, first-served scheduling.
pub struct Panel {
    served: Served,
    log: Log,
    /// The number of the last event of the controller that was read.
    events: u64,
    history: History,
    /// The results of the first jobs to leave, for growing numbers of jobs.
    results: Vec<(u32, RunResult)>,
    /// The number of jobs whose results come next.
    next_result: u32,
}

impl Panel {
    /// The strategy on an empty machine.
    ///
    /// # Errors
    ///
    /// When the strategy does not serve the machine.
    pub(crate) fn new(settings: &Settings, strategy: StrategyKind) -> Result<Self, String> {
        let machine = settings.machine;
        let configuration = settings.configuration(strategy);
        let jobs = settings.jobs(0).map_err(|error| error.to_string())?;
        let log = Log::default();
        let stage = Stage {
            storage: GrowingStorage::default(),
            seen: log.clone(),
        };
        let served = Served::try_new(MutBorrow::new(stage), |stage| {
            let Stage { storage, seen } = stage.borrow_mut();
            let backend = InProcess::growing(storage, room(machine), configuration, None);
            let backend = Plain(backend.map_err(|error| error.to_string())?);
            let measured = Measured::Departures(JOBS_MAX).into();
            let run = Run::new(
                FixedService::default(),
                measured,
                backend,
                machine,
                jobs,
                seen,
            );
            run.map_err(|error| error.to_string())
        })?;
        Ok(Panel {
            served,
            log,
            events: 0,
            history: History::new(),
            results: Vec::new(),
            next_result: RESULTS_FIRST,
        })
    }

    fn with<T>(&self, look: impl FnOnce(&Stepped<'_>) -> T) -> T {
        self.served.with_dependent(|_, run| look(run))
    }

    /// Looks at the controller.
    pub fn with_controller<T>(&self, look: impl FnOnce(&Controller<'_>) -> T) -> T {
        self.with(|run| look(run.backend().controller()))
    }

    /// What is measured over time.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The results of the first jobs to leave, for growing numbers of jobs.
    pub fn results(&self) -> &[(u32, RunResult)] {
        &self.results
    }

    /// Jobs that have arrived.
    pub(crate) fn arrived(&self) -> u32 {
        self.served.with_dependent(|_, run| run.arrived())
    }

    /// When the next job arrives or leaves.
    pub(crate) fn next_at(&mut self) -> Option<Ticks> {
        self.served.with_dependent_mut(|_, run| run.next_at())
    }

    /// Changes the run, and notes what came of it.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Stepped<'_>) -> Result<T, SimulationError>,
    ) -> Result<T, String> {
        let arrived = self.arrived();
        self.log.0.borrow_mut().is_fragmented = false;
        let changed = self.served.with_dependent_mut(|_, run| change(run));
        let changed = changed.map_err(|error| error.to_string())?;
        let mut messages = Vec::new();
        let mut latest = self.events;
        self.with_controller(|controller| {
            let grid = controller.machine();
            for event in controller.view().events_since(latest) {
                latest = event.number;
                if let EventKind::Granted {
                    blocks_total,
                    block,
                    ..
                } = event.what
                {
                    let (job, processors) = (shown(event.job.0), event.processors);
                    messages.push(match blocks_total {
                        1 => format!("job {job} gets {}", Cuboid::of(grid, block).text(grid)),
                        n => format!("job {job} gets {processors} processors in {n} blocks"),
                    });
                }
            }
        });
        self.events = latest;
        let waiting = self.served.with_dependent(|_, run| run.waiting());
        if arrived < self.arrived() && self.waits(arrived) {
            let job = shown(arrived);
            messages.push(match waiting {
                1 => {
                    let why = self.blocked().map_or("", |why| why.name());
                    format!("job {job} waits: {why}")
                }
                n => format!("job {job} waits behind {}", n - 1),
            });
        }
        self.log.0.borrow_mut().messages.append(&mut messages);
        Ok(changed)
    }

    /// Lets time pass up to `until`, from `now` on, with all that happens up to then.
    ///
    /// # Errors
    ///
    /// When the simulator cannot go on.
    pub(crate) fn advance(&mut self, mut now: Ticks, until: Ticks) -> Result<(), String> {
        while let Some(at) = self.next_at().filter(|&at| at <= until) {
            let levels = self.levels();
            self.history.pass(levels, at - now);
            now = at;
            self.change(|run| run.step(at))?;
            self.keep_result();
        }
        let levels = self.levels();
        self.history.pass(levels, until - now);
        let advanced = self.served.with_dependent_mut(|_, run| run.advance(until));
        advanced.map_err(|error| error.to_string())
    }

    /// Keeps the results, if as many jobs have left as are to be measured next.
    fn keep_result(&mut self) {
        let left = self.served.with_dependent(|_, run| run.left());
        if left < self.next_result {
            return;
        }
        // Beyond it, more than one has left in an event.
        if left == self.next_result {
            let result = self.served.with_dependent_mut(|_, run| run.so_far());
            self.results.push((left, result));
        }
        while self.next_result <= left {
            let power = 10_u32.pow(self.next_result.ilog10());
            self.next_result = match self.next_result / power {
                1 => 2 * power,
                2 => 5 * power,
                _ => 10 * power,
            };
        }
    }

    /// A job of the user arrives.
    ///
    /// # Errors
    ///
    /// When the simulator cannot go on; also below.
    pub(crate) fn submit(&mut self, request: Request, service: Ticks) -> Result<(), String> {
        self.change(|run| run.submit_now(request, service))?;
        Ok(())
    }

    /// Other random jobs arrive from now on.
    pub(crate) fn replace_jobs(&mut self, jobs: Jobs<'static>) {
        self.served
            .with_dependent_mut(|_, run| run.replace_jobs(jobs));
    }

    /// Releases a job, or takes it out of the queue.
    pub(crate) fn release(&mut self, job: u32) -> Result<(), String> {
        let held = self.with_controller(|controller| {
            let mut running = controller.jobs().running();
            let held = running.find(|running| running.id() == JobId(job));
            held.map(JobSlot::processors)
        });
        let is_there = self.change(|run| run.withdraw(job))?;
        let job = shown(job);
        let said = match held {
            _ if !is_there => format!("job {job} is not here"),
            Some(held) => format!("job {job} gives {held} back"),
            None => format!("job {job} waits no more"),
        };
        self.log.0.borrow_mut().messages.insert(0, said);
        Ok(())
    }

    /// Marks a processor as faulty, or as working.
    pub(crate) fn set_faulty(&mut self, unit: Block, faulty: bool) -> Result<(), String> {
        let on = self.change(|run| run.set_down(unit, faulty))?;
        let job = on.first().map(|&job| shown(job));
        let said = match (job, faulty) {
            (Some(job), true) => format!("job {job} keeps running with a faulty processor"),
            (Some(job), false) => format!("job {job} holds the processor"),
            (None, true) => "no job gets the processor now".to_owned(),
            (None, false) => "the processor is free again".to_owned(),
        };
        self.log.0.borrow_mut().messages.insert(0, said);
        Ok(())
    }

    /// Whether a job is there, and waits or runs.
    pub(crate) fn has(&self, job: u32) -> bool {
        self.with_controller(|controller| controller.jobs().find(JobId(job)).is_some())
    }

    fn waits(&self, job: u32) -> bool {
        self.with_controller(|controller| {
            let queue = controller.jobs().queue();
            let mut waiting = queue.slots().map(|slot| queue.get(slot).id());
            waiting.any(|id| id == JobId(job))
        })
    }

    /// Why the first job that waits does not run.
    fn blocked(&self) -> Option<Refusal> {
        self.with_controller(|controller| {
            let queue = controller.jobs().queue();
            let request = queue.get(queue.head()?).request();
            let grid = controller.occupancy().grid();
            match controller.strategy().demand(grid, request) {
                Err(refusal) => Some(refusal),
                Ok(demand) if demand > controller.occupancy().free() => Some(Refusal::TooFewFree),
                Ok(_) => Some(Refusal::Fragmented),
            }
        })
    }

    /// Utilisation, external fragmentation and internal fragmentation now.
    pub(crate) fn levels(&mut self) -> Levels {
        let is_fragmented = self.log.0.borrow().is_fragmented;
        self.served.with_dependent_mut(|_, run| {
            let (used, unused) = (run.used() as u32, run.fragmented());
            let controller = run.backend().controller();
            let nodes = controller.machine().nodes();
            let unused = if is_fragmented {
                controller.occupancy().free()
            } else {
                unused
            };
            let held: u32 = controller.jobs().running().map(JobSlot::processors).sum();
            let thousandths = |part: u32, all: u32| (1000 * part).checked_div(all).unwrap_or(0);
            [
                thousandths(used, nodes),
                thousandths(unused, nodes),
                thousandths(held - used, held),
            ]
        })
    }

    /// The state for the page. The messages are forgotten.
    pub(crate) fn report(&mut self, layout: &Layout) -> RunReport {
        let messages = std::mem::take(&mut self.log.0.borrow_mut().messages);
        let (levels, blocked) = (self.levels(), self.blocked());
        let over_time = [0, 1, 2].map(|level| self.history.samples(level));
        let rects = |block: Block| {
            let rects = layout.rectangles(block).into_iter();
            rects.map(|rect| rect.numbers())
        };
        self.with(|run| {
            let controller = run.backend().controller();
            let grid = controller.machine();
            let mut jobs = Pieces::default();
            let mut numbers = Vec::new();
            for job in controller.jobs().running() {
                numbers.push(shown(job.id().0));
                let blocks = controller.blocks(job);
                jobs.push(blocks.flat_map(rects));
            }
            let queue = controller.jobs().queue();
            let waiting = queue.slots().map(|slot| {
                let job = queue.get(slot);
                let extents = job.request().shape.extents();
                let side = |at: usize| extents.get(at).copied().unwrap_or(1);
                WaitingJob {
                    number: shown(job.id().0),
                    // Layers side by side.
                    size: [side(0) * side(2), side(1)],
                }
            });
            let all = maximal_boxes(controller.occupancy());
            let mut boxes = Pieces::default();
            for one in all.iter().take(BOXES_MAX) {
                boxes.push(one.block(grid).into_iter().flat_map(rects));
            }
            RunReport {
                numbers,
                jobs,
                waiting: waiting.collect(),
                blocked: blocked.map(|refusal| refusal.to_string()),
                boxes,
                boxes_total: all.len(),
                largest: all.first().map(|one| one.text(grid)),
                statistics: Numbers {
                    waiting: run.waiting(),
                    ..controller.view().statistics().into()
                },
                levels,
                over_time,
                messages,
            }
        })
    }
}
