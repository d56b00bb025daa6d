//! Bypassing without a limit.

use std::collections::BTreeSet;

use meshalloc::{Command, Flags, JobId, Request, StrategyKind};
use meshalloc_tests::oracle::Rect;
use meshalloc_tests::plain::Strategy;

use crate::ROOM;

/// Bypassing without a limit, in a few lines: after a departure all that wait try in order. Under modified
/// FCFS every arrival tries, in a bypass queue only one that finds nobody waiting.
pub(crate) struct Greedy {
    strategy: Strategy,
    arrivals_try: bool,
    waiting: Vec<(JobId, Request)>,
    running: Vec<(JobId, Rect)>,
    faulty: BTreeSet<(i32, i32)>,
}

impl Greedy {
    pub(crate) fn new(strategy: StrategyKind, arrivals_try: bool) -> Self {
        Greedy {
            strategy: Strategy::new(strategy, 8, 8),
            arrivals_try,
            waiting: Vec::new(),
            running: Vec::new(),
            faulty: BTreeSet::new(),
        }
    }

    fn place(&mut self, job: JobId, request: &Request) -> bool {
        let Ok(place) = self.strategy.place(request) else {
            return false;
        };
        self.strategy.take(place);
        self.running.push((job, place));
        true
    }

    fn all_try(&mut self) -> Vec<JobId> {
        let mut granted = Vec::new();
        for (job, request) in std::mem::take(&mut self.waiting) {
            match self.place(job, &request) {
                true => granted.push(job),
                false => self.waiting.push((job, request)),
            }
        }
        granted
    }

    pub(crate) fn handle(&mut self, command: &Command) -> Vec<JobId> {
        match *command {
            Command::Submit { job, request } => {
                let full = self.waiting.len() + self.running.len() >= ROOM;
                if full || self.strategy.validate(&request).is_err() {
                    return Vec::new();
                }
                let tries = self.arrivals_try || self.waiting.is_empty();
                if tries && self.place(job, &request) {
                    return vec![job];
                }
                if !request.flags.contains(Flags::NO_WAIT) {
                    self.waiting.push((job, request));
                }
                Vec::new()
            }
            Command::Release { job } => {
                let jobs = self.waiting.len() + self.running.len();
                self.waiting.retain(|&(other, _)| other != job);
                if let Some(at) = self.running.iter().position(|&(other, _)| other == job) {
                    let (_, place) = self.running.remove(at);
                    let faulty = &self.faulty;
                    self.strategy
                        .give_back(place, |x, y| faulty.contains(&(x, y)));
                }
                match self.waiting.len() + self.running.len() < jobs {
                    true => self.all_try(),
                    false => Vec::new(),
                }
            }
            Command::MarkFaulty { node } | Command::ClearFaulty { node } => {
                let (x, y) = (node.0 as i32 % 8, node.0 as i32 / 8);
                let unit = Rect::based_at(x, y, 1, 1);
                let held = self.running.iter().any(|&(_, place)| place.has(x, y));
                if matches!(command, Command::MarkFaulty { .. }) {
                    if self.faulty.insert((x, y)) && !held {
                        self.strategy.take(unit);
                    }
                } else if self.faulty.remove(&(x, y)) && !held {
                    self.strategy.give_back(unit, |_, _| false);
                    return self.all_try();
                }
                Vec::new()
            }
            ref other => unreachable!("{other:?} is no event"),
        }
    }
}
