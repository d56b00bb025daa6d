//! Where commands run, and what is common to them.

use std::env;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xshell::{Cmd, Shell};

/// The root of the workspace, where every command runs.
pub(crate) fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    folder.expect("xtask is a folder of the workspace")
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)
}

/// A shell at the root of the workspace.
pub(crate) fn shell() -> Result<Shell> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    Ok(sh)
}

/// This program, to be started for another chore.
pub(crate) fn this_program() -> Result<PathBuf> {
    env::current_exe().context("this program has no path")
}

/// Whether the command can be started and succeeds. Shows nothing.
pub(crate) fn succeeds(command: Cmd<'_>) -> bool {
    let command = command.quiet().ignore_stdout().ignore_stderr();
    command.run().is_ok()
}

/// Waits until there is a value, at most for as long as `patience`.
pub(crate) fn wait<T>(
    what: &str,
    patience: Duration,
    mut value: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = value()? {
            return Ok(value);
        }
        if started.elapsed() > patience {
            bail!("after {} s still not: {what}", patience.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    }
}
