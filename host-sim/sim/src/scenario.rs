//! Descriptions of simulations: [`Scenario`] has the settings that were given in a program, on a
//! command line or in files, and [`Resolved`] the same settings with the defaults filled in.
//!
//! [`SETTINGS`] is the one table of settings. Each value has one text form, which the command line,
//! TOML and JSON files and the records in results share.
//!
//! ```
//! use meshalloc::{Shape, StrategyKind};
//! use meshalloc_sim::metrics::Metric;
//! use meshalloc_sim::scenario::{RunError, Scenario};
//!
//! let scenario = Scenario {
//!     mesh: Some(Shape::sides(16, 16)),
//!     load: Some(0.4),
//!     jobs: Some(1_000),
//!     ..Scenario::default()
//! };
//! let results = scenario.run()?;
//! let first_fit = results.of(StrategyKind::FirstFit).unwrap();
//! assert!(first_fit.metrics[Metric::Utilization].unwrap().mean > 0.3);
//! # Ok::<(), RunError>(())
//! ```

mod file;
mod merge;
mod needs;
mod origin;
mod place;
mod resolve;
mod run;
mod study;
mod table;

pub use crate::error::SettingError;
pub use file::Foreign;
pub use merge::{read, way_out};
pub use origin::{Given, Origin, label_text};
pub use place::Place;
pub use resolve::*;
pub use run::{Results, RunError};
pub use study::{Study, StudyPoint};
pub use table::{
    BackendChoice, Entry, Form, Measured, SETTINGS, Scenario, Setting, StrategyChoice,
    contradiction,
};
