//! What a server remembers of its clients: [`Sessions`].
//!
//! A client that receives no reply cannot tell whether its frame or the reply was lost, and sends
//! the same frame again. So the server remembers the outcomes of the last [`WINDOW`] changes of
//! each of its last clients: [`CLIENTS_MAX`] of them on a board. A change that comes again is
//! answered from memory and not carried out again. A change that is older than the remembered ones
//! is refused. So is a change that was never carried out although later ones were: a line that
//! repeats or delays frames cannot have a change carried out when its client no longer expects it.
//! A hello counts as a later change, too, so a client that has given a change up learns by a hello
//! and a query whether it was carried out.
//!
//! Each session has a number of its own. When a client's session had to make room for another
//! client's session, late frames of the first client name a session that no longer exists. They are
//! refused, although the client may have a new session by then. After a reset, late frames name a
//! boot that is over.

use meshalloc::{Change, Error, Outcome, Ticks};
use serde::{Deserialize, Serialize};

use crate::protocol::ProtocolError;

/// The most clients that have a session at a time on a board.
pub const CLIENTS_MAX: usize = 4;
/// The number of outcomes remembered for each client.
pub const WINDOW: usize = 4;

/// The sessions of a server, with at most `CLIENTS` clients.
#[derive(Debug)]
pub struct Sessions<const CLIENTS: usize = CLIENTS_MAX> {
    clients: [Client; CLIENTS],
    /// The number of the latest session.
    opened: u32,
    /// Counts what clients do, to find the one that has done nothing for longest.
    clock: u32,
    /// The number of the session that has a virtual clock; 0 if none has.
    pub(crate) virtual_clock: u32,
}

/// Where a session is kept, until the next one is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// What is remembered of a change: its outcome, or `None` while it is under way.
pub type Remembered = Option<Result<Outcome, Error>>;

/// A session.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Client {
    id: u32,
    /// The number of its session; 0: there is none.
    number: u32,
    /// When it last did something.
    #[serde(skip)]
    used: u32,
    /// The latest sequence number of a hello or of a change that was settled: carried out, refused
    /// as busy, or given up.
    last: u32,
    /// The outcomes of the last changes with their sequence numbers. The next outcome goes to
    /// `next`.
    outcomes: [Option<(u32, Remembered)>; WINDOW],
    next: u8,
}

impl Client {
    const NONE: Client = Client {
        id: 0,
        number: 0,
        used: 0,
        last: 0,
        outcomes: [None; WINDOW],
        next: 0,
    };
}

impl<const CLIENTS: usize> Sessions<CLIENTS> {
    /// Makes a list without sessions.
    pub const fn new() -> Self {
        Sessions {
            clients: [Client::NONE; CLIENTS],
            opened: 0,
            clock: 0,
            virtual_clock: 0,
        }
    }

    /// Opens a session for a client, or goes on with the session that the client has. Returns the
    /// number of the session. If all places are taken, the client that has done nothing for longest
    /// loses its own. Changes with earlier sequence numbers will not be carried out any more.
    pub fn open(&mut self, id: u32, seq: u32) -> u32 {
        let place = self.oldest(id);
        self.clock = self.clock.wrapping_add(1);
        let Some(client) = self.clients.get_mut(place.0) else {
            return 0;
        };
        if client.number == 0 || client.id != id {
            self.opened = self.opened.wrapping_add(1).max(1);
            if client.number == self.virtual_clock {
                self.virtual_clock = 0;
            }
            *client = Client {
                id,
                number: self.opened,
                last: seq,
                ..Client::NONE
            };
        }
        if is_later(seq, client.last) {
            client.last = seq;
        }
        client.used = self.clock;
        client.number
    }

    /// The place of the session of this number. If there is no such session, it is opened, as it
    /// was before a reset.
    #[cfg(feature = "durable")]
    pub(crate) fn recall(&mut self, id: u32, number: u32) -> Place {
        if let Some(place) = self.find(id, number) {
            return place;
        }
        let place = self.oldest(id);
        if let Some(client) = self.clients.get_mut(place.0) {
            *client = Client {
                id,
                number,
                used: self.clock,
                ..Client::NONE
            };
        }
        self.opened = self.opened.max(number);
        place
    }

    /// The sessions, the one that has done nothing for longest first.
    #[cfg(feature = "durable")]
    pub(crate) fn open_ones(&self) -> impl Iterator<Item = &Client> {
        let mut clients: heapless::Vec<&Client, CLIENTS> = self.clients.iter().collect();
        clients.sort_unstable_by_key(|client| core::cmp::Reverse(self.age(client)));
        clients.into_iter().filter(|client| client.number != 0)
    }

    /// Restores a session of the boot before. The sessions come in the order of
    /// [`Sessions::open_ones`].
    #[cfg(feature = "durable")]
    pub(crate) fn restore(&mut self, mut client: Client) {
        let place = self.oldest(client.id);
        self.clock = self.clock.wrapping_add(1);
        client.used = self.clock;
        client.next %= WINDOW as u8;
        self.opened = self.opened.max(client.number);
        if let Some(entry) = self.clients.get_mut(place.0) {
            *entry = client;
        }
    }

    /// How long ago a client did something.
    const fn age(&self, client: &Client) -> u32 {
        self.clock.wrapping_sub(client.used)
    }

    /// The place for this client: that of its session, else one without a session, else that of the
    /// client that has done nothing for longest.
    fn oldest(&self, id: u32) -> Place {
        let is_its = |client: &Client| client.number != 0 && client.id == id;
        let known = self.clients.iter().position(is_its);
        let rank = |client: &Client, at| (client.number == 0, self.age(client), CLIENTS - at);
        let places = self.clients.iter().zip(0..);
        let oldest = places.max_by_key(|&(client, at)| rank(client, at));
        Place(known.unwrap_or_else(|| oldest.map_or(0, |(_, at)| at)))
    }

    /// The place of the session of this number, if the session is this client's. The call counts as
    /// something that the client has done.
    pub fn find(&mut self, id: u32, number: u32) -> Option<Place> {
        self.clock = self.clock.wrapping_add(1);
        let mut clients = self.clients.iter_mut().zip(0..);
        let is_it = |client: &Client| client.number == number && client.id == id && number != 0;
        let (client, at) = clients.find(|(client, _)| is_it(client))?;
        client.used = self.clock;
        Some(Place(at))
    }

    /// What is remembered of the change with this sequence number, if anything is.
    pub fn remembered(&self, place: Place, seq: u32) -> Option<Remembered> {
        let outcomes = &self.clients.get(place.0)?.outcomes;
        let found = outcomes.iter().flatten().find(|(of, _)| *of == seq);
        found.map(|&(_, remembered)| remembered)
    }

    /// Whether a hello or a change with this sequence number, or a later one, was settled: carried
    /// out, refused as busy, or given up.
    pub fn is_past(&self, place: Place, seq: u32) -> bool {
        let client = self.clients.get(place.0);
        client.is_none_or(|client| !is_later(seq, client.last))
    }

    /// Notes that the change with this sequence number will not be carried out, nor a copy of it.
    /// The number must not be past.
    pub(crate) fn give_up(&mut self, place: Place, seq: u32) {
        if let Some(client) = self.clients.get_mut(place.0) {
            client.last = seq;
        }
    }

    /// Why a change of this session that names this time cannot be carried out under the present
    /// clock.
    pub(crate) fn time_error(
        &self,
        session: u32,
        at: Option<Ticks>,
        change: &Change,
    ) -> Option<ProtocolError> {
        let is_its_own = self.virtual_clock == session;
        if at.is_some() && !is_its_own {
            return Some(ProtocolError::NoVirtualClock);
        }
        let gives_lease = matches!(
            change,
            Change::Submit { lease: Some(_), .. } | Change::Lease { ticks: Some(_), .. }
        );
        let is_others = self.virtual_clock != 0 && !is_its_own;
        (gives_lease && is_others).then_some(ProtocolError::VirtualClock)
    }

    /// Remembers a change that was carried out, or is under way.
    pub fn remember(&mut self, place: Place, seq: u32, remembered: Remembered) {
        let Some(client) = self.clients.get_mut(place.0) else {
            return;
        };
        client.last = seq;
        if let Some(entry) = client.outcomes.get_mut(usize::from(client.next)) {
            *entry = Some((seq, remembered));
        }
        client.next = (client.next + 1) % WINDOW as u8;
    }

    /// Remembers the outcome of a change that was under way, if that is still remembered.
    pub(crate) fn conclude(
        &mut self,
        id: u32,
        number: u32,
        seq: u32,
        outcome: Result<Outcome, Error>,
    ) {
        let mut clients = self.clients.iter_mut();
        let client = clients.find(|client| client.number == number && client.id == id);
        let outcomes = client.into_iter().flat_map(|client| &mut client.outcomes);
        for (of, remembered) in outcomes.flatten() {
            if *of == seq {
                *remembered = Some(outcome);
            }
        }
    }
}

impl<const CLIENTS: usize> Default for Sessions<CLIENTS> {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a sequence number comes after another one. Sequence numbers are counted modulo 2^32.
const fn is_later(seq: u32, other: u32) -> bool {
    seq.wrapping_sub(other) as i32 > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "durable")]
    fn a_session_that_is_recalled_is_the_clients() {
        let (client, number) = (5, 9);
        let mut sessions = <Sessions>::new();
        let place = sessions.recall(client, number);
        assert_eq!(sessions.recall(client, number), place);
        assert_eq!(sessions.find(client, number), Some(place));
        assert_eq!(sessions.open(client, 0), number, "it goes on");
        assert_eq!(sessions.open(client + 1, 0), number + 1);
    }

    #[test]
    #[cfg(feature = "durable")]
    fn sessions_that_are_recalled_take_the_places_of_the_oldest() {
        let mut saved = <Sessions>::new();
        for id in 1..=4 {
            assert_eq!(saved.open(id, 0), id);
        }
        let mut sessions = <Sessions>::new();
        for client in saved.open_ones() {
            sessions.restore(*client);
        }
        for id in [5, 6] {
            sessions.recall(id, id);
        }
        let is_there = |id| sessions.find(id, id).is_some();
        assert_eq!(
            [1, 2, 3, 4, 5, 6].map(is_there),
            [false, false, true, true, true, true]
        );
    }

    #[test]
    fn an_outcome_is_remembered_in_the_session_of_the_change() {
        let (client, other, seq) = (5, 6, 9);
        let mut sessions = <Sessions>::new();
        let number = sessions.open(client, 0);
        assert_ne!(sessions.open(other, 0), number);
        let (under_way, done) = (None, Some(Ok(Outcome::Done)));
        let place = sessions.find(client, number).unwrap();
        sessions.remember(place, seq, under_way);
        for (id, number, seq, expected) in [
            (other, number, seq, under_way),
            (client, number + 7, seq, under_way),
            (client, number, seq + 1, under_way),
            (client, number, seq, done),
        ] {
            sessions.conclude(id, number, seq, Ok(Outcome::Done));
            assert_eq!(sessions.remembered(place, 9), Some(expected));
        }
    }
}
