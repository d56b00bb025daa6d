//! Starts the firmware: in QEMU, or on a board through probe-rs.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use meshalloc_firmware::boards::{self, BOARDS, Emulator, Info};

use crate::command::Cmd;
use crate::{image, setup};

/// The options of `cargo xtask qemu`.
#[derive(clap::Args)]
pub(crate) struct QemuOptions {
    /// The board; one that QEMU has a machine for
    #[arg(long, value_name = "NAME", default_value = image::MAIN.name, value_parser = named())]
    board: &'static Info,
    /// The TCP port on 127.0.0.1 that stands for the serial line.
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Keep a journal, in the file meshalloc-journal.bin of this folder.
    #[arg(long)]
    journal: bool,
}

/// The options of `cargo xtask flash`.
#[derive(clap::Args)]
pub(crate) struct FlashOptions {
    /// The board; one that probe-rs can write to
    #[arg(long, value_name = "NAME", default_value = image::MAIN.name, value_parser = named())]
    board: &'static Info,
    /// Leave the board alone once it runs; without this its log is shown until Ctrl-C.
    #[arg(long)]
    detach: bool,
    /// Keep a journal in the flash.
    #[arg(long)]
    journal: bool,
}

/// Reads the name of a board.
pub(crate) fn named() -> impl TypedValueParser<Value = &'static Info> {
    PossibleValuesParser::new(BOARDS.iter().map(|board| board.name))
        .map(|name| boards::find(&name).expect("one of these names"))
}

/// Builds the image with these features and a journal, if there is to be one.
fn build(board: &'static Info, features: &str, journal: bool) -> Result<()> {
    let features = match (features, journal) {
        (features, false) => features.to_owned(),
        ("", true) => "journal".to_owned(),
        (features, true) => format!("{features},journal"),
    };
    image::build(board, &image::build_command(board, &features))
}

/// The command that runs an image in QEMU, with its serial line on a socket, named as QEMU does,
/// and its log on standard output.
pub(crate) fn qemu_command(emulator: &Emulator, image: &Path, socket: &str) -> Cmd {
    let arguments = emulator.arguments(&image.display().to_string());
    let command = arguments
        .into_iter()
        .fold(Cmd::new(emulator.program), Cmd::arg);
    command
        .args("-serial")
        .arg(format!("{socket},server=on,wait=off"))
}

/// Builds the image and serves it until QEMU ends.
pub(crate) fn qemu(options: &QemuOptions) -> Result<()> {
    let emulator = setup::emulator(options.board)?;
    setup::board(options.board)?;
    build(options.board, emulator.features, options.journal)?;

    let image = image::path();
    let port = options.port;
    let socket = format!("tcp:127.0.0.1:{port},nodelay=on");
    let command = qemu_command(emulator, &image, &socket).args("-monitor none");
    println!("$ {command}");
    println!("serving on 127.0.0.1:{port} until Ctrl-C; in another terminal, for example:");
    println!(
        "  cargo run --release -- run --backend tcp:127.0.0.1:{port} --mesh 64x64 --strategy fsl --load 0.47 --jobs 2000 --replications 2"
    );

    let mut process = command.process();
    let printer = Cmd::new("defmt-print -e").arg(image.display().to_string());
    let printer = if Cmd::new("defmt-print --version").succeeds() {
        let mut printer = printer
            .process()
            .stdin(Stdio::piped())
            .spawn()
            .context("defmt-print cannot be started")?;
        let input = printer
            .stdin
            .take()
            .context("defmt-print has no standard input")?;
        process.stdout(input);
        Some(printer)
    } else {
        println!("the firmware's log is not shown: it takes `cargo install defmt-print --locked`");
        process.stdout(Stdio::null());
        None
    };
    let status = process
        .status()
        .with_context(|| format!("{} cannot be started", emulator.program))?;
    // With its standard input closed it ends by itself.
    drop(process);
    if let Some(mut printer) = printer {
        printer.wait()?;
    }
    if !status.success() {
        bail!(
            "{} ended: {status} (is port {port} taken? --port N chooses another)",
            emulator.program
        );
    }
    Ok(())
}

/// Builds the image and writes it to a board.
pub(crate) fn flash(options: &FlashOptions) -> Result<()> {
    let board = options.board;
    let chip = board.chip.with_context(|| {
        let others = BOARDS.iter().filter(|board| board.chip.is_some());
        let names: Vec<_> = others.map(|board| board.name).collect();
        let name = board.name;
        format!(
            "{name} is not written by probe-rs; it writes {}",
            names.join(", ")
        )
    })?;
    if !Cmd::new("probe-rs --version").succeeds() {
        bail!(
            "probe-rs is missing. Please install it and start again:\n  \
             cargo install probe-rs-tools --locked\n\
             (on Linux the probe's udev rules are needed as well; see the manual of probe-rs)"
        );
    }
    setup::target(board.target)?;
    build(board, "", options.journal)?;
    let image = image::path().display().to_string();
    let probe = |verb: &str| Cmd::new(&format!("probe-rs {verb} --chip {chip}"));
    if options.detach {
        probe("download").arg(image).run()?;
        probe("reset").run()
    } else {
        probe("run").arg(image).run()
    }
}
