//! Chores that start another tool: fuzzing, a browser and Slurm.

use anyhow::{Context, Result};

use crate::packages::{EXHAUSTIVE, HOST_SIM};
use crate::setup;
use crate::shell::{cmd, root, run, shell, skipped, target_dir};

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
pub(crate) fn fuzz(options: &FuzzOptions) -> Result<()> {
    let FuzzOptions {
        target,
        runs,
        seconds,
        seed,
    } = options;
    let found = shell().create_dir(format!("target/fuzz/corpus/{target}"))?;
    let simulator = ["swf", "scenario", "operations"].contains(&target.as_str());
    let defaults = (!simulator).then_some("--no-default-features");
    let [runs, seconds, seed] = [runs, seconds, &u64::from(*seed)].map(u64::to_string);
    // All code here is safe, so a sanitizer would only halve the number of runs.
    run!(
        "rustup run nightly cargo fuzz run
         --sanitizer none --debug-assertions --target-dir target/fuzz {defaults...}
         {target} {found} fuzz/corpus/{target} --
         -runs={runs} -max_total_time={seconds} -seed={seed} -max_len=1024 -print_final_stats=1"
    )
    .context("it needs: rustup toolchain install nightly, cargo install cargo-fuzz")
}

/// Drives the pages of the simulator in Chromium.
pub(crate) fn browser() -> Result<()> {
    if let Err(reason) = setup::packages("chromium", "chromium --version") {
        skipped!("{reason:#}");
        return Ok(());
    }
    run!("cargo build {EXHAUSTIVE...} {HOST_SIM...}")?;
    let program = root().join(target_dir()).join("debug/host-sim");
    let tests = cmd!("cargo test {EXHAUSTIVE...} --test pages -- --show-output");
    Ok(tests.env("MESHALLOC_HOST_SIM", program).run()?)
}

/// Runs a study on Slurm.
pub(crate) fn slurm() -> Result<()> {
    // Some of these programs cannot run without a configuration.
    let programs = "type munged mungekey slurmctld slurmd sbatch scontrol sinfo scancel";
    if let Err(reason) = setup::packages("slurm-wlm munge", programs) {
        skipped!("{reason:#}");
        return Ok(());
    }
    run!("cargo build --bin host-sim")?;
    let program = target_dir().join("debug/host-sim");
    run!("host-sim/tests/slurm.sh {program}")
}
