//! Pauses in long work: [`Pauses`], what a caller does in them, and [`Interrupts`], how it says so.
//!
//! An attempt to place a job may take long: a strategy tries many shapes, a scheduler supposes the departure of one job after the other. Work that
//! may take long says now and then how much of it there was; whoever has called may do something else then, such as to answer queries, with the
//! [`View`] of the controller as it is at that moment. The work goes on when that returns. So decisions are those of work without pauses.
//!
//! Strategies and schedulers whose attempts may take long turn on the feature `pauses`; without it there are none.

use super::{Status, View};
use crate::blocks::BlockPool;
use crate::jobs::JobTable;
use crate::occupancy::Occupancy;
use crate::pause::Pausable;
use crate::watch::{OnPause, Watcher};

/// What is done while work pauses.
pub trait Pauses {
    /// About so many instructions of a Cortex-M4 have gone by since the last call, or since the work began; as a rule some thousand. The controller looks
    /// as it does in the middle of a command: what has been decided is there, the job that tries waits.
    fn worked(&mut self, instructions: u32, view: &View<'_, '_>);
}

/// Nothing is done.
impl Pauses for () {
    fn worked(&mut self, _: u32, _: &View<'_, '_>) {}
}

/// Whether work may be interrupted, and by whom.
#[derive(Debug)]
pub struct Interrupts<'a>(Pausable<&'a mut (dyn Pauses + 'a)>);

impl<'i> Interrupts<'i> {
    /// The work is done in one go.
    #[inline]
    pub const fn never() -> Self {
        Interrupts(Pausable::never())
    }

    /// The work pauses now and then. Without the feature `pauses` it does not.
    #[inline]
    pub fn by(pauses: &'i mut (dyn Pauses + 'i)) -> Self {
        Interrupts(Pausable::by(pauses))
    }

    /// Whether there may be pauses.
    #[inline]
    pub(super) fn may_pause(&mut self) -> bool {
        self.0.who().is_some()
    }

    /// A part of the work, during which the controller has this status.
    #[inline]
    pub(super) fn during<'a>(&'a mut self, status: Status<'a>) -> Part<'a> {
        Part(match self.0.who() {
            Some(pauses) => Pausable::by(Shown {
                pauses: &mut **pauses,
                status,
            }),
            None => Pausable::never(),
        })
    }
}

/// A part of the work of a controller.
#[derive(Debug)]
pub(super) struct Part<'a>(Pausable<Shown<'a>>);

impl Part<'_> {
    /// Who is told of its progress.
    #[inline]
    pub(super) fn watcher(&mut self) -> Watcher<'_> {
        match self.0.who() {
            Some(shown) => Watcher::by(shown),
            None => Watcher::never(),
        }
    }
}

/// Shows the controller as it is in a pause.
struct Shown<'a> {
    pauses: &'a mut (dyn Pauses + 'a),
    status: Status<'a>,
}

impl OnPause for Shown<'_> {
    fn worked(
        &mut self,
        instructions: u32,
        jobs: &JobTable<'_>,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) {
        let view = View::new(jobs, occupancy, pool, self.status);
        self.pauses.worked(instructions, &view);
    }
}
