//! `cargo xtask docs`: the files that are generated, and the book.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::book;
use crate::command::{Cmd, root};

/// The options of `cargo xtask docs`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing: fail if a generated page differs from its source
    #[arg(long)]
    check: bool,
}

/// The folder of the generated reference.
const REFERENCE: &str = "docs/reference";

/// Writes all generated files, or compares the reference with its source. Then builds the book.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.check {
        return check();
    }
    reference(&root().join(REFERENCE))?;
    // Golden frames of the protocol, and outputs that the documents show.
    for test in [
        "cargo test --package meshalloc-firmware --all-features --test it -- golden",
        "cargo test --package meshalloc-host-sim --test it -- every_command_of_the_documents",
    ] {
        // A test that has refreshed a file fails once.
        let refreshed = Cmd::new(test).env("MESHALLOC_REFRESH_GOLDEN", "1").run();
        if refreshed.is_err() {
            Cmd::new(test).run()?;
        }
    }
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
    differing.sort();
    if !differing.is_empty() {
        bail!(
            "these pages differ from their source; `cargo xtask docs` writes them: {}",
            differing.join(", ")
        );
    }
    println!("every page in {REFERENCE} is up to date");
    book::build()
}
