//! `cargo xtask web`: the page on which the simulator runs in a browser, in one file that needs no
//! network.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use xshell::Cmd;

use crate::setup::{self, WEB};
use crate::shell::{cmd, root, shell, target_dir};

/// The options of `cargo xtask web`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Also lint the module
    #[arg(long)]
    pub(crate) check: bool,
}

/// The most bytes of the page.
const PAGE_MAX: usize = 600_000;

/// The parts of the page, some of which the pages of `host-sim view` share.
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
    root().join(target_dir()).join("web")
}

/// Where the page is.
pub(crate) fn page() -> PathBuf {
    folder().join(PAGE)
}

/// Builds the module and the page.
///
/// # Errors
///
/// When the target is missing and cannot be installed, the module does not build, or the page is
/// too large.
pub(crate) fn build() -> Result<()> {
    let sh = shell();
    setup::target(WEB)?;
    command("rustc").args(["--crate-type", "cdylib"]).run()?;
    let module = sh.read_binary_file(folder().join(WEB).join("web/meshalloc_wasm.wasm"))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&module)?;
    let joined = |paths: &[&str]| paths.iter().map(|path| sh.read_file(path)).collect();
    let [style, scripts]: [xshell::Result<String>; 2] = [joined(&STYLES), joined(&SCRIPTS)];
    let text = sh.read_file("bindings/wasm/page/page.html")?;
    let text = text
        .replace("{{style}}", &style?)
        .replace("{{scripts}}", &scripts?)
        .replace("{{module}}", &BASE64_STANDARD.encode(packed.finish()?));
    let bytes = text.len();
    ensure!(
        bytes <= PAGE_MAX,
        "the page has {bytes} bytes, more than {PAGE_MAX}: leave a feature of the module out"
    );
    sh.write_file(page(), text)?;
    println!("the page has {bytes} of at most {PAGE_MAX} bytes");
    println!("page: {}", page().display());
    Ok(())
}

/// Builds the page; `cargo xtask browser` drives it. With `--check` also lints the module.
///
/// # Errors
///
/// Those of [`build`], and those of the lints.
pub(crate) fn run(options: &Options) -> Result<()> {
    build()?;
    if !options.check {
        return Ok(());
    }
    Ok(command("clippy").args(["--", "-Dwarnings"]).run()?)
}

/// A command of cargo for the module.
fn command(verb: &str) -> Cmd<'static> {
    let folder = folder();
    cmd!(
        "cargo {verb} --package meshalloc-wasm --lib --target {WEB} --profile web
         --target-dir {folder}"
    )
}
