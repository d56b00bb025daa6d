//! `cargo xtask test`: everything that must hold, in order of what it costs.

use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::BOARDS;
use xshell::{Shell, cmd};

use crate::image::{self, MAIN, ONE_OF_EACH};
use crate::python::WITH_PYTHON;
use crate::shell::{root, succeeds, target_dir, this_program};
use crate::steps::{Log, Step, Steps};
use crate::{setup, size};

/// The folder with real workload logs. Without it tests use a small log made for them.
const TRACES: &str = "MESHALLOC_TRACES";

/// The options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Only the steps whose names contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Runs the steps and prints the summary.
pub(crate) fn run(options: &Options) -> ExitCode {
    let traces = env::var(TRACES).unwrap_or_else(|_| "none, it is unset".to_owned());
    println!("real workload logs, {TRACES}: {traces}");
    let steps = Steps::new(options.keep_going);
    // Host and board have target folders of their own, since cargo locks them. Nothing else runs
    // with the tests in QEMU, as they wait for answers.
    for lanes in [&[FIRST][..], &[HOST, BOARD], &[QEMU]] {
        let chosen = lanes.iter().map(|lane| {
            let steps = lane.iter().filter(|(name, _)| name.contains(&options.only));
            steps.copied().collect::<Vec<Step>>()
        });
        let chosen: Vec<_> = chosen.collect();
        steps.run(&chosen.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    println!("\n=== summary\n{steps}");
    match steps.all_passed() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

const FIRST: &[Step] = &[("set-up", |sh, _| setup::install(sh)), ("rustfmt", rustfmt)];

/// The steps in the host's target folder.
const HOST: &[Step] = &[
    ("clippy, host", |sh, log| {
        let clippy = cmd!(sh, "cargo clippy --all-targets").args(WITH_PYTHON);
        log.run(clippy.args(["--", "-D", "warnings"]))
    }),
    ("unit, property, integration and doc tests", |sh, log| {
        log.run(cmd!(sh, "cargo test -- --show-output --skip qemu_"))
    }),
    ("the same with 32-bit words", |sh, log| {
        log.run(cmd!(
            sh,
            "cargo test --package meshalloc --features word32 --lib"
        ))?;
        // Neither documentation nor examples nor the simulator depend on the words, nor do machines
        // that fit into one. With the workspace's packages but the default features that bring the
        // simulator, the dependencies are those of the step before.
        let features = "meshalloc/default,meshalloc-firmware/default,meshalloc-tests/word32";
        let test = cmd!(
            sh,
            "cargo test --no-default-features --features {features} --test across"
        );
        log.run(test.args(["--", "--skip", "qemu_", "--skip", "every_occupancy"]))
    }),
    ("package for Python", |sh, log| {
        let xtask = this_program()?;
        log.run(cmd!(sh, "{xtask} python --quick"))
    }),
    ("examples of core", |sh, log| {
        // Built with the tests.
        let folder = target_dir().join("debug/examples");
        for example in ["allocator", "own_strategy", "static_storage", "hosted"] {
            log.run(cmd!(sh, "{folder}/{example}"))?;
        }
        Ok(())
    }),
    ("rustdoc", |sh, log| {
        log.run(cmd!(sh, "env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps"))
    }),
];

/// The steps for boards, in target folders of their own.
const BOARD: &[Step] = &[
    ("clippy, firmware", |sh, log| {
        for features in ["", "journal", "qemu", "qemu,journal"] {
            log.run(image::command(sh, "clippy", MAIN, features, true).args(["--", "-Dwarnings"]))?;
        }
        Ok(())
    }),
    ("the other boards", |sh, log| {
        // With a journal, whose drivers are the board's too.
        for board in BOARDS.iter().filter(|board| board.name != MAIN.name) {
            let features = format!("{ONE_OF_EACH},journal");
            clippy_without_defaults(sh, log, board, &features)?;
        }
        Ok(())
    }),
    ("firmware, features left out", |sh, log| {
        // The image builds without each of these features and without all of them, so every pair is
        // built together, one without the other, and neither.
        const FEATURES: [&str; 4] = ["leases", "rates", "journal", "qemu"];
        let all_but = |out| FEATURES.into_iter().filter(|&one| one != out).collect();
        let chosen = FEATURES.map(all_but).into_iter().chain([Vec::new()]);
        for features in chosen {
            let features = [&[ONE_OF_EACH][..], &features].concat().join(",");
            clippy_without_defaults(sh, log, MAIN, &features)?;
        }
        Ok(())
    }),
    ("images for QEMU", |sh, log| {
        for board in BOARDS.iter().filter(|board| board.emulator.is_some()) {
            let features = image::with_emulator(board, "journal");
            log.run(image::command(sh, "build", board, &features, true))?;
        }
        let features = image::with_emulator(MAIN, "");
        log.run(image::command(sh, "build", MAIN, &features, true))
    }),
    ("places to panic in the image", |sh, log| {
        let xtask = this_program()?;
        log.run(cmd!(sh, "{xtask} panics"))
    }),
    ("flash, RAM and stack", |sh, log| {
        let (xtask, image) = (this_program()?, size::JOURNAL);
        log.run(cmd!(sh, "{xtask} size --check --only {image}"))
    }),
    ("core with its oldest Rust", oldest_rust),
    ("dependencies", |sh, log| {
        if !succeeds(cmd!(sh, "cargo deny --version")) {
            log.skip("cargo-deny is not installed (cargo install cargo-deny)");
            return Ok(());
        }
        log.run(cmd!(sh, "cargo deny check bans licenses sources"))
    }),
    ("the program of a guide", |sh, log| {
        let xtask = this_program()?;
        log.run(cmd!(sh, "{xtask} guide"))
    }),
    ("the page of the core", |sh, log| {
        let xtask = this_program()?;
        log.run(cmd!(sh, "{xtask} web --check"))
    }),
    ("programs for chips", programs_for_chips),
    ("library for C", |sh, log| {
        let xtask = this_program()?;
        log.run(cmd!(sh, "{xtask} c"))
    }),
    (
        "core, each strategy and scheduler alone",
        each_feature_alone,
    ),
];

/// The tests left out of the above, by the prefix of their names.
const QEMU: &[Step] = &[("QEMU end to end", |sh, log| {
    let test = cmd!(sh, "env MESHALLOC_REQUIRE_QEMU=1 cargo test --test across");
    log.run(test.args(["--", "--show-output", "qemu_"]))
})];

/// The format of every file. Cargo does not find those whose modules a macro declares.
fn rustfmt(sh: &Shell, log: &Log) -> Result<()> {
    log.run(cmd!(sh, "cargo fmt --all --check"))?;
    let mut files = Vec::new();
    for folder in ["core/src/strategy", "core/src/scheduler"] {
        for path in sh.read_dir(folder)? {
            let file = if path.is_dir() {
                path.join("mod.rs")
            } else {
                path
            };
            // Without a `mod.rs` the files of a folder are those of the file of its name.
            if file.exists() {
                files.extend(file.strip_prefix(root()).map(ToOwned::to_owned));
            }
        }
    }
    log.run(cmd!(sh, "rustfmt --check --edition 2024 {files...}"))
}

fn clippy_without_defaults(
    sh: &Shell,
    log: &Log,
    board: &'static meshalloc_firmware::boards::Info,
    features: &str,
) -> Result<()> {
    let clippy = image::command(sh, "clippy", board, features, false);
    log.run(clippy.args(["--", "-Dwarnings"]))
}

/// Core builds with the Rust version that its manifest names.
fn oldest_rust(sh: &Shell, log: &Log) -> Result<()> {
    let manifest = fs::read_to_string(root().join("core/Cargo.toml"))?;
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("rust-version = ")?.split('"').nth(1));
    let version = format!(
        "{}.0",
        version.context("core/Cargo.toml names no rust-version")?
    );
    if let Err(reason) = setup::toolchain(sh, &version) {
        log.skip(&format!("{reason:#}"));
        return Ok(());
    }
    let target = target_dir().join("oldest");
    let check = cmd!(
        sh,
        "rustup run {version} cargo check --quiet --package meshalloc"
    );
    log.run(
        check
            .args(["--features", "restore", "--target-dir"])
            .arg(target),
    )
}

/// The whole programs in `core/examples/chips`, each for its target, without warnings.
fn programs_for_chips(sh: &Shell, log: &Log) -> Result<()> {
    let folder = target_dir().join("chips");
    for (program, target) in [
        ("cortex_m0", "thumbv6m-none-eabi"),
        ("riscv", "riscv32imac-unknown-none-elf"),
        ("embassy", MAIN.target),
    ] {
        setup::target(sh, target)?;
        let build = cmd!(
            sh,
            "env RUSTFLAGS=-Dwarnings cargo build --package meshalloc-chips"
        );
        log.run(
            build
                .args(["--bin", program, "--target", target, "--target-dir"])
                .arg(&folder),
        )?;
    }
    Ok(())
}

/// Core builds without warnings for a chip with nothing, with any one strategy or scheduler, and
/// with all of them. The feature of each has its name.
fn each_feature_alone(sh: &Shell, log: &Log) -> Result<()> {
    let (target, folder) = (MAIN.target, target_dir().join("alone"));
    let strategies = StrategyKind::ALL.iter().map(|kind| kind.name());
    let schedulers = SchedulerKind::INFO.iter().map(|info| info.name);
    for features in ["", "default"]
        .into_iter()
        .chain(strategies)
        .chain(schedulers)
    {
        let check = cmd!(
            sh,
            "env RUSTFLAGS=-Dwarnings cargo check --quiet --package meshalloc"
        );
        let check = check
            .arg("--no-default-features")
            .arg(format!("--features={features}"));
        log.run(
            check
                .args(["--target", target, "--target-dir"])
                .arg(&folder),
        )?;
    }
    Ok(())
}
