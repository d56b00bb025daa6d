//! How long a paper is measured.

use super::length::Length;
use super::paper::Lengths;
use super::setting::Setting;
use meshalloc_sim::experiment::Replications;
use meshalloc_sim::workload::{Pattern, WorkDistribution};

/// The lengths of all runs.
#[derive(Clone, Debug)]
pub struct Extent {
    /// `quick` or `full`.
    pub name: &'static str,
    /// The length of runs whose jobs arrive over time.
    pub length: Length,
    /// Jobs in runs in which a number of them waits at all times, or the largest slice is measured.
    pub short_jobs: u32,
    /// The number of replications of runs whose jobs are all there at time 0.
    pub closed_replications: Replications,
    /// The number of replications of runs in which every processor sends to every other of its job,
    /// or the largest slice is measured.
    pub dense_replications: Replications,
    /// The length of runs that are measured with a clock.
    pub clocked: Length,
    /// How often each run with a clock is made; the least time counts. These runs do the same work,
    /// and other work of the machine only makes them longer.
    pub clocked_repeats: u32,
}

impl Extent {
    /// The paper's lengths; `jobs` and `replications` replace their numbers if given.
    pub fn new(
        name: &'static str,
        lengths: &Lengths,
        jobs: Option<u32>,
        replications: Option<u32>,
        seed: u64,
    ) -> Self {
        let fixed = |count| Replications::Fixed(replications.unwrap_or(count));
        let length = Length {
            jobs: jobs.unwrap_or(lengths.jobs),
            replications: replications.map_or(lengths.replications(), Replications::Fixed),
            seed,
        };
        Extent {
            name,
            length,
            short_jobs: jobs.or(lengths.short_jobs).unwrap_or(length.jobs),
            closed_replications: lengths
                .closed_replications
                .map_or(length.replications, fixed),
            dense_replications: lengths
                .dense_replications
                .map_or(length.replications, fixed),
            clocked: Length {
                jobs: length.jobs.min(lengths.clocked_jobs),
                replications: fixed(lengths.clocked_replications),
                seed,
            },
            clocked_repeats: lengths.clocked_repeats,
        }
    }

    /// The length of simulated runs of this setting.
    pub fn simulated(&self, setting: &Setting) -> Length {
        let Some(workload) = setting.synthetic() else {
            return self.length;
        };
        if let Some(jobs) = workload.arrivals.batch() {
            return Length {
                jobs,
                replications: self.closed_replications,
                ..self.length
            };
        }
        let replications = match &workload.work {
            WorkDistribution::Messages(messages)
                if messages.patterns.as_slice().contains(&Pattern::AllToAll) =>
            {
                self.dense_replications
            }
            _ if setting.plan.switches.largest => self.dense_replications,
            _ => self.length.replications,
        };
        let jobs = if setting.is_short() {
            self.short_jobs
        } else {
            self.length.jobs
        };
        Length {
            jobs,
            replications,
            ..self.length
        }
    }
}
