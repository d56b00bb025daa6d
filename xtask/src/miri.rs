//! `cargo xtask miri`: core under Miri, which finds undefined behaviour in its dependencies.

use anyhow::{Context, Result};

use crate::command::Cmd;

/// Runs the unit tests of core, those with random cases on a few of them.
pub(crate) fn run() -> Result<()> {
    let command = Cmd::new(
        "rustup run nightly cargo miri test --package meshalloc --lib --target-dir target/miri",
    )
    .env("MIRIFLAGS", "-Zmiri-disable-isolation")
    .env("PROPTEST_CASES", "4");
    command
        .run()
        .context("it needs: rustup toolchain install nightly --component miri,rust-src")
}
