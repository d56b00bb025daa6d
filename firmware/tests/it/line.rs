//! A line in memory between the real client and the real server, with the faults of a real line.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use meshalloc::Change;
use meshalloc_firmware::frame::{Decoder, Header, SERVER_CONTENT_MAX};
pub(crate) use meshalloc_firmware::journal::memory::Random;
use meshalloc_firmware::{
    Client, ClientError, Line, Options, PROTOCOL_VERSION, Received, Server, ServerMessage,
};

use crate::board::Led;

/// The rate of each fault: once in this number of bursts, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lose: usize,
    pub(crate) repeat: usize,
    pub(crate) cut: usize,
    pub(crate) change: usize,
    pub(crate) insert: usize,
    /// Holds the burst back and lets it arrive with the next one.
    pub(crate) hold: usize,
}

/// How often each fault happened, in the order of the fields.
pub(crate) type EventKind = [u32; 6];

/// One direction.
#[derive(Debug)]
struct Direction {
    random: Random,
    faults: Faults,
    held: Vec<u8>,
    happened: EventKind,
}

impl Direction {
    fn carry(&mut self, burst: &[u8]) -> Vec<u8> {
        let Faults {
            lose,
            repeat,
            cut,
            change,
            insert,
            hold,
        } = self.faults;
        let (random, happened) = (&mut self.random, &mut self.happened);
        let mut strikes = |which: usize, rate: usize| {
            let strikes = rate != 0 && random.once_in(rate);
            happened[which] += u32::from(strikes);
            strikes
        };
        let [lost, repeated, is_cut, changed, inserted, is_held] = [
            strikes(0, lose),
            strikes(1, repeat),
            strikes(2, cut),
            strikes(3, change),
            strikes(4, insert),
            strikes(5, hold),
        ];
        let mut bytes = if lost { Vec::new() } else { burst.to_vec() };
        if repeated {
            bytes.extend_from_slice(burst);
        }
        if is_cut && !bytes.is_empty() {
            bytes.truncate(random.below(bytes.len()));
        }
        if changed && !bytes.is_empty() {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        if inserted {
            let at = random.below(bytes.len() + 1);
            let noise: Vec<u8> = (0..1 + random.below(400))
                .map(|_| random.next() as u8)
                .collect();
            bytes.splice(at..at, noise);
        }
        self.held.append(&mut bytes);
        if is_held {
            return Vec::new();
        }
        std::mem::take(&mut self.held)
    }
}

/// The client's end of a line whose other end is `server`. The server tries a job or two, then
/// answers each burst at once. Receiving from an empty line is a timeout.
pub(crate) struct MemoryLine<'s, 'm> {
    pub(crate) server: &'s mut Server<'m>,
    pub(crate) now: u64,
    there: Direction,
    back: Direction,
    arrived: VecDeque<u8>,
    pauses: Random,
}

impl<'s, 'm> MemoryLine<'s, 'm> {
    pub(crate) fn new(server: &'s mut Server<'m>) -> Self {
        Self::with_faults(server, Faults::default(), 0)
    }

    pub(crate) fn with_faults(server: &'s mut Server<'m>, faults: Faults, seed: u64) -> Self {
        let direction = |seed| Direction {
            random: Random(seed),
            faults,
            held: Vec::new(),
            happened: [0; 6],
        };
        MemoryLine {
            server,
            now: 0,
            there: direction(seed),
            back: direction(!seed),
            arrived: VecDeque::new(),
            pauses: Random(seed),
        }
    }

    /// Sets the faults from now on.
    pub(crate) fn set_faults(&mut self, faults: Faults) {
        self.there.faults = faults;
        self.back.faults = faults;
    }

    pub(crate) fn happened(&self) -> EventKind {
        std::array::from_fn(|i| self.there.happened[i] + self.back.happened[i])
    }

    /// Sends other bytes to the server. Its answers come before the client's next reply.
    pub(crate) fn inject(&mut self, bytes: &[u8]) {
        let mut answer = Vec::new();
        self.server
            .receive(bytes, self.now, &mut answer)
            .expect("a vector takes everything");
        self.arrived.extend(answer);
    }
}

impl Line for MemoryLine<'_, '_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for _ in 0..self.pauses.below(3) {
            let mut answer = Vec::new();
            let mut port = Received {
                bytes: &[],
                line: &mut answer,
            };
            self.server.work(&mut port).expect("a vector takes all");
        }
        let bytes = self.there.carry(bytes);
        let mut answer = Vec::new();
        self.server
            .receive(&bytes, self.now, &mut answer)
            .expect("a vector takes everything");
        // Faults hit single frames: each begins with its own delimiter.
        for frame in answer.split_inclusive(|&byte| byte == 0) {
            let carried = self.back.carry(frame);
            self.arrived.extend(carried);
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        io::Read::read(&mut self.arrived, buffer)
    }
}

/// The frames in these bytes, all of which are whole.
pub(crate) fn answers(line: impl IntoIterator<Item = u8>) -> Vec<(Header, ServerMessage)> {
    let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
    let answers = line.into_iter().filter_map(|byte| {
        let frame = decoder.push(byte)?.expect("the server sends whole frames");
        assert_eq!(frame.header.version, PROTOCOL_VERSION);
        let message = postcard::from_bytes(frame.body).expect("and messages in them");
        Some((frame.header, message))
    });
    answers.collect()
}

/// Patient enough for any line of these tests.
pub(crate) const OPTIONS: Options = Options {
    timeout: Duration::from_secs(1),
    tries: 100_000,
    number: Some(u32::MAX - 1),
    interval: Duration::ZERO,
    baud: meshalloc_firmware::BAUD_DEFAULT,
    patience: Duration::from_secs(120),
    interrupted: None,
};

/// Has a change carried out over the line.
pub(crate) fn call(
    client: &mut Client<impl Line>,
    change: &Change,
    at: Option<u64>,
) -> Result<Led, ClientError> {
    let mut events = Vec::new();
    let outcome = client.call(change, at, &mut |event, blocks| {
        events.push((*event, blocks.to_vec()));
    })?;
    Ok(Led { events, outcome })
}
