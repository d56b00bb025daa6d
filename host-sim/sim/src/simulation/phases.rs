//! Jobs that communicate and then do I/O, and share links and disks.

use meshalloc::{Grid, NodeId, Ticks};

use super::execution::{Completion, EventKey, Execution, Start};
use super::placement::place;
use crate::error::SettingError;
use crate::io::{Cells, Communication, IoJobs, IoMesh};
use crate::sharing::{Load, Sharing};
use crate::workload::stream::{GAMMA, shuffled};
use crate::workload::{TimeUnit, Work};

/// Jobs that go through communication phases and then an I/O phase, on a mesh with [I/O
/// nodes](crate::io). All messages of a phase progress at one rate; the phases of all jobs that run
/// [share](Sharing) the links and disks. A job completes with its I/O phase.
///
/// Rates change when a phase begins or ends, and are constant between. Phases end at whole ticks,
/// the nearest to the exact time, so that nothing depends on how far [`Execution::complete_before`]
/// is asked to advance at a time. Consecutive phases of a job that put the same loads on the same
/// links are carried out as one phase of longer messages, which is the same.
///
/// Each phase that begins takes O(nodes of the mesh), and then a filling: [`Sharing::rates`].
#[derive(Clone, Debug)]
pub struct Phases {
    machine: Grid,
    mesh: IoMesh,
    jobs: IoJobs,
    sharing: Sharing,
    /// The running jobs in the order of their starts. Each has the same place as its user in
    /// `sharing`.
    running: Vec<Running>,
    /// The time up to which `left` is counted.
    now: Ticks,
    /// Whether the field `end` of each job is up to date.
    is_current: bool,
    /// The processor of each process of the job that starts.
    places: Vec<NodeId>,
}

#[derive(Clone, Debug)]
struct Running {
    order: u64,
    number: u32,
    draw: u32,
    cells: Cells,
    phase: Phase,
    /// The part of each message of the phase that is still to be transferred, in MB.
    left: f64,
    /// The end of the phase, if no other phase begins or ends before.
    end: Ticks,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// All communication phases, carried out as one.
    AllToAll,
    /// A communication phase, by its number from 0.
    Permutation(u32),
    Io,
}

impl Phases {
    /// Jobs of this kind, none running; an error when the machine is no two-dimensional mesh.
    pub fn new(machine: Grid, jobs: IoJobs) -> Result<Self, SettingError> {
        let mesh = IoMesh::new(machine, jobs.nodes)?;
        Ok(Phases {
            machine,
            sharing: Sharing::new(mesh.capacities(jobs.bandwidths)),
            mesh,
            jobs,
            running: Vec::new(),
            now: 0,
            is_current: true,
            places: Vec::new(),
        })
    }

    /// The loads of a phase, and the MB of each of its messages.
    fn loads(&self, cells: &Cells, draw: u32, phase: Phase) -> (Vec<Load>, f64) {
        match phase {
            Phase::AllToAll => (
                self.mesh.all_to_all(cells),
                f64::from(self.jobs.communications),
            ),
            Phase::Permutation(phase) => {
                let to = permutation(cells.count() as u32, draw, phase);
                (self.mesh.pairs(cells, &to), 1.0)
            }
            Phase::Io => (self.mesh.io(cells, self.jobs.direction), 1.0),
        }
    }

    fn first_phase(&self) -> Phase {
        match (self.jobs.communications, self.jobs.pattern) {
            (0, _) => Phase::Io,
            (_, Communication::AllToAll) => Phase::AllToAll,
            (_, Communication::Permutation) => Phase::Permutation(0),
        }
    }

    /// The phase after this one; `None` after the last.
    fn next_phase(&self, phase: Phase) -> Option<Phase> {
        match phase {
            Phase::Permutation(phase) if phase + 1 < u32::from(self.jobs.communications) => {
                Some(Phase::Permutation(phase + 1))
            }
            Phase::AllToAll | Phase::Permutation(_) => Some(Phase::Io),
            Phase::Io => None,
        }
    }

    /// Computes the end of each phase from the current rates, unless it is up to date.
    fn refresh(&mut self) {
        if std::mem::replace(&mut self.is_current, true) {
            return;
        }
        for (job, &rate) in self.running.iter_mut().zip(self.sharing.rates()) {
            job.end = self.now + TimeUnit::Second.ticks(job.left / rate);
        }
    }

    /// Counts the data that is transferred up to this time, at which a phase begins or ends.
    fn pass_to(&mut self, at: Ticks) {
        if at > self.now {
            self.refresh();
            let seconds = TimeUnit::Second.of(at - self.now);
            for (job, rate) in self.running.iter_mut().zip(self.sharing.rates()) {
                let left = job.left - rate * seconds;
                job.left = if left > 0.0 { left } else { 0.0 };
            }
            self.now = at;
        }
        self.is_current = false;
    }
}

impl Execution for Phases {
    fn time_unit(&self) -> TimeUnit {
        TimeUnit::Second
    }

    /// # Panics
    ///
    /// When the job does something else.
    fn start(&mut self, start: Start<'_>) {
        let Work::Io { draw } = start.job.work else {
            panic!("a job without I/O is executed in another way");
        };
        self.pass_to(start.at);
        let request = &start.job.request;
        place(&self.machine, request, start.blocks, &mut self.places);
        let cells = self.mesh.cells(&self.places);
        let phase = self.first_phase();
        let (loads, left) = self.loads(&cells, draw, phase);
        self.sharing.insert(loads);
        self.running.push(Running {
            order: start.order,
            number: start.number,
            draw,
            cells,
            phase,
            left,
            end: start.at,
        });
    }

    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        loop {
            self.refresh();
            let key = |job: &Running| EventKey {
                at: job.end,
                order: job.order,
            };
            let ends = self.running.iter().enumerate();
            let (key, place) = ends.map(|(place, job)| (key(job), place)).min()?;
            if key >= limit {
                return None;
            }
            self.pass_to(key.at);
            let job = &self.running[place];
            let number = job.number;
            let Some(next) = self.next_phase(job.phase) else {
                self.running.remove(place);
                self.sharing.remove(place);
                return Some(Completion::silent(key, number));
            };
            let (loads, left) = self.loads(&job.cells, job.draw, next);
            self.sharing.replace(place, loads);
            let job = &mut self.running[place];
            (job.phase, job.left) = (next, left);
        }
    }
}

/// A permutation of the numbers below `n`, each equally likely (Fisher and Yates), of `draw` alone.
pub(super) fn permutation(n: u32, draw: u32, phase: u32) -> Vec<u32> {
    let mut to: Vec<u32> = (0..n).collect();
    let mut state = (u64::from(draw) << 32) | u64::from(phase);
    for last in (1..to.len()).rev() {
        let drawn = shuffled(state);
        state = state.wrapping_add(GAMMA);
        let other = (u128::from(drawn) * (last as u128 + 1)) >> 64;
        to.swap(last, other as usize);
    }
    to
}
