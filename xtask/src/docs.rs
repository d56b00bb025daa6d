//! `cargo xtask docs`: the files that are generated, and the book.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use clap::Args;
use meshalloc::{SchedulerKind, StrategyInfo, StrategyKind};
use object::read::elf::ElfFile32;

use crate::shell::{cmd, root, run, shell, succeeds, target_dir};
use crate::tables::{Row, Table, code};
use crate::{image, instructions, licences, setup, size, web};

/// Writes all generated files, measures what has no row in the tables of measurements, and builds
/// the book.
pub(crate) fn run() -> Result<()> {
    for (table, rows) in tables() {
        table.write(&rows)?;
    }
    for (file, text) in licences::of_python()? {
        shell().write_file(file, text)?;
    }
    // Golden frames of the protocol, reference pages, outputs that the documents show, hashes of
    // new strategies, and the header for C.
    for (package, test, filters) in [
        ("meshalloc-firmware", "it", &["golden"][..]),
        ("meshalloc-host-sim", "it", &["documents::", "reference::"]),
        ("meshalloc-tests", "across", &["word_lengths::"]),
        ("meshalloc-c", "it", &["header"]),
    ] {
        run!("cargo test --no-run --package {package} --test {test}")?;
        let command = || cmd!("cargo test --package {package} --test {test} -- {filters...}");
        let before = written()?;
        // A test that has written a file anew fails once, which is no news to anyone.
        let refreshing = command().env("MESHALLOC_REFRESH_GOLDEN", "1").quiet();
        let refreshed = refreshing.ignore_stdout().ignore_stderr().run();
        for (file, _) in written()?.difference(&before) {
            println!("out of date, written anew: {file}");
        }
        if refreshed.is_err() {
            command().run()?;
        }
    }
    size::add_missing()?;
    instructions::add_missing()?;
    book()
}

/// Where the pages about host-sim go.
#[derive(Args)]
pub(crate) struct ReferenceOptions {
    /// The folder; man pages go into `man1` in it, JSON Schemas into `schema`
    folder: PathBuf,
}

/// Writes the reference pages, man pages and JSON Schemas of host-sim.
pub(crate) fn reference(options: &ReferenceOptions) -> Result<()> {
    let folder = &options.folder;
    run!(
        "cargo run --package meshalloc-host-sim --features reference --example reference -- {folder}"
    )
}

/// The files of the repository, and when each was written.
fn written() -> Result<BTreeSet<(String, SystemTime)>> {
    let files = cmd!("git ls-files").quiet().read()?;
    let stamp = |file: &str| {
        let written = fs::metadata(root().join(file)).ok()?.modified().ok()?;
        Some((file.to_owned(), written))
    };
    Ok(files.lines().filter_map(stamp).collect())
}

/// Builds the book with mdBook, if that is installed.
///
/// It is built from a copy of the repository in which each `README.md` is an `index.md`, as mdBook
/// calls them, so that links to files outside `docs/` lead somewhere in the book, too.
fn book() -> Result<()> {
    if !succeeds("mdbook --version") {
        println!("The book is not built: `cargo install mdbook` installs what it needs.");
        return Ok(());
    }
    let sh = shell();
    let folder = target_dir().join("book-sources");
    sh.remove_path(&folder)?;
    for file in cmd!("git ls-files").read()?.lines() {
        let copy = folder
            .join("src")
            .join(file.replace("README.md", "index.md"));
        if file.ends_with(".md") {
            let text = sh.read_file(file)?.replace("README.md)", "index.md)");
            sh.write_file(copy, text.replace("README.md#", "index.md#"))?;
        } else {
            sh.create_dir(copy.parent().unwrap_or(&folder))?;
            sh.copy_file(file, copy)?;
        }
    }
    // The chapters by their places in the repository.
    let summary = sh.read_file(folder.join("src/docs/SUMMARY.md"))?;
    let summary = summary.replace("](", "](docs/").replace("docs/../", "");
    sh.write_file(folder.join("src/SUMMARY.md"), summary)?;
    for file in ["book.toml", "book.css"] {
        sh.copy_file(format!("docs/{file}"), folder.join(file))?;
    }
    let book = root().join(target_dir()).join("book");
    run!("mdbook build {folder} --dest-dir {book}")?;
    web::build()?;
    Ok(sh.copy_file(web::page(), book.join("docs/start").join(web::PAGE))?)
}

/// The tables of the protocol that follow from the tables of strategies and schedulers.
pub(crate) fn tables() -> [(Table, Vec<Row>); 2] {
    let table = |name| Table {
        page: "firmware/PROTOCOL.md",
        name,
    };
    let strategies = (0..)
        .zip(StrategyKind::ALL)
        .map(|(number, &kind): (u32, _)| {
            let info = kind.info();
            let parameters = parameters(info.parameters, unit(info));
            vec![number.to_string(), code(info.name), parameters]
        });
    let schedulers = (0..)
        .zip(SchedulerKind::INFO)
        .map(|(number, info): (u32, _)| {
            vec![
                number.to_string(),
                code(info.name),
                parameters(info.parameters, 1),
            ]
        });
    [
        (table("strategies"), strategies.collect()),
        (table("schedulers"), schedulers.collect()),
    ]
}

/// A number of the strategy counts parts of 1 divided by this.
fn unit(info: &StrategyInfo) -> u64 {
    info.forms.iter().map(|form| form.unit).max().unwrap_or(1)
}

/// A list of names and types.
fn parameters(parameters: &[(&str, &str)], unit: u64) -> String {
    let one = |&(name, kind): &(&str, &str)| {
        let kind = match (kind, unit) {
            ("Ticks", _) => "u64, ticks".to_owned(),
            ("u64", 1_000_000) => "u64, in millionths".to_owned(),
            ("u64", unit) if unit > 1 => format!("u64, in parts of 1/{unit}"),
            _ => kind.to_owned(),
        };
        format!("{name} {kind}").trim_start().to_owned()
    };
    parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The programs in the guide "Link the core", built for a chip without atomic compare-and-swap. A
/// line `<!-- file: NAME -->` before a block of code makes it a file of the package.
///
/// # Errors
///
/// Also when a program has less code than the least strategy takes: the compiler then found that it
/// never does anything.
pub(crate) fn guide() -> Result<()> {
    const PAGE: &str = "docs/guides/link-the-core.md";
    const TARGET: &str = "thumbv6m-none-eabi";
    /// Start-up code and what the programs do without a strategy take 2,300 bytes.
    const FLASH_MIN: u64 = 5_000;
    setup::target(TARGET)?;
    let (sh, folder) = (shell(), target_dir().join("guide"));
    let core = root().join("core").display().to_string();
    for part in sh.read_file(PAGE)?.split("\n<!-- file: ").skip(1) {
        let block = part.split_once(" -->\n```");
        let (name, text) = block.context("no block behind a file")?;
        let text = text
            .split_once('\n')
            .and_then(|(_kind, text)| text.split_once("\n```\n"));
        let (text, _) = text.with_context(|| format!("no block in the file {name}"))?;
        let text = text.replace("../meshalloc/core", &core);
        // It lies within the workspace but is not a member.
        let end = if name == "Cargo.toml" {
            "\n\n[workspace]\n"
        } else {
            "\n"
        };
        sh.write_file(folder.join(name), text + end)?;
    }
    // The same versions of dependencies as in the workspace.
    sh.copy_file("Cargo.lock", folder.join("Cargo.lock"))?;
    let _inside = sh.push_dir(&folder);
    run!("cargo build --release --target-dir target")?;
    for program in ["allocator", "controller"] {
        let path = format!("target/{TARGET}/release/{program}");
        let data = sh.read_binary_file(path)?;
        let (flash, ram) = image::sizes(&ElfFile32::parse(&*data)?);
        println!("{program}: {flash} bytes of flash, {ram} of static RAM");
        ensure!(
            flash >= FLASH_MIN,
            "{program} does nothing (expected {FLASH_MIN} bytes or more)"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_has_the_tables_of_this_build() {
        for (table, rows) in tables() {
            let text = table.with(&rows).unwrap();
            assert_eq!(table.read().unwrap(), text, "cargo xtask docs writes it");
        }
    }

    #[test]
    fn numbers_in_parts_say_so() {
        let cell = parameters(&[("ratio", "u64"), ("", "Threshold")], 8);
        assert_eq!(cell, "ratio u64, in parts of 1/8, Threshold");
        assert_eq!(parameters(&[("after", "Ticks")], 1), "after u64, ticks");
        assert_eq!(parameters(&[], 1), "");
    }
}
