//! What a controller says about its processors at one moment.

use meshalloc::{Block, Command, Coord, JobId, Mesh, NodeId, Reply, Submesh};

use crate::backend::Backend;
use crate::simulation::SimulationError;

/// A running job with its processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapJob {
    /// Its name.
    pub id: JobId,
    /// What it holds, in the order in which it was granted.
    pub blocks: Vec<Submesh>,
}

/// Who holds which processors of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The mesh.
    pub mesh: Mesh,
    /// The running jobs, by name.
    pub jobs: Vec<MapJob>,
    /// The faulty processors, in row-major order. A job may hold some of them still.
    pub faulty: Vec<Coord>,
}

/// Whose a processor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Nobody's.
    Free,
    /// The job's at this place of [`Snapshot::jobs`].
    Job(usize),
}

/// The owners of all processors.
#[derive(Clone, Debug)]
pub struct Owners {
    width: usize,
    height: usize,
    owners: Vec<Owner>,
}

impl Owners {
    /// The owner of `<x, y>`; `None` outside the mesh.
    pub fn get(&self, x: usize, y: usize) -> Option<Owner> {
        let inside = x < self.width && y < self.height;
        inside.then(|| self.owners[y * self.width + x])
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
    /// Asks a controller that serves `mesh`; changes nothing there.
    ///
    /// # Errors
    ///
    /// When the controller is lost or answers nonsense.
    pub fn read(backend: &mut dyn Backend, mesh: Mesh) -> Result<Self, SimulationError> {
        let mut ids = Vec::new();
        let mut from = Some(0);
        while let Some(begin) = from {
            let command = Command::ListJobs { from: begin };
            let Reply::Jobs(list) = ask(backend, &command, &mut |_| {})? else {
                return Err(odd(&command, "another kind of reply"));
            };
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
            let blocks = blocks.into_iter().map(|block| match block {
                Block::Submesh(submesh) if mesh.contains(submesh) => Ok(submesh),
                other => Err(odd(&command, &format!("{other}, which the mesh has not"))),
            });
            let blocks = blocks.collect::<Result<_, _>>()?;
            jobs.push(MapJob { id, blocks });
        }

        let mut faulty = Vec::new();
        let mut from = 0;
        while from < mesh.nodes() {
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
                faulty.extend(nodes.filter_map(|node| mesh.coord(NodeId(node))));
                from += 8;
            }
        }
        Ok(Snapshot { mesh, jobs, faulty })
    }

    /// The owner of every processor.
    pub fn owners(&self) -> Owners {
        let sides = self.mesh.sides();
        let (width, height) = (usize::from(sides.w), usize::from(sides.h));
        let mut owners = vec![Owner::Free; width * height];
        for (place, job) in self.jobs.iter().enumerate() {
            for block in &job.blocks {
                let (x, w) = (usize::from(block.base.x), usize::from(block.sides.w));
                let y = usize::from(block.base.y);
                for row in y..y + usize::from(block.sides.h) {
                    owners[row * width + x..][..w].fill(Owner::Job(place));
                }
            }
        }
        Owners {
            width,
            height,
            owners,
        }
    }

    /// Which processors are neither held nor faulty, in row-major order.
    fn free_nodes(&self) -> Vec<bool> {
        let owners = self.owners();
        let mut free: Vec<bool> = owners
            .owners
            .iter()
            .map(|&owner| owner == Owner::Free)
            .collect();
        for at in &self.faulty {
            free[usize::from(at.y) * owners.width + usize::from(at.x)] = false;
        }
        free
    }

    /// The number of processors that are neither held nor faulty.
    pub fn free(&self) -> usize {
        self.free_nodes().iter().filter(|&&free| free).count()
    }

    /// Processors held or faulty, as a part of all.
    pub fn busy_fraction(&self) -> f64 {
        1.0 - self.free() as f64 / f64::from(self.mesh.nodes())
    }

    /// The free submesh with the most processors; of several the first in row-major order of their highest
    /// rows. `None` if nothing is free.
    ///
    /// # Time complexity
    ///
    /// O(processors): for each row, the largest rectangle under the histogram of free processors below it.
    pub fn largest_free(&self) -> Option<Submesh> {
        let free = self.free_nodes();
        let width = usize::from(self.mesh.sides().w);
        let mut heights = vec![0usize; width];
        let mut best: Option<(usize, Submesh)> = None;
        for (y, row) in free.chunks_exact(width).enumerate() {
            for (height, &free) in heights.iter_mut().zip(row) {
                *height = if free { *height + 1 } else { 0 };
            }
            // Columns where a rectangle begins, with its height; heights rise.
            let mut open: Vec<(usize, usize)> = Vec::new();
            for x in 0..=width {
                let height = heights.get(x).copied().unwrap_or(0);
                let mut begin = x;
                while let Some(&(start, tall)) = open.last().filter(|(_, tall)| *tall >= height) {
                    open.pop();
                    begin = start;
                    let area = tall * (x - start);
                    if area > best.map_or(0, |(most, _)| most) {
                        let [x0, y0, w, h] =
                            [start, y + 1 - tall, x - start, tall].map(|side| side as u16);
                        best = Some((area, Submesh::new(x0, y0, w, h)));
                    }
                }
                open.push((begin, height));
            }
        }
        best.map(|(_, submesh)| submesh)
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
