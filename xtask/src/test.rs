//! `cargo xtask test`: all checks and tests, the fast ones first.

use std::env;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::BOARDS;

use crate::image::{self, MAIN, ONE_OF_EACH};
use crate::python::{self, WITH_PYTHON};
use crate::shell::{run, shell, succeeds, target_dir};
use crate::steps::Steps;
use crate::{board, c, docs, panics, setup, size, web};

/// The folder with real workload logs. Without it tests use a small log made for them.
const TRACES: &str = "MESHALLOC_TRACES";

/// The options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Also check each strategy alone, the programs for chips, core with 32-bit words, the library
    /// for C and the package for Python, as CI does
    #[arg(long)]
    all: bool,
    /// Only the steps whose names contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Only the step of this name, in this process
    #[arg(long, value_name = "NAME", hide = true)]
    step: Option<String>,
}

/// Runs the steps and prints the summary.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(name) = &options.step {
        let steps = [FIRST, HOST, PYTHON, BOARD, MORE_BUILDS, QEMU].concat();
        let step = steps.iter().find(|(other, _)| other == name);
        return step.context("there is no such step")?.1();
    }
    let traces = env::var(TRACES).unwrap_or_else(|_| "none, it is unset".to_owned());
    println!("real workload logs, {TRACES}: {traces}");
    let steps = Steps::new(options.keep_going);
    let program = env::current_exe().context("this program has no path")?;
    // Builds in one target folder wait for each other, so most steps for boards build in others
    // than those for the host. Nothing else runs with the tests in QEMU, as they wait for answers.
    let (python, more_builds) = match options.all {
        true => (PYTHON, MORE_BUILDS),
        false => (&[][..], &[][..]),
    };
    let both = vec![[HOST, python].concat(), [BOARD, more_builds].concat()];
    for lanes in [vec![FIRST.to_vec()], both, vec![QEMU.to_vec()]] {
        let chosen = lanes.iter().map(|lane| {
            let names = lane.iter().map(|&(name, _)| name);
            names.filter(|name| name.contains(&options.only)).collect()
        });
        steps.run(&chosen.collect::<Vec<_>>(), |name| {
            let mut command = Command::new(&program);
            // Options of all steps, such as `--install`.
            command.args(env::args_os().skip(1)).args(["--step", name]);
            command
        });
    }
    let only = &options.only;
    ensure!(!steps.is_empty(), "no step has a name with {only:?} in it");
    println!("\n=== summary\n{steps}");
    ensure!(steps.all_passed(), "not all steps passed");
    Ok(())
}

/// A step: its name and its function.
type Step = (&'static str, fn() -> Result<()>);

const FIRST: &[Step] = &[
    ("set-up", setup::install),
    ("rustfmt", || {
        run!("cargo fmt --all --check")?;
        // Cargo does not find files whose modules a macro declares.
        let files = "core/src/strategy/*.rs core/src/strategy/*/mod.rs core/src/scheduler/*.rs";
        let script = format!("rustfmt --check --edition 2024 {files}");
        run!("sh -c {script}")
    }),
];

/// The steps in the host's target folder.
const HOST: &[Step] = &[
    ("clippy, host", || {
        run!("cargo clippy --all-targets {WITH_PYTHON...} -- -D warnings")
    }),
    ("unit, property, integration and doc tests", || {
        // One thread more than there are processors, since some tests wait.
        let threads = thread::available_parallelism().map_or(2, |count| count.get() + 1);
        let threads = threads.to_string();
        run!("cargo test --no-fail-fast -- --show-output --test-threads {threads} --skip qemu_")
    }),
    ("examples of core", || {
        // Built with the tests.
        let folder = target_dir().join("debug/examples");
        for example in ["allocator", "own_strategy", "static_storage", "hosted"] {
            run!("{folder}/{example}")?;
        }
        Ok(())
    }),
    ("rustdoc", || {
        run!("env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps")
    }),
];

/// The steps for boards. They build in target folders of their own, but for the program that
/// measures, whose build may wait for those of the other lane.
const BOARD: &[Step] = &[
    ("clippy, firmware", || {
        // All strategies, with `qemu` and `journal` and with neither; below, the other combinations
        // with one strategy.
        let chosen = ["", "qemu,journal"];
        chosen
            .iter()
            .try_for_each(|it| image::clippy(MAIN, &format!("default,{it}")))
    }),
    ("the other boards", || {
        // With a journal, which uses the flash drivers of the board.
        let features = format!("{ONE_OF_EACH},journal");
        let mut others = BOARDS.iter().filter(|board| board.name != MAIN.name);
        others.try_for_each(|board| image::clippy(board, &features))
    }),
    ("firmware, features left out", || {
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
    ("images for QEMU", || {
        let boards = BOARDS.iter().filter(|board| board.emulator.is_some());
        for (board, features) in boards.map(|board| (board, "journal")).chain([(MAIN, "")]) {
            let features = image::with_emulator(board, &format!("default,{features}"));
            image::command("build", board, &features).run()?;
        }
        Ok(())
    }),
    ("places to panic in the image", || {
        panics::run(&panics::Options { update: false })
    }),
    ("core with its oldest Rust", oldest_rust),
    ("dependencies", || {
        if !succeeds("cargo deny --version") {
            println!("SKIPPED: cargo-deny is not installed (cargo install cargo-deny)");
            return Ok(());
        }
        run!("cargo deny check bans licenses sources")
    }),
    ("the programs of the guides", docs::guide),
    ("an image outside the repository", board::template),
    ("the page of the core", || {
        web::run(&web::Options { check: true })
    }),
    // Late: by now the other lane has built the program that measures.
    ("flash, RAM and stack", size::check_largest),
];

/// What CI runs in addition: each compiles much of the workspace again, with other features.
const PYTHON: &[Step] = &[("package for Python", || {
    python::run(&python::Options { quick: true })
})];

const MORE_BUILDS: &[Step] = &[
    ("programs for chips", programs_for_chips),
    (
        "core, each strategy and scheduler alone",
        each_feature_alone,
    ),
    ("tests with 32-bit words", words_of_32_bits),
    ("library for C", || c::run(&c::Options::default())),
];

/// The tests that the others leave out, by the prefix of their names.
const QEMU: &[Step] = &[("QEMU end to end", || {
    run!("env MESHALLOC_REQUIRE_QEMU=1 cargo test --test across -- --show-output qemu_")
})];

/// The tests of core with the words of the board, in the host's target folder.
fn words_of_32_bits() -> Result<()> {
    // Neither documentation nor examples nor the simulator depend on the words, nor do machines
    // that fit into one (`every_occupancy`). `effect` is left out for its time.
    let skipped = ["effect", "every_occupancy", "qemu_", "tidy"];
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
        println!("SKIPPED: {reason:#}");
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
            "env RUSTFLAGS=-Dwarnings cargo build --package meshalloc-chips --bin {program}
             --target {target} --target-dir {folder}"
        )?;
    }
    Ok(())
}

/// Core builds without warnings for a chip with nothing, with any one strategy or scheduler, and
/// with all of them. The feature of each has its name.
fn each_feature_alone() -> Result<()> {
    let (target, folder) = (MAIN.target, target_dir().join("alone"));
    let strategies = StrategyKind::ALL.iter().map(|kind| kind.name());
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
