//! Chores that start another tool: fuzzing, Miri, mutants, and the pages in a browser.

use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::setup;
use crate::shell::succeeds;

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

/// Runs the unit tests of core under Miri, those with random cases on a few of them.
pub(crate) fn miri(sh: &Shell) -> Result<()> {
    let settings = ["MIRIFLAGS=-Zmiri-disable-isolation", "PROPTEST_CASES=4"];
    let miri = cmd!(
        sh,
        "env {settings...} rustup run nightly cargo miri test --package meshalloc"
    );
    miri.args(["--lib", "--target-dir", "target/miri"])
        .run()
        .context("it needs: rustup toolchain install nightly --component miri,rust-src")
}

/// The options of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct MutantsOptions {
    /// Every N-th mutant, from the K-th on, 0 is the first; all would take days
    #[arg(long, value_name = "K/N", default_value = "0/100")]
    shard: String,
    /// Only mutants in these files
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Only mutants whose names match
    #[arg(long, value_name = "REGEX")]
    re: Option<String>,
    /// Expect that the tests pass without a mutant, and stop each test run after this many seconds
    #[arg(long, value_name = "SECONDS")]
    trusted: Option<u32>,
    /// The folder for `mutants.out`
    #[arg(long, value_name = "DIR", default_value = "target")]
    output: PathBuf,
}

/// Changes one place after another and runs the tests up to the first failure, which nextest does
/// and the usual harness does not.
pub(crate) fn mutants(sh: &Shell, options: &MutantsOptions) -> Result<()> {
    let MutantsOptions {
        shard,
        file,
        re,
        trusted,
        output,
    } = options;
    let baseline = trusted.map(|_| "--baseline=skip".to_owned());
    let timeout = trusted.map(|seconds| format!("--timeout={seconds}"));
    cmd!(
        sh,
        "cargo mutants --test-tool nextest --package meshalloc --package meshalloc-firmware"
    )
    .args(["--output".into(), output.clone()])
    .args([
        format!("--shard={shard}"),
        "--sharding=round-robin".to_owned(),
    ])
    .args(file.iter().map(|glob| format!("--file={glob}")))
    .args(re.iter().map(|re| format!("--re={re}")))
    .args(timeout.into_iter().chain(baseline))
    .run()
    .context("it needs: cargo install cargo-mutants cargo-nextest")
}

/// Drives the pages of the simulator in Chromium.
pub(crate) fn browser(sh: &Shell) -> Result<()> {
    setup::packages(sh, "chromium", || succeeds(cmd!(sh, "chromium --version")))?;
    cmd!(
        sh,
        "cargo clippy --package meshalloc-browser --all-targets -- -D warnings"
    )
    .run()?;
    cmd!(sh, "cargo build --package meshalloc-host-sim").run()?;
    Ok(cmd!(
        sh,
        "cargo test --package meshalloc-browser -- --show-output"
    )
    .run()?)
}
