#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

pub mod allocator;
pub mod blocks;
#[cfg(feature = "restore")]
pub mod checkpoint;
pub mod compactness;
pub mod controller;
pub mod cube;
pub mod error;
pub mod grid;
pub mod jobs;
mod layout;
mod marking;
pub mod mesh;
pub mod message;
pub mod node;
pub mod notation;
pub mod occupancy;
pub mod outlook;
mod pause;
pub mod request;
pub mod scheduler;
pub mod storage;
pub mod strategy;
pub mod supposition;

#[cfg_attr(
    not(feature = "strategies"),
    allow(
        dead_code,
        reason = "a build with some of the strategies uses a part of the searches that several share"
    )
)]
mod search;
#[cfg_attr(
    not(feature = "strategies"),
    allow(
        dead_code,
        reason = "the searches share operations on words, and a build has a part of the searches"
    )
)]
pub mod word;

pub use allocator::Allocator;
pub use blocks::{Allocation, Draft};
#[cfg(feature = "restore")]
pub use checkpoint::{RestoreError, SaveError};
pub use compactness::Compactness;
pub use controller::{Controller, Granted, Status, View};
#[cfg(feature = "restore")]
pub use controller::{Effect, Restoring};
pub use cube::{Cube, CubeError};
pub use error::{ConfigureError, Error, Refusal};
pub use grid::{
    Block, DIMENSIONS_MAX, FormattedBlock, Grid, GridError, GridTextError, MESH_SIDE_MAX,
    NODES_MAX, Shape, ShapeError, Tuple,
};
#[cfg(feature = "leases")]
pub use jobs::LeaseEnded;
pub use mesh::{Coord, Mesh, MeshSidesError, Sides, Submesh};
pub use message::{
    Capacity, Command, Configuration, Counts, FaultReport, Grant, JobState, Reply, Statistics,
};
pub use node::NodeId;
pub use occupancy::Occupancy;
pub use outlook::{HeldBlock, Outlook};
pub use pause::Pauses;
pub use request::{Flags, JobId, Request, Ticks};
pub use scheduler::{AnyScheduler, Scheduler, SchedulerKind};
pub use storage::{Memory, Storage};
pub use strategy::{
    AnyStrategy, CurveFit, Holds, PageOrder, Serves, Strategy, StrategyForm, StrategyInfo,
    StrategyKind, StrategyMemory, StrategyTextError, Workspace,
};
pub use supposition::Supposition;
