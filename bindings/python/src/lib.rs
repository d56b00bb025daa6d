//! The Rust half of the Python package `meshalloc`: the module `meshalloc._core`.
//!
//! The Python half, `python/meshalloc`, has what needs no speed: settings as keyword arguments,
//! results as frames, exceptions.

#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 makes owned values of arguments"
)]

mod allocator;
mod client;
mod controller;
mod convert;
mod errors;
mod jobs;
mod own;
mod records;
mod simulate;

/// The module `meshalloc._core`.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::allocator::{Allocation, Allocator};
    #[pymodule_export]
    use crate::client::Client;
    #[pymodule_export]
    use crate::controller::Controller;
    #[pymodule_export]
    use crate::jobs::Event;
    #[pymodule_export]
    use crate::own::{Queue, Request, Waiting};
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::simulate::{form, points, resolve, run, schedulers, settings, strategies, values};
}
