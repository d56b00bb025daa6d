//! Which requests a strategy grants among those for which a free submesh exists, over all occupancies of a
//! mesh of a few nodes.

use std::ops::Range;

use meshalloc::{Command, Controller, Flags, JobId, Mesh, NodeId, Reply, Request, StrategyKind};

use crate::rig::{HeapMemory, configuration};

/// The most nodes a mesh may have here.
pub const NODES_MAX: u32 = 32;

/// What was found over some occupancies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognition {
    /// Pairs of an occupancy and a request for which `a x b` or `b x a` is free.
    pub recognisable: u64,
    /// How many of them were granted.
    pub granted: u64,
    /// A pair with the fewest nodes busy that was not.
    pub missed: Option<Missed>,
}

/// A request that was refused although a place was free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// A bit for each node, 1 = busy.
    pub busy: u32,
    /// The request.
    pub sides: (u16, u16),
}

impl Recognition {
    /// Whether nothing was refused in vain.
    pub const fn is_complete(&self) -> bool {
        self.recognisable == self.granted
    }

    /// The part that was granted.
    pub fn share(&self) -> f64 {
        self.granted as f64 / self.recognisable as f64
    }

    /// Adds what was found over other occupancies.
    pub fn merge(&mut self, other: &Recognition) {
        self.recognisable += other.recognisable;
        self.granted += other.granted;
        if let Some(missed) = other.missed {
            self.see_missed(missed);
        }
    }

    fn see_missed(&mut self, missed: Missed) {
        let fewer = |old: Missed| missed.busy.count_ones() < old.busy.count_ones();
        if self.missed.is_none_or(fewer) {
            self.missed = Some(missed);
        }
    }
}

/// The sets of base nodes at which submeshes are free.
struct FreeBases {
    w: u16,
    h: u16,
    /// The nodes with at least so many columns from them to the right end, from 1 on.
    with_columns: Vec<u32>,
    /// The bases of `a x b`, rows of the table for `b`, from 1 on.
    bases: Vec<u32>,
}

impl FreeBases {
    fn new(mesh: Mesh) -> Self {
        let (w, h) = (mesh.sides().w, mesh.sides().h);
        let columns = u32::from(w);
        let with_columns = (1..=columns).map(|a| {
            (0..mesh.nodes())
                .filter(|node| node % columns + a <= columns)
                .fold(0, |set, node| set | 1 << node)
        });
        FreeBases {
            w,
            h,
            with_columns: with_columns.collect(),
            bases: vec![0; usize::from(w) * usize::from(h)],
        }
    }

    /// Looks at an occupancy.
    fn look(&mut self, busy: u32) {
        let columns = usize::from(self.w);
        // A node from which `a` free ones go to the right; what is shifted in from outside is not free.
        let mut run = u32::MAX;
        for (a, fits) in self.with_columns.iter().enumerate() {
            run &= (!busy & self.with_columns[0]) >> a;
            let mut stack = run & fits;
            for (b, row) in self.bases.chunks_exact_mut(columns).enumerate() {
                stack &= run >> (columns * b);
                row[a] = stack;
            }
        }
    }

    fn any(&self, a: u16, b: u16) -> bool {
        let at = usize::from(b - 1) * usize::from(self.w) + usize::from(a - 1);
        a <= self.w && b <= self.h && self.bases[at] != 0
    }
}

/// The number of occupancies of a mesh.
pub const fn occupancies(mesh: Mesh) -> u64 {
    1 << mesh.nodes()
}

/// Asks a strategy for everything that could be granted, at each of these occupancies in the order of a
/// Gray code: each is made from the one before by one fault or repair.
///
/// Requests are all `(a, b)` with sides up to the mesh's longer one.
///
/// # Panics
///
/// When the strategy does not serve the mesh, the mesh has too many nodes, or a submesh is granted that
/// is not free.
pub fn measure(strategy: StrategyKind, mesh: Mesh, steps: Range<u64>) -> Recognition {
    assert!(mesh.nodes() <= NODES_MAX, "{mesh} has too many nodes");
    let mut memory = HeapMemory::new(mesh, 1);
    let configuration = configuration(mesh, strategy);
    let mut controller =
        Controller::new(memory.memory(), configuration).expect("it serves the mesh");
    let gray = |step: u64| (step ^ step >> 1) as u32;
    let mut busy = 0;
    let mut found = Recognition::default();
    let mut bases = FreeBases::new(mesh);
    let longest = mesh.sides().w.max(mesh.sides().h);
    for step in steps {
        let next = gray(step);
        for node in (0..mesh.nodes()).filter(|node| (busy ^ next) >> node & 1 == 1) {
            set_faulty(&mut controller, node, next >> node & 1 == 1);
        }
        busy = next;
        bases.look(busy);
        for (a, b) in (1..=longest).flat_map(|b| (1..=longest).map(move |a| (a, b))) {
            if !bases.any(a, b) && !bases.any(b, a) {
                continue;
            }
            found.recognisable += 1;
            match is_granted(&mut controller, a, b) {
                true => found.granted += 1,
                false => found.see_missed(Missed {
                    busy,
                    sides: (a, b),
                }),
            }
        }
    }
    found
}

fn set_faulty(controller: &mut Controller<'_>, node: u32, faulty: bool) {
    let node = NodeId(node);
    let command = match faulty {
        true => Command::MarkFaulty { node },
        false => Command::ClearFaulty { node },
    };
    controller.handle(&command, 0, &mut |reply| {
        assert!(matches!(reply, Reply::Fault { changed: true, .. }));
    });
}

/// Whether the request is granted now; what is granted is given back.
fn is_granted(controller: &mut Controller<'_>, a: u16, b: u16) -> bool {
    const JOB: JobId = JobId(1);
    let request = Request::submesh(a, b).with_flags(Flags::NO_WAIT);
    let mut granted = false;
    controller.handle(&Command::Submit { job: JOB, request }, 0, &mut |reply| {
        granted |= matches!(reply, Reply::Submitted { .. });
    });
    if granted {
        controller.handle(&Command::Release { job: JOB }, 0, &mut |reply| {
            assert!(matches!(reply, Reply::Released { .. }));
        });
    }
    granted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{NaiveMesh, Rect};

    #[test]
    fn free_bases_are_those_of_the_flags() {
        let mut bases = FreeBases::new(Mesh::new(4, 3).unwrap());
        for busy in 0..1 << 12 {
            let mut picture = NaiveMesh::new(4, 3);
            for (node, (x, y)) in (0..).zip(picture.whole().nodes()) {
                picture.set(x, y, busy >> node & 1 == 1);
            }
            bases.look(busy);
            for (a, b) in [
                (1, 1),
                (2, 1),
                (4, 1),
                (1, 3),
                (3, 2),
                (2, 3),
                (4, 3),
                (3, 4),
            ] {
                let mut places = picture.whole().nodes();
                let any = places.any(|(x, y)| picture.is_free(Rect::based_at(x, y, a, b)));
                assert_eq!(
                    bases.any(a as u16, b as u16),
                    any,
                    "{a} x {b} in\n{picture}"
                );
            }
        }
    }
}
