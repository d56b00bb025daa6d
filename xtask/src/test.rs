//! `cargo xtask test`: checks and tests in two tiers, the fast ones first.

use std::collections::BTreeSet;
use std::env;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::{Context, Result, ensure};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::{BOARDS, Info};

use crate::image::{self, MAIN, ONE_OF_EACH};
use crate::packages::{EXHAUSTIVE, WITH_PYTHON};
use crate::python;
use crate::shell::{HAS_SKIPPED, run, shell, skipped, succeeds, target_dir};
use crate::stamp::Stamp;
use crate::steps::{Steps, UNCHANGED};
use crate::{board, c, checks, docs, panics, setup, size, web};

/// The folder with real workload logs. Without it tests use a small log made for them.
const TRACES: &str = "MESHALLOC_TRACES";

/// The options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Everything, as CI does: also exhaustive tests, every board, the sizes of images, the
    /// documents, the library for C, the package for Python and the pages
    #[arg(long)]
    all: bool,
    /// Also the steps whose files have not changed since they last passed
    #[arg(long)]
    again: bool,
    /// Only the steps whose names contain this text, also those of --all
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only the step of this name, in this process
    #[arg(long, value_name = "NAME", hide = true)]
    step: Option<String>,
}

/// Runs the steps and prints the summary.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(name) = &options.step {
        let mut steps = [FIRST, HOST, BOARD, QEMU].concat().into_iter();
        let step = steps.find(|step| step.name == name);
        return run_step(&step.context("there is no such step")?, options.again);
    }
    let traces = env::var(TRACES).unwrap_or_else(|_| "none, it is unset".to_owned());
    println!("real workload logs, {TRACES}: {traces}");
    let steps = Steps::new(options.keep_going);
    let program = env::current_exe().context("this program has no path")?;
    let is_chosen = |step: &Step| match (&options.only, step.tier) {
        (Some(text), _) => step.name.contains(text),
        (None, Always) => true,
        (None, tier) => options.all == (tier == All),
    };
    // Builds in one target folder wait for each other, so most steps for boards build in others
    // than those for the host. Nothing else runs with the tests in QEMU, as they wait for answers.
    for lanes in [&[FIRST][..], &[HOST, BOARD], &[QEMU]] {
        let chosen = lanes.iter().map(|lane| {
            let steps = lane.iter().filter(|step| is_chosen(step));
            steps.map(|step| step.name).collect()
        });
        steps.run(&chosen.collect::<Vec<_>>(), |name| {
            let mut command = Command::new(&program);
            // Options of all steps, such as `--install`.
            command.args(env::args_os().skip(1)).args(["--step", name]);
            command
        });
    }
    ensure!(
        !steps.is_empty(),
        "no step has a name with {:?} in it",
        options.only.as_deref().unwrap_or_default()
    );
    println!("\n=== summary\n{steps}");
    ensure!(steps.all_passed(), "not all steps passed");
    Ok(())
}

/// Runs a step, unless it has passed in full with the same files.
fn run_step(step: &Step, again: bool) -> Result<()> {
    let stamp = Stamp::of(step.name, step.files)?;
    if !again && stamp.is_green() {
        println!("{UNCHANGED} since it passed: {}", step.files.join(", "));
        return Ok(());
    }
    stamp.remove()?;
    (step.run)()?;
    // A missing tool may be there next time.
    if HAS_SKIPPED.load(Ordering::Relaxed) {
        return Ok(());
    }
    stamp.write()
}

/// Which commands run a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// Both.
    Always,
    /// `cargo xtask test`; with `--all` another step does more.
    Short,
    /// `cargo xtask test --all`.
    All,
}
use Tier::{All, Always, Short};

#[derive(Clone, Copy)]
struct Step {
    tier: Tier,
    name: &'static str,
    /// The files and folders on which its outcome depends, besides those of [`Stamp::of`]; without
    /// any it always runs.
    files: &'static [&'static str],
    run: fn() -> Result<()>,
}

const fn step(
    tier: Tier,
    name: &'static str,
    files: &'static [&'static str],
    run: fn() -> Result<()>,
) -> Step {
    Step {
        tier,
        name,
        files,
        run,
    }
}

/// All files of the repository.
const EVERYTHING: &[&str] = &["."];
const CORE: &[&str] = &["core"];
const IMAGE: &[&str] = &["core", "firmware"];
/// What is compiled for the host.
const RUST: &[&str] = &[
    "bindings", "browser", "core", "firmware", "fuzz", "host-sim", "tests", "xtask",
];

const FIRST: &[Step] = &[
    step(Short, "set-up", &[], || setup::install(&BOARDS[..1])),
    step(All, "set-up for all boards", &[], || setup::install(BOARDS)),
    step(Always, "rustfmt", &[], || {
        run!("cargo fmt --all --check")?;
        // Cargo does not find files whose modules a macro declares.
        let files = "core/src/strategy/*.rs core/src/strategy/*/mod.rs core/src/scheduler/*.rs";
        let script = format!("rustfmt --check --edition 2024 {files}");
        run!("sh -c {script}")
    }),
];

/// The steps in the host's target folder.
const HOST: &[Step] = &[
    step(Short, "clippy, host", RUST, || {
        clippy(&WITH_PYTHON, &["--test", "qemu"])
    }),
    step(All, "clippy, whole host", RUST, || {
        clippy(&EXHAUSTIVE, &["--test", "qemu", "--test", "pages"])
    }),
    step(Short, "tests", EVERYTHING, || tests(&[])),
    step(All, "tests, exhaustive", EVERYTHING, || tests(&EXHAUSTIVE)),
    step(All, "examples of core", CORE, || {
        // Built with the tests.
        let folder = target_dir().join("debug/examples");
        for example in ["allocator", "own_strategy", "static_storage", "hosted"] {
            run!("{folder}/{example}")?;
        }
        Ok(())
    }),
    step(All, "rustdoc", RUST, || {
        run!("env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps")
    }),
    step(
        All,
        "pages in Chromium",
        &["bindings/wasm", "browser", "core", "host-sim"],
        checks::browser,
    ),
];

/// The steps for boards. They build in target folders of their own, but for the program that
/// measures and the module for Python, whose builds may wait for those of the other lane.
const BOARD: &[Step] = &[
    step(Always, "clippy, firmware", IMAGE, || {
        // All strategies, with `qemu` and `journal` and with neither; below, the other combinations
        // with one strategy.
        let chosen = ["", "qemu,journal"];
        chosen
            .iter()
            .try_for_each(|it| image::clippy(MAIN, &format!("default,{it}")))
    }),
    step(Short, "images for QEMU", IMAGE, || {
        images([(MAIN, "journal"), (MAIN, "")])
    }),
    step(All, "the other boards", IMAGE, || {
        // With a journal, which uses the flash drivers of the board.
        let features = format!("{ONE_OF_EACH},journal");
        let mut others = BOARDS.iter().filter(|board| board.name != MAIN.name);
        others.try_for_each(|board| image::clippy(board, &features))
    }),
    step(All, "firmware, features left out", IMAGE, || {
        // The image builds without each of these features and without all of them, so every pair is
        // built together, one without the other, and neither.
        const FEATURES: [&str; 4] = ["leases", "rates", "journal", "qemu"];
        image::clippy(MAIN, ONE_OF_EACH)?;
        FEATURES.iter().try_for_each(|out| {
            let features = FEATURES.iter().filter(|one| *one != out);
            let features = features.fold(ONE_OF_EACH.to_owned(), |all, one| all + "," + one);
            image::clippy(MAIN, &features)
        })
    }),
    step(All, "images of all boards for QEMU", IMAGE, || {
        let boards = BOARDS.iter().filter(|board| board.emulator.is_some());
        images(boards.map(|board| (board, "journal")).chain([(MAIN, "")]))
    }),
    step(All, "places to panic in the image", IMAGE, || {
        panics::run(&panics::Options { update: false })
    }),
    step(All, "core with its oldest Rust", CORE, oldest_rust),
    step(All, "dependencies", &["deny.toml"], || {
        if !succeeds("cargo deny --version") {
            skipped!("cargo-deny is not installed (cargo install cargo-deny)");
            return Ok(());
        }
        run!("cargo deny check bans licenses sources")
    }),
    step(
        All,
        "the programs of the guides",
        &["core", "docs"],
        docs::guide,
    ),
    step(
        All,
        "an image outside the repository",
        &["core", "firmware", "docs"],
        board::template,
    ),
    step(
        All,
        "the page in the browser",
        &["bindings/wasm", "core", "host-sim/sim", "host-sim/src/view"],
        || web::run(&web::Options { check: true }),
    ),
    step(All, "programs for chips", CORE, programs_for_chips),
    step(
        All,
        "core, each strategy and scheduler alone",
        CORE,
        each_feature_alone,
    ),
    step(
        All,
        "tests with 32-bit words",
        &["core", "firmware", "tests"],
        words_of_32_bits,
    ),
    step(
        All,
        "library for C",
        &["bindings/c", "core", "firmware"],
        || c::run(&c::Options::default()),
    ),
    // Late: by now the other lane has built the program that measures, and the module.
    step(
        All,
        "flash, RAM and stack",
        &["core", "docs/measurements", "firmware", "tests"],
        size::check_largest,
    ),
    step(All, "package for Python", EVERYTHING, || {
        python::run(&python::Options { quick: true })
    }),
];

/// The tests that wait for answers of an emulator.
const QEMU: &[Step] = &[
    step(Short, "QEMU", IN_QEMU, || {
        let others = ["mps2", "riscv"];
        let others = others.iter().flat_map(|board| ["--skip", board]);
        run!("cargo test --test qemu -- --show-output {others...}")
    }),
    step(All, "QEMU, every board", IN_QEMU, || {
        run!("cargo test {EXHAUSTIVE...} --test qemu -- --show-output")
    }),
];

const IN_QEMU: &[&str] = &[
    "core",
    "firmware",
    "host-sim/sim",
    "host-sim/src/line",
    "tests",
];

/// Lints these packages, and the tests `named`, which `cargo test` does not run by itself.
fn clippy(packages: &[&str], named: &[&str]) -> Result<()> {
    run!("cargo clippy --all-targets {packages...} -- -D warnings")?;
    run!("cargo clippy {named...} {packages...} -- -D warnings")
}

/// The tests on the host, with these options of cargo. cargo-nextest runs them if it is there: it
/// shares all of them among the processors, not only those of one package.
fn tests(options: &[&str]) -> Result<()> {
    // One thread more than there are processors, since some tests wait.
    let threads = thread::available_parallelism().map_or(2, |count| count.get() + 1);
    let threads = threads.to_string();
    if !succeeds("cargo nextest --version") {
        return run!(
            "cargo test --no-fail-fast {options...} -- --show-output --test-threads {threads}"
        );
    }
    let outcome = run!(
        "cargo nextest run --no-fail-fast {options...} --test-threads {threads}
         --success-output immediate"
    );
    // It runs none of the documentation.
    outcome.and(run!("cargo test --doc --no-fail-fast {options...}"))
}

/// Builds images for the emulators of these boards, with these features.
fn images<'f>(images: impl IntoIterator<Item = (&'static Info, &'f str)>) -> Result<()> {
    images.into_iter().try_for_each(|(board, features)| {
        let features = image::with_emulator(board, &format!("default,{features}"));
        Ok(image::command("build", board, &features).run()?)
    })
}

/// The tests of core with the words of the board, in the host's target folder.
fn words_of_32_bits() -> Result<()> {
    // Neither documentation nor examples nor the simulator depend on the words, nor do machines
    // that fit into one (`every_occupancy`).
    let skipped = ["every_occupancy", "tidy"];
    let skipped = skipped.iter().flat_map(|name| ["--skip", name]);
    run!("cargo test --package meshalloc --features word32 --lib")?;
    // All packages without the default features that need the simulator: then dependencies have the
    // same features as in the other tests, and are not compiled again.
    let features = "meshalloc/default,meshalloc-firmware/default,meshalloc-tests/word32";
    run!("cargo test --no-default-features --features {features} --test across -- {skipped...}")
}

/// Core builds with the Rust version that its manifest names.
fn oldest_rust() -> Result<()> {
    let manifest = shell().read_file("core/Cargo.toml")?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("rust-version = ")?.split('"').nth(1));
    let version = version.context("core/Cargo.toml names no rust-version")?;
    let version = format!("{version}.0");
    if let Err(reason) = setup::toolchain(&version) {
        skipped!("{reason:#}");
        return Ok(());
    }
    let target = target_dir().join("oldest");
    run!(
        "rustup run {version} cargo check --quiet --package meshalloc --features restore
         --target-dir {target}"
    )
}

/// The whole programs in `core/examples/chips`, each for its target, without warnings.
fn programs_for_chips() -> Result<()> {
    let folder = target_dir().join("chips");
    for (program, target) in [
        ("cortex_m0", "thumbv6m-none-eabi"),
        ("riscv", "riscv32imac-unknown-none-elf"),
        ("embassy", MAIN.target),
    ] {
        setup::target(target)?;
        run!(
            "env RUSTFLAGS=-Dwarnings cargo check --package meshalloc-chips --bin {program}
             --target {target} --target-dir {folder}"
        )?;
    }
    Ok(())
}

/// Core builds without warnings for a chip with nothing, with any one strategy or scheduler, and
/// with all of them. Strategies in one file share a feature.
fn each_feature_alone() -> Result<()> {
    let (target, folder) = (MAIN.target, target_dir().join("alone"));
    let strategies = StrategyKind::ALL.iter().map(|kind| kind.info().feature);
    let strategies = strategies.collect::<BTreeSet<_>>();
    let schedulers = SchedulerKind::INFO.iter().map(|info| info.name);
    for features in ["", "default"]
        .into_iter()
        .chain(strategies)
        .chain(schedulers)
    {
        run!(
            "env RUSTFLAGS=-Dwarnings cargo check --quiet --package meshalloc --no-default-features
             --features={features} --target {target} --target-dir {folder}"
        )?;
    }
    Ok(())
}
