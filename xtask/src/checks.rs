//! Chores that start another tool: fuzzing, a browser and Slurm.

use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::setup;
use crate::shell::{succeeds, target_dir};

/// The options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct FuzzOptions {
    /// The target, a file of `fuzz/fuzz_targets`
    target: String,
    /// The number of inputs
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000)]
    runs: u64,
    /// The longest time; 0 sets no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    seconds: u64,
    /// The seed of the random changes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u32,
}

/// Runs a target. New inputs go to `target/fuzz`; those in `fuzz/corpus` are read.
pub(crate) fn fuzz(sh: &Shell, options: &FuzzOptions) -> Result<()> {
    let FuzzOptions {
        target,
        runs,
        seconds,
        seed,
    } = options;
    let found = sh.create_dir(format!("target/fuzz/corpus/{target}"))?;
    let simulator = ["swf", "scenario", "operations"].contains(&target.as_str());
    let defaults = (!simulator).then_some("--no-default-features");
    // Link-time optimisation and the counters of coverage do not go together. All code here is
    // safe, so a sanitizer would only halve the number of runs.
    let fuzz = cmd!(
        sh,
        "env CARGO_PROFILE_RELEASE_LTO=off rustup run nightly cargo fuzz run"
    );
    fuzz.args([
        "--sanitizer",
        "none",
        "--debug-assertions",
        "--target-dir",
        "target/fuzz",
    ])
    .args(defaults)
    .args([
        target.into(),
        found,
        format!("fuzz/corpus/{target}").into(),
        PathBuf::from("--"),
    ])
    .args([
        format!("-runs={runs}"),
        format!("-max_total_time={seconds}"),
    ])
    .args([
        format!("-seed={seed}"),
        "-max_len=1024".into(),
        "-print_final_stats=1".into(),
    ])
    .run()
    .context("it needs: rustup toolchain install nightly, cargo install cargo-fuzz")
}

/// Drives the pages of the simulator in Chromium.
pub(crate) fn browser(sh: &Shell) -> Result<()> {
    setup::packages(sh, "chromium", || succeeds(cmd!(sh, "chromium --version")))?;
    cmd!(
        sh,
        "cargo clippy --package meshalloc-browser --all-targets -- -D warnings"
    )
    .run()?;
    cmd!(sh, "cargo build --bin host-sim").run()?;
    Ok(cmd!(
        sh,
        "cargo test --package meshalloc-browser -- --show-output"
    )
    .run()?)
}

/// Runs a sweep on Slurm.
pub(crate) fn slurm(sh: &Shell) -> Result<()> {
    // Some of them answer no question without a configuration.
    let programs = "type munged mungekey slurmctld slurmd sbatch scontrol sinfo scancel";
    let are_there = || succeeds(cmd!(sh, "sh -c {programs}"));
    if let Err(reason) = setup::packages(sh, "slurm-wlm munge", are_there) {
        println!("SKIPPED: {reason:#}");
        return Ok(());
    }
    cmd!(sh, "cargo build --bin host-sim").run()?;
    let program = target_dir().join("debug/host-sim");
    Ok(cmd!(sh, "host-sim/tests/slurm.sh {program}").run()?)
}
