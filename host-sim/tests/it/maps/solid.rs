//! Maps of three dimensions: planes in several rows, and cubes.

use meshalloc::{Block, Grid, JobId, Tuple};
use meshalloc_host_sim::map::{MapJob, Snapshot};
use meshalloc_sim::layout::Plan;

use super::*;

/// A job by its number, and its blocks by their starts and extents.
type Blocks<'b> = (u32, &'b [([u16; 3], [u16; 3])]);

fn solid(machine: Grid, cube: Option<&[u16]>, jobs: &[Blocks<'_>], faulty: &[[u16; 3]]) -> Map {
    let block =
        |(start, extent): &([u16; 3], [u16; 3])| -> Block { machine.block(start, extent).unwrap() };
    let jobs = jobs.iter().map(|(id, blocks)| MapJob {
        id: JobId(*id),
        blocks: blocks.iter().map(block).collect(),
    });
    let snapshot = Snapshot {
        plan: Plan {
            machine,
            cube: cube.map(|cube| Tuple::from_slice(cube).unwrap()),
        },
        waiting: 1,
        jobs: jobs.collect(),
        faulty: faulty.iter().map(|at| machine.node(at).unwrap()).collect(),
    };
    Map {
        snapshot,
        ..small()
    }
}

/// Job 1 wraps around in x, job 2 in y, job 3 goes around the whole machine in z.
fn torus() -> Map {
    let jobs: [Blocks<'_>; 3] = [
        (1, &[([6, 1, 0], [4, 2, 2])]),
        (2, &[([3, 4, 3], [2, 3, 1])]),
        (3, &[([3, 3, 0], [2, 1, 5])]),
    ];
    solid(Grid::torus(&[8, 6, 5]).unwrap(), None, &jobs, &[[0, 0, 4]])
}

/// 2 x 2 x 2 cubes of 4 x 4 x 4: job 1 has two whole cubes next to each other and job 2 two that
/// are not, job 3 two planes of cubes 2 and 5 at the same offset.
fn cubes() -> Map {
    let jobs: [Blocks<'_>; 4] = [
        (1, &[([0, 0, 0], [4, 4, 4]), ([4, 0, 0], [4, 4, 4])]),
        (2, &[([4, 4, 0], [4, 4, 4]), ([0, 0, 4], [4, 4, 4])]),
        (3, &[([0, 4, 2], [4, 4, 2]), ([4, 0, 6], [4, 4, 2])]),
        (4, &[([1, 4, 0], [2, 2, 1])]),
    ];
    let machine = Grid::torus(&[8, 8, 8]).unwrap();
    solid(machine, Some(&[4, 4, 4]), &jobs, &[[7, 7, 7]])
}

const NARROW: Look = Look {
    columns: 36,
    colours: false,
};

#[test]
fn planes_in_several_rows() {
    assert_golden("torus.txt", &drawn(&[torus()], NARROW));
}

#[test]
fn cubes_are_a_grid_of_grids() {
    let look = Look {
        columns: 80,
        colours: false,
    };
    assert_golden("cubes.txt", &drawn(&[cubes()], look));
    // Two maps of cubes fit beside each other, those of planes of 16 x 16 as well.
    let pod = solid(Grid::torus(&[16, 16, 16]).unwrap(), None, &[], &[]);
    let text = drawn(&[pod.clone(), pod], look);
    assert!(
        text.contains("│z = 14           z = 15          │"),
        "{text}"
    );
    // Where there is no room for two at full size, they are one below the other.
    let pod = solid(
        Grid::torus(&[16, 16, 16]).unwrap(),
        Some(&[4, 4, 4]),
        &[],
        &[],
    );
    let text = drawn(&[pod.clone(), pod], look);
    assert!(
        text.contains("│cube 60    cube 61    cube 62    cube 63  │"),
        "{text}"
    );
    assert!(!text.contains("what most of"), "{text}");
}

#[test]
fn pictures_of_three_dimensions_are_as_they_were() {
    for (map, name) in [(torus(), "torus.svg"), (cubes(), "cubes.svg")] {
        assert_golden(name, &svg::svg(&[map], "").unwrap());
    }
}

/// Compares with a file beside this one, or writes it.
pub(super) fn assert_golden(name: &str, text: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/maps/");
    let path = format!("{folder}{name}");
    if std::env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap(), "{name}");
}
