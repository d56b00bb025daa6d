//! A server that keeps a journal: [`Durable`], the form of its records and checkpoints, and how a
//! state is restored from them.
//!
//! A record is a [`Record`] in postcard. A chunk of a checkpoint is a byte and a content: 0 and a
//! part of the controller's state, or, in postcard, 1 and a session, or 2 and `Serving`.
//!
//! # The state always has room in a checkpoint
//!
//! Otherwise, once the room for records is used up, even the release that makes the state smaller
//! could not be recorded. So a change is refused if the state to which it may lead could take more
//! than three quarters of a region. The count includes everything that jobs may hold when they are
//! granted, and times as long as they become in years (`Commit::adds`,
//! [`Controller::growth_by_time`]). The room left for growth is counted with each checkpoint, and
//! again when little is left. A checkpoint may take seven eighths: sessions, ends of leases, and
//! the requests that strategies remember become longer, too, by some hundred bytes.
//!
//! # Records lead to the same state
//!
//! A journal may be read by another image, with room for more jobs or with other strategies. A
//! recorded change was accepted, and is accepted again wherever there is room for the state; if a
//! recorded change is refused, this image cannot read the journal. Only strategies that look at the
//! latest requests have records of submissions that were refused, perhaps for lack of room in the
//! table of jobs. So their submissions are carried out again only where the table has the same
//! room.

use embedded_storage::nor_flash::NorFlash;
use meshalloc::{Change, Controller, Error, Outcome, Pauses, Strategy as _, Ticks};
use serde::{Deserialize, Serialize};

use super::{Keep, Meantime, NO_SESSION, NoRecord, NotKept, Record};
use crate::journal::{Journal, JournalError, Loss, PAYLOAD_MAX, Recovered, Replayed};
use crate::protocol::Origin;
use crate::sessions::Sessions;

/// The first byte of a chunk with a part of the controller's state.
const CONTROLLER: u8 = 0;
/// The first byte of a chunk with a session.
const SESSION: u8 = 1;
/// The first byte of the last chunk.
const SERVER: u8 = 2;

/// The last chunk of a checkpoint.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Serving {
    /// The jobs that the table had room for when the records behind the checkpoint were carried
    /// out.
    jobs: u32,
    notice: Option<Notice>,
}

/// A fact about the earlier journal that only the boot that wrote a checkpoint has seen. Each later
/// boot reports it, too, until a session that got the report has changed something, which its
/// record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Notice {
    /// The journal was empty, or was not read: [`Origin::New`].
    New,
    /// [`Origin::Damaged`].
    Damaged,
}

impl Notice {
    /// The notice after this record.
    const fn after(notice: Option<Notice>, record: &Record) -> Option<Notice> {
        if record.session == NO_SESSION {
            notice
        } else {
            None
        }
    }
}

/// The kind of records since the room of the state was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Since {
    Nothing,
    /// Renewals of leases, which are frequent and take no more room than was counted.
    Renewals,
    /// Anything else.
    Changes,
    /// Other changes, and a change waits until the room is counted again.
    Asked,
}

/// A journal, and by how much the state that is kept in it may still grow.
#[derive(Clone, Debug)]
pub struct Durable<F, const REGIONS: usize> {
    journal: Journal<F, REGIONS>,
    /// The bytes of entries left for growth: those counted last, without those claimed since.
    left: usize,
    since: Since,
    /// The milliseconds that a restore takes for attempts.
    work: Ticks,
    /// The notice that the greetings of the next boot report, too.
    notice: Option<Notice>,
}

/// The fewest bytes of a part of a state that is not the last: it may be a quarter shorter than the
/// longest.
const PART_MIN: usize = meshalloc::PART_MAX / 4 * 3;

/// When the attempts since a checkpoint have taken this many milliseconds, another is due: a
/// restore repeats them, and answers no frame meanwhile.
const WORK_MAX: Ticks = 30_000;

impl<F: NorFlash, const REGIONS: usize> Durable<F, REGIONS> {
    /// The most bytes of entries for `bytes` of a state: for each part the byte of its kind and
    /// what an entry adds, counted in eighths of a part.
    const fn entry_bytes(bytes: usize) -> usize {
        let more = 1 + Journal::<F, REGIONS>::OVERHEAD_MAX;
        let eighths = (8 * more).div_ceil(PART_MIN);
        bytes + bytes / 8 * eighths + if bytes > 0 { more } else { 0 }
    }
}

impl<F: NorFlash, const REGIONS: usize> Keep for Durable<F, REGIONS> {
    const KEEPS: bool = true;

    fn append(&mut self, record: &Record, adds: usize) -> Result<(), NoRecord> {
        let adds = Self::entry_bytes(adds);
        if adds > self.left {
            if self.since < Since::Changes {
                return Err(NoRecord::Full);
            }
            self.since = Since::Asked;
            return Err(NoRecord::Uncounted);
        }
        let mut room = [0; PAYLOAD_MAX];
        let bytes = postcard::to_slice(record, &mut room).map_err(|_| NoRecord::Failed)?;
        self.since = self.since.max(match record.change {
            Change::Lease { ticks: Some(_), .. } if adds == 0 => Since::Renewals,
            _ => Since::Changes,
        });
        self.journal.append(bytes).map_err(|_| NoRecord::Failed)?;
        self.left -= adds;
        self.notice = Notice::after(self.notice, record);
        Ok(())
    }

    fn worked(&mut self, ms: Ticks) {
        self.work = self.work.saturating_add(ms);
    }

    fn is_due(&self) -> bool {
        let is_little_left = self.left < self.journal.checkpoint_room() / 16;
        match self.since {
            Since::Nothing => false,
            Since::Asked => true,
            Since::Changes if is_little_left => true,
            Since::Renewals | Since::Changes => self.is_due_to_be_written(),
        }
    }

    fn checkpoint<const CLIENTS: usize>(
        &mut self,
        controller: &Controller<'_>,
        reset: Option<Ticks>,
        meantime: &mut dyn Meantime<CLIENTS>,
    ) -> Result<(), NotKept> {
        let is_due = reset.is_some() || self.is_due_to_be_written();
        match self.since {
            _ if reset.is_some() => {}
            Since::Nothing => return Ok(()),
            Since::Renewals if !is_due => return Ok(()),
            Since::Renewals | Since::Changes | Since::Asked => {}
        }
        let mut bytes = 0;
        let notice = self.notice;
        for_each_chunk(controller, reset, notice, meantime, &mut |chunk| {
            bytes += Journal::<F, REGIONS>::chunk_bytes(chunk.len());
            Ok(())
        })?;
        let room = self.journal.checkpoint_room();
        let in_years = bytes + Self::entry_bytes(controller.growth_by_time());
        let left = (room - room / 7).saturating_sub(in_years);
        // The state after a reset is not the present one before its checkpoint is whole.
        if reset.is_none() {
            self.left = left;
        }
        // A checkpoint without room must not erase a sector.
        if bytes > room {
            return Err(NotKept);
        }
        if !is_due {
            self.since = Since::Nothing;
            return Ok(());
        }
        self.journal.begin_checkpoint().map_err(|_| NotKept)?;
        let written = for_each_chunk(controller, reset, notice, meantime, &mut |chunk| {
            self.journal.chunk(chunk).map_err(|_| NotKept)
        });
        let committed = written.and_then(|()| {
            let committed = self.journal.commit_checkpoint();
            committed.map_err(|_| NotKept)
        });
        match committed {
            Ok(()) => {
                (self.left, self.work) = (left, 0);
                self.since = match self.journal.room() {
                    // The region before this one could not be closed, so another checkpoint is due.
                    0 => Since::Asked,
                    _ => Since::Nothing,
                };
            }
            Err(_) => self.journal.abandon_checkpoint(),
        }
        committed
    }
}

/// Hands over the chunks of a checkpoint.
fn for_each_chunk<const CLIENTS: usize>(
    controller: &Controller<'_>,
    reset: Option<Ticks>,
    notice: Option<Notice>,
    meantime: &mut dyn Meantime<CLIENTS>,
    visit: &mut dyn FnMut(&[u8]) -> Result<(), NotKept>,
) -> Result<(), NotKept> {
    let mut room = [0; PAYLOAD_MAX];
    controller
        .save_after(reset, &mut |part| {
            let (kind, rest) = room.split_first_mut().ok_or(NotKept)?;
            *kind = CONTROLLER;
            rest.get_mut(..part.len())
                .ok_or(NotKept)?
                .copy_from_slice(part);
            let chunk = room.get(..=part.len()).ok_or(NotKept)?;
            meantime.pause();
            visit(chunk)
        })
        .map_err(|_| NotKept)?;
    // The sessions come last, since frames that were served in pauses may have changed them.
    let sessions = meantime.sessions();
    for client in sessions.open_ones() {
        visit(postcard::to_slice(&(SESSION, client), &mut room).map_err(|_| NotKept)?)?;
    }
    let serving = Serving {
        jobs: controller.jobs().capacity(),
        notice,
    };
    visit(postcard::to_slice(&(SERVER, serving), &mut room).map_err(|_| NotKept)?)
}

impl<F: NorFlash, const REGIONS: usize> Durable<F, REGIONS> {
    /// A journal that has not been read yet.
    pub(crate) const fn new(journal: Journal<F, REGIONS>) -> Self {
        Durable {
            journal,
            left: 0,
            since: Since::Changes,
            work: 0,
            notice: None,
        }
    }

    /// Leaves the state of the journal as it is, unread.
    pub(crate) const fn leave_unread(&mut self) {
        self.journal.require_checkpoint();
        // If a checkpoint of another state is written, the unread state is discarded.
        self.notice = Some(Notice::New);
    }

    /// Whether the records take much room, or much time to be carried out again.
    fn is_due_to_be_written(&self) -> bool {
        self.journal.is_due_for_checkpoint() || self.work >= WORK_MAX
    }

    pub(crate) const fn journal(&mut self) -> &mut Journal<F, REGIONS> {
        &mut self.journal
    }

    pub(crate) fn into_journal(self) -> Journal<F, REGIONS> {
        self.journal
    }

    /// Brings controller and sessions into the state of the journal, and returns the origin of the
    /// state for greetings. If the journal cannot be read, controller and sessions are empty, and
    /// the journal stays as it is until the next checkpoint.
    pub(crate) fn restore<const CLIENTS: usize>(
        &mut self,
        recovered: Recovered,
        controller: &mut Controller<'_>,
        sessions: &mut Sessions<CLIENTS>,
        pauses: &Pauses<'_>,
    ) -> Origin {
        match recovered {
            Recovered::Empty => {
                self.notice = Some(Notice::New);
                return Origin::New;
            }
            Recovered::Damaged(Loss::Everything) => {
                self.notice = Some(Notice::Damaged);
                return Origin::Damaged { at: 0 };
            }
            Recovered::Whole { .. } | Recovered::Damaged(Loss::Records | Loss::Checkpoint) => {}
        }
        if self.replay_into(controller, sessions, pauses).is_err() {
            *sessions = Sessions::new();
            let _ = controller.begin(&Change::Reset, 0, None, None);
            self.leave_unread();
            return Origin::Unread;
        }
        if let Recovered::Damaged(_) = recovered {
            self.notice = Some(Notice::Damaged);
        }
        let at = controller.clock();
        match self.notice {
            Some(Notice::New) => Origin::New,
            Some(Notice::Damaged) => Origin::Damaged { at },
            None => Origin::Restored { at },
        }
    }

    fn replay_into<const CLIENTS: usize>(
        &mut self,
        controller: &mut Controller<'_>,
        sessions: &mut Sessions<CLIENTS>,
        pauses: &Pauses<'_>,
    ) -> Result<(), NotKept> {
        let mut replay = self.journal.replay();
        let mut jobs = 0;
        let mut restoring = controller.restore();
        let mut next = loop {
            match replay.next().map_err(unreadable)? {
                Some(Replayed::Chunk([CONTROLLER, part @ ..])) => {
                    restoring.part(part).map_err(|_| NotKept)?;
                }
                Some(Replayed::Chunk([SESSION, client @ ..])) => {
                    sessions.restore(postcard::from_bytes(client).map_err(|_| NotKept)?);
                }
                Some(Replayed::Chunk([SERVER, serving @ ..])) => {
                    let serving: Serving = postcard::from_bytes(serving).map_err(|_| NotKept)?;
                    (jobs, self.notice) = (serving.jobs, serving.notice);
                }
                Some(Replayed::Chunk(_)) => return Err(NotKept),
                Some(Replayed::Record(record)) => break Some(read(record)?),
                None => break None,
            }
        };
        restoring.finish().map_err(|_| NotKept)?;
        let is_same_room = jobs == controller.jobs().capacity();
        while let Some(record) = next {
            let may_be_refused = controller.strategy().facts().looks_ahead
                && matches!(record.change, Change::Submit { .. });
            self.notice = Notice::after(self.notice, &record);
            let outcome = repeat(&record, controller, sessions, pauses);
            let is_as_it_was = if may_be_refused {
                is_same_room
            } else {
                outcome.is_ok()
            };
            if !is_as_it_was {
                return Err(NotKept);
            }
            pauses.poll(|| controller.view());
            next = match replay.next().map_err(unreadable)? {
                Some(Replayed::Record(record)) => Some(read(record)?),
                Some(Replayed::Chunk(_)) => return Err(NotKept),
                None => None,
            };
        }
        Ok(())
    }
}

fn unreadable<E>(_: JournalError<E>) -> NotKept {
    NotKept
}

fn read(record: &[u8]) -> Result<Record, NotKept> {
    postcard::from_bytes(record).map_err(|_| NotKept)
}

/// Carries a recorded change out again, with all attempts that follow from it. Returns its outcome.
fn repeat<const CLIENTS: usize>(
    record: &Record,
    controller: &mut Controller<'_>,
    sessions: &mut Sessions<CLIENTS>,
    pauses: &Pauses<'_>,
) -> Result<Outcome, Error> {
    let Record {
        client,
        session,
        seq,
        at,
        change,
    } = *record;
    let outcome = controller.begin(&change, at, Some(pauses), None);
    if session != NO_SESSION {
        let place = sessions.recall(client, session);
        sessions.remember(place, seq, Some(outcome));
    }
    while controller.advance(Some(pauses)) {}
    outcome
}

#[cfg(all(test, feature = "memory-flash"))]
mod tests {
    use meshalloc::{Configuration, JobId, Mesh, SchedulerKind, Storage, StrategyKind};

    use super::*;
    use crate::journal::memory::MemoryFlash;

    #[test]
    fn a_checkpoint_is_due_when_a_restore_would_take_long() {
        let mut storage = Storage::<8, 4>::new();
        let configuration = Configuration {
            machine: Mesh::new(8, 8).unwrap().grid(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let controller = Controller::new(storage.memory(), configuration).unwrap();
        let flash = MemoryFlash::<4096, 4>::new(2);
        let (journal, _) = Journal::<_, 2>::open(flash).unwrap();
        let mut durable = Durable::new(journal);
        let mut sessions = <Sessions>::new();
        for _ in 0..3 {
            assert_eq!(durable.checkpoint(&controller, None, &mut sessions), Ok(()));
            durable.worked(WORK_MAX - 1);
            assert!(!durable.is_due(), "nothing was recorded");
            let record = Record {
                client: 0,
                session: NO_SESSION,
                seq: 0,
                at: 0,
                change: Change::Release { job: JobId(1) },
            };
            assert_eq!(durable.append(&record, 0), Ok(()));
            // This counts the room, and writes nothing.
            assert_eq!(durable.checkpoint(&controller, None, &mut sessions), Ok(()));
            assert_eq!(durable.append(&record, 0), Ok(()));
            assert!(!durable.is_due());
            durable.worked(1);
            assert!(durable.is_due());
        }
    }
}
