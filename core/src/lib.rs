#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

pub mod allocator;
pub mod controller;
pub mod error;
pub mod jobs;
pub mod machine;
pub mod mesh;
pub mod message;
pub mod request;
pub mod scheduler;
pub mod storage;
pub mod strategy;

// What strategies are made of; a build with some of them uses a part of it.
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
pub mod blocks;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
pub mod cube;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
pub mod occupancy;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
mod search;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
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
pub use strategy::{AnyStrategy, Strategy, StrategyInfo, StrategyKind, StrategyMemory, Workspace};
