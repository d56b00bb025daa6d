//! Pauses of long work: [`Pauses`].
//!
//! A search, the rebuild of a list or a reservation may take far longer than a serial line can
//! wait. Such work *polls* at points in its outer loops: it asks the caller whether a pause is due.
//! The caller knows its clock and its line. If a pause is due, the caller's function is called with
//! a read-only view of the controller:
//!
//! ```text
//!   begin(.., pauses) --- search --?--?--?---+--- search --?--?---+--- search ---> outcome
//!                                            |                    |
//!                            ? is_due()   on_pause(view)      on_pause(view)
//!                                         look at the line, answer queries
//! ```
//!
//! The work goes on when the function returns. Its state stays on the stack, so decisions are the
//! same as without pauses.

use core::fmt;

use crate::jobs::JobTable;
use crate::occupancy::Occupancy;
use crate::pool::BlockPool;
use crate::view::{Status, View};

/// Two functions that the caller of long work provides: one says whether a pause is due, the other
/// runs during pauses.
///
/// Strategies and schedulers whose attempts may take long turn on the feature `pauses`. Without it
/// the functions are never called.
///
/// ```
/// use core::cell::Cell;
/// use meshalloc::{
///     Change, Configuration, Controller, JobId, Mesh, Pauses, Request, SchedulerKind, Storage,
///     StrategyKind,
/// };
///
/// let mut storage: meshalloc::storage!(mesh 8 x 8, strategies [AllShapes], jobs 16) =
///     Storage::new();
/// let mut controller = Controller::new(
///     storage.memory(),
///     Configuration {
///         machine: Mesh::new(8, 8)?.into(),
///         strategy: StrategyKind::AllShapes,
///         scheduler: SchedulerKind::Fcfs,
///     },
/// )?;
/// let looks = Cell::new(0);
/// let look = |_: &meshalloc::View<'_, '_>| looks.set(looks.get() + 1);
/// let pauses = Pauses::new(&|| true, &look);
/// let submit = Change::submit(JobId(1), Request::submesh(3, 2));
/// controller.begin(&submit, 0, Some(&pauses), None)?;
/// controller.advance(Some(&pauses));
/// assert!(looks.get() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pauses<'a> {
    is_due: &'a (dyn Fn() -> bool + 'a),
    on_pause: &'a (dyn Fn(&View<'_, '_>) + 'a),
}

impl<'a> Pauses<'a> {
    /// Whether there are pauses in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "pauses");

    /// Calls `on_pause` whenever work polls and `is_due` returns true. Polls are frequent, so
    /// `is_due` should be short. The view shows the controller in the middle of a command:
    /// decisions made so far are there, and the job that tries waits.
    pub const fn new(
        is_due: &'a (dyn Fn() -> bool + 'a),
        on_pause: &'a (dyn Fn(&View<'_, '_>) + 'a),
    ) -> Self {
        Pauses { is_due, on_pause }
    }

    /// Never pauses.
    pub const fn none() -> Self {
        Pauses::new(&|| false, &|_| ())
    }

    /// A poll, for work inside and outside the controller.
    pub fn poll<'v, 'm: 'v>(&self, view: impl FnOnce() -> View<'v, 'm>) {
        if (self.is_due)() {
            (self.on_pause)(&view());
        }
    }
}

impl fmt::Debug for Pauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pauses").finish_non_exhaustive()
    }
}

/// The pauses of one step of a controller, and the jobs and status that queries see during a pause.
/// Occupancy and blocks are passed at each poll, since they change between polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause<'a, 'm> {
    pauses: &'a Pauses<'a>,
    status: Status<'a>,
    jobs: &'a JobTable<'m>,
}

impl<'a, 'm> Pause<'a, 'm> {
    /// The pauses of a part of the step that does not change the jobs; `None` if there are no
    /// pauses.
    #[inline]
    pub(crate) fn with_jobs(
        pauses: Option<(&'a Pauses<'a>, Status<'a>)>,
        jobs: &'a JobTable<'m>,
    ) -> Option<Self> {
        let (pauses, status) = pauses?;
        Some(Pause {
            pauses,
            status,
            jobs,
        })
    }

    /// Pauses if there are pauses and one is due.
    #[inline]
    pub(crate) fn poll(pause: Option<&Self>, occupancy: &Occupancy<'m>, pool: &BlockPool<'m>) {
        if Pauses::BUILT
            && let Some(pause) = pause
        {
            pause.poll_now(occupancy, pool);
        }
    }

    // A function of its own, so that work without pauses stays short.
    #[inline(never)]
    fn poll_now(&self, occupancy: &Occupancy<'m>, pool: &BlockPool<'m>) {
        let view = || View::new(self.jobs, occupancy, pool, self.status);
        self.pauses.poll(view);
    }
}
