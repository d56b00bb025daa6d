//! Options of cargo that choose packages. Packages that are built together share dependencies with
//! the same features.

/// The packages that `cargo test` builds, and the one for Python.
pub(crate) const WITH_PYTHON: [&str; 7] = [
    "--workspace",
    "--exclude",
    "meshalloc-browser",
    "--exclude",
    "meshalloc-c",
    "--exclude",
    "meshalloc-chips",
];

/// What `--all` builds for the host: all cases of the tests, also the tests in a browser. Its steps
/// name the same packages and features, so that they share what they build.
pub(crate) const EXHAUSTIVE: [&str; 7] = [
    "--workspace",
    "--exclude",
    "meshalloc-c",
    "--exclude",
    "meshalloc-chips",
    "--features",
    "meshalloc-host-sim/exhaustive,meshalloc-tests/exhaustive",
];

/// Options that build `host-sim` as the tests do. Without an example or a test, cargo leaves out
/// the features of dev-dependencies, and compiles the simulator once more.
pub(crate) const HOST_SIM: [&str; 4] = ["--bin", "host-sim", "--example", "serve"];
