//! The pages of `docs/reference/`, man pages and JSON Schemas, made from the definitions that the
//! program uses.
//!
//! Each page is Markdown. `cargo xtask docs` writes them, and `tests/it/reference.rs` compares
//! them. `cargo xtask reference` writes everything.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, ArgAction, Command, ValueEnum};
use meshalloc::{SchedulerKind, StrategyKind};

use crate::cli;
use crate::failure;
use crate::list::{self, strategy_parameters};
use crate::schema::schemas;
use crate::settings;
use meshalloc_sim::metrics::Metric;

type Page = fn(&Command, &mut dyn Write) -> io::Result<()>;
const PAGES: &[(&str, Page)] = &[
    ("command-line.md", command_line),
    ("scenario.md", |_, output| scenario_keys(output)),
    ("strategies.md", |_, output| strategies(output)),
    ("schedulers.md", |_, output| schedulers(output)),
    ("distributions.md", |_, output| distributions(output)),
    ("metrics.md", |_, output| metrics(output)),
];

/// The pages, each with the name of its file.
pub fn pages() -> io::Result<Vec<(&'static str, String)>> {
    let mut command = cli::command();
    command.build();
    let page = |&(name, page): &(&'static str, Page)| {
        let mut text = Vec::new();
        page(&command, &mut text)?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        // Each page ends with one line end.
        Ok((name, format!("{}\n", text.trim_end())))
    };
    PAGES.iter().map(page).collect()
}

/// Writes the pages into a folder, man pages into `man1` in it, and JSON Schemas into `schema`.
pub fn write(folder: &Path) -> io::Result<()> {
    let [manual, schema] = ["man1", "schema"].map(|name| folder.join(name));
    fs::create_dir_all(&manual)?;
    fs::create_dir_all(&schema)?;
    for (name, text) in pages()? {
        fs::write(folder.join(name), text)?;
    }
    clap_mangen::generate_to(cli::command(), manual)?;
    for (name, text) in schemas() {
        let text = serde_json::to_string_pretty(&text)?;
        fs::write(schema.join(format!("{name}.json")), text + "\n")?;
    }
    Ok(())
}

fn opening(output: &mut dyn Write, title: &str, subject: &str) -> io::Result<()> {
    writeln!(
        output,
        "# {title}\n\n{subject}\n\n\
         *`cargo xtask docs` writes this page from the definitions in the program.*\n"
    )
}

fn command_line(root: &Command, output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Command line",
        "Every command and option; [settings](scenario.md) have a page of their own.\n\
         `host-sim COMMAND --help` shows the same texts, and `cargo xtask reference DIR` writes them\n\
         as man pages.",
    )?;
    let commands = || root.get_subcommands().filter(|command| is_shown(command));
    for command in commands() {
        let about = command.get_about().map(ToString::to_string);
        writeln!(
            output,
            "- [`{name}`](#host-sim-{name}): {}",
            about.unwrap_or_default(),
            name = command.get_name()
        )?;
    }
    writeln!(output, "\n{}", code(failure::EXIT_CODES))?;
    for command in commands() {
        writeln!(output, "## host-sim {}\n", command.get_name())?;
        let about = command.get_long_about().or(command.get_about());
        writeln!(output, "{}\n", sentence(about))?;
        let usage = command.clone().render_usage().to_string();
        writeln!(output, "{}", code(&usage))?;
        let (settings, own): (Vec<_>, Vec<_>) = shown(command).partition(|arg| is_setting(arg));
        if settings.len() == settings::options().get_arguments().count() {
            writeln!(output, "It takes all [settings](scenario.md) as options.\n")?;
        } else if !settings.is_empty() {
            let longs = settings.into_iter().filter_map(Arg::get_long);
            let names: Vec<_> = longs.map(|long| format!("`--{long}`")).collect();
            let names = names.join(", ");
            writeln!(output, "It takes these [settings](scenario.md): {names}.\n")?;
        }
        options(&own, "--", output)?;
        if let Some(text) = command.get_after_help() {
            writeln!(output, "{}", code(&text.to_string()))?;
        }
    }
    Ok(())
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn scenario_keys(output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Settings and scenario files",
        "The settings of a scenario. On the command line of [`run`](command-line.md#host-sim-run) and\n\
         other commands they are options, such as `--mesh`. In a scenario file (TOML) they are keys,\n\
         such as `mesh`, and a list of values is an array: any setting may have several values.",
    )?;
    options(&shown(&settings::options()).collect::<Vec<_>>(), "", output)
}

/// The options and arguments of a command that its help shows.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    let args = command.get_arguments();
    args.filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
}

/// Whether this option means the same as the setting of its name.
fn is_setting(arg: &Arg) -> bool {
    let settings = settings::options();
    let same = shown(&settings).find(|setting| setting.get_long() == arg.get_long());
    same.is_some_and(|same| {
        let (text, defaults) = halves(&meaning(same));
        let (of_command, own) = halves(&meaning(arg));
        // A command leaves out the defaults that depend on options that it does not take.
        let is_same = own.iter().all(|default| defaults.contains(default));
        is_same && (name(same, ""), text) == (name(arg, ""), of_command)
    })
}

/// A meaning, and its defaults in brackets.
fn halves(meaning: &str) -> (String, Vec<String>) {
    let Some((text, defaults)) = meaning.split_once(" [default: ") else {
        return (meaning.trim_end_matches('.').to_owned(), Vec::new());
    };
    let (defaults, rest) = defaults.split_once(']').unwrap_or((defaults, ""));
    let defaults = defaults.split("; ").map(str::to_owned).collect();
    (format!("{text}{rest}"), defaults)
}

/// A table of options under each heading of the help, in its order.
fn options(args: &[&Arg], dashes: &str, output: &mut dyn Write) -> io::Result<()> {
    let mut headings: Vec<_> = args.iter().map(|arg| arg.get_help_heading()).collect();
    // The help shows arguments and options without a heading first.
    headings.sort_by_key(Option::is_some);
    let mut done = Vec::new();
    for heading in headings {
        if done.contains(&heading) {
            continue;
        }
        done.push(heading);
        if let Some(heading) = heading {
            writeln!(output, "### {heading}\n")?;
        }
        writeln!(output, "| name | meaning |\n|---|---|")?;
        for arg in args.iter().filter(|arg| arg.get_help_heading() == heading) {
            writeln!(output, "| {} | {} |", name(arg, dashes), meaning(arg))?;
        }
        writeln!(output)?;
    }
    Ok(())
}

/// An option with the name of its value, or an argument.
fn name(arg: &Arg, dashes: &str) -> String {
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let names = arg.get_value_names().unwrap_or_default();
    let value = if takes_value {
        names.join(" ")
    } else {
        String::new()
    };
    let text = match arg.get_long() {
        Some(long) => {
            let short = arg.get_short().map(|short| format!("-{short}, "));
            let short = short.unwrap_or_default();
            format!("{short}{dashes}{long} {value}")
        }
        None => value,
    };
    format!("`{}`", cell(text.trim_end()))
}

fn meaning(arg: &Arg) -> String {
    let mut text = sentence(arg.get_long_help().or(arg.get_help()));
    let defaults: Vec<_> = arg.get_default_values().iter().collect();
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    if takes_value && !defaults.is_empty() {
        let defaults: Vec<_> = defaults
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        text.push_str(&format!(" Default: `{}`.", defaults.join(",")));
    }
    let values = arg.get_possible_values();
    if takes_value && !values.is_empty() && !arg.is_hide_possible_values_set() {
        let values: Vec<_> = values
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        text.push_str(&format!(" One of {}.", values.join(", ")));
    }
    cell(&text)
}

/// A help text as sentences: a text that ends without a punctuation mark gets a full stop.
fn sentence(text: Option<&clap::builder::StyledStr>) -> String {
    let mut text = text.map(ToString::to_string).unwrap_or_default();
    if !text.is_empty() && !text.ends_with(['.', ':', ']']) {
        text.push('.');
    }
    text
}

/// A text in one cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn code(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_end())
}

fn strategies(output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Allocation strategies",
        "The names of each strategy, the machines it serves, and its source.\n\
         [Strategies by family](../concepts/strategies.md) explains them and helps to choose one.\n\n\
         - *pieces*: the number of blocks that a job may hold.\n\
         - *complete*: with its default parameters the strategy finds a place whenever one exists.\n\
         - A name may be followed by a colon and parameters, as in `leb:16`.",
    )?;
    writeln!(
        output,
        "| name | machines | pieces | complete |\n|---|---|---|---|"
    )?;
    for kind in StrategyKind::ALL {
        let info = kind.info();
        let pieces = match info.holds {
            meshalloc::Contiguity::OneBlock => "one",
            meshalloc::Contiguity::TwoBlocks => "one or two",
            meshalloc::Contiguity::Blocks
            | meshalloc::Contiguity::Parts
            | meshalloc::Contiguity::Processors => "any number",
        };
        let mut names = names(std::iter::once(&info.name).chain(info.aliases));
        for parameter in strategy_parameters(*kind) {
            names.push_str(&format!(", `:{}`", cell(parameter)));
        }
        let serves = cell(&kind.serves().to_string());
        let complete = if info.complete { "yes" } else { "no" };
        writeln!(output, "| {names} | {serves} | {pieces} | {complete} |")?;
    }
    writeln!(output, "\n## Sources\n")?;
    for kind in StrategyKind::ALL {
        let info = kind.info();
        writeln!(output, "- `{}`: {}", info.name, info.source)?;
    }
    Ok(())
}

/// A meaning with its source in one cell.
fn with_source(meaning: &str, source: &str) -> String {
    let mut text = meaning.to_owned();
    if !source.is_empty() {
        text.push_str(&format!(" *{source}*"));
    }
    cell(&text)
}

fn names<'n>(names: impl IntoIterator<Item = &'n &'n str>) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", cell(name)));
    names.collect::<Vec<_>>().join(", ")
}

fn schedulers(output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Schedulers",
        "The text form of each scheduler, what it does, and its source.\n\
         [Schedulers](../concepts/schedulers.md) compares them.",
    )?;
    writeln!(output, "| written | meaning |\n|---|---|")?;
    for info in SchedulerKind::INFO {
        let meaning = with_source(info.meaning, info.source);
        writeln!(output, "| {} | {meaning} |", names(info.forms))?;
    }
    Ok(())
}

fn distributions(output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Distributions, patterns, estimates and shapes",
        "The parts of a workload and their text forms.",
    )?;
    for part in list::Part::value_variants() {
        let Some((keys, forms)) = part.entries() else {
            continue;
        };
        let title = part.title(keys);
        writeln!(output, "## {title}\n\n| written | meaning |\n|---|---|")?;
        for form in forms {
            let meaning = with_source(form.meaning, form.source);
            let written = cell(&form.to_string());
            writeln!(output, "| `{written}` | {meaning} |")?;
        }
        writeln!(output)?;
    }
    Ok(())
}

fn metrics(output: &mut dyn Write) -> io::Result<()> {
    opening(
        output,
        "Metrics",
        "The meaning and unit of each metric. JSON and CSV use these names.\n\
         [Metrics and intervals](../concepts/metrics-and-intervals.md) explains how they are\n\
         measured.",
    )?;
    writeln!(output, "| name | meaning | unit |\n|---|---|---|")?;
    for metric in Metric::ALL {
        let meaning = with_source(metric.meaning(), metric.source());
        let unit = cell(metric.unit().words());
        writeln!(output, "| `{}` | {meaning} | {unit} |", metric.name())?;
    }
    Ok(())
}
