//! `cargo xtask web`: the page on which the core itself decides, in one file that needs no network.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::command::{Cmd, root, target_dir};
use crate::setup;

const TARGET: &str = "wasm32-unknown-unknown";

/// The package of the module.
const PACKAGE: &str = "meshalloc-wasm";

/// The most bytes of the module.
const MODULE_MAX: usize = 300_000;

/// The parts of the page, and those that it shares with the pages of `host-sim view`.
const STYLES: [&str; 2] = ["host-sim/src/view/view.css", "bindings/wasm/page/page.css"];
const SCRIPTS: [&str; 5] = [
    "host-sim/src/view/time.js",
    "host-sim/src/view/places.js",
    "host-sim/src/view/draw.js",
    "host-sim/src/view/chart.js",
    "bindings/wasm/page/page.js",
];

/// The file of the page, in the folder of what is built.
pub(crate) const PAGE: &str = "meshalloc.html";

/// Builds the module and the page. Returns where the page is.
///
/// # Errors
///
/// When the target is missing and cannot be installed, the module does not build, or it is too
/// large.
pub(crate) fn build() -> Result<PathBuf> {
    setup::target(TARGET)?;
    let folder = target_dir().join("web");
    command("rustc").args("--crate-type cdylib").run()?;
    let module = folder.join(TARGET).join("web").join("meshalloc_wasm.wasm");
    let module = fs::read(&module).with_context(|| module.display().to_string())?;
    println!("the module has {} of at most {MODULE_MAX} bytes", module.len());
    if module.len() > MODULE_MAX {
        bail!("the module of the page is too large");
    }
    let page = fs::read_to_string(root().join("bindings/wasm/page/page.html"))?
        .replace("{{style}}", &joined(&STYLES)?)
        .replace("{{scripts}}", &joined(&SCRIPTS)?)
        .replace("{{module}}", &BASE64_STANDARD.encode(module));
    let path = folder.join(PAGE);
    fs::write(&path, page)?;
    println!("page: {}", path.display());
    Ok(path)
}

/// A command of cargo for the module.
fn command(verb: &str) -> Cmd {
    Cmd::new("cargo")
        .arg(verb)
        .args(&format!("--package {PACKAGE} --lib --target {TARGET} --profile web"))
        .args("--target-dir")
        .arg(target_dir().join("web").display().to_string())
}

/// Files one after another.
fn joined(paths: &[&str]) -> Result<String> {
    let mut joined = String::new();
    for path in paths {
        joined += &fs::read_to_string(root().join(path)).with_context(|| (*path).to_owned())?;
    }
    Ok(joined)
}
