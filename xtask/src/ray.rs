//! `cargo xtask ray`: the advice for Ray is compared with Ray itself.

use anyhow::Result;

use crate::packages::WITH_PYTHON;
use crate::python::{self, PACKAGE};
use crate::shell::run;

/// Installs Ray into an environment of its own, and runs the tests that need it.
pub(crate) fn run() -> Result<()> {
    let Some(python) = python::environment("ray", &format!("{PACKAGE}/with_ray/requirements.txt"))?
    else {
        return Ok(());
    };
    run!("cargo build {WITH_PYTHON...} --lib")?;
    let package = python::assemble()?;
    run!("env PYTHONPATH={package} {python} -m pytest --quiet -s {PACKAGE}/with_ray")
}
