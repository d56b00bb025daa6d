//! Installs what the chores need.
//!
//! rustup's components are added without a question. System packages are installed for root, or
//! with `--install`; otherwise the error names the command that installs them.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use meshalloc_firmware::boards::{BOARDS, Emulator, Info};
use xshell::{Cmd, Shell, cmd};

use crate::shell::succeeds;
use crate::web;

/// Whether `--install` stands on the command line.
pub(crate) static MAY_INSTALL: AtomicBool = AtomicBool::new(false);

/// Makes sure that rustfmt, clippy, the target of the page, and the targets and emulators of all
/// boards are installed.
pub(crate) fn install(sh: &Shell) -> Result<()> {
    for (name, program) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !succeeds(cmd!(sh, "cargo {program} --version")) {
            rustup(&cmd!(sh, "rustup component add {name}"))?;
        }
    }
    target(sh, web::TARGET)?;
    BOARDS
        .iter()
        .try_for_each(|board| target_and_emulator(sh, board))
}

/// Makes sure that the target of a board is installed, and its emulator, if there is one.
pub(crate) fn target_and_emulator(sh: &Shell, board: &Info) -> Result<()> {
    target(sh, board.target)?;
    board
        .emulator
        .as_ref()
        .map_or(Ok(()), |emulator| qemu(sh, emulator))
}

/// The emulator of a board.
///
/// # Errors
///
/// When it has none.
pub(crate) fn emulator(board: &'static Info) -> Result<&'static Emulator> {
    board.emulator.as_ref().with_context(|| {
        let others = names(|board| board.emulator.is_some());
        format!(
            "QEMU has no machine for {}; it has some for {others}",
            board.name
        )
    })
}

/// The names of these boards.
pub(crate) fn names(wanted: impl Fn(&Info) -> bool) -> String {
    let names = BOARDS
        .iter()
        .filter(|board| wanted(board))
        .map(|board| board.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Makes sure that a target is installed. The toolchain file lists it as well, but rustup ignores
/// that list where automatic installation is off (`RUSTUP_AUTO_INSTALL=0`).
pub(crate) fn target(sh: &Shell, target: &str) -> Result<()> {
    let is_installed = || -> Result<bool> {
        let folder = cmd!(sh, "rustc --print target-libdir --target {target}").read()?;
        Ok(sh.path_exists(folder))
    };
    if !is_installed()? {
        rustup(&cmd!(sh, "rustup target add {target}"))?;
        ensure!(
            is_installed()?,
            "rustup has added the target {target}, but rustc does not find it: is rustc rustup's own?"
        );
    }
    Ok(())
}

/// Makes sure that this toolchain is installed.
pub(crate) fn toolchain(sh: &Shell, version: &str) -> Result<()> {
    if succeeds(cmd!(sh, "rustup run {version} cargo --version")) {
        return Ok(());
    }
    let install = cmd!(
        sh,
        "rustup toolchain install {version} --profile minimal --no-self-update"
    );
    rustup(&install)
}

fn rustup(command: &Cmd<'_>) -> Result<()> {
    command
        .run()
        .context("something is missing and rustup could not install it")
}

/// Makes sure that QEMU is installed and has the machine.
fn qemu(sh: &Shell, emulator: &Emulator) -> Result<()> {
    let Emulator {
        program,
        machine,
        package,
        ..
    } = *emulator;
    packages(sh, package, || succeeds(cmd!(sh, "{program} --version")))?;
    let machines = cmd!(sh, "{program} -machine help").read()?;
    let is_known = machines
        .lines()
        .any(|line| line.split(' ').next() == Some(machine));
    ensure!(
        is_known,
        "{program} has no machine {machine}; version 7.2 or later is needed"
    );
    Ok(())
}

/// Makes sure that Debian packages are installed: `are_there` says whether their programs start.
///
/// # Errors
///
/// Names the command that installs them, where this user may not, or `apt-get` fails.
pub(crate) fn packages(sh: &Shell, packages: &str, are_there: impl Fn() -> bool) -> Result<()> {
    if are_there() {
        return Ok(());
    }
    let by_hand = format!(
        "{packages} is missing. Install it and start again (add --install, and this command does it):\n  \
         Debian, Ubuntu: sudo apt-get install {packages}\n  \
         other systems:  the package of that name, or one that provides its programs"
    );
    let is_root = cmd!(sh, "id -u").read()? == "0";
    let can = succeeds(cmd!(sh, "apt-get --version"));
    ensure!(
        can && (is_root || MAY_INSTALL.load(Ordering::Relaxed)),
        "{by_hand}"
    );
    let (program, env) = if is_root {
        ("env", None)
    } else {
        ("sudo", Some("env"))
    };
    let apt = |words: &[&str]| {
        let settings = "DEBIAN_FRONTEND=noninteractive";
        cmd!(sh, "{program} {env...} {settings} apt-get {words...}").run()
    };
    // One unreachable source must not hide a package that another has.
    if let Err(error) = apt(&["update"]) {
        println!("warning: {error}");
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    let names: Vec<_> = packages.split(' ').collect();
    apt(&[&install[..], &names].concat()).with_context(|| by_hand.clone())?;
    ensure!(
        are_there(),
        "{packages} is installed, but not all of its programs are found"
    );
    Ok(())
}

/// Makes sure that programs are installed, which these Debian packages have.
pub(crate) fn programs(sh: &Shell, names: &[&str], from: &str) -> Result<()> {
    let starts = |name: &&str| succeeds(cmd!(sh, "{name} --version"));
    packages(sh, from, || names.iter().all(starts))
}
