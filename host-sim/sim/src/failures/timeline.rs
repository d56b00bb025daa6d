//! The failures and repairs of one run, in order.

use std::sync::Arc;

use meshalloc::{Block, Grid, Ticks};

use super::file::Recorded;
use super::random::Random;
use super::spares::Spares;
use super::units::{Effect, Units};
use super::{Checkpoint, FailureSource, Failures, Restart, SettingError, Unit};
use crate::workload::stream::{FAILURE_SOURCE, Stream};

/// The failures and repairs of one run, and what happens to jobs.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub(crate) restart: Restart,
    pub(crate) checkpoint: Option<Checkpoint>,
    machine: Grid,
    source: Source,
    spares: Option<Spares>,
    next: Option<Recorded>,
}

#[derive(Clone, Debug)]
enum Source {
    Random(Box<Random>, Unit, Units),
    Recorded(Arc<[Recorded]>, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Ticks,
    /// The number of processors that fail with this event; negative if they are repaired. The
    /// processors of a unit count even if they are already down because of another unit.
    pub(crate) failed: i64,
    pub(crate) effect: Effect,
}

impl Failures {
    /// The failures of one replication. A file must have been [read](Failures::read). Errors are
    /// those of [`Failures::check`].
    pub fn timeline(&self, seed: u64, replication: u32) -> Result<Timeline, SettingError> {
        self.check()?;
        let units = |unit| Units::new(self.machine, unit, self.cube);
        let (source, unit) = match &self.source {
            &FailureSource::Random {
                unit,
                up_seconds,
                down_seconds,
            } => {
                let units = units(unit)?;
                let Stream(rng) = Stream::new(seed, replication, FAILURE_SOURCE);
                let random = Random::new(up_seconds, down_seconds, units.count(), rng);
                (Source::Random(Box::new(random), unit, units), Some(unit))
            }
            FailureSource::File { events, .. } => {
                let unit = events.first().map(|event| event.unit);
                (Source::Recorded(events.clone(), 0), unit)
            }
        };
        let restart = self.restart;
        let spares = match (restart, unit) {
            (Restart::Spare, Some(unit)) => Some(Spares::new(units(unit)?)),
            _ => None,
        };
        let mut timeline = Timeline {
            restart,
            checkpoint: self.checkpoint,
            machine: self.machine,
            source,
            spares,
            next: None,
        };
        timeline.next = timeline.draw();
        Ok(timeline)
    }
}

impl Timeline {
    /// Nothing fails.
    pub(crate) fn empty(machine: Grid, checkpoint: Option<Checkpoint>) -> Self {
        Timeline {
            restart: Restart::default(),
            checkpoint,
            machine,
            source: Source::Recorded(Arc::default(), 0),
            spares: None,
            next: None,
        }
    }

    /// The blocks of spares, which are given to no job.
    pub(crate) fn kept(&self) -> Vec<Block> {
        self.spares.as_ref().map_or(Vec::new(), Spares::kept)
    }

    pub(crate) const fn has_spares(&self) -> bool {
        self.spares.is_some()
    }

    pub(crate) fn next_at(&self) -> Option<Ticks> {
        self.next.as_ref().map(|event| event.at)
    }

    pub(crate) fn take(&mut self) -> Option<Event> {
        let event = self.next.take()?;
        self.next = self.draw();
        let effect = match &mut self.spares {
            None if event.fails => Effect::Down(event.block),
            None => Effect::Up(event.block),
            Some(spares) if event.fails => spares.fail(event.number),
            Some(spares) => spares.repair(event.number),
        };
        let area = i64::from(self.machine.area(event.block));
        Some(Event {
            at: event.at,
            failed: if event.fails { area } else { -area },
            effect,
        })
    }

    fn draw(&mut self) -> Option<Recorded> {
        match &mut self.source {
            Source::Recorded(events, place) => {
                let event = events.get(*place).copied();
                *place += 1;
                event
            }
            Source::Random(random, unit, units) => {
                let (at, number, fails) = random.next()?;
                Some(Recorded {
                    at,
                    unit: *unit,
                    number,
                    block: units.block(number),
                    fails,
                })
            }
        }
    }
}
