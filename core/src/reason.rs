//! Why a job waits: [`Reason`], and the one rule that decides it ([`Reason::of`]).

use crate::error::Refusal;
use crate::job_id::JobId;
use crate::request::{Flags, Request};
use crate::wire::wire;

/// Defines [`Reason`]: each reason has its name in files.
macro_rules! reasons {
    ($($(#[$meta:meta])* $reason:ident = $name:literal;)*) => {
        wire! {
            /// Why a job waits. The number on the wire is the place in [`Reason::ALL`].
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum Reason {
                $($(#[$meta])* $reason,)*
            }
        }

        impl Reason {
            /// Every reason, in the order of declaration.
            pub const ALL: [Reason; [$(Reason::$reason),*].len()] = [$(Reason::$reason),*];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Reason::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// The job does not fit an empty machine whose processors all work: its shape is illegal or
    /// larger than the machine, or no place has the rings that it demands. A controller refuses
    /// such a request, so no job of a controller waits for this reason.
    NeverFits = "never-fits";
    /// The job does not fit before faulty processors are repaired, even when all other jobs have
    /// ended.
    Faults = "faults";
    /// The scheduler tries other jobs first.
    NotItsTurn = "not-its-turn";
    /// Fewer processors are free than it needs, or are faulty ones that it tolerates.
    TooFewFree = "too-few-free";
    /// The job would fit if it did not demand rings.
    RingNotFree = "ring-not-free";
    /// Enough processors are free, and the strategy finds no place among them.
    Fragmented = "fragmented";
    /// The job fits, but would delay a job ahead of it that has a reservation.
    BehindReservation = "behind-reservation";
    /// The job fits, but the scheduler has not tried it yet. It will at the next arrival or
    /// departure.
    Untried = "untried";
    /// There is no room for the job's blocks, or the table of jobs had no room for the job yet.
    TableFull = "table-full";
    /// Enough processors are free, and slices of the gang have places, but not all of them at once.
    GangIncomplete = "gang-incomplete";
    /// Enough processors are free. The search found no place, or none for all slices of a gang, and
    /// gave up before it had looked everywhere.
    NotSearchedToTheEnd = "not-searched-to-the-end";
}

wire! {
    /// Why a job waits, and what the reason is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WhyReport {
        /// The job.
        pub job: JobId,
        /// Why it waits; `None` if it runs.
        pub reason: Option<Reason>,
        /// Jobs before it in the queue.
        pub ahead: u32,
        /// The processors that it needs, at least, faulty ones that it tolerates among them; if it
        /// runs, those that it holds.
        pub needs: u32,
        /// Processors neither held nor faulty.
        pub free: u32,
        /// Faulty processors, without those that are absent.
        pub faulty: u32,
    }
}

/// The questions that the rule asks about a waiting job, wherever the answers come from.
pub trait Waits {
    /// Why the job could not be granted on an empty machine whose processors all work.
    fn never(&mut self) -> Option<Refusal>;

    /// Whether the job would fit if no other job ran. If the search is not completed, the answer is
    /// yes.
    fn fits_alone(&mut self) -> bool;

    /// How many waiting jobs all have to be granted before the scheduler tries this one
    /// ([`SchedulerKind::before`](crate::SchedulerKind::before)).
    fn before(&mut self) -> u32;

    /// Whether a job ahead of it may hold a reservation.
    fn is_behind_reservations(&mut self) -> bool;

    /// Whether this request, which is the job's or the same without rings, would be granted now if
    /// it were tried.
    ///
    /// # Errors
    ///
    /// Why not.
    fn attempt(&mut self, request: &Request) -> Result<(), Refusal>;
}

impl Reason {
    /// Why a job with this request waits. Only the first reason that holds is given: for a job that
    /// is larger than the machine, the reason is never that it waits for its turn.
    pub fn of(request: &Request, job: &mut impl Waits) -> Reason {
        if job.never().is_some() {
            return Reason::NeverFits;
        }
        if !job.fits_alone() {
            return Reason::Faults;
        }
        if job.before() > 0 {
            return Reason::NotItsTurn;
        }
        let refusal = match job.attempt(request) {
            Ok(()) if job.is_behind_reservations() => return Reason::BehindReservation,
            Ok(()) => return Reason::Untried,
            Err(refusal) => refusal,
        };
        let fragmented = match refusal {
            Refusal::TooFewFree => return Reason::TooFewFree,
            Refusal::TableFull => return Reason::TableFull,
            Refusal::GangIncomplete => Reason::GangIncomplete,
            Refusal::NotSearchedToTheEnd => return Reason::NotSearchedToTheEnd,
            _ => Reason::Fragmented,
        };
        if request.flags.intersects(Flags::ALL_RINGS) {
            let flags = request.flags.difference(Flags::ALL_RINGS);
            if job.attempt(&request.with_flags(flags)).is_ok() {
                return Reason::RingNotFree;
            }
        }
        fragmented
    }
}
