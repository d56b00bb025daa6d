//! Why a job waits: [`Reason`].

use std::fmt;
use std::ops::Range;

pub use meshalloc::Reason as Cause;
use meshalloc::{ConfigureError, Description, JobId, Refusal, Request, Waits};
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
    /// There is no room for its blocks.
    TableFull,
    /// Slices of the gang have places, but not all of them at once.
    GangIncomplete {
        /// What it needs.
        needs: u32,
        /// What is free.
        free: u32,
    },
    /// The search found no place, or none for all slices of a gang, and gave up before it had
    /// looked everywhere.
    NotSearchedToTheEnd,
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
            Reason::Fragmented { free, .. } => write!(
                f,
                "{} {} free, but the strategy finds no place",
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
            Reason::TableFull => f.write_str("the controller has no room for its blocks"),
            Reason::GangIncomplete { free, .. } => write!(
                f,
                "{} {} free, with places for some of its slices, not for all at once",
                counted(free, "processor"),
                are(free as usize)
            ),
            Reason::NotSearchedToTheEnd => {
                f.write_str("no place was found; the search was not completed")
            }
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
            Reason::TableFull => Cause::TableFull,
            Reason::GangIncomplete { .. } => Cause::GangIncomplete,
            Reason::NotSearchedToTheEnd => Cause::NotSearchedToTheEnd,
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
            Ok(_) if may_fit(twin.attempt(request)) => None,
            Ok(_) => Some(Refusal::NeverFits),
            Err(refusal) => Some(refusal),
        };
        let refusals = waiting.iter().map(|waiting| &waiting.request).map(never);
        let refusals: Vec<_> = refusals.collect();
        twin.fail(&self.faulty);
        let is_any_faulty = self.faulty_len() > 0;
        let mut fits =
            |waiting: &Waiting| !is_any_faulty || may_fit(twin.attempt(&waiting.request));
        let fits_alone: Vec<_> = waiting.iter().map(&mut fits).collect();
        self.running.iter().for_each(|job| twin.hold(&job.blocks));
        let known = refusals.into_iter().zip(fits_alone);
        let reasons = places.zip(known).map(|(place, (never, fits_alone))| {
            let mut known = Known {
                situation: self,
                twin: &mut twin,
                place,
                never,
                fits_alone,
            };
            let cause = Cause::of(&self.waiting[place].request, &mut known);
            known.in_words(cause)
        });
        Ok(reasons.collect())
    }
}

impl Situation<'_> {
    /// The number of faulty processors, without those that are absent.
    fn faulty_len(&self) -> u32 {
        let absent = self.description.map_or(0, Description::absent_processors);
        self.faulty.len() as u32 - absent
    }
}

/// Whether the answer leaves it possible that the request fits: the search found a place, or gave
/// up early.
pub(crate) const fn may_fit(attempt: Result<(), Refusal>) -> bool {
    matches!(attempt, Ok(()) | Err(Refusal::NotSearchedToTheEnd))
}

/// The facts about the job at a place of the queue, from which its reason follows.
struct Known<'s, 'm> {
    situation: &'s Situation<'s>,
    /// An allocator in which the same processors are busy as in the controller.
    twin: &'s mut Twin<'m>,
    place: usize,
    never: Option<Refusal>,
    fits_alone: bool,
}

impl Known<'_, '_> {
    /// The reason for this cause, with its numbers.
    fn in_words(&mut self, cause: Cause) -> Reason {
        let request = &self.situation.waiting[self.place].request;
        let needs = self.twin.allocator.demand(request).unwrap_or(u32::MAX);
        let free = self.twin.allocator.occupancy().free();
        let ahead = self.place as u32;
        match cause {
            Cause::NeverFits => Reason::NeverFits {
                refusal: self.never.unwrap_or(Refusal::NeverFits),
            },
            Cause::Faults => Reason::Faults {
                faulty: self.situation.faulty_len(),
            },
            Cause::NotItsTurn => Reason::NotItsTurn {
                ahead: self.before(),
            },
            Cause::TooFewFree => Reason::TooFewFree { needs, free },
            Cause::RingNotFree => Reason::RingNotFree,
            Cause::BehindReservation => Reason::BehindReservation { ahead },
            Cause::Untried => Reason::Untried,
            Cause::TableFull => Reason::TableFull,
            Cause::GangIncomplete => Reason::GangIncomplete { needs, free },
            Cause::NotSearchedToTheEnd => Reason::NotSearchedToTheEnd,
            _ => Reason::Fragmented { needs, free },
        }
    }
}

impl Waits for Known<'_, '_> {
    fn never(&mut self) -> Option<Refusal> {
        self.never
    }

    fn fits_alone(&mut self) -> bool {
        self.fits_alone
    }

    fn before(&mut self) -> u32 {
        let waiting = &self.situation.waiting;
        let own = (self.place as u32, waiting[self.place].request.estimate);
        let estimates = waiting.iter().map(|waiting| waiting.request.estimate);
        let scheduler = self.situation.configuration.scheduler;
        scheduler.before(own, estimates)
    }

    fn is_behind_reservations(&mut self) -> bool {
        self.situation.configuration.scheduler.reserves() && self.place > 0
    }

    fn attempt(&mut self, request: &Request) -> Result<(), Refusal> {
        self.twin.attempt(request)
    }
}
