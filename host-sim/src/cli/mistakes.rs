//! What was probably meant by a command line that is wrong.

use clap::builder::ValueHint;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory};

use super::Cli;
use crate::study::keep;
use meshalloc_sim::scenario::way_out;
use meshalloc_sim::wording::any_of;

/// What was probably meant: an option of another command, the option of a file without one, the
/// load of a log, or values separated by commas.
pub(super) fn tip(error: &clap::Error) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    if let Some(tip) = commas(error, argument) {
        return Some(tip);
    }
    if error.kind() == ErrorKind::ArgumentConflict {
        let given = [argument, &error.get(ContextKind::PriorArg)?.to_string()];
        let [one, other] = given.map(|it| it.trim_start_matches('-').split(' ').next());
        let (one, other) = (one?, other?);
        let of_study = || keep::way_out(one, other).map(str::to_owned);
        return way_out(one, other).or_else(of_study);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let file = argument.strip_suffix(".gz").unwrap_or(argument);
    let option = match file.rsplit_once('.') {
        _ if argument.starts_with('-') => argument,
        Some((_, "toml")) => &format!("--scenario {argument}"),
        Some((_, "swf" | "csv")) => &format!("--log {argument}"),
        _ => return None,
    };
    let name = option.strip_prefix("--")?.split(' ').next()?;
    let is_option = argument.starts_with('-');
    let command = Cli::command();
    let takes = |command: &&clap::Command| {
        let mut arguments = command.get_arguments();
        // The same option may take no file in another command.
        let takes = |arg: &Arg| is_option || arg.get_value_hint() == ValueHint::FilePath;
        arguments.any(|arg| arg.get_long() == Some(name) && takes(arg))
    };
    let takers = command.get_subcommands().filter(takes);
    let takers: Vec<_> = takers.map(clap::Command::get_name).collect();
    (!takers.is_empty()).then(|| format!("{option} is an option of {}", any_of(takers)))
}

/// A hint about the values of an option that are separated by blanks, or by commas and blanks.
fn commas(error: &clap::Error, argument: &str) -> Option<String> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let (key, values) = match error.kind() {
        // `--load .3 .4`
        ErrorKind::UnknownArgument if !argument.starts_with("--") => {
            let at = words.iter().position(|word| word == argument)?;
            let before = words[..at]
                .iter()
                .rposition(|word| word.starts_with("--"))?;
            let key = words[before].strip_prefix("--")?;
            let (key, first) = key
                .split_once('=')
                .map_or((key, None), |(key, it)| (key, Some(it)));
            let behind = words[before + 1..]
                .iter()
                .take_while(|word| !word.starts_with("--"));
            let values = first.into_iter().chain(behind.map(String::as_str));
            (
                key.to_owned(),
                values
                    .map(|value| value.trim_matches(','))
                    .collect::<Vec<_>>(),
            )
        }
        // For `ff, fsl` the value is `ff,`: it ends at the blank.
        ErrorKind::ValueValidation => {
            let key = argument.strip_prefix("--")?.split(' ').next()?;
            let ContextValue::String(value) = error.get(ContextKind::InvalidValue)? else {
                return None;
            };
            let is_cut = value.is_empty() || value.ends_with(',');
            is_cut.then(|| (key.to_owned(), Vec::new()))?
        }
        _ => return None,
    };
    let command = Cli::command();
    let own = command.find_subcommand(words.first()?)?;
    let mut arguments = own.get_arguments();
    let takes_several = arguments.any(|arg| {
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        arg.get_long() == Some(&*key) && is_list
    });
    takes_several.then(|| {
        if values.is_empty() {
            format!("several values of --{key} are separated by commas, without blanks")
        } else {
            format!(
                "several values are separated by commas, without blanks: --{key} {}",
                values.join(",")
            )
        }
    })
}
