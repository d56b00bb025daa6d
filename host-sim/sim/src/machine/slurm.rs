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
use std::ops::Range;
use std::slice;

use meshalloc::{Description, Grid, Hole, Placement};

use super::yaml::{Events, Node};
use super::{Wrong, hostlist};
use crate::wording::counted;

/// The first torus of this name, or the first one, with its name.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<(Option<String>, Description), Wrong> {
    let events = Events::of(text)?;
    let root = events.root()?;
    let topologies = if root.get("torus3d").is_ok() {
        slice::from_ref(&root)
    } else {
        root.list()?
    };
    let mut machines: Vec<(&str, Description)> = Vec::new();
    for topology in topologies {
        let Some(torus3d) = topology.get("torus3d")? else {
            continue;
        };
        torus3d.only(&["toruses"])?;
        // Each topology has names and nodes of its own.
        let (first, mut hosts) = (machines.len(), BTreeSet::new());
        for torus in torus3d.need("toruses")?.list()? {
            torus.only(&["name", "dims", "nodes", "regions", "placements"])?;
            let name = torus.need("name")?.text()?;
            let machine = machine(torus, &mut hosts).map_err(|Wrong { line, reason }| Wrong {
                line,
                reason: format!("torus {name:?}: {reason}"),
            })?;
            if machines[first..].iter().any(|(other, _)| *other == name) {
                return torus.wrong(format!("two toruses have the name {name:?}"));
            }
            machines.push((name, machine));
        }
    }
    let names: Vec<_> = machines.iter().map(|&(name, _)| name).collect();
    let known = names.join(", ");
    let is_wanted = |(torus, _): &(&str, Description)| name.is_none_or(|name| *torus == name);
    if let Some((name, machine)) = machines.into_iter().find(is_wanted) {
        return Ok((Some(name.to_owned()), machine));
    }
    let reason = match (name, &*known) {
        (_, "") => "no torus (expected torus3d with a list of toruses)".to_owned(),
        (name, known) => {
            let name = name.unwrap_or_default();
            format!("no torus of the name {name:?} (expected one of {known})")
        }
    };
    Err(Wrong { line: None, reason })
}

/// The machine of a torus. Its nodes are added to those of the other tori.
fn machine(torus: &Node, hosts: &mut BTreeSet<String>) -> Result<Description, Wrong> {
    let dims = torus.need("dims")?;
    let sides = numbers(Some(dims))?;
    let grid = Grid::torus(&sides).or_else(|error| dims.wrong(error))?;
    let mut machine = Description::new(grid).or_else(|error| dims.wrong(error))?;
    let regions = list(torus, "regions")?;
    match (torus.get("nodes")?, regions) {
        (Some(nodes), []) => add(nodes, sides, hosts)?,
        (Some(nodes), _) => return nodes.wrong("regions as well (expected one of them)"),
        (None, []) => return torus.wrong("no place has a node (expected `nodes` or `regions`)"),
        (None, [first, ..]) => {
            let mut boxes = Vec::new();
            for of in regions {
                boxes.push(region(of, sides, &boxes, hosts)?);
            }
            let absent = machine.with_absent(&holes(sides, &boxes));
            machine = absent.or_else(|error| first.wrong(format!("regions: {error}")))?;
        }
    }
    let places = list(torus, "placements")?.iter();
    let places: Result<Vec<_>, _> = places.map(|place| placement(place, sides)).collect();
    let machine = machine.with_placements(&places?);
    machine.or_else(|error| torus.wrong(format!("placements: {error}")))
}

/// The items of a key, none if it is missing.
fn list<'a>(node: &'a Node, key: &str) -> Result<&'a [Node<'a>], Wrong> {
    node.get(key)?.map_or(Ok(&[]), Node::list)
}

/// A number for each dimension; 0 where none is given.
fn numbers(node: Option<&Node>) -> Result<[u16; 3], Wrong> {
    let Some(node) = node else { return Ok([0; 3]) };
    let number = |key| node.get(key)?.map_or(Ok(0), Node::number);
    node.only(&["x", "y", "z"])?;
    Ok([number("x")?, number("y")?, number("z")?])
}

fn placement(place: &Node, torus: [u16; 3]) -> Result<Placement, Wrong> {
    place.only(&["dims", "anchor_seed", "anchor_spacing"])?;
    let dims = numbers(Some(place.need("dims")?))?;
    let seed = numbers(place.get("anchor_seed")?)?;
    let spacing = numbers(place.get("anchor_spacing")?)?;
    let any = |of: [u16; 3], holds: fn(u16, u16) -> bool| (0..3).any(|at| holds(of[at], torus[at]));
    let (what, of, expected) = if any(dims, |dims, of| dims > of) {
        ("dims", dims, "at most those of the torus")
    } else if any(seed, |seed, of| seed >= of) {
        ("anchor_seed", seed, "a place in the torus")
    // Slurm takes the sides only if all three are 0.
    } else if spacing != [0; 3] && any(spacing, |spacing, of| spacing == 0 || spacing > of) {
        let expected = "none, or all of x, y and z, from 1 to those of the torus";
        ("anchor_spacing", spacing, expected)
    } else {
        let placement = Placement::new(&dims, &seed, &spacing);
        return placement.or_else(|error| place.wrong(format!("placements: {error}")));
    };
    let (of, torus) = (shown(of), shown(torus));
    place.wrong(format!(
        "placements: {what} {of} (expected {expected}, {torus})"
    ))
}

fn shown([x, y, z]: [u16; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// The extent of a region along each dimension.
type Extents = [Range<u16>; 3];

/// The extents of a region, whose nodes are added to those of the others.
fn region(
    node: &Node,
    torus: [u16; 3],
    others: &[Extents],
    hosts: &mut BTreeSet<String>,
) -> Result<Extents, Wrong> {
    node.only(&["anchor", "dims", "nodes"])?;
    let anchor = numbers(node.get("anchor")?)?;
    let dims = numbers(Some(node.need("dims")?))?;
    let wrong = |reason: &str| {
        let (dims, anchor) = (shown(dims), shown(anchor));
        node.wrong(format!("regions: {dims} at {anchor}{reason}"))
    };
    let is_inside = |at: usize| dims[at] > 0 && dims[at] <= torus[at].saturating_sub(anchor[at]);
    if !(0..3).all(is_inside) {
        let torus = shown(torus);
        return wrong(&format!(" (expected a box within the torus, {torus})"));
    }
    let extents = [0, 1, 2].map(|at| anchor[at]..anchor[at] + dims[at]);
    let overlaps = |other: &Extents| {
        let mut both = extents.iter().zip(other);
        both.all(|(own, of)| own.start < of.end && of.start < own.end)
    };
    if others.iter().any(overlaps) {
        return wrong(" overlaps another region");
    }
    add(node.need("nodes")?, dims, hosts)?;
    Ok(extents)
}

/// Adds the nodes of a box to those of the other boxes. Each node is at one place.
fn add(nodes: &Node, sides: [u16; 3], hosts: &mut BTreeSet<String>) -> Result<(), Wrong> {
    let text = nodes.text()?;
    let count = sides.map(u64::from).iter().product();
    let names = hostlist::names(text, count);
    let names = names.or_else(|reason| nodes.wrong(format!("{text:?}: {reason}")))?;
    if names.len() as u64 != count {
        return nodes.wrong(format!(
            "{text:?}: {} (expected {count}, one for each place of {})",
            counted(names.len(), "node"),
            shown(sides)
        ));
    }
    match names.into_iter().find(|name| !hosts.insert(name.clone())) {
        Some(name) => nodes.wrong(format!("node {name} is at two places")),
        None => Ok(()),
    }
}

/// The places of a torus that are in no region, as boxes: each grows along x, then y, then z.
fn holes([x, y, z]: [u16; 3], regions: &[Extents]) -> Vec<Hole> {
    let mut rest: BTreeSet<[u16; 3]> = boxed([0; 3], [z, y, x]).collect();
    for [along_x, along_y, along_z] in regions {
        rest.retain(|[z, y, x]| {
            !(along_x.contains(x) && along_y.contains(y) && along_z.contains(z))
        });
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
