//! Starts the firmware: in QEMU, or on a board through probe-rs.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::command::Cmd;
use crate::image::{self, CHIP};
use crate::setup::{self, QEMU, QEMU_MACHINE};

/// The options of `cargo xtask qemu`.
#[derive(clap::Args)]
pub(crate) struct QemuOptions {
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
    /// Leave the board alone once it runs; without this its log is shown until Ctrl-C.
    #[arg(long)]
    detach: bool,
    /// Keep a journal in the flash.
    #[arg(long)]
    journal: bool,
}

/// Builds the image with these features, and with a journal if so.
fn build(features: &str, journal: bool) -> Result<()> {
    let journal = if journal { ",journal" } else { "" };
    image::build(&image::build_command(&format!("{features}{journal}")))
}

/// The command that runs an image in QEMU, with its serial line on a socket, named as QEMU does,
/// and its log on standard output.
pub(crate) fn qemu_command(image: &Path, socket: &str) -> Cmd {
    Cmd::new(QEMU)
        .args("-machine")
        .arg(QEMU_MACHINE)
        .args("-display none -kernel")
        .arg(image.display().to_string())
        .args("-semihosting-config enable=on,target=native")
        // The first serial port is USART1; the firmware talks on USART2.
        .args("-serial null -serial")
        .arg(format!("{socket},server=on,wait=off"))
}

/// Builds the image and serves it until QEMU ends.
pub(crate) fn qemu(options: &QemuOptions) -> Result<()> {
    setup::target()?;
    setup::qemu()?;
    build("board,qemu", options.journal)?;

    let image = image::path();
    let port = options.port;
    let command =
        qemu_command(&image, &format!("tcp:127.0.0.1:{port},nodelay=on")).args("-monitor none");
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
        .with_context(|| format!("{QEMU} cannot be started"))?;
    // With its standard input closed it ends by itself.
    drop(process);
    if let Some(mut printer) = printer {
        printer.wait()?;
    }
    if !status.success() {
        bail!("{QEMU} ended: {status} (is port {port} taken? --port N chooses another)");
    }
    Ok(())
}

/// Builds the image and writes it to a board.
pub(crate) fn flash(options: &FlashOptions) -> Result<()> {
    if !Cmd::new("probe-rs --version").succeeds() {
        bail!(
            "probe-rs is missing. Please install it and start again:\n  \
             cargo install probe-rs-tools --locked\n\
             (on Linux the probe's udev rules are needed as well; see the manual of probe-rs)"
        );
    }
    setup::target()?;
    build("board", options.journal)?;
    let image = image::path().display().to_string();
    let probe = |verb: &str| Cmd::new(&format!("probe-rs {verb} --chip {CHIP}"));
    if options.detach {
        probe("download").arg(image).run()?;
        probe("reset").run()
    } else {
        probe("run").arg(image).run()
    }
}
