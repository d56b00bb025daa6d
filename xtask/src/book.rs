//! The book: files outside `docs/` become chapters of it, and its built pages are checked.
//!
//! On a code host a page of `docs/` links to `../ARCHITECTURE.md`. The built book has no such file.
//! So `docs/SUMMARY.md` names the files outside `docs/` that are chapters. mdBook starts this
//! program as a preprocessor, which moves these chapters into the book and adapts all links:
//!
//! ```text
//! file of the repository     link in docs/README.md      in the book
//! ARCHITECTURE.md            ../ARCHITECTURE.md          ARCHITECTURE.md
//! firmware/PROTOCOL.md       ../firmware/PROTOCOL.md     firmware/PROTOCOL.md
//! rust-toolchain.toml        ../rust-toolchain.toml      no link: it is no chapter
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{Cmd, root, target_dir};
use crate::web;

/// The options of `cargo xtask book`, as mdBook gives them.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// `supports RENDERER`: whether the preprocessor works for a renderer
    question: Vec<String>,
}

/// The folder of the sources of the book.
const SOURCES: &str = "docs";

/// Reads the book from standard input and writes it with adapted chapters to standard output.
pub(crate) fn preprocess(options: &Options) -> Result<()> {
    if !options.question.is_empty() {
        return Ok(());
    }
    let [_context, mut book]: [Value; 2] = serde_json::from_reader(io::stdin().lock())?;
    let mut places = BTreeMap::new();
    for_each_chapter(&mut book, &mut |chapter| {
        let source = source(chapter)?;
        let place: PathBuf = path(&chapter["path"])?
            .components()
            .filter(|part| *part != Component::ParentDir)
            .collect();
        chapter["path"] = place.display().to_string().into();
        if let Some(other) = places.insert(source, place.clone()) {
            bail!("SUMMARY.md has {} twice", other.display());
        }
        Ok(())
    })?;
    for_each_chapter(&mut book, &mut |chapter| {
        let source = source(chapter)?;
        let text = chapter["content"]
            .as_str()
            .context("a chapter has no text")?;
        chapter["content"] = with_links(text, &source, &places).into();
        Ok(())
    })?;
    serde_json::to_writer(io::stdout().lock(), &book)?;
    Ok(())
}

/// Calls back with each chapter that has a file.
fn for_each_chapter(
    value: &mut Value,
    call: &mut impl FnMut(&mut Value) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Array(items) => {
            for item in items {
                for_each_chapter(item, call)?;
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "Chapter" && field["path"].is_string() {
                    call(field)?;
                }
                for_each_chapter(field, call)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn path(value: &Value) -> Result<&Path> {
    let path = value.as_str().context("a chapter has no path")?;
    Ok(Path::new(path))
}

/// The file of a chapter, from the root of the repository.
fn source(chapter: &Value) -> Result<PathBuf> {
    Ok(resolved(SOURCES, path(&chapter["source_path"])?))
}

/// A path that is relative to a folder, without `..`.
fn resolved(folder: impl AsRef<Path>, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in folder.as_ref().join(path).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

/// The path from a folder to a file, both relative to the same place.
fn relative(folder: &Path, file: &Path) -> String {
    let shared = folder
        .components()
        .zip(file.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder.components().skip(shared).map(|_| Path::new(".."));
    let down = file
        .components()
        .skip(shared)
        .map(|part| Path::new(part.as_os_str()));
    up.chain(down).collect::<PathBuf>().display().to_string()
}

/// The text of a chapter with links that are right in the book. A link to a file that is not in the
/// book becomes plain text.
fn with_links(text: &str, source: &Path, places: &BTreeMap<PathBuf, PathBuf>) -> String {
    let folder = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    let here = folder(&places[source]);
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, (link, after))) = rest
        .split_once("](")
        .and_then(|(before, behind)| Some((before, behind.split_once(')')?)))
    {
        kept.push_str(before);
        rest = after;
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let file = resolved(folder(source), Path::new(path));
        let is_file = !path.is_empty() && !path.contains("://") && root().join(&file).exists();
        let in_book = match places.get(&file) {
            Some(place) => Some(place.as_path()),
            // mdBook copies what is no chapter, such as a picture.
            None if file.extension().is_some_and(|end| end == "md") => None,
            None => file.strip_prefix(SOURCES).ok(),
        };
        match in_book {
            // Code with brackets, or an address.
            _ if !is_file => kept.push_str(&format!("]({link})")),
            Some(place) => {
                let anchor = match anchor {
                    "" => String::new(),
                    anchor => format!("#{anchor}"),
                };
                kept.push_str(&format!("]({}{anchor})", relative(&here, place)));
            }
            None => {
                let mut depth = 0;
                let start = kept.char_indices().rev().find(|(_, c)| {
                    match c {
                        ']' => depth += 1,
                        '[' => depth -= 1,
                        _ => {}
                    }
                    depth < 0
                });
                if let Some((start, _)) = start {
                    kept.remove(start);
                }
            }
        }
    }
    kept + rest
}

/// The folder of the book in which the page is that [`web::build`] writes.
const WEB_PAGE_FOLDER: &str = "start";

/// Builds the book with mdBook, if that is installed, and checks the links of its pages.
pub(crate) fn build() -> Result<()> {
    if !Cmd::new("mdbook --version").succeeds() {
        println!("The book is not built: `cargo install mdbook` installs what it needs.");
        return Ok(());
    }
    let folder = target_dir().join("book");
    Cmd::new("mdbook build docs --dest-dir")
        .arg(folder.display().to_string())
        .run()?;
    web::build()?;
    fs::copy(web::page(), folder.join(WEB_PAGE_FOLDER).join(web::PAGE))?;
    let broken = broken_links(&folder)?;
    if !broken.is_empty() {
        bail!("links of the book lead nowhere:\n{}", broken.join("\n"));
    }
    println!("no link of the book is broken");
    Ok(())
}

/// The links and pictures of built pages that lead to no file, or to no place in a page.
fn broken_links(folder: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(folder, &mut pages)?;
    // Its links begin at the root of a site.
    pages.remove(&folder.join("404.html"));
    let mut broken = Vec::new();
    for (page, text) in &pages {
        let links = ["href", "src"].map(|name| values(text, name));
        for link in links.concat() {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => resolved(page.parent().unwrap_or(folder), Path::new(path)),
            };
            let has_anchor = |text: &String| values(text, "id").contains(&anchor);
            let leads_somewhere =
                target.exists() && (anchor.is_empty() || pages.get(&target).is_none_or(has_anchor));
            if !leads_somewhere {
                let page = page.strip_prefix(folder).unwrap_or(page);
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(broken)
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// The values of an attribute in HTML.
fn values<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    let parts = text.split(start.as_str()).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_adapted_to_the_places_in_the_book() {
        let places = [
            ("docs/guides/the-board.md", "guides/the-board.md"),
            ("docs/README.md", "index.md"),
            ("ARCHITECTURE.md", "ARCHITECTURE.md"),
            ("firmware/README.md", "firmware/index.md"),
        ]
        .map(|(source, place)| (PathBuf::from(source), PathBuf::from(place)))
        .into();
        let adapted = |source: &str, text| with_links(text, Path::new(source), &places);
        for (source, text, expected) in [
            (
                "docs/guides/the-board.md",
                "a [b](../../ARCHITECTURE.md#core), [c](../../firmware/README.md)",
                "a [b](../ARCHITECTURE.md#core), [c](../firmware/index.md)",
            ),
            (
                "ARCHITECTURE.md",
                "[a](docs/guides/the-board.md) ![b](docs/pictures/map.svg) [c](#d)",
                "[a](guides/the-board.md) ![b](pictures/map.svg) [c](#d)",
            ),
            // A file that is no chapter, and one that does not exist.
            (
                "docs/README.md",
                "the [`[a]` b](../Cargo.toml) [c](none.md) [d](SUMMARY.md)",
                "the `[a]` b [c](none.md) d",
            ),
            (
                "docs/README.md",
                "[a](https://b.c/d) `[&[4][..]](e)`",
                "[a](https://b.c/d) `[&[4][..]](e)`",
            ),
        ] {
            assert_eq!(adapted(source, text), expected, "{source}");
        }
    }

    #[test]
    fn broken_links_of_built_pages_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.html", "<h1 id=\"here\"> <img src=\"none.svg\">");
        write(
            "a.html",
            "<a href=\"b.html#here\"> <a href=\"b.html#there\"> <a href=\"c.html\">
             <a href=\"https://a.b/c.html\"> <a href=\"#d\">",
        );
        assert_eq!(
            broken_links(folder.path()).unwrap(),
            [
                "a.html: b.html#there",
                "a.html: c.html",
                "a.html: #d",
                "b.html: none.svg"
            ]
        );
    }
}
