//! Why a job waits: [`Reason`].

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

use meshalloc::{ConfigureError, Description, Flags, JobId, Refusal, SchedulerKind, Ticks};
use serde::{Serialize, Serializer};

use super::twin::Twin;
use super::{Situation, Waiting};
use crate::wording::{are, counted};

/// Why a job waits. The order of the variants is that in which they are looked for: a job that is
/// larger than the machine is not said to wait for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Reason {
    /// It does not fit an empty machine whose processors all work.
    NeverFits {
        /// Why not.
        #[serde(serialize_with = "name")]
        refusal: Refusal,
    },
    /// It does not fit as long as these processors are faulty, even when all other jobs have ended.
    Faults {
        /// The number of faulty processors.
        faulty: u32,
    },
    /// The scheduler tries other jobs first.
    NotItsTurn {
        /// How many of them.
        ahead: u32,
    },
    /// Fewer processors are free than it needs.
    TooFewFree {
        /// What it needs.
        needs: u32,
        /// What is free.
        free: u32,
    },
    /// It would fit if it did not demand rings.
    RingNotFree,
    /// Enough processors are free, and the strategy finds no place among them.
    Fragmented {
        /// What it needs.
        needs: u32,
        /// What is free.
        free: u32,
    },
    /// It fits, and would delay a job ahead of it that has a reservation.
    BehindReservation {
        /// Jobs ahead of it in the queue.
        ahead: u32,
    },
    /// It fits, and the scheduler did not try it yet: it does at the next arrival or departure.
    Untried,
}

fn name<S: Serializer>(refusal: &Refusal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(refusal.name())
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::NeverFits { refusal } => write!(f, "it can never be granted: {refusal}"),
            Reason::Faults { faulty } => write!(
                f,
                "it does not fit while {} {} faulty",
                counted(faulty, "processor"),
                are(faulty as usize)
            ),
            Reason::NotItsTurn { ahead } => {
                write!(
                    f,
                    "the scheduler tries {} first",
                    counted(ahead, "other job")
                )
            }
            Reason::TooFewFree { needs, free } => {
                write!(
                    f,
                    "it needs {}, and {free} are free",
                    counted(needs, "processor")
                )
            }
            Reason::RingNotFree => f.write_str("it would fit if it did not demand rings"),
            Reason::Fragmented { needs, free } => write!(
                f,
                "{} {} free, but the strategy finds no place for {needs} among them",
                counted(free, "processor"),
                are(free as usize)
            ),
            Reason::BehindReservation { ahead } => write!(
                f,
                "it fits, but would delay the reservation of a job ahead of it ({ahead} ahead)"
            ),
            Reason::Untried => {
                f.write_str("it fits; the scheduler tries it when the next job arrives or ends")
            }
        }
    }
}

/// What kept a job waiting: the kind of a [`Reason`], or a full table. The discriminant is the
/// place in [`Cause::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// [`Reason::NeverFits`].
    NeverFits,
    /// [`Reason::Faults`].
    Faults,
    /// [`Reason::NotItsTurn`].
    NotItsTurn,
    /// [`Reason::TooFewFree`].
    TooFewFree,
    /// [`Reason::RingNotFree`].
    RingNotFree,
    /// [`Reason::Fragmented`].
    Fragmented,
    /// [`Reason::BehindReservation`].
    BehindReservation,
    /// [`Reason::Untried`].
    Untried,
    /// The controller had no room for the job yet.
    TableFull,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 9] = [
        Cause::NeverFits,
        Cause::Faults,
        Cause::NotItsTurn,
        Cause::TooFewFree,
        Cause::RingNotFree,
        Cause::Fragmented,
        Cause::BehindReservation,
        Cause::Untried,
        Cause::TableFull,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::NeverFits => "never-fits",
            Cause::Faults => "faults",
            Cause::NotItsTurn => "not-its-turn",
            Cause::TooFewFree => "too-few-free",
            Cause::RingNotFree => "ring-not-free",
            Cause::Fragmented => "fragmented",
            Cause::BehindReservation => "behind-reservation",
            Cause::Untried => "untried",
            Cause::TableFull => "table-full",
        }
    }
}

impl Reason {
    /// Its kind.
    pub const fn cause(self) -> Cause {
        match self {
            Reason::NeverFits { .. } => Cause::NeverFits,
            Reason::Faults { .. } => Cause::Faults,
            Reason::NotItsTurn { .. } => Cause::NotItsTurn,
            Reason::TooFewFree { .. } => Cause::TooFewFree,
            Reason::RingNotFree => Cause::RingNotFree,
            Reason::Fragmented { .. } => Cause::Fragmented,
            Reason::BehindReservation { .. } => Cause::BehindReservation,
            Reason::Untried => Cause::Untried,
        }
    }
}

impl Situation<'_> {
    /// Why this job waits. `None` if it does not wait.
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    ///
    /// # Time complexity
    ///
    /// That of a few decisions of the strategy.
    pub fn why(&self, job: JobId) -> Result<Option<Reason>, ConfigureError> {
        let Some(place) = self.waiting.iter().position(|other| other.job == job) else {
            return Ok(None);
        };
        Ok(self.reasons_at(place..place + 1)?.pop())
    }

    /// Why each of the waiting jobs waits, in the order of the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Situation::why`].
    ///
    /// # Time complexity
    ///
    /// That of a few decisions of the strategy for each waiting job.
    pub fn reasons(&self) -> Result<Vec<Reason>, ConfigureError> {
        self.reasons_at(0..self.waiting.len())
    }

    fn reasons_at(&self, places: Range<usize>) -> Result<Vec<Reason>, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.twin(&mut storage)?;
        let waiting = &self.waiting[places.clone()];
        // First on the empty machine, then with its faults, then with the jobs that run.
        let never = |request| match twin.allocator.demand(request) {
            Ok(_) if twin.allocator.fits(request) => None,
            Ok(_) => Some(Refusal::NeverFits),
            Err(refusal) => Some(refusal),
        };
        let refusals = waiting.iter().map(|waiting| &waiting.request).map(never);
        let refusals: Vec<_> = refusals.collect();
        twin.fail(&self.faulty);
        let absent = self.description.map_or(0, Description::absent_processors);
        let faulty = self.faulty.len() as u32 - absent;
        let mut fits = |waiting: &Waiting| faulty == 0 || twin.allocator.fits(&waiting.request);
        let is_blocked: Vec<_> = waiting.iter().map(|waiting| !fits(waiting)).collect();
        self.running.iter().for_each(|job| twin.hold(&job.blocks));
        let before = self.tried_before();
        let known = refusals.into_iter().zip(is_blocked);
        let reasons = places.zip(known).map(|(place, known)| match known {
            (Some(refusal), _) => Reason::NeverFits { refusal },
            (None, true) => Reason::Faults { faulty },
            (None, false) => match before[place] {
                0 => self.at_its_turn(place, &mut twin),
                ahead => Reason::NotItsTurn { ahead },
            },
        });
        Ok(reasons.collect())
    }

    /// Why the job at this place of the queue does not run now, though its turn has come.
    fn at_its_turn(&self, place: usize, twin: &mut Twin<'_>) -> Reason {
        let request = &self.waiting[place].request;
        let needs = twin.allocator.demand(request).unwrap_or(u32::MAX);
        let free = twin.allocator.occupancy().free();
        let ahead = place as u32;
        if needs > free {
            Reason::TooFewFree { needs, free }
        } else if twin.allocator.fits(request) {
            match self.configuration.scheduler {
                SchedulerKind::Easy { .. } | SchedulerKind::Conservative if ahead > 0 => {
                    Reason::BehindReservation { ahead }
                }
                _ => Reason::Untried,
            }
        } else if request.flags.intersects(Flags::ALL_RINGS)
            && twin
                .allocator
                .fits(&request.with_flags(request.flags - Flags::ALL_RINGS))
        {
            Reason::RingNotFree
        } else {
            Reason::Fragmented { needs, free }
        }
    }

    /// For each place of the queue the number of waiting jobs that all have to be granted before
    /// the scheduler tries the job there.
    fn tried_before(&self) -> Vec<u32> {
        let places = 0..self.waiting.len();
        match self.configuration.scheduler {
            SchedulerKind::Fcfs => places.map(|place| place as u32).collect(),
            SchedulerKind::ShortestJobFirst { .. } => {
                let estimate = |&place: &usize| {
                    let estimate = self.waiting[place].request.estimate;
                    estimate.map_or(Ticks::MAX, NonZeroU64::get)
                };
                let mut order: Vec<_> = places.collect();
                order.sort_by_key(estimate);
                let mut before = vec![0; order.len()];
                for (count, place) in (0..).zip(order) {
                    before[place] = count;
                }
                before
            }
            // The others try jobs behind one that does not fit.
            _ => vec![0; places.len()],
        }
    }
}
