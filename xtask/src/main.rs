//! The project's chores: `cargo xtask test`, `size`, `instructions`, `decisions`, `qemu`, `flash`, `slurm` and `browser`.
//!
//! Whatever a chore does, it prints the commands it runs, so that each can be run by hand.

use std::process::ExitCode;

use clap::Parser;

mod board;
mod browser;
mod command;
mod decisions;
mod emulator;
mod image;
mod instructions;
mod readme;
mod setup;
mod size;
mod slurm;
mod stack;
mod steps;
mod test;

/// The chores of meshalloc.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Chore {
    /// Install what is missing, then check, build, test and measure everything.
    Test(test::Options),
    /// Show how much flash, RAM and stack the firmware takes, with each strategy alone and with all.
    Size(size::Options),
    /// Count the instructions that the firmware takes for submits, releases, decisions with foresight and scheduling passes.
    Instructions(instructions::Options),
    /// Compare what the simulator decides with what it decided at another commit.
    Decisions(decisions::Options),
    /// Run the firmware in QEMU and serve its serial line on a TCP port of this machine.
    Qemu(board::QemuOptions),
    /// Write the firmware to a NUCLEO-F446RE and show its log.
    Flash(board::FlashOptions),
    /// Drive the pages of the simulator in Chromium by clicks and keys.
    Browser,
    /// Run a sweep as a job array on a Slurm of this machine, kill two tasks, and compare with one machine.
    Slurm,
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Test(options) => return test::run(&options),
        Chore::Size(options) => size::run(&options),
        Chore::Instructions(options) => instructions::run(&options),
        Chore::Decisions(options) => decisions::run(&options),
        Chore::Qemu(options) => board::qemu(&options),
        Chore::Flash(options) => board::flash(&options),
        Chore::Browser => browser::run(),
        Chore::Slurm => slurm::run(),
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
