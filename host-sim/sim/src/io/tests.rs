use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

fn mesh(w: u16, h: u16) -> Grid {
    Grid::mesh(&[w, h]).unwrap()
}

const SIDES: [IoSide; 4] = [IoSide::Left, IoSide::Right, IoSide::Top, IoSide::Bottom];

/// The number of messages over each link, which is the two nodes at its ends.
type Links = BTreeMap<[(i32, i32); 2], f64>;

/// Loads by sending the messages one by one. Nodes are <x, y> with the processors at their own
/// coordinates, so I/O nodes may be at -1.
#[derive(Default)]
struct Walk {
    links: Links,
}

impl Walk {
    fn send(&mut self, from: (i32, i32), to: (i32, i32)) {
        let mut at = from;
        while at != to {
            let next = if at.0 == to.0 {
                (at.0, at.1 + (to.1 - at.1).signum())
            } else {
                (at.0 + (to.0 - at.0).signum(), at.1)
            };
            *self.links.entry([at, next]).or_default() += 1.0;
            at = next;
        }
    }
}

fn io_nodes(w: i32, h: i32, side: IoSide) -> Vec<(i32, i32)> {
    match side {
        IoSide::Left => (0..h).map(|y| (-1, y)).collect(),
        IoSide::Right => (0..h).map(|y| (w, y)).collect(),
        IoSide::Top => (0..w).map(|x| (x, h)).collect(),
        IoSide::Bottom => (0..w).map(|x| (x, -1)).collect(),
    }
}

/// A load list with the ends of links in place of their numbers, and the disks' loads.
fn named(mesh: &IoMesh, loads: &[Load]) -> (Links, Vec<f64>) {
    let (mut links, mut disks) = (BTreeMap::new(), Vec::new());
    for load in loads {
        let resource = load.resource as usize;
        if resource >= 4 * mesh.w * mesh.h {
            disks.push(load.amount);
            continue;
        }
        let (node, direction) = (resource / 4, resource % 4);
        let x = (node % mesh.w) as i32 - mesh.origin.0 as i32;
        let y = (node / mesh.w) as i32 - mesh.origin.1 as i32;
        let to = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)][direction];
        links.insert([(x, y), to], load.amount);
    }
    (links, disks)
}

/// Some processors by their numbers and by their places, in row-major order.
fn drawn(rng: &mut ChaCha8Rng, w: u16, h: u16) -> (Vec<NodeId>, Vec<(i32, i32)>) {
    let one_in = 1 + rng.next_u32() % 6;
    let nodes = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
    let nodes: Vec<_> = nodes
        .filter(|_| rng.next_u32().is_multiple_of(one_in))
        .collect();
    let number = |&(x, y): &(u16, u16)| NodeId(u32::from(y) * u32::from(w) + u32::from(x));
    let wide = |&(x, y): &(u16, u16)| (i32::from(x), i32::from(y));
    (
        nodes.iter().map(number).collect(),
        nodes.iter().map(wide).collect(),
    )
}

#[test]
fn counting_gives_what_sending_every_message_gives() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..60 {
        let (w, h) = [(16, 16), (5, 9), (1, 7), (8, 1), (12, 3)][round % 5];
        for side in SIDES {
            let io_mesh = IoMesh::new(mesh(w, h), side).unwrap();
            let (processors, job) = drawn(&mut rng, w, h);
            let cells = io_mesh.cells(&processors);
            let io_nodes = io_nodes(w.into(), h.into(), side);
            let pairs = |from: &[(i32, i32)], to: &[(i32, i32)]| {
                let mut walk = Walk::default();
                for &from in from {
                    to.iter().for_each(|&to| walk.send(from, to));
                }
                walk.links
            };
            let disks = vec![job.len() as f64; io_nodes.len()];
            let what = format!("{w} x {h}, I/O nodes {side:?}, {job:?}");
            let found = named(&io_mesh, &io_mesh.all_to_all(&cells));
            assert_eq!(found, (pairs(&job, &job), Vec::new()), "{what}");
            let found = named(&io_mesh, &io_mesh.io(&cells, Direction::Write));
            assert_eq!(found, (pairs(&job, &io_nodes), disks.clone()), "{what}");
            let found = named(&io_mesh, &io_mesh.io(&cells, Direction::Read));
            assert_eq!(found, (pairs(&io_nodes, &job), disks), "{what}");

            let to: Vec<u32> = job
                .iter()
                .map(|_| rng.next_u32() % job.len() as u32)
                .collect();
            let mut walk = Walk::default();
            for (&from, &to) in job.iter().zip(&to) {
                walk.send(from, job[to as usize]);
            }
            let found = named(&io_mesh, &io_mesh.pairs(&cells, &to));
            assert_eq!(found, (walk.links, Vec::new()), "{what}");
        }
    }
}

#[test]
fn resources_have_the_capacity_of_links_and_disks() {
    for side in SIDES {
        let io_mesh = IoMesh::new(mesh(6, 4), side).unwrap();
        let bandwidths = Bandwidths {
            link: 8.0,
            disk: 2.0,
        };
        let capacities = io_mesh.capacities(bandwidths);
        let job = io_mesh.cells(&[7, 8, 9, 13, 14, 15].map(NodeId));
        let loads = io_mesh.io(&job, Direction::Write);
        let (links, disks) = named(&io_mesh, &loads);
        let of = |load: &Load| capacities[load.resource as usize];
        let (link_part, disk_part) = loads.split_at(links.len());
        assert!(link_part.iter().all(|load| of(load) == 8.0), "{side:?}");
        assert!(disk_part.iter().all(|load| of(load) == 2.0), "{side:?}");
        let expected = match side {
            IoSide::Left | IoSide::Right => 4,
            IoSide::Top | IoSide::Bottom => 6,
        };
        assert_eq!(
            (disks.len(), capacities.len()),
            (expected, 4 * (24 + expected) + expected)
        );
    }
}

#[test]
fn only_two_dimensional_meshes_have_sides() {
    for other in [
        Grid::torus(&[4, 4]).unwrap(),
        Grid::mesh(&[4, 4, 4]).unwrap(),
        Grid::new(&[4, 4], 0b10).unwrap(),
    ] {
        let error = IoMesh::new(other, IoSide::Left).unwrap_err().to_string();
        assert!(error.contains("expected a two-dimensional mesh"), "{error}");
    }
}

#[test]
fn a_network_beside_the_longest_side_is_refused() {
    let longest = mesh(1024, 4);
    for (side, has_grid) in SIDES.into_iter().zip([false, false, true, true]) {
        let grid = IoMesh::new(longest, side).unwrap().grid();
        assert_eq!(grid.is_ok(), has_grid, "{side:?}");
    }
    let error = IoMesh::new(longest, IoSide::Left).unwrap().grid();
    assert_eq!(
        error.unwrap_err().to_string(),
        "the machine whose I/O nodes are a part of its network (`mesh` or `io`) is mesh 1024x4: \
         expected sides of at most 1024 with the I/O nodes; with them it is 1025x4"
    );
}
