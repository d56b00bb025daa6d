//! The controller's half of the protocol: [`Server`].
//!
//! The caller owns the line and the clock. Whatever bytes arrive, the server does not panic and
//! does not lose a later frame. It counts the frames that it cannot read, and answers such a frame
//! if its sequence number could be read. One frame is answered by one frame.
//!
//! # Bounded work
//!
//! A change is answered after at most one attempt to place a job. A job that never waits may bring
//! one more attempt, and if it causes reservations to be made anew, a search for each job before
//! it. [`Server::work`] makes the other attempts between frames, one in each call. Clients read the
//! grants as events.
//!
//! A long attempt pauses ([`Pauses`](meshalloc::Pauses)), and the server serves the frames that
//! came meanwhile ([`Port`]): greetings, queries and events as usual. It answers a further change
//! with Busy. The change whose attempt takes long is answered after a slice, or before a frame that
//! comes sooner. The answer is the outcome of the change if the outcome is known, else UnderWay.
//! Writing a checkpoint pauses likewise, and while one is due the server is busy.
//!
//! # Each change once
//!
//! See [`sessions`](crate::sessions).

use embedded_io::{ErrorType, Write};
#[cfg(feature = "durable")]
use embedded_storage::nor_flash::NorFlash;
use meshalloc::{Controller, Ticks, View};

use crate::frame::{Decoder, ServerFrameBuffer};
#[cfg(feature = "durable")]
use crate::journal::{Journal, Loss, Recovered};
#[cfg(feature = "durable")]
use crate::keeping::durable::Durable;
use crate::keeping::{Forgetful, Keep, NO_SESSION, NotKept};
use crate::protocol::{LineCounters, Origin};
#[cfg(feature = "rates")]
use crate::rate::Rate;
use crate::sessions::{CLIENTS_MAX, Sessions};

mod changes;
mod front;
mod meanwhile;
#[cfg(test)]
mod tests;

use front::Front;
use meanwhile::{Meanwhile, Saving};

/// The controller behind a line, with sessions for at most `CLIENTS` clients.
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
pub struct Server<'m, K = Forgetful, const CLIENTS: usize = CLIENTS_MAX> {
    controller: Controller<'m>,
    keep: K,
    /// How far the time of the server is ahead of the caller's clock, modulo 2^64
    /// ([`Server::time`]).
    ahead: Ticks,
    /// Whether the last checkpoint failed, or would replace a state that could not be read. The
    /// next one is not written before the next change.
    has_no_checkpoint: bool,
    /// Whether the end of a lease could not be recorded. The server tries again only after another
    /// record was written.
    has_no_lease_end: bool,
    /// A change whose attempt takes longer is answered after this many milliseconds.
    slice: Ticks,
    front: Front<CLIENTS>,
    /// The number of overruns already reported to `rate`, which counts each of them as a byte.
    #[cfg(feature = "rates")]
    overruns_heard: u32,
}

/// A change whose attempt takes longer is answered after this many milliseconds.
const SLICE: Ticks = 20;

/// A line in both directions, which the server also reads in pauses, and a clock.
pub trait Port: Write {
    /// The next byte, if one has come.
    fn next(&mut self) -> Option<u8>;

    /// Whether another byte has come. Long work polls this, at least every 50 ms and mostly far
    /// more often, so it should be short.
    fn has_next(&mut self) -> bool;

    /// The milliseconds of a clock that goes on while the server works.
    fn now_ms(&self) -> Ticks;
}

/// Bytes that have come, and a line for the replies. Its clock stands still, so a change is
/// answered when its attempt is made, or before another frame that has come.
#[derive(Debug)]
pub struct Received<'a, W> {
    /// The bytes that have not been read yet.
    pub bytes: &'a [u8],
    /// The line.
    pub line: &'a mut W,
}

impl<W: Write> Port for Received<'_, W> {
    fn next(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }

    fn has_next(&mut self) -> bool {
        !self.bytes.is_empty()
    }

    fn now_ms(&self) -> Ticks {
        0
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
    /// A server that keeps nothing over a reset. No frame has come yet. `boot` distinguishes this
    /// boot from any other that a client may remember: it must differ after every reset.
    pub fn new(controller: Controller<'m>, boot: u64) -> Self {
        Server::with(controller, boot, Forgetful, Origin::Forgetful)
    }
}

#[cfg(feature = "durable")]
impl<'m, F: NorFlash, const REGIONS: usize, const CLIENTS: usize>
    Server<'m, Durable<F, REGIONS>, CLIENTS>
{
    /// A server in the state of the journal ([`Server::restore`]). See [`Server::new`] for `boot`.
    pub fn restored(
        controller: Controller<'m>,
        boot: u64,
        journal: Journal<F, REGIONS>,
        recovered: Recovered,
        pauses: &meshalloc::Pauses<'_>,
    ) -> Self {
        let mut server = Server::unrestored(controller, boot, journal);
        server.restore(recovered, pauses, &|| 0);
        server
    }

    /// A server that has not read its journal yet: call [`Server::restore`] or
    /// [`Server::leave_unread`] before the first byte. Where the stack is small, the server should
    /// be at its final address when it restores.
    pub fn unrestored(controller: Controller<'m>, boot: u64, journal: Journal<F, REGIONS>) -> Self {
        Server::with(controller, boot, Durable::new(journal), Origin::New)
    }

    /// Brings the server into the state of the journal. If the journal has no state, the
    /// controller, which has no job, stays as it is. A journal that this image cannot read stays as
    /// it is until a reset ([`Origin::Unread`]).
    ///
    /// The changes since the last checkpoint are carried out again. That may take as long as it
    /// took the first time. `pauses` is called meanwhile, and `now_ms` is the clock, in
    /// milliseconds.
    pub fn restore(
        &mut self,
        recovered: Recovered,
        pauses: &meshalloc::Pauses<'_>,
        now_ms: &dyn Fn() -> Ticks,
    ) {
        let begun = now_ms();
        let sessions = &mut self.front.sessions;
        self.front.origin = self
            .keep
            .restore(recovered, &mut self.controller, sessions, pauses);
        self.keep.worked(now_ms().wrapping_sub(begun));
        self.ahead = self.controller.clock();
        // Nothing is erased before a change needs it.
        self.has_no_checkpoint = self.front.origin == Origin::Unread
            || recovered == Recovered::Damaged(Loss::Everything);
        if !self.has_no_checkpoint {
            let _ = self.checkpoint(None);
        }
    }

    /// Leaves the journal as it is until a reset ([`Origin::Unread`]), for example because reading
    /// it has crashed the program.
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

impl<'m, K, const CLIENTS: usize> Server<'m, K, CLIENTS> {
    fn with(controller: Controller<'m>, boot: u64, keep: K, origin: Origin) -> Self {
        Server {
            controller,
            keep,
            ahead: 0,
            has_no_checkpoint: false,
            has_no_lease_end: false,
            slice: SLICE,
            front: Front {
                decoder: Decoder::new(),
                buffer: ServerFrameBuffer::new(),
                counters: LineCounters::default(),
                sessions: Sessions::new(),
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

    /// The same server with another slice: a change whose attempt takes longer is answered after
    /// this many milliseconds. With 0 it is answered in the first pause.
    #[must_use]
    pub const fn pausing_after(mut self, ms: Ticks) -> Self {
        self.slice = ms;
        self
    }

    /// The rate to set the line to now, if the rate changes. Call it whenever the server has
    /// nothing to do, and at least every few milliseconds. `has_left` tells whether the line has
    /// sent all replies.
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

    /// The counts of what came over the line so far.
    pub const fn counters(&self) -> &LineCounters {
        &self.front.counters
    }

    /// Counts that the transport lost bytes this many times.
    pub const fn overrun(&mut self, times: u32) {
        self.front.counters.overruns = self.front.counters.overruns.saturating_add(times);
    }

    /// Where the state came from when the server started.
    pub const fn origin(&self) -> Origin {
        self.front.origin
    }

    /// The time of the server. There is only one, by which changes happen and leases begin and end.
    ///
    /// It goes with the caller's clock. While a session has a virtual clock, the time is that of
    /// the latest change. When that session gives the clock back or ends, time goes on from there.
    const fn time(&self) -> Ticks {
        self.front.now.wrapping_add(self.ahead)
    }

    /// The caller's clock shows `now`. It does not go back: an earlier time counts as the latest.
    fn tick(&mut self, now: Ticks) {
        let now = now.max(self.front.now);
        self.front.now = now;
        let latest = self.controller.clock();
        if self.front.sessions.virtual_clock != NO_SESSION || self.time() < latest {
            self.ahead = latest.wrapping_sub(now);
        }
    }
}

impl<K: Keep, const CLIENTS: usize> Server<'_, K, CLIENTS> {
    /// Whether changes have left work to be done between frames.
    pub fn has_work(&self) -> bool {
        self.controller.is_scheduling() || self.is_lease_due() || self.is_checkpoint_due()
    }

    /// Goes on with the work that changes and time have left: makes one attempt, ends a lease, or
    /// writes a checkpoint. Returns whether there is more to do. It serves the port in pauses.
    ///
    /// # Errors
    ///
    /// The first error in writing; to the client it is as if replies had been lost.
    pub fn work<P: Port>(&mut self, port: &mut P) -> Result<bool, P::Error> {
        let mut result = Ok(());
        if self.controller.is_scheduling() {
            let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
            meanwhile.during(|pauses| self.controller.advance(Some(pauses)));
            self.keep.worked(meanwhile.spent());
            result = meanwhile.result;
        } else if self.is_lease_due() {
            result = self.end_lease(port);
        } else if self.is_checkpoint_due() {
            result = self.checkpoint_between(port);
        }
        result.map(|()| self.has_work())
    }

    /// Whether a lease may have to be ended.
    fn is_lease_due(&self) -> bool {
        !self.has_no_lease_end && self.controller.may_lease_have_ended(self.time())
    }

    /// Whether a checkpoint is to be written between frames.
    fn is_checkpoint_due(&self) -> bool {
        !self.has_no_checkpoint && self.keep.is_due()
    }

    /// Writes the checkpoint that is due. It serves the port in pauses.
    fn checkpoint_between<P: Port>(&mut self, port: &mut P) -> Result<(), P::Error> {
        let view = view(&self.controller, true);
        let mut saving = Saving {
            meanwhile: Meanwhile::new(&mut self.front, port, self.slice, None),
            view: &view,
        };
        let kept = self.keep.checkpoint(&self.controller, None, &mut saving);
        self.has_no_checkpoint = kept.is_err();
        saving.meanwhile.result
    }

    /// Writes a checkpoint without pauses: of the present state, or of the state after a reset at
    /// this time.
    fn checkpoint(&mut self, reset: Option<Ticks>) -> Result<(), NotKept> {
        let sessions = &mut self.front.sessions;
        let kept = self.keep.checkpoint(&self.controller, reset, sessions);
        self.has_no_checkpoint = kept.is_err();
        if reset.is_some() && kept.is_ok() && self.front.origin == Origin::Unread {
            // The checkpoint has replaced the state that was not read.
            self.front.origin = Origin::New;
        }
        kept
    }

    /// Takes bytes from the line, any number at a time, and writes the replies to the frames that
    /// they complete. `now` is the caller's clock.
    ///
    /// # Errors
    ///
    /// The first error in writing. All bytes were read and the changes in them carried out; to the
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

    /// Takes the next byte from a port, if there is one, and writes the reply to the frame that it
    /// completes. If that takes long, further frames are served in pauses. Returns `None` if there
    /// was no byte. `now` is the caller's clock.
    ///
    /// # Errors
    ///
    /// As those of [`Server::receive`].
    pub fn receive_from<P: Port>(
        &mut self,
        now: Ticks,
        port: &mut P,
    ) -> Result<Option<()>, P::Error> {
        self.tick(now);
        let Some(byte) = port.next() else {
            return Ok(None);
        };
        let Some(incoming) = self.front.push(byte) else {
            return Ok(Some(()));
        };
        let message = self.front.message();
        let view = view(&self.controller, self.has_work());
        let served = self.front.serve(incoming, &message, &view, port);
        if let Ok(Some(order)) = &served {
            self.carry_out(order, port)?;
        }
        served.map(|_| Some(()))
    }
}

/// The controller as the line shows it: if the server has more work, something is left to do.
fn view<'a, 'm>(controller: &'a Controller<'m>, has_more: bool) -> View<'a, 'm> {
    controller.view().with_left(has_more.into())
}
