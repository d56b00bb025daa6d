//! Installs what the chores need.
//!
//! rustup's components are added without a question. System packages are installed for root, or
//! with `--install`; otherwise the error names the command that installs them.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use meshalloc_firmware::boards::{BOARDS, Emulator, Info};

use crate::shell::{run, succeeds};

/// Whether the command line has `--install`.
pub(crate) static MAY_INSTALL: AtomicBool = AtomicBool::new(false);

/// The target of the page in a browser.
pub(crate) const WEB: &str = "wasm32-unknown-unknown";

/// Makes sure that rustfmt, clippy, the target of the page, and the targets and emulators of these
/// boards are installed.
pub(crate) fn install(boards: &[Info]) -> Result<()> {
    for (component, program) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !succeeds(&format!("cargo {program} --version")) {
            run!("rustup component add {component}")?;
        }
    }
    target(WEB)?;
    boards.iter().try_for_each(target_and_emulator)
}

/// Makes sure that the target of a board is installed, and its emulator, if there is one.
pub(crate) fn target_and_emulator(board: &Info) -> Result<()> {
    target(board.target)?;
    board.emulator.as_ref().map_or(Ok(()), qemu)
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
    let wanted = BOARDS.iter().filter(|board| wanted(board));
    wanted
        .map(|board| board.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Makes sure that a target is installed. The toolchain file lists it as well, but rustup ignores
/// that list where automatic installation is off (`RUSTUP_AUTO_INSTALL=0`).
pub(crate) fn target(target: &str) -> Result<()> {
    let folder = format!("test -d \"$(rustc --print target-libdir --target {target})\"");
    if succeeds(&folder) {
        return Ok(());
    }
    run!("rustup target add {target}")?;
    ensure!(
        succeeds(&folder),
        "rustup has added the target {target}, but rustc does not find it: is rustc rustup's own?"
    );
    Ok(())
}

/// Makes sure that this toolchain is installed.
pub(crate) fn toolchain(version: &str) -> Result<()> {
    if succeeds(&format!("rustup run {version} cargo --version")) {
        return Ok(());
    }
    run!("rustup toolchain install {version} --profile minimal --no-self-update")
}

/// Makes sure that QEMU is installed and has the machine.
fn qemu(emulator: &Emulator) -> Result<()> {
    let (program, machine) = (emulator.program, emulator.machine);
    packages(emulator.package, &format!("{program} --version"))?;
    ensure!(
        succeeds(&format!("{program} -machine help | grep -q '^{machine} '")),
        "{program} has no machine {machine}; version 7.2 or later is needed"
    );
    Ok(())
}

/// Makes sure that Debian packages are installed: this line of a shell succeeds if they are.
///
/// # Errors
///
/// Names the command that installs them, where this user may not, or `apt-get` fails.
pub(crate) fn packages(packages: &str, are_there: &str) -> Result<()> {
    if succeeds(are_there) {
        return Ok(());
    }
    let by_hand = format!(
        "{packages} is missing. Install it and start again (add --install, and this command does it):\n  \
         Debian, Ubuntu: sudo apt-get install {packages}\n  \
         other systems:  the package of that name, or one that provides its programs"
    );
    let is_root = succeeds("test $(id -u) = 0");
    let may_install = is_root || MAY_INSTALL.load(Ordering::Relaxed);
    ensure!(may_install && succeeds("apt-get --version"), "{by_hand}");
    let program = if is_root { "env" } else { "sudo" };
    let apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    // One unreachable source must not hide a package that another has.
    if let Err(error) = run!("{program} {apt...} update") {
        println!("warning: {error}");
    }
    let names = packages.split(' ');
    run!("{program} {apt...} install --yes --no-install-recommends {names...}").context(by_hand)?;
    ensure!(
        succeeds(are_there),
        "{packages} is installed, but not all of its programs are found"
    );
    Ok(())
}
