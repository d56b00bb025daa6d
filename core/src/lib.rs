#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
// With a strategy left out, what only it uses is not used.
#![cfg_attr(
    not(all(
        feature = "adaptive-scan",
        feature = "all-shapes",
        feature = "best-fit",
        feature = "buddy",
        feature = "busy-list",
        feature = "first-fit",
        feature = "fixed-orientation",
        feature = "flex-fold",
        feature = "frame-sliding",
        feature = "free-list",
        feature = "free-submesh-list",
        feature = "naive",
        feature = "partner",
        feature = "sniffing",
        feature = "tree-collapsing",
        feature = "tree-collapsing-printed"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        unused_variables,
        reason = "used by the strategies that are left out"
    )
)]

pub mod allocator;
pub mod blocks;
pub mod controller;
pub mod cube;
pub mod error;
pub mod jobs;
pub mod machine;
pub mod mesh;
pub mod message;
pub mod occupancy;
pub mod request;
pub mod scheduler;
mod search;
pub mod storage;
pub mod strategy;
pub mod word;

pub use allocator::{Allocation, Allocator};
pub use blocks::{Draft, Held};
pub use controller::{Controller, Granted};
pub use cube::{
    CUBE_NODES_MAX, Cube, CubeError, DIMENSIONS_MAX, Digits, Radices, RadicesError, Subcube,
};
pub use error::{ConfigureError, Error, Refusal};
pub use machine::{Block, Machine, MachineKind, NodeId, Shape};
pub use mesh::{Coord, Mesh, MeshSidesError, SIDE_MAX, Sides, Submesh};
pub use message::{Capacity, Command, Configuration, Grant, JobState, Reply, Statistics};
pub use occupancy::Occupancy;
pub use request::{Flags, JobId, Request, Ticks};
pub use scheduler::{AnyScheduler, Scheduler, SchedulerKind};
pub use storage::{Memory, Storage};
pub use strategy::{AnyStrategy, Strategy, StrategyInfo, StrategyKind, Workspace};
