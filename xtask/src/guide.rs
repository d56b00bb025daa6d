//! `cargo xtask guide`: builds the program that the guide "Link the core" shows.
//!
//! A line `<!-- file: NAME -->` before a block of code makes it a file of the program.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::command::{Cmd, root, target_dir};
use crate::setup;

/// The page with the program.
const PAGE: &str = "docs/guides/link-the-core.md";
/// What the program is built for: a chip without atomic compare-and-swap.
const TARGET: &str = "thumbv6m-none-eabi";
/// The path of core in the program's manifest.
const CORE: &str = "../meshalloc/core";

/// Writes the program's files and builds it.
pub(crate) fn run() -> Result<()> {
    setup::target(TARGET)?;
    let page = fs::read_to_string(root().join(PAGE)).context(PAGE)?;
    let files = files(&page)?;
    let folder = target_dir().join("guide");
    for (name, text) in &files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        let core = root().join("core").display().to_string();
        fs::write(&path, text.replace(CORE, &core))?;
    }
    let manifest = folder.join("Cargo.toml");
    // Here it stands within the workspace and is no member of it.
    let text = fs::read_to_string(&manifest)? + "\n[workspace]\n";
    fs::write(&manifest, text)?;
    // The versions of dependencies that the workspace has.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let config = folder.join(".cargo/config.toml");
    Cmd::new("cargo build --release --manifest-path")
        .arg(manifest.display().to_string())
        .arg("--config")
        .arg(config.display().to_string())
        .arg("--target-dir")
        .arg(folder.join("target").display().to_string())
        .run()
}

/// The files of a page, each with its name.
fn files(page: &str) -> Result<Vec<(&str, &str)>> {
    let parts = page.split("\n<!-- file: ").skip(1);
    let files = parts.map(|part| {
        let (name, behind) = part.split_once(" -->\n").context("no end of a name")?;
        let block = behind.strip_prefix("```").context(name.to_owned())?;
        let (_kind, text) = block.split_once('\n').context(name.to_owned())?;
        let (text, _) = text.split_once("\n```\n").context(name.to_owned())?;
        Ok((name, text))
    });
    let files: Vec<_> = files.collect::<Result<_>>()?;
    if files.is_empty() {
        bail!("{PAGE} has no line `<!-- file: NAME -->`");
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_are_files() {
        let page = "a\n\n<!-- file: b/c.rs -->\n```rust,ignore\nd\n\ne\n```\n\n```sh\nf\n```\n";
        assert_eq!(files(page).unwrap(), [("b/c.rs", "d\n\ne")]);
        assert!(files("no file").is_err());
        assert!(files("a\n<!-- file: b -->\nno block").is_err());
    }
}
