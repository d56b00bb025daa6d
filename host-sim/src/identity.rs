//! The values that identify the program and its decisions in results.

/// The program's name in results.
pub const PROGRAM: &str = "host-sim";
/// The program's version in results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version and, in a release build from a clone, the revision that it was built from.
pub const REVISION: &str = env!("HOST_SIM_VERSION");

/// A hash of the sources that results depend on, whether they were committed or not.
pub(crate) const SOURCES: &str = env!("HOST_SIM_SOURCES");

/// A hash as it is printed everywhere.
pub fn hash(value: u64) -> String {
    format!("{value:016x}")
}
