use meshalloc::{Block, Change, Cube, Grid, JobId, NodeId, Shape, Tuple};

use super::*;

/// A block by its start and extents, in the order in which coordinates are written.
fn block(machine: Grid, start: &[u16], extents: &[u16]) -> Block {
    let numbers = |numbers| machine.written(Tuple::from_slice(numbers).unwrap());
    machine.block(&numbers(start), &numbers(extents)).unwrap()
}

/// With jobs by their starts and extents, and faulty nodes by their addresses.
fn cube(k: u16, n: u8, jobs: &[(u32, &[u16], &[u16])], faulty: &[&[u16]]) -> Map {
    let cube = Cube::new(k, n).unwrap();
    let machine = cube.grid();
    let jobs = jobs.iter().map(|&(id, start, extents)| MapJob {
        id: JobId(id),
        blocks: vec![block(machine, start, extents)],
    });
    let mut faulty: Vec<NodeId> = faulty
        .iter()
        .map(|address| cube.node(address).unwrap())
        .collect();
    faulty.sort_unstable();
    Map {
        strategy: StrategyKind::TreeCollapsing,
        at: Some(7_250_000),
        unit: TimeUnit::Second,
        snapshot: Snapshot {
            waiting: 2,
            plan: machine.into(),
            jobs: jobs.collect(),
            faulty,
        },
    }
}

/// Job 2 wraps around in dimension 0, job 3 in dimensions 1 and 2; job 1 is the paper's 4 x 2 mesh.
fn four_three() -> Map {
    let jobs: [(u32, &[u16], &[u16]); 4] = [
        (1, &[0, 0, 0], &[1, 4, 2]),
        (2, &[1, 1, 3], &[2, 2, 2]),
        (3, &[3, 3, 2], &[2, 2, 1]),
        (4, &[3, 2, 0], &[1, 1, 1]),
    ];
    cube(4, 3, &jobs, &[&[3, 3, 3], &[0, 1, 1]])
}

const LETTERS: Look = Look {
    columns: 80,
    colours: false,
};

#[test]
fn planes_beside_each_other() {
    let expected = "\
tree-collapsing
7.2 s: 4 running, 2 waiting
34.4 % busy, 42 free, 2 faulty
largest free subcube: 2x4x2
    ┌───────────────────┐
A[2]│0    1    2    3   │
    │bbd. .... .... ..dx│
    │bb.. c..c c..c e...│
    │bx.. c..c c..c ....│
  0 ┤bbd. .... .... ..d.│
    └┬────┬────┬────┬───┘
A[0] 0123 0123 0123 0123

. free, x faulty; jobs that touch have different letters
above each plane: A[2]; A[0] to the right, A[1] upwards
";
    assert_eq!(drawn(&[four_three()], LETTERS), expected);
}

#[test]
fn a_hypercube_is_planes_of_planes() {
    let jobs: [(u32, &[u16], &[u16]); 2] = [
        (1, &[0, 1, 0, 0, 0, 0], &[1, 1, 2, 1, 1, 2]),
        (2, &[0, 0, 0, 0, 1, 1], &[2, 1, 1, 2, 1, 1]),
    ];
    let expected = "\
    ┌────────────┐
    │.. ..  .. ..│
110 ┤.. ..  .. ..│
    │            │
    │.c .c  .. ..│
100 ┤.. ..  .. ..│
    │            │
    │            │
    │.. ..  .. ..│
010 ┤.. ..  bb ..│
    │            │
    │.c .c  .. ..│
000 ┤.. ..  bb .x│
    └┬──┬───┬──┬─┘
A[0] 01 01  01 01
A[2] 0  1   0  1
A[4] 0      1
";
    let map = cube(2, 6, &jobs, &[&[0, 1, 0, 1, 0, 1]]);
    let text = drawn(std::slice::from_ref(&map), LETTERS);
    assert!(text.contains(expected), "{text}");
    // With colours two rows share a line, but no line has rows of two planes.
    let colours = Look {
        colours: true,
        ..LETTERS
    };
    let text = drawn(&[map], colours);
    assert_eq!(
        text.lines().filter(|line| line.contains('│')).count(),
        4 + 4
    );
    assert!(text.contains("000 ┤") && text.contains("110 ┤"), "{text}");
}

#[test]
fn a_ring_is_one_row() {
    let map = cube(11, 1, &[(1, &[9], &[4])], &[]);
    let expected = "\
    ┌───────────┐
    │bb.......bb│
    └┬───────┬──┘
A[0] 0   4   8
";
    let text = drawn(&[map], LETTERS);
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("largest free subcube: 7\n"), "{text}");
}

#[test]
fn cubes_fit_the_terminal() {
    for (k, n) in [
        (4, 3),
        (2, 6),
        (5, 2),
        (2, 12),
        (16, 3),
        (2, 16),
        (9, 5),
        (65_535, 1),
    ] {
        let mut map = cube(k, n, &[], &[]);
        let machine = map.snapshot.plan.machine;
        let whole = block(machine, &vec![0; n.into()], &vec![k; n.into()]);
        map.snapshot.jobs = vec![MapJob {
            id: JobId(1),
            blocks: vec![whole],
        }];
        for columns in [44, 80, 132, 400] {
            for colours in [false, true] {
                let look = Look { columns, colours };
                let text = drawn(std::slice::from_ref(&map), look);
                let shown = console::strip_ansi_codes(&text);
                let widest = shown.lines().map(|line| line.chars().count()).max();
                // Captions and the legend are not cut off.
                assert!(
                    widest.unwrap() <= columns.max(62),
                    "{machine} {columns}\n{shown}"
                );
                assert!(shown.contains("nothing is free"), "{shown}");
            }
        }
    }
    // Small planes lose the gaps between them first, large ones are drawn smaller.
    let narrow = Look {
        columns: 80,
        colours: false,
    };
    let hypercube = drawn(&[cube(2, 12, &[], &[])], narrow);
    assert!(
        hypercube.contains(&format!("│{0} {0}  {0} {0}│", ".".repeat(16))),
        "{hypercube}"
    );
    assert!(!hypercube.contains("what most of"), "{hypercube}");
    let planes = drawn(
        &[cube(32, 3, &[], &[])],
        Look {
            columns: 30,
            ..narrow
        },
    );
    assert!(planes.contains("│................│"), "{planes}");
    assert!(
        planes.contains("what most of 2 x 4 processors are"),
        "{planes}"
    );
}

#[test]
fn the_picture_of_a_cube_is_as_it_was() {
    let svg = svg::svg(&[four_three()], "a 4 x 2 mesh and others").unwrap();
    solid::assert_golden("4-ary-3-cube.svg", &svg);
}

#[test]
fn every_part_of_a_job_is_in_the_picture() {
    let map = four_three();
    let svg = svg::svg(std::slice::from_ref(&map), "").unwrap();
    // Jobs 1 and 4 are one rectangle each; job 2 wraps around in two planes, job 3 in a row of each
    // of two. Each of jobs 1, 2 and 3 has a strip at each end where it wraps around; job 1 is as
    // long as the machine.
    let colours = colouring::colours(&map.snapshot, PALETTE);
    for (colour, parts) in colours.into_iter().zip([1 + 2, 4 + 4, 4 + 4, 1]) {
        let [red, green, blue] = colouring::rgb(colour);
        let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
        assert_eq!(svg.matches(&fill).count(), parts, "{fill} in {svg}");
    }
    // Two crosses.
    assert_eq!(svg.matches("stroke=\"#FFFFFF\"").count(), 2 * 2, "{svg}");
    for text in [
        "Who holds which processors, 4-ary 3-cube",
        "above each plane: A[2]; A[0] to the right, A[1] upwards",
        "largest free subcube: 2x4x2",
    ] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
}

#[test]
fn a_large_cube_makes_no_large_picture() {
    let svg = svg::svg(&[cube(16, 3, &[(1, &[2, 3, 4], &[15, 15, 15])], &[])], "").unwrap();
    assert!(svg.len() < 80_000, "{} bytes", svg.len());
    let hypercube = cube(2, 16, &[(1, &[0; 16], &[2; 16])], &[]);
    let svg = svg::svg(&[hypercube], "").unwrap();
    assert!(svg.len() < 4_000_000, "{} bytes", svg.len());
}

#[test]
fn a_snapshot_of_a_cube_is_what_the_controller_holds() {
    let cube = Cube::new(5, 3).unwrap();
    let configuration = Configuration {
        machine: cube.into(),
        strategy: StrategyKind::TreeCollapsing,
        scheduler: SchedulerKind::Fcfs,
    };
    let ready = InProcessBackends::default().with(configuration, None, &mut |backend| {
        let mut tell = |change: &Change| backend.call(change, 5, &mut |_, _| {}).unwrap();
        for id in 0..50 {
            let request = Request::new(Shape::new(&[2]).unwrap());
            tell(&Change::submit(JobId(id), request)).unwrap();
        }
        for job in (0..50).step_by(2).map(JobId) {
            tell(&Change::Release { job }).unwrap();
        }
        let faulty = [NodeId(0), NodeId(77), NodeId(124)];
        for node in faulty {
            let block = cube.grid().unit(node).unwrap();
            tell(&Change::MarkFaulty { block }).unwrap();
        }
        let ask = &mut |query: &Query| backend.query(query);
        let situation = Situation::read(ask, configuration, None).unwrap();
        let snapshot = Snapshot::of_situation(&situation);
        let ids: Vec<u32> = snapshot.jobs.iter().map(|job| job.id.0).collect();
        assert_eq!(ids, (0..50).filter(|id| id % 2 == 1).collect::<Vec<_>>());
        assert!(
            snapshot
                .jobs
                .iter()
                .all(|job| job.blocks.len() == 1 && snapshot.plan.machine.area(job.blocks[0]) == 2)
        );
        assert_eq!(snapshot.faulty, faulty);
        let held = |node: &NodeId| {
            let blocks = snapshot.jobs.iter().flat_map(|job| &job.blocks);
            blocks
                .clone()
                .any(|block| snapshot.plan.machine.holds(*block, *node))
        };
        let faulty_only = faulty.iter().filter(|node| !held(node)).count();
        assert_eq!(snapshot.free(), 125 - 25 * 2 - faulty_only);
    });
    ready.unwrap();
}
