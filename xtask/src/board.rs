//! Starts the firmware: in QEMU, or on a board through probe-rs.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use meshalloc_firmware::boards::{self, BOARDS, Info};
use xshell::{Shell, cmd};

use crate::image::{self, Image};
use crate::shell::succeeds;
use crate::{emulator, setup};

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

const fn journal(wanted: bool) -> &'static str {
    if wanted { "journal" } else { "" }
}

/// Builds the image and serves it until QEMU ends.
pub(crate) fn qemu(sh: &Shell, options: &QemuOptions) -> Result<()> {
    let QemuOptions { board, port, .. } = *options;
    let emulator = setup::emulator(board)?;
    setup::target_and_emulator(sh, board)?;
    let features = image::with_emulator(board, journal(options.journal));
    let image = Image::build(sh, board, &features, true)?;
    let socket = format!("tcp:127.0.0.1:{port},nodelay=on");
    let mut qemu = emulator::command(emulator, &image, &socket);
    qemu.args(["-monitor", "none"]).stdin(Stdio::null());
    println!("serving on 127.0.0.1:{port} until Ctrl-C; in another terminal, for example:");
    println!(
        "  cargo run --release -- run --backend tcp:127.0.0.1:{port} --mesh 64x64 --strategy fsl --load 0.47 --jobs 2000 --replications 2"
    );
    let printer = succeeds(cmd!(sh, "defmt-print --version")).then(|| {
        let mut printer = Command::new("defmt-print");
        printer
            .arg("-e")
            .arg(image.path())
            .stdin(Stdio::piped())
            .spawn()
    });
    let mut printer = printer
        .transpose()
        .context("defmt-print cannot be started")?;
    match printer.as_mut().and_then(|printer| printer.stdin.take()) {
        Some(input) => _ = qemu.stdout(input),
        None => {
            println!(
                "the firmware's log is not shown: it takes `cargo install defmt-print --locked`"
            );
            qemu.stdout(Stdio::null());
        }
    }
    let status = qemu
        .status()
        .with_context(|| format!("{} cannot be started", emulator.program))?;
    // With its standard input closed the printer ends by itself.
    drop(qemu);
    if let Some(mut printer) = printer {
        printer.wait()?;
    }
    ensure!(
        status.success(),
        "{} ended: {status} (is port {port} taken? --port N chooses another)",
        emulator.program
    );
    Ok(())
}

/// Builds the image and writes it to a board.
pub(crate) fn flash(sh: &Shell, options: &FlashOptions) -> Result<()> {
    let board = options.board;
    let chip = board.chip.with_context(|| {
        let others = setup::names(|board| board.chip.is_some());
        format!(
            "{} is not written by probe-rs; it writes {others}",
            board.name
        )
    })?;
    ensure!(
        succeeds(cmd!(sh, "probe-rs --version")),
        "probe-rs is missing. Please install it and start again:\n  \
         cargo install probe-rs-tools --locked\n\
         (on Linux the probe's udev rules are needed as well; see the manual of probe-rs)"
    );
    setup::target(sh, board.target)?;
    let image = Image::build(sh, board, journal(options.journal), true)?;
    let image = image.path();
    if options.detach {
        cmd!(sh, "probe-rs download --chip {chip} {image}").run()?;
        cmd!(sh, "probe-rs reset --chip {chip}").run()?;
    } else {
        cmd!(sh, "probe-rs run --chip {chip} {image}").run()?;
    }
    Ok(())
}
