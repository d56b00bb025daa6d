//! The project's chores; `cargo xtask help` lists them.
//!
//! Every chore prints the commands that it runs, so each can be run by hand.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod board;
mod c;
mod checks;
mod docs;
mod image;
mod instructions;
mod licences;
mod packages;
mod panics;
mod python;
mod ray;
mod serve_rate;
mod setup;
mod shell;
mod size;
mod stamp;
mod steps;
mod tables;
mod test;
mod web;

/// The chores of meshalloc.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
    /// Install missing system packages with sudo; root installs them without this option
    #[arg(long, global = true)]
    install: bool,
}

#[derive(Subcommand)]
enum Chore {
    /// Install missing tools, then check and test what most changes touch; with --all, everything
    Test(test::Options),
    /// Show how much flash, RAM and stack the firmware takes, with each strategy alone and with all
    Size(size::Options),
    /// Count the instructions of every command of the firmware, of decisions with foresight and of
    /// scheduling passes
    Instructions(instructions::Options),
    /// Find where the firmware can panic, and compare with the list of places where it does not
    Panics(panics::Options),
    /// Write the generated documents and build the book
    Docs,
    /// Write reference pages, man pages and JSON Schemas of host-sim into a folder
    Reference(docs::ReferenceOptions),
    /// Build the programs in the guide "Link the core" and the image in firmware/template, and try
    /// the image in QEMU
    Guide,
    /// Run the firmware in QEMU and serve its serial line on a TCP port of this machine
    Qemu(board::QemuOptions),
    /// Write the firmware to a board and show its log
    Flash(board::FlashOptions),
    /// Drive the pages of the project in Chromium by clicks and keys
    Browser,
    /// Build the page on which the simulator runs in a browser: one file, without network
    Web(web::Options),
    /// Make the library for C as an archive, and build and run its tests and examples
    C(c::Options),
    /// Install the package for Python into an environment under `target/`, and run its tests
    Python(python::Options),
    /// Compare the advice for Ray with Ray itself, which is installed under `target/`
    Ray,
    /// Measure the changes a second of `host-sim serve` and of `spalloc_server`, which is installed
    /// under `target/`
    ServeRate,
    /// Run a study as a job array on a Slurm of this machine, kill two tasks, and compare with one
    /// machine
    Slurm,
    /// Feed arbitrary bytes to everything that reads bytes
    Fuzz(checks::FuzzOptions),
}

fn main() -> ExitCode {
    let xtask = Xtask::parse();
    setup::MAY_INSTALL.store(xtask.install, Ordering::Relaxed);
    match run(xtask.chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Test(options) => test::run(&options),
        Chore::Size(options) => size::run(&options),
        Chore::Instructions(options) => instructions::run(&options),
        Chore::Docs => docs::run(),
        Chore::Reference(options) => docs::reference(&options),
        Chore::Guide => docs::guide().and_then(|()| board::template()),
        Chore::Qemu(options) => board::qemu(&options),
        Chore::Flash(options) => board::flash(&options),
        Chore::Browser => checks::browser(),
        Chore::Web(options) => web::run(&options),
        Chore::C(options) => c::run(&options),
        Chore::Python(options) => python::run(&options),
        Chore::Ray => ray::run(),
        Chore::ServeRate => serve_rate::run(),
        Chore::Slurm => checks::slurm(),
        Chore::Panics(options) => panics::run(&options),
        Chore::Fuzz(options) => checks::fuzz(&options),
    }
}
