//! `cargo xtask docs`: the files that are generated, and the book.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::{Cmd, root};
use crate::{book, instructions, protocol, size};

/// The options of `cargo xtask docs`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing: fail if a generated page differs from its source
    #[arg(long)]
    check: bool,
}

/// The folder of the generated reference.
const REFERENCE: &str = "docs/reference";

/// Writes all generated files and measures what has no row in the tables of measurements, then
/// writes the book; or compares the reference and the protocol with their sources.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.check {
        return check();
    }
    reference(&root().join(REFERENCE))?;
    protocol::write()?;
    // Golden frames of the protocol, outputs that the documents show, hashes of new strategies, the
    // header for C.
    for test in [
        "cargo test --package meshalloc-firmware --features client,durable,memory-flash --test it -- golden",
        "cargo test --package meshalloc-host-sim --test it -- documents::",
        "cargo test --package meshalloc-tests --test across -- word_lengths::",
        "cargo test --package meshalloc-c --test it -- header",
    ] {
        // A test that has refreshed a file fails once.
        let refreshed = Cmd::new(test).env("MESHALLOC_REFRESH_GOLDEN", "1").run();
        if refreshed.is_err() {
            Cmd::new(test).run()?;
        }
    }
    size::add_missing()?;
    instructions::add_missing()?;
    book::build()
}

/// Writes the reference pages into a folder.
fn reference(folder: &Path) -> Result<()> {
    Cmd::new("cargo run --quiet --bin host-sim -- reference")
        .arg(folder.display().to_string())
        .run()
}

fn check() -> Result<()> {
    let folder = tempfile::tempdir()?;
    reference(folder.path())?;
    let mut differing = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let entry = entry?;
        let page = Path::new(REFERENCE).join(entry.file_name());
        let present = fs::read_to_string(root().join(&page)).unwrap_or_default();
        if present != fs::read_to_string(entry.path())? {
            differing.push(page.display().to_string());
        }
    }
    for entry in fs::read_dir(root().join(REFERENCE)).context(REFERENCE)? {
        let entry = entry?;
        if !folder.path().join(entry.file_name()).exists() {
            differing.push(format!("{REFERENCE}/{}", entry.file_name().display()));
        }
    }
    if !protocol::is_up_to_date()? {
        differing.push(protocol::PAGE.to_owned());
    }
    differing.sort();
    if !differing.is_empty() {
        bail!(
            "these pages differ from their source; `cargo xtask docs` writes them: {}",
            differing.join(", ")
        );
    }
    println!(
        "every page in {REFERENCE} and {} are up to date",
        protocol::PAGE
    );
    book::build()
}
