//! `replay` on small cubes: every answer is that of a controller in this process, whose decisions
//! the tests of `meshalloc-tests` compare with naive ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use meshalloc::{
    Change, Configuration, Controller, Cube, Error, Flags, JobId, Outcome, Request, SchedulerKind,
    Shape, StrategyKind,
};
use meshalloc_sim::backend::heap_storage;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::program::host_sim_fed;

/// Checks an answer to a step.
fn check(controller: &mut Controller<'_>, cube: Cube, step: &Step, answer: &Value) {
    let unit = |address: &[u16]| {
        let node = cube.node(address).expect("an address of the cube");
        cube.grid().unit(node).expect("a processor of the cube")
    };
    let change = match step {
        Step::Alloc(job, radices) => {
            let request = Request::new(Shape::new(radices).expect("radices"));
            Change::submit(JobId(*job), request.with_flags(Flags::NO_WAIT))
        }
        Step::Free(job) => Change::Release { job: JobId(*job) },
        Step::Set(address, true) => Change::MarkFaulty {
            block: unit(address),
        },
        Step::Set(address, false) => Change::ClearFaulty {
            block: unit(address),
        },
    };
    match (controller.handle(&change, 0), step) {
        (Ok(Outcome::Done), Step::Alloc(job, _)) => {
            let grid = cube.grid();
            let blocks = controller.view().blocks(JobId(*job)).map(|block| {
                let (start, extent) = (grid.start(block), grid.extent(block));
                json!({ "start": start.reversed()[..], "extent": extent.reversed()[..] })
            });
            assert_eq!(answer["granted"], blocks.collect::<Value>(), "{answer}");
        }
        (Ok(Outcome::Released { processors }), Step::Free(_)) => {
            assert_eq!(answer["released"], processors);
        }
        (Ok(Outcome::Faults(report)), Step::Set(address, _)) => {
            let ones = vec![1; address.len()];
            assert_eq!(answer["block"], json!({ "start": address, "extent": ones }));
            assert_eq!(answer["changed"], report.changed);
            let jobs: Vec<u32> = report.first.iter().map(|job| job.0).collect();
            assert_eq!(answer["jobs"], json!(jobs));
        }
        (Err(Error::Refused(refusal)), _) => assert_eq!(answer["error"], refusal.name()),
        (Err(Error::UnknownJob), _) => assert_eq!(answer["error"], "unknown-job"),
        (other, _) => panic!("{other:?} to {change:?}"),
    }
}

enum Step {
    Alloc(u32, Vec<u16>),
    Free(u32),
    Set(Vec<u16>, bool),
}

/// A file of operations, and what is in it.
fn steps(k: u16, n: u16, random: &mut ChaCha8Rng) -> (String, Vec<Step>) {
    let mut below = |end: u16| (random.next_u32() % u32::from(end)) as u16;
    let (mut text, mut steps) = (String::new(), Vec::new());
    for _ in 0..120 {
        let job = below(12).into();
        let step = match below(10) {
            0..=5 => {
                // Now and then too many, or one that is too large.
                let (more, larger) = (below(10) == 0, below(10) == 0);
                let m = below(n + 1 + u16::from(more));
                let largest = k + u16::from(larger);
                Step::Alloc(job, (0..m).map(|_| 2 + below(largest - 1)).collect())
            }
            6..=7 => Step::Free(job),
            which => Step::Set(
                (0..n).map(|_| below(k)).collect(),
                which == 8 && below(3) == 0,
            ),
        };
        let words = |numbers: &[u16], between: &str| {
            let words: Vec<_> = numbers.iter().map(u16::to_string).collect();
            words.join(between)
        };
        match &step {
            Step::Alloc(job, radices) if radices.is_empty() => writeln!(text, "alloc {job} 1"),
            Step::Alloc(job, radices) => writeln!(text, "alloc {job} {}", words(radices, "x")),
            Step::Free(job) => writeln!(text, "free {job}"),
            Step::Set(address, true) => writeln!(text, "fault {}", words(address, " ")),
            Step::Set(address, false) => writeln!(text, "repair {}", words(address, " ")),
        }
        .unwrap();
        steps.push(step);
    }
    (text, steps)
}

#[test]
fn every_cube_strategy_answers_as_in_process() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut granted = 0;
    let mut refused = BTreeMap::new();
    for strategy in StrategyKind::built() {
        for (k, n) in [(3_u16, 2_u8), (4, 2), (2, 4), (8, 1), (5, 1), (4, 3)] {
            let cube = Cube::new(k, n).unwrap();
            if !strategy.serves().includes(&cube.grid()) {
                continue;
            }
            let (text, steps) = steps(k, n.into(), &mut random);
            let line = format!("replay - --machine {k}-ary-{n}-cube --strategy {strategy}");
            let shown = host_sim_fed(Path::new("."), &line, &text).good();
            assert_eq!(shown.lines().count(), steps.len());
            let mut storage = heap_storage(cube.into(), None, strategy, 12);
            let configuration = Configuration {
                machine: cube.into(),
                strategy,
                scheduler: SchedulerKind::Fcfs,
            };
            let mut controller = Controller::new(storage.memory(), configuration).unwrap();
            for (number, (step, answer)) in (1..).zip(steps.into_iter().zip(shown.lines())) {
                let answer: Value = serde_json::from_str(answer).unwrap();
                assert_eq!(answer["line"], number);
                check(&mut controller, cube, &step, &answer);
                granted += usize::from(answer.get("granted").is_some());
                if let Some(error) = answer["error"].as_str() {
                    *refused.entry(error.to_owned()).or_insert(0) += 1;
                }
            }
        }
    }
    // Everything has happened.
    assert!(granted > 300, "{granted}");
    for error in [
        "duplicate-job",
        "too-many-extents",
        "fragmented",
        "never-fits",
        "extent-below-side",
        "too-few-free",
        "unknown-job",
    ] {
        assert!(refused.contains_key(error), "{error}: {refused:?}");
    }
}
