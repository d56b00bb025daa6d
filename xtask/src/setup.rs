//! Installs what the other steps need.
//!
//! rustup's components are added without a question. System packages are installed for root, or
//! with `--install`; otherwise the error names the one command that installs them.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use meshalloc_firmware::boards::{BOARDS, Emulator, Info};

use crate::command::Cmd;
use crate::web;

/// Whether `--install` stands on the command line.
static MAY_INSTALL: AtomicBool = AtomicBool::new(false);

/// Allows installing system packages as a user who is not root.
pub(crate) fn allow_installing() {
    MAY_INSTALL.store(true, Ordering::Relaxed);
}

/// Makes sure that rustfmt, clippy, the target of the page, and the targets and emulators of all
/// boards are there.
pub(crate) fn install() -> Result<()> {
    component("rustfmt", "cargo fmt --version")?;
    component("clippy", "cargo clippy --version")?;
    target(web::TARGET)?;
    for board in &BOARDS {
        target(board.target)?;
        if let Some(emulator) = &board.emulator {
            qemu(emulator)?;
        }
    }
    Ok(())
}

/// Makes sure that the target and the emulator of a board are there.
pub(crate) fn board(board: &'static Info) -> Result<()> {
    target(board.target)?;
    qemu(emulator(board)?)
}

/// The emulator of a board.
///
/// # Errors
///
/// When it has none.
pub(crate) fn emulator(board: &'static Info) -> Result<&'static Emulator> {
    board.emulator.as_ref().with_context(|| {
        let others = BOARDS.iter().filter(|board| board.emulator.is_some());
        let names: Vec<_> = others.map(|board| board.name).collect();
        let name = board.name;
        format!(
            "QEMU has no machine for {name}; it has some for {}",
            names.join(", ")
        )
    })
}

fn component(name: &str, probe: &str) -> Result<()> {
    if !Cmd::new(probe).succeeds() {
        rustup(&format!("rustup component add {name}"), name)?;
    }
    println!("{name}: {}", Cmd::new(probe).output()?.trim());
    Ok(())
}

/// Makes sure that a target is there.
///
/// The toolchain file lists it as well, but rustup ignores that list where automatic installation
/// is off (`RUSTUP_AUTO_INSTALL=0`).
pub(crate) fn target(target: &str) -> Result<()> {
    if !target_is_installed(target)? {
        rustup(&format!("rustup target add {target}"), target)?;
        if !target_is_installed(target)? {
            bail!(
                "rustup has added the target {target}, but rustc does not find it: is rustc rustup's own?"
            );
        }
    }
    println!("target: {target}");
    Ok(())
}

fn target_is_installed(target: &str) -> Result<bool> {
    let folder = Cmd::new("rustc --print target-libdir --target")
        .arg(target)
        .output()?;
    Ok(std::fs::read_dir(folder.trim()).is_ok_and(|mut files| files.next().is_some()))
}

/// Makes sure that this toolchain is there.
pub(crate) fn toolchain(version: &str) -> Result<()> {
    if Cmd::new(&format!("rustup run {version} cargo --version")).succeeds() {
        return Ok(());
    }
    rustup(
        &format!("rustup toolchain install {version} --profile minimal --no-self-update"),
        version,
    )
}

/// Runs rustup. In a run of cargo it changes the toolchain of that run.
fn rustup(line: &str, what: &str) -> Result<()> {
    Cmd::new(line)
        .run()
        .with_context(|| format!("{what} is missing and rustup could not install it"))
}

/// Makes sure that QEMU is there and has the machine.
fn qemu(emulator: &Emulator) -> Result<()> {
    let Emulator {
        program, machine, ..
    } = *emulator;
    let version = Cmd::new(program).args("--version");
    if !version.succeeds() {
        apt_install(emulator.package)?;
    }
    let banner = version
        .output()
        .with_context(|| format!("{program} was installed but does not start"))?;
    let machines = Cmd::new(program).args("-machine help").output()?;
    let mut names = machines.lines().filter_map(|line| line.split(' ').next());
    if !names.any(|name| name == machine) {
        bail!("this {program} does not know the machine {machine}; version 7.2 or later is needed");
    }
    println!("QEMU: {}", banner.lines().next().unwrap_or_default());
    Ok(())
}

/// Makes sure that a browser is there.
pub(crate) fn chromium() -> Result<()> {
    let version = Cmd::new("chromium --version");
    if !version.succeeds() {
        apt_install("chromium")?;
    }
    println!("browser: {}", version.output()?.trim());
    Ok(())
}

/// Makes sure that compilers for C and C++, CMake and pkg-config are there.
pub(crate) fn c_compilers() -> Result<()> {
    programs(
        "C",
        &["cc", "c++", "make", "cmake", "pkg-config"],
        "gcc g++ make cmake pkg-config",
    )
}

/// Makes sure that the compiler for Cortex-M and its library are there.
pub(crate) fn cortex_m_compiler() -> Result<()> {
    programs(
        "C for Cortex-M",
        &["arm-none-eabi-gcc", "arm-none-eabi-size"],
        "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    )
}

/// Makes sure that programs are there, which these Debian packages have.
fn programs(what: &str, names: &[&str], packages: &str) -> Result<()> {
    let is_missing = |name: &&&str| !Cmd::new(name).args("--version").succeeds();
    if names.iter().find(is_missing).is_some() {
        apt_install(packages)?;
        if let Some(name) = names.iter().find(is_missing) {
            bail!("{packages} are installed, but {name} is not found");
        }
    }
    println!("{what}: {}", names.join(", "));
    Ok(())
}

/// Makes sure that Slurm and its authentication are there.
pub(crate) fn slurm() -> Result<()> {
    // Some of them answer no question without a configuration.
    let programs = "type munged mungekey slurmctld slurmd sbatch scontrol sinfo scancel";
    let is_there = || Cmd::new("sh -c").arg(programs).succeeds();
    if !is_there() {
        apt_install("slurm-wlm munge")?;
        if !is_there() {
            bail!("slurm-wlm and munge are installed, but not all of their programs are found");
        }
    }
    println!("Slurm: {}", Cmd::new("slurmctld -V").output()?.trim());
    Ok(())
}

/// Installs Debian packages.
///
/// # Errors
///
/// Names the command that installs them, where this user may not, or `apt-get` fails.
fn apt_install(packages: &str) -> Result<()> {
    let by_hand = format!(
        "{packages} is missing. Install it and start again:\n  \
         Debian, Ubuntu: sudo apt-get install {packages}\n  \
         other systems:  the package of that name, or what provides its programs"
    );
    if !Cmd::new("apt-get --version").succeeds() {
        bail!("{by_hand}");
    }
    let sudo = match Cmd::new("id -u").output()?.trim() == "0" {
        true => "",
        false if MAY_INSTALL.load(Ordering::Relaxed) => "sudo ",
        false => bail!("{by_hand}\n  or let this command do it: add --install"),
    };
    let apt = |line: &str| {
        Cmd::new(&format!(
            "{sudo}env DEBIAN_FRONTEND=noninteractive apt-get {line}"
        ))
        .run()
        .with_context(|| by_hand.clone())
    };
    // One unreachable source must not hide a package that another has.
    if let Err(error) = apt("update") {
        println!("warning: {:#}", error.root_cause());
    }
    apt(&format!("install --yes --no-install-recommends {packages}"))
}
