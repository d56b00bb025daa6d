//! `compare`: several strategies on one synthetic workload over several loads, as a table and a picture.

use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use clap::Args;
use clap::builder::ValueHint;
use meshalloc::{Mesh, SchedulerKind, StrategyKind};
use serde_json::json;

use crate::backend::InProcessBackends;
use crate::cli::Failure;
use crate::experiment::{self, Experiment, Replications, StrategyResult, WARMUP_FRACTION};
use crate::map::{self, MapArgs, PictureFile};
use crate::metrics::Metric;
use crate::names;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::report::{self, PROGRAM, VERSION, cell, shown, table, trimmed};
use crate::run::Bar;
use crate::scenario::{self, Format, MESH_DEFAULT};
use crate::workload::{Rate, ServiceDistribution, SizeDistribution, Synthetic, Workload};

/// What to compare; the defaults take well under a minute on two processors.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Columns and rows of the mesh, 1 to 1024 each
    #[arg(long, value_name = "WxH", value_parser = names::mesh, default_value = MESH_DEFAULT)]
    mesh: Mesh,

    /// Allocation strategies, separated by commas [default: ff,as,fsl,naive]
    #[arg(long, value_name = "NAME,...", value_parser = names::strategy, value_delimiter = ',')]
    strategy: Option<Vec<StrategyKind>>,

    /// Which waiting job may try
    #[arg(long, value_name = "NAME", value_parser = names::scheduler, default_value = "fcfs")]
    scheduler: SchedulerKind,

    /// Distribution of the side lengths of jobs, over 1 to the mesh's sides; `host-sim list` shows them
    #[arg(long, value_name = "NAME", value_parser = scenario::sizes, default_value = "uniform")]
    sizes: SizeDistribution,

    /// Offered loads, separated by commas: processor seconds requested per processor second there is
    #[arg(
        long,
        alias = "loads",
        value_name = "FRACTION,...",
        value_parser = names::positive, allow_negative_numbers = true,
        value_delimiter = ',',
        default_value = "0.25,0.30,0.35,0.40,0.45,0.50,0.55"
    )]
    load: Vec<f64>,

    /// Mean of the exponential service time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, default_value = "10")]
    mean_service: f64,

    /// Jobs in one replication, the first 5 % of which are not measured
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true, default_value = "40000")]
    jobs: u32,

    /// Runs of each strategy at each load, each with new jobs
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true, default_value = "8")]
    replications: u32,

    /// What all random numbers derive from, 0 to 2^64-1; the same seed gives the same jobs
    #[arg(long, value_name = "NUMBER", value_parser = scenario::seed, allow_negative_numbers = true, default_value = "1")]
    seed: u64,

    /// Where the picture goes; its folder is made if need be
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "out/compare.svg")]
    output: PathBuf,

    /// How results are written: table or json
    #[arg(long, value_name = "FORMAT", value_parser = scenario::format, default_value = "table")]
    format: Format,

    #[command(flatten, next_help_heading = "Map, under the highest load")]
    map: MapArgs,
}

/// All strategies at one load, in the order of the columns.
struct Row {
    load: f64,
    results: Vec<StrategyResult>,
}

/// What is compared unless said otherwise: a scan, a complete one, the best fit, and no contiguity at all.
const DEFAULT: [StrategyKind; 4] = [
    StrategyKind::FirstFit,
    StrategyKind::AdaptiveScan,
    StrategyKind::FreeSubmeshList,
    StrategyKind::Naive,
];

/// Compares, draws and reports.
///
/// # Errors
///
/// When the workload cannot be used, or the picture or the report cannot be written.
pub(crate) fn compare(args: &CompareArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let mut loads = args.load.clone();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let mut strategies = Vec::new();
    for kind in args.strategy.clone().unwrap_or_else(|| {
        DEFAULT
            .into_iter()
            .filter(|kind| kind.info().built)
            .collect()
    }) {
        if !strategies.contains(&kind) {
            strategies.push(kind);
        }
    }
    // Now rather than after a minute's work.
    let file = PictureFile::open(&args.output)?;
    let show = args.map.show(args.format == Format::Table)?;
    let rows = measure(args, &loads, &strategies)?;
    let picture = picture(args, &strategies, &rows);
    file.write(&plot::svg(&picture)?)?;
    match args.format {
        Format::Table => write_tables(args, &strategies, &rows, output)?,
        Format::Json => write_json(args, &strategies, &rows, output)?,
    }
    if let (Some((moment, show)), Some(&load)) = (show, loads.last()) {
        let experiment = Experiment {
            strategies,
            ..args.experiment(load, StrategyKind::FirstFit)
        };
        let maps = map::maps(
            &experiment,
            args.mesh,
            moment,
            &mut InProcessBackends::default(),
        );
        let maps = maps.map_err(|error| error.to_string())?;
        show.maps(&maps, &format!("load {load}, {}", parameters(args)), output)?;
    }
    Ok(())
}

impl CompareArgs {
    fn workload(&self, load: f64) -> Synthetic {
        let service = ServiceDistribution::Exponential {
            mean_seconds: self.mean_service,
        };
        Synthetic::new(self.mesh, self.sizes, service, Rate::Load(load))
    }

    fn experiment(&self, load: f64, strategy: StrategyKind) -> Experiment {
        Experiment {
            machine: self.mesh.into(),
            strategies: vec![strategy],
            scheduler: self.scheduler,
            workload: Workload::Synthetic(self.workload(load)),
            jobs: self.jobs,
            warmup_fraction: WARMUP_FRACTION,
            replications: Replications::Fixed(self.replications),
            seed: self.seed,
        }
    }
}

/// Every strategy at every load, as many at once as there are processors. An experiment depends on the seed
/// alone, so its result is the same in whichever order they run.
fn measure(
    args: &CompareArgs,
    loads: &[f64],
    strategies: &[StrategyKind],
) -> Result<Vec<Row>, String> {
    // The highest loads take longest, so they go first.
    let tasks = loads.iter().enumerate().rev();
    let tasks = tasks.flat_map(|(row, &load)| {
        let columns = strategies.iter().enumerate();
        columns.map(move |(column, &strategy)| (row, column, load, strategy))
    });
    let tasks = Mutex::new(tasks);
    let results = Mutex::new(Vec::new());
    let bar = Bar::new(measured_jobs(args, loads, strategies));
    let worker = || {
        loop {
            let next = tasks.lock().ok().and_then(|mut tasks| tasks.next());
            let Some((row, column, load, strategy)) = next else {
                return;
            };
            let experiment = args.experiment(load, strategy);
            let result = experiment::run(&experiment, &mut InProcessBackends::default(), &bar);
            if let Ok(mut results) = results.lock() {
                results.push(((row, column), result));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..threads.min(loads.len() * strategies.len()) {
            scope.spawn(worker);
        }
    });
    bar.clear();

    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(place, _)| *place);
    let mut rows: Vec<Row> = Vec::new();
    for ((row, _), result) in results {
        let result = result.map_err(|error| error.to_string())?;
        if row == rows.len() {
            let load = loads[row];
            rows.push(Row {
                load,
                results: Vec::new(),
            });
        }
        rows[row].results.extend(result);
    }
    Ok(rows)
}

/// The measured jobs of all runs; `None` where there are none, which each experiment says for itself.
fn measured_jobs(args: &CompareArgs, loads: &[f64], strategies: &[StrategyKind]) -> Option<u64> {
    let experiment = args.experiment(*loads.first()?, *strategies.first()?);
    let measured = experiment.measured().ok()?;
    let runs = loads.len() as u64 * strategies.len() as u64 * u64::from(args.replications);
    Some(runs * u64::from(measured.end - measured.first))
}

fn picture(args: &CompareArgs, strategies: &[StrategyKind], rows: &[Row]) -> Picture {
    let metric = Metric::WaitingDelay;
    let point = |row: &Row, column: usize| Point {
        x: row.load,
        y: shown(&row.results[column], metric).map(|estimate| Measured {
            mean: estimate.mean,
            half_width: estimate.ci95,
        }),
    };
    let series = strategies.iter().enumerate().map(|(column, kind)| Series {
        name: kind.name().to_owned(),
        points: rows.iter().map(|row| point(row, column)).collect(),
    });
    Picture {
        title: "Mean waiting delay".to_owned(),
        subtitle: parameters(args),
        x_label: "offered load (fraction of the processors)".to_owned(),
        x_scale: Scale::Linear,
        layout: Layout::Page,
        y_label: "mean waiting delay (s)".to_owned(),
        series: series.collect(),
    }
}

/// All parameters but the loads.
fn parameters(args: &CompareArgs) -> String {
    format!(
        "mesh {}, {} sides, mean service {} s, {}, {} x {} jobs, seed {}",
        args.mesh,
        args.sizes,
        args.mean_service,
        names::scheduler_text(args.scheduler),
        args.replications,
        args.jobs,
        args.seed
    )
}

fn write_tables(
    args: &CompareArgs,
    strategies: &[StrategyKind],
    rows: &[Row],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}", parameters(args))?;
    let titles = [
        (Metric::WaitingDelay, "Mean waiting delay (s)"),
        (Metric::AllocationMiss, "Allocation miss (%)"),
        (Metric::Utilization, "Utilization (%)"),
    ];
    for (metric, title) in titles {
        let names = strategies.iter().map(|kind| kind.name());
        let mut table = table(std::iter::once("load").chain(names));
        for row in rows {
            let cells = row.results.iter().map(|result| cell(result, metric));
            table.add_row(std::iter::once(row.load.to_string()).chain(cells));
        }
        writeln!(output, "\n{title}\n{}", trimmed(&table))?;
    }
    if args.replications > 1 {
        writeln!(output, "±: half-width of the 95 % confidence interval.")?;
    }
    let saturated = |row: &Row| row.results.iter().any(|result| result.saturated);
    if rows.iter().any(saturated) {
        writeln!(
            output,
            "saturated: the backlog grew over the run, so a mean would say how long the run was."
        )?;
    }
    writeln!(output, "picture: {}", args.output.display())?;
    Ok(())
}

fn write_json(
    args: &CompareArgs,
    strategies: &[StrategyKind],
    rows: &[Row],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let points: Vec<_> = rows
        .iter()
        .map(|row| {
            let results = row.results.iter();
            let results = results.map(|result| report::result_json(result, &row.results, None));
            json!({"load": row.load, "results": results.collect::<Vec<_>>()})
        })
        .collect();
    let names: Vec<_> = strategies.iter().map(|kind| kind.name()).collect();
    let loads: Vec<_> = rows.iter().map(|row| row.load).collect();
    let document = json!({
        "program": PROGRAM,
        "version": VERSION,
        "scenario": {
            "mesh": args.mesh.to_string(),
            "strategy": names,
            "scheduler": names::scheduler_text(args.scheduler),
            "sizes": args.sizes.to_string(),
            "load": loads,
            "mean-service": args.mean_service,
            "warmup": WARMUP_FRACTION,
            "jobs": args.jobs,
            "replications": args.replications,
        },
        "seed": args.seed,
        "picture": args.output.to_string_lossy(),
        "points": points,
    });
    serde_json::to_writer_pretty(&mut *output, &document).map_err(std::io::Error::from)?;
    writeln!(output)?;
    Ok(())
}
