//! Controllers with a strategy and a scheduler of one's own, against those of core.

use meshalloc::{
    Block, Change, Configuration, Draft, Error, Facts, Flags, Grid, JobId, Mesh, Recognizes,
    Refusal, Request, SchedulerKind, ServedStrategy, Shape, Site, Strategy, StrategyKind, Submesh,
    Ticks,
};
use meshalloc_sim::backend::own::{OwnBackends, Waiting, first_come};
use meshalloc_sim::backend::{Backend, BackendError, Backends, PolicyBackends, StrategyBackends};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::{Scenario, StrategyChoice};

/// The first base node in row-major order, for the request as it is, then turned.
#[derive(Clone)]
struct NaiveScan(Mesh);

impl ServedStrategy for NaiveScan {}

fn naive(machine: Grid) -> NaiveScan {
    NaiveScan(Mesh::new(machine.sides()[0], machine.sides()[1]).unwrap())
}

impl NaiveScan {
    fn ways(&self, request: &Request) -> Vec<(u16, u16)> {
        let extents = request.shape.extents();
        let (w, h) = (extents[0], extents.get(1).copied().unwrap_or(1));
        let mut ways = vec![(w, h), (h, w)];
        ways.dedup();
        ways.retain(|&(w, h)| self.0.contains(Submesh::new(0, 0, w, h)));
        ways
    }
}

impl Strategy for NaiveScan {
    /// A reservation is a corner of a free submesh.
    fn facts(&self) -> Facts {
        Facts {
            recognizes: Recognizes::AnyOrientation,
            ..Facts::default()
        }
    }

    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        let way = self.ways(request).first().copied();
        let (w, h) = way.ok_or(Refusal::NeverFits)?;
        Ok(u32::from(w) * u32::from(h))
    }

    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
        let sides = self.0.sides();
        for (w, h) in self.ways(request) {
            for (y, x) in (0..=sides.h - h).flat_map(|y| (0..=sides.w - w).map(move |x| (y, x))) {
                let place = Block::from(Submesh::new(x, y, w, h));
                if site.occupancy.is_free(place) {
                    draft.push(place);
                    return true;
                }
            }
        }
        false
    }
}

/// The job with the shortest estimate, of equal ones the first; each has one here.
fn shortest_first(queue: &[Waiting], _: Ticks) -> Option<usize> {
    (0..queue.len()).min_by_key(|&place| queue[place].request.estimate)
}

#[test]
fn a_naive_adaptive_scan_decides_as_that_of_core() {
    for (scheduler, policy) in [
        ("fcfs", first_come as fn(&[Waiting], Ticks) -> Option<usize>),
        ("sjf", shortest_first),
    ] {
        let mut scenario = Scenario {
            mesh: Some(Shape::sides(12, 7)),
            strategy: Some(vec![StrategyChoice::One(StrategyKind::AdaptiveScan)]),
            load: Some(0.6),
            jobs: Some(500),
            replications: Some(3),
            ..Scenario::default()
        };
        scenario.set("scheduler", scheduler).unwrap();
        let resolved = scenario.resolve().unwrap();
        let own = || OwnBackends {
            strategy: naive,
            policy: move || policy,
        };
        let (core, own) = (resolved.run().unwrap(), resolved.run_on(&own, &()).unwrap());
        let with_policy = || PolicyBackends {
            policy: move || policy,
        };
        let with_policy = resolved.run_on(&with_policy, &()).unwrap();
        let [core, own, with_policy] =
            [&core, &own, &with_policy].map(|results| &results.strategies[0]);
        assert_eq!(with_policy.runs, own.runs, "{scheduler}");
        assert!(core.decisions > 1_000);
        assert_eq!(own.decision_hash, core.decision_hash, "{scheduler}");
        for (own, core) in own.runs.iter().zip(&core.runs) {
            let [own, core] = [own, core].map(|run| {
                let mut run = run.clone();
                // At an arrival that of core lets a job try again that has failed.
                if scheduler == "sjf" {
                    run.values[Metric::AllocationMiss] = None;
                }
                run
            });
            assert_eq!(own, core, "{scheduler}");
        }
    }
}

/// First come, first served on a log whose jobs ask for 7 processors, which are a block of 4 x 2.
#[test]
fn misses_and_failures_are_those_of_core() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.swf");
    let mut text = String::new();
    for job in 0..300_u32 {
        let (arrival, run, processors) = (job * 15, 20 + job * 7 % 90, 1 + job * 3 % 11);
        let rest = "-1 1 1 1 1 1 1 -1 -1";
        text += &format!("{job} {arrival} 0 {run} {processors} -1 -1 {processors} {run} {rest}\n");
    }
    std::fs::write(&path, text).unwrap();
    let with_policy = || PolicyBackends {
        policy: || first_come,
    };
    let own = || OwnBackends {
        strategy: naive,
        policy: || first_come,
    };
    let settings: [&[(&str, &str)]; 5] = [
        &[],
        &[("failures", "node:4000,200"), ("restart", "elsewhere")],
        &[("failures", "2x2:1000,100"), ("restart", "elsewhere:last")],
        &[("failures", "node:4000,200"), ("restart", "in-place")],
        &[("failures", "2x2:1000,100"), ("restart", "spare")],
    ];
    for settings in settings {
        let mut scenario = Scenario {
            mesh: Some(Shape::sides(6, 4)),
            strategy: Some(vec![StrategyChoice::One(StrategyKind::AdaptiveScan)]),
            log: Some(path.clone()),
            ..Scenario::default()
        };
        for (name, value) in settings {
            scenario.set(name, value).unwrap();
        }
        let resolved = scenario.resolve().unwrap();
        let core = resolved.run().unwrap();
        for found in [
            resolved.run_on(&with_policy, &()).unwrap(),
            resolved.run_on(&own, &()).unwrap(),
        ] {
            let [found, core] = [&found, &core].map(|results| &results.strategies[0]);
            assert_eq!(found.runs, core.runs, "{settings:?}");
        }
        let values = &core.strategies[0].runs[0].values;
        assert!(values[Metric::AllocationMiss] > Some(0.0));
        assert!(settings.is_empty() || values[Metric::Restarts] > Some(10.0));
    }
}

#[test]
fn the_largest_slice_and_reasons_are_known_of_policies_of_core() {
    let mut scenario = Scenario {
        mesh: Some(Shape::sides(6, 4)),
        strategy: Some(vec![StrategyChoice::One(StrategyKind::AdaptiveScan)]),
        jobs: Some(100),
        replications: Some(1),
        ..Scenario::default()
    };
    scenario.set("largest", "true").unwrap();
    let resolved = scenario.resolve().unwrap();
    let with_policy = || PolicyBackends {
        policy: || first_come,
    };
    let own = || OwnBackends {
        strategy: naive,
        policy: || first_come,
    };
    let found = resolved.run_on(&with_policy, &()).unwrap();
    let core = resolved.run().unwrap();
    assert_eq!(found.strategies[0].runs, core.strategies[0].runs);
    let error = resolved.run_on(&own, &()).unwrap_err().to_string();
    assert!(
        error.contains("`largest` cannot be measured with a strategy of your own"),
        "{error}"
    );
    scenario.set("reasons", "true").unwrap();
    let resolved = scenario.resolve().unwrap();
    for found in [
        resolved.run_on(&with_policy, &()),
        resolved.run_on(&own, &()),
    ] {
        let error = found.unwrap_err().to_string();
        let expected = "`reasons` cannot be measured with a strategy or scheduler of your own";
        assert!(error.contains(expected), "{error}");
    }
}

/// Which jobs should make room is the choice of a strategy of core.
#[test]
fn policies_of_ones_own_preempt_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("mix.csv");
    let rows = "2x2,1,,1\n6x4,1,60,0\n";
    std::fs::write(&mix, format!("shape,weight,priority,preemptible\n{rows}")).unwrap();
    let settings = [
        ("mesh", "6x4"),
        ("mix", mix.to_str().unwrap()),
        ("strategy", "as"),
        ("jobs", "100"),
        ("replications", "1"),
        ("preemption", "on"),
    ];
    let resolved = Scenario::of(settings).unwrap().resolve().unwrap();
    let with_policy = || PolicyBackends {
        policy: || first_come,
    };
    let with_strategy = || StrategyBackends { strategy: naive };
    for found in [
        resolved.run_on(&with_policy, &()),
        resolved.run_on(&with_strategy, &()),
    ] {
        let error = found.unwrap_err().to_string();
        let expected = "`preemption` is not possible with a strategy or scheduler of your own";
        assert!(error.contains(expected), "{error}");
    }
    let found = resolved.run().unwrap();
    let preemptions = found.strategies[0].runs[0].values[Metric::Preemptions];
    assert!(preemptions > Some(10.0), "{preemptions:?}");
}

/// It proposes the same processors again and again.
#[derive(Clone)]
struct Stubborn;

impl ServedStrategy for Stubborn {}

impl Strategy for Stubborn {
    fn demand(&self, _: &Grid, _: &Request) -> Result<u32, Refusal> {
        Ok(1)
    }

    fn propose(&mut self, _: &Site<'_>, _: &Request, draft: &mut Draft<'_, '_>) -> bool {
        draft.push(Submesh::new(0, 0, 1, 1));
        true
    }
}

/// Uses a controller of a small mesh with this strategy.
fn with_own<S: ServedStrategy + Clone>(
    strategy: impl FnMut(Grid) -> S,
    body: &mut dyn FnMut(&mut dyn Backend),
) {
    let configuration = Configuration {
        machine: Mesh::new(4, 4).unwrap().grid(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut backends = OwnBackends {
        strategy,
        policy: || first_come,
    };
    let mut is_called = false;
    let made = backends.with(configuration, None, &mut |backend| {
        is_called = true;
        body(backend);
    });
    assert!(made.is_ok() && is_called);
}

#[test]
fn what_cannot_be_granted_ends_the_run() {
    with_own(|_| Stubborn, &mut |backend| {
        let mut submit = |job| {
            let change = Change::submit(JobId(job), Request::submesh(1, 1));
            backend.call(&change, 0, &mut |_, _| {})
        };
        assert!(matches!(submit(0), Ok(Ok(_))));
        assert!(matches!(submit(1), Err(BackendError::Illegal { .. })));
    });
}

/// Queue, reservations and backfilling are those of core for every strategy.
#[test]
fn a_strategy_of_ones_own_decides_as_that_of_core_under_each_scheduler() {
    for scheduler in ["fcfs", "easy", "conservative", "sjf", "bypass-queue:100"] {
        let mut scenario = Scenario {
            mesh: Some(Shape::sides(12, 7)),
            strategy: Some(vec![StrategyChoice::One(StrategyKind::AdaptiveScan)]),
            load: Some(0.7),
            jobs: Some(300),
            replications: Some(2),
            ..Scenario::default()
        };
        scenario.set("scheduler", scheduler).unwrap();
        let resolved = scenario.resolve().unwrap();
        let own = || StrategyBackends { strategy: naive };
        let (core, own) = (resolved.run().unwrap(), resolved.run_on(&own, &()).unwrap());
        let [core, own] = [&core, &own].map(|results| &results.strategies[0]);
        assert_eq!(own.runs, core.runs, "{scheduler}");
        assert_eq!(own.decision_hash, core.decision_hash, "{scheduler}");
        assert!(own.decisions > 500, "{scheduler}");
    }
}

/// What a controller promises holds with policies of one's own.
#[test]
fn changes_have_the_outcomes_of_core() {
    with_own(naive, &mut |backend| {
        let mut call = |change: Change| {
            let outcome = backend.call(&change, 0, &mut |_, _| {});
            outcome.unwrap()
        };
        let submit = |job, w, h| Change::submit(JobId(job), Request::submesh(w, h));
        assert!(call(submit(1, 4, 3)).is_ok());
        let again = call(submit(1, 1, 1));
        assert_eq!(again, Err(Error::Refused(Refusal::DuplicateJob)));
        let mut at_once = Request::submesh(4, 2);
        at_once.flags |= Flags::NO_WAIT;
        let refused = call(Change::submit(JobId(2), at_once));
        assert_eq!(refused, Err(Error::Refused(Refusal::TooFewFree)));
        let block = Submesh::new(3, 3, 2, 1).into();
        let outside = call(Change::MarkFaulty { block });
        assert!(
            matches!(outside, Err(Error::NoSuchBlock { .. })),
            "{outside:?}"
        );
        assert!(call(submit(3, 4, 4)).is_ok());
        let released = call(Change::Release { job: JobId(1) });
        assert_eq!(
            released,
            Ok(meshalloc::Outcome::Released { processors: 12 })
        );
        let released = call(Change::Release { job: JobId(3) });
        assert_eq!(
            released,
            Ok(meshalloc::Outcome::Released { processors: 16 })
        );
        assert_eq!(call(Change::Reset), Ok(meshalloc::Outcome::Done));
    });
}

/// The table of jobs grows while jobs wait that have failed.
#[test]
fn a_controller_with_policies_of_ones_own_grows() {
    with_own(naive, &mut |backend| {
        let room = backend.capacity().jobs;
        for job in 0..room {
            let change = Change::submit(JobId(job), Request::submesh(4, 4));
            assert_eq!(
                backend.call(&change, 0, &mut |_, _| {}).unwrap().err(),
                None
            );
        }
        assert!(backend.make_room());
        assert_eq!(backend.capacity().jobs, 2 * room);
        let mut granted = Vec::new();
        for job in 0..3 {
            let release = Change::Release { job: JobId(job) };
            let outcome = backend.call(&release, 9, &mut |event, _| granted.push(event.job));
            assert!(outcome.unwrap().is_ok());
        }
        assert_eq!(granted, [1, 2, 3].map(JobId));
    });
}
