//! `cargo xtask python`: the package for Python is installed and tested as its README says.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::shell::{root, succeeds, target_dir};

/// The folder of the package.
const PACKAGE: &str = "bindings/python";

/// Checks the package, installs it into an environment under `target/`, and runs its tests.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    cmd!(
        sh,
        "cargo clippy --no-deps --package meshalloc-python -- -D warnings"
    )
    .run()?;
    let folder = root().join(target_dir()).join("python-venv");
    let python = folder.join("bin/python");
    let is_new_enough = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
    if !succeeds(cmd!(sh, "python3 -c {is_new_enough}")) {
        println!("SKIPPED: tests in Python: no python3 of 3.11 or later with venv and pip");
        return Ok(());
    }
    if !sh.path_exists(&python) {
        cmd!(sh, "python3 -m venv {folder}").run()?;
    }
    let requirements = format!("{PACKAGE}/tests/requirements.txt");
    let install = cmd!(
        sh,
        "{python} -m pip install --quiet --disable-pip-version-check"
    );
    if let Err(reason) = install.args(["--requirement", &requirements]).run() {
        println!("SKIPPED: tests in Python: pip installs none of {requirements}: {reason:#}");
        return Ok(());
    }
    // As a user does, but compiled as for tests.
    let install = cmd!(
        sh,
        "{python} -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall"
    );
    install
        .arg("./bindings/python")
        .env("MATURIN_PEP517_ARGS", "--profile dev")
        .run()?;
    cmd!(sh, "cargo build --package meshalloc-host-sim").run()?;
    let host_sim = root().join(target_dir()).join("debug/host-sim");
    cmd!(sh, "{python} -m pytest --quiet {PACKAGE}/tests")
        .env("MESHALLOC_HOST_SIM", host_sim)
        .run()?;
    Ok(())
}
