//! A controller on the heap and what it answers, in a form that tests can compare.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocator, AllocatorMemory, Block, Change, Configuration, Controller, Cube, Error, Event,
    EventKind, Grid, JobId, JobState, Memory, Mesh, NodeId, Outcome, Request, SchedulerKind, Shape,
    StrategyKind, Submesh, Ticks, View,
};

use crate::random::Random;

/// Memory for a controller or an allocator: exactly as much as the machine and the jobs need.
#[derive(Debug)]
pub struct HeapMemory(HeapStorage);

impl HeapMemory {
    /// Memory for exactly this machine and this number of jobs, waiting and running together.
    pub fn new(machine: impl Into<Grid>, jobs: usize) -> Self {
        Self::for_largest_of(&[machine.into()], jobs)
    }

    /// Memory in which each of the machines can be served.
    pub fn for_largest_of(machines: &[impl Into<Grid> + Copy], jobs: usize) -> Self {
        let machines: Vec<Grid> = machines.iter().map(|&machine| machine.into()).collect();
        HeapMemory(HeapStorage::new(Needs::of_build(&machines, jobs), jobs))
    }

    /// Memory for this strategy alone.
    pub fn for_strategy(machine: impl Into<Grid>, strategy: StrategyKind, jobs: usize) -> Self {
        let needs = Needs::of(strategy, &machine.into(), jobs);
        HeapMemory(HeapStorage::new(needs, jobs))
    }

    /// This much memory.
    pub fn of(needs: Needs, jobs: usize) -> Self {
        HeapMemory(HeapStorage::new(needs, jobs))
    }

    /// Fills the memory with random numbers, since nothing may depend on its contents. Jobs and
    /// blocks cannot be made of numbers; they keep those of an earlier controller.
    pub fn fill_with_noise(&mut self, random: &mut Random) {
        self.0.overwrite(|| {
            (0..4).fold(0, |number, _| {
                number << 16 | u64::from(random.below(1 << 16))
            })
        });
    }

    /// Lends the memory to a controller.
    pub fn memory(&mut self) -> Memory<'_> {
        self.0.memory()
    }

    /// Lends the memory to an allocator.
    pub fn allocator_memory(&mut self) -> AllocatorMemory<'_> {
        self.0.allocator_memory()
    }
}

/// A block of a two-dimensional mesh as a submesh. In all of them its numbers mean the same.
///
/// # Panics
///
/// When it is a block of no mesh.
#[inline]
pub fn submesh(block: Block) -> Submesh {
    Submesh::of(&mesh(1024, 1024).grid(), block).expect("a block of a two-dimensional mesh")
}

/// A mesh whose sides are known to be right.
///
/// # Panics
///
/// When they are not.
pub fn mesh(w: u16, h: u16) -> Mesh {
    Mesh::new(w, h).expect("sides of a test mesh")
}

/// A cube whose k and n are known to be right.
///
/// # Panics
///
/// When they are not.
pub fn cube(k: u16, n: u8) -> Cube {
    Cube::new(k, n).expect("k and n of a test cube")
}

/// A request for a subcube of these radices, dimension 0 last.
///
/// # Panics
///
/// When no cube could serve them.
pub fn subcube(radices: &[u16]) -> Request {
    Request::new(Shape::new(radices).expect("radices of a test request"))
}

/// First come, first served on this machine.
pub fn configuration(machine: impl Into<Grid>, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: machine.into(),
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

/// Everything that one change led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The grants, in order.
    pub grants: Vec<Granted>,
    /// The leases that ended and the jobs that were preempted, in order.
    pub ended: Vec<Ended>,
    /// The outcome.
    pub outcome: Result<Outcome, Error>,
    /// The state of the job if the change submitted one: in the end, or `None` if it was refused.
    pub state: Option<JobState>,
}

/// The end of a lease, or of the grant of a preempted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The job.
    pub job: JobId,
    /// When it was released or preempted.
    pub at: Ticks,
    /// The processors it held, 0 if it waited.
    pub processors: u32,
    /// The job that preempted it; `None` for the end of a lease.
    pub by: Option<JobId>,
}

/// A job and all of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The job.
    pub job: JobId,
    /// When it was granted.
    pub at: Ticks,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it failed although enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub blocks: Vec<Block>,
}

impl Answer {
    /// The one block that was granted, if nothing else was.
    pub fn block(&self) -> Option<Block> {
        match self.grants.as_slice() {
            [granted] => match granted.blocks.as_slice() {
                [block] => Some(*block),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same as a submesh of a two-dimensional mesh.
    pub fn submesh(&self) -> Option<Submesh> {
        self.block().map(submesh)
    }
}

/// Has a change carried out at time 0.
pub fn ask(controller: &mut Controller<'_>, change: &Change) -> Answer {
    ask_at(controller, change, 0)
}

/// Has a change carried out at the time `now`, with all that follows from it. As
/// [`Controller::handle`], but reads the events after each step, so that no grant is missed.
///
/// # Panics
///
/// When an event is not what a view promises.
pub fn ask_at(controller: &mut Controller<'_>, change: &Change, now: Ticks) -> Answer {
    let mut answer = ask_for(controller, |controller| {
        controller.begin(change, now, None, None)
    });
    if let (Change::Submit { job, .. }, Ok(_)) = (change, answer.outcome) {
        answer.state = controller.view().job(*job).ok().map(|report| report.state);
    }
    answer
}

/// Interrupts jobs at the time `now`, likewise.
pub fn requeue(controller: &mut Controller<'_>, jobs: &[JobId], now: Ticks) -> Answer {
    ask_for(controller, |controller| {
        controller.requeue(jobs, now).map(|()| Outcome::Done)
    })
}

fn ask_for(
    controller: &mut Controller<'_>,
    begin: impl FnOnce(&mut Controller<'_>) -> Result<Outcome, Error>,
) -> Answer {
    while controller.advance(None) {}
    let mut known = controller.events();
    let mut answer = Answer {
        grants: Vec::new(),
        ended: Vec::new(),
        outcome: begin(controller),
        state: None,
    };
    loop {
        let view = controller.view();
        for event in view.events_since(known) {
            assert_eq!(event.number, known + 1, "each event once, in order");
            known = event.number;
            match event.what {
                EventKind::Granted { .. } => answer.grants.push(Granted::of(&view, &event)),
                EventKind::LeaseEnded | EventKind::Preempted { .. } => {
                    answer.ended.push(Ended::new(&event));
                }
            }
        }
        assert_eq!(known, controller.events());
        if controller.is_scheduling() {
            controller.advance(None);
        } else if let Some((ends, job)) = controller.lease_ended(controller.clock()) {
            let end = Change::EndLease { job };
            let ended = controller.begin(&end, ends, None, None);
            assert!(matches!(ended, Ok(Outcome::Released { .. })), "{ended:?}");
        } else {
            break;
        }
    }
    answer
}

impl Ended {
    /// The end of a lease or a grant as an event.
    pub const fn new(event: &Event) -> Self {
        Ended {
            job: event.job,
            at: event.at,
            processors: event.processors,
            by: match event.what {
                EventKind::Preempted { by } => Some(by),
                _ => None,
            },
        }
    }
}

impl Granted {
    /// A grant and the blocks of the job.
    ///
    /// # Panics
    ///
    /// When the event is another one, or the two do not agree.
    pub fn new(event: &Event, blocks: Vec<Block>) -> Self {
        let EventKind::Granted {
            attempts,
            misses,
            blocks_total,
            block,
        } = event.what
        else {
            panic!("{event:?} is not a grant");
        };
        assert_eq!(blocks.first(), Some(&block), "{event:?}");
        assert_eq!(blocks.len() as u32, blocks_total, "{event:?}");
        Granted {
            job: event.job,
            at: event.at,
            attempts,
            misses,
            blocks,
        }
    }

    /// A job that runs, and its grant.
    ///
    /// # Panics
    ///
    /// When the two do not agree.
    fn of(view: &View<'_, '_>, event: &Event) -> Self {
        let blocks: Vec<Block> = view.blocks(event.job).collect();
        let machine = view.configuration().machine;
        let processors: u32 = blocks.iter().map(|&block| machine.area(block)).sum();
        assert_eq!(processors, event.processors, "{event:?}");
        let chunks = block_lists(view, event.job);
        assert_eq!(chunks, blocks, "read in chunks: {event:?}");
        Granted::new(event, blocks)
    }
}

/// The blocks of a job, read in chunks.
///
/// # Panics
///
/// When a chunk is not what was asked for.
fn block_lists(view: &View<'_, '_>, job: JobId) -> Vec<Block> {
    let mut blocks = Vec::new();
    loop {
        let from = blocks.len() as u32;
        match view.block_list(job, from) {
            Ok(list) => {
                assert_eq!((list.job, list.first), (job, from));
                assert!(!list.blocks.is_empty());
                blocks.extend(list.blocks);
                assert!(blocks.len() as u32 <= list.total);
            }
            Err(error) => {
                assert_eq!(error, Error::NoBlock { held: from });
                return blocks;
            }
        }
    }
}

/// The grants of jobs that run with numbers above this one.
pub fn grants_since(controller: &Controller<'_>, number: u64) -> Vec<Granted> {
    let view = controller.view();
    let grants = view.events_since(number);
    let grants = grants.filter(|event| matches!(event.what, EventKind::Granted { .. }));
    grants.map(|event| Granted::of(&view, &event)).collect()
}

/// The ends of leases and grants with numbers above this one that are remembered.
pub fn ended_since(controller: &Controller<'_>, number: u64) -> Vec<Ended> {
    let events = controller.view().events_since(number);
    let ended = events.filter(|event| !matches!(event.what, EventKind::Granted { .. }));
    ended.map(|event| Ended::new(&event)).collect()
}

/// Submits a job.
pub fn submit(controller: &mut Controller<'_>, job: u32, request: Request) -> Answer {
    ask(controller, &Change::submit(JobId(job), request))
}

/// Releases a job.
pub fn release(controller: &mut Controller<'_>, job: u32) -> Answer {
    ask(controller, &Change::Release { job: JobId(job) })
}

/// The block that is this processor of the machine.
///
/// # Panics
///
/// When there is none.
pub fn unit(machine: &Grid, node: NodeId) -> Block {
    machine.unit(node).expect("a processor of the machine")
}

/// The change that marks the processors of a block as faulty, or as working.
pub const fn fault(block: Block, faulty: bool) -> Change {
    if faulty {
        Change::MarkFaulty { block }
    } else {
        Change::ClearFaulty { block }
    }
}

/// A change in words, with a block as coordinates of the machine.
pub fn described(change: &Change, machine: &Grid) -> String {
    match *change {
        Change::MarkFaulty { block } => format!("MarkFaulty {}", machine.place(block)),
        Change::ClearFaulty { block } => format!("ClearFaulty {}", machine.place(block)),
        _ => format!("{change:?}"),
    }
}

/// Marks a processor as faulty, or as working again.
pub fn set_faulty(controller: &mut Controller<'_>, node: u32, faulty: bool) -> Answer {
    let block = unit(controller.machine(), NodeId(node));
    ask(controller, &fault(block, faulty))
}

/// Marks a processor of an allocator as faulty; returns whether it worked before.
pub fn mark_faulty(allocator: &mut Allocator<'_>, node: NodeId) -> bool {
    let block = unit(allocator.occupancy().grid(), node);
    allocator.mark_faulty(block) == 1
}

/// Marks a processor of an allocator as working; returns whether it was faulty before.
pub fn clear_faulty(allocator: &mut Allocator<'_>, node: NodeId) -> bool {
    let block = unit(allocator.occupancy().grid(), node);
    allocator.clear_faulty(block) == 1
}

/// The free submesh list of a controller.
///
/// # Panics
///
/// When its strategy keeps none.
pub fn free_submesh_list(controller: &Controller<'_>) -> Vec<Submesh> {
    let list = controller.strategy().dominant_free_submeshes();
    list.expect("its strategy keeps a list").collect()
}

/// All jobs, or those on a block, and the processors they hold, by name, read in chunks.
///
/// # Panics
///
/// When the block is not within the machine, or there is no end to the chunks.
pub fn list_jobs(controller: &Controller<'_>, on: Option<Block>) -> Vec<(JobId, u32)> {
    let mut jobs = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let list = controller.view().job_list(on, at);
        let list = list.expect("a block of the machine");
        assert!(list.next.is_none_or(|next| next > at), "chunks go forward");
        jobs.extend(list.jobs);
        from = list.next;
    }
    jobs.sort_unstable();
    jobs
}

/// For each processor whether it is busy and whether it is faulty, read in chunks.
///
/// # Panics
///
/// When a chunk has anything about processors that do not exist.
pub fn occupancy_map(controller: &Controller<'_>) -> Vec<(bool, bool)> {
    let nodes = controller.machine().nodes();
    let mut map = Vec::new();
    while (map.len() as u32) < nodes {
        let from = NodeId(map.len() as u32);
        let chunk = controller.view().occupancy_chunk(from);
        let chunk = chunk.expect("a processor of the machine");
        assert_eq!((chunk.from, chunk.nodes), (from, nodes));
        assert_eq!(chunk.busy.len(), chunk.faulty.len());
        let bits = |byte: &u8| (0..8).map(|bit| byte >> bit & 1 == 1).collect::<Vec<_>>();
        let busy = chunk.busy.iter().flat_map(bits);
        map.extend(busy.zip(chunk.faulty.iter().flat_map(bits)));
    }
    let beyond = map.split_off(nodes as usize);
    assert!(beyond.iter().all(|&bits| bits == (false, false)));
    map
}
