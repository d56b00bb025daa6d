//! Reads the tori of the plugin `topology/torus3d` from Slurm's `topology.yaml`:
//!
//! ```yaml
//! - topology: pods
//!   torus3d:
//!     toruses:
//!       - name: pod1
//!         nodes: node[0-31]
//!         dims: { x: 4, y: 4, z: 2 }
//!         placements:
//!           - dims: { x: 2, y: 2, z: 1 }
//!           - dims: { x: 2, y: 2, z: 2 }
//!             anchor_seed: { x: 0, y: 0, z: 0 }
//!             anchor_spacing: { x: 2, y: 2, z: 2 }
//! ```
//!
//! In place of `nodes` a torus may have `regions`, each a box with nodes of its own:
//!
//! ```yaml
//!         regions:
//!           - anchor: { x: 0, y: 0, z: 0 }
//!             dims: { x: 4, y: 4, z: 2 }
//!             nodes: node[0-31]
//! ```
//!
//! Anything at which Slurm stops is an error here, in every torus of the file. Places without a
//! node are absent from the machine ([`Description::absent`]); Slurm may grant a slice that lacks
//! such places. Other topologies in the file are not read.

use std::collections::BTreeSet;
use std::fmt;

use meshalloc::{Description, Grid, Hole, Placement};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{RenderOptions, SnippetMode, Spanned};

use super::{Wrong, hostlist};
use crate::wording::counted;

struct Topologies(Vec<Topology>);

#[derive(Deserialize)]
struct Topology {
    torus3d: Option<Torus3d>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Torus3d {
    toruses: Vec<Spanned<Torus>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Torus {
    name: String,
    dims: Spanned<Numbers>,
    nodes: Option<Spanned<String>>,
    #[serde(default)]
    regions: Vec<Spanned<Region>>,
    #[serde(default)]
    placements: Vec<Spanned<Places>>,
}

/// A box of places that have nodes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Region {
    #[serde(default)]
    anchor: Numbers,
    dims: Numbers,
    nodes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    dims: Numbers,
    #[serde(default)]
    anchor_seed: Numbers,
    #[serde(default)]
    anchor_spacing: Numbers,
}

/// A number for each dimension; 0 where none is given.
#[derive(Clone, Copy, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Numbers {
    x: u16,
    y: u16,
    z: u16,
}

impl Numbers {
    const fn all(self) -> [u16; 3] {
        [self.x, self.y, self.z]
    }

    fn volume(self) -> u64 {
        self.all().map(u64::from).iter().product()
    }

    /// Whether this condition holds for the two numbers of some dimension.
    fn any(self, other: Numbers, holds: impl Fn(u16, u16) -> bool) -> bool {
        let mut both = self.all().into_iter().zip(other.all());
        both.any(|(one, other)| holds(one, other))
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.x, self.y, self.z)
    }
}

impl<'de> Deserialize<'de> for Topologies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Topologies;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of topologies")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Topologies, A::Error> {
                let mut all = Vec::new();
                while let Some(topology) = list.next_element()? {
                    all.push(topology);
                }
                Ok(Topologies(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Topologies, A::Error> {
                let only = Topology::deserialize(MapAccessDeserializer::new(map));
                Ok(Topologies(vec![only?]))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// The first torus of this name, or the first one, with its name.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<(Option<String>, Description), Wrong> {
    let topologies: Topologies = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map(|at| at.line() as usize);
        let mut options = RenderOptions::default();
        options.snippets = SnippetMode::Off;
        let reason = error.render_with_options(options);
        // The line is already shown before the reason.
        let reason = reason.split(" at line ").next().unwrap_or_default();
        let reason = reason.replace('\n', ", ");
        Wrong { line, reason }
    })?;
    let mut machines: Vec<(String, Description)> = Vec::new();
    for Torus3d { toruses } in topologies.0.into_iter().filter_map(|of| of.torus3d) {
        // Each topology has names and nodes of its own.
        let first = machines.len();
        let mut hosts = BTreeSet::new();
        for torus in &toruses {
            let Spanned {
                value: torus,
                referenced: at,
                ..
            } = torus;
            let machine = machine(torus, &mut hosts).map_err(|(line, reason)| Wrong {
                line: usize::try_from(line).ok().filter(|&line| line > 0),
                reason: format!("torus {:?}: {reason}", torus.name),
            })?;
            if machines[first..]
                .iter()
                .any(|(name, _)| *name == torus.name)
            {
                return Err(Wrong {
                    line: usize::try_from(at.line()).ok().filter(|&line| line > 0),
                    reason: format!("name: two toruses have the name {:?}", torus.name),
                });
            }
            machines.push((torus.name.clone(), machine));
        }
    }
    let names: Vec<_> = machines.iter().map(|(name, _)| name.clone()).collect();
    let is_wanted = |(torus, _): &(String, Description)| name.is_none_or(|name| torus == name);
    if let Some((name, machine)) = machines.into_iter().find(is_wanted) {
        return Ok((Some(name), machine));
    }
    let reason = match (name, &*names.join(", ")) {
        (_, "") => "no torus (expected torus3d with a list of toruses)".to_owned(),
        (name, known) => {
            let name = name.unwrap_or_default();
            format!("no torus of the name {name:?} (expected one of {known})")
        }
    };
    Err(Wrong { line: None, reason })
}

/// The machine of a torus. Its nodes are added to those of the other tori. The error is the line of
/// the wrong key, and why it is wrong.
fn machine(torus: &Torus, hosts: &mut BTreeSet<String>) -> Result<Description, (u64, String)> {
    let Spanned {
        value: dims,
        referenced,
        ..
    } = torus.dims;
    let at_dims = |error: &dyn fmt::Display| (referenced.line(), format!("dims: {error}"));
    let grid = Grid::torus(&dims.all()).map_err(|error| at_dims(&error))?;
    let machine = Description::new(grid).map_err(|error| at_dims(&error))?;
    check_nodes(torus, hosts)?;
    let holes = machine.with_absent(&holes(torus));
    let machine = holes.map_err(|error| (regions_line(torus), format!("regions: {error}")))?;
    let mut placements = Vec::new();
    for place in &torus.placements {
        let wrong = |reason: String| (place.referenced.line(), format!("placements: {reason}"));
        let Places {
            dims: sides,
            anchor_seed: seed,
            anchor_spacing: spacing,
        } = place.value;
        if sides.any(dims, |side, of| side > of) {
            let reason = format!("dims {sides} (expected at most those of the torus, {dims})");
            return Err(wrong(reason));
        }
        if seed.any(dims, |seed, of| seed >= of) {
            let reason = format!("anchor_seed {seed} (expected a place in the torus, {dims})");
            return Err(wrong(reason));
        }
        // Slurm takes the sides only if all three are 0.
        let is_given = spacing.all() != [0; 3];
        if is_given && spacing.any(dims, |spacing, of| spacing == 0 || spacing > of) {
            let reason = format!(
                "anchor_spacing {spacing} (expected all of x, y and z, from 1 to those of the \
                 torus, {dims}, or none)"
            );
            return Err(wrong(reason));
        }
        let placement = Placement::new(&sides.all(), &seed.all(), &spacing.all());
        placements.push(placement.map_err(|error| wrong(error.to_string()))?);
    }
    machine
        .with_placements(&placements)
        .map_err(|error| (referenced.line(), format!("placements: {error}")))
}

/// The places of a torus that are in no region, as boxes: each grows along x, then y, then z.
fn holes(torus: &Torus) -> Vec<Hole> {
    let [x, y, z] = torus.dims.value.all();
    let mut rest: BTreeSet<[u16; 3]> = BTreeSet::new();
    if torus.nodes.is_none() {
        let places = (0..z).flat_map(|z| (0..y).map(move |y| (y, z)));
        rest.extend(places.flat_map(|(y, z)| (0..x).map(move |x| [z, y, x])));
        for Region { anchor, dims, .. } in torus.regions.iter().map(|region| &region.value) {
            let (from, len) = (anchor.all(), dims.all());
            let is_in = |at: u16, axis: usize| (from[axis]..from[axis] + len[axis]).contains(&at);
            rest.retain(|&[z, y, x]| !(is_in(x, 0) && is_in(y, 1) && is_in(z, 2)));
        }
    }
    let mut holes = Vec::new();
    while let Some(&first) = rest.first() {
        let mut sides = [1; 3];
        for axis in [2, 1, 0] {
            loop {
                let mut more = first;
                more[axis] += sides[axis];
                // The plane of places behind the box.
                let mut plane = sides;
                plane[axis] = 1;
                if !boxed(more, plane).all(|place| rest.contains(&place)) {
                    break;
                }
                sides[axis] += 1;
            }
        }
        for place in boxed(first, sides) {
            rest.remove(&place);
        }
        let in_order = |[z, y, x]: [u16; 3]| [x, y, z];
        let hole = Hole::new(&in_order(first), &in_order(sides));
        holes.push(hole.expect("three numbers, and sides of at least 1"));
    }
    holes
}

/// The places of a box, each as z, y and x.
fn boxed([z, y, x]: [u16; 3], [d, h, w]: [u16; 3]) -> impl Iterator<Item = [u16; 3]> {
    let rows = (z..z + d).flat_map(move |z| (y..y + h).map(move |y| (z, y)));
    rows.flat_map(move |(z, y)| (x..x + w).map(move |x| [z, y, x]))
}

/// The line of the first region, or else of the sides.
fn regions_line(torus: &Torus) -> u64 {
    let first = torus.regions.first();
    first.map_or(torus.dims.referenced.line(), |region| {
        region.referenced.line()
    })
}

/// Checks that each node of a torus is at one place. The nodes are added to those of the other
/// toruses.
fn check_nodes(torus: &Torus, hosts: &mut BTreeSet<String>) -> Result<(), (u64, String)> {
    let dims = torus.dims.value;
    let mut add = |line: u64, key: &str, text: &str, places: Numbers| {
        let wrong = |reason: String| (line, format!("{key}: {reason}"));
        let names = hostlist::names(text, places.volume())
            .map_err(|reason| wrong(format!("{text:?}: {reason}")))?;
        if names.len() as u64 != places.volume() {
            return Err(wrong(format!(
                "{text:?}: {} (expected {}, one for each place of {places})",
                counted(names.len(), "node"),
                places.volume()
            )));
        }
        match names.into_iter().find(|name| !hosts.insert(name.clone())) {
            Some(name) => Err(wrong(format!("node {name} is at two places"))),
            None => Ok(()),
        }
    };
    if let Some(nodes) = &torus.nodes {
        let line = nodes.referenced.line();
        return if torus.regions.is_empty() {
            add(line, "nodes", &nodes.value, dims)
        } else {
            Err((line, "nodes and regions (expected one of them)".to_owned()))
        };
    }
    for (at, region) in torus.regions.iter().enumerate() {
        let line = region.referenced.line();
        let wrong = |reason: String| Err((line, format!("regions: {reason}")));
        let Region {
            anchor,
            dims: sides,
            ref nodes,
        } = region.value;
        let end = |from: u16, len: u16| u32::from(from) + u32::from(len);
        let axes = |of: &Region| {
            let (from, len) = (of.anchor.all(), of.dims.all());
            [0, 1, 2].map(|at| u32::from(from[at])..end(from[at], len[at]))
        };
        let own = axes(&region.value);
        let is_outside = own
            .iter()
            .zip(dims.all())
            .any(|(of, side)| of.end > side.into());
        if sides.volume() == 0 || is_outside {
            let reason = format!("{sides} at {anchor} (expected a box within the torus, {dims})");
            return wrong(reason);
        }
        let overlaps = |other: &Spanned<Region>| {
            let mut both = own.iter().zip(axes(&other.value));
            both.all(|(own, of)| own.start < of.end && of.start < own.end)
        };
        if torus.regions[..at].iter().any(overlaps) {
            return wrong(format!("{sides} at {anchor} overlaps another region"));
        }
        add(line, "regions: nodes", nodes, sides)?;
    }
    if torus.regions.is_empty() {
        let reason = "no place has a node (expected `nodes` or `regions`)";
        return Err((regions_line(torus), reason.to_owned()));
    }
    Ok(())
}
