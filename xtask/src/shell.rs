//! Where commands run: at the root of the workspace.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use xshell::Shell;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    folder.expect("xtask is a folder of the workspace")
}

/// Where cargo puts what it builds, from the root of the workspace.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)
}

/// A shell at the root of the workspace, the same one in the whole thread.
pub(crate) fn shell() -> &'static Shell {
    thread_local! {
        static SHELL: &'static Shell = {
            let sh = Shell::new().expect("there is a working folder");
            sh.change_dir(root());
            Box::leak(Box::new(sh))
        };
    }
    SHELL.with(|sh| *sh)
}

/// A command at the root of the workspace, as of [`xshell::cmd`]: `{name}` is one argument,
/// `{names...}` are several.
macro_rules! cmd {
    ($text:literal) => {
        xshell::cmd!(crate::shell::shell(), $text)
    };
}

/// Runs a command in the same form, shows it and its output, and fails if it does.
macro_rules! run {
    ($text:literal) => {
        xshell::cmd!(crate::shell::shell(), $text)
            .run()
            .map_err(anyhow::Error::from)
    };
}

/// Says what is left out, and why, in the form that the summary of `cargo xtask test` repeats.
macro_rules! skipped {
    ($($reason:tt)*) => {{
        crate::shell::HAS_SKIPPED.store(true, std::sync::atomic::Ordering::Relaxed);
        println!("SKIPPED: {}", format_args!($($reason)*));
    }};
}

/// Whether something was left out, so that a step has not passed in full.
pub(crate) static HAS_SKIPPED: AtomicBool = AtomicBool::new(false);

pub(crate) use {cmd, run, skipped};

/// Whether this line of a POSIX shell succeeds. Shows nothing.
pub(crate) fn succeeds(line: &str) -> bool {
    let command = xshell::cmd!(shell(), "sh -c {line}").quiet();
    command.ignore_stdout().ignore_stderr().run().is_ok()
}
