//! The page's logic against the core and the simulator: the same requests, served by controllers
//! that this file drives in a way of its own, lead to the same decisions, and a run of the
//! simulator to the same results.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Block, Change, Configuration, Controller, Flags, Grid, JobId, NodeId, Request, SchedulerKind,
    Slices, StrategyKind, Ticks,
};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{Experiment, Measure, run_once};
use meshalloc_sim::workload::{
    Rate, Requests, ServiceDistribution, SideDistribution, SideRange, Submeshes, Synthetic,
    TimeUnit, Workload,
};
use meshalloc_wasm::{Command, Lab, answer};
use serde_json::{Value, json};

/// Room for jobs, more than there are at once in these tests.
const JOBS_MAX: usize = 1000;

/// The random jobs of the page at a load.
fn workload(grid: Grid, load: f64) -> Synthetic {
    let mut sides = Submeshes::new(grid, SideDistribution::Uniform);
    for (range, side) in sides.sides.iter_mut().zip(grid.sides()) {
        *range = SideRange::new(1, side.div_ceil(2)).unwrap();
    }
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let requests = Requests::Submeshes(sides);
    let rate = Rate::Load(load);
    let workload = Synthetic::new(grid, SideDistribution::Uniform, service, rate);
    Synthetic {
        requests,
        ..workload
    }
}

/// What a strategy decides about random jobs up to a time, by a search of all running jobs for each
/// event.
fn decide(controller: &mut Controller<'_>, workload: &Synthetic, until: Ticks) {
    let mut arrivals = workload.jobs(3, 0).unwrap().peekable();
    let mut services = Vec::new();
    loop {
        let view = controller.view();
        let jobs: Vec<_> = controller.jobs().running().collect();
        let ends = jobs.iter().map(|job| {
            let service: Ticks = services[job.id().0 as usize];
            (job.granted_at() + service, job.id())
        });
        let end = ends.min();
        assert_eq!(view.statistics().running as usize, jobs.len());
        let arrival = arrivals.peek().unwrap().arrival;
        match end {
            Some((at, job)) if at <= arrival && at <= until => {
                controller.handle(&Change::Release { job }, at).unwrap();
            }
            _ if arrival <= until => {
                let arrival = arrivals.next().unwrap();
                let job = JobId(services.len() as u32);
                services.push(arrival.work.service().unwrap());
                // Some are refused: the strategy cannot serve them.
                let _ = controller.handle(&Change::submit(job, arrival.request), arrival.arrival);
            }
            _ => return,
        }
    }
}

fn blocks(controller: &Controller<'_>) -> Vec<(u32, Vec<Block>)> {
    let running = controller.jobs().running();
    running
        .map(|job| (job.id().0, controller.blocks(job).collect()))
        .collect()
}

fn with_controller(grid: Grid, strategy: StrategyKind, test: impl FnOnce(&mut Controller<'_>)) {
    let needs = Needs::of(strategy, &grid, JOBS_MAX);
    let mut storage = HeapStorage::new(needs, JOBS_MAX);
    let configuration = Configuration {
        machine: grid,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    test(&mut Controller::new(storage.memory(), configuration).unwrap());
}

#[test]
fn random_jobs_are_placed_as_the_core_places_them() {
    for machine in ["mesh 16x8", "torus 8x8", "torus 4x4x4", "mesh 5x7x3"] {
        let grid: Grid = machine.parse().unwrap();
        let served: Vec<StrategyKind> = StrategyKind::built()
            .filter(|kind| kind.serves().includes(&grid))
            .collect();
        assert!(served.len() > 5, "{machine}: {served:?}");
        for kinds in served.chunks(4) {
            let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            let mut lab = Lab::new(machine, &names, 90, 3).unwrap();
            let (until, second) = (300, TimeUnit::Second.ticks_each());
            // In pieces that end between events.
            for _ in 0..until / 2 {
                lab.carry_out(&Command::Advance(2_000)).unwrap();
            }
            for (place, &kind) in kinds.iter().enumerate() {
                let workload = workload(grid, 0.9);
                let as_page = Workload::Synthetic(workload.clone());
                let experiment = Experiment {
                    seed: 3,
                    ..Experiment::new(as_page, 1, &[kind])
                };
                let configured = experiment.configuration(kind, 0).strategy;
                let panel = lab.panel(place).unwrap();
                with_controller(grid, configured, |controller| {
                    decide(controller, &workload, until * second);
                    assert!(
                        controller.statistics().counts.granted > 0,
                        "{kind} on {machine}"
                    );
                    panel.with_controller(|run| {
                        run.check_invariants();
                        let (found, expected) = (run.statistics(), controller.statistics());
                        assert_eq!(found, expected, "{kind} on {machine}");
                        assert_eq!(blocks(run), blocks(controller), "{kind} on {machine}");
                    });
                });
                // The simulator gives the same results, of the same decisions.
                assert!(!panel.results().is_empty(), "{kind} on {machine}");
                for (jobs, result) in panel.results() {
                    let experiment = Experiment {
                        jobs: *jobs,
                        measure: Measure::Departures,
                        ..experiment.clone()
                    };
                    let mut backends = InProcessBackends::default();
                    let run = run_once(&experiment, kind, 0, &mut backends, &());
                    assert_eq!(*result, run.unwrap(), "{kind} on {machine}, {jobs} jobs");
                }
            }
        }
    }
}

#[test]
fn requests_releases_and_faults_of_the_user_are_those_of_the_core() {
    let names = ["first-fit", "best-fit", "buddy", "random"].map(String::from);
    let commands = [
        "request 5x3",
        "request 4x4",
        "fault 6 5",
        "request 9x1",
        "request 2x2",
        "release 1",
        "request 3x6",
        "fault 0 0",
        "request 8x8",
        "fault 6 5",
        "request 1x7",
        "release 4",
        "request 2x2",
        "request 2x 3x2",
        "request 40x 3x3",
        "request 3x3x3",
        "request 0x2",
    ];
    let mut lab = None;
    run(&mut lab, &format!("start 0 9 {} mesh 8x8", names.join(",")));
    for command in commands {
        run(&mut lab, command);
    }
    let lab = lab.unwrap();
    let grid: Grid = "mesh 8x8".parse().unwrap();
    for (place, name) in names.iter().enumerate() {
        let kind: StrategyKind = name.parse().unwrap();
        let workload = Workload::Synthetic(workload(grid, 1.0));
        let mut experiment = Experiment::new(workload, 1, &[kind]);
        experiment.seed = 9;
        let configured = experiment.configuration(kind, 0).strategy;
        with_controller(grid, configured, |controller| {
            let mut submitted = 0;
            for command in commands {
                let (verb, rest) = command.split_once(' ').unwrap();
                let change = match verb {
                    "request" => {
                        let job = JobId(submitted);
                        submitted += 1;
                        let (slices, shape) = Slices::split(rest).unwrap();
                        let request = Request::new(shape.parse().unwrap()).with_slices(slices);
                        Change::submit(job, request.with_flags(Flags::NO_WAIT))
                    }
                    "release" => Change::Release {
                        job: JobId(rest.parse::<u32>().unwrap() - 1),
                    },
                    _ => {
                        let (x, y) = rest.split_once(' ').unwrap();
                        let at = [x, y].map(|at| at.parse().unwrap());
                        let node: NodeId = grid.node(&at).unwrap();
                        let block = grid.unit(node).unwrap();
                        if controller.occupancy().is_faulty(node) {
                            Change::ClearFaulty { block }
                        } else {
                            Change::MarkFaulty { block }
                        }
                    }
                };
                // Some are refused.
                let _ = controller.handle(&change, 0);
            }
            lab.panel(place).unwrap().with_controller(|run| {
                run.check_invariants();
                assert_eq!(blocks(run), blocks(controller), "{name}");
                assert_eq!(run.statistics(), controller.statistics(), "{name}");
                assert_eq!(run.statistics().faulty, 1, "{name}");
            });
        });
    }
}

fn run(lab: &mut Option<Lab>, command: &str) -> Value {
    serde_json::from_slice(&answer(lab, command.as_bytes())).unwrap()
}

#[test]
fn the_page_learns_where_jobs_are_and_why_a_request_is_refused() {
    let mut lab = None;
    let started = run(
        &mut lab,
        "start 0 1 first-fit,naive,frame-sliding torus 4x3",
    );
    let panels = &started["done"]["panels"];
    assert_eq!(panels[0]["run"]["boxesTotal"], 1);
    assert_eq!(panels[0]["run"]["largest"], "4x3 at 0,0");
    assert_eq!(panels[0]["rule"], "the first place row by row, not turned");
    let error = "frame-sliding on a torus 4x3: the strategy does not serve this machine \
                 (expected two-dimensional meshes)";
    assert_eq!(panels[2]["error"], error);
    run(&mut lab, "request 3x2");
    let state = run(&mut lab, "request 2x2");
    let [first_fit, naive] = [0, 1].map(|place| &state["done"]["panels"][place]["run"]);
    assert_eq!(
        first_fit["jobs"],
        json!({ "first": [0, 1], "rects": [[0, 0, 3, 2]] })
    );
    let refused = "job 2 refused: enough free processors, but fragmented";
    assert_eq!(first_fit["messages"], json!([refused]));
    // Six of twelve are used; the six that are free count as fragmented.
    assert_eq!(first_fit["levels"], json!([500, 500, 0]));
    assert_eq!(naive["numbers"], json!([1, 2]));
    assert_eq!(naive["levels"], json!([833, 0, 0]));
    assert_eq!(
        naive["messages"],
        json!(["job 2 gets 4 processors in 2 blocks"])
    );
    // Column 3 and row 2, each around the torus.
    assert_eq!(
        first_fit["boxes"]["rects"],
        json!([[0, 2, 4, 1], [3, 0, 1, 3]])
    );
    let faulty = run(&mut lab, "fault 0 0");
    let messages = &faulty["done"]["panels"][0]["run"]["messages"];
    assert_eq!(
        messages,
        &json!(["job 1 keeps running with a faulty processor"])
    );
    assert_eq!(faulty["done"]["faulty"], json!([[0, 0]]));
    let released = run(&mut lab, "release 1");
    assert_eq!(
        released["done"]["panels"][0]["run"]["statistics"]["free"],
        11
    );
    // A second for each request, release and fault.
    assert_eq!(released["done"]["end"], 4_000_000);
    let over_time = &released["done"]["panels"][0]["run"]["overTime"];
    assert_eq!(over_time[0], json!([500, 500, 500, 0]));
    assert_eq!(over_time[1], json!([0, 500, 0, 0]));
}

#[test]
fn spaces_and_capitals_around_an_x_change_nothing() {
    let mut lab = None;
    let state = run(&mut lab, "start 0 1 first-fit,best-fit Mesh 16 X 8");
    assert_eq!(state["done"]["machine"], "mesh 16x8");
    for (number, text) in (1..).zip(["4x3", "4 x 3", "4X3", " 4 X3 "]) {
        let state = run(&mut lab, &format!("request {text}"));
        let said = format!("job {number} asks for 4x3");
        assert_eq!(state["done"]["message"], said, "{text}");
    }
    let gang = run(&mut lab, "request 2X 4 x 3");
    assert_eq!(gang["done"]["message"], "job 5 asks for 2x 4x3");
    for text in ["4 3", "4xx3", "x", "4 by 3"] {
        let reply = run(&mut lab, &format!("request {text}"));
        assert!(reply["failed"].is_string(), "{text}: {reply}");
    }
}

#[test]
fn wrong_commands_name_what_was_expected_and_change_nothing() {
    let mut lab = None;
    let failed = |lab: &mut Option<Lab>, command: &str| {
        let reply = run(lab, command);
        reply["failed"]
            .as_str()
            .unwrap_or_else(|| panic!("{command}: {reply}"))
            .to_owned()
    };
    let error = failed(&mut lab, "step");
    assert_eq!(error, "no machine yet, expected the command start first");
    run(&mut lab, "start 50 1 first-fit mesh 8x8");
    run(&mut lab, "advance 20000");
    let before = run(&mut lab, "advance 0");
    for (command, expected) in [
        (
            "start 0 1 first-fit mesh 64x64",
            "4096 processors in 2 dimensions, expected at most 1024",
        ),
        (
            "start 0 1 first-fit mesh 2x2x2x2",
            "expected at most 1024 in at most 3",
        ),
        ("start 0 1 first-fit ring 8", "expected a machine as in"),
        (
            "start 0 1 first-fit 4-ary 3-cube",
            "expected a mesh or torus",
        ),
        ("start 0 1 fastest mesh 8x8", "strategy \"fastest\": "),
        (
            "start 0 1 ff,ff,ff,ff,ff mesh 8x8",
            "5 strategies, expected 1 to 4",
        ),
        (
            "start 900 1 ff mesh 8x8",
            "load 900 %, expected at most 200 %",
        ),
        ("start x 1 ff mesh 8x8", "expected one of: start LOAD SEED"),
        ("load 4294967297", "expected one of"),
        ("load 201", "expected at most 200 %"),
        ("request 4x", "expected numbers from 0 to 65535"),
        ("release 4000", "no job 4000 waits or runs"),
        ("fault 8 0", "no processor in column 8, row 0"),
        ("advance 1000001", "expected at most 1000000"),
        ("reboot", "command \"reboot\", expected one of"),
    ] {
        let error = failed(&mut lab, command);
        assert!(error.contains(expected), "{command}: {error}");
        let mut after = run(&mut lab, "advance 0");
        // What happened is read once.
        after["done"]["panels"][0]["run"]["messages"] = json!([]);
        assert_eq!(after, before, "{command}");
    }
    assert!(answer(&mut lab, &[0xff]).starts_with(b"{\"failed\":\"command: "));
    run(&mut lab, "start 0 1 first-fit mesh 8x8");
    let error = failed(&mut lab, "step");
    assert_eq!(error, "nothing is due: no job runs and the load is 0");
}

#[test]
fn a_step_goes_to_the_next_event_and_steps_reach_what_advancing_reaches() {
    let start = "start 120 5 first-fit,buddy mesh 8x8";
    let (mut steps, mut advances) = (None, None);
    run(&mut steps, start);
    run(&mut advances, start);
    let mut state = Value::Null;
    for _ in 0..200 {
        state = run(&mut steps, "step");
    }
    let now = state["done"]["now"].as_u64().unwrap();
    // To the next millisecond, before which nothing else happens.
    let reached = run(&mut advances, &format!("advance {}", now.div_ceil(1_000)));
    let strip = |mut state: Value| {
        state["done"]["message"] = json!("");
        state["done"]["now"] = json!(0);
        for place in [0, 1] {
            state["done"]["panels"][place]["run"]["messages"] = json!([]);
        }
        state
    };
    assert_eq!(strip(state.clone()), strip(reached));
    // At a load above 1 jobs wait, and the reason is known.
    let run = &state["done"]["panels"][0]["run"];
    assert!(!run["waiting"].as_array().unwrap().is_empty());
    assert!(
        run["blocked"].as_str().unwrap().contains("free processors"),
        "{}",
        run["blocked"]
    );
}

#[test]
fn a_run_that_was_changed_by_hand_has_no_command() {
    let mut lab = None;
    let load = run(&mut lab, "start 0 1 first-fit,ff mesh 8x8");
    assert_eq!(load["done"]["results"], Value::Null);
    // At the beginning, another load is another beginning.
    run(&mut lab, "load 60");
    let state = run(&mut lab, "advance 200000");
    let results = &state["done"]["results"];
    assert_eq!(state["done"]["isRepeatable"], true);
    assert_eq!(results["means"].as_array().unwrap().len(), 2);
    let command = "host-sim run --machine mesh-8x8 --strategy first-fit,ff --load 0.6 \
                   --side-range 4,4 --service-mean 10 --seed 1 --measure departures --jobs 100 \
                   --replications 1";
    assert_eq!(results["command"], command);
    for change in ["load 70", "request 1x1", "fault 0 0", "release 1"] {
        run(&mut lab, "start 60 1 first-fit mesh 8x8");
        run(&mut lab, "advance 200000");
        if change.starts_with("release") {
            // One that runs.
            let state = run(&mut lab, "advance 0");
            let job = &state["done"]["panels"][0]["run"]["numbers"][0];
            run(&mut lab, &format!("release {job}"));
        } else {
            run(&mut lab, change);
        }
        let state = run(&mut lab, "advance 0");
        assert_eq!(state["done"]["isRepeatable"], false, "{change}");
        assert_eq!(state["done"]["results"], Value::Null, "{change}");
    }
}
