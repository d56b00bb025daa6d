use meshalloc::{
    Change, Configuration, Coord, JobId, Mesh, NodeId, Query, Request, SchedulerKind, StrategyKind,
    Submesh,
};
use meshalloc_host_sim::map::colouring::{self, PALETTE};
use meshalloc_host_sim::map::snapshot::Owner;
use meshalloc_host_sim::map::terminal::{self, Look};
use meshalloc_host_sim::map::{Map, MapJob, MapMoment, Plot, Snapshot, maps, svg};
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::history::{self, History};
use meshalloc_sim::layout::{Layout, ONE_ROW};
use meshalloc_sim::situation::Situation;
use meshalloc_sim::workload::{
    Rate, Requests, ServiceDistribution, SideDistribution, SideRange, Synthetic, TimeUnit, Workload,
};

fn mesh(w: u16, h: u16) -> Mesh {
    Mesh::new(w, h).unwrap()
}

fn job(id: u32, blocks: &[(u16, u16, u16, u16)]) -> MapJob {
    let blocks = blocks
        .iter()
        .map(|&(x, y, w, h)| Submesh::new(x, y, w, h).into());
    MapJob {
        id: JobId(id),
        blocks: blocks.collect(),
    }
}

/// ```text
///   3  . . . . x .
///   2  1 1 . . . .
///   1  1 1 2 2 2 .
///   0  1 1 2 2 2 3
/// ```
fn small() -> Map {
    Map {
        strategy: StrategyKind::FirstFit,
        at: Some(1_500_000),
        unit: TimeUnit::Second,
        snapshot: Snapshot {
            waiting: 1,
            plan: mesh(6, 4).grid().into(),
            jobs: vec![
                job(1, &[(0, 0, 2, 3)]),
                job(2, &[(2, 0, 3, 2)]),
                job(3, &[(5, 0, 1, 1)]),
            ],
            faulty: vec![NodeId(3 * 6 + 4)],
        },
    }
}

fn drawn(maps: &[Map], look: Look) -> String {
    let mut output = Vec::new();
    terminal::draw(maps, look, &mut output).unwrap();
    String::from_utf8(output).unwrap()
}

fn experiment(mesh: Mesh, strategies: &[StrategyKind]) -> Experiment {
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let mut workload = Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(0.6));
    if let Requests::Submeshes(submeshes) = &mut workload.requests {
        submeshes.sides.fill(SideRange::new(1, 6).unwrap());
    }
    Experiment::new(Workload::Synthetic(workload), 500, strategies)
}

fn recorded(experiment: &Experiment) -> Vec<History> {
    history::histories(experiment, &mut InProcessBackends::default(), &()).unwrap()
}

#[test]
fn the_caption_counts() {
    let map = small();
    assert_eq!(
        map.caption(),
        [
            "1.5 s: 3 running, 1 waiting",
            "58.3 % busy, 10 free, 1 faulty",
            "largest free submesh: 4x1",
        ]
    );
    // Three are as large; the one whose highest row comes first counts.
    assert_eq!(
        map.snapshot.largest_free(),
        Some(Submesh::new(2, 2, 4, 1).into())
    );
}

#[test]
fn jobs_that_touch_differ() {
    let mesh = mesh(24, 24);
    let strategies: Vec<_> = StrategyKind::built()
        .filter(|&kind| kind.serves().includes(&mesh.into()))
        .collect();
    let experiment = experiment(mesh, &strategies);
    let histories = recorded(&experiment);
    let mut pairs = 0;
    for second in 1..20 {
        let moment = MapMoment::Time(f64::from(second) * 10.0);
        for map in maps(&experiment, &histories, moment).unwrap() {
            let neighbours = colouring::neighbours(&map.snapshot);
            // So few are never enough, and there are others then.
            for palette in [2, PALETTE, 60] {
                let colours = colouring::colours(&map.snapshot, palette);
                for (place, others) in neighbours.iter().enumerate() {
                    for &other in others {
                        assert_ne!(colours[place], colours[other], "{}", map.strategy);
                        pairs += 1;
                    }
                }
            }
        }
    }
    assert!(pairs > 1_000, "{pairs}");
}

#[test]
fn touching_is_along_edges_and_at_corners() {
    let neighbours = colouring::neighbours(&small().snapshot);
    let places: Vec<Vec<usize>> = neighbours
        .into_iter()
        .map(|set| set.into_iter().collect())
        .collect();
    assert_eq!(places, [vec![1], vec![0, 2], vec![1]]);
    let corner = Snapshot {
        waiting: 0,
        plan: mesh(4, 4).grid().into(),
        jobs: vec![
            job(1, &[(0, 2, 2, 2)]),
            job(2, &[(2, 0, 2, 2)]),
            job(3, &[(0, 0, 1, 1)]),
        ],
        faulty: Vec::new(),
    };
    assert_eq!(
        colouring::neighbours(&corner)[0]
            .iter()
            .copied()
            .collect::<Vec<_>>(),
        [1]
    );
    assert!(colouring::neighbours(&corner)[2].is_empty());
}

#[test]
fn colours_are_all_different() {
    for one in 0..28 {
        for other in 0..one {
            assert_ne!(colouring::rgb(one), colouring::rgb(other), "{one} {other}");
            let same = colouring::terminal(one) == colouring::terminal(other);
            assert_eq!(same, one >= 21 && one - 21 == other, "{one} {other}");
        }
    }
}

#[test]
fn letters_show_the_mesh_as_it_is() {
    let look = Look {
        columns: 80,
        colours: false,
    };
    let expected = "\
first-fit
1.5 s: 3 running, 1 waiting
58.3 % busy, 10 free, 1 faulty
largest free submesh: 4x1
    ┌──────┐
    │....x.│
    │bb....│
    │bbccc.│
  0 ┤bbcccd│
    └┬─────┘
     0

. free, x faulty; jobs that touch have different letters
";
    assert_eq!(drawn(&[small()], look), expected);
}

#[test]
fn colours_show_two_rows_in_a_line() {
    let look = Look {
        columns: 80,
        colours: true,
    };
    let text = drawn(&[small()], look);
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains('\u{1b}'))
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    // Column 0: free above job 1, then job 1 twice.
    let colour = colouring::terminal(1);
    assert!(
        rows[0].contains(&format!("\u{1b}[38;5;231m\u{1b}[48;5;{colour}m▀\u{1b}[0m")),
        "{rows:?}"
    );
    assert!(
        rows[1].contains(&format!("\u{1b}[48;5;{colour}m \u{1b}[0m")),
        "{rows:?}"
    );
    // Column 4 of the upper rows: faulty above free.
    assert!(
        rows[0].contains("\u{1b}[38;5;16m\u{1b}[48;5;231m▀"),
        "{rows:?}"
    );
    // An odd number of rows ends within a line.
    let mut odd = small();
    odd.snapshot.plan = mesh(6, 3).grid().into();
    odd.snapshot.faulty.clear();
    let text = drawn(&[odd], look);
    assert!(text.contains(&format!("\u{1b}[38;5;{colour}m▄")), "{text}");
}

#[test]
fn maps_fit_the_terminal() {
    let mut large = small();
    large.snapshot.plan = mesh(512, 200).grid().into();
    large.snapshot.jobs = vec![job(1, &[(0, 0, 300, 190)])];
    for count in 1..=4 {
        for columns in [20, 40, 80, 132, 300] {
            let look = Look {
                columns,
                colours: false,
            };
            let text = drawn(&vec![large.clone(); count], look);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            // Captions and the legend are not cut off.
            assert!(widest <= columns.max(58), "{columns}: {widest}\n{text}");
            let first = text.lines().next().unwrap();
            let beside = if columns < 80 { 1 } else { count.min(2) };
            assert_eq!(first.matches("first-fit").count(), beside, "{columns}");
            assert_eq!(text.matches("first-fit").count(), count);
        }
    }
}

#[test]
fn the_picture_has_every_job_and_fault() {
    let svg = svg::svg(&[small(), small()], "a <subtitle>").unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for text in [
        "first-fit",
        "a &lt;subtitle&gt;",
        "58.3 % busy",
        "largest free submesh: 4x1",
    ] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    // Every job of both maps, filled with its colour, and its number inside.
    for (place, id) in [1, 2, 3].into_iter().enumerate() {
        let [red, green, blue] =
            colouring::rgb(colouring::colours(&small().snapshot, PALETTE)[place]);
        let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
        assert_eq!(svg.matches(&fill).count(), 2, "{fill} in {svg}");
        let number = svg.lines().filter(|line| line.trim() == id.to_string());
        assert!(number.count() >= 2, "{id}");
    }
    // A white cross under a black one, each of two lines.
    assert_eq!(svg.matches("stroke=\"#FFFFFF\"").count(), 4, "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn a_large_mesh_makes_no_large_picture() {
    let mesh = mesh(512, 512);
    let mut jobs = Vec::new();
    for (id, x) in (0..).zip((0..512).step_by(64)) {
        jobs.push(job(id, &[(x, 0, 64, 300)]));
    }
    let snapshot = Snapshot {
        waiting: 0,
        plan: mesh.grid().into(),
        jobs,
        faulty: Vec::new(),
    };
    let map = Map {
        snapshot,
        ..small()
    };
    let svg = svg::svg(&[map], "").unwrap();
    assert!(svg.len() < 20_000, "{} bytes", svg.len());
}

#[test]
fn a_snapshot_is_what_the_controller_holds() {
    let mesh = mesh(32, 40);
    let configuration = Configuration {
        machine: mesh.into(),
        strategy: StrategyKind::Naive,
        scheduler: SchedulerKind::Fcfs,
    };
    let ready = InProcessBackends::default().with(configuration, None, &mut |backend| {
        let mut tell = |change: &Change| backend.call(change, 5, &mut |_, _| {}).unwrap();
        // More jobs than one reply lists, then one that waits, a fault that is held and one that is
        // not.
        for id in 0..60 {
            let request = Request::submesh(5, 4);
            tell(&Change::submit(JobId(id), request)).unwrap();
        }
        for job in (0..60).step_by(2).map(JobId) {
            tell(&Change::Release { job }).unwrap();
        }
        let request = Request::submesh(32, 40);
        tell(&Change::submit(JobId(99), request)).unwrap();
        let faulty = [Coord::new(1, 1), Coord::new(31, 39)];
        for at in faulty {
            let block = Submesh::new(at.x, at.y, 1, 1).into();
            tell(&Change::MarkFaulty { block }).unwrap();
        }
        let ask = &mut |query: &Query| backend.query(query);
        let situation = Situation::read(ask, configuration, None).unwrap();
        let snapshot = Snapshot::of_situation(&situation);
        let ids: Vec<u32> = snapshot.jobs.iter().map(|job| job.id.0).collect();
        assert_eq!(ids, (0..60).filter(|id| id % 2 == 1).collect::<Vec<_>>());
        for job in &snapshot.jobs {
            let areas = job.blocks.iter().map(|&block| mesh.grid().area(block));
            assert_eq!(areas.sum::<u32>(), 20);
        }
        let faulty = faulty.map(|at| mesh.grid().node(&[at.x, at.y]).unwrap());
        assert_eq!(snapshot.faulty, faulty);
        let layout = Layout::new(snapshot.plan, ONE_ROW, 1);
        let held_and_faulty = snapshot.owners(&layout).get(1, 1) != Some(Owner::Free);
        let busy = 30 * 20 + 1 + usize::from(!held_and_faulty);
        assert_eq!(snapshot.free(), 32 * 40 - busy);
    });
    ready.unwrap();
}

#[test]
fn all_strategies_are_shown_at_the_same_time() {
    let mesh = mesh(16, 16);
    let experiment = experiment(
        mesh,
        &[StrategyKind::FirstFit, StrategyKind::FreeSubmeshList],
    );
    let histories = recorded(&experiment);
    let mut times = Vec::new();
    for moment in [
        MapMoment::LastArrival,
        MapMoment::Jobs(100),
        MapMoment::Time(250.0),
    ] {
        let maps = maps(&experiment, &histories, moment).unwrap();
        assert_eq!(maps.len(), 2);
        assert_eq!(maps[0].at, maps[1].at);
        assert!(
            maps.iter().all(|map| !map.snapshot.jobs.is_empty()),
            "{moment:?}"
        );
        times.push(maps[0].at.unwrap());
    }
    assert_eq!(times[2], 250_000_000);
    assert!(times[1] < times[0]);
    let Workload::Synthetic(workload) = &experiment.workload else {
        unreachable!("it was made above");
    };
    assert_eq!(
        times[0],
        workload.jobs(1, 0).unwrap().nth(499).unwrap().arrival
    );
}

#[test]
fn moments_are_read_and_written() {
    for (text, moment) in [
        ("map", MapMoment::LastArrival),
        ("map:12.5", MapMoment::Time(12.5)),
        ("map:0", MapMoment::Time(0.0)),
        ("map:90m", MapMoment::Seconds(5400.0)),
        ("map:jobs=7", MapMoment::Jobs(7)),
    ] {
        assert_eq!(text.parse(), Ok(Plot::Map(moment)));
        assert_eq!(Plot::Map(moment).to_string(), text);
    }
    let time = "TIME of map is";
    let jobs = "jobs of map is";
    for (text, part) in [
        ("", "unknown picture"),
        ("mop", "did you mean \"map\"?"),
        ("map:", time),
        ("map:-1", time),
        ("map:nan", time),
        ("map:1e99", time),
        ("map:jobs=0", jobs),
        ("map:jobs=x", jobs),
        (
            "map:jobs=99999999999",
            "expected a whole number, 1 to 16777216",
        ),
        ("map:5,jobs=5", time),
        ("map:5|jobs=5", "expected map:TIME or map:jobs=JOBS"),
        ("links:5", "expected links"),
    ] {
        let error = text.parse::<Plot>().unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

mod cubes;
mod largest;
mod solid;
