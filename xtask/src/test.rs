//! `cargo xtask test`: everything that must hold, in order of what it costs.

use std::env;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::BOARDS;

use crate::command::{Cmd, root, target_dir};
use crate::image::{self, MAIN};
use crate::steps::{Lane, Step, Steps};
use crate::{setup, size};

/// The folder with real workload logs; tests that read them are reported as skipped when it is
/// unset.
const TRACES: &str = "MESHALLOC_TRACES";

/// The features of an image with one strategy and one scheduler, which takes little time to
/// compile.
const ONE_OF_EACH: &str = "meshalloc/first-fit,meshalloc/fcfs";

/// The options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the remaining steps after one has failed.
    #[arg(long)]
    keep_going: bool,
}

/// Runs every step and prints the summary.
pub(crate) fn run(options: &Options) -> ExitCode {
    match env::var(TRACES) {
        Ok(folder) => println!("real workload logs: {TRACES}={folder}"),
        Err(_) => println!(
            "real workload logs: none, {TRACES} is unset; tests use a small log made for them"
        ),
    }
    let mut steps = Steps::new(options.keep_going);
    steps.step("set-up", |_| setup::install());
    steps.step("rustfmt", rustfmt);
    // What runs on this machine, and what is built for the board: each has target folders of its
    // own, since cargo locks them.
    steps.together([host(), board()]);
    // The tests left out of the above, by the prefix of their names. Nothing runs beside them, as
    // they wait for answers.
    steps.step("QEMU end to end", |step| {
        step.run(
            &Cmd::new("cargo test --tests -- --show-output qemu_")
                .env("MESHALLOC_REQUIRE_QEMU", "1"),
        )
    });
    println!("\n=== summary\n{steps}");
    if steps.all_passed() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The steps in the host's target folder.
fn host() -> Lane<'static> {
    Lane::default()
        .step("clippy, host", |step| {
            step.run(&Cmd::new(
                "cargo clippy --all-targets -- -D warnings",
            ))
        })
        .step("unit, property, integration and doc tests", |step| {
            step.run(&Cmd::new(
                "cargo test -- --show-output --skip qemu_",
            ))
        })
        .step("the same with 32-bit words", |step| {
            step.run(&Cmd::new(
                "cargo test --package meshalloc --features word32 --lib",
            ))?;
            // Neither documentation nor examples nor the simulator depend on the words, nor do
            // machines that fit into one. With the workspace's packages but the default features
            // that bring the simulator, the dependencies are those of the step before.
            step.run(&Cmd::new(
                "cargo test --no-default-features \
                 --features meshalloc/default,meshalloc-firmware/default,meshalloc-tests/word32 --test across \
                 -- --skip qemu_ --skip every_occupancy",
            ))
        })
        .step("examples of core", |step| {
            // Built with the tests.
            let folder = target_dir().join("debug").join("examples");
            for example in ["allocator", "own_strategy", "static_storage", "hosted"] {
                step.run(&Cmd::at(&folder.join(example)))?;
            }
            Ok(())
        })
        .step("generated documents", |step| {
            step.run(&chore()?.args("docs --check"))
        })
        .step("rustdoc", |step| {
            step.run(
                &Cmd::new("cargo doc --no-deps")
                    .env("RUSTDOCFLAGS", "-D warnings"),
            )
        })
}

/// The steps for the board's target, in a folder of their own.
fn board() -> Lane<'static> {
    Lane::default()
        .step("clippy, firmware", |step| {
            for features in ["", "journal", "qemu", "qemu,journal"] {
                step.run(&image::clippy_command(MAIN, features, true))?;
            }
            Ok(())
        })
        .step("the other boards", other_boards)
        .step("core with its oldest Rust", oldest_rust)
        .step("dependencies", dependencies)
        .step("the program of a guide", |step| {
            step.run(&chore()?.args("guide"))
        })
        .step("the page of the core", |step| {
            step.run(&chore()?.args("web --check"))
        })
        .step("programs for chips", programs_for_chips)
        .step("library for C", |step| step.run(&chore()?.args("c")))
        .step("firmware, features left out", features_left_out)
        .step(
            "core, each strategy and scheduler alone",
            each_feature_alone,
        )
        .step("firmware image, QEMU", |step| {
            step.run(&image::build_command(MAIN, "qemu"))
        })
        .step("places to panic in the image", |step| {
            step.run(&chore()?.args("panics"))
        })
        .step("flash, RAM and stack", |step| {
            // The largest image only, to save time.
            step.run(&chore()?.args("size --check --only").arg(size::JOURNAL))
        })
}

/// This program, to be started for another chore.
fn chore() -> Result<Cmd> {
    Ok(Cmd::at(&env::current_exe()?))
}

/// The format of every file. Cargo does not find those whose modules a macro declares.
fn rustfmt(step: &mut Step) -> Result<()> {
    step.run(&Cmd::new("cargo fmt --all --check"))?;
    let mut command = Cmd::new("rustfmt --check --edition 2024");
    for folder in ["core/src/strategy", "core/src/scheduler"] {
        for entry in root().join(folder).read_dir()? {
            let mut path = entry?.path();
            if path.is_dir() {
                path.push("mod.rs");
            }
            if path.extension().is_some_and(|extension| extension == "rs") {
                command = command.arg(path.strip_prefix(root())?.display().to_string());
            }
        }
    }
    step.run(&command)
}

/// Core must build with the Rust version that its manifest names.
fn oldest_rust(step: &mut Step) -> Result<()> {
    let manifest = fs::read_to_string(root().join("core/Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = ")?.split('"').nth(1))
        .context("core/Cargo.toml names no rust-version")?;
    let version = format!("{version}.0");
    if let Err(reason) = setup::toolchain(&version) {
        step.skip(&format!("{reason:#}"));
        return Ok(());
    }
    // Other settings of this run belong to the compiler that runs it.
    step.run(
        &Cmd::new(&format!("rustup run {version} cargo check"))
            .args("--quiet --package meshalloc --features restore --target-dir")
            .arg(target_dir().join("oldest").display().to_string()),
    )
}

/// Licences and sources of dependencies, as `deny.toml` says.
fn dependencies(step: &mut Step) -> Result<()> {
    if !Cmd::new("cargo deny --version").succeeds() {
        step.skip("cargo-deny is not installed (cargo install cargo-deny)");
        return Ok(());
    }
    step.run(&Cmd::new("cargo deny check bans licenses sources"))
}

/// The whole programs in `core/examples/chips`, each for its target, without warnings.
fn programs_for_chips(step: &mut Step) -> Result<()> {
    const PROGRAMS: [(&str, &str); 3] = [
        ("cortex_m0", "thumbv6m-none-eabi"),
        ("riscv", "riscv32imac-unknown-none-elf"),
        ("embassy", MAIN.target),
    ];
    for (program, target) in PROGRAMS {
        setup::target(target)?;
        let command = Cmd::new("cargo build --package meshalloc-chips")
            .args(&format!("--bin {program} --target {target} --target-dir"))
            .arg(target_dir().join("chips").display().to_string());
        step.run(&command.env("RUSTFLAGS", "-D warnings"))?;
    }
    Ok(())
}

/// The image must build without each feature that may be left out, and without all of them. So
/// every pair of features is built together, one without the other, and neither. One strategy and
/// one scheduler take little time to compile.
fn features_left_out(step: &mut Step) -> Result<()> {
    const FEATURES: [&str; 4] = ["leases", "rates", "journal", "qemu"];
    let all_but_one = FEATURES.map(|out| FEATURES.into_iter().filter(|&one| one != out).collect());
    for chosen in all_but_one.into_iter().chain([Vec::new()]) {
        let features = [&[ONE_OF_EACH][..], &chosen].concat().join(",");
        step.run(&image::clippy_command(MAIN, &features, false))?;
    }
    Ok(())
}

/// The image must build for every board, with a journal, whose drivers are the board's too. One
/// strategy and one scheduler take little time to compile.
fn other_boards(step: &mut Step) -> Result<()> {
    for board in BOARDS.iter().filter(|board| board.name != MAIN.name) {
        let features = format!("{ONE_OF_EACH},journal");
        step.run(&image::clippy_command(board, &features, false))?;
    }
    Ok(())
}

/// Core must build for the target with nothing, with any one strategy or scheduler, and with all of
/// them.
fn each_feature_alone(step: &mut Step) -> Result<()> {
    let strategies = StrategyKind::ALL.iter().map(|kind| kind.name());
    let schedulers = SchedulerKind::INFO.iter().map(|info| info.name);
    // The feature of each has its name.
    let none_or_all = ["", "default"].into_iter();
    for features in none_or_all.chain(strategies).chain(schedulers) {
        let command = Cmd::new("cargo clippy --quiet --package meshalloc --no-default-features")
            .arg(format!("--features={features}"))
            .args("--target")
            .arg(MAIN.target)
            .args("--target-dir")
            .arg(target_dir().join("alone").display().to_string());
        step.run(&command.args("-- -D warnings"))?;
    }
    Ok(())
}
