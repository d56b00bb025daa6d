//! Shared helpers of the tests that cross crates.

pub mod model;
pub mod oracle;
pub mod plain;
pub mod qemu;
pub mod random;
pub mod rig;
