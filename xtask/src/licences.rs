//! The licences of the crates that a library links, as one text beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{cmd, root};

/// The file with the text, beside the licences of this project.
pub(crate) const FILE: &str = "LICENSE-CRATES";

/// The module of the package for Python is built for many systems; its text is made for this one.
/// Other systems link a few more crates.
const PYTHON_TARGET: &str = "x86_64-unknown-linux-gnu";

/// How the names of files with licences begin, in small letters.
const NAMES: [&str; 5] = ["licen", "copying", "unlicense", "notice", "copyright"];

/// The files of the package for Python, with their texts: maturin puts them into the wheel.
pub(crate) fn of_python() -> Result<Vec<(String, String)>> {
    let own = ["LICENSE-APACHE", "LICENSE-MIT"].map(|name| {
        let text = fs::read_to_string(root().join(name))?;
        Ok((name.to_owned(), text))
    });
    let mut files = own.into_iter().collect::<Result<Vec<_>>>()?;
    files.push((
        FILE.to_owned(),
        text("meshalloc-python", PYTHON_TARGET, &[])?,
    ));
    let inside = |(name, text)| (format!("bindings/python/{name}"), text);
    Ok(files.into_iter().map(inside).collect())
}

/// The crates that the library of a package links on a target, with these options of cargo, and
/// their licences: each text once, below the crates that have it.
///
/// # Errors
///
/// When a crate has no text and none of the licences of this project.
pub(crate) fn text(package: &str, target: &str, options: &[String]) -> Result<String> {
    let format = "{p}";
    let linked = cmd!(
        "cargo tree --package {package} --target {target} --edges normal,no-proc-macro
         --prefix none --format {format} {options...}"
    );
    let linked = linked.quiet().read()?;
    let metadata = cmd!("cargo metadata --format-version 1 --filter-platform {target}");
    let metadata: Value = serde_json::from_str(&metadata.quiet().read()?)?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("cargo metadata lists no packages")?;

    let mut crates = Vec::new();
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for found in packages {
        let field = |name: &str| found[name].as_str().unwrap_or_default();
        let name = format!("{} {}", field("name"), field("version"));
        let line = format!("{} v{}", field("name"), field("version"));
        let is_linked = linked
            .lines()
            .any(|it| it == line || it.starts_with(&format!("{line} (")));
        // Those of this project have none of their own, and their `source` is null.
        if !is_linked || found["source"].is_null() {
            continue;
        }
        let folder = Path::new(field("manifest_path")).parent();
        let found = licences(folder.context("a manifest is in a folder")?)?;
        let is_ours = field("license").contains("MIT") || field("license").contains("Apache-2.0");
        ensure!(
            is_ours || !found.is_empty(),
            "{name} has no text of its licence, {}",
            field("license")
        );
        crates.push(format!("{name}: {}", field("license")));
        for text in found {
            let words: Vec<&str> = text.split_whitespace().collect();
            let known = texts.entry(words.join(" ")).or_insert((text, Vec::new()));
            known.1.push(name.clone());
        }
    }
    crates.sort();
    let mut sorted: Vec<_> = texts.into_values().collect();
    sorted.sort_by(|one, other| one.1.cmp(&other.1));
    let each = sorted.into_iter().map(|(text, crates)| {
        format!(
            "\n\n======== {} ========\n\n{}\n",
            crates.join(", "),
            text.trim()
        )
    });
    Ok(format!(
        "The library links these crates besides this project's and Rust's standard library (MIT OR\n\
         Apache-2.0). Their licences follow; where a crate has no text of its own, that of\n\
         LICENSE-MIT or LICENSE-APACHE applies.\n\n{}\n{}",
        crates.join("\n"),
        each.collect::<String>()
    ))
}

/// The texts of the licences in a folder.
fn licences(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            found.push((name, fs::read_to_string(&path)?.replace('\r', "")));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_for_python_has_the_licences_of_what_it_links() {
        for (file, text) in of_python().unwrap() {
            if std::env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
                fs::write(root().join(&file), &text).unwrap();
            }
            let known = fs::read_to_string(root().join(&file)).unwrap_or_default();
            assert!(
                known == text,
                "{file} is out of date: cargo xtask docs writes it"
            );
        }
    }

    /// Looks for a crate with one text and for a crate with two. Crates that are not linked are not
    /// named.
    #[test]
    fn a_linked_crate_is_named_with_its_licence() {
        let text = text("meshalloc-c", PYTHON_TARGET, &[]).unwrap();
        for part in [
            "\nheapless 0.",
            "\npostcard 1.",
            "======== bitflags",
            "Permission is hereby",
        ] {
            assert!(text.contains(part), "{part} is missing");
        }
        assert!(!text.contains("\nserde_derive ") && !text.contains("\nmeshalloc"));
    }
}
