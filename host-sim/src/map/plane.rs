//! One plane of a machine of more than two dimensions.

use meshalloc::{Block, Grid, NodeId};

use super::snapshot::{MapJob, Snapshot};
use meshalloc_sim::layout::Plan;

/// Whether a block of this start and extent has a coordinate, on a side that it may go around.
fn has(start: u16, extent: u16, side: u16, at: u16) -> bool {
    let [start, extent, side, at] = [start, extent, side, at].map(u32::from);
    (at + side - start) % side < extent
}

impl Snapshot {
    /// The number of planes of the first two dimensions.
    pub fn planes(&self) -> usize {
        let sides = self.plan.machine.sides().iter().skip(2);
        sides.map(|&side| usize::from(side)).product()
    }

    /// The plane of this number. Planes next to each other in dimension 2 have consecutive numbers.
    /// The snapshot has all jobs, in the same order; jobs on other planes have no blocks.
    pub fn plane(&self, number: usize) -> Snapshot {
        let machine = &self.plan.machine;
        let sides = machine.sides();
        let flat = sides.len().min(2);
        let wraps = (0..flat).filter(|&dimension| machine.wraps(dimension));
        let wraps = wraps.fold(0, |wraps, dimension| wraps | 1 << dimension);
        let plane = Grid::new(&sides[..flat], wraps).unwrap_or(*machine);
        let mut rest = number;
        let at = sides[flat..].iter().map(|&side| {
            let at = rest % usize::from(side);
            rest /= usize::from(side);
            at as u16
        });
        let at: Vec<u16> = at.collect();
        let of_plane = |block: &Block| {
            let (start, extent) = (machine.start(*block), machine.extent(*block));
            let mut further = (flat..sides.len()).zip(&at);
            let is_here = further.all(|(d, &at)| has(start[d], extent[d], sides[d], at));
            is_here.then(|| plane.block(&start[..flat], &extent[..flat]))?
        };
        let jobs = self.jobs.iter().map(|job| MapJob {
            id: job.id,
            blocks: job.blocks.iter().filter_map(of_plane).collect(),
        });
        let faulty = |&node: &NodeId| {
            let coordinates = machine.coordinates(node)?;
            (coordinates[flat..] == *at).then(|| plane.node(&coordinates[..flat]))?
        };
        Snapshot {
            plan: Plan::from(plane),
            jobs: jobs.collect(),
            waiting: self.waiting,
            faulty: self.faulty.iter().filter_map(faulty).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use meshalloc::JobId;

    use super::*;
    use meshalloc_sim::layout::{Layout, ONE_ROW};

    #[test]
    fn a_plane_has_the_owners_of_its_processors() {
        let machine = Grid::torus(&[3, 4, 2, 3]).unwrap();
        let block = |start: &[u16], extent: &[u16]| machine.block(start, extent).unwrap();
        let whole = Snapshot {
            plan: machine.into(),
            jobs: vec![
                MapJob {
                    id: JobId(4),
                    // Around all sides.
                    blocks: vec![block(&[2, 3, 1, 2], &[2, 2, 2, 2])],
                },
                MapJob {
                    id: JobId(5),
                    blocks: vec![
                        block(&[1, 1, 0, 1], &[1, 2, 1, 1]),
                        block(&[0, 2, 1, 0], &[1, 1, 1, 1]),
                    ],
                },
            ],
            waiting: 0,
            faulty: vec![NodeId(7), NodeId(40)],
        };
        assert_eq!(whole.planes(), 6);
        let all = Layout::new(machine, ONE_ROW, 1);
        let owners = whole.owners(&all);
        for number in 0..whole.planes() {
            let plane = whole.plane(number);
            let layout = Layout::new(plane.plan, ONE_ROW, 1);
            let of_plane = plane.owners(&layout);
            for (x, y) in (0..3).flat_map(|x| (0..4).map(move |y| (x, y))) {
                let at = [x, y, number as u16 % 2, number as u16 / 2];
                let (column, row) = all.place(machine.node(&at).unwrap());
                let (x, y) = (usize::from(x), usize::from(y));
                assert_eq!(of_plane.get(x, y), owners.get(column, row), "{at:?}");
                assert_eq!(
                    of_plane.is_faulty(x, y),
                    owners.is_faulty(column, row),
                    "{at:?}"
                );
            }
        }
    }
}
