//! A job of a log, and which jobs of a log are taken.

use std::num::NonZeroU32;

use meshalloc::{Flags, Shape, Slices, Ticks, Tolerance};
use serde::{Serialize, Serializer};

use super::{Columns, ShapeRule, is_default};

/// Which jobs of a log to take, and their shapes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogOptions {
    /// The names of the log's columns, which must then be in CSV. `None` if it is in the Standard
    /// Workload Format, or in CSV whose columns have their own names.
    pub columns: Option<Columns>,
    /// Only the jobs of this partition (field 16).
    pub partition: Option<i64>,
    /// Only the jobs submitted at this time of the log or later. Times are counted from it.
    pub from: Option<Ticks>,
    /// Only the jobs submitted before this time of the log.
    pub to: Option<Ticks>,
    /// Only this number of jobs, the first in the file.
    pub limit: Option<usize>,
    /// How a number of processors becomes side lengths.
    pub shape: ShapeRule,
    /// The processors of a node, if the machine allocates nodes: a job gets as many nodes as hold
    /// its processors. `None` if the machine allocates processors.
    pub processors_per_node: Option<NonZeroU32>,
    /// Whether a line with an unknown submit time, number of processors or run time is an error, as
    /// well as other data behind gzip data. Else such lines are left out and counted. This changes
    /// no job.
    #[serde(skip)]
    pub strict: bool,
}

impl LogOptions {
    /// When a job arrives, from the window's beginning; `None` outside.
    pub(super) fn arrival(&self, submitted: Ticks) -> Option<Ticks> {
        let is_before = self.to.is_none_or(|to| submitted < to);
        submitted
            .checked_sub(self.from.unwrap_or(0))
            .filter(|_| is_before)
    }

    /// The number of nodes that hold this number of processors.
    pub(super) fn nodes(&self, processors: u32) -> u32 {
        let each = self.processors_per_node.map_or(1, NonZeroU32::get);
        processors.div_ceil(each)
    }
}

/// A job of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogJob {
    /// Its number in the log (field 1).
    pub number: i64,
    /// When it was submitted, in ticks from the log's zero or from the beginning of the window.
    pub arrival: Ticks,
    /// How many processors the job had, in all its slices; with
    /// [`LogOptions::processors_per_node`], how many nodes.
    pub processors: u32,
    /// The shape that it asked for, if the log has one.
    pub shape: Option<Shape>,
    /// How many slices of the shape it asked for, all or none.
    #[serde(skip_serializing_if = "is_default", serialize_with = "number")]
    pub slices: Slices,
    /// How it may be served: the rings that it demands.
    pub flags: Flags,
    /// How long it ran, in ticks.
    pub run_time: Ticks,
    /// The run time that was requested, in ticks, if it is known.
    pub requested_time: Option<Ticks>,
    /// Its head start in the queue, in ticks.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: Ticks,
    /// Whether it may be interrupted for a job of a higher priority.
    #[serde(skip_serializing_if = "is_default")]
    pub is_preemptible: bool,
    /// How many faulty processors each of its slices may have.
    #[serde(skip_serializing_if = "is_default", serialize_with = "tolerated")]
    pub tolerance: Tolerance,
    /// Who submitted it.
    pub owner: Owner,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn tolerated<S: Serializer>(tolerance: &Tolerance, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(tolerance.get())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn number<S: Serializer>(slices: &Slices, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(slices.get())
}

/// Who submitted a job, as the log has it; -1 is unknown. Nothing is decided by it.
///
/// Users and groups may have names in a log. The names of a column are numbered in the order in
/// which they first occur, from 1, or if the column has numbers too, from the greatest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The user.
    pub user: i64,
    /// The group.
    pub group: i64,
}

impl Owner {
    /// Not known.
    pub const UNKNOWN: Owner = Owner {
        user: -1,
        group: -1,
    };
}
