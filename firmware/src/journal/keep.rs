//! The journal as what a server keeps: the form of its records and checkpoints, and how a state is restored from them.
//!
//! A record is a [`Record`] in postcard. A chunk of a checkpoint is a byte and what follows: [`CONTROLLER`] and a part of the controller's
//! state, or [`SESSION`] and one of the sessions in postcard.

use embedded_storage::nor_flash::NorFlash;
use meshalloc::Controller;
use meshalloc::Interrupts;

use super::{Journal, JournalError, PAYLOAD_MAX, Recovered, Replayed};
use crate::keeping::{Keep, Meantime, NO_SESSION, NotKept, Record};
use crate::protocol::{Origin, Outcome};
use crate::sessions::{Remembered, Sessions};

/// The first byte of a chunk with a part of the controller's state.
const CONTROLLER: u8 = 0;
/// The first byte of a chunk with a session.
const SESSION: u8 = 1;

/// About so many instructions it takes to make a chunk and to write it.
const CHUNK_INSTRUCTIONS: u32 = 60_000;

impl<F: NorFlash, const REGIONS: usize> Keep for Journal<F, REGIONS> {
    fn append(&mut self, record: &Record) -> Result<(), NotKept> {
        let mut room = [0; PAYLOAD_MAX];
        let bytes = postcard::to_slice(record, &mut room).map_err(|_| NotKept)?;
        Journal::append(self, bytes).map_err(|_| NotKept)
    }

    fn is_due(&self) -> bool {
        self.is_due_for_checkpoint()
    }

    fn checkpoint(
        &mut self,
        controller: &Controller<'_>,
        meantime: &mut dyn Meantime,
    ) -> Result<(), NotKept> {
        self.begin_checkpoint().map_err(|_| NotKept)?;
        let written = self.write_state(controller, meantime);
        if written.is_err() {
            self.abandon_checkpoint();
        }
        written
    }
}

impl<F: NorFlash, const REGIONS: usize> Journal<F, REGIONS> {
    fn write_state(
        &mut self,
        controller: &Controller<'_>,
        meantime: &mut dyn Meantime,
    ) -> Result<(), NotKept> {
        let mut room = [0; PAYLOAD_MAX];
        controller
            .save(&mut |part| {
                let (kind, rest) = room.split_first_mut().ok_or(NotKept)?;
                *kind = CONTROLLER;
                rest.get_mut(..part.len())
                    .ok_or(NotKept)?
                    .copy_from_slice(part);
                let chunk = room.get(..=part.len()).ok_or(NotKept)?;
                meantime.worked(CHUNK_INSTRUCTIONS);
                self.chunk(chunk).map_err(|_| NotKept)
            })
            .map_err(|_| NotKept)?;
        // Last, with what has been served in pauses.
        for client in meantime.sessions().open_ones() {
            let (kind, rest) = room.split_first_mut().ok_or(NotKept)?;
            *kind = SESSION;
            let len = postcard::to_slice(client, rest).map_err(|_| NotKept)?.len();
            let chunk = room.get(..=len).ok_or(NotKept)?;
            self.chunk(chunk).map_err(|_| NotKept)?;
        }
        self.commit_checkpoint().map_err(|_| NotKept)
    }

    /// Brings controller and sessions into the state that the journal has, and says where it comes from. If the journal cannot be read
    /// they are empty.
    pub(crate) fn restore(
        &mut self,
        recovered: Recovered,
        controller: &mut Controller<'_>,
        sessions: &mut Sessions,
    ) -> Origin {
        let whole = match recovered {
            Recovered::Empty => return Origin::New,
            Recovered::Whole { .. } => true,
            Recovered::Damaged(_) => false,
        };
        let restored = self.replay_into(controller, sessions).is_ok();
        if !restored {
            *sessions = Sessions::new();
            controller.reset(0);
        }
        let at = controller.clock();
        match whole && restored {
            true => Origin::Restored { at },
            false => Origin::Damaged { at },
        }
    }

    fn replay_into(
        &mut self,
        controller: &mut Controller<'_>,
        sessions: &mut Sessions,
    ) -> Result<(), NotKept> {
        let mut replay = self.replay();
        let mut restoring = controller.restore();
        let mut record = loop {
            match replay.next().map_err(unreadable)? {
                Some(Replayed::Chunk([CONTROLLER, part @ ..])) => {
                    restoring.part(part).map_err(|_| NotKept)?;
                }
                Some(Replayed::Chunk([SESSION, client @ ..])) => {
                    sessions.restore(postcard::from_bytes(client).map_err(|_| NotKept)?);
                }
                Some(Replayed::Chunk(_)) => return Err(NotKept),
                Some(Replayed::Record(record)) => break read(record)?,
                None => return restoring.finish().map_err(|_| NotKept),
            }
        };
        restoring.finish().map_err(|_| NotKept)?;
        loop {
            repeat(&record, controller, sessions);
            record = match replay.next().map_err(unreadable)? {
                Some(Replayed::Record(record)) => read(record)?,
                Some(Replayed::Chunk(_)) => return Err(NotKept),
                None => return Ok(()),
            };
        }
    }
}

fn unreadable<E>(_: JournalError<E>) -> NotKept {
    NotKept
}

fn read(record: &[u8]) -> Result<Record, NotKept> {
    postcard::from_bytes(record).map_err(|_| NotKept)
}

/// Carries a command out once more, and all the scheduling that follows from it: the next one came after that.
fn repeat(record: &Record, controller: &mut Controller<'_>, sessions: &mut Sessions) {
    let Record {
        client,
        session,
        seq,
        at,
        command,
    } = *record;
    let mut reply = controller.begin(&command, at, Interrupts::never());
    controller.advance(&mut |_| (), Interrupts::never());
    controller.renew(&mut reply);
    let remembered = Remembered {
        outcome: Outcome::of(&reply),
        as_of: controller.events(),
    };
    if session != NO_SESSION {
        let place = sessions.recall(client, session);
        sessions.remember(place, seq, remembered);
    }
    while controller.advance(&mut |_| (), Interrupts::never()) {}
}
