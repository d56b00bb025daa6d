//! The state of a controller's processors at one moment.

use std::collections::BTreeSet;

use meshalloc::{Block, JobId, NodeId};

use super::largest;
use meshalloc_sim::history::Scene;
use meshalloc_sim::layout::{Layout, ONE_ROW, Plan};
use meshalloc_sim::situation::Situation;

/// A running job with its processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapJob {
    /// Its name.
    pub id: JobId,
    /// The blocks that the job holds, in the order of the grant.
    pub blocks: Vec<Block>,
}

/// Who holds which processors of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The machine.
    pub plan: Plan,
    /// The running jobs, by name.
    pub jobs: Vec<MapJob>,
    /// The number of jobs that wait.
    pub waiting: u32,
    /// The faulty processors, by number. A job may still hold some of them.
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
    /// The rows from below; `None` where there is no processor.
    rows: Vec<Vec<Option<Owner>>>,
    /// Columns and rows.
    faulty: BTreeSet<(usize, usize)>,
}

impl Owners {
    /// The owner of the processor in this column and row; `None` where there is none.
    pub fn get(&self, x: usize, y: usize) -> Option<Owner> {
        *self.rows.get(y)?.get(x)?
    }

    /// Whether the processor in this column and row is faulty.
    pub fn is_faulty(&self, x: usize, y: usize) -> bool {
        self.faulty.contains(&(x, y))
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }
}

impl Snapshot {
    /// A moment of a run on the machine.
    pub fn of(scene: &Scene<'_>, plan: Plan) -> Self {
        let running = scene.running.iter();
        let jobs = running.map(|&(number, blocks)| MapJob {
            id: JobId(number),
            blocks: blocks.to_vec(),
        });
        Snapshot {
            plan,
            jobs: jobs.collect(),
            waiting: scene.waiting.len() as u32,
            faulty: scene.down.clone(),
        }
    }

    /// The situation on a controller.
    pub fn of_situation(situation: &Situation<'_>) -> Self {
        let running = situation.running.iter();
        let jobs = running.map(|running| MapJob {
            id: running.job,
            blocks: running.blocks.clone(),
        });
        Snapshot {
            plan: Plan::of(situation.configuration.machine, situation.description),
            jobs: jobs.collect(),
            waiting: situation.waiting.len() as u32,
            faulty: situation.faulty.clone(),
        }
    }

    /// The owner of every processor, by its place in this layout.
    pub fn owners(&self, layout: &Layout) -> Owners {
        let free = |x, y| layout.has(x, y).then_some(Owner::Free);
        let row = |y| (0..layout.across.len()).map(|x| free(x, y)).collect();
        let mut rows: Vec<Vec<_>> = (0..layout.up.len()).map(row).collect();
        for (place, job) in self.jobs.iter().enumerate() {
            let blocks = job.blocks.iter();
            for rect in blocks.flat_map(|&block| layout.rectangles(block)) {
                for row in &mut rows[rect.y] {
                    row[rect.x.clone()].fill(Some(Owner::Job(place)));
                }
            }
        }
        let faulty = self.faulty.iter().map(|&node| layout.place(node));
        Owners {
            rows,
            faulty: faulty.collect(),
        }
    }

    /// Which processors are neither held nor faulty, by number.
    fn free_nodes(&self) -> Vec<bool> {
        let layout = Layout::new(self.plan.machine, ONE_ROW, 1);
        let owners = self.owners(&layout);
        let nodes = (0..self.plan.machine.nodes()).map(NodeId);
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

    /// The free block with the most processors: [`largest::largest_free`].
    pub fn largest_free(&self) -> Option<Block> {
        largest::largest_free(self.plan.machine, &self.free_nodes())
    }
}
