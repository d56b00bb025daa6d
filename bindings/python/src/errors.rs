//! The exceptions, which `python/meshalloc/errors.py` defines.

use meshalloc::{ConfigureError, Error, PlaceError, Refusal};
use pyo3::PyErr;

/// The classes; the macro makes items of its own.
#[allow(missing_docs, reason = "errors.py documents them")]
mod classes {
    pyo3::import_exception!(meshalloc.errors, ControllerReset);
    pyo3::import_exception!(meshalloc.errors, Error);
    pyo3::import_exception!(meshalloc.errors, IllegalProposal);
    pyo3::import_exception!(meshalloc.errors, LineError);
    pyo3::import_exception!(meshalloc.errors, Misuse);
    pyo3::import_exception!(meshalloc.errors, Refused);
    pyo3::import_exception!(meshalloc.errors, ScenarioError);
}

pub(crate) use classes::{
    ControllerReset, Error as RunError, IllegalProposal, LineError, Misuse, ScenarioError,
};

/// An exception for a program that uses the package in a wrong way.
pub(crate) fn misuse(text: impl Into<String>) -> PyErr {
    Misuse::new_err(text.into())
}

/// A request that was refused.
pub(crate) fn refused(refusal: Refusal) -> PyErr {
    let text = refusal.to_string();
    classes::Refused::new_err((text, refusal.name(), refusal.is_temporary()))
}

/// Blocks that an allocator did not take.
pub(crate) fn not_taken(error: PlaceError) -> PyErr {
    match error {
        PlaceError::Busy { .. } | PlaceError::Overlapping { .. } => {
            classes::Refused::new_err((error.to_string(), "not-free", true))
        }
        PlaceError::NoRoom => refused(Refusal::TableFull),
        other => misuse(other.to_string()),
    }
}

/// A change that the controller did not carry out.
pub(crate) fn not_done(error: Error) -> PyErr {
    match error {
        Error::Refused(refusal) => refused(refusal),
        other => misuse(other.to_string()),
    }
}

/// A machine that is not served.
pub(crate) fn not_served(
    machine: &meshalloc::Grid,
    strategy: &str,
    error: ConfigureError,
) -> PyErr {
    misuse(format!("{strategy} on a {machine}: {error}"))
}
