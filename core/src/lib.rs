#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "gangs",
        feature = "leases",
        feature = "preemption",
        feature = "reasons",
        feature = "restore",
        feature = "schedulers",
        feature = "strategies",
        feature = "tolerance"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "a build without some features uses a part of what they share"
    )
)]

/// The version of [heapless](https://docs.rs/heapless) whose `Vec` is in public types.
pub use heapless;

mod allocation;
mod allocator;
mod checkpoint;
pub mod checksum;
mod class;
pub mod controller;
mod cube;
mod delegate;
mod draft;
mod error;
pub mod grid;
mod job_id;
pub mod jobs;
mod layout;
pub mod machine;
mod mesh;
pub mod message;
mod needs;
mod node;
pub mod notation;
mod occupancy;
mod outlook;
mod pause;
mod pool;
mod preemption;
mod reason;
mod request;
mod scheduler;
mod slices;
pub mod storage;
pub mod strategy;
mod supposition;
mod texts;
mod tolerance;
mod view;

mod search;
mod wire;
mod word;

pub use allocation::{Allocation, AllocationError, ReleaseError};
pub use allocator::Allocator;
pub use checkpoint::{PART_MAX, RestoreError, SaveError};
pub use class::Class;
pub use controller::{Commit, Controller};
pub use cube::{Cube, CubeError};
pub use draft::Draft;
pub use error::{AllocateError, ConfigureError, Error, IllegalProposal, PlaceError, Refusal};
pub use grid::{
    Block, DIMENSIONS_MAX, FormattedBlock, Grid, GridError, GridTextError, MESH_SIDE_MAX,
    NODES_MAX, Shape, ShapeError, Tuple,
};
pub use job_id::JobId;
pub use machine::{Description, DescriptionError, Hole, Placement, Slice, SliceRule};
pub use mesh::{Coord, Mesh, MeshSidesError, Sides, Submesh, SubmeshError};
pub use message::{
    Answer, Capacity, Change, Configuration, Counts, Event, EventKind, FaultReport, JobState,
    Outcome, Query, Statistics,
};
pub use node::NodeId;
pub use occupancy::Occupancy;
pub use outlook::{HeldBlock, Outlook};
pub use pause::Pauses;
pub use preemption::{VICTIMS_MAX, Victims};
pub use reason::{Reason, Waits};
pub use request::{Flags, Request, Ticks};
pub use scheduler::{
    AnyScheduler, Attempt, Scheduler, SchedulerInfo, SchedulerKind, ServedScheduler, Threshold,
    Trigger, Try, World,
};
pub use slices::{Slices, SlicesError};
pub use storage::{AllocatorMemory, AllocatorStorage, Memory, Storage};
pub use strategy::{
    AnyStrategy, BoxForm, Contiguity, CurveFit, CurveLine, Facts, FindsAgain, OccupancyEvent,
    PageOrder, Recognizes, Room, ServedStrategy, Serves, Site, Strategy, StrategyForm,
    StrategyInfo, StrategyKind, StrategyTextError,
};
pub use supposition::Supposition;
pub use tolerance::Tolerance;
pub use view::View;
#[cfg(feature = "restore")]
pub use {allocator::saved::RestoringAllocator, controller::state::Restoring};
