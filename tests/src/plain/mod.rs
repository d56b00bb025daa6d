//! The strategies and schedulers once more, plainly: written from the words of the papers, one flag for
//! each node and one pass after another over all of them, never fast.
//!
//! Of the code under test only the types of commands and replies appear here. [`Strategy`] knows where
//! a request must be placed on a mesh and [`CubeStrategy`] where on a cube, [`System`] what a controller must
//! answer on either under any scheduler, and [`recognition`] which requests a mesh of a few nodes could serve
//! at all. [`trial`] compares a controller with its system over random operations.

mod buddy;
pub mod cube;
mod cube_strategy;
mod discipline;
pub mod notation;
mod places;
pub mod recognition;
mod system;
pub mod trial;

pub use buddy::BuddySystem;
pub use cube_strategy::CubeStrategy;
pub use discipline::Discipline;
pub use places::Strategy;
pub use system::{Expected, ExpectedGrant, Places, System};
