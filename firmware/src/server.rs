//! The controller's half of the protocol: [`Server`].
//!
//! Bytes go in, bytes come out; the clock and the line are the caller's. Whatever arrives, the server
//! does not panic and does not lose a later frame: what is not understood is counted, and answered
//! where a sequence number could be read. One frame is answered by one frame.
//!
//! # Bounded work
//!
//! A command is answered after one attempt to place a job at most. What is left of the scheduling pass is done by
//! [`Server::work`], a job each time, between frames; whoever is granted processors by that is told as an event.
//!
//! An attempt that takes long pauses ([`Pauses`](meshalloc::Pauses)), and frames that come meanwhile are served ([`Port`]): greetings, queries and events as ever; a command
//! that changes something is told that the server is busy. The command whose attempt it is is answered after a slice, or before a frame that comes
//! sooner: that its job waits, or, if that is not what it can come to, that it is under way. A checkpoint pauses likewise, and while one is due the server is busy.
//!
//! # Once, and not twice
//!
//! See [`sessions`](crate::sessions).

use embedded_io::{ErrorType, Write};
#[cfg(feature = "durable")]
use embedded_storage::nor_flash::NorFlash;
use meshalloc::{Command, Controller, Error, JobId, Refusal, Reply, Ticks, View};

use crate::frame::{Decoder, Header, ServerFrameBuffer};
#[cfg(feature = "durable")]
use crate::journal::{Journal, Loss, Recovered};
#[cfg(feature = "durable")]
use crate::keeping::durable::Durable;
use crate::keeping::{Forgetful, Keep, NO_SESSION, NotKept, Record, Room, When};
use crate::protocol::{LineCounters, Origin, Outcome, ProtocolError};
#[cfg(feature = "rates")]
use crate::rate::Rate;
use crate::sessions::{Remembered, Sessions};

mod front;
#[cfg(feature = "leases")]
mod leases;
use front::{Asked, Change, Front, Meanwhile, Saving, increment};

/// The controller behind a line.
///
/// ```
/// use meshalloc::{Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind};
/// use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
/// use meshalloc_firmware::{ClientMessage, Server};
///
/// let mut storage: Storage<8, 16> = Storage::new();
/// let configuration = Configuration {
///     machine: Mesh::new(8, 8).unwrap().grid(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let controller = Controller::new(storage.memory(), configuration).unwrap();
/// let mut server = Server::new(controller, 1);
///
/// let mut buffer = ClientFrameBuffer::new();
/// let hello = buffer.encode(Header::new(7, 0), &ClientMessage::Hello).unwrap();
/// let mut answer = [0; 512];
/// let mut line = &mut answer[..];
/// server.receive(hello, 0, &mut line).unwrap();
/// assert!(line.len() < 512, "the greeting was written");
/// ```
#[derive(Debug)]
pub struct Server<'m, K = Forgetful> {
    controller: Controller<'m>,
    keep: K,
    clock: Clock,
    /// Whether the last checkpoint has failed, or would be of a state in place of one that could not be read; it is not tried before the next
    /// command.
    has_no_checkpoint: bool,
    /// Whether the end of a lease could not be written down; it is not tried before something else was.
    has_no_lease_end: bool,
    /// After about so many instructions of an attempt its command is answered; the line is looked at several times as often.
    slice: u32,
    front: Front,
    /// The overruns that the rate has taken for bytes.
    #[cfg(feature = "rates")]
    overruns_heard: u32,
}

/// The one clock of a server, by which everything happens and leases begin and end.
///
/// It goes with the server's own. While a session has a virtual clock it stands still between the
/// commands of that session, at first at the time of the latest command; it goes on from there when
/// the session gives it back or is no more.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// It showed `at` when the server's own showed `since`.
    Goes { at: Ticks, since: Ticks },
    /// It shows the latest time of a command.
    IsVirtual,
}

impl Clock {
    /// As it is when the server starts, whose own shows 0 then.
    const fn from(at: Ticks) -> Self {
        Clock::Goes { at, since: 0 }
    }
}

/// After about so many instructions a command is answered whose attempt takes longer: some 20 ms at 16 MHz.
const SLICE_INSTRUCTIONS: u32 = 200_000;

/// A line in both directions, for a server that looks at it in pauses, too.
pub trait Port: Write {
    /// The next byte, if one has come.
    fn next(&mut self) -> Option<u8>;
}

/// Bytes that have come, and a line for the replies.
#[derive(Debug)]
pub struct Received<'a, W> {
    /// What has not been taken yet.
    pub bytes: &'a [u8],
    /// The line.
    pub line: &'a mut W,
}

impl<W: Write> Port for Received<'_, W> {
    fn next(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }
}

impl<W: Write> ErrorType for Received<'_, W> {
    type Error = W::Error;
}

impl<W: Write> Write for Received<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, W::Error> {
        self.line.write(bytes)
    }

    fn flush(&mut self) -> Result<(), W::Error> {
        self.line.flush()
    }
}

impl<'m> Server<'m> {
    /// The controller behind a line on which no frame has come yet; it keeps nothing over a reset. `boot` tells this life of the server from any other that a
    /// client may remember: it must be another number after every reset.
    pub const fn new(controller: Controller<'m>, boot: u64) -> Self {
        Server::with(
            controller,
            boot,
            Forgetful,
            Sessions::new(),
            Origin::Forgetful,
        )
    }
}

#[cfg(feature = "durable")]
impl<'m, F: NorFlash, const REGIONS: usize> Server<'m, Durable<F, REGIONS>> {
    /// The controller behind a line on which no frame has come yet, in the state that the journal has ([`Server::restore`]). See
    /// [`Server::new`] for `boot`.
    pub fn restored(
        controller: Controller<'m>,
        boot: u64,
        journal: Journal<F, REGIONS>,
        recovered: Recovered,
        pauses: &meshalloc::Pauses<'_>,
    ) -> Self {
        let mut server = Server::unrestored(controller, boot, journal);
        server.restore(recovered, pauses);
        server
    }

    /// A server that has not read its journal yet: [`Server::restore`] or [`Server::leave_unread`] comes before the first byte. Where the stack is short the server is in its
    /// place when it restores, and not on the way to it.
    pub const fn unrestored(
        controller: Controller<'m>,
        boot: u64,
        journal: Journal<F, REGIONS>,
    ) -> Self {
        let keep = Durable::new(journal);
        Server::with(controller, boot, keep, Sessions::new(), Origin::New)
    }

    /// Brings the server into the state that the journal has; if there is none in it, the controller, which has no job, stays as it is. A journal of which this image can make
    /// nothing stays as it is until a reset ([`Origin::Unread`]).
    ///
    /// Commands that were carried out since the last checkpoint are carried out again, which may take as long as it did then; `pauses` is told of the progress.
    pub fn restore(&mut self, recovered: Recovered, pauses: &meshalloc::Pauses<'_>) {
        let sessions = &mut self.front.sessions;
        self.front.origin = self
            .keep
            .restore(recovered, &mut self.controller, sessions, pauses);
        self.clock = Clock::from(self.controller.clock());
        // Nothing is erased before a command needs it.
        self.has_no_checkpoint = self.front.origin == Origin::Unread
            || recovered == Recovered::Damaged(Loss::Everything);
        if !self.has_no_checkpoint {
            let _ = self.checkpoint();
        }
    }

    /// What is in the journal is not read: reading it has brought the program down, say. It stays
    /// as it is until a reset ([`Origin::Unread`]).
    pub const fn leave_unread(&mut self) {
        self.keep.leave_unread();
        self.front.origin = Origin::Unread;
        self.has_no_checkpoint = true;
    }

    /// The journal.
    pub const fn journal(&mut self) -> &mut Journal<F, REGIONS> {
        self.keep.journal()
    }

    /// Gives the journal back.
    pub fn into_journal(self) -> Journal<F, REGIONS> {
        self.keep.into_journal()
    }
}

impl<'m, K> Server<'m, K> {
    const fn with(
        controller: Controller<'m>,
        boot: u64,
        keep: K,
        sessions: Sessions,
        origin: Origin,
    ) -> Self {
        Server {
            controller,
            keep,
            clock: Clock::from(0),
            has_no_checkpoint: false,
            has_no_lease_end: false,
            slice: SLICE_INSTRUCTIONS,
            front: Front {
                decoder: Decoder::new(),
                buffer: ServerFrameBuffer::new(),
                counters: LineCounters::NONE,
                sessions,
                boot,
                origin,
                #[cfg(feature = "rates")]
                rate: Rate::new(),
                now: 0,
            },
            #[cfg(feature = "rates")]
            overruns_heard: 0,
        }
    }

    /// The same, but the command of an attempt that takes longer than about so many instructions is answered then, and the line is looked at several times as
    /// often.
    #[must_use]
    pub fn pausing_after(mut self, instructions: u32) -> Self {
        self.slice = instructions;
        self
    }

    /// The rate that the line is to be set to now, if it is another; to be called whenever the server has nothing to do, and at least every few
    /// milliseconds. `has_left` is whether the line has sent all replies.
    #[cfg(feature = "rates")]
    pub fn next_rate(&mut self, now: Ticks, has_left: impl FnOnce() -> bool) -> Option<u32> {
        let Front { counters, rate, .. } = &mut self.front;
        if counters.overruns != self.overruns_heard {
            self.overruns_heard = counters.overruns;
            rate.hear();
        }
        rate.next(now, has_left)
    }

    /// The controller.
    pub const fn controller(&self) -> &Controller<'m> {
        &self.controller
    }

    /// What was seen on the line so far.
    pub const fn counters(&self) -> &LineCounters {
        &self.front.counters
    }

    /// The transport lost bytes this many times.
    pub const fn overrun(&mut self, times: u32) {
        self.front.counters.overruns = self.front.counters.overruns.saturating_add(times);
    }

    /// Where the state has come from when the server started.
    pub const fn origin(&self) -> Origin {
        self.front.origin
    }
}

impl<K: Keep> Server<'_, K> {
    /// Whether commands have left something to be done between frames.
    pub fn has_work(&self) -> bool {
        self.controller.is_scheduling() || self.is_lease_due() || self.is_checkpoint_due()
    }

    /// Goes on with what commands and time have left to be done: tries one job, ends a lease, or writes a checkpoint. Returns whether there is more to do. In pauses it serves the
    /// port.
    ///
    /// # Errors
    ///
    /// The first error in writing; to the client it is as if replies had been lost.
    pub fn work<P: Port>(&mut self, port: &mut P) -> Result<bool, P::Error> {
        let mut result = Ok(());
        if self.controller.is_scheduling() {
            let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
            meanwhile.during(|pauses| self.controller.advance(&mut |_| (), Some(pauses)));
            self.keep.worked(meanwhile.spent);
            result = meanwhile.result;
        } else if self.is_lease_due() {
            result = self.end_lease(port);
        } else if self.is_checkpoint_due() {
            result = self.checkpoint_between(port);
        }
        result.map(|()| self.has_work())
    }

    /// Whether there may be a lease to end. If not there is none.
    #[cfg(not(feature = "leases"))]
    const fn may_lease_have_ended(&self) -> bool {
        false
    }

    #[cfg(not(feature = "leases"))]
    const fn end_lease<P: Port>(&mut self, _: &mut P) -> Result<(), P::Error> {
        Ok(())
    }

    /// The time.
    fn time(&self) -> Ticks {
        match self.clock {
            Clock::Goes { at, since } => at.saturating_add(self.front.now.saturating_sub(since)),
            Clock::IsVirtual => self.controller.clock(),
        }
    }

    /// The clock goes on from where a virtual one stood whose session is no more.
    fn keep_time(&mut self) {
        let is_virtual = self.front.sessions.virtual_clock != NO_SESSION;
        self.clock = match (self.clock, is_virtual) {
            (_, true) => Clock::IsVirtual,
            (Clock::IsVirtual, false) => Clock::Goes {
                at: self.controller.clock(),
                since: self.front.now,
            },
            (goes, false) => goes,
        };
    }

    /// Whether there is a lease to end, as far as is known.
    fn is_lease_due(&self) -> bool {
        !self.has_no_lease_end && self.may_lease_have_ended()
    }

    /// Whether a checkpoint is to be written between frames.
    fn is_checkpoint_due(&self) -> bool {
        !self.has_no_checkpoint && self.keep.is_due()
    }

    /// Writes the checkpoint that is due. In pauses it serves the port.
    fn checkpoint_between<P: Port>(&mut self, port: &mut P) -> Result<(), P::Error> {
        let view = view(&self.controller, true);
        let mut saving = Saving {
            meanwhile: Meanwhile::new(&mut self.front, port, self.slice, None),
            view: &view,
        };
        let kept = self.keep.checkpoint(&self.controller, &mut saving);
        self.has_no_checkpoint = kept.is_err();
        saving.meanwhile.result
    }

    /// Writes a checkpoint in one go.
    fn checkpoint(&mut self) -> Result<(), NotKept> {
        let kept = self
            .keep
            .checkpoint(&self.controller, &mut self.front.sessions);
        self.has_no_checkpoint = kept.is_err();
        kept
    }

    /// Makes sure that there is room for a record and for the growth of the state, which it
    /// returns.
    fn make_room(&mut self, record: &Record) -> Result<usize, NotKept> {
        let room = self.keep.claim(&self.controller, record);
        room.or_else(|NotKept| {
            self.checkpoint()?;
            self.keep.claim(&self.controller, record)
        })
    }

    /// Writes a command down before it is carried out.
    ///
    /// Whatever has used up the room, a reset makes some: it is carried out, and then what it has led to is written down.
    fn keep(&mut self, record: &Record) -> Result<(), NotKept> {
        let room = self.make_room(record);
        let kept = room.and_then(|room| {
            self.keep.append(record, room).or_else(|NotKept| {
                self.checkpoint()?;
                self.keep.append(record, room)
            })
        });
        let kept = kept.or_else(|NotKept| match record.command {
            Command::Reset => {
                self.controller.begin(&Command::Reset, record.at, None);
                self.checkpoint()
            }
            _ => Err(NotKept),
        });
        if kept.is_ok() {
            (self.has_no_checkpoint, self.has_no_lease_end) = (false, false);
            if self.front.origin == Origin::Unread {
                // The reset has discarded the state that was not read.
                self.front.origin = Origin::New;
            }
        }
        kept
    }

    /// The time of a command in a record. A command that was not written down may have advanced the
    /// clock beyond the time that this one names.
    fn time_in_record(&self, command: &Command, at: Ticks) -> Ticks {
        match command {
            Command::Configure(_) | Command::Reset => at,
            _ => at.max(self.controller.clock()),
        }
    }

    /// Takes bytes from the line, any number at a time, and writes the replies to the frames that they
    /// complete. `now` is the server's clock, for commands that bring no time of their own.
    ///
    /// # Errors
    ///
    /// The first error in writing. All bytes were taken and the commands in them carried out; to the
    /// client it is as if replies had been lost, which are counted.
    pub fn receive<W: Write>(
        &mut self,
        bytes: &[u8],
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let mut port = Received { bytes, line };
        let mut result = Ok(());
        while let Some(received) = self.receive_from(now, &mut port).transpose() {
            result = result.and(received);
        }
        result
    }

    /// Takes the next byte from a port, if there is one, and writes the reply to the frame that it completes. If that takes
    /// long, further frames are served in pauses. Returns whether there was one. `now` is the server's clock.
    ///
    /// # Errors
    ///
    /// As those of [`Server::receive`].
    pub fn receive_from<P: Port>(
        &mut self,
        now: Ticks,
        port: &mut P,
    ) -> Result<Option<()>, P::Error> {
        self.front.now = now;
        self.keep_time();
        let Some(byte) = port.next() else {
            return Ok(None);
        };
        let Some(incoming) = self.front.push(byte) else {
            return Ok(Some(()));
        };
        let message = self.front.message();
        let view = view(&self.controller, self.has_work());
        let served = self.front.serve(incoming, &message, &view, port);
        if let Ok(Some(change)) = &served {
            self.change(change, port)?;
        }
        served.map(|_| Some(()))
    }

    /// Gives the session a virtual clock, or the server its own.
    #[inline(never)]
    fn set_clock<P: Port>(
        &mut self,
        change: &Change<'_>,
        is_virtual: bool,
        port: &mut P,
    ) -> Result<(), P::Error> {
        let view = view(&self.controller, self.has_work());
        if view.status.left > 0 {
            return self.front.refuse(change, &view, port);
        }
        // Those that were given under a virtual clock go on under another one.
        let sessions = &mut self.front.sessions;
        if is_virtual && sessions.virtual_clock == NO_SESSION && has_leases(&self.controller) {
            return self.front.give_up(change, ProtocolError::LeasesRun, port);
        }
        sessions.virtual_clock = match is_virtual {
            true => change.session,
            false => NO_SESSION,
        };
        let settled = self.front.settle(change, Outcome::Done, &view, port);
        self.keep_time();
        settled
    }

    // Inlined into the loop that receives it takes 400 bytes of flash more.
    #[inline(never)]
    fn change<P: Port>(&mut self, change: &Change<'_>, port: &mut P) -> Result<(), P::Error> {
        let Change {
            header: Header { client, seq, .. },
            session,
            asked,
            ..
        } = *change;
        let (at, command) = match asked {
            Asked::Command { at, command } => (at, command),
            Asked::Clock { is_virtual } => return self.set_clock(change, is_virtual, port),
        };
        if let Some(error) = self.front.sessions.time_error(session, at, command) {
            return self.front.give_up(change, error, port);
        }
        let time = at.unwrap_or(self.time());
        // To count what room there is takes long; it pauses between frames.
        let room = match self.has_no_checkpoint {
            // The memory may fail: trying it tells.
            true => Room::Enough,
            false => self.keep.room_for(&self.controller, command),
        };
        if room == Room::Unknown || self.has_work() {
            let view = view(&self.controller, true);
            return self.front.refuse(change, &view, port);
        }
        let record = Record {
            client,
            session,
            seq,
            at: self.time_in_record(command, time),
            command: *command,
        };
        let when = self.keep.when(&self.controller, &record);
        if room == Room::Full && when.is_ok_and(|when| when != When::Never) {
            let full = Outcome::Error(Refusal::TableFull.into());
            let view = view(&self.controller, false);
            return self.front.settle(change, full, &view, port);
        }
        let kept = when.and_then(|when| {
            let kept = match when {
                When::Never => Ok((false, None)),
                When::IfTimeIsNamed if self.front.sessions.virtual_clock == NO_SESSION => {
                    Ok((false, None))
                }
                When::IfTimeIsNamed | When::Before => self.keep(&record).map(|()| (true, None)),
                When::Granted => self.make_room(&record).map(|room| (false, Some(room))),
            };
            kept.map_err(|NotKept| ProtocolError::NotKept)
        });
        let (mut is_kept, room) = match kept {
            Ok(kept) => kept,
            Err(error) => return self.front.give_up(change, error, port),
        };
        let early = Some((change, Outcome::UnderWay));
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, early);
        let mut reply =
            meanwhile.during(|pauses| self.controller.begin(command, time, Some(pauses)));
        if let Some(room) = room
            && let Reply::Submitted { job, .. } = reply
        {
            if self.keep.append(&record, room).is_err() {
                let (is_answered, result) = (meanwhile.early.is_none(), meanwhile.result);
                self.take_back(job);
                return match is_answered {
                    // The same frame learns that it was not carried out; the next attempt learns
                    // why.
                    true => {
                        let outcome = Outcome::Error(Error::Busy { left: 1 });
                        self.conclude(change, outcome);
                        result
                    }
                    false => {
                        let error = ProtocolError::NotKept;
                        result.and(self.front.give_up(change, error, port))
                    }
                };
            }
            (self.has_no_checkpoint, self.has_no_lease_end) = (false, false);
            is_kept = true;
        }
        let is_under_way = meanwhile.early.is_none();
        if self.controller.is_scheduling() {
            if let Some((_, outcome)) = &mut meanwhile.early {
                *outcome = Outcome::of(&reply);
            }
            meanwhile.during(|pauses| self.controller.advance(&mut |_| (), Some(pauses)));
            self.controller.renew(&mut reply);
        }
        if is_kept {
            self.keep.worked(meanwhile.spent);
        }
        let (is_answered, result) = (meanwhile.early.is_none(), meanwhile.result);
        increment(&mut self.front.counters.changes);
        let outcome = Outcome::of(&reply);
        if is_under_way {
            self.conclude(change, outcome);
        }
        if is_answered {
            return result;
        }
        let view = view(&self.controller, self.has_work());
        result.and(self.front.settle(change, outcome, &view, port))
    }
}

impl<K: Keep> Server<'_, K> {
    /// Remembers what a command has come to that was answered while it was under way.
    #[inline(never)]
    fn conclude(&mut self, change: &Change<'_>, outcome: Outcome) {
        let as_of = self.controller.events();
        let remembered = Remembered { outcome, as_of };
        let Header { client, seq, .. } = change.header;
        let sessions = &mut self.front.sessions;
        sessions.conclude(client, change.session, seq, remembered);
    }

    /// A job was granted and cannot be written down, as the memory fails: it is removed before any
    /// reply shows it.
    #[inline(never)]
    fn take_back(&mut self, job: JobId) {
        while self.controller.advance(&mut |_| (), None) {}
        let release = Command::Release { job };
        self.controller
            .begin(&release, self.controller.clock(), None);
    }
}

/// Whether a job has a lease.
#[cfg(feature = "leases")]
fn has_leases(controller: &Controller<'_>) -> bool {
    controller.has_leases()
}

#[cfg(not(feature = "leases"))]
const fn has_leases(_: &Controller<'_>) -> bool {
    false
}

/// The controller; if it has more to do than it knows of, with something left.
fn view<'a, 'm>(controller: &'a Controller<'m>, has_more: bool) -> View<'a, 'm> {
    let mut view = controller.view();
    view.status.left = view.status.left.max(has_more.into());
    view
}

#[cfg(test)]
mod tests {
    use meshalloc::{
        Configuration, Flags, Mesh, Refusal, Request, SchedulerKind, Storage, StrategyKind,
    };

    use super::*;
    use crate::frame::{ClientFrameBuffer, SERVER_CONTENT_MAX};
    use crate::keeping::Meantime;
    use crate::protocol::{ClientMessage, ServerMessage};

    /// Has room for checkpoints, but for no record, or fails when one is written.
    #[derive(Debug, Default)]
    struct Full {
        has_room: bool,
        checkpoints: u32,
        work: u64,
    }

    impl Keep for Full {
        fn when(&self, _: &Controller<'_>, record: &Record) -> Result<When, ProtocolError> {
            Ok(match record.command {
                Command::Submit { request, .. } if request.flags.contains(Flags::NO_WAIT) => {
                    When::Granted
                }
                _ => When::Before,
            })
        }

        fn claim(&self, _: &Controller<'_>, _: &Record) -> Result<usize, NotKept> {
            self.has_room.then_some(0).ok_or(NotKept)
        }

        fn append(&mut self, _: &Record, _: usize) -> Result<(), NotKept> {
            Err(NotKept)
        }

        fn room_for(&mut self, _: &Controller<'_>, _: &Command) -> Room {
            Room::Enough
        }

        fn worked(&mut self, instructions: u64) {
            self.work += instructions;
        }

        fn is_due(&self) -> bool {
            false
        }

        fn checkpoint(&mut self, _: &Controller<'_>, _: &mut dyn Meantime) -> Result<(), NotKept> {
            self.checkpoints += 1;
            Ok(())
        }
    }

    const CONFIGURATION: Configuration = Configuration {
        machine: match Mesh::new(64, 64) {
            Ok(mesh) => mesh.grid(),
            Err(_) => panic!("a mesh"),
        },
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };

    /// What a server answers to a frame of client 7.
    fn ask<K: Keep>(
        server: &mut Server<'_, K>,
        seq: u32,
        message: &ClientMessage,
    ) -> ServerMessage {
        let mut buffer = ClientFrameBuffer::new();
        let frame = buffer.encode(Header::new(7, seq), message).unwrap();
        let mut room = [0; 512];
        let mut line = &mut room[..];
        server.receive(frame, 0, &mut line).unwrap();
        let rest = line.len();
        let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
        let mut answer = None;
        for &byte in &room[..512 - rest] {
            if let Some(frame) = decoder.push(byte) {
                assert!(answer.is_none(), "one frame is answered by one");
                answer = postcard::from_bytes(frame.unwrap().body).ok();
            }
        }
        answer.unwrap()
    }

    /// A submission that never waits, in a session that is opened for it.
    fn never_waits<K: Keep>(server: &mut Server<'_, K>) -> ClientMessage {
        let ServerMessage::Hello(greeting) = ask(server, 1, &ClientMessage::Hello) else {
            panic!("it is greeted");
        };
        ClientMessage::Command {
            session: greeting.session,
            since: 0,
            at: None,
            command: Command::Submit {
                job: JobId(1),
                request: Request::submesh(41, 53).with_flags(Flags::NO_WAIT),
            },
        }
    }

    fn outcome(answer: ServerMessage) -> Result<Outcome, ProtocolError> {
        match answer {
            ServerMessage::Outcome { outcome, .. } => Ok(outcome),
            ServerMessage::Error(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// Whether it was answered before that the command is under way, or not: the job is not there,
    /// and no copy of the frame is carried out.
    #[test]
    fn a_granted_job_that_cannot_be_written_down_is_gone_again() {
        for (slice, expected) in [
            (
                u32::MAX,
                [Err(ProtocolError::NotKept), Err(ProtocolError::TooOld)],
            ),
            (
                1,
                [
                    Ok(Outcome::UnderWay),
                    Ok(Outcome::Error(Error::Busy { left: 1 })),
                ],
            ),
        ] {
            let mut storage = Storage::<128, 4>::new();
            let controller = Controller::new(storage.memory(), CONFIGURATION).unwrap();
            let keep = Full {
                has_room: true,
                ..Full::default()
            };
            let server = Server::with(controller, 1, keep, Sessions::new(), Origin::New);
            let mut server = server.pausing_after(slice);
            let submit = never_waits(&mut server);
            for expected in expected {
                assert_eq!(outcome(ask(&mut server, 2, &submit)), expected);
                assert!(server.controller().jobs().is_empty());
                assert_eq!(server.controller().occupancy().free(), 4096);
            }
        }
    }

    /// An attempt that is not written down takes no time when the state is restored.
    #[test]
    fn refused_attempts_bring_no_checkpoint_about() {
        let mut storage = Storage::<128, 4>::new();
        let configuration = Configuration {
            strategy: StrategyKind::AllShapes,
            ..CONFIGURATION
        };
        let mut controller = Controller::new(storage.memory(), configuration).unwrap();
        let most = Request::submesh(64, 30);
        controller.submit(JobId(9), most, 0, &mut |_| ()).unwrap();
        let keep = Full {
            has_room: true,
            ..Full::default()
        };
        let mut server = Server::with(controller, 1, keep, Sessions::new(), Origin::New);
        let submit = never_waits(&mut server);
        for seq in 2..10 {
            let fragmented = Outcome::Error(Error::Refused(Refusal::Fragmented));
            assert_eq!(outcome(ask(&mut server, seq, &submit)), Ok(fragmented));
        }
        assert_eq!((server.keep.work, server.keep.checkpoints), (0, 0));
    }

    #[test]
    fn a_reset_makes_room_where_no_command_has_any() {
        let mut storage = Storage::<8, 4>::new();
        let configuration = Configuration {
            machine: Mesh::new(8, 8).unwrap().grid(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut controller = Controller::new(storage.memory(), configuration).unwrap();
        let job = JobId(1);
        controller
            .submit(job, Request::submesh(2, 2), 0, &mut |_| ())
            .unwrap();
        let keep = Full::default();
        let mut server = Server::with(controller, 1, keep, Sessions::new(), Origin::New);
        let record = |command| Record {
            client: 0,
            session: NO_SESSION,
            seq: 0,
            at: 0,
            command,
        };
        let mut keep = |command| {
            let kept = server.keep(&record(command));
            let has_job = server.controller.jobs().find(job).is_some();
            (kept, has_job, server.keep.checkpoints)
        };
        assert_eq!(keep(Command::Release { job }), (Err(NotKept), true, 1));
        // One that makes no room for the record, and one of what is left.
        assert_eq!(keep(Command::Reset), (Ok(()), false, 3));
    }

    #[test]
    fn what_attempts_take_between_frames_is_told() {
        let mut storage = Storage::<128, 4>::new();
        let mut controller = Controller::new(storage.memory(), CONFIGURATION).unwrap();
        for job in 1..4 {
            let request = Request::submesh(64, 64);
            controller
                .submit(JobId(job), request, 0, &mut |_| ())
                .unwrap();
        }
        let release = Command::Release { job: JobId(1) };
        controller.begin(&release, 0, None);
        let keep = Full::default();
        let mut server = Server::with(controller, 1, keep, Sessions::new(), Origin::New);
        let mut port = Received {
            bytes: &[],
            line: &mut &mut [0; 0][..],
        };
        assert_eq!((server.has_work(), server.keep.work), (true, 0));
        server.work(&mut port).unwrap();
        assert!(server.keep.work > 0);
    }
}
