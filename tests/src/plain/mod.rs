//! The strategies and schedulers once more, plainly: written from the words of the papers, one flag for
//! each node and one pass after another over all of them, never fast.
//!
//! Of the code under test only the types of commands and replies appear here. [`Strategy`] knows where
//! a request must be placed, [`System`] what a controller must answer under any scheduler, and
//! [`recognition`] which requests a mesh of a few nodes could serve at all.

mod buddy;
mod discipline;
mod places;
pub mod recognition;
mod system;

pub use buddy::BuddySystem;
pub use discipline::Discipline;
pub use places::Strategy;
pub use system::{Expected, ExpectedGrant, System};
