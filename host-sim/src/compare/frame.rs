//! What a terminal shows while `compare` runs: the tables of the waiting delay, whose cells fill as
//! replications end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Comparison;
use super::tables::metric_table;
use crate::progress::Above;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::simulation::RunResult;

/// The time between two frames, of which each summarizes all runs anew.
const EVERY: Duration = Duration::from_millis(100);

pub(super) struct Frame<'c> {
    compared: &'c Comparison<'c>,
    state: Mutex<State>,
}

struct State {
    /// The runs that have ended, by experiment and strategy.
    runs: Vec<Vec<Vec<RunResult>>>,
    drawn: Instant,
}

impl<'c> Frame<'c> {
    pub(super) fn new(compared: &'c Comparison<'c>) -> Self {
        let none = vec![Vec::new(); compared.strategies.len()];
        let state = Mutex::new(State {
            runs: vec![none; compared.experiments.len()],
            drawn: Instant::now(),
        });
        Frame { compared, state }
    }

    fn text(&self, runs: &[Vec<Vec<RunResult>>]) -> String {
        let experiments = self.compared.experiments.iter().zip(runs);
        let results = experiments.map(|(experiment, runs)| experiment.summaries(runs.clone()));
        let rows = self.compared.rows(&results.collect::<Vec<_>>());
        let rows: Vec<_> = rows.iter().collect();
        let mut text = self.compared.parameters();
        for (under, scheduler) in self.compared.scheduler_names().iter().enumerate() {
            let of = (under, &**scheduler);
            let table = metric_table(self.compared, &rows, of, Metric::WaitingDelay);
            text.push_str(&format!("\n\n{table}"));
        }
        text
    }
}

impl Above for Frame<'_> {
    fn first(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.text(&state.runs)
    }

    fn after(&self, place: usize, strategy: usize, run: &RunResult) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.runs[place][strategy].push(run.clone());
        if state.drawn.elapsed() < EVERY {
            return None;
        }
        state.drawn = Instant::now();
        Some(self.text(&state.runs))
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::compare::CompareArgs;
    use crate::settings::command_of;
    use meshalloc_sim::backend::InProcessBackends;
    use meshalloc_sim::experiment;

    #[test]
    fn cells_fill_as_replications_end() {
        let line = "arguments --mesh 8x8 --jobs 100 --replications 2 --load .2,.3 \
                    --strategy ff,naive --scheduler fcfs,easy";
        let matches = command_of::<CompareArgs>().get_matches_from(line.split_whitespace());
        let args = CompareArgs::from_arg_matches(&matches).unwrap();
        let compared = Comparison::new(&args).unwrap();
        let frame = Frame::new(&compared);
        // By scheduler, then by load: which of the two cells have a number.
        let filled = |text: &str| {
            let rows = text.lines().filter(|line| line.starts_with("0."));
            let row = |line: &str| {
                line.split("  ")
                    .filter(|it| !it.trim().is_empty())
                    .skip(1)
                    .map(|cell| cell.trim() != "…")
                    .collect::<Vec<_>>()
            };
            rows.map(row).collect::<Vec<_>>()
        };
        let [none, first] = [[false; 2], [true, false]];
        assert_eq!(filled(&frame.first()), [none; 4]);
        // The highest load goes first; of it the second experiment has the second scheduler.
        let backends = &mut InProcessBackends::default();
        let results = experiment::run(&compared.experiments[1], backends, &()).unwrap();
        frame.state.lock().unwrap().drawn -= EVERY;
        let text = frame.after(1, 0, &results[0].runs[0]).unwrap();
        assert_eq!(filled(&text), [none, none, none, first], "{text}");
        assert!(!text.contains('±'), "{text}");
        assert!(
            frame.after(1, 0, &results[0].runs[1]).is_none(),
            "too early"
        );
        frame.state.lock().unwrap().drawn -= EVERY;
        let text = frame.after(1, 1, &results[1].runs[0]).unwrap();
        assert_eq!(filled(&text), [none, none, none, [true; 2]], "{text}");
        assert!(text.contains('[') || text.contains('±'), "{text}");
    }
}
