//! `cargo xtask miri`: core and the library for C under Miri, which finds undefined behaviour: in
//! dependencies of the one, and in the unsafe code of the other.

use anyhow::{Context, Result};

use crate::command::Cmd;

/// Runs the unit tests of both, those with random cases on a few of them.
pub(crate) fn run() -> Result<()> {
    for package in ["meshalloc", "meshalloc-c"] {
        Cmd::new("rustup run nightly cargo miri test --lib --target-dir target/miri --package")
            .arg(package)
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("PROPTEST_CASES", "4")
            .run()
            .context("it needs: rustup toolchain install nightly --component miri,rust-src")?;
    }
    Ok(())
}
