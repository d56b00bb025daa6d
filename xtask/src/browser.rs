//! `cargo xtask browser`: the pages of the project in a real browser.

use anyhow::Result;

use crate::command::Cmd;
use crate::setup;

/// Installs Chromium if it is missing, then checks and runs the tests that drive it.
///
/// # Errors
///
/// When there is no browser, or a test fails.
pub(crate) fn run() -> Result<()> {
    setup::chromium()?;
    Cmd::new("cargo clippy --package meshalloc-browser --all-targets -- -D warnings").run()?;
    Cmd::new("cargo build --package meshalloc-host-sim").run()?;
    Cmd::new("cargo test --package meshalloc-browser -- --show-output").run()
}
