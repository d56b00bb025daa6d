//! How the server carries out a change: the record, the attempt, the reply.
//!
//! ```text
//!   order ──▶ busy? room? ──▶ record ──▶ begin ──▶ first attempt ──▶ reply
//!                               │          │
//!      for a job that never waits└─────────▶ record after its attempt
//! ```

#[cfg(feature = "machine")]
use meshalloc::Query;
use meshalloc::{Change, Error, Outcome, Refusal, Ticks};

use super::front::{Asked, Meanwhile, Order, increment};
use super::{Port, Server, view};
use crate::frame::Header;
use crate::keeping::{Keep, NO_SESSION, NotKept, Record, Room, When};
use crate::protocol::ProtocolError;
#[cfg(feature = "machine")]
use crate::protocol::ServerMessageRef;

impl<K: Keep> Server<'_, K> {
    /// Carries out what a client asks for, and replies.
    // Inlined into the loop that receives, it takes 400 bytes of flash more.
    #[inline(never)]
    pub(super) fn carry_out<P: Port>(
        &mut self,
        order: &Order<'_>,
        port: &mut P,
    ) -> Result<(), P::Error> {
        let (at, change) = match order.asked {
            Asked::Change { at, change } => (at, change),
            Asked::Clock { is_virtual } => return self.set_clock(order, is_virtual, port),
            #[cfg(feature = "machine")]
            Asked::Largest => return self.search_largest(order, port),
        };
        let error = self.front.sessions.time_error(order.session, at, change);
        if let Some(error) = error {
            return self.front.give_up(order, error, port);
        }
        if self.has_work() {
            let view = view(&self.controller, true);
            return self.front.refuse(order, &view, port);
        }
        let time = at.unwrap_or(self.time());
        let Header { client, seq, .. } = order.header;
        let record = Record {
            client,
            session: order.session,
            seq,
            at: self.time_in_record(change, time),
            change: *change,
        };
        let when = match self.keep.when(&self.controller, change, record.at) {
            Ok(When::IfTimeIsNamed) if self.front.sessions.virtual_clock == NO_SESSION => {
                When::Never
            }
            Ok(when) => when,
            Err(error) => return self.front.give_up(order, error, port),
        };
        let mut growth = 0;
        if when != When::Never {
            growth = self.keep.growth(&self.controller, change);
            // Counting the room takes long, so it is done between frames. Where the memory fails
            // there is no count: then writing the record tells.
            let room = match self.has_no_checkpoint {
                true => Room::Enough,
                false => self.keep.room_for(growth),
            };
            match room {
                Room::Enough => {}
                Room::Unknown => {
                    let view = view(&self.controller, true);
                    return self.front.refuse(order, &view, port);
                }
                Room::Full => {
                    let full = Some(Err(Refusal::TableFull.into()));
                    let view = view(&self.controller, false);
                    return self.front.settle(order, full, &view, port);
                }
            }
            let kept = match when {
                When::Granted => self.make_room(&record, growth),
                _ => self.record(&record, growth),
            };
            if kept.is_err() {
                return self.front.give_up(order, ProtocolError::NotKept, port);
            }
        }
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, Some((order, None)));
        let mut kept = Ok(());
        let mut keep = || {
            if when == When::Granted {
                kept = self.keep.append(&record, growth);
            }
            kept.is_ok()
        };
        let controller = &mut self.controller;
        let outcome =
            meanwhile.during(|pauses| controller.begin_kept(change, time, Some(pauses), &mut keep));
        if kept.is_err() {
            let (is_answered, result) = (meanwhile.unanswered.is_none(), meanwhile.result);
            if is_answered {
                // The same frame learns that the change was not carried out. A later one learns
                // why.
                self.conclude(order, Err(Error::Busy { left: 1 }));
                return result;
            }
            let error = ProtocolError::NotKept;
            return result.and(self.front.give_up(order, error, port));
        }
        let is_kept = when != When::Never && (when != When::Granted || outcome.is_ok());
        if is_kept {
            (self.has_no_checkpoint, self.has_no_lease_end) = (false, false);
        }
        // Whether the client was answered UnderWay before the outcome was known.
        let is_under_way = meanwhile.unanswered.is_none();
        if let Some((_, known)) = &mut meanwhile.unanswered {
            *known = Some(outcome);
        }
        meanwhile.during(|pauses| self.controller.advance(Some(pauses)));
        if is_kept {
            self.keep.worked(meanwhile.spent);
        }
        let (is_answered, result) = (meanwhile.unanswered.is_none(), meanwhile.result);
        increment(&mut self.front.counters.changes);
        if is_under_way {
            self.conclude(order, outcome);
        }
        if is_answered {
            return result;
        }
        let view = view(&self.controller, self.has_work());
        result.and(self.front.settle(order, Some(outcome), &view, port))
    }

    /// Searches for the largest slice, and replies.
    #[cfg(feature = "machine")]
    #[inline(never)]
    fn search_largest<P: Port>(&mut self, order: &Order<'_>, port: &mut P) -> Result<(), P::Error> {
        if self.has_work() {
            let view = view(&self.controller, true);
            return self.front.refuse(order, &view, port);
        }
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
        let answer =
            meanwhile.during(|pauses| self.controller.answer(&Query::Largest, Some(pauses)));
        let result = meanwhile.result;
        let message = ServerMessageRef::Answer(&answer);
        result.and(self.front.send(order.header, &message, port))
    }

    /// Gives the session a virtual clock, or the server its own.
    #[inline(never)]
    fn set_clock<P: Port>(
        &mut self,
        order: &Order<'_>,
        is_virtual: bool,
        port: &mut P,
    ) -> Result<(), P::Error> {
        let view = view(&self.controller, self.has_work());
        if view.status.left > 0 {
            return self.front.refuse(order, &view, port);
        }
        // Leases that were given under a virtual clock go on under another one.
        let sessions = &mut self.front.sessions;
        if is_virtual && sessions.virtual_clock == NO_SESSION && self.controller.has_leases() {
            return self.front.give_up(order, ProtocolError::LeasesRun, port);
        }
        sessions.virtual_clock = match is_virtual {
            true => order.session,
            false => NO_SESSION,
        };
        let done = Some(Ok(Outcome::Done));
        let settled = self.front.settle(order, done, &view, port);
        self.tick(self.front.now);
        settled
    }

    /// Ends the lease that has ended first, if there is one. The attempts that follow are left.
    pub(super) fn end_lease<P: Port>(&mut self, port: &mut P) -> Result<(), P::Error> {
        let Some((at, job)) = self.controller.lease_ended(self.time()) else {
            return Ok(());
        };
        let change = Change::EndLease { job };
        let record = Record {
            client: 0,
            session: NO_SESSION,
            seq: 0,
            at: self.time_in_record(&change, at),
            change,
        };
        if self.record(&record, 0).is_err() {
            self.has_no_lease_end = true;
            return Ok(());
        }
        self.has_no_checkpoint = false;
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
        // It has ended, so there is no error.
        let _ = meanwhile.during(|pauses| self.controller.begin(&change, at, Some(pauses)));
        self.keep.worked(meanwhile.spent);
        meanwhile.result
    }

    /// The time of a change in its record. A change that was not recorded may have set the clock
    /// beyond the time that this one names.
    fn time_in_record(&self, change: &Change, at: Ticks) -> Ticks {
        match change {
            Change::Configure(_) | Change::Reset => at,
            _ => at.max(self.controller.clock()),
        }
    }

    /// Makes sure that there is room for a record and for the growth of the state.
    fn make_room(&mut self, record: &Record, growth: usize) -> Result<(), NotKept> {
        if self.keep.has_room(record, growth) {
            return Ok(());
        }
        self.checkpoint(None)?;
        match self.keep.has_room(record, growth) {
            true => Ok(()),
            false => Err(NotKept),
        }
    }

    /// Records a change before it is carried out. If there is no room, a checkpoint makes some; for
    /// a reset it is one of the short state after the reset. The record of the reset follows, since
    /// only a record makes the journal close the older regions: without it a lost checkpoint would
    /// bring the old jobs back.
    pub(super) fn record(&mut self, record: &Record, growth: usize) -> Result<(), NotKept> {
        let reset = (record.change == Change::Reset).then_some(record.at);
        let mut kept = self.keep.append(record, growth);
        if kept.is_err() && self.checkpoint(reset).is_ok() {
            kept = self.keep.append(record, growth);
        }
        kept
    }

    /// Remembers the outcome of a change that was answered as under way.
    #[inline(never)]
    fn conclude(&mut self, order: &Order<'_>, outcome: Result<Outcome, Error>) {
        let Header { client, seq, .. } = order.header;
        let sessions = &mut self.front.sessions;
        sessions.conclude(client, order.session, seq, outcome);
    }
}
