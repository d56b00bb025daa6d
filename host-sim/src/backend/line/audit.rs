//! Whether a controller at the end of a line can be believed: [`Audit`] keeps what it has said, and
//! finds what cannot be true.
//!
//! The controller decides where a job is placed; but its blocks must lie within the machine, be
//! free, and have the size that the strategy gives for the request, and what it says of its jobs
//! must agree with what it has said before.

use std::collections::{BTreeMap, BTreeSet};

use meshalloc::message::{JobList, JobReport, OccupancyChunk};
use meshalloc::{
    Allocator, Block, Command, Configuration, ConfigureError, Error, FaultReport, Flags, Grant,
    Holds, JobId, JobState, Refusal, Reply, Request, Statistics, StrategyKind, Ticks,
};

use crate::backend::heap_storage;
use crate::processors::intervals;

/// What was expected of a reply.
type Check = Result<(), String>;

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
    /// For what the strategy gives for a request.
    storage: meshalloc::storage::HeapStorage,
    jobs: BTreeMap<JobId, Present>,
    processors: Vec<Processor>,
    /// The time of the command before, and of this one.
    before: Ticks,
    now: Ticks,
    /// The grant of which parts are to come: its job, the time, and the number of blocks in all.
    partial: Option<(JobId, Ticks, u32)>,
    /// Whether the job that the command submits was not there.
    is_new: bool,
    /// The job that the command releases, if it was there.
    released: Option<Present>,
    /// The processors that the command makes faulty, or makes work again.
    changed: Vec<usize>,
    /// The jobs that held some of them, or others of the block.
    on_block: BTreeSet<JobId>,
    /// The jobs in the parts of a list so far.
    listed: BTreeSet<JobId>,
}

impl Audit {
    /// A controller that has just taken this configuration.
    ///
    /// # Errors
    ///
    /// Why none can.
    pub(super) fn new(configuration: Configuration) -> Result<Self, ConfigureError> {
        let Configuration {
            machine, strategy, ..
        } = configuration;
        let mut storage = heap_storage(machine, strategy, 1);
        Allocator::new(storage.allocator_memory(), machine, strategy)?;
        Ok(Audit {
            configuration,
            storage,
            jobs: BTreeMap::new(),
            processors: vec![Processor::default(); machine.nodes() as usize],
            before: 0,
            now: 0,
            partial: None,
            released: None,
            changed: Vec::new(),
            on_block: BTreeSet::new(),
            listed: BTreeSet::new(),
            is_new: false,
        })
    }

    /// A command is given.
    pub(super) fn command(&mut self, command: &Command, now: Ticks) {
        self.partial = None;
        self.changed.clear();
        if command.changes_state() {
            (self.before, self.now) = (self.now, self.now.max(now));
        }
        match *command {
            Command::Submit { job, request } => self.submit(job, request, None),
            Command::SubmitLeased {
                job,
                request,
                ticks,
            } => self.submit(job, request, self.lease(ticks)),
            // It is gone before others are granted what it held.
            Command::Release { job } | Command::EndLease { job } => self.released = self.take(job),
            // Others may be granted what works again.
            Command::MarkFaulty { block } => self.set_faulty(block, true),
            Command::ClearFaulty { block } => self.set_faulty(block, false),
            Command::ListJobs { from: 0, .. } => self.listed.clear(),
            _ => {}
        }
    }

    fn submit(&mut self, job: JobId, request: Request, lease_ends: Option<Ticks>) {
        // A lease that ends by now ends behind the command.
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
        // Their leases may end behind the command.
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

    fn lease(&self, ticks: Ticks) -> Option<Ticks> {
        (ticks > 0).then(|| self.now.saturating_add(ticks))
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
        let Configuration {
            machine, strategy, ..
        } = self.configuration;
        let allocator = Allocator::new(self.storage.allocator_memory(), machine, strategy);
        let allocator = allocator.expect("it has been made in this memory before");
        let demand = allocator.demand(request)?;
        Ok(match strategy {
            // It needs a whole shape to be free, and may take a part of it.
            StrategyKind::Neighbor => (request.processors.min(demand), demand),
            _ => (demand, demand),
        })
    }

    /// Takes a reply to the last command; the final one last.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn reply(&mut self, command: &Command, reply: &Reply) -> Check {
        if let Some((job, ..)) = self.partial
            && !matches!(reply, Reply::Grant(grant) if grant.job == job)
        {
            return Err(format!("the other blocks of job {job}"));
        }
        match (*command, reply) {
            (Command::QueryJob { job }, Reply::Grant(grant)) => self.known_blocks(job, grant),
            (_, Reply::Grant(grant)) => self.grant(grant),
            (_, Reply::LeaseEnded(ended)) => {
                self.lease_ended(ended.job, ended.processors, ended.at)
            }
            (_, Reply::Error(error)) => {
                let checked = self.error(command, *error);
                // A command that is refused takes no time.
                if command.changes_state() {
                    self.now = self.before;
                }
                for processor in self.changed.drain(..) {
                    let is_faulty = &mut self.processors[processor].is_faulty;
                    *is_faulty = !*is_faulty;
                }
                checked
            }
            (
                Command::Submit { job, .. } | Command::SubmitLeased { job, .. },
                Reply::Submitted { state, .. },
            ) => self.submitted(job, *state),
            (
                Command::Release { job } | Command::EndLease { job },
                &Reply::Released { processors, .. },
            ) => {
                let Some(present) = self.released.take() else {
                    return Err(format!("no job {job}, which was not there"));
                };
                let held = present.processors;
                expect(processors == held, || {
                    format!("the {held} processors that job {job} held")
                })
            }
            (Command::Lease { job, ticks }, Reply::Done) => {
                let lease_ends = self.lease(ticks);
                match self.jobs.get_mut(&job) {
                    Some(present) => present.lease_ends = lease_ends,
                    None => return Err(format!("no job {job}, which was not there")),
                }
                Ok(())
            }
            (
                Command::MarkFaulty { block } | Command::ClearFaulty { block },
                Reply::Fault(report),
            ) => self.fault(block, report),
            (Command::QueryJob { job }, Reply::Job(report)) => self.reported(job, report),
            (Command::ListJobs { on, .. }, Reply::Jobs(list)) => self.list(on, list),
            (Command::Occupancy { .. }, Reply::Occupancy(chunk)) => self.occupancy(chunk),
            (Command::Statistics, Reply::Statistics(statistics)) => self.statistics(statistics),
            // Nothing else is expected; the client has seen that it is of the right kind.
            _ => Ok(()),
        }
    }

    fn grant(&mut self, grant: &Grant) -> Check {
        let &Grant {
            job,
            at,
            blocks_total,
            first,
            ..
        } = grant;
        let (before, now) = (self.before, self.now);
        // One that ends by now may end behind the grant.
        self.expire(job, before);
        let Some(present) = self.jobs.get_mut(&job) else {
            return Err(format!(
                "a grant of a job that waits, which job {job} does not"
            ));
        };
        let (request, submitted) = (present.request, present.submitted);
        let known = present.blocks.len() as u32;
        if let Some((_, since, total)) = self.partial {
            expect((at, blocks_total, first) == (since, total, known), || {
                format!("the block {known} of the {total} of job {job}")
            })?;
        } else {
            expect(known == 0 && first == 0, || {
                format!("a grant of a job that waits, which job {job} does not")
            })?;
            let earliest = before.max(submitted);
            expect((earliest..=now).contains(&at), || {
                format!("a time from {earliest} to {now} for the grant of job {job}")
            })?;
        }
        for &block in &grant.blocks {
            self.hold(job, block)?;
        }
        let known = known + grant.blocks.len() as u32;
        if known < blocks_total {
            self.partial = Some((job, at, blocks_total));
            return Ok(());
        }
        self.partial = None;
        let strategy = self.configuration.strategy;
        let most = match strategy.holds() {
            Holds::OneBlock => 1,
            Holds::TwoBlocks => 2,
            Holds::Processors => u32::MAX,
        };
        expect(known <= most, || {
            format!("at most {most} of {strategy}'s blocks for job {job}")
        })?;
        let size = self.size(&request);
        let held = self.jobs.get(&job).map_or(0, |present| present.processors);
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

    fn submitted(&mut self, job: JobId, state: JobState) -> Check {
        let others = self
            .jobs
            .iter()
            .filter(|(_, other)| other.blocks.is_empty());
        let others = others.filter(|(name, _)| **name != job).count();
        let Some(present) = self.jobs.get(&job) else {
            return Err(format!("no job {job}, which is gone"));
        };
        let (held, flags) = (present.processors, present.request.flags);
        expect(self.is_new, || format!("an error, as job {job} is there"))?;
        match state {
            JobState::Running { processors } => expect(processors == held && held > 0, || {
                format!("the {held} processors that job {job} was granted")
            }),
            JobState::Waiting { ahead } => {
                expect(held == 0, || format!("job {job} to run, which was granted"))?;
                expect(!flags.contains(Flags::NO_WAIT), || {
                    format!("an error, as job {job} never waits")
                })?;
                expect(ahead as usize <= others, || {
                    format!("at most {others} jobs ahead of job {job}")
                })
            }
        }
    }

    fn error(&mut self, command: &Command, error: Error) -> Check {
        match (*command, error) {
            (
                Command::Submit { job, request } | Command::SubmitLeased { job, request, .. },
                Error::Refused(reason),
            ) => {
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
                Command::Release { job } | Command::EndLease { job },
                Error::UnknownJob | Error::LeaseRuns,
            ) => {
                let gone = self.released.take();
                // Its lease may have ended before.
                let ends = gone.as_ref().map(|present| present.lease_ends);
                let is_unknown = ends.is_none_or(|ends| ends.is_some_and(|ends| ends <= self.now));
                expect(is_unknown, || format!("job {job}, which is there"))
            }
            (Command::QueryJob { job } | Command::Lease { job, .. }, Error::UnknownJob) => {
                let is_there = self.job(job).is_some();
                expect(!is_there, || format!("job {job}, which is there"))
            }
            (
                Command::MarkFaulty { block } | Command::ClearFaulty { block },
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
    fn known_blocks(&mut self, job: JobId, grant: &Grant) -> Check {
        let blocks = self.job(job).map(|present| present.blocks.clone());
        let blocks = blocks.unwrap_or_default();
        let rest = blocks.get(grant.first as usize..).unwrap_or_default();
        let is_known =
            grant.blocks_total as usize == blocks.len() && rest.starts_with(&grant.blocks);
        expect(is_known, || {
            format!("the {} blocks that job {job} was granted", blocks.len())
        })
    }

    fn reported(&mut self, job: JobId, report: &JobReport) -> Check {
        let Some(present) = self.job(job) else {
            return Err(format!("no job {job}, which was not there"));
        };
        let processors = match report.state {
            JobState::Running { processors } => processors,
            JobState::Waiting { .. } => 0,
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
