//! A controller on the heap and what it answers, in a form that tests can compare.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocator, AllocatorMemory, Block, Command, Configuration, Controller, Cube, Grid, JobId,
    LeaseEnded, Memory, Mesh, NodeId, Reply, Request, SchedulerKind, Shape, StrategyKind, Submesh,
    Ticks,
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

/// The whole answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The grants in the order in which they came, the blocks of each put together.
    pub grants: Vec<Granted>,
    /// The leases that have ended, in order.
    pub ended: Vec<LeaseEnded>,
    /// The final reply.
    pub last: Reply,
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
    /// The granted block, if the answer is a single grant of one block.
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

/// Puts the parts of an answer together as they come in.
///
/// # Panics
///
/// When the parts are not what [`Reply`] promises: the blocks of a job in order and without gaps, a
/// job at a time, and one final reply at the end.
#[derive(Debug, Default)]
struct Collector {
    grants: Vec<Granted>,
    /// The blocks still to come for the latest grant.
    missing: u32,
    ended: Vec<LeaseEnded>,
    last: Option<Reply>,
}

impl Collector {
    fn take(&mut self, reply: &Reply) {
        assert!(self.last.is_none(), "{reply:?} after {:?}", self.last);
        let Reply::Grant(grant) = reply else {
            assert_eq!(self.missing, 0, "{reply:?} before the last block");
            if let Reply::LeaseEnded(ended) = reply {
                self.ended.push(*ended);
                return;
            }
            self.last = Some(reply.clone());
            return;
        };
        if grant.first == 0 {
            assert_eq!(
                self.missing, 0,
                "{grant:?} before the last block of another"
            );
            self.missing = grant.blocks_total;
            self.grants.push(Granted {
                job: grant.job,
                at: grant.at,
                attempts: grant.attempts,
                misses: grant.misses,
                blocks: Vec::new(),
            });
        }
        let granted = self.grants.last_mut().expect("a first part came first");
        assert_eq!(granted.job, grant.job, "one job at a time");
        assert_eq!(granted.blocks.len(), grant.first as usize, "no gap");
        assert!(!grant.blocks.is_empty(), "at least one block");
        granted.blocks.extend(&grant.blocks);
        self.missing -= grant.blocks.len() as u32;
        assert_eq!(grant.is_last(), self.missing == 0);
    }
}

/// Gives a command at time 0 and collects the answer.
///
/// # Panics
///
/// When the answer breaks the promises of [`Reply`].
pub fn ask(controller: &mut Controller<'_>, command: &Command) -> Answer {
    ask_at(controller, command, 0)
}

/// Gives a command at the time `now` and collects the answer.
///
/// # Panics
///
/// When the answer breaks the promises of [`Reply`].
pub fn ask_at(controller: &mut Controller<'_>, command: &Command, now: Ticks) -> Answer {
    let mut collector = Collector::default();
    controller.handle(command, now, &mut |reply| collector.take(reply));
    Answer {
        grants: collector.grants,
        ended: collector.ended,
        last: collector.last.expect("a final reply"),
    }
}

/// The grants with numbers above this one, as events.
pub fn grants_since(controller: &Controller<'_>, number: u64) -> Vec<Granted> {
    let grants = controller.granted_since(number);
    grants.map(|(_, granted)| Granted::from(granted)).collect()
}

impl From<meshalloc::controller::Granted<'_, '_>> for Granted {
    fn from(granted: meshalloc::controller::Granted<'_, '_>) -> Self {
        Granted {
            job: granted.job().id(),
            at: granted.job().granted_at(),
            attempts: granted.job().attempts(),
            misses: granted.job().misses(),
            blocks: granted.blocks().collect(),
        }
    }
}

/// Submits a job.
pub fn submit(controller: &mut Controller<'_>, job: u32, request: Request) -> Answer {
    let job = JobId(job);
    ask(controller, &Command::Submit { job, request })
}

/// Releases a job.
pub fn release(controller: &mut Controller<'_>, job: u32) -> Answer {
    ask(controller, &Command::Release { job: JobId(job) })
}

/// The block that is this processor of the machine.
///
/// # Panics
///
/// When there is none.
pub fn unit(machine: &Grid, node: NodeId) -> Block {
    machine.unit(node).expect("a processor of the machine")
}

/// The command that marks the processors of a block as faulty or as working.
pub const fn fault(block: Block, faulty: bool) -> Command {
    match faulty {
        true => Command::MarkFaulty { block },
        false => Command::ClearFaulty { block },
    }
}

/// A command in words, with a block as coordinates of the machine.
pub fn described(command: &Command, machine: &Grid) -> String {
    match *command {
        Command::MarkFaulty { block } => format!("MarkFaulty {}", machine.place(block)),
        Command::ClearFaulty { block } => format!("ClearFaulty {}", machine.place(block)),
        _ => format!("{command:?}"),
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

/// All jobs, or those on a block, and the processors they hold, by name, asked for in chunks.
///
/// # Panics
///
/// When a chunk gets another answer, or there is no last chunk.
pub fn list_jobs(controller: &mut Controller<'_>, on: Option<Block>) -> Vec<(JobId, u32)> {
    let mut jobs = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        match ask(controller, &Command::ListJobs { on, from: at }).last {
            Reply::Jobs(list) => {
                assert!(list.next.is_none_or(|next| next > at), "chunks go forward");
                jobs.extend(list.jobs);
                from = list.next;
            }
            other => panic!("{other:?} to ListJobs"),
        }
    }
    jobs.sort_unstable();
    jobs
}

/// For each processor whether it is busy and whether it is faulty, asked for in chunks.
///
/// # Panics
///
/// When a chunk gets another answer, or describes processors that do not exist.
pub fn occupancy_map(controller: &mut Controller<'_>) -> Vec<(bool, bool)> {
    let nodes = controller.machine().nodes();
    let mut map = Vec::new();
    while (map.len() as u32) < nodes {
        let from = NodeId(map.len() as u32);
        match ask(controller, &Command::Occupancy { from }).last {
            Reply::Occupancy(chunk) => {
                assert_eq!((chunk.from, chunk.nodes), (from, nodes));
                assert_eq!(chunk.busy.len(), chunk.faulty.len());
                let bits = |byte: &u8| (0..8).map(|bit| byte >> bit & 1 == 1).collect::<Vec<_>>();
                let busy = chunk.busy.iter().flat_map(bits);
                map.extend(busy.zip(chunk.faulty.iter().flat_map(bits)));
            }
            other => panic!("{other:?} to Occupancy"),
        }
    }
    let beyond = map.split_off(nodes as usize);
    assert!(beyond.iter().all(|&bits| bits == (false, false)));
    map
}
