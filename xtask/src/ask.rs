//! A change or a query for an image: [`Ask`].

use anyhow::Result;
use meshalloc::{Block, Change, Error, Event, Outcome, Query, Ticks};
use meshalloc_firmware::{Client, Line};

/// A change or a query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Change(Change),
    Query(Query),
}

impl From<Change> for Ask {
    fn from(change: Change) -> Self {
        Ask::Change(change)
    }
}

impl From<Query> for Ask {
    fn from(query: Query) -> Self {
        Ask::Query(query)
    }
}

impl Ask {
    /// Asks it at this time. The outcome of a query that is answered is `Done`.
    ///
    /// # Errors
    ///
    /// When the client gets no reply.
    pub(crate) fn call(
        &self,
        client: &mut Client<impl Line>,
        at: Option<Ticks>,
        on_event: &mut dyn FnMut(&Event, &[Block]),
    ) -> Result<std::result::Result<Outcome, Error>> {
        Ok(match self {
            Ask::Change(change) => client.call(change, at, on_event)?,
            Ask::Query(query) => client.query(query)?.map(|_| Outcome::Done),
        })
    }
}
