#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

pub mod allocator;
pub mod controller;
pub mod error;
pub mod jobs;
mod layout;
pub mod mesh;
pub mod message;
pub mod node;
pub mod notation;
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
pub mod grid;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
pub mod occupancy;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
mod search;
#[cfg_attr(not(feature = "strategies"), allow(dead_code))]
pub mod word;

pub use allocator::Allocator;
pub use blocks::{Allocation, Draft, Held};
pub use controller::{Controller, Granted};
pub use cube::{Cube, CubeError};
pub use error::{ConfigureError, Error, Refusal};
pub use grid::{
    Block, DIMENSIONS_MAX, Grid, GridError, GridTextError, MESH_SIDE_MAX, NODES_MAX, Place, Shape,
    ShapeError, Tuple,
};
pub use mesh::{Coord, Mesh, MeshSidesError, Sides, Submesh};
pub use message::{Capacity, Command, Configuration, Grant, JobState, Reply, Statistics};
pub use node::NodeId;
pub use occupancy::Occupancy;
pub use request::{Flags, JobId, Request, Ticks};
pub use scheduler::{AnyScheduler, Scheduler, SchedulerKind};
pub use storage::{Memory, Storage};
pub use strategy::{
    AnyStrategy, Holds, PageOrder, Serves, Strategy, StrategyForm, StrategyInfo, StrategyKind,
    StrategyMemory, StrategyTextError, Workspace,
};
