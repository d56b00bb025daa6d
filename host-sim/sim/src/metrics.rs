//! What is measured: the [`Metric`]s and their values. A new metric is one row in [`Metric`]'s
//! table and one assignment in the simulation; reports go through [`Metric::ALL`].

use std::ops::{Index, IndexMut};

use meshalloc::Refusal;
use serde::{Deserialize, Serialize};

use crate::statistics::{Estimate, Interval, Spread};
use crate::time::TimeUnit;

/// Run times count as at least this in the bounded slowdown unless another threshold is given, in
/// the unit of the workload's times: 10 seconds, as most of the literature has it.
pub const SLOWDOWN_THRESHOLD: f64 = 10.0;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Virtual time, in the workload's unit.
    Time,
    /// The square of a time.
    SquareTime,
    /// A part of 1.
    Fraction,
    /// A number of things.
    Count,
    /// Seconds on the wall clock.
    WallSeconds,
}

impl Unit {
    /// In words: in results for programs, and in tables where that is another one.
    pub const fn words(self) -> &'static str {
        match self {
            Unit::Time => "seconds; cycles where jobs send messages",
            Unit::SquareTime => "seconds squared; cycles squared where jobs send messages",
            Unit::Fraction => "a part of 1; in tables percent",
            Unit::Count => "a number",
            Unit::WallSeconds => "seconds on the wall clock; in tables microseconds",
        }
    }

    /// The unit of [`Metric::scale`] times the value, where times are in this unit.
    fn symbol(self, time: &str) -> String {
        match self {
            Unit::Time => time.to_owned(),
            Unit::SquareTime => format!("{time}²"),
            Unit::Fraction => "%".to_owned(),
            Unit::Count => String::new(),
            Unit::WallSeconds => "µs".to_owned(),
        }
    }
}

/// A fact about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    /// The metric is about the run, not about the jobs that were served.
    OfTheRun,
    /// Only runs with this setting or option have the metric.
    Needs(&'static str),
    DependsOnLength,
    /// The metric's values are skewed from replication to replication.
    Skewed,
}

macro_rules! metrics {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident, $name:literal, $unit:ident, $source:literal,
            [$($fact:ident $(($key:literal))?),*],
            $label:literal, $heading:literal;
    )*) => {
        /// A number that comes out of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Metric {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Metric {
            /// Every metric, in the order of reports.
            pub const ALL: [Metric; [$($name),*].len()] = [$(Metric::$variant),*];

            /// The name in machine-readable output.
            pub const fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name,)* }
            }

            /// The unit in which it is measured.
            pub const fn unit(self) -> Unit {
                match self { $(Metric::$variant => Unit::$unit,)* }
            }

            /// Who defines it so, or measures it first.
            pub const fn source(self) -> &'static str {
                match self { $(Metric::$variant => $source,)* }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Metric::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            const fn facts(self) -> &'static [Fact] {
                match self { $(Metric::$variant => &[$(Fact::$fact $(($key))?),*],)* }
            }

            /// Its name in words, with the unit of [`Metric::scale`] times the value, where times
            /// are in the unit of this symbol.
            pub fn label(self, time: &str) -> String {
                let label = match self { $(Metric::$variant => $label,)* };
                label.replace("{}", &self.unit().symbol(time))
            }

            /// The same in a few short lines, over a column.
            pub fn heading(self, time: &str) -> String {
                let heading = match self { $(Metric::$variant => $heading,)* };
                heading.replace("{}", &self.unit().symbol(time))
            }

            /// The name with the unit in which people read it, for files of numbers:
            /// [`Metric::scale`] times the value.
            pub fn column(self, unit: TimeUnit) -> String {
                let time = match unit {
                    TimeUnit::Second => "s",
                    TimeUnit::Cycle => "cycles",
                };
                let name = self.name();
                match self.unit() {
                    Unit::Time => format!("{name}_{time}"),
                    Unit::SquareTime => format!("{name}_{time}2"),
                    Unit::Fraction => format!("{name}_percent"),
                    Unit::WallSeconds => format!("{name}_us"),
                    Unit::Count => name.to_owned(),
                }
            }

            /// The factor by which the value is multiplied for people: fractions become
            /// percentages, times on the wall clock become microseconds.
            pub const fn scale(self) -> f64 {
                match self.unit() {
                    Unit::Fraction => 100.0,
                    Unit::WallSeconds => 1e6,
                    Unit::Time | Unit::SquareTime | Unit::Count => 1.0,
                }
            }

            /// The estimate with the interval of a fraction cut at 0 and 1, as people and programs
            /// read it. Rules that judge an interval take the whole arms.
            pub fn cut(self, estimate: Estimate) -> Estimate {
                let ci95 = estimate.ci95.map(|whole| match self.unit() {
                    Unit::Fraction => Interval {
                        low: whole.low.clamp(0.0, 1.0),
                        high: whole.high.clamp(0.0, 1.0),
                    },
                    _ => whole,
                });
                Estimate { ci95, ..estimate }
            }

            /// Whether the same seed gives the same value. A metric that is not reproducible has no
            /// place in results that must be the same in every byte.
            pub const fn is_reproducible(self) -> bool {
                !matches!(self.unit(), Unit::WallSeconds)
            }
        }
    };
}

// Name, unit, source, facts; in words and over a column, where `{}` stands for the unit.
metrics! {
    /// Mean time from arrival to allocation.
    WaitingDelay, "waiting_delay", Time,
        "Kim and Yoon 1995", [DependsOnLength],
        "mean waiting delay ({})", "waiting\ndelay ({})";
    /// Mean time from arrival to departure.
    Turnaround, "turnaround", Time,
        "Chang and Mohapatra", [DependsOnLength],
        "mean turnaround ({})", "turnaround\n({})";
    /// Sample variance of the time from arrival to departure.
    TurnaroundVariance, "turnaround_variance", SquareTime,
        "Chang and Mohapatra", [DependsOnLength],
        "variance of the turnaround ({})", "turnaround\nvariance ({})";
    /// Mean time from allocation to departure.
    ServiceTime, "service_time", Time,
        "Alshdefat 2019", [],
        "mean service time ({})", "service\ntime ({})";
    /// Requested processors in use, as a part of all, averaged over the time from the arrival of
    /// the first measured job to that of the last. Where departures are measured: from time 0 to
    /// the last of them.
    Utilization, "utilization", Fraction,
        "Chuang and Wu", [OfTheRun],
        "processor utilization ({})", "utilization\n({})";
    /// Failed attempts with at least as many free processors as requested, as a part of all such
    /// attempts. A strategy that grants submeshes needs as many as the requested submesh has.
    /// Attempts that a reservation of another job refuses count, too.
    AllocationMiss, "allocation_miss", Fraction,
        "Kim and Yoon 1995", [OfTheRun],
        "allocation miss ({} of valid attempts)", "allocation\nmiss ({})";
    /// Processors held beyond those requested, as a part of those held, summed over jobs.
    InternalFragmentation, "internal_fragmentation", Fraction,
        "Chuang and Wu", [],
        "internal fragmentation ({} of those held)", "int. frag-\nment. ({})";
    /// Time from the start of the workload to the departure of the last measured job.
    CompletionTime, "completion_time", Time,
        "Liu, Hsu and Wu", [OfTheRun],
        "completion time ({})", "last departure\n({})";
    /// Measured jobs that were served.
    Jobs, "jobs", Count,
        "this project", [OfTheRun],
        "jobs", "jobs";
    /// Mean wall-clock time of the controller for the submit and release of a job, and for its
    /// returns to the queue after failures, with all attempts that follow from them; only with
    /// `--search-time`.
    SearchTime, "search_time", WallSeconds,
        "Kim and Yoon 1995", [OfTheRun, Needs("search-time")],
        "mean search time ({} a job)", "search\n({}/job)";
    /// Free processors, as a part of all, averaged over the same time as the utilization. They
    /// count only while the first job of the queue needs no more than are free, by the rule of the
    /// allocation miss. Processors that a job holds beyond its request are not free. The paper does
    /// not define it; the average over time is this project's.
    ExternalFragmentation, "external_fragmentation", Fraction,
        "Chuang and Wu", [OfTheRun],
        "external fragmentation ({} of all)", "ext. frag-\nment. ({})";
    /// Jobs that wait when the last measured job arrives, without this one. Not measured where
    /// departures are.
    WaitingAtEnd, "waiting_at_last_arrival", Count,
        "this project", [OfTheRun, Skewed],
        "jobs waiting at the last arrival", "waiting_at_last_arrival";
    /// Mean time of a message of a measured job from its request for the injection channel to the
    /// delivery of its last flit.
    MessageLatency, "message_latency", Time,
        "this project", [Needs("pattern")],
        "mean message latency ({})", "message\nlatency ({})";
    /// Mean number of channels between nodes that a message of a measured job crosses.
    Hops, "hops", Count,
        "this project", [Needs("pattern")],
        "hops", "hops";
    /// Mean delay of a message of a measured job, compared with an empty network.
    BlockedTime, "blocked_time", Time,
        "Lo, Windisch, Liu and Nitzberg 1997", [Needs("pattern"), Skewed],
        "mean blocked time of a message ({})", "blocked\ntime ({})";
    /// Mean over jobs of the mean distance between two processors of the job, in hops; a job with
    /// one processor counts as 0.
    Dispersal, "dispersal", Count,
        "Leung and others 2002", [],
        "dispersal", "dispersal\n(hops)";
    /// Mean number of blocks of a job, as its strategy lists them.
    Blocks, "blocks", Count,
        "this project", [],
        "blocks", "blocks\na job";
    /// Jobs whose processors are connected through each other, as a part of all.
    ContiguousShare, "contiguous_share", Fraction,
        "this project", [],
        "contiguous share ({})", "contiguous\n({})";
    /// Mean over jobs of the processors held, as a part of the smallest box around them.
    BoundingBoxShare, "bounding_box_share", Fraction,
        "Lo, Windisch, Liu and Nitzberg 1997: 1 minus their dispersal", [],
        "bounding box share ({})", "bounding\nbox ({})";
    /// Mean over jobs of the turnaround, divided by the service time or by the threshold
    /// (`--slowdown-threshold`), whichever is longer, and at least 1.
    BoundedSlowdown, "bounded_slowdown", Count,
        "Feitelson and others 1997", [DependsOnLength],
        "mean bounded slowdown", "bounded\nslowdown";
    /// Median of the time from arrival to allocation; for an even number of jobs, halfway between
    /// the two in the middle.
    WaitingMedian, "waiting_delay_median", Time,
        "this project", [DependsOnLength],
        "waiting delay median ({})", "waiting\nmedian ({})";
    /// 95th percentile of the time from arrival to allocation, interpolated between two jobs
    /// (definition 8 of Hyndman and Fan 1996).
    WaitingP95, "waiting_delay_p95", Time,
        "this project", [DependsOnLength],
        "waiting delay p95 ({})", "waiting\n95 % ({})";
    /// 99th percentile of the time from arrival to allocation, interpolated between two jobs
    /// (definition 8 of Hyndman and Fan 1996).
    WaitingP99, "waiting_delay_p99", Time,
        "this project", [DependsOnLength],
        "waiting delay p99 ({})", "waiting\n99 % ({})";
    /// Processors of the largest slice that the strategy could place, averaged over the same time
    /// as the utilization; only with `--largest`.
    LargestSlice, "largest_slice", Count,
        "this project", [OfTheRun, Needs("largest")],
        "largest slice", "largest_slice";
    /// Processors that no job holds, averaged over the same time; only with `--largest`.
    FreeProcessors, "free_processors", Count,
        "this project", [OfTheRun, Needs("largest")],
        "free processors", "free_processors";
    /// The largest slice as a part of the free processors, both averaged over that time; only with
    /// `--largest`.
    LargestShare, "largest_share", Fraction,
        "this project", [OfTheRun, Needs("largest")],
        "largest share ({})", "largest_share";
    /// Processors that have not failed, as a part of all, averaged over the same time as the
    /// utilization; only with failures.
    Availability, "availability", Fraction,
        "this project", [OfTheRun, Needs("failures")],
        "availability ({})", "availability\n({})";
    /// Number of times that measured jobs started again after a failure; only with failures.
    Restarts, "restarts", Count,
        "this project", [Needs("failures")],
        "restarts", "restarts";
    /// Mean time from a failure that interrupts a measured job until the job starts again; only
    /// with failures.
    RestartTime, "restart_time", Time,
        "this project", [Needs("failures")],
        "restart time ({})", "restart\ntime ({})";
    /// Requested processors of measured jobs, times the hours that these jobs lost by failures: all
    /// since the start or the last complete checkpoint; only with failures.
    LostNodeHours, "lost_node_hours", Count,
        "this project", [Needs("failures")],
        "lost node hours", "lost node-\nhours";
    /// Mean time that a job waits because it does not fit while processors are faulty; only with
    /// `--reasons`.
    WaitFaults, "wait_faults", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for repairs ({})", "wait:\nfaults ({})";
    /// Mean time that a job waits because the scheduler tries other jobs first; only with
    /// `--reasons`.
    WaitTurn, "wait_turn", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for its turn ({})", "wait:\nturn ({})";
    /// Mean time that a job waits because fewer processors are free than it needs; only with
    /// `--reasons`.
    WaitFree, "wait_free", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for free processors ({})", "wait:\nfree ({})";
    /// Mean time that a job waits because it would fit only without the rings that it demands; only
    /// with `--reasons`.
    WaitRing, "wait_ring", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for rings ({})", "wait:\nring ({})";
    /// Mean time that a job waits because the strategy finds no place among enough free processors;
    /// only with `--reasons`.
    WaitFragmented, "wait_fragmented", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting by fragmentation ({})", "wait:\nfragm. ({})";
    /// Mean time that a job waits because it fits, but would delay a job that has a reservation;
    /// only with `--reasons`.
    WaitReservation, "wait_reservation", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting behind reservations ({})", "wait:\nreserv. ({})";
    /// Mean time that a job waits because it fits, and the scheduler has not tried it yet; only
    /// with `--reasons`.
    WaitUntried, "wait_untried", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting untried ({})", "wait:\nuntried ({})";
    /// Mean time that a job waits because the controller has no room for it yet; only with
    /// `--reasons`.
    WaitTable, "wait_table", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for the table ({})", "wait:\ntable ({})";
    /// Mean time that a job waits because slices of its gang have places, but not all of them at
    /// once; only with `--reasons`.
    WaitGang, "wait_gang", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting for the whole gang ({})", "wait:\ngang ({})";
    /// Mean time that a job waits because the search found no place, or none for all slices of its
    /// gang, and gave up before it had looked everywhere; only with `--reasons`.
    WaitUnsearched, "wait_unsearched", Time,
        "this project", [Needs("reasons"), Skewed],
        "mean time waiting, not searched to the end ({})", "wait:\nunsear. ({})";
    /// Jobs that ended at their estimate before their work was done, as a part of all; only with
    /// `--kill-at-estimate`.
    KilledShare, "killed_share", Fraction,
        "this project", [Needs("kill-at-estimate")],
        "killed jobs ({} of all)", "killed\n({})";
    /// Number of times that measured jobs made room for one of a higher priority; only with
    /// `--preemption`.
    Preemptions, "preemptions", Count,
        "this project", [Needs("preemption")],
        "preemptions", "preemp-\ntions";
    /// Requested processors of measured jobs, times the hours that these jobs lost when they made
    /// room: all since the start or the last complete checkpoint; only with `--preemption`.
    PreemptedNodeHours, "preempted_node_hours", Count,
        "this project", [Needs("preemption")],
        "preempted node hours", "preempted\nnode-hours";
}

/// One value for each metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    into = "Vec<T>",
    try_from = "Vec<T>",
    bound(serialize = "T: Clone + Serialize")
)]
pub struct PerMetric<T>([T; Metric::ALL.len()]);

impl<T> From<PerMetric<T>> for Vec<T> {
    fn from(values: PerMetric<T>) -> Self {
        values.0.into()
    }
}

impl<T> TryFrom<Vec<T>> for PerMetric<T> {
    type Error = &'static str;

    fn try_from(values: Vec<T>) -> Result<Self, Self::Error> {
        let values = values.try_into().map(PerMetric);
        values.map_err(|_| "expected a value for each metric")
    }
}

impl<T> PerMetric<T> {
    /// The value that `f` gives for each metric.
    pub fn from_fn(mut f: impl FnMut(Metric) -> T) -> Self {
        PerMetric(std::array::from_fn(|i| f(Metric::ALL[i])))
    }

    /// Metrics with their values, in the order of [`Metric::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &T)> {
        Metric::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Metric> for PerMetric<T> {
    type Output = T;

    fn index(&self, metric: Metric) -> &T {
        &self.0[metric as usize]
    }
}

impl<T> IndexMut<Metric> for PerMetric<T> {
    fn index_mut(&mut self, metric: Metric) -> &mut T {
        &mut self.0[metric as usize]
    }
}

/// The values of one run; `None` where there was nothing to measure, for instance the variance of
/// one job.
pub type RunValues = PerMetric<Option<f64>>;

/// The estimates from all replications together.
pub type Estimates = PerMetric<Option<Estimate>>;

/// How many jobs were refused for good, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals([u64; Refusal::ALL.len()]);

impl Refusals {
    /// Counts one refusal.
    pub fn add(&mut self, reason: Refusal) {
        if let Some(place) = Refusal::ALL.iter().position(|&known| known == reason) {
            self.0[place] += 1;
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Refusals) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        let all = Refusal::ALL.into_iter().zip(self.0);
        all.filter(|&(_, count)| count > 0)
    }

    /// The number of all refusals.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Metric {
    /// Its name in words.
    pub fn words(self) -> String {
        let label = self.label(TimeUnit::Second.symbol());
        label.split(" (").next().unwrap_or_default().to_owned()
    }

    /// The setting of a scenario, or the option of `run`, without which no run has the metric.
    pub fn needs(self) -> Option<&'static str> {
        self.facts().iter().find_map(|fact| match fact {
            Fact::Needs(key) => Some(*key),
            Fact::OfTheRun | Fact::DependsOnLength | Fact::Skewed => None,
        })
    }

    /// Whether the metric is about the jobs that were served, so that jobs without a place are
    /// missing in it.
    pub fn is_of_served_jobs(self) -> bool {
        !self.facts().contains(&Fact::OfTheRun)
    }

    /// How its values spread from replication to replication. The example `intervals` measures how
    /// often the interval of each metric holds the true mean.
    pub fn spread(self) -> Spread {
        let facts = self.facts();
        if facts.contains(&Fact::DependsOnLength) || facts.contains(&Fact::Skewed) {
            Spread::Skewed
        } else {
            Spread::Even
        }
    }

    /// Whether it depends on the length of the run where the backlog grows.
    pub fn depends_on_length(self) -> bool {
        self.facts().contains(&Fact::DependsOnLength)
    }
}
