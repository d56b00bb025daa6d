//! Messages on their way, in a slab.

use meshalloc::{NodeId, Ticks};

use super::Message;
use super::routes::Header;

pub(super) const NONE: u32 = u32::MAX;

/// A message that is on its way, or that waits for its channel into the network.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) header: Header,
    pub(super) source: u32,
    pub(super) tag: u32,
    /// The message that waits behind this one; in a free place, the next free place.
    pub(super) behind: u32,
    /// The first and the last of the channels that the message holds.
    pub(super) tail: u32,
    pub(super) head: u32,
    /// The number of channels that the message was granted.
    pub(super) granted: u32,
    pub(super) requested: Ticks,
    pub(super) injected: Ticks,
}

impl Record {
    pub(super) fn message(&self) -> Message {
        Message {
            source: NodeId(self.source),
            destination: NodeId(self.header.destination()),
            tag: self.tag,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Messages {
    records: Vec<Record>,
    free: u32,
    present: u32,
}

impl Messages {
    pub(super) fn new() -> Messages {
        Messages {
            records: Vec::new(),
            free: NONE,
            present: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.present
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.records.len()
    }

    #[inline]
    pub(super) fn insert(&mut self, message: &Message, now: Ticks) -> u32 {
        let record = Record {
            header: Header::new(message.source.0, message.destination.0),
            source: message.source.0,
            tag: message.tag,
            behind: NONE,
            tail: NONE,
            head: NONE,
            granted: 0,
            requested: now,
            injected: 0,
        };
        self.present += 1;
        let number = self.free;
        if let Some(place) = self.records.get_mut(number as usize) {
            self.free = place.behind;
            *place = record;
            return number;
        }
        self.records.push(record);
        self.records.len() as u32 - 1
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        self[number].behind = self.free;
        self.free = number;
        self.present -= 1;
    }
}

impl std::ops::Index<u32> for Messages {
    type Output = Record;

    #[inline]
    fn index(&self, number: u32) -> &Record {
        &self.records[number as usize]
    }
}

impl std::ops::IndexMut<u32> for Messages {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Record {
        &mut self.records[number as usize]
    }
}
