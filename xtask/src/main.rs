//! The project's chores; `cargo xtask help` lists them.
//!
//! Every chore prints the commands that it runs, so each can be run by hand.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod ask;
mod benchmarks;
mod board;
mod book;
mod browser;
mod c;
mod command;
mod decisions;
mod docs;
mod emulator;
mod fuzz;
mod guide;
mod image;
mod instructions;
mod miri;
mod mutants;
mod panics;
mod protocol;
mod round_trips;
mod setup;
mod size;
mod slurm;
mod stack;
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
    /// Install what is missing, then check, build, test and measure everything.
    Test(test::Options),
    /// Show how much flash, RAM and stack the firmware takes, with each strategy alone and with
    /// all.
    Size(size::Options),
    /// Count the instructions that the firmware takes for every command, decisions with foresight
    /// and scheduling passes.
    Instructions(instructions::Options),
    /// Measure how long a client waits for the firmware in QEMU.
    RoundTrips(round_trips::Options),
    /// Compare the speed of decisions with a widely used allocator of rectangles.
    Benchmarks(benchmarks::Options),
    /// Find where the firmware can panic, and compare with the list of places where it does not.
    Panics(panics::Options),
    /// Write the generated documents and build the book.
    Docs(docs::Options),
    /// Build the program that the guide "Link the core" shows.
    Guide,
    /// Adapt the chapters of the book; mdBook runs this.
    #[command(hide = true)]
    Book(book::Options),
    /// Compare what the simulator decides with what it decided at another commit.
    Decisions(decisions::Options),
    /// Run the firmware in QEMU and serve its serial line on a TCP port of this machine.
    Qemu(board::QemuOptions),
    /// Write the firmware to a board and show its log.
    Flash(board::FlashOptions),
    /// Drive the pages of the project in Chromium by clicks and keys.
    Browser,
    /// Build the page on which the core decides in a browser: one file, without network.
    Web(web::Options),
    /// Make the library for C as an archive, and build and run its tests and examples.
    C(c::Options),
    /// Run a sweep as a job array on a Slurm of this machine, kill two tasks, and compare with one
    /// machine.
    Slurm,
    /// Feed arbitrary bytes to what reads bytes.
    Fuzz(fuzz::Options),
    /// Run the unit tests of core and of the library for C under Miri.
    Miri,
    /// Change core and the protocol in many places, one at a time, and see whether the tests
    /// notice.
    Mutants(mutants::Options),
    /// Run a program of tests up to its first failure, for the above.
    #[command(hide = true)]
    UntilFailure(mutants::RunnerOptions),
}

fn main() -> ExitCode {
    let xtask = Xtask::parse();
    if xtask.install {
        setup::allow_installing();
    }
    let done = match xtask.chore {
        Chore::Test(options) => return test::run(&options),
        Chore::Size(options) => size::run(&options),
        Chore::Instructions(options) => instructions::run(&options),
        Chore::Benchmarks(options) => benchmarks::run(&options),
        Chore::RoundTrips(options) => round_trips::run(&options),
        Chore::Docs(options) => docs::run(&options),
        Chore::Guide => guide::run(),
        Chore::Book(options) => book::preprocess(&options),
        Chore::Decisions(options) => decisions::run(&options),
        Chore::Qemu(options) => board::qemu(&options),
        Chore::Flash(options) => board::flash(&options),
        Chore::Browser => browser::run(),
        Chore::Web(options) => web::run(&options),
        Chore::C(options) => c::run(&options),
        Chore::Slurm => slurm::run(),
        Chore::Panics(options) => panics::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Miri => miri::run(),
        Chore::Mutants(options) => mutants::run(&options),
        Chore::UntilFailure(options) => match mutants::until_failure(&options) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
    };
    image::remove_copy();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
