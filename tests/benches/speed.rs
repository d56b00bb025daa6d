//! How long the strategies for meshes search, and how long a whole replication takes. For grids of
//! any number of dimensions there is the bench `grids`.
//!
//! ```text
//! cargo bench -p meshalloc-tests --bench speed [-- STRATEGY...]
//! ```
//!
//! With names of strategies only their search times are measured.
//!
//! The paper's *mean search time* is the time spent in allocation attempts and in the release, per
//! job. Here the commands of a simulated run are recorded (first come, first served, sides uniform
//! on 1 to the mesh's, load .47, mean service 10 s) and then given to a new controller, with
//! nothing else in between. Times are CPU times of the thread, and of several rounds the shortest
//! counts: other processes only make it longer.
//!
//! The exit code is 1 if a target is missed:
//!
//! - the free submesh list searches less than 1.5 times as long on 512 x 512 as on 16 x 16;
//! - on 512 x 512 a strategy takes as long for a job as [`MICROSECONDS_MAX`] says, or longer;
//! - one replication of 100,000 jobs with the free submesh list on 64 x 64, everything included,
//!   takes less than .1 s.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use cpu_time::ThreadTime;
use meshalloc::{Change, Configuration, Controller, Description, StrategyKind, Ticks};
use meshalloc_sim::backend::{
    Around, Backend, BackendError, Backends, InProcess, InProcessBackends, heap_storage,
};
use meshalloc_sim::experiment::{self, Experiment};
use meshalloc_sim::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};
use meshalloc_tests::bench;
use meshalloc_tests::rig::mesh;

const SIDES: [u16; 6] = [16, 32, 64, 128, 256, 512];
const LOAD: f64 = 0.47;
const JOBS: u32 = 4000;
const ROUNDS: usize = 9;
/// Rounds of a slow strategy end when they have taken this long in all.
const ROUNDS_SECONDS_MAX: f64 = 1.0;
/// Room for jobs. Further jobs wait in the simulation.
const ROOM: usize = 1024;
const SEED: u64 = 1995;

const GROWTH_MAX: f64 = 1.5;
/// For a job on 512 x 512, where two or three run at a time.
const MICROSECONDS_MAX: [(StrategyKind, f64); 8] = [
    (StrategyKind::FirstFit, 1.5),
    (StrategyKind::AdaptiveScan, 1.5),
    (StrategyKind::AllShapes, 1.5),
    (StrategyKind::FlexFold, 1.5),
    (StrategyKind::FixedOrientation, 1.5),
    (StrategyKind::BestFit, 2.0),
    (StrategyKind::BusyList, 2.0),
    (StrategyKind::Buddy, 1.0),
];
const REPLICATION_JOBS: u32 = 100_000;
const REPLICATION_SECONDS_MAX: f64 = 0.1;

fn scenario(side: u16, strategy: StrategyKind, jobs: u32) -> Experiment {
    let mesh = mesh(side, side);
    let workload = Synthetic::new(
        mesh,
        SideDistribution::Uniform,
        ServiceDistribution::Exponential { mean_seconds: 10.0 },
        Rate::Load(LOAD),
    );
    Experiment {
        seed: SEED,
        ..Experiment::new(Workload::Synthetic(workload), jobs, &[strategy])
    }
}

/// Records the commands that its controllers get.
#[derive(Default)]
struct RecorderBackends {
    configuration: Option<Configuration>,
    commands: Vec<(Change, Ticks)>,
}

impl Backends for RecorderBackends {
    fn with(
        &mut self,
        configuration: Configuration,
        _: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        self.configuration = Some(configuration);
        let mut storage = heap_storage(configuration.machine, None, configuration.strategy, ROOM);
        let mut inner = InProcess::new(storage.memory(), configuration)?;
        let commands = &mut self.commands;
        body(&mut Around::new(
            &mut inner,
            |inner, change, now, on_event| {
                commands.push((*change, now));
                inner.call(change, now, on_event)
            },
        ));
        Ok(())
    }
}

/// The shortest time of several rounds.
fn shortest(mut round: impl FnMut() -> Duration) -> Duration {
    let mut rounds = vec![round()];
    let total = |rounds: &[Duration]| rounds.iter().sum::<Duration>().as_secs_f64();
    while rounds.len() < ROUNDS && total(&rounds) < ROUNDS_SECONDS_MAX {
        rounds.push(round());
    }
    rounds.into_iter().min().expect("at least one round")
}

/// The time of the commands of one run.
#[derive(Clone, Copy)]
struct Search {
    microseconds_per_job: f64,
    attempts_per_job: f64,
}

fn search(side: u16, strategy: StrategyKind) -> Search {
    let mut recorder = RecorderBackends::default();
    let experiment = scenario(side, strategy, JOBS);
    experiment::run_once(&experiment, strategy, 0, &mut recorder, &()).expect("a sound scenario");
    let configuration = recorder.configuration.expect("the run took place");
    let mut storage = heap_storage(configuration.machine, None, configuration.strategy, ROOM);
    let mut statistics = None;
    let time = shortest(|| {
        let mut controller =
            Controller::new(storage.memory(), configuration).expect("it has served already");
        let start = ThreadTime::now();
        for &(ref command, now) in &recorder.commands {
            let _ = black_box(controller.handle(command, now));
        }
        let time = start.elapsed();
        statistics = Some(controller.statistics());
        time
    });
    let statistics = statistics.expect("at least one round");
    let microseconds = time.as_secs_f64() * 1e6;
    let jobs = statistics.counts.granted as f64;
    Search {
        microseconds_per_job: microseconds / jobs,
        attempts_per_job: statistics.counts.attempts as f64 / jobs,
    }
}

/// Prints the search times of the strategies. Returns the missed targets.
fn search_times(strategies: &[StrategyKind]) -> Vec<String> {
    println!("mean search time, microseconds a job: uniform sides, load {LOAD}, {JOBS} jobs\n");
    print!("{:<18}", "strategy");
    SIDES
        .iter()
        .for_each(|side| print!(" {:>9}", format!("{side}x{side}")));
    println!(" {:>8} {:>13}", "512/16", "attempts/job");
    let mut wrong = Vec::new();
    for &strategy in strategies {
        let searches = SIDES.map(|side| search(side, strategy));
        let times = searches.map(|search| search.microseconds_per_job);
        let growth = times[SIDES.len() - 1] / times[0];
        print!("{:<18}", strategy.name());
        times.iter().for_each(|time| print!(" {time:>9.3}"));
        let largest = searches[SIDES.len() - 1];
        println!(" {growth:>8.2} {:>13.2}", largest.attempts_per_job);
        if strategy == StrategyKind::FreeSubmeshList && growth >= GROWTH_MAX {
            wrong.push(format!(
                "{strategy} searches {growth:.2} times as long on 512x512 as on 16x16, expected less than {GROWTH_MAX}"
            ));
        }
        let target = MICROSECONDS_MAX.iter().find(|(kind, _)| *kind == strategy);
        let time = largest.microseconds_per_job;
        if let Some((_, most)) = target.filter(|&&(_, most)| time >= most) {
            wrong.push(format!(
                "{strategy} takes {time:.2} microseconds a job on 512x512, expected less than {most}"
            ));
        }
    }
    wrong
}

/// Prints the time of one whole replication. Returns the missed target.
fn replication() -> Option<String> {
    let strategy = StrategyKind::FreeSubmeshList;
    let experiment = scenario(64, strategy, REPLICATION_JOBS);
    let time = shortest(|| {
        let start = ThreadTime::now();
        let mut backends = InProcessBackends::default();
        let result = experiment::run_once(&experiment, strategy, 0, &mut backends, &());
        black_box(result.expect("a sound scenario"));
        start.elapsed()
    });
    let seconds = time.as_secs_f64();
    println!(
        "one replication of {REPLICATION_JOBS} jobs, {strategy}, fcfs, 64x64, load {LOAD}: {seconds:.4} s of CPU\n"
    );
    (seconds >= REPLICATION_SECONDS_MAX).then(|| {
        format!("a replication takes {seconds:.3} s, expected less than {REPLICATION_SECONDS_MAX}")
    })
}

/// The strategies for meshes in this build.
fn built() -> impl Iterator<Item = StrategyKind> {
    let mesh = mesh(SIDES[0], SIDES[0]).grid();
    StrategyKind::built().filter(move |kind| kind.serves().includes(&mesh))
}

fn main() -> ExitCode {
    bench::main(built(), |named| {
        if !named.is_empty() {
            return search_times(named);
        }
        let mut wrong: Vec<String> = replication().into_iter().collect();
        wrong.extend(search_times(&built().collect::<Vec<StrategyKind>>()));
        wrong
    })
}
