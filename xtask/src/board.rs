//! Starts the firmware: in QEMU, or on a board through probe-rs.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use meshalloc_firmware::boards::{self, BOARDS, Info};

use crate::image::{self, Image};
use crate::setup;
use crate::shell::{root, run, shell, succeeds, target_dir};

/// The file in which an image for QEMU keeps its journal, as in the firmware's `host_file.rs`.
const JOURNAL: &str = "meshalloc-journal.bin";

/// The options of `cargo xtask qemu`.
#[derive(clap::Args)]
pub(crate) struct QemuOptions {
    /// The board; one that QEMU has a machine for
    #[arg(long, value_name = "NAME", default_value = image::MAIN.name, value_parser = named())]
    board: &'static Info,
    /// The TCP port on 127.0.0.1 that stands for the serial line
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Keep a journal, in the file meshalloc-journal.bin of this folder
    #[arg(long)]
    journal: bool,
}

/// The options of `cargo xtask flash`.
#[derive(clap::Args)]
pub(crate) struct FlashOptions {
    /// The board; one that probe-rs can write to
    #[arg(long, value_name = "NAME", default_value = image::MAIN.name, value_parser = named())]
    board: &'static Info,
    /// Leave the board alone once it runs; without this its log is shown until Ctrl-C
    #[arg(long)]
    detach: bool,
    /// Keep a journal in the flash
    #[arg(long)]
    journal: bool,
}

/// Reads the name of a board.
pub(crate) fn named() -> impl TypedValueParser<Value = &'static Info> {
    PossibleValuesParser::new(BOARDS.iter().map(|board| board.name))
        .map(|name| boards::find(&name).expect("one of these names"))
}

/// The features of an image with all strategies.
const fn features(journal: bool) -> &'static str {
    if journal {
        "default,journal"
    } else {
        "default"
    }
}

/// Builds the image and serves it until QEMU ends.
pub(crate) fn qemu(options: &QemuOptions) -> Result<()> {
    let QemuOptions { board, port, .. } = *options;
    let emulator = setup::emulator(board)?;
    setup::target_and_emulator(board)?;
    let _lock = options.journal.then(lock_journal).transpose()?;
    println!("building the image, which takes some minutes at first; its last crate takes longest");
    let mut features = features(options.journal).to_owned();
    // Beside all strategies the RAM of the main board has no room for more of each job.
    if board.name != image::MAIN.name {
        features += ",gangs,preemption,tolerance";
    }
    let image = Image::build(board, &image::with_emulator(board, &features))?;
    let serial = format!("tcp:127.0.0.1:{port},nodelay=on,server=on,wait=off");
    let mut qemu = Command::new(emulator.program);
    qemu.args(emulator.arguments(&image.path()))
        .args(["-serial", &serial, "-monitor", "none"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    println!("serving on 127.0.0.1:{port} until Ctrl-C; in another terminal, for example:");
    println!("  cargo run --release -- device --tcp 127.0.0.1:{port} info");
    println!(
        "  cargo run --release -- run --backend tcp:127.0.0.1:{port} --mesh 64x64 --strategy fsl --load 0.47 --jobs 2000 --replications 2"
    );
    let mut printer = None;
    if succeeds("defmt-print --version") {
        let mut command = Command::new("defmt-print");
        let child = command
            .args(["-e", &image.path()])
            .stdin(Stdio::piped())
            .spawn();
        let mut child = child.context("defmt-print cannot be started")?;
        qemu.stdout(child.stdin.take().context("defmt-print has no input")?);
        printer = Some(child);
    } else {
        println!("the firmware's log is not shown: it takes `cargo install defmt-print --locked`");
    }
    let status = qemu.status();
    // With its standard input closed the printer ends by itself.
    drop(qemu);
    printer.map(|mut printer| printer.wait()).transpose()?;
    let program = emulator.program;
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    ensure!(
        status.success(),
        "{program} ended: {status} (is port {port} taken? --port N chooses another)"
    );
    Ok(())
}

/// Locks the journal in this folder against other calls of `cargo xtask qemu`, until this one ends.
/// If there is no file, makes an empty one, which the firmware takes for a new journal.
fn lock_journal() -> Result<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(JOURNAL)
        .with_context(|| format!("{JOURNAL} cannot be opened"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "another `cargo xtask qemu` uses {JOURNAL} in this folder; start this board in another folder"
            )
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{JOURNAL} cannot be locked"))
        }
    }
}

/// Builds the image and writes it to a board.
pub(crate) fn flash(options: &FlashOptions) -> Result<()> {
    let board = options.board;
    let chip = board.chip.with_context(|| {
        let others = setup::names(|board| board.chip.is_some());
        format!(
            "{} is not written by probe-rs; it writes {others}",
            board.name
        )
    })?;
    ensure!(
        succeeds("probe-rs --version"),
        "probe-rs is missing. Please install it and start again:\n  \
         cargo install probe-rs-tools --locked\n\
         (on Linux the probe's udev rules are needed as well; see the manual of probe-rs)"
    );
    setup::target(board.target)?;
    let image = Image::build(board, features(options.journal))?;
    let image = image.path();
    if options.detach {
        run!("probe-rs download --chip {chip} {image}")?;
        run!("probe-rs reset --chip {chip}")
    } else {
        run!("probe-rs run --chip {chip} {image}")
    }
}

/// The image of a repository of its own (`firmware/template`), built and tried in QEMU by the smoke
/// test of `docs/porting.md`.
pub(crate) fn template() -> Result<()> {
    const TARGET: &str = "thumbv7m-none-eabi";
    setup::target(TARGET)?;
    // QEMU has all of its machines for a Cortex-M in one program.
    setup::target_and_emulator(image::MAIN)?;
    let (sh, folder) = (shell(), root().join(target_dir()).join("template"));
    // The same versions of dependencies as in the workspace.
    sh.copy_file("Cargo.lock", "firmware/template/Cargo.lock")?;
    {
        // Its settings of cargo are those of its folder.
        let _inside = sh.push_dir("firmware/template");
        run!("cargo build --release --target-dir {folder}")?;
    }
    // In a folder of its own: another lane of `cargo xtask test` may be busy in that of the host.
    run!(
        "cargo build --package meshalloc-firmware --features serial --example smoke
         --target-dir {folder}"
    )?;

    let port = free_port()?;
    let line = format!("tcp:{port}");
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args([
        "-machine",
        "lm3s6965evb",
        "-display",
        "none",
        "-monitor",
        "none",
    ])
    .args(["-serial", &format!("{line},server=on,wait=off")])
    .arg("-kernel")
    .arg(folder.join(TARGET).join("release/my-control-processor"))
    .stdin(Stdio::null());
    let mut qemu = qemu.spawn().context("qemu-system-arm cannot be started")?;
    let smoke = folder.join("debug/examples/smoke");
    let tried = reachable(&"QEMU", port).and_then(|()| run!("{smoke} {line} --emulator"));
    qemu.kill()?;
    qemu.wait()?;
    tried
}

/// A port of this machine that is free, unless another program takes it in the moment in between.
pub(crate) fn free_port() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Waits until the program serves this port.
pub(crate) fn reachable(program: &dyn Display, port: SocketAddr) -> Result<()> {
    const TRIES: u32 = 100;
    let served = (0..TRIES).any(|_| {
        thread::sleep(Duration::from_millis(100));
        // QEMU serves one client after the other.
        TcpStream::connect(port).is_ok()
    });
    ensure!(served, "{program} does not serve {port} after 10 s");
    Ok(())
}
