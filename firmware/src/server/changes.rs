//! How the server carries a change out: the checks, the record, the attempts, the reply.
//!
//! ```text
//!   order ──▶ busy? ──▶ begin: checks ──▶ record ──▶ change ──▶ first attempt ──▶ reply
//!                                │                                      ▲
//!         a job that never waits └──▶ its attempt ──▶ record ───────────┘
//! ```

#[cfg(feature = "machine")]
use meshalloc::Query;
use meshalloc::controller::OnCommit;
use meshalloc::{Change, Commit, Error, Outcome, Refusal};

use super::front::{Asked, Order, increment};
use super::meanwhile::Meanwhile;
use super::{Port, Server, view};
use crate::frame::Header;
use crate::keeping::{Keep, NO_SESSION, NoRecord, Record};
#[cfg(feature = "machine")]
use crate::protocol::ServerMessageRef;
use crate::protocol::{Origin, ProtocolError};

/// A change that was carried out, or that was not carried out because it could not be recorded.
struct Carried<E> {
    begun: Result<Result<Outcome, Error>, NoRecord>,
    /// Whether the client was answered UnderWay before the outcome was known.
    is_under_way: bool,
    /// Whether the client was answered at all.
    is_answered: bool,
    /// The first error in writing.
    result: Result<(), E>,
}

impl<K: Keep, const CLIENTS: usize> Server<'_, K, CLIENTS> {
    /// Carries out what a client asks for, and replies.
    // Inlined into the loop that receives, this function takes 400 bytes of flash more.
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
            Asked::Search { query } => return self.search(order, query, port),
        };
        let error = self.front.sessions.time_error(order.session, at, change);
        if let Some(error) = error {
            return self.front.give_up(order, error, port);
        }
        if self.has_work() {
            let view = view(&self.controller, true);
            return self.front.refuse(order, &view, port);
        }
        // The change would destroy a state that was not read.
        if self.front.origin == Origin::Unread && *change != Change::Reset {
            return self.front.give_up(order, ProtocolError::Unread, port);
        }
        let Header { client, seq, .. } = order.header;
        let record = Record {
            client,
            session: order.session,
            seq,
            at: at.unwrap_or(self.time()),
            change: *change,
        };
        let Carried {
            begun,
            is_under_way,
            is_answered,
            result,
        } = self.carry(&record, Some(order), port);
        let outcome = match begun {
            Ok(outcome) => outcome,
            Err(NoRecord::Failed) if !is_answered => {
                let error = ProtocolError::NotKept;
                return result.and(self.front.give_up(order, error, port));
            }
            Err(reason) => {
                // If the client was answered UnderWay and the record failed, the reply to the same
                // frame says that the change was not carried out, and the reply to a later frame
                // says why. Counting the room takes long, so it is done between frames.
                let error = match reason {
                    NoRecord::Full => Refusal::TableFull.into(),
                    NoRecord::Uncounted | NoRecord::Failed => Error::Busy { left: 1 },
                };
                if is_answered {
                    self.conclude(order, Err(error));
                    return result;
                }
                let view = view(&self.controller, self.has_work());
                return result.and(self.front.settle(order, Some(Err(error)), &view, port));
            }
        };
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

    /// Carries a change out, with its record and the first attempt. If there is no room for the
    /// record, a checkpoint makes some, and the change begins again. For a reset it is a checkpoint
    /// of the short state after the reset. The record of the reset follows, since only a record
    /// makes the journal close the older regions: without it a lost checkpoint would bring the old
    /// jobs back.
    fn carry<P: Port>(
        &mut self,
        record: &Record,
        order: Option<&Order<'_>>,
        port: &mut P,
    ) -> Carried<P::Error> {
        let first = self.carry_once(record, order, port);
        let needs_checkpoint = match first.begun {
            Err(NoRecord::Failed) => true,
            // If the memory fails, there is no count.
            Err(NoRecord::Full | NoRecord::Uncounted) => self.has_no_checkpoint,
            Ok(_) => false,
        };
        if !needs_checkpoint {
            return first;
        }
        let reset = (record.change == Change::Reset).then_some(record.at);
        if self.checkpoint(reset).is_err() {
            return Carried {
                begun: Err(NoRecord::Failed),
                ..first
            };
        }
        let order = order.filter(|_| !first.is_answered);
        let second = self.carry_once(record, order, port);
        Carried {
            is_under_way: first.is_answered || second.is_under_way,
            result: first.result.and(second.result),
            ..second
        }
    }

    fn carry_once<P: Port>(
        &mut self,
        record: &Record,
        order: Option<&Order<'_>>,
        port: &mut P,
    ) -> Carried<P::Error> {
        let is_virtual = self.front.sessions.virtual_clock != NO_SESSION;
        let mut kept = None;
        let mut on_commit = |commit: Commit| {
            // The clock of the server goes on by itself.
            if commit.is_time_only && !is_virtual {
                return Ok(());
            }
            let record = Record {
                at: commit.at,
                ..*record
            };
            let appended = self.keep.append(&record, commit.adds);
            kept = Some(appended);
            // `begun` is made from `kept` below, so any error will do here.
            appended.map_err(|_| Refusal::TableFull.into())
        };
        let on_commit: Option<OnCommit<'_>> = if K::KEEPS { Some(&mut on_commit) } else { None };
        let (change, at) = (&record.change, record.at);
        let unanswered = order.map(|order| (order, None));
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, unanswered);
        let controller = &mut self.controller;
        let outcome =
            meanwhile.during(|pauses| controller.begin(change, at, Some(pauses), on_commit));
        let is_under_way = meanwhile.unanswered.is_none();
        let begun = match kept {
            Some(Err(reason)) => Err(reason),
            _ => Ok(outcome),
        };
        if begun.is_ok() {
            if let Some((_, known)) = &mut meanwhile.unanswered {
                *known = Some(outcome);
            }
            meanwhile.during(|pauses| controller.advance(Some(pauses)));
            if kept.is_some() {
                (self.has_no_checkpoint, self.has_no_lease_end) = (false, false);
                self.keep.worked(meanwhile.spent());
            }
        }
        Carried {
            begun,
            is_under_way,
            is_answered: meanwhile.unanswered.is_none(),
            result: meanwhile.result,
        }
    }

    /// Searches for what a query asks, and replies.
    #[cfg(feature = "machine")]
    #[inline(never)]
    fn search<P: Port>(
        &mut self,
        order: &Order<'_>,
        query: &Query,
        port: &mut P,
    ) -> Result<(), P::Error> {
        if self.has_work() {
            let view = view(&self.controller, true);
            return self.front.refuse(order, &view, port);
        }
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
        let answer = meanwhile.during(|pauses| self.controller.answer(query, Some(pauses)));
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
        if view.left() > 0 {
            return self.front.refuse(order, &view, port);
        }
        // Leases that were given under a virtual clock go on under another one.
        let sessions = &mut self.front.sessions;
        if is_virtual && sessions.virtual_clock == NO_SESSION && self.controller.has_leases() {
            return self.front.give_up(order, ProtocolError::LeasesRun, port);
        }
        sessions.virtual_clock = if is_virtual {
            order.session
        } else {
            NO_SESSION
        };
        let done = Some(Ok(Outcome::Done));
        let settled = self.front.settle(order, done, &view, port);
        self.tick(self.front.now);
        settled
    }

    /// Ends the lease that has ended first, if there is one.
    pub(super) fn end_lease<P: Port>(&mut self, port: &mut P) -> Result<(), P::Error> {
        let Some((at, job)) = self.controller.lease_ended(self.time()) else {
            return Ok(());
        };
        let record = Record {
            client: 0,
            session: NO_SESSION,
            seq: 0,
            at,
            change: Change::EndLease { job },
        };
        let carried = self.carry(&record, None, port);
        // The lease has ended, so there is no other error.
        self.has_no_lease_end = carried.begun.is_err();
        carried.result
    }

    /// Remembers the outcome of a change that was answered as under way.
    #[inline(never)]
    fn conclude(&mut self, order: &Order<'_>, outcome: Result<Outcome, Error>) {
        let Header { client, seq, .. } = order.header;
        let sessions = &mut self.front.sessions;
        sessions.conclude(client, order.session, seq, outcome);
    }
}
