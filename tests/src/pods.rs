//! Naive forms of the features of described machines: legal shapes, folding, slices in cubes, fixed
//! placements. Everything is enumerated, nothing is remembered.

use crate::grid::{Grid, Place, lists, orders};

/// All boxes of this number of nodes in some dimensions, with their sides in ascending order, the
/// most compact first: by the longest side, the sum of the sides, and in lexicographic order.
pub fn boxes(volume: u32, dimensions: usize) -> Vec<Vec<u32>> {
    let divisors: Vec<u32> = (1..=volume)
        .filter(|side| volume.is_multiple_of(*side))
        .collect();
    let mut tuples = vec![Vec::new()];
    for _ in 0..dimensions {
        let longer = |tuple: Vec<u32>| {
            let from = tuple.last().copied().unwrap_or(1);
            let sides = divisors.iter().filter(move |&&side| side >= from);
            let longer = sides.map(move |&side| [&tuple[..], &[side]].concat());
            longer.collect::<Vec<_>>()
        };
        tuples = tuples.into_iter().flat_map(longer).collect();
        tuples.retain(|tuple| volume.is_multiple_of(tuple.iter().product::<u32>()));
    }
    tuples.retain(|tuple| tuple.iter().product::<u32>() == volume);
    tuples.sort_by_key(|sides| compactness(sides));
    tuples
}

/// The order of boxes of one volume.
pub fn compactness(sides: &[u32]) -> (u32, u32, Vec<u32>) {
    let longest = sides.iter().max().copied().unwrap_or(0);
    (longest, sides.iter().sum(), sides.to_vec())
}

/// A form of a request that is tried: its sides by dimension, and the extent that is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The sides in ascending order.
    pub sides: Vec<u32>,
    /// Which extent is folded.
    pub folded: Option<usize>,
}

/// The request and every box into which one of its sides folds, in no order.
pub fn forms(named: &[u32]) -> Vec<Form> {
    let n = named.len();
    let sorted = |mut sides: Vec<u32>| {
        sides.sort_unstable();
        sides
    };
    let mut forms = vec![Form {
        sides: sorted(named.to_vec()),
        folded: None,
    }];
    let long: Vec<usize> = (0..n).filter(|&at| named[at] > 1).collect();
    let unused = n - long.len();
    if unused == 0 || !(2..=3).contains(&n) {
        return forms;
    }
    for &at in &long {
        for sides in boxes(named[at], 1 + unused) {
            if sides.iter().filter(|&&side| side > 1).count() > 1 {
                let whole = long.iter().filter(|&&other| other != at);
                let whole: Vec<u32> = whole.map(|&other| named[other]).collect();
                let form = Form {
                    sides: sorted([sides, whole].concat()),
                    folded: Some(at),
                };
                forms.push(form);
            }
        }
    }
    forms
}

/// The orders in which a form is laid along the dimensions.
pub fn laid(form: &Form, named: &[u32], may_rotate: bool, begins_as_named: bool) -> Vec<Vec<u32>> {
    let all = orders(&form.sides);
    match (form.folded, may_rotate) {
        (None, false) => vec![named.to_vec()],
        (None, true) if begins_as_named => {
            let others = all.into_iter().filter(|order| order != named);
            [named.to_vec()].into_iter().chain(others).collect()
        }
        (None | Some(_), true) => all,
        (Some(folded), false) => {
            let stays = |order: &Vec<u32>| {
                let mut both = (0..named.len()).filter(|&at| at != folded && named[at] > 1);
                both.all(|at| order[at] == named[at])
            };
            all.into_iter().filter(stays).collect()
        }
    }
}

/// The extents by dimension that `folding` tries.
pub fn folded(named: &[u32], may_rotate: bool) -> Vec<Vec<u32>> {
    let mut forms = forms(named);
    forms.sort_by_key(|form| (compactness(&form.sides), form.folded));
    let laid = |form: &Form| laid(form, named, may_rotate, true);
    forms.iter().flat_map(laid).collect()
}

/// Where slices begin on a machine with hosts: at multiples of a host's sides, or of their own
/// where those are shorter.
#[derive(Clone, Debug)]
pub struct Aligned {
    host: Vec<u32>,
    /// Whether a host is turned for a slice that may be turned.
    turns: bool,
}

impl Aligned {
    /// Hosts of these sides.
    pub fn new(host: &[u32], turns: bool) -> Self {
        Aligned {
            host: host.to_vec(),
            turns,
        }
    }

    /// A slice of these sides begins at multiples of these numbers. The function takes the first
    /// order of the host in which the slice is a part of a host or consists of hosts. It tries the
    /// host's own order first.
    pub fn steps(&self, sides: &[u32]) -> Vec<u32> {
        let is_apt = |host: &Vec<u32>| {
            let pairs: Vec<(u32, u32)> = sides.iter().copied().zip(host.iter().copied()).collect();
            let is_part = pairs.iter().all(|(side, of)| side <= of);
            is_part || pairs.iter().all(|(side, of)| side % of == 0)
        };
        let turned = if self.turns {
            orders(&self.host)
        } else {
            Vec::new()
        };
        let mut hosts = [self.host.clone()].into_iter().chain(turned);
        let host = hosts.find(is_apt).unwrap_or_else(|| self.host.clone());
        host.iter()
            .zip(sides)
            .map(|(of, side)| *of.min(side))
            .collect()
    }

    /// Whether a slice may have this place.
    pub fn allows(&self, place: &Place) -> bool {
        let steps = self.steps(&place.extent);
        place
            .start
            .iter()
            .zip(steps)
            .all(|(at, step)| at % step == 0)
    }
}

/// A machine of cubes that switches join.
#[derive(Clone, Debug)]
pub struct Cubes {
    grid: Grid,
    cube: Vec<u32>,
    aligned: Aligned,
}

impl Cubes {
    /// The grid, cut into cubes of these sides.
    pub fn new(grid: &Grid, cube: &[u32], aligned: Aligned) -> Self {
        Cubes {
            grid: grid.clone(),
            cube: cube.to_vec(),
            aligned,
        }
    }

    /// The number of cubes.
    pub fn count(&self) -> u32 {
        self.grid.nodes() / self.cube.iter().product::<u32>()
    }

    /// The first node of a cube, numbered with x fastest.
    fn origin(&self, number: u32) -> Vec<u32> {
        let mut rest = number;
        let sides = self.grid.sides().iter().zip(&self.cube);
        let place = |(side, of): (&u32, &u32)| {
            let along = side / of;
            let at = rest % along * of;
            rest /= along;
            at
        };
        sides.map(place).collect()
    }

    /// The parts of a slice: for each the dimensions that are cut, the number of cubes, and the
    /// extents in each.
    fn parts(&self, sides: &[u32]) -> Vec<(Vec<bool>, u32, Vec<u32>)> {
        let n = sides.len();
        let cuts = (0..1_u32 << n).map(|set| (0..n).map(|at| set >> at & 1 == 1).collect());
        let part = |cut: Vec<bool>| {
            let mut cubes = 1;
            let mut extents = self.cube.clone();
            for at in 0..n {
                let (whole, rest) = (sides[at] / self.cube[at], sides[at] % self.cube[at]);
                if !cut[at] {
                    cubes *= whole;
                } else if rest == 0 {
                    return None;
                } else {
                    extents[at] = rest;
                }
            }
            (cubes > 0).then_some((cut, cubes, extents))
        };
        cuts.filter_map(part).collect()
    }

    /// The cubes that a slice of these sides touches.
    pub fn touched(&self, sides: &[u32]) -> u32 {
        self.parts(sides).iter().map(|(_, cubes, _)| cubes).sum()
    }

    /// The offsets that are tried, x fastest.
    fn offsets(&self, sides: &[u32]) -> Vec<Vec<u32>> {
        let steps = self.aligned.steps(sides);
        let choices = |at: usize| {
            let (whole, rest) = (sides[at] / self.cube[at], sides[at] % self.cube[at]);
            let mut choices = match (whole, rest) {
                (_, 0) => vec![0],
                (0, rest) => (0..=self.cube[at] - rest).collect(),
                (_, rest) => vec![0, self.cube[at] - rest],
            };
            choices.retain(|offset| rest == 0 || offset % steps[at].min(rest) == 0);
            choices
        };
        let mut offsets = vec![Vec::new()];
        for at in (0..sides.len()).rev() {
            let before = |&first: &u32| {
                let longer = offsets
                    .iter()
                    .map(move |rest| [&[first], &rest[..]].concat());
                longer.collect::<Vec<_>>()
            };
            // The lowest dimension varies fastest.
            let all: Vec<Vec<u32>> = choices(at).iter().flat_map(before).collect();
            offsets = all;
        }
        let reversed = |offset: &Vec<u32>| offset.iter().rev().copied().collect::<Vec<u32>>();
        offsets.sort_by_key(reversed);
        offsets
    }

    /// The blocks of a slice of these sides, in the order in which they are named.
    fn fit(&self, sides: &[u32], is_busy: &dyn Fn(u32) -> bool) -> Option<Vec<Place>> {
        let free_in = |place: &Place| {
            let nodes = self.grid.nodes_of(place).into_iter();
            nodes.filter(|&node| !is_busy(node)).count() as u32
        };
        let whole = |number: u32| Place {
            start: self.origin(number),
            extent: self.cube.clone(),
        };
        let mut cubes: Vec<(u32, u32)> = (0..self.count())
            .map(|number| (free_in(&whole(number)), number))
            .collect();
        cubes.sort_unstable();
        let mut best: Option<(u32, Vec<Place>)> = None;
        'offsets: for offset in self.offsets(sides) {
            let (mut taken, mut places, mut left) = (Vec::new(), Vec::new(), 0);
            for (cut, mut missing, extent) in self.parts(sides) {
                for &(free, number) in &cubes {
                    let origin = self.origin(number).into_iter().zip(&cut).zip(&offset);
                    let start = origin.map(|((at, cut), by)| at + if *cut { *by } else { 0 });
                    let place = Place {
                        start: start.collect(),
                        extent: extent.clone(),
                    };
                    if missing > 0 && !taken.contains(&number) && free_in(&place) == place.size() {
                        taken.push(number);
                        left += free - place.size();
                        places.push(place);
                        missing -= 1;
                    }
                }
                if missing > 0 {
                    continue 'offsets;
                }
            }
            if best.as_ref().is_none_or(|(least, _)| left < *least) {
                best = Some((left, places));
            }
        }
        best.map(|(_, places)| places)
    }

    /// The blocks that a request gets, and the sides of its slice. `accepts` says which orders of
    /// which forms have the rings that are demanded.
    pub fn place(
        &self,
        named: &[u32],
        may_rotate: bool,
        folds: bool,
        is_busy: &dyn Fn(u32) -> bool,
        accepts: &dyn Fn(&Form, &[u32]) -> bool,
    ) -> Option<(Vec<u32>, Vec<Place>)> {
        let mut forms = forms(named);
        if !folds {
            forms.truncate(1);
        }
        forms.sort_by_key(|form| {
            let touched = self.touched(&form.sides);
            (touched, compactness(&form.sides), form.folded)
        });
        let laid = |form: Form| {
            let laid = laid(&form, named, may_rotate, false).into_iter();
            laid.map(move |sides| (form.clone(), sides))
                .collect::<Vec<_>>()
        };
        let mut tried = forms.into_iter().flat_map(laid);
        tried.find_map(|(form, sides)| {
            let places = accepts(&form, &sides).then(|| self.fit(&sides, is_busy))??;
            Some((sides, places))
        })
    }
}

/// A placement: sides, the first anchor, and the distance between anchors.
pub type Placement = (Vec<u32>, Vec<u32>, Vec<u32>);

/// The places of a placement: x outermost, z innermost.
fn anchors(grid: &Grid, (dims, seed, spacing): &Placement) -> Vec<Place> {
    let along = |at: usize| {
        let mut positions = vec![seed[at]];
        loop {
            let next = (positions[positions.len() - 1] + spacing[at]) % grid.sides()[at];
            if next == seed[at] {
                return positions;
            }
            positions.push(next);
        }
    };
    let axes: Vec<Vec<u32>> = (0..dims.len()).map(along).collect();
    let counts: Vec<u32> = axes.iter().map(|axis| axis.len() as u32).collect();
    let place = |numbers: Vec<u32>| Place {
        start: numbers
            .iter()
            .zip(&axes)
            .map(|(&number, axis)| axis[number as usize - 1])
            .collect(),
        extent: dims.clone(),
    };
    lists(&counts).into_iter().map(place).collect()
}

/// The place that Slurm's `topology/torus3d` gives to a request for `chips`.
pub fn torus3d(
    grid: &Grid,
    placements: &[Placement],
    chips: u32,
    is_busy: &dyn Fn(u32) -> bool,
) -> Option<Place> {
    let volume = |placement: &&Placement| placement.0.iter().product::<u32>();
    let is_free = |place: &Place| grid.nodes_of(place).into_iter().all(|node| !is_busy(node));
    let mut sorted: Vec<&Placement> = placements.iter().collect();
    sorted.sort_by_key(volume);
    let larger = sorted.iter().find(|placement| volume(placement) > chips);
    let cost = |place: &Place| {
        let nodes = grid.nodes_of(place);
        let meets = |of: &Place| grid.nodes_of(of).iter().any(|node| nodes.contains(node));
        let of = larger
            .map(|placement| anchors(grid, placement))
            .unwrap_or_default();
        of.iter().filter(|of| meets(of) && is_free(of)).count()
    };
    let mut best: Option<(usize, usize, Place)> = None;
    for (entry, placement) in sorted.iter().enumerate() {
        if volume(placement) != chips {
            continue;
        }
        for place in anchors(grid, placement).into_iter().filter(&is_free) {
            let cost = cost(&place);
            let replaces = match &best {
                None => true,
                Some((of, least, _)) => *of == entry && cost < *least,
            };
            if replaces {
                best = Some((entry, cost, place));
            }
        }
    }
    best.map(|(_, _, place)| place)
}

/// Whether a slice of this shape is legal on the machine of this name, as its vendor publishes it.
///
/// # Panics
///
/// When there is no such machine.
pub fn is_legal(machine: &str, sides: &[u32]) -> bool {
    let mut sorted = sides.to_vec();
    sorted.sort_unstable();
    let chips: u32 = sides.iter().product();
    let is_listed = |shapes: &[&[u32]]| shapes.contains(&&sorted[..]);
    let are_fours = || sides.iter().all(|side| side.is_multiple_of(4));
    match machine {
        "tpu-v3" => {
            let is_power = |side: &u32| side.is_power_of_two() && (4..=32).contains(side);
            sides.len() == 2 && sides.iter().all(is_power) && sorted[1] <= 2 * sorted[0]
        }
        "tpu-v4" => {
            let small: [&[u32]; 6] = [
                &[1, 1, 1],
                &[1, 1, 2],
                &[1, 2, 2],
                &[2, 2, 2],
                &[2, 2, 4],
                &[2, 4, 4],
            ];
            is_listed(&small) || are_fours() && chips <= 4096
        }
        "tpu-v5e" | "tpu-v6e" => {
            let is_power = |side: &u32| side.is_power_of_two() && *side <= 16;
            let is_one_by_two = sorted == [1, 2];
            sides.iter().all(is_power) && sorted[1] <= 2 * sorted[0] && !is_one_by_two
        }
        "tpu-v5p" => {
            let small: [&[u32]; 4] = [&[1, 2, 2], &[2, 2, 2], &[2, 2, 4], &[2, 4, 4]];
            is_listed(&small) || are_fours() && chips <= 6144
        }
        "tpu-v7x" => {
            // Never turned.
            let small = [[2, 2, 1], [2, 2, 2], [2, 2, 4], [2, 4, 4]];
            small.iter().any(|shape| sides == shape) || are_fours() && chips <= 9216
        }
        "trn2-ultra" => sides[..2] == [4, 4] && sides[2] <= 4,
        "galaxy" => sorted[0] <= 4 && sorted[1] <= 8,
        _ => panic!("no machine {machine}"),
    }
}
