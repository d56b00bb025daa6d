//! The state of a controller's processors at one moment.

use meshalloc::{Block, Command, Grid, JobId, NodeId, Reply};

use super::largest;
use super::layout::Layout;
use crate::backend::Backend;
use crate::simulation::SimulationError;

/// A running job with its processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapJob {
    /// Its name.
    pub id: JobId,
    /// What it holds, in the order in which it was granted.
    pub blocks: Vec<Block>,
}

/// Who holds which processors of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The machine.
    pub machine: Grid,
    /// The running jobs, by name.
    pub jobs: Vec<MapJob>,
    /// The number of jobs that wait.
    pub waiting: u32,
    /// The faulty processors, by number. A job may hold some of them still.
    pub faulty: Vec<NodeId>,
}

/// The owner of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Free.
    Free,
    /// The job's at this place of [`Snapshot::jobs`].
    Job(usize),
}

/// The owners of all processors, by their places in the picture.
#[derive(Clone, Debug)]
pub struct Owners {
    width: usize,
    height: usize,
    owners: Vec<Owner>,
    faulty: Vec<bool>,
}

impl Owners {
    /// The owner of the processor in this column and row; `None` outside the picture.
    pub fn get(&self, x: usize, y: usize) -> Option<Owner> {
        self.index(x, y).map(|index| self.owners[index])
    }

    /// Whether the processor in this column and row is faulty.
    pub fn is_faulty(&self, x: usize, y: usize) -> bool {
        self.index(x, y).is_some_and(|index| self.faulty[index])
    }

    fn index(&self, x: usize, y: usize) -> Option<usize> {
        let inside = x < self.width && y < self.height;
        inside.then(|| y * self.width + x)
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }
}

impl Snapshot {
    /// Asks a controller that serves `machine`; changes nothing there.
    ///
    /// # Errors
    ///
    /// When the controller is lost or gives a reply that does not belong to the command.
    pub fn read(backend: &mut dyn Backend, machine: Grid) -> Result<Self, SimulationError> {
        let mut ids = Vec::new();
        let mut waiting = 0;
        let mut from = Some(0);
        while let Some(begin) = from {
            let command = Command::ListJobs {
                on: None,
                from: begin,
            };
            let Reply::Jobs(list) = ask(backend, &command, &mut |_| {})? else {
                return Err(odd(&command, "another kind of reply"));
            };
            waiting += list.jobs.iter().filter(|job| job.1 == 0).count() as u32;
            let running = list.jobs.iter().filter(|(_, processors)| *processors > 0);
            ids.extend(running.map(|(id, _)| *id));
            from = list.next;
            if from.is_some_and(|next| next <= begin) {
                return Err(odd(&command, "a list that does not end"));
            }
        }
        ids.sort_unstable();

        let mut jobs = Vec::with_capacity(ids.len());
        for id in ids {
            let command = Command::QueryJob { job: id };
            let mut blocks = Vec::new();
            ask(backend, &command, &mut |block| blocks.push(block))?;
            if let Some(block) = blocks.iter().find(|&&block| !machine.contains(block)) {
                let reply = format!("{}, which the machine has not", machine.place(*block));
                return Err(odd(&command, &reply));
            }
            jobs.push(MapJob { id, blocks });
        }

        let mut faulty = Vec::new();
        let mut from = 0;
        while from < machine.nodes() {
            let command = Command::Occupancy { from: NodeId(from) };
            let Reply::Occupancy(chunk) = ask(backend, &command, &mut |_| {})? else {
                return Err(odd(&command, "another kind of reply"));
            };
            if chunk.faulty.is_empty() {
                return Err(odd(&command, "an empty chunk"));
            }
            for byte in &chunk.faulty {
                let nodes = (0..8)
                    .filter(|bit| byte >> bit & 1 == 1)
                    .map(|bit| from + bit);
                faulty.extend(nodes.filter(|&node| node < machine.nodes()).map(NodeId));
                from += 8;
            }
        }
        Ok(Snapshot {
            machine,
            jobs,
            waiting,
            faulty,
        })
    }

    /// The owner of every processor.
    pub fn owners(&self) -> Owners {
        // Gaps move nothing to another column or row.
        let layout = Layout::new(self.machine, 1);
        let (width, height) = (layout.across.len(), layout.up.len());
        let mut owners = vec![Owner::Free; width * height];
        for (place, job) in self.jobs.iter().enumerate() {
            for rect in job
                .blocks
                .iter()
                .flat_map(|&block| layout.rectangles(block))
            {
                for y in rect.y {
                    owners[y * width..][rect.x.clone()].fill(Owner::Job(place));
                }
            }
        }
        let mut faulty = vec![false; width * height];
        for (x, y) in self.faulty.iter().map(|&node| layout.place(node)) {
            faulty[y * width + x] = true;
        }
        Owners {
            width,
            height,
            owners,
            faulty,
        }
    }

    /// Which processors are neither held nor faulty, by number.
    fn free_nodes(&self) -> Vec<bool> {
        let layout = Layout::new(self.machine, 1);
        let owners = self.owners();
        let nodes = (0..self.machine.nodes()).map(NodeId);
        let free = nodes.map(|node| {
            let (x, y) = layout.place(node);
            owners.get(x, y) == Some(Owner::Free) && !owners.is_faulty(x, y)
        });
        free.collect()
    }

    /// The number of processors that are neither held nor faulty.
    pub fn free(&self) -> usize {
        self.free_nodes().iter().filter(|&&free| free).count()
    }

    /// Processors held or faulty, as a part of all.
    pub fn busy_fraction(&self) -> f64 {
        1.0 - self.free() as f64 / f64::from(self.machine.nodes())
    }

    /// The free block with the most processors: [`largest::largest_free`].
    pub fn largest_free(&self) -> Option<Block> {
        largest::largest_free(self.machine, &self.free_nodes())
    }
}

/// The final reply; the blocks of grants before it go to `on_block`.
fn ask(
    backend: &mut dyn Backend,
    command: &Command,
    on_block: &mut dyn FnMut(Block),
) -> Result<Reply, SimulationError> {
    let mut answer = None;
    // Time does not go back, so 0 is now; and asking takes none.
    backend.call(command, 0, &mut |reply| match reply {
        Reply::Grant(grant) => grant.blocks.iter().copied().for_each(&mut *on_block),
        reply => answer = Some(reply.clone()),
    })?;
    match answer {
        Some(Reply::Error(error)) => Err(odd(command, &error.to_string())),
        Some(reply) => Ok(reply),
        None => Err(odd(command, "no final reply")),
    }
}

fn odd(command: &Command, reply: &str) -> SimulationError {
    SimulationError::UnexpectedReply {
        command: format!("{command:?}"),
        reply: reply.to_owned(),
    }
}
