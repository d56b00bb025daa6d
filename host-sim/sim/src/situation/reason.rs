//! Why a job waits: [`Reason`].

use std::fmt;
use std::num::NonZeroU64;

use meshalloc::{ConfigureError, Flags, JobId, Refusal, Request, SchedulerKind, Ticks};
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
        let request = self.waiting[place].request;
        let mut storage = self.storage();
        let mut twin = self.twin(&mut storage)?;
        Ok(Some(self.reason(place, &request, &mut twin)))
    }

    fn reason(&self, place: usize, request: &Request, twin: &mut Twin<'_>) -> Reason {
        let needs = match twin.allocator.demand(request) {
            Ok(needs) => needs,
            Err(refusal) => return Reason::NeverFits { refusal },
        };
        if !twin.allocator.fits(request) {
            let refusal = Refusal::NeverFits;
            return Reason::NeverFits { refusal };
        }
        twin.fail(&self.faulty);
        if !twin.allocator.fits(request) {
            let faulty = self.faulty.len() as u32;
            return Reason::Faults { faulty };
        }
        let ahead = self.tried_before(place);
        if ahead > 0 {
            return Reason::NotItsTurn { ahead };
        }
        self.running.iter().for_each(|job| twin.hold(&job.blocks));
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

    /// The waiting jobs of which all have to be granted before the scheduler tries the one at this
    /// place of the queue.
    fn tried_before(&self, place: usize) -> u32 {
        let estimate = |of: &Waiting| of.request.estimate.map_or(Ticks::MAX, NonZeroU64::get);
        let key = |at: usize| (estimate(&self.waiting[at]), at);
        let count = match self.configuration.scheduler {
            SchedulerKind::Fcfs => place,
            SchedulerKind::ShortestJobFirst { .. } => {
                let others = 0..self.waiting.len();
                others.filter(|&other| key(other) < key(place)).count()
            }
            // The others try jobs behind one that does not fit.
            _ => 0,
        };
        count as u32
    }
}
