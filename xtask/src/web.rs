//! `cargo xtask web`: the page on which the core itself decides, in one file that needs no network.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::command::{Cmd, root, target_dir};
use crate::setup;

/// The options of `cargo xtask web`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Also lint the module and start the page in Chromium
    #[arg(long)]
    check: bool,
}

/// The target of the module.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

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

/// The file of the page.
pub(crate) const PAGE: &str = "meshalloc.html";

/// Where the module and the page are built.
fn folder() -> PathBuf {
    target_dir().join("web")
}

/// Where the page is.
pub(crate) fn page() -> PathBuf {
    folder().join(PAGE)
}

/// Builds the module and the page.
///
/// # Errors
///
/// When the target is missing and cannot be installed, the module does not build, or it is too
/// large.
pub(crate) fn build() -> Result<()> {
    setup::target(TARGET)?;
    command("rustc").args("--crate-type cdylib").run()?;
    let path = folder().join(TARGET).join("web/meshalloc_wasm.wasm");
    let module = fs::read(&path).with_context(|| path.display().to_string())?;
    println!(
        "the module has {} of at most {MODULE_MAX} bytes",
        module.len()
    );
    if module.len() > MODULE_MAX {
        bail!("the module of the page is too large");
    }
    let page = fs::read_to_string(root().join("bindings/wasm/page/page.html"))?
        .replace("{{style}}", &joined(&STYLES)?)
        .replace("{{scripts}}", &joined(&SCRIPTS)?)
        .replace("{{module}}", &BASE64_STANDARD.encode(module));
    fs::write(self::page(), page)?;
    println!("page: {}", self::page().display());
    Ok(())
}

/// Builds the page. With `--check` also lints the module, and sees whether the page starts in
/// Chromium, if that is installed; `cargo xtask browser` drives it.
///
/// # Errors
///
/// Those of [`build`]; when the page does not show a placement.
pub(crate) fn run(options: &Options) -> Result<()> {
    build()?;
    if !options.check {
        return Ok(());
    }
    command("clippy").args("-- -D warnings").run()?;
    if !Cmd::new("chromium --version").succeeds() {
        println!("SKIPPED: the page in a browser: chromium is not installed");
        return Ok(());
    }
    // The browser waits for the module without passing real time.
    let shown = Cmd::new("chromium --headless --no-sandbox --disable-gpu --dump-dom")
        .arg("--virtual-time-budget=20000")
        .arg(format!("file://{}", page().display()))
        .output()?;
    for part in ["data-ready=\"true\"", "job 10 gets 6x6 at 0,10"] {
        if !shown.contains(part) {
            bail!("the page in chromium lacks {part}");
        }
    }
    println!("the page starts in chromium");
    Ok(())
}

/// A command of cargo for the module.
fn command(verb: &str) -> Cmd {
    Cmd::new("cargo")
        .arg(verb)
        .args(&format!(
            "--package {PACKAGE} --lib --target {TARGET} --profile web"
        ))
        .args("--target-dir")
        .arg(folder().display().to_string())
}

/// Files one after another.
fn joined(paths: &[&str]) -> Result<String> {
    let mut joined = String::new();
    for path in paths {
        joined += &fs::read_to_string(root().join(path)).with_context(|| (*path).to_owned())?;
    }
    Ok(joined)
}
