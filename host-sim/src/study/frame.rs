//! The terminal while `compare` runs: the tables of the first metric, whose cells fill as
//! replications end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Study;
use crate::measured::Results;
use meshalloc_sim::simulation::RunResult;

/// The time between two frames, of which each summarizes all runs anew.
const EVERY: Duration = Duration::from_millis(100);

pub(super) struct Frame<'s> {
    study: &'s Study,
    state: Mutex<State>,
}

struct State {
    /// The runs that have ended, by point and strategy.
    runs: Vec<Vec<Vec<RunResult>>>,
    drawn: Instant,
}

impl<'s> Frame<'s> {
    pub(super) fn new(study: &'s Study) -> Self {
        let points = study.points.iter();
        let runs = points.map(|point| vec![Vec::new(); point.experiment.strategies.len()]);
        let state = Mutex::new(State {
            runs: runs.collect(),
            drawn: Instant::now(),
        });
        Frame { study, state }
    }

    fn text(&self, runs: &[Vec<Vec<RunResult>>]) -> String {
        let points = self.study.points.iter().zip(runs);
        let results = points.map(|(point, runs)| point.experiment.summaries(runs.clone()));
        let results: Results = results.collect();
        let metric = self.study.metrics()[0];
        let mut text = self.study.heading();
        for table in self.study.metric_tables(metric, &results, true) {
            text.push_str(&format!("\n\n{table}"));
        }
        text
    }

    /// The text before the first run.
    pub(crate) fn first(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.text(&state.runs)
    }

    /// The text after this run, as `Progress::ended` reports it; `None` if the text stays the same.
    pub(crate) fn after(&self, place: usize, strategy: usize, run: &RunResult) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The points are run from the last one on.
        let place = state.runs.len() - 1 - place;
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
    use std::path::Path;

    use super::*;
    use meshalloc_sim::backend::InProcessBackends;
    use meshalloc_sim::experiment;
    use meshalloc_sim::scenario::{self, Foreign};

    #[test]
    fn cells_fill_as_replications_end() {
        let text = "mesh = \"8x8\"\njobs = 100\nreplications = 2\nstrategy = [\"ff\", \"naive\"]\n\
                    load = [0.2, 0.3]\nscheduler = [\"fcfs\", \"easy\"]\n";
        let given = scenario::Study::of_text(text, Path::new("s.toml"), Foreign::default());
        let study = Study::new(given.unwrap(), &|_| Ok(()), None).unwrap();
        let frame = Frame::new(&study);
        // For each scheduler and then each load, whether each of the two cells has a number.
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
        // The last point goes first: of the highest load with the second scheduler.
        let backends = &mut InProcessBackends::default();
        let results = experiment::run(&study.points[3].experiment, backends, &()).unwrap();
        frame.state.lock().unwrap().drawn -= EVERY;
        let text = frame.after(0, 0, &results[0].runs[0]).unwrap();
        assert_eq!(filled(&text), [none, none, none, first], "{text}");
        assert!(!text.contains('±'), "{text}");
        assert!(
            frame.after(0, 0, &results[0].runs[1]).is_none(),
            "too early"
        );
        frame.state.lock().unwrap().drawn -= EVERY;
        let text = frame.after(0, 1, &results[1].runs[0]).unwrap();
        assert_eq!(filled(&text), [none, none, none, [true; 2]], "{text}");
        assert!(text.contains('[') || text.contains('±'), "{text}");
    }
}
