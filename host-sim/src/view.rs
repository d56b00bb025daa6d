//! `view`: the first replication of a scenario as one HTML page that needs no network: the mesh
//! over time, strategies side by side. The page has the history of each run ([`data`]) and computes
//! the state at any time from it; lists of the running jobs every some hundred starts keep it from
//! reading a run from its beginning.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;
use maud::{Markup, PreEscaped, html};

use crate::failure::Failure;
use crate::file::{self, Output, Product, ReplaceArgs};
use crate::html;
use crate::identity::{PROGRAM, VERSION};
use crate::line::LineBackends;
use crate::outputs;
use crate::progress::Bar;
use crate::report;
use crate::settings::{self, FileArgs, Given, Takes};
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::history::{self, History};
use meshalloc_sim::parameters::without_estimate_text;
use meshalloc_sim::scenario::{Resolved, SettingError};
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::SharedLogs;

mod data;

const OUTPUT_DEFAULT: &str = "out/view.html";

const STYLE: &str = include_str!("view/view.css");
/// Scripts that read the data, compute the state at any time, draw, and handle the reader's input.
const SCRIPTS: [&str; 7] = [
    include_str!("view/data.js"),
    include_str!("view/time.js"),
    include_str!("view/places.js"),
    include_str!("view/draw.js"),
    include_str!("view/chart.js"),
    include_str!("view/job.js"),
    include_str!("view/page.js"),
];

/// The options of `view`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    options: Given<Self>,

    /// The file of the page (HTML); its folder is made if it does not exist
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = OUTPUT_DEFAULT, help_heading = "Where and how")]
    output: PathBuf,

    #[command(flatten)]
    replace: ReplaceArgs,
}

impl Takes for ViewArgs {
    const IGNORED: &'static [&'static str] = &[
        "replications",
        "until-rel-error",
        "until-abs-error",
        "max-replications",
        "slowdown-threshold",
    ];
}

pub(crate) fn view(args: &ViewArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let (scenario, origin) = args.options.over(args.file.path())?.scenario("view")?;
    let scenario = &scenario.resolve_of(origin)?;
    let path = &*args.output;
    let files = [("--scenario", args.file.path()), ("--output", Some(path))];
    file::spare(&scenario.files(), &files)?;
    outputs::check_only(path, true)?;
    let experiment = scenario.experiment(&SharedLogs::default())?;
    let page = Page::open(path, scenario, &experiment, args.replace)?;
    let line = page.write(&recorded(scenario, &experiment)?)?;
    Ok(writeln!(output, "{line}")?)
}

/// The first replication of each strategy, run for its history alone.
pub(crate) fn recorded(
    scenario: &Resolved,
    experiment: &Experiment,
) -> Result<Vec<History>, Failure> {
    let mut line;
    let mut in_process = InProcessBackends::default();
    let backends: &mut dyn Backends = match settings::endpoint_of(scenario)? {
        None => &mut in_process,
        Some(endpoint) => {
            line = LineBackends::open(&endpoint)?;
            &mut line
        }
    };
    let bar = Bar::interruptible()?;
    let histories = history::histories(experiment, backends, &bar);
    bar.clear();
    histories.map_err(Failure::from)
}

/// A page that is to be made of the first replication.
pub(crate) struct Page<'p> {
    file: Output,
    scenario: &'p Resolved,
    experiment: &'p Experiment,
}

impl<'p> Page<'p> {
    /// Checks before the runs whether the page can be made.
    pub(crate) fn open(
        path: &Path,
        scenario: &'p Resolved,
        experiment: &'p Experiment,
        replace: ReplaceArgs,
    ) -> Result<Self, String> {
        if experiment.backlog.is_some() && experiment.strategies.len() > 1 {
            let reason = "`backlog`: jobs arrive at other times under each strategy (expected one \
                          `strategy`)";
            return Err(scenario.place(&SettingError::new(&["backlog"], reason)));
        }
        Ok(Page {
            file: Output::open(path, Product::Page, replace)?,
            scenario,
            experiment,
        })
    }

    /// Writes the page. Returns the line about it.
    pub(crate) fn write(&self, histories: &[History]) -> Result<String, Failure> {
        let page = self.text(histories);
        self.file.write(&page)?;
        let jobs = histories.iter().map(|history| history.jobs.len()).max();
        let size = page.len() as f64 / 1e6;
        let (line, jobs) = (self.file.line("view"), counted(jobs.unwrap_or(0), "job"));
        Ok(format!("{line}, {jobs}, {size:.1} MB"))
    }

    fn text(&self, histories: &[History]) -> String {
        let Page {
            scenario,
            experiment,
            ..
        } = self;
        let data = data::data(experiment, histories);
        let title = format!("Jobs on a {}", report::machine_text(experiment));
        let mut subtitle = report::subtitle(scenario);
        let part = experiment.without_estimate();
        if part > 0.0 {
            subtitle.push_str("; ");
            subtitle.push_str(&without_estimate_text(part));
        }
        page(&title, &subtitle, &data)
    }
}

fn page(title: &str, subtitle: &str, data: &data::Data) -> String {
    let body = html! {
        header {
            h1 { (title) }
            p { (subtitle) }
            p #planes {}
        }
        main {
            (layers())
            p #failures .legend hidden {}
            div #meshes {}
            section #job aria-label="Job" {}
            div #charts {}
            noscript { p { "This page needs JavaScript." } }
        }
        (controls())
        footer {
            p {
                kbd { "Space" } " play, " kbd { "Left" } " " kbd { "Right" } " event by event, "
                kbd { "Page Up" } " " kbd { "Page Down" } " a hundredth, " kbd { "Home" } " " kbd { "End" } ", "
                kbd { "+" } " " kbd { "-" } " speed, " kbd { "Esc" } " lets go of a job. Click a job to keep it in sight in all strategies. "
                code { "#at=TIME&job=NUMBER&layer=NUMBER" } " behind the address opens the page there."
            }
            p { "Fragmented: processors that are free while the first job that waits asks for no more than there are. " (PROGRAM) " " (VERSION) "." }
        }
        script #meta type="application/json" { (PreEscaped(&data.meta)) }
        script #lists type="application/gzip;base64" { (PreEscaped(&data.lists)) }
        @for script in SCRIPTS { script { (PreEscaped(script)) } }
    };
    html::page(title, STYLE, &body)
}

/// A sign of 16 x 16 pixels. It is a picture since fonts may not have the character.
fn icon(path: &str) -> Markup {
    html! {
        svg.icon width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" { path d=(path) {} }
    }
}

/// Which layers of a machine of three or more dimensions are shown.
fn layers() -> Markup {
    html! {
        section #layers aria-label="Layers" hidden {
            label { input #alone type="checkbox"; " One layer" }
            input #layer type="range" min="0" max="0" step="1" value="0" aria-label="Layer";
            output #layer-name for="layer" {}
        }
    }
}

fn controls() -> Markup {
    html! {
        nav #controls aria-label="Time" {
            button #back type="button" title="One event back (left arrow)" {
                (icon("M2 2h2v12H2zM14 2v12L5 8z"))
            }
            button #play type="button" aria-pressed="false" title="Play or pause (Space)" {
                (icon("M3 2l11 6-11 6z"))
                (icon("M3 2h4v12H3zM9 2h4v12H9z"))
            }
            button #next type="button" title="One event on (right arrow)" {
                (icon("M2 2v12l9-6zM12 2h2v12h-2z"))
            }
            input #scrub type="range" min="0" max="100000" step="1" value="0" aria-label="Time";
            output #time {}
            span .speed {
                button #slower type="button" title="Half the speed (-)" { "−" }
                output #speed {}
                button #faster type="button" title="Twice the speed (+)" { "+" }
            }
        }
    }
}
