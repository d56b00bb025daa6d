//! Pauses of long work: [`Pauses`].
//!
//! A search, the rebuild of a list or a reservation may take far longer than a serial line can
//! wait. Such work spends instructions from a budget, at points in its outer loops. When the budget
//! is used up, the caller's function is called with a read-only view of the controller:
//!
//! ```text
//!   begin(.., pauses) --- search ---+--- search ---+--- search ---> outcome
//!                                   |              |
//!                           on_pause(n, view)  on_pause(n, view)
//!                           look at the line, answer queries
//! ```
//!
//! The work goes on when the function returns. Its state stays on the stack, so decisions are those
//! of work without pauses.

use core::cell::Cell;
use core::fmt;

use crate::jobs::JobTable;
use crate::occupancy::Occupancy;
use crate::pool::BlockPool;
use crate::view::{Status, View};

/// From above, what it takes to look at one of many blocks or jobs.
pub(crate) const LOOK_INSTRUCTIONS: u32 = 500;

/// A function that is called whenever about a given number of instructions has been spent.
///
/// Strategies and schedulers whose attempts may take long turn on the feature `pauses`. Without it
/// the function is never called.
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
/// let look = |_, _: &meshalloc::View<'_, '_>| looks.set(looks.get() + 1);
/// let pauses = Pauses::new(1, &look);
/// let submit = Change::submit(JobId(1), Request::submesh(3, 2));
/// controller.begin(&submit, 0, Some(&pauses), None)?;
/// controller.advance(Some(&pauses));
/// assert!(looks.get() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pauses<'a> {
    /// Instructions from one pause to the next.
    every: u32,
    /// Instructions spent since the latest pause, or since the beginning.
    since: Cell<u32>,
    /// Instructions spent up to the latest pause.
    before: Cell<u64>,
    on_pause: &'a (dyn Fn(u32, &View<'_, '_>) + 'a),
}

impl<'a> Pauses<'a> {
    /// Whether there are pauses in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "pauses");

    /// Calls `on_pause` when at least `every` instructions of a Cortex-M4 have been spent since the
    /// latest pause, with their number: an estimate from above. With 0 or 1, work pauses as often
    /// as it can. The view shows the controller in the middle of a command: decisions made so far
    /// are there, and the job that tries waits.
    pub const fn new(every: u32, on_pause: &'a (dyn Fn(u32, &View<'_, '_>) + 'a)) -> Self {
        Pauses {
            every,
            since: Cell::new(0),
            before: Cell::new(0),
            on_pause,
        }
    }

    /// Counts instructions, and pauses for nothing.
    pub const fn none() -> Self {
        Pauses::new(u32::MAX, &|_, _| ())
    }

    /// The instructions spent so far.
    pub const fn spent(&self) -> u64 {
        self.before.get() + self.since.get() as u64
    }

    /// Pauses now, as work outside the controller may want to.
    pub fn pause(&self, view: &View<'_, '_>) {
        let since = self.since.take();
        let before = self.before.get();
        self.before.set(before.saturating_add(since.into()));
        (self.on_pause)(since, view);
    }

    /// Spends instructions; returns whether a pause is due.
    #[inline]
    fn is_due_after(&self, instructions: u32) -> bool {
        let since = self.since.get().saturating_add(instructions);
        self.since.set(since);
        since >= self.every
    }
}

impl fmt::Debug for Pauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pauses { every, .. } = self;
        f.debug_struct("Pauses").field("every", every).finish()
    }
}

/// The pauses of one step of a controller, and what its pauses show of jobs and status. Occupancy
/// and blocks are named at each point, since they change in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause<'a, 'm> {
    pauses: &'a Pauses<'a>,
    status: Status<'a>,
    jobs: &'a JobTable<'m>,
}

impl<'a, 'm> Pause<'a, 'm> {
    /// For a part of the step that does not change the jobs; `None` if there are no pauses.
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

    /// Spends about this many instructions of a Cortex-M4, if there are pauses.
    #[inline]
    pub(crate) fn spend(
        pause: Option<&Self>,
        instructions: u32,
        occupancy: &Occupancy<'m>,
        pool: &BlockPool<'m>,
    ) {
        if Pauses::BUILT
            && let Some(pause) = pause
        {
            pause.spend_some(instructions, occupancy, pool);
        }
    }

    // A function of its own, so that work without pauses stays short.
    #[inline(never)]
    fn spend_some(&self, instructions: u32, occupancy: &Occupancy<'m>, pool: &BlockPool<'m>) {
        if self.pauses.is_due_after(instructions) {
            let view = View::new(self.jobs, occupancy, pool, self.status);
            self.pauses.pause(&view);
        }
    }
}
