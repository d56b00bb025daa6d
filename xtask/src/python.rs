//! `cargo xtask python`: the package for Python is installed and tested as its README says.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::setup;
use crate::shell::{root, succeeds, target_dir};

/// The options of `cargo xtask python`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Leave out what takes long: pip's build of the package, notebooks, types, polars and Arrow
    #[arg(long)]
    quick: bool,
}

/// The packages that `cargo test` builds, and the one for Python. Built together they share
/// dependencies with the same features.
pub(crate) const WITH_PYTHON: [&str; 7] = [
    "--workspace",
    "--exclude",
    "meshalloc-browser",
    "--exclude",
    "meshalloc-c",
    "--exclude",
    "meshalloc-chips",
];

/// The folder of the package.
const PACKAGE: &str = "bindings/python";

/// Checks the package, installs it into an environment under `target/`, and runs its tests.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let is_new_enough = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
    let has_python = || succeeds(cmd!(sh, "python3 -c {is_new_enough}"));
    if let Err(reason) = setup::packages(sh, "python3-venv", has_python) {
        let expected = "python3 of 3.11 or later with venv and pip";
        println!("SKIPPED: the package for Python: expected {expected}: {reason:#}");
        return Ok(());
    }
    let packages = &WITH_PYTHON;
    if !options.quick {
        cmd!(
            sh,
            "cargo clippy {packages...} --all-targets -- -D warnings"
        )
        .run()?;
    }
    let targets = ["--lib", "--bin", "host-sim", "--example", "serve"];
    cmd!(sh, "cargo build {packages...} {targets...}").run()?;

    let folder = root().join(target_dir()).join("python");
    let python = folder.join("bin/python");
    if !sh.path_exists(&python) {
        cmd!(sh, "python3 -m venv {folder}").run()?;
    }
    let pip = || {
        cmd!(
            sh,
            "{python} -m pip install --quiet --disable-pip-version-check --no-compile"
        )
    };
    let list = match options.quick {
        true => "requirements.txt",
        false => "requirements-all.txt",
    };
    let list = format!("{PACKAGE}/tests/{list}");
    if let Err(reason) = pip().args(["--requirement", &list]).run() {
        println!("SKIPPED: tests in Python: pip cannot install {list}: {reason:#}");
        return Ok(());
    }
    let programs = root().join(target_dir()).join("debug");
    let mut tests = cmd!(sh, "{python} -m pytest --quiet -r s {PACKAGE}/tests")
        .env("MESHALLOC_HOST_SIM", programs.join("host-sim"))
        .env("MESHALLOC_BOARD", programs.join("examples/serve"));
    if options.quick {
        tests = tests.env("PYTHONPATH", assemble(sh, &programs)?);
    } else {
        // As a user does, but compiled as for tests.
        pip()
            .args(["--no-deps", "--force-reinstall", "./bindings/python"])
            .env("MATURIN_PEP517_ARGS", "--profile dev")
            .run()?;
    }
    Ok(tests.run()?)
}

/// Puts the package together from its two halves. Returns the folder that contains it.
fn assemble(sh: &Shell, programs: &Path) -> Result<PathBuf> {
    let folder = root().join(target_dir()).join("python-quick");
    sh.remove_path(&folder)?;
    let package = folder.join("meshalloc");
    sh.create_dir(&package)?;
    for file in sh.read_dir(root().join(PACKAGE).join("python/meshalloc"))? {
        if file
            .extension()
            .is_some_and(|end| end == "py" || end == "pyi")
        {
            sh.copy_file(file, &package)?;
        }
    }
    let module = programs.join(format!("{DLL_PREFIX}meshalloc_python{DLL_SUFFIX}"));
    sh.copy_file(module, package.join("_core.abi3.so"))?;
    Ok(folder)
}
