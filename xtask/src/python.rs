//! `cargo xtask python`: the package for Python is installed and tested as its README says.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::packages::{EXHAUSTIVE, HOST_SIM, WITH_PYTHON};
use crate::setup;
use crate::shell::{cmd, root, run, shell, skipped, target_dir};

/// The options of `cargo xtask python`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Leave out what takes long: pip's build of the package, notebooks, types, polars and Arrow
    #[arg(long)]
    pub(crate) quick: bool,
}

/// The folder of the package.
pub(crate) const PACKAGE: &str = "bindings/python";

/// Checks the package, installs it into an environment under `target/`, and runs its tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    let list = if options.quick {
        "requirements.txt"
    } else {
        "requirements-all.txt"
    };
    let Some(python) = environment("python", &format!("{PACKAGE}/tests/{list}"))? else {
        return Ok(());
    };
    if options.quick {
        // As the tests before have built them.
        run!("cargo build {EXHAUSTIVE...} --lib {HOST_SIM...}")?;
    } else {
        run!("cargo clippy {WITH_PYTHON...} --all-targets -- -D warnings")?;
        run!("cargo build {WITH_PYTHON...} --lib {HOST_SIM...}")?;
    }
    let programs = root().join(target_dir()).join("debug");
    let mut tests = cmd!("{python} -m pytest --quiet -r s {PACKAGE}/tests")
        .env("MESHALLOC_HOST_SIM", programs.join("host-sim"))
        .env("MESHALLOC_BOARD", programs.join("examples/serve"));
    if options.quick {
        tests = tests.env("PYTHONPATH", assemble()?);
    } else {
        // As a user does, but compiled as for tests.
        let install = pip(&python).args(["--no-deps", "--force-reinstall", "./bindings/python"]);
        install.env("MATURIN_PEP517_ARGS", "--profile dev").run()?;
    }
    Ok(tests.run()?)
}

/// The interpreter of an environment under `target/` that has the packages of a list. `None`, after
/// a line that says why, where there can be none.
pub(crate) fn environment(name: &str, list: &str) -> Result<Option<PathBuf>> {
    let is_new_enough =
        "python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'";
    if let Err(reason) = setup::packages("python3-venv", is_new_enough) {
        let expected = "python3 of 3.11 or later with venv and pip";
        skipped!("tests in Python: expected {expected}: {reason:#}");
        return Ok(None);
    }
    let folder = root().join(target_dir()).join(name);
    let python = folder.join("bin/python");
    if !shell().path_exists(&python) {
        run!("python3 -m venv {folder}")?;
    }
    if let Err(reason) = pip(&python).args(["--requirement", list]).run() {
        skipped!("tests in Python: pip cannot install {list}: {reason:#}");
        return Ok(None);
    }
    Ok(Some(python))
}

fn pip(python: &Path) -> xshell::Cmd<'static> {
    cmd!("{python} -m pip install --quiet --disable-pip-version-check --no-compile")
}

/// Puts the package together from its two halves, which are built. Returns the folder that contains
/// it.
pub(crate) fn assemble() -> Result<PathBuf> {
    let (sh, folder) = (shell(), root().join(target_dir()).join("python-quick"));
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
    let module = format!("debug/{DLL_PREFIX}meshalloc_python{DLL_SUFFIX}");
    sh.copy_file(target_dir().join(module), package.join("_core.abi3.so"))?;
    Ok(folder)
}
