//! `run`: a study that may be of a single point.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;
use crate::policy::{self, PolicyArgs};
use crate::settings::{FileArgs, Given, Takes};
use crate::study::command::{Preset, StudyArgs};
use crate::study::single::SingleArgs;

/// The options of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    policy: PolicyArgs,

    #[command(flatten)]
    options: Given<Self>,

    #[command(flatten)]
    study: StudyArgs,

    #[command(flatten)]
    single: SingleArgs,
}

impl Takes for RunArgs {}

pub(crate) fn run(args: &RunArgs, output: &mut dyn Write) -> Result<(), Failure> {
    if args.policy.is_given() {
        return Err(policy::run());
    }
    let file = args.file.path();
    let given = args.options.over(file)?;
    let preset = Preset {
        fill: &|_| Ok(()),
        draw: None,
        table: None,
        answer: None,
        single: Some(args.single),
    };
    args.study.carry_out(given, file, &preset, output)
}
