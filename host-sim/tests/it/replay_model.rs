//! `replay` on small cubes against a model that keeps an owner for each node and tries every subcube.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use meshalloc::{Cube, StrategyKind};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::program::host_sim_fed;

/// Start and extent of each dimension, the highest first.
type Subcube = (Vec<usize>, Vec<usize>);

struct Model {
    k: usize,
    n: usize,
    strategy: StrategyKind,
    /// The nodes of each job, by number.
    jobs: BTreeMap<u64, Vec<usize>>,
    faulty: Vec<bool>,
}

impl Model {
    fn nodes(&self) -> usize {
        self.k.pow(self.n as u32)
    }

    fn number(&self, address: &[usize]) -> usize {
        address
            .iter()
            .fold(0, |number, digit| number * self.k + digit)
    }

    fn address(&self, node: usize) -> Vec<usize> {
        let strides = (0..self.n as u32).rev().map(|at| self.k.pow(at));
        strides.map(|stride| node / stride % self.k).collect()
    }

    fn holder(&self, node: usize) -> Option<u64> {
        let mut jobs = self.jobs.iter();
        jobs.find(|(_, nodes)| nodes.contains(&node))
            .map(|(job, _)| *job)
    }

    fn is_free(&self, node: usize) -> bool {
        !self.faulty[node] && self.holder(node).is_none()
    }

    /// Its nodes, by number.
    fn nodes_of(&self, (start, extents): &Subcube) -> Vec<usize> {
        let within = |address: &[usize]| {
            (0..self.n).all(|at| (address[at] + self.k - start[at]) % self.k < extents[at])
        };
        let all = 0..self.nodes();
        all.filter(|&node| within(&self.address(node))).collect()
    }

    /// The radices that the strategy allocates for a request.
    fn held(&self, radices: &[usize]) -> Vec<usize> {
        let largest = radices.iter().copied().max().unwrap_or(0);
        let held = radices.iter().map(|radix| match self.strategy {
            StrategyKind::FreeList => radix.next_power_of_two(),
            StrategyKind::Sniffing => largest,
            _ => *radix,
        });
        held.collect()
    }

    /// Whether the strategy may grant this subcube for the request, were it free.
    fn may_grant(&self, radices: &[usize], (start, extents): &Subcube) -> bool {
        let taken: Vec<usize> = extents.iter().copied().filter(|&len| len > 1).collect();
        let held = self.held(radices);
        let sorted = |list: &[usize]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        match self.strategy {
            StrategyKind::TreeCollapsingPrinted => taken == held,
            StrategyKind::Sniffing => {
                taken == held && (0..self.n).all(|at| start[at] + extents[at] <= self.k)
            }
            StrategyKind::Partner => {
                // The lowest dimensions are the last; one of the taken ones may be any.
                let low = &extents[self.n + 1 - held.len().max(1)..];
                taken == held && low.iter().all(|&len| len > 1)
            }
            _ => sorted(&taken) == sorted(&held),
        }
    }

    /// Every subcube; one that is full in a dimension only from there on 0.
    fn subcubes(&self) -> impl Iterator<Item = Subcube> {
        let all = (0..self.nodes()).flat_map(move |first| {
            (0..self.nodes()).map(move |extents| {
                let extents = self.address(extents).iter().map(|len| len + 1).collect();
                (self.address(first), extents)
            })
        });
        all.filter(|(start, extents): &Subcube| {
            (0..self.n).all(|at| extents[at] < self.k || start[at] == 0)
        })
    }

    /// Checks an answer to `alloc` and takes what it grants.
    fn alloc(&mut self, job: u64, radices: &[usize], answer: &Value) {
        let area: usize = radices.iter().product();
        let free = (0..self.nodes()).filter(|&node| self.is_free(node)).count();
        let expected = if radices.len() > self.n {
            Some("too-many-extents")
        } else if area > self.nodes() {
            Some("never-fits")
        } else if radices.iter().any(|&radix| radix > self.k) {
            Some("never-fits")
        } else if self.strategy == StrategyKind::Partner && radices.iter().any(|&r| r < self.k) {
            Some("extent-below-side")
        } else if self.jobs.contains_key(&job) {
            Some("duplicate-job")
        } else if self.held(radices).iter().product::<usize>() > free {
            Some("too-few-free")
        } else {
            let mut subcubes = self.subcubes();
            let found = subcubes.any(|subcube| {
                self.may_grant(radices, &subcube)
                    && self
                        .nodes_of(&subcube)
                        .iter()
                        .all(|&node| self.is_free(node))
            });
            (!found).then_some("fragmented")
        };
        if let Some(error) = expected {
            assert_eq!(answer["error"], error, "{radices:?}: {answer}");
            return;
        }
        let granted = answer["granted"].as_array().map(Vec::as_slice);
        let Some([block]) = granted else {
            panic!("{radices:?}: one subcube was expected, not {answer}");
        };
        let list = |name: &str| -> Vec<usize> {
            let numbers = block[name].as_array().unwrap().iter();
            numbers
                .map(|number| number.as_u64().unwrap() as usize)
                .collect()
        };
        let subcube = (list("start"), list("extent"));
        assert!(self.may_grant(radices, &subcube), "{radices:?}: {answer}");
        let nodes = self.nodes_of(&subcube);
        assert!(nodes.iter().all(|&node| self.is_free(node)), "{answer}");
        self.jobs.insert(job, nodes);
    }

    fn free(&mut self, job: u64, answer: &Value) {
        match self.jobs.remove(&job) {
            Some(nodes) => assert_eq!(answer["released"], nodes.len()),
            None => assert_eq!(answer["error"], "unknown-job"),
        }
    }

    fn set(&mut self, address: &[usize], faulty: bool, answer: &Value) {
        let node = self.number(address);
        assert_eq!(answer["address"], json!(address));
        assert_eq!(answer["changed"], self.faulty[node] != faulty);
        assert_eq!(answer["job"], json!(self.holder(node)));
        self.faulty[node] = faulty;
    }
}

enum Step {
    Alloc(u64, Vec<usize>),
    Free(u64),
    Set(Vec<usize>, bool),
}

/// A file of operations, and what is in it.
fn steps(k: usize, n: usize, random: &mut ChaCha8Rng) -> (String, Vec<Step>) {
    let mut below = |end: usize| random.next_u32() as usize % end;
    let (mut text, mut steps) = (String::new(), Vec::new());
    for _ in 0..120 {
        let job = below(12) as u64;
        let step = match below(10) {
            0..=5 => {
                // Now and then too many, or one that is too large.
                let (more, larger) = (below(10) == 0, below(10) == 0);
                let m = below(n + 1 + usize::from(more));
                let largest = k + usize::from(larger);
                Step::Alloc(job, (0..m).map(|_| 2 + below(largest - 1)).collect())
            }
            6..=7 => Step::Free(job),
            which => Step::Set(
                (0..n).map(|_| below(k)).collect(),
                which == 8 && below(3) == 0,
            ),
        };
        let words = |numbers: &[usize], between: &str| {
            let words: Vec<_> = numbers.iter().map(usize::to_string).collect();
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
fn every_cube_strategy_does_as_the_model() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut granted = 0;
    let mut refused = BTreeMap::new();
    let strategies = [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
        StrategyKind::FreeList,
        StrategyKind::Sniffing,
        StrategyKind::Partner,
    ];
    for strategy in strategies {
        for (k, n) in [(3usize, 2usize), (4, 2), (2, 4), (8, 1), (5, 1), (4, 3)] {
            let cube = Cube::new(k as u16, n as u8).unwrap().into();
            if !strategy.info().serves.includes(&cube) {
                continue;
            }
            let (text, steps) = steps(k, n, &mut random);
            let line = format!("replay - --cube k={k},n={n} --strategy {strategy}");
            let shown = host_sim_fed(Path::new("."), &line, &text).good();
            assert_eq!(shown.lines().count(), steps.len());
            let mut model = Model {
                k,
                n,
                strategy,
                jobs: BTreeMap::new(),
                faulty: vec![false; k.pow(n as u32)],
            };
            for (number, (step, answer)) in (1..).zip(steps.into_iter().zip(shown.lines())) {
                let answer: Value = serde_json::from_str(answer).unwrap();
                assert_eq!(answer["line"], number);
                match step {
                    Step::Alloc(job, radices) => model.alloc(job, &radices, &answer),
                    Step::Free(job) => model.free(job, &answer),
                    Step::Set(address, faulty) => model.set(&address, faulty, &answer),
                }
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
