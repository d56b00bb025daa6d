//! Checkpoints of a controller in memory, and random changes for controllers that are compared with
//! each other.

use std::convert::Infallible;
use std::num::NonZeroU64;

use meshalloc::checksum::Crc32;
use meshalloc::jobs::JobSlot;
use meshalloc::{
    Block, Change, Class, Configuration, Controller, Flags, Grid, JobId, NodeId, Request,
    RestoreError, Shape, Slices, Submesh, Ticks, Tolerance, VICTIMS_MAX, Victims,
};

use crate::random::Random;
use crate::rig::{Answer, ask_at, list_jobs, unit};

/// The parts of a checkpoint.
pub type Parts = Vec<Vec<u8>>;

/// Saves a controller that is at rest.
///
/// # Panics
///
/// When it is not.
pub fn save(controller: &Controller<'_>) -> Parts {
    let mut parts = Vec::new();
    let saved = controller.save(&mut |part| {
        parts.push(part.to_vec());
        Ok::<(), Infallible>(())
    });
    saved.expect("no scheduling pass is under way");
    parts
}

/// Restores a controller of any state from these parts.
///
/// # Errors
///
/// The error of the controller.
pub fn restore(controller: &mut Controller<'_>, parts: &[Vec<u8>]) -> Result<(), RestoreError> {
    let mut restoring = controller.restore();
    for part in parts {
        restoring.part(part)?;
    }
    restoring.finish()
}

/// Writes anew the checksum with which a checkpoint ends, whatever the bytes before it are now.
/// `end_len` is the number of bytes of the last item ([`end_len`]).
pub fn seal(parts: &mut Parts, end_len: usize) {
    let checksum = checksum_before_end(parts, end_len).to_le_bytes();
    if let Some(last) = parts.last_mut()
        && let Some(at) = last.len().checked_sub(checksum.len())
    {
        last[at..].copy_from_slice(&checksum);
    }
}

/// The bytes of the last item of a checkpoint: its kind, the number of items, and the checksum.
///
/// # Panics
///
/// When the checkpoint is not whole.
pub fn end_len(parts: &Parts) -> usize {
    let is_end = |&len: &usize| {
        let checksum = checksum_before_end(parts, len).to_le_bytes();
        parts.last().is_some_and(|last| last.ends_with(&checksum))
    };
    (6..=10).find(is_end).expect("it ends with its checksum")
}

fn checksum_before_end(parts: &Parts, end_len: usize) -> u32 {
    let bytes = parts.concat();
    Crc32::new().with(&bytes[..bytes.len().saturating_sub(end_len)])
}

/// A stream of random changes, many of which are refused.
#[derive(Debug)]
pub struct Changes {
    random: Random,
    now: Ticks,
    /// Whether some jobs are gangs, and some have a class.
    is_varied: bool,
}

impl Changes {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Changes {
            random: Random::new(seed),
            now: 0,
            is_varied: false,
        }
    }

    /// The stream of this seed, in which some jobs are gangs, and some have a priority or are
    /// preemptible.
    pub fn varied(seed: u64) -> Self {
        Changes {
            is_varied: true,
            ..Changes::new(seed)
        }
    }

    /// Random decisions of the test itself.
    pub const fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The next change and its time, for a controller in this state. Sometimes the time goes back.
    pub fn next(&mut self, controller: &Controller<'_>) -> (Change, Ticks) {
        let (random, is_varied) = (&mut self.random, self.is_varied);
        self.now += u64::from(random.below(20));
        let now = self.now - u64::from(random.below(30)).min(self.now);
        let machine = *controller.machine();
        let jobs = list_jobs(controller, None);
        // Few names, so that they repeat.
        let name = JobId(random.below(60) << 24);
        let job = match jobs.len() as u32 {
            len if len > 0 && random.percent(90) => jobs[random.below(len) as usize].0,
            _ => name,
        };
        let block = block(&machine, random);
        let change = match random.below(100) {
            0..40 => Change::submit(name, request(&machine, random, is_varied)),
            40..50 => Change::Submit {
                job: name,
                request: request(&machine, random, is_varied),
                lease: NonZeroU64::new(random.between(1, 500).into()),
            },
            50..71 => Change::Release { job },
            71..74 => Change::Replace {
                job: broken(controller).unwrap_or(job),
            },
            74..77 if is_varied => {
                preemption(controller, random).unwrap_or(Change::Release { job })
            }
            74..79 => Change::Lease {
                job,
                ticks: NonZeroU64::new(random.below(300).into()),
            },
            79 => Change::EndLease { job },
            80..86 => Change::MarkFaulty { block },
            86..98 => Change::ClearFaulty {
                block: match faulty(controller, random) {
                    Some(node) if random.percent(70) => unit(&machine, node),
                    _ => block,
                },
            },
            98 => Change::Configure(Configuration {
                ..controller.configuration()
            }),
            _ if random.percent(10) => Change::Reset,
            _ => Change::Release { job },
        };
        (change, now)
    }
}

/// A job that waits is to take the processors of random ones of lower priority.
fn preemption(controller: &Controller<'_>, random: &mut Random) -> Option<Change> {
    let queue = controller.jobs().queue();
    let waiting: Vec<_> = queue.slots().map(|slot| queue.get(slot)).collect();
    let of = waiting.get(random.below(waiting.len() as u32 + 1) as usize)?;
    let may_go =
        |class: Class| class.is_preemptible() && class.priority() < of.request().class.priority();
    let running = controller.jobs().running();
    let lower = running.filter(|job| may_go(job.request().class) && random.percent(60));
    let victims: Vec<_> = lower.map(JobSlot::id).take(VICTIMS_MAX).collect();
    Some(Change::Preempt {
        job: of.id(),
        victims: Victims::new(&victims)?,
    })
}

/// The first of the jobs that hold faulty processors.
fn broken(controller: &Controller<'_>) -> Option<JobId> {
    let nodes = (0..controller.machine().nodes()).map(NodeId);
    let faulty = nodes.filter(|&node| controller.occupancy().is_faulty(node));
    let mut units = faulty.filter_map(|node| controller.machine().unit(node));
    units.find_map(|unit| Some(list_jobs(controller, Some(unit)).first()?.0))
}

/// A random box: mostly one processor of the machine, sometimes of any extents, sometimes not
/// within the machine.
pub fn block(machine: &Grid, random: &mut Random) -> Block {
    if random.percent(3) {
        let mut number = || random.below(1 << 16) as u16;
        return Submesh::new(number(), number(), number(), number()).into();
    }
    let largest = [1, 1, 1, 2, 3, u16::MAX][random.below(6) as usize];
    let (mut start, mut extent) = (Vec::new(), Vec::new());
    for (dimension, &side) in machine.sides().iter().enumerate() {
        let at = random.below(side.into()) as u16;
        let room = if machine.wraps(dimension) {
            side
        } else {
            side - at
        };
        let whole = random.percent(10) && largest > 1;
        let (at, len) = if whole {
            (0, side)
        } else {
            (at, random.between(1, room.min(largest).into()) as u16)
        };
        start.push(at);
        extent.push(len);
    }
    machine
        .block(&start, &extent)
        .expect("a box of the machine")
}

/// One of the faulty processors.
fn faulty(controller: &Controller<'_>, random: &mut Random) -> Option<NodeId> {
    let nodes = (0..controller.machine().nodes()).map(NodeId);
    let nodes = nodes.filter(|&node| controller.occupancy().is_faulty(node));
    let nodes: Vec<NodeId> = nodes.collect();
    (!nodes.is_empty()).then(|| nodes[random.below(nodes.len() as u32) as usize])
}

/// A random request: mostly of less than half of each side, with or without an estimate, sometimes
/// one that never fits.
fn request(machine: &Grid, random: &mut Random, is_varied: bool) -> Request {
    let whole_sides = random.percent(10);
    let extents: Vec<u16> = machine
        .sides()
        .iter()
        .map(|&side| match random.below(20) {
            _ if whole_sides => side,
            0 => side + 1,
            1..5 => random.between(1, side.into()) as u16,
            _ => random.between(1, u32::from(side).div_ceil(2)) as u16,
        })
        .collect();
    let mut request = Request::new(Shape::new(&extents).expect("few processors"));
    if random.percent(15) {
        request = Request::chips(request.processors);
    } else if random.percent(30) {
        request = request.with_processors(random.between(1, request.processors));
    }
    if random.percent(75) {
        request = request.with_estimate(random.between(1, 300).into());
    }
    if random.percent(20) {
        request = request.with_flags(request.flags | Flags::FIXED_ORIENTATION);
    }
    if random.percent(15) {
        request = request.with_flags(request.flags | Flags::NO_WAIT);
    }
    if random.percent(5) {
        request = request.with_rings();
    }
    if is_varied && random.percent(25) {
        let slices = Slices::new(random.between(2, 5)).expect("few slices");
        request = request.with_slices(slices);
    }
    if is_varied && random.percent(40) {
        request = request.with_class(class(random));
    }
    if is_varied && random.percent(20) {
        let faulty = random.between(1, 3) as u8;
        request = request.with_tolerance(Tolerance::new(faulty).expect("it is built"));
    }
    request
}

/// A random class: mostly a head start over some of the latest jobs.
pub fn class(random: &mut Random) -> Class {
    let priority = match random.below(10) {
        0 => 0,
        1 => Ticks::MAX - u64::from(random.below(2)),
        _ => random.below(400).into(),
    };
    Class::new(priority, random.percent(30)).expect("this build has priorities")
}

/// Everything that a client can read after a change: its answer, every list of jobs as it comes,
/// and where the jobs are.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The answer to the change.
    pub answer: Answer,
    /// What [`look`] sees.
    pub rest: Vec<String>,
}

/// Has a change carried out and reads everything.
pub fn carry_out(controller: &mut Controller<'_>, change: &Change, now: Ticks) -> Seen {
    let answer = ask_at(controller, change, now);
    let mut rest = look(controller);
    rest.push(format!("{:?}", controller.statistics()));
    Seen { answer, rest }
}

/// Everything except the statistics: what [`look_at_jobs`] tells, and the reservations.
pub fn look(controller: &Controller<'_>) -> Vec<String> {
    let mut rest = look_at_jobs(controller);
    let queue = controller.jobs().queue();
    for job in queue.slots().map(|slot| queue.get(slot)) {
        let blocks: Vec<_> = controller.reserved_blocks(job).collect();
        rest.push(format!(
            "{}: {:?}, {blocks:?}",
            job.id(),
            job.reserved_from()
        ));
    }
    rest
}

/// The lists of jobs, each job, the numbers of events, the leases.
pub fn look_at_jobs(controller: &Controller<'_>) -> Vec<String> {
    let mut rest = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let list = controller.view().job_list(None, at);
        from = list.as_ref().ok().and_then(|list| list.next);
        rest.push(format!("{list:?}"));
    }
    for (job, _) in list_jobs(controller, None) {
        rest.push(format!("{:?}", controller.view().job(job)));
    }
    for job in controller.jobs().running() {
        let blocks: Vec<_> = controller.blocks(job).collect();
        rest.push(format!("{}: {:?}, {blocks:?}", job.id(), job.granted_at()));
    }
    let queue = controller.jobs().queue();
    for job in queue.slots().map(|slot| queue.get(slot)) {
        rest.push(format!("{}: {:?}", job.id(), job.request()));
    }
    let events: Vec<_> = controller.view().events_since(0).collect();
    rest.push(format!("{} {events:?}", controller.events()));
    let jobs = controller.jobs();
    let there = jobs
        .running()
        .chain(queue.slots().map(|slot| queue.get(slot)));
    let leases: Vec<_> = there
        .map(|job| jobs.find(job.id()).map(|slot| jobs.lease(slot)))
        .collect();
    rest.push(format!("{leases:?}"));
    rest
}
