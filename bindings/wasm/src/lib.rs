#![doc = include_str!("../README.md")]

mod boxes;
#[cfg(target_arch = "wasm32")]
mod exports;
mod history;
mod lab;
mod panel;
mod plain;
mod report;
mod rules;
mod settings;

pub use boxes::{Cuboid, maximal_boxes};
pub use lab::{ADVANCE_MAX, Command, LOAD_MAX, Lab, PROCESSORS_MAX, STRATEGIES_MAX};
pub use panel::Panel;

use report::Report;
use serde::Serialize;

/// What the page receives.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Done(Box<Report>),
    Failed(String),
}

/// Carries out a command ([`Command`]) and answers in JSON: `{"done": ..}` with the whole
/// state, or `{"failed": "why"}`; then nothing has changed.
pub fn answer(lab: &mut Option<Lab>, input: &[u8]) -> Vec<u8> {
    let reply = match carry_out(lab, input) {
        Ok(report) => Reply::Done(Box::new(report)),
        Err(error) => Reply::Failed(error),
    };
    // Numbers, texts and lists always have a form in JSON.
    serde_json::to_vec(&reply).unwrap_or_default()
}

fn carry_out(lab: &mut Option<Lab>, input: &[u8]) -> Result<Report, String> {
    let text = str::from_utf8(input).map_err(|error| format!("command: {error}"))?;
    let command = text.parse()?;
    if let (
        None,
        Command::Start {
            machine,
            strategies,
            load,
            seed,
        },
    ) = (&lab, &command)
    {
        *lab = Some(Lab::new(machine, strategies, *load, *seed)?);
    }
    let lab = lab
        .as_mut()
        .ok_or("no machine yet, expected the command start first")?;
    let message = lab.carry_out(&command)?;
    Ok(lab.report(message))
}
