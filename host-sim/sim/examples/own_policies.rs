//! A strategy and a scheduler of your own, compared with first fit under first come, first served.
//!
//! ```sh
//! cargo run -p meshalloc-sim --example own_policies
//! ```

use meshalloc::{
    Block, Draft, Grid, Mesh, Refusal, Request, ServedStrategy, Shape, Site, Strategy,
    StrategyKind, Submesh, Ticks,
};
use meshalloc_sim::backend::own::{OwnBackends, Waiting, first_come};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::{Results, RunError, Scenario, StrategyChoice};

/// Last fit on a two-dimensional mesh: the free submesh whose base node comes last in row-major
/// order. It does not turn requests.
///
/// ```text
///   y
///   1  . . b b      first a, 2 x 1, then b, 2 x 2: the last base node from which
///   0  . . b b a a  2 x 2 processors are free is <2, 0>
///      0 1 2 3 4 5  x
/// ```
#[derive(Clone, Debug)]
struct LastFit(Mesh);

impl LastFit {
    fn of(machine: Grid) -> Self {
        let sides = machine.sides();
        LastFit(Mesh::new(sides[0], sides[1]).expect("the scenario has a mesh"))
    }

    fn sides(request: &Request) -> (u16, u16) {
        let extents = request.shape.extents();
        (extents[0], extents.get(1).copied().unwrap_or(1))
    }
}

// A controller can have it.
impl ServedStrategy for LastFit {}

impl Strategy for LastFit {
    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        let (w, h) = LastFit::sides(request);
        if self.0.contains(Submesh::new(0, 0, w, h)) {
            Ok(u32::from(w) * u32::from(h))
        } else {
            Err(Refusal::NeverFits)
        }
    }

    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
        let (w, h) = LastFit::sides(request);
        let machine = self.0.sides();
        let bases = (0..=machine.h - h).rev();
        let bases = bases.flat_map(|y| (0..=machine.w - w).rev().map(move |x| (x, y)));
        let mut places = bases.map(|(x, y)| Block::from(Submesh::new(x, y, w, h)));
        let place = places.find(|&place| site.occupancy.is_free(place));
        place.map(|place| draft.push(place)).is_some()
    }
}

/// Smallest first: of the jobs that have not failed, the one with the fewest processors.
pub(crate) fn smallest_first(queue: &[Waiting], _: Ticks) -> Option<usize> {
    let open = (0..queue.len()).filter(|&place| !queue[place].has_failed);
    open.min_by_key(|&place| queue[place].request.total())
}

/// First fit, last fit, and last fit with the smallest job first, on the same jobs.
pub(crate) fn compare() -> Result<[(&'static str, Results); 3], RunError> {
    let scenario = Scenario {
        mesh: Some(Shape::sides(16, 16)),
        strategy: Some(vec![StrategyChoice::One(StrategyKind::FirstFit)]),
        load: Some(0.45),
        jobs: Some(1_000),
        ..Scenario::default()
    };
    let resolved = scenario.resolve()?;
    let own = |policy: fn(&[Waiting], Ticks) -> Option<usize>| {
        let backends = move || OwnBackends {
            strategy: LastFit::of,
            policy: move || policy,
        };
        resolved.run_on(&backends, &())
    };
    Ok([
        ("first fit", resolved.run()?),
        ("last fit", own(first_come)?),
        ("last fit, smallest first", own(smallest_first)?),
    ])
}

fn main() -> Result<(), RunError> {
    for (name, results) in compare()? {
        let waiting = results.strategies[0].metrics[Metric::WaitingDelay];
        let waiting = waiting.map(|estimate| estimate.mean);
        println!("{name}: waiting delay {waiting:.2?} s");
    }
    Ok(())
}
