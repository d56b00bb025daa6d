//! Whether a controller at the end of a line can be believed: [`Audit`] keeps what it has said, and
//! finds what cannot be true.
//!
//! The controller decides where a job is placed; but its blocks must lie within the machine, be
//! free, and have the size that the strategy gives for the request, and what it says of its jobs
//! must agree with what it has said before.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use meshalloc::message::{BlockList, JobList, JobReport, OccupancyChunk};
use meshalloc::{
    Allocator, Answer, Block, Change, Configuration, ConfigureError, Error, Event, FaultReport,
    Flags, Happened, Holds, JobId, JobState, Machine, Outcome, Query, Refusal, Request, Statistics,
    StrategyKind, Ticks,
};

use meshalloc_sim::backend::heap_storage;
use meshalloc_sim::processors::intervals;

/// Fails with what was expected instead.
pub(super) type Check = Result<(), String>;

fn expect(holds: bool, expected: impl FnOnce() -> String) -> Check {
    match holds {
        true => Ok(()),
        false => Err(expected()),
    }
}

/// A job that the controller has.
#[derive(Debug)]
struct Present {
    request: Request,
    submitted: Ticks,
    /// When its lease ends.
    lease_ends: Option<Ticks>,
    /// None while it waits.
    blocks: Vec<Block>,
    processors: u32,
}

/// A processor.
#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    holder: Option<JobId>,
    is_faulty: bool,
}

/// What a controller that serves this client alone has said so far.
#[derive(Debug)]
pub(super) struct Audit {
    configuration: Configuration,
    /// Of its machine.
    description: Option<Machine>,
    /// For what the strategy gives for a request.
    storage: meshalloc::storage::HeapStorage,
    jobs: BTreeMap<JobId, Present>,
    processors: Vec<Processor>,
    /// The time of the change before, and of this one.
    before: Ticks,
    now: Ticks,
    /// Whether the job that the change submits was not there.
    is_new: bool,
    /// The job that the change releases, if it was there.
    released: Option<Present>,
    /// The processors that the change makes faulty, or makes work again.
    changed: Vec<usize>,
    /// The jobs that held some of them, or others of the block.
    on_block: BTreeSet<JobId>,
    /// The jobs in the parts of a list so far.
    listed: BTreeSet<JobId>,
}

impl Audit {
    /// A controller that has just taken this configuration; its machine may have a description.
    ///
    /// # Errors
    ///
    /// Why none can.
    pub(super) fn new(
        configuration: Configuration,
        description: Option<&Machine>,
    ) -> Result<Self, ConfigureError> {
        let Configuration {
            machine, strategy, ..
        } = configuration;
        let mut audit = Audit {
            configuration,
            description: description.copied(),
            storage: heap_storage(machine, description, strategy, 1),
            jobs: BTreeMap::new(),
            processors: vec![Processor::default(); machine.nodes() as usize],
            before: 0,
            now: 0,
            released: None,
            changed: Vec::new(),
            on_block: BTreeSet::new(),
            listed: BTreeSet::new(),
            is_new: false,
        };
        audit.allocator()?;
        Ok(audit)
    }

    /// An allocator whose processors are all free.
    fn allocator(&mut self) -> Result<Allocator<'_>, ConfigureError> {
        let Configuration {
            machine, strategy, ..
        } = self.configuration;
        let mut memory = self.storage.allocator_memory();
        if let Some(description) = &self.description {
            memory = memory.describing(description);
        }
        Allocator::new(memory, machine, strategy)
    }

    /// A change is given.
    pub(super) fn begin(&mut self, change: &Change, now: Ticks) {
        self.changed.clear();
        (self.before, self.now) = (self.now, self.now.max(now));
        match *change {
            Change::Submit {
                job,
                request,
                lease,
            } => self.submit(job, request, self.lease(lease)),
            // It is gone before others are granted what it held.
            Change::Release { job } | Change::EndLease { job } => self.released = self.take(job),
            // Others may be granted what works again.
            Change::MarkFaulty { block } => self.set_faulty(block, true),
            Change::ClearFaulty { block } => self.set_faulty(block, false),
            Change::Configure(_) | Change::Lease { .. } | Change::Reset => {}
        }
    }

    fn submit(&mut self, job: JobId, request: Request, lease_ends: Option<Ticks>) {
        // A lease that ends by now ends behind the change.
        self.expire(job, self.before);
        self.is_new = !self.jobs.contains_key(&job);
        self.jobs.entry(job).or_insert(Present {
            request,
            submitted: self.now,
            lease_ends,
            blocks: Vec::new(),
            processors: 0,
        });
    }

    fn set_faulty(&mut self, block: Block, becomes_faulty: bool) {
        if !self.configuration.machine.contains(block) {
            return;
        }
        // Their leases may end behind the change.
        self.on_block = self.jobs_on(block);
        let gone = |job: &JobId| {
            let ends = self.jobs.get(job).and_then(|present| present.lease_ends);
            ends.is_some_and(|ends| ends <= self.before)
        };
        let gone: Vec<JobId> = self.on_block.iter().copied().filter(gone).collect();
        self.on_block.retain(|job| !gone.contains(job));
        for processor in processors_of(&self.configuration, &[block]) {
            let is_faulty = &mut self.processors[processor].is_faulty;
            if std::mem::replace(is_faulty, becomes_faulty) != becomes_faulty {
                self.changed.push(processor);
            }
        }
    }

    fn lease(&self, ticks: Option<NonZeroU64>) -> Option<Ticks> {
        ticks.map(|ticks| self.now.saturating_add(ticks.get()))
    }

    /// The job is gone.
    fn take(&mut self, job: JobId) -> Option<Present> {
        let present = self.jobs.remove(&job)?;
        for processor in processors_of(&self.configuration, &present.blocks) {
            self.processors[processor].holder = None;
        }
        Some(present)
    }

    /// The job is gone if its lease has ended by this time: of many that end at once the controller
    /// reports the latest only.
    fn expire(&mut self, job: JobId, by: Ticks) {
        let ends = self.jobs.get(&job).and_then(|present| present.lease_ends);
        if ends.is_some_and(|ends| ends <= by) {
            self.take(job);
        }
    }

    /// The job of this name, unless its lease has ended.
    fn job(&mut self, job: JobId) -> Option<&mut Present> {
        self.expire(job, self.now);
        self.jobs.get_mut(&job)
    }

    /// The number of processors that the strategy gives for the request: at least and at most.
    fn size(&mut self, request: &Request) -> Result<(u32, u32), Refusal> {
        let strategy = self.configuration.strategy;
        let allocator = self.allocator();
        let allocator = allocator.expect("it has been made in this memory before");
        let demand = allocator.demand(request)?;
        Ok(match strategy {
            // It needs a whole shape to be free, and may take a part of it.
            StrategyKind::Neighbor => (request.processors.min(demand), demand),
            _ => (demand, demand),
        })
    }

    /// Takes an event that the change has brought about, with the blocks of a grant.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn event(&mut self, event: &Event, blocks: &[Block]) -> Check {
        match event.what {
            Happened::Granted { blocks_total, .. } => self.grant(event, blocks_total, blocks),
            Happened::LeaseEnded => self.lease_ended(event.job, event.processors, event.at),
        }
    }

    /// Takes the outcome of the change, behind its events.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn end(&mut self, change: &Change, outcome: &Result<Outcome, Error>) -> Check {
        match (*change, *outcome) {
            (_, Err(error)) => {
                let checked = self.error(change, error);
                // A change that is refused takes no time.
                self.now = self.before;
                for processor in self.changed.drain(..) {
                    let is_faulty = &mut self.processors[processor].is_faulty;
                    *is_faulty = !*is_faulty;
                }
                checked
            }
            (Change::Submit { job, .. }, Ok(_)) => self.submitted(job),
            (
                Change::Release { job } | Change::EndLease { job },
                Ok(Outcome::Released { processors }),
            ) => {
                let Some(present) = self.released.take() else {
                    return Err(format!("no job {job}, which was not there"));
                };
                let held = present.processors;
                expect(processors == held, || {
                    format!("the {held} processors that job {job} held")
                })
            }
            (Change::Lease { job, ticks }, Ok(_)) => {
                let lease_ends = self.lease(ticks);
                match self.jobs.get_mut(&job) {
                    Some(present) => present.lease_ends = lease_ends,
                    None => return Err(format!("no job {job}, which was not there")),
                }
                Ok(())
            }
            (
                Change::MarkFaulty { block } | Change::ClearFaulty { block },
                Ok(Outcome::Faults(report)),
            ) => self.fault(block, &report),
            // Nothing else is expected; the client has seen that it is of the right kind.
            _ => Ok(()),
        }
    }

    /// Takes the answer to a query.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn answer(&mut self, query: &Query, answer: &Result<Answer, Error>) -> Check {
        match (*query, answer) {
            (Query::Job { job } | Query::Blocks { job, .. }, Err(Error::UnknownJob)) => {
                let is_there = self.job(job).is_some();
                expect(!is_there, || format!("job {job}, which is there"))
            }
            (_, Err(_)) => Ok(()),
            (Query::Job { job }, Ok(Answer::Job(report))) => self.reported(job, report),
            (Query::Blocks { job, .. }, Ok(Answer::Blocks(list))) => self.known_blocks(job, list),
            (Query::Jobs { on, from }, Ok(Answer::Jobs(list))) => {
                if from == 0 {
                    self.listed.clear();
                }
                self.list(on, list)
            }
            (_, Ok(Answer::Occupancy(chunk))) => self.occupancy(chunk),
            (_, Ok(Answer::Statistics(statistics))) => self.statistics(statistics),
            // The client has seen that it is of the right kind.
            _ => Ok(()),
        }
    }

    fn grant(&mut self, event: &Event, blocks_total: u32, blocks: &[Block]) -> Check {
        let &Event { job, at, .. } = event;
        let (before, now) = (self.before, self.now);
        // One that ends by now may end behind the grant.
        self.expire(job, before);
        let present = self.jobs.get_mut(&job);
        let Some(present) = present.filter(|present| present.blocks.is_empty()) else {
            return Err(format!(
                "a grant of a job that waits, which job {job} does not"
            ));
        };
        let (request, submitted) = (present.request, present.submitted);
        let earliest = before.max(submitted);
        expect((earliest..=now).contains(&at), || {
            format!("a time from {earliest} to {now} for the grant of job {job}")
        })?;
        expect(blocks.len() == blocks_total as usize, || {
            format!("the {blocks_total} blocks of job {job}")
        })?;
        for &block in blocks {
            self.hold(job, block)?;
        }
        let strategy = self.configuration.strategy;
        let most = match strategy.holds() {
            Holds::OneBlock => 1,
            Holds::TwoBlocks => 2,
            Holds::Parts | Holds::Processors => u32::MAX,
        };
        expect(blocks_total <= most, || {
            format!("at most {most} of {strategy}'s blocks for job {job}")
        })?;
        let size = self.size(&request);
        let held = self.jobs.get(&job).map_or(0, |present| present.processors);
        expect(event.processors == held, || {
            format!("the {held} processors in the blocks of job {job}")
        })?;
        match size {
            Ok((least, most)) => expect((least..=most).contains(&held), || {
                format!(
                    "the {most} processors that {strategy} gives for job {job}, which are {held}"
                )
            }),
            Err(reason) => Err(format!("no processors for job {job}: {reason}")),
        }
    }

    /// The job holds the block from now on.
    fn hold(&mut self, job: JobId, block: Block) -> Check {
        let machine = self.configuration.machine;
        expect(machine.contains(block), || {
            format!("blocks of job {job} within the {machine}")
        })?;
        for processor in processors_of(&self.configuration, &[block]) {
            if let Some(other) = self.processors[processor].holder {
                self.expire(other, self.now);
            }
            let Processor { holder, is_faulty } = self.processors[processor];
            if let Some(other) = holder {
                return Err(format!(
                    "free processors for job {job}, but job {other} holds processor {processor}"
                ));
            }
            expect(!is_faulty, || {
                format!("free processors for job {job}, but processor {processor} is faulty")
            })?;
            self.processors[processor].holder = Some(job);
        }
        if let Some(present) = self.jobs.get_mut(&job) {
            present.blocks.push(block);
            present.processors += machine.area(block);
        }
        Ok(())
    }

    fn lease_ended(&mut self, job: JobId, processors: u32, at: Ticks) -> Check {
        let Some(present) = self.take(job) else {
            return Err(format!(
                "the end of a lease of a job, which job {job} is not"
            ));
        };
        let ends = present.lease_ends;
        expect(
            ends.is_some_and(|ends| ends <= at && at <= self.now),
            || format!("no end of the lease of job {job} by then"),
        )?;
        // It may have been granted and be gone again, so that nothing was said of the grant.
        let size = self.size(&present.request);
        let was_granted = present.blocks.is_empty()
            && size.is_ok_and(|(least, most)| (least..=most).contains(&processors));
        expect(processors == present.processors || was_granted, || {
            format!("the {} processors that job {job} held", present.processors)
        })
    }

    fn submitted(&self, job: JobId) -> Check {
        let Some(present) = self.jobs.get(&job) else {
            return Err(format!("no job {job}, which is gone"));
        };
        let (held, flags) = (present.processors, present.request.flags);
        expect(self.is_new, || format!("an error, as job {job} is there"))?;
        expect(held > 0 || !flags.contains(Flags::NO_WAIT), || {
            format!("an error, as job {job} never waits")
        })?;
        let mut faulty = self
            .processors
            .iter()
            .filter(|processor| processor.is_faulty);
        let is_alone = self.jobs.len() == 1 && faulty.next().is_none();
        expect(held > 0 || !is_alone, || {
            format!("a grant of job {job}, as the whole machine is free")
        })
    }

    fn error(&mut self, change: &Change, error: Error) -> Check {
        match (*change, error) {
            (Change::Submit { job, request, .. }, error) if let Some(reason) = error.refusal() => {
                let held = match self.is_new {
                    true => self.jobs.get(&job).map_or(0, |present| present.processors),
                    false => 0,
                };
                let never = self.size(&request).err();
                if let Some(never) = never {
                    expect(reason == never, || {
                        format!("job {job} to be refused: {never}")
                    })?;
                } else if reason == Refusal::DuplicateJob {
                    return expect(!self.is_new, || {
                        format!("job {job} to be taken, whose name is new")
                    });
                } else {
                    let may_wait = !request.flags.contains(Flags::NO_WAIT);
                    let is_temporary = match reason {
                        Refusal::TableFull => true,
                        _ => reason.is_temporary() && !may_wait,
                    };
                    expect(is_temporary && held == 0, || {
                        format!("job {job} to be taken, which can be granted and may wait")
                    })?;
                }
                if self.is_new {
                    self.jobs.remove(&job);
                }
                Ok(())
            }
            (
                Change::Release { job } | Change::EndLease { job },
                Error::UnknownJob | Error::LeaseRuns,
            ) => {
                let gone = self.released.take();
                // Its lease may have ended before.
                let ends = gone.as_ref().map(|present| present.lease_ends);
                let is_unknown = ends.is_none_or(|ends| ends.is_some_and(|ends| ends <= self.now));
                expect(is_unknown, || format!("job {job}, which is there"))
            }
            (Change::Lease { job, .. }, Error::UnknownJob) => {
                let is_there = self.job(job).is_some();
                expect(!is_there, || format!("job {job}, which is there"))
            }
            (
                Change::MarkFaulty { block } | Change::ClearFaulty { block },
                Error::NoSuchBlock { .. },
            ) => {
                let machine = self.configuration.machine;
                expect(!machine.contains(block), || {
                    format!("a block of the {machine}, which it is")
                })
            }
            _ => Ok(()),
        }
    }

    fn fault(&self, block: Block, report: &FaultReport) -> Check {
        let machine = self.configuration.machine;
        expect(machine.contains(block), || {
            format!("an error, as the block is not within the {machine}")
        })?;
        let changed = self.changed.len() as u32;
        expect(report.changed == changed, || {
            format!("{changed} processors that were in the other state")
        })?;
        let jobs = &self.on_block;
        let named = report.first.is_none_or(|job| jobs.contains(&job));
        expect(report.jobs as usize == jobs.len() && named, || {
            format!("{} jobs on the block, and one of them named", jobs.len())
        })
    }

    /// The jobs that hold processors of the block.
    fn jobs_on(&self, block: Block) -> BTreeSet<JobId> {
        let machine = self.configuration.machine;
        let is_on = |present: &Present| {
            let mut blocks = present.blocks.iter();
            blocks.any(|&held| machine.overlap(held, block))
        };
        let jobs = self.jobs.iter().filter(|(_, present)| is_on(present));
        jobs.map(|(job, _)| *job).collect()
    }

    /// Blocks of a job that was granted before.
    fn known_blocks(&mut self, job: JobId, list: &BlockList) -> Check {
        let blocks = self.job(job).map(|present| present.blocks.clone());
        let blocks = blocks.unwrap_or_default();
        let rest = blocks.get(list.first as usize..).unwrap_or_default();
        let is_known = list.total as usize == blocks.len() && rest.starts_with(&list.blocks);
        expect(is_known, || {
            format!("the {} blocks that job {job} was granted", blocks.len())
        })
    }

    fn reported(&mut self, job: JobId, report: &JobReport) -> Check {
        let waiting = self.jobs.values().filter(|other| other.blocks.is_empty());
        let waiting = waiting.count();
        let Some(present) = self.job(job) else {
            return Err(format!("no job {job}, which was not there"));
        };
        let processors = match report.state {
            JobState::Running { processors } => processors,
            JobState::Waiting { ahead } => {
                expect((ahead as usize) < waiting, || {
                    format!("fewer jobs ahead of job {job} than the {waiting} that wait")
                })?;
                0
            }
        };
        let is_known = report.request == present.request
            && processors == present.processors
            && report.blocks as usize == present.blocks.len();
        expect(is_known, || {
            let (request, blocks) = (present.request, present.blocks.len());
            let held = present.processors;
            format!("job {job} with {request:?}, {blocks} blocks and {held} processors")
        })
    }

    fn list(&mut self, on: Option<Block>, list: &JobList) -> Check {
        for &(job, processors) in &list.jobs {
            let held = self.job(job).map(|present| present.processors);
            expect(held == Some(processors), || match held {
                Some(held) => format!("the {held} processors of job {job}"),
                None => format!("no job {job}, which was not there"),
            })?;
            expect(self.listed.insert(job), || format!("job {job} once"))?;
        }
        if list.next.is_some() {
            return Ok(());
        }
        let all: BTreeSet<JobId> = match on {
            Some(block) => self.jobs_on(block),
            None => self.jobs.keys().copied().collect(),
        };
        let missing = all.difference(&self.listed).copied();
        let missing: Vec<JobId> = missing.collect();
        let missing = missing.into_iter().find(|&job| self.job(job).is_some());
        missing.map_or(Ok(()), |job| {
            Err(format!("a list that has job {job} as well"))
        })
    }

    fn occupancy(&self, chunk: &OccupancyChunk) -> Check {
        let from = chunk.from.0 as usize;
        let processors = self.processors.get(from..).unwrap_or_default();
        for (at, processor) in processors.iter().enumerate().take(8 * chunk.busy.len()) {
            let has = |bytes: &[u8]| bytes[at / 8] >> (at % 8) & 1 == 1;
            let is_busy = processor.holder.is_some() || processor.is_faulty;
            expect(
                has(&chunk.faulty) == processor.is_faulty && has(&chunk.busy) == is_busy,
                || {
                    let state = match (processor.holder, processor.is_faulty) {
                        (_, true) => "faulty".to_owned(),
                        (Some(job), false) => format!("held by job {job}"),
                        (None, false) => "free".to_owned(),
                    };
                    format!("processor {} to be {state}", from + at)
                },
            )?;
        }
        Ok(())
    }

    fn statistics(&self, statistics: &Statistics) -> Check {
        let count = |is: &dyn Fn(&Processor) -> bool| {
            self.processors
                .iter()
                .filter(|processor| is(processor))
                .count() as u32
        };
        let running = self
            .jobs
            .values()
            .filter(|present| !present.blocks.is_empty());
        let running = running.count() as u32;
        let expected = Statistics {
            nodes: self.processors.len() as u32,
            free: count(&|processor| processor.holder.is_none() && !processor.is_faulty),
            faulty: count(&|processor| processor.is_faulty),
            waiting: self.jobs.len() as u32 - running,
            running,
            counts: statistics.counts,
        };
        expect(*statistics == expected, || format!("{expected:?}"))
    }
}

/// The numbers of the processors of blocks that lie within the machine.
fn processors_of(
    configuration: &Configuration,
    blocks: &[Block],
) -> impl Iterator<Item = usize> + use<> {
    let rows = intervals(configuration.machine, blocks).into_iter();
    rows.flat_map(|(first, last)| first as usize..=last as usize)
}

#[cfg(test)]
mod tests;
