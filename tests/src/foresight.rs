//! Least expected blocking, with and without estimates, by its definition: it evaluates every set
//! of departures by itself, and finds requests that fit on one flag for each node.

use std::collections::VecDeque;

use meshalloc::{StrategyKind, Ticks};

use crate::grid::{Grid, NaiveMachine, Place, orders, padded};
use crate::pods::Aligned;
use crate::strategy::Wanted;
use crate::submesh::Rect;

/// The number of latest requests that are remembered.
const RECENT: usize = 64;

/// The weights of the waiting requests, in their order.
const WAITING: [u64; 8] = [128, 90, 63, 44, 31, 22, 15, 11];

/// A request that may come.
#[derive(Clone, Debug)]
struct Expected {
    /// As named, an extent for each dimension.
    extents: Vec<u32>,
    may_rotate: bool,
}

impl Expected {
    fn of(wanted: &Wanted, grid: &Grid) -> Expected {
        Expected {
            extents: padded(&wanted.extents, grid.dimensions()).expect("a request that fits"),
            may_rotate: wanted.may_rotate,
        }
    }

    /// The orders in which its extents may be laid.
    fn orders(&self) -> Vec<Vec<u32>> {
        if self.may_rotate {
            orders(&self.extents)
        } else {
            vec![self.extents.clone()]
        }
    }
}

/// Another job that runs, or for which something is reserved.
#[derive(Clone, Debug)]
pub struct Other {
    /// The nodes it holds, or that are reserved for it.
    pub nodes: Vec<u32>,
    /// How long it is expected to run on; `None` without an estimate.
    pub left: Option<Ticks>,
}

/// The other jobs, as the strategy knows them when it places one.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// The waiting requests in order, without the one that is placed and a blocked head, each by
    /// [its first shape](crate::strategy::Strategy::expected).
    pub waiting: Vec<Wanted>,
    /// The running jobs in the order of their grants, then those whose reservations must stay free.
    pub running: Vec<Other>,
    /// Nodes that do not become free when their job leaves.
    pub never_free: Vec<u32>,
    /// How long the job that is placed is expected to run.
    pub estimate: Option<Ticks>,
}

/// A place with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub place: Place,
    /// The boundary value.
    pub contact: u32,
    /// The score.
    pub score: u64,
}

/// The strategy with everything that it remembers.
#[derive(Clone, Debug)]
pub struct Foresight {
    grid: Grid,
    by_ends: bool,
    budget: usize,
    recent: VecDeque<Expected>,
    outlook: Outlook,
    /// Where slices may begin.
    pub aligned: Option<Aligned>,
}

impl Foresight {
    /// For a grid; `None` if the strategy is another one.
    pub fn new(kind: StrategyKind, grid: &Grid) -> Option<Self> {
        let (by_ends, budget) = match kind {
            StrategyKind::LeastExpectedBlocking { budget } => (false, budget),
            StrategyKind::LebEstimates { budget } => (true, budget),
            _ => return None,
        };
        // Eighths of each side in two dimensions, quarters in three: as many parts as make no more
        // than 64 requests, at least halves.
        let count = |parts: u64| parts.saturating_pow(grid.dimensions() as u32);
        let parts = (2..=64).rev().find(|&parts| count(parts) <= RECENT as u64);
        let parts = parts.unwrap_or(2) as u32;
        let first = (0..RECENT as u32).map(|i| {
            let mut rest = i;
            let part = |side: &u32| {
                let digit = rest % parts;
                rest /= parts;
                ((digit + 1) * side / parts).max(1)
            };
            Expected {
                extents: grid.sides().iter().map(part).collect(),
                may_rotate: true,
            }
        });
        Some(Foresight {
            grid: grid.clone(),
            by_ends,
            budget: budget as usize,
            recent: first.collect(),
            outlook: Outlook::default(),
            aligned: None,
        })
    }

    /// A request has arrived that would fit the machine: its first shape.
    pub fn arrived(&mut self, wanted: &Wanted) {
        self.recent.pop_front();
        self.recent.push_back(Expected::of(wanted, &self.grid));
    }

    /// Takes the jobs as they are known for the next decision.
    pub fn look(&mut self, outlook: Outlook) {
        self.outlook = outlook;
    }

    /// The nodes that are free once a place is taken and some jobs are gone.
    fn free(&self, machine: &NaiveMachine, taken: &Place, gone: &[usize]) -> Vec<bool> {
        let mut free: Vec<bool> = (0..machine.nodes()).map(|n| !machine.is_busy(n)).collect();
        for &job in gone {
            for node in &self.outlook.running[job].nodes {
                free[*node as usize] = !self.outlook.never_free.contains(node);
            }
        }
        for (at, other) in self.outlook.running.iter().enumerate() {
            if !gone.contains(&at) {
                for node in &other.nodes {
                    free[*node as usize] = false;
                }
            }
        }
        for node in self.grid.nodes_of(taken) {
            free[node as usize] = false;
        }
        free
    }

    /// The sum of the weights of the requests that fit.
    fn value(&self, free: &[bool]) -> u64 {
        let fits = self.fits(free);
        let waiting = self.outlook.waiting.iter().zip(WAITING);
        let waiting = waiting.filter(|(wanted, _)| fits(&Expected::of(wanted, &self.grid)));
        let recent = self.recent.iter().filter(|expected| fits(expected));
        waiting.map(|(_, value)| value).sum::<u64>() + recent.count() as u64
    }

    /// Says which requests fit where these nodes are free.
    fn fits(&self, free: &[bool]) -> Box<dyn Fn(&Expected) -> bool> {
        if let Some((w, h)) = self.grid.w_h() {
            let heights = heights(Rect::based_at(0, 0, w as i32, h as i32), free);
            let is_free = move |order: &Vec<u32>| {
                let height = heights.get(order[0] as usize);
                height.is_some_and(|&height| height >= order[1] as i32)
            };
            return Box::new(move |expected| expected.orders().iter().any(&is_free));
        }
        let boxes = self.grid.maximal(free);
        let is_free = move |order: &Vec<u32>| {
            let fits = |free: &Place| {
                order
                    .iter()
                    .zip(&free.extent)
                    .all(|(own, most)| own <= most)
            };
            boxes.iter().any(fits)
        };
        Box::new(move |expected| expected.orders().iter().any(&is_free))
    }

    /// The maximal free boxes of a machine.
    fn maximal(&self, machine: &NaiveMachine) -> Vec<Place> {
        match self.grid.w_h() {
            Some(_) => {
                let list = machine.scan().dominant_free_submeshes().into_iter();
                list.map(Place::from).collect()
            }
            None => self.grid.maximal(&machine.free_flags()),
        }
    }

    /// The candidates in order, with their scores if there are several.
    pub fn candidates(&self, machine: &NaiveMachine, wanted: &Wanted) -> Vec<Candidate> {
        let mut known = self.clone();
        // No more other jobs than nodes that are not free.
        let busy = machine.nodes() - machine.free();
        known.outlook.running.truncate(busy as usize);
        known.all_candidates(machine, wanted)
    }

    fn all_candidates(&self, machine: &NaiveMachine, wanted: &Wanted) -> Vec<Candidate> {
        let orders = Expected::of(wanted, &self.grid).orders();
        let mut places = Vec::new();
        for free in self.maximal(machine) {
            places.extend(
                orders
                    .iter()
                    .flat_map(|order| self.grid.corners(&free, order, self.aligned.as_ref())),
            );
        }
        // In two dimensions (y1, x1, y2, x2).
        let order = |place: &Place| {
            let [start, extent] = [&place.start, &place.extent]
                .map(|numbers| numbers.iter().rev().copied().collect::<Vec<u32>>());
            (start, extent)
        };
        places.sort_by_cached_key(order);
        places.dedup();
        let contact = |place: &Place| match self.grid.w_h() {
            Some(_) => machine.boundary_value(place.into()),
            None => machine.boundary(place),
        };
        // The sort keeps the order among those of the same contact.
        places.sort_by_cached_key(|place| std::cmp::Reverse(contact(place)));
        places.truncate(self.candidates_max().min(machine.free() as usize));
        places.sort_by_cached_key(order);
        let states = match places.len() {
            0 | 1 => Vec::new(),
            candidates => self.states(candidates),
        };
        let candidate = |place: Place| Candidate {
            contact: contact(&place),
            score: states.iter().fold(0, |score, (gone, weight)| {
                score + weight * self.value(&self.free(machine, &place, gone))
            }),
            place,
        };
        places.into_iter().map(candidate).collect()
    }

    /// The place that is chosen.
    pub fn place(&self, machine: &NaiveMachine, wanted: &Wanted) -> Option<Place> {
        Foresight::best(self.candidates(machine, wanted))
    }

    /// The place of the best candidate. If candidates are equal, the first is the best.
    pub fn best(candidates: Vec<Candidate>) -> Option<Place> {
        // If candidates are equal, `max_by_key` takes the last.
        let candidates = candidates.into_iter().rev();
        let best = candidates.max_by_key(|candidate| (candidate.score, candidate.contact));
        best.map(|candidate| candidate.place)
    }

    fn is_by_ends(&self) -> bool {
        self.by_ends && self.outlook.estimate.is_some()
    }

    /// The number of states with up to this number of departures.
    fn sets_up_to(&self, departures: usize) -> usize {
        let k = self.outlook.running.len();
        (0..=departures)
            .map(|t| choose(k as u64, t as u64) as usize)
            .sum()
    }

    fn candidates_max(&self) -> usize {
        let k = self.outlook.running.len();
        if self.is_by_ends() {
            return (self.budget / (1 + k)).max(4);
        }
        let departures = (1..=k.min(3)).rev();
        let mut departures = departures.filter(|&t| 4 * self.sets_up_to(t) <= self.budget);
        (self.budget / self.sets_up_to(departures.next().unwrap_or(1))).max(4)
    }

    /// The sets of jobs that are gone, each with its weight.
    fn states(&self, candidates: usize) -> Vec<(Vec<usize>, u64)> {
        if self.is_by_ends() {
            self.states_by_ends(candidates)
        } else {
            self.states_by_departures(candidates)
        }
    }

    fn states_by_departures(&self, candidates: usize) -> Vec<(Vec<usize>, u64)> {
        let k = self.outlook.running.len();
        let jobs = k as u64 + 1;
        let weight = |t: u64| (1 << (16 + t)) / ((jobs - t) * choose(jobs, t));
        let departures = (1..=k.min(3)).rev();
        let mut departures = departures.filter(|&t| candidates * self.sets_up_to(t) <= self.budget);
        let mut leaving: Vec<usize> = (0..k).collect();
        let departures = departures.next().unwrap_or_else(|| {
            leaving.sort_by_key(|&job| std::cmp::Reverse(self.outlook.running[job].nodes.len()));
            leaving.truncate((self.budget / candidates).saturating_sub(1));
            1
        });
        let mut states = vec![(Vec::new(), weight(0))];
        let mut sets = vec![Vec::new()];
        for t in 1..=departures {
            let longer = sets.iter().flat_map(|set: &Vec<usize>| {
                let later = leaving
                    .iter()
                    .filter(|&job| set.iter().all(|gone| gone < job));
                later.map(|&job| [&set[..], &[job]].concat())
            });
            sets = longer.collect();
            states.extend(sets.iter().map(|set| (set.clone(), weight(t as u64))));
        }
        states
    }

    fn states_by_ends(&self, candidates: usize) -> Vec<(Vec<usize>, u64)> {
        let own = self.outlook.estimate.expect("it is by ends");
        let left = |job: usize| self.outlook.running[job].left.unwrap_or(Ticks::MAX);
        let k = self.outlook.running.len();
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by_key(|&job| left(job));
        let gone: Vec<usize> = if candidates * (1 + k) <= self.budget {
            (0..=k).collect()
        } else {
            let powers = (0..).map(|power| 1 << power);
            [0].into_iter()
                .chain(powers.take_while(|&gone| gone <= k))
                .collect()
        };
        let start = |gone: usize| if gone == 0 { 0 } else { left(order[gone - 1]) };
        let ends = gone[1..].iter().map(|&gone| start(gone)).chain([own]);
        let states = gone.iter().zip(ends).map(|(&gone, end)| {
            let interval = end.min(own).saturating_sub(start(gone));
            let weight = (u128::from(interval) * 65_536 / u128::from(own)) as u64;
            (
                order[..gone].to_vec(),
                if gone == 0 { weight.max(1) } else { weight },
            )
        });
        states.collect()
    }
}

/// The number of sets of `t` out of `n`.
fn choose(n: u64, t: u64) -> u64 {
    match t {
        0 => 1,
        _ if n == 0 => 0,
        _ => choose(n - 1, t - 1) * n / t,
    }
}

/// For each width from 0 on the greatest height of a free rectangle that is as wide.
pub fn heights(whole: Rect, free: &[bool]) -> Vec<i32> {
    let (w, h) = (whole.w(), whole.h());
    let is_free = |x: i32, y: i32| free[(y * w + x) as usize];
    let mut heights = vec![0; w as usize + 1];
    heights[0] = h;
    // How many are free from a node on upwards.
    let mut up = vec![0; w as usize];
    for y in (0..h).rev() {
        for x in 0..w {
            up[x as usize] = if is_free(x, y) { up[x as usize] + 1 } else { 0 };
        }
        for x in 0..w as usize {
            let mut least = h;
            for (width, &height) in (1..).zip(&up[x..]) {
                least = least.min(height);
                heights[width] = heights[width].max(least);
            }
        }
    }
    heights
}
