//! `cargo xtask fuzz`: arbitrary bytes for what reads bytes, by cargo-fuzz.

use std::fs;

use anyhow::{Context, Result};

use crate::command::{Cmd, root};

/// The options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The target, a file of `fuzz/fuzz_targets`
    target: String,
    /// The number of inputs
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000)]
    runs: u64,
    /// The longest time; 0 sets no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    seconds: u64,
    /// Where the inputs are from which others are made.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u32,
}

/// The longest input in bytes.
const BYTES_MAX: usize = 1024;

/// Runs a target. New inputs go to `target/fuzz`; those in `fuzz/corpus` are read.
pub(crate) fn run(options: &Options) -> Result<()> {
    let found = format!("target/fuzz/corpus/{}", options.target);
    fs::create_dir_all(root().join(&found))?;
    // All code here is safe, so a sanitizer would only halve the number of runs.
    let mut command =
        Cmd::new("rustup run nightly cargo fuzz run --sanitizer none --debug-assertions")
            // Link-time optimisation and the counters of coverage do not go together.
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .args("--target-dir target/fuzz");
    if !["swf", "scenario", "operations"].contains(&&*options.target) {
        command = command.args("--no-default-features");
    }
    let command = command
        .arg(&options.target)
        .arg(&found)
        .arg(format!("fuzz/corpus/{}", options.target))
        .args("--")
        .arg(format!("-runs={}", options.runs))
        .arg(format!("-max_total_time={}", options.seconds))
        .arg(format!("-seed={}", options.seed))
        .arg(format!("-max_len={BYTES_MAX}"))
        .args("-print_final_stats=1");
    command
        .run()
        .context("it needs: rustup toolchain install nightly, cargo install cargo-fuzz")
}
