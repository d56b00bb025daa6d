//! One HTML page for a paper: figures, tables, claims and verdicts, with everything inside, so that
//! it can be read without a network and sent as one file.

use maud::{Markup, PreEscaped, html};

use crate::html;
use crate::identity::{PROGRAM, VERSION};
use crate::plot;
use crate::tables::refused_percent;
use meshalloc_papers::claims::{CLOCKED, Claim, Verdict, tally};
use meshalloc_papers::extent::Extent;
use meshalloc_papers::figure::{Curve, Figure, Panel};
use meshalloc_papers::measure::{Cell, Measurements, Shown};
use meshalloc_papers::paper::File;
use meshalloc_papers::setting::Setting;
use meshalloc_sim::experiment::{Measure, Replications, Stop};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::statistics::Sampling;
use meshalloc_sim::wording::counted;

pub(super) struct Content<'c> {
    pub(super) file: &'c File,
    pub(super) figures: &'c [Figure],
    pub(super) measurements: &'c Measurements,
    pub(super) claims: &'c [Claim],
    /// The reasons why figures are left out, one for each such figure.
    pub(super) left_out: &'c [String],
    pub(super) command: &'c str,
    pub(super) extent: &'c Extent,
}

const STYLE: &str = include_str!("page.css");

pub(super) fn page(content: &Content<'_>) -> Result<String, String> {
    let paper = content.file;
    let title = format!("{}, reproduced", paper.title);
    let numbers = names::each_once(content.figures.iter().map(|figure| figure.number));
    let sections: Result<Vec<Markup>, String> = numbers
        .iter()
        .map(|&number| section(content, number))
        .collect();
    let body = html! {
        header {
            h1 { (title) }
            p { (paper.source) "." }
        }
        main {
            (summary(content, &numbers))
            (settings(content))
            @for section in sections? { (section) }
        }
    };
    Ok(html::page(&title, STYLE, &body))
}

fn summary(content: &Content<'_>, numbers: &[u32]) -> Markup {
    let of_figure = |number: u32| {
        content
            .claims
            .iter()
            .filter(move |claim| claim.figure == number)
    };
    let has_claims = |number: u32| of_figure(number).next().is_some();
    html! {
        section {
            h2 { @if content.claims.is_empty() { "Figures" } @else { "Verdicts" } }
            @if !content.claims.is_empty() {
                p {
                    (tally(content.claims.iter()))
                    ". Every verdict is computed from the measurement by a rule, which stands beside the claim."
                }
            }
            ul.contents {
                @for &number in numbers {
                    li {
                        a href={ "#figure-" (number) } { "Figure " (number) }
                        @if has_claims(number) { ": " (tally(of_figure(number))) }
                    }
                }
            }
        }
    }
}

/// How everything was measured, as names and values. Only facts about the chosen figures are
/// listed.
fn facts(content: &Content<'_>) -> Vec<(&'static str, String)> {
    let extent = content.extent;
    let mut facts = vec![
        ("program", format!("{PROGRAM} {VERSION}")),
        ("command", content.command.to_owned()),
        ("length", extent.name.to_owned()),
    ];
    let figures = content.figures;
    let simulated = figures.iter().filter(|figure| !figure.is_clocked());
    let settings: Vec<&Setting> = simulated
        .flat_map(Figure::cells)
        .map(|cell| &cell.setting)
        .collect();
    let open = || settings.iter().filter(|setting| setting.rate().is_some());
    if let Some(setting) = open().next() {
        let jobs = extent.length.jobs;
        let measured = match setting.plan.measure {
            Measure::Arrivals { warmup_fraction } => format!(
                "{jobs}, of which the first {} % are not measured",
                warmup_fraction * 100.0
            ),
            Measure::Departures => format!("until {jobs} have left, and those are measured"),
        };
        facts.push(("jobs in a run", measured));
        let of_length = |setting: &Setting| extent.simulated(setting).replications;
        let usual = extent.length.replications;
        let mut text = replications(setting, usual);
        if open().any(|setting| of_length(setting) != usual) {
            let dense = replications(setting, extent.dense_replications);
            text.push_str(&format!(
                "; of all-to-all communication and of the largest slice {dense}"
            ));
        }
        facts.push(("replications", text));
    }
    if open().any(|setting| setting.is_short()) {
        let jobs = counted(extent.short_jobs, "job");
        let text = format!(
            "{jobs} in a run in which jobs wait at all times, or the largest slice is measured"
        );
        facts.push(("short runs", text));
    }
    let is_closed = |setting: &&Setting| setting.synthetic().is_some() && setting.rate().is_none();
    if let Some(setting) = settings.iter().copied().find(is_closed) {
        let replications = replications(setting, extent.closed_replications);
        let text = format!("{replications}; all jobs are there at time 0, and all are measured");
        facts.push(("closed runs", text));
    }
    let is_log = |setting: &&&Setting| setting.plan.workload.log().is_some();
    if let Some(setting) = settings.iter().find(is_log) {
        let replications = replications(setting, extent.length.replications);
        let text = format!(
            "{replications}, of whole weeks of the log, drawn with replacement; all jobs are measured"
        );
        facts.push(("logs", text));
    }
    if figures.iter().any(Figure::is_clocked) {
        let runs = match extent.clocked.replications {
            Replications::Fixed(count) => format!("{} of ", counted(count, "replication")),
            _ => String::new(),
        };
        facts.push((
            "search times",
            format!(
                "{runs}{}, one thread, the fastest of {} each",
                counted(extent.clocked.jobs, "job"),
                counted(extent.clocked_repeats, "time")
            ),
        ));
    }
    facts.extend([
        ("seed", extent.length.seed.to_string()),
        (
            "intervals",
            intervals(content.figures),
        ),
        (
            "gains",
            "in percent: 1 minus the ratio of the means, the one that is said to be smaller over the other; in points: \
             the mean difference; both over replications with the same jobs"
                .to_owned(),
        ),
    ]);
    facts
}

/// The meaning of the intervals, which depends on how the replications of these figures are made.
fn intervals(figures: &[Figure]) -> String {
    let any = |sampling| {
        let mut cells = figures.iter().flat_map(Figure::cells);
        cells.any(|cell| cell.setting.plan.workload.sampling() == sampling)
    };
    let mut kinds = Vec::new();
    if any(Sampling::Independent) {
        kinds.push(
            "over n independent replications: Student's t. Those of delays are computed on \
             logarithms and widened by 1 + 1/n; those of differences are symmetric",
        );
    }
    if any(Sampling::Resampled) {
        kinds.push(
            "of logs over replications resampled from one sample, whose standard deviation is the standard error (Carlstein 1986): more of \
             them do not narrow it",
        );
    }
    format!("95 %, {}", kinds.join("; "))
}

/// How often runs of this setting are made.
fn replications(setting: &Setting, replications: Replications) -> String {
    let (judged, unit, target, max) = match replications {
        Replications::Fixed(count) => return format!("{count} of every point"),
        Replications::UntilRelativeError { target, max } => {
            (setting.plan.judged(), "%", target, max)
        }
        Replications::UntilAbsoluteError { target, max } => {
            (Metric::Utilization, "points", target, max)
        }
    };
    let (judged, target) = (judged.words(), target * 100.0);
    format!("until the error of the {judged} is at most {target} {unit}, but no more than {max}")
}

fn settings(content: &Content<'_>) -> Markup {
    let rows = facts(content);
    html! {
        section {
            h2 { "Settings" }
            dl {
                @for (name, value) in &rows {
                    div {
                        dt { (name) }
                        dd { @if *name == "command" { code { (value) } } @else { (value) } }
                    }
                }
            }
            p {
                "Everything but the search times depends on the seed and the settings alone, and is the same on every \
                 machine and with any number of threads."
            }
            ul {
                @for remark in &content.file.remarks { li { (remark) } }
                @for missing in content.left_out { li { (missing) } }
            }
        }
    }
}

/// A figure, or all figures with one number: pictures, claims, tables.
fn section(content: &Content<'_>, number: u32) -> Result<Markup, String> {
    let figures: Vec<&Figure> = content
        .figures
        .iter()
        .filter(|figure| figure.number == number)
        .collect();
    let claims = content.claims.iter();
    let of_figure = claims.filter(|claim| claim.figure == number);
    let (clocked, simulated): (Vec<&Claim>, Vec<&Claim>) =
        of_figure.partition(|claim| claim.is_clocked);
    let caption = format!("Claims of figure {number}");
    let tables = [
        (&caption, &simulated),
        (&format!("{caption} {CLOCKED}"), &clocked),
    ];
    let mut shown = Vec::new();
    for (place, figure) in figures.iter().enumerate() {
        let mut pictures = Vec::new();
        for panel in &figure.panels {
            pictures.push(picture(figure, panel, content.measurements)?);
        }
        shown.push(html! {
            @if place == 0 {
                h2 id={ "figure-" (number) } { "Figure " (number) ": " (figure.title) }
            } @else {
                h3 { (figure.title) }
            }
            p { (figure.note) }
            div.panels { @for picture in pictures { (picture) } }
        });
    }
    Ok(html! {
        section {
            @for part in shown { (part) }
            @for (caption, claims) in tables {
                @if !claims.is_empty() { (claims_table(caption, claims)) }
            }
            @for figure in figures {
                @for panel in &figure.panels {
                    (panel_table(panel, figure.paper_replications, content.measurements))
                }
            }
        }
    })
}

fn picture(figure: &Figure, panel: &Panel, measurements: &Measurements) -> Result<Markup, String> {
    let svg = plot::svg(&super::figure::picture(panel, measurements))?;
    let name = format!(
        "Figure {}: {}, {}",
        figure.number, figure.title, panel.heading
    );
    let name = html! { (name) }.into_string();
    let svg = svg.element(format_args!("role=\"img\" aria-label=\"{name}\" "));
    Ok(html! { div.panel { (PreEscaped(svg)) } })
}

fn claims_table(caption: &str, claims: &[&Claim]) -> Markup {
    let table = html! {
        table.claims {
            caption { (caption) }
            thead {
                tr {
                    th scope="col" { "verdict" }
                    th scope="col" { "claim" }
                    th scope="col" { "paper" }
                    th scope="col" { "here" }
                }
            }
            tbody {
                @for claim in claims {
                    tr {
                        td { span class={ "verdict " (class(claim.judgement.verdict)) } { (claim.judgement.verdict) } }
                        td { (claim.text) }
                        td data-label="paper" {
                            (claim.paper.as_deref().unwrap_or("not in the paper"))
                        }
                        td data-label="here" {
                            (claim.judgement.ours)
                            details {
                                summary { "rule and points" }
                                p { (claim.judgement.rule) "." }
                                ul { @for detail in &claim.judgement.details { li { (detail) } } }
                            }
                        }
                    }
                }
            }
        }
    };
    scrolled(caption, &table)
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Weaker => "weaker",
        Verdict::DoesNotHold => "fails",
        Verdict::NotDecided => "open",
    }
}

/// The numbers of a panel, with a row for each place and a column for each curve. If the paper has
/// fewer replications, a second table below has the numbers over the first `first` replications.
fn panel_table(panel: &Panel, first: Option<usize>, measurements: &Measurements) -> Markup {
    let rows = panel.places.len();
    let caption = format!("{}: {}, {}", panel.heading, panel.label(), panel.parameters);
    let table = html! {
        table.numbers {
            caption { (caption) }
            thead {
                tr {
                    th scope="col" { (panel.axis.name) }
                    @for curve in &panel.curves { th scope="col" { (curve.name) } }
                }
            }
            tbody {
                @for row in 0..rows {
                    tr {
                        th scope="row" { (panel.places[row].entry) }
                        @for curve in &panel.curves {
                            td { (number(curve, row, panel.metric, measurements)) }
                        }
                    }
                    @if let Some(first) = first {
                        tr {
                            th scope="row" { "the first " (first) }
                            @for curve in &panel.curves {
                                td { (number_of_first(first, &curve.cells[row], panel.metric, measurements)) }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        details.data {
            summary { "Table: " (caption) }
            (scrolled(&caption, &table))
        }
    }
}

fn number(curve: &Curve, row: usize, metric: Metric, measurements: &Measurements) -> String {
    let cell = &curve.cells[row];
    let shown = measurements.shown(cell, curve.against(row), metric);
    let mut text = match &shown {
        Shown::Number { estimate, .. } => meshalloc_sim::wording::number(estimate, 1.0),
        Shown::Saturated => "saturated".to_owned(),
        Shown::Missing => "-".to_owned(),
    };
    if let Shown::Number {
        grows, saturated, ..
    } = shown
    {
        if grows {
            text.push_str(" (still grows with the length of the run)");
        }
        if saturated {
            text.push_str(" (saturated: depends on where the log ends)");
        }
    }
    let result = measurements.result(cell, metric);
    if let Some(refused) = result.and_then(refused_percent) {
        text.push_str(&format!(" ({refused} of the jobs never placed)"));
    }
    if result.map(|result| result.stop) == Some(Stop::CapReached) {
        text.push_str(" (less exact than asked)");
    }
    text
}

fn number_of_first(
    replications: usize,
    cell: &Cell,
    metric: Metric,
    measurements: &Measurements,
) -> String {
    let reading = measurements.reading(cell, metric);
    let estimate = reading.estimate_of_first(replications);
    estimate.map_or_else(
        || "-".to_owned(),
        |whole| meshalloc_sim::wording::number(&metric.cut(whole), metric.scale()),
    )
}

/// A container of its own, in which a wide table scrolls, also by keyboard.
fn scrolled(name: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(name) tabindex="0" { (table) } }
}
