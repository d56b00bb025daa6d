//! Whole frames, damaged frames and garbage for a whole server.

use meshalloc::{Change, Controller, Query};
use meshalloc_firmware::frame::{ClientFrameBuffer, Decoder, Header, SERVER_CONTENT_MAX};
use meshalloc_firmware::keeping::Keep;
use meshalloc_firmware::{
    ClientMessage, Greeting, PROTOCOL_VERSION, Server, ServerMessage, Session,
};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::board::{self, Ask, Board};
use crate::bytes::Bytes;

/// More clients than a server remembers.
const CLIENTS: usize = 6;

/// For any input, the invariants hold and every answer is a whole message.
///
/// # Panics
///
/// If that does not hold.
pub fn requests(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let configuration = board::configuration(&mut bytes);
    let mut board = Board::new();
    let Ok(controller) = Controller::new(board.memory(), configuration) else {
        return;
    };
    let mut server = Server::new(controller, 3);
    let mut clients = Clients::new();
    while clients.step(&mut server, &mut bytes) {
        server.controller().check_invariants();
    }
    while board::work(&mut server) {}
    server.controller().check_invariants();
    board::check_apart(server.controller());
}

/// The state of the clients, and their last frame.
pub(crate) struct Clients {
    sessions: [Session; CLIENTS],
    seq: [u32; CLIENTS],
    last: Vec<u8>,
    now: u64,
}

impl Clients {
    /// Clients without sessions.
    pub(crate) fn new() -> Self {
        Clients {
            sessions: [Session { boot: 0, number: 0 }; CLIENTS],
            seq: [0; CLIENTS],
            last: Vec::new(),
            now: 0,
        }
    }

    /// Carries out one step; false at the end.
    pub(crate) fn step<K: Keep>(
        &mut self,
        server: &mut Server<'_, K>,
        bytes: &mut Bytes<'_>,
    ) -> bool {
        let Some(code) = bytes.next() else {
            return false;
        };
        self.now += u64::from(code >> 4);
        let client = usize::from(code >> 4) % CLIENTS;
        match code & 15 {
            0 => self.receive(server, bytes.chunk()),
            1 => {
                let version = bytes.byte();
                let header = Header {
                    version,
                    ..self.header(client)
                };
                self.frame(server, header, &Raw(bytes.chunk()));
            }
            2 => {
                let header = self.header(client);
                self.frame(server, header, &Raw(bytes.chunk()));
            }
            // The last frame again, and damaged.
            3 => self.receive(server, &self.last.clone()),
            4 => {
                let mut frame = self.last.clone();
                let at = bytes.short() % frame.len().max(1);
                if let Some(byte) = frame.get_mut(at) {
                    *byte ^= bytes.byte();
                }
                self.receive(server, &frame);
            }
            5 => {
                // An earlier sequence number.
                self.seq[client] = self.seq[client].wrapping_sub(u32::from(bytes.byte() % 8));
            }
            6 | 7 => {
                board::work(server);
            }
            8 => {
                let header = self.header(client);
                self.frame(server, header, &ClientMessage::Hello);
            }
            9 => {
                if let Ok((change, rest)) = postcard::take_from_bytes::<Change>(bytes.0) {
                    bytes.0 = rest;
                    self.ask(server, client, Ask::Change(change), None);
                }
            }
            10 => {
                let at = Some(self.now);
                self.ask(server, client, board::likely(bytes), at);
            }
            11 => {
                let header = self.header(client);
                let session = self.sessions[client];
                let since = u64::from(bytes.byte());
                self.frame(server, header, &ClientMessage::Events { session, since });
            }
            12 => {
                let header = self.header(client);
                let message = ClientMessage::Clock {
                    session: self.sessions[client],
                    since: 0,
                    is_virtual: bytes.byte() & 1 == 0,
                };
                self.frame(server, header, &message);
            }
            13 => {
                if let Ok((query, rest)) = postcard::take_from_bytes::<Query>(bytes.0) {
                    bytes.0 = rest;
                    self.ask(server, client, Ask::Query(query), None);
                }
            }
            _ => self.ask(server, client, board::likely(bytes), None),
        }
        true
    }

    fn header(&mut self, client: usize) -> Header {
        self.seq[client] = self.seq[client].wrapping_add(1);
        Header::new(client as u32, self.seq[client])
    }

    fn ask<K: Keep>(
        &mut self,
        server: &mut Server<'_, K>,
        client: usize,
        ask: Ask,
        at: Option<u64>,
    ) {
        let session = self.sessions[client];
        let message = match ask {
            Ask::Change(change) => ClientMessage::Change {
                session,
                since: 0,
                at,
                change,
            },
            Ask::Query(query) => ClientMessage::Query { session, query },
        };
        let header = self.header(client);
        self.frame(server, header, &message);
    }

    fn frame<K: Keep>(
        &mut self,
        server: &mut Server<'_, K>,
        header: Header,
        message: &impl Serialize,
    ) {
        let mut buffer = ClientFrameBuffer::new();
        if let Ok(frame) = buffer.encode(header, message) {
            self.last = frame.to_vec();
            self.receive(server, frame);
        }
    }

    fn receive<K: Keep>(&mut self, server: &mut Server<'_, K>, bytes: &[u8]) {
        let mut answers = Answers {
            decoder: Decoder::new(),
            sessions: &mut self.sessions,
        };
        let Ok(()) = server.receive(bytes, self.now, &mut answers);
    }
}

/// Reads the answers of a server.
struct Answers<'a> {
    decoder: Decoder<SERVER_CONTENT_MAX>,
    sessions: &'a mut [Session; CLIENTS],
}

impl embedded_io::ErrorType for Answers<'_> {
    type Error = std::convert::Infallible;
}

impl embedded_io::Write for Answers<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        for &byte in bytes {
            let Some(frame) = self.decoder.push(byte) else {
                continue;
            };
            let frame = frame.expect("whole frames");
            assert_eq!(frame.header.version, PROTOCOL_VERSION);
            let message: ServerMessage = postcard::from_bytes(frame.body).expect("a message");
            if let ServerMessage::Hello(Greeting { session, .. }) = message
                && let Some(known) = self.sessions.get_mut(frame.header.client as usize)
            {
                *known = session;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Bytes in place of a message.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        for byte in self.0 {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}
