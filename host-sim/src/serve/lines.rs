//! The connections of a server: [`Lines`]. The server sees them as one line, from which whole
//! frames come one after another.
//!
//! ```text
//!   connection ─ thread: frames ──▶ inbox ──▶ Lines::next, the server
//!   connection ◀─ thread ◀── outbox of the connection ◀── sync ◀── Lines::write
//! ```
//!
//! A reply waits until the disk has the change that it reports. While further frames come, the
//! replies to several frames wait together. While the server has work left from a change, frames
//! wait for a while instead of being refused as busy. Everything has a limit: connections, the
//! frames that wait, and the replies that a client has not read. A frame without room waits in its
//! connection, a reply without room is dropped like one that a line has lost.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use embedded_io::ErrorType;
use meshalloc_firmware::board::Serial;
use meshalloc_firmware::frame::{
    CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX, Decoder, SERVER_CONTENT_MAX,
};

/// The most frames that wait for the server.
const FRAMES_MAX: usize = 64;
/// The most replies that wait for a sync.
const REPLIES_MAX: usize = 256;
/// The most replies that wait for a client to read them.
const UNREAD_MAX: usize = 16;
/// The longest time in which a client reads nothing while a reply waits; then it is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The stack of a thread of a connection.
const STACK: usize = 64 * 1024;

/// What a connection tells the server.
enum Happening {
    Opened {
        connection: usize,
        outbox: SyncSender<Vec<u8>>,
    },
    Frame {
        connection: usize,
        /// The client that sent the frame, if the frame is whole.
        client: Option<u32>,
        bytes: Vec<u8>,
    },
    Closed {
        connection: usize,
    },
}

/// A connection, as the server knows it.
struct Connection {
    number: usize,
    /// The client that sent the latest frame over this connection.
    client: Option<u32>,
    outbox: SyncSender<Vec<u8>>,
}

/// What a listener needs to open connections.
#[derive(Clone)]
pub(super) struct Opener {
    inbox: SyncSender<Happening>,
    /// The number of frames in the inbox. It is below 0 for a moment if a frame is taken before its
    /// sender has counted it.
    waiting: Arc<AtomicIsize>,
    open: Arc<AtomicUsize>,
    latest: Arc<AtomicUsize>,
    connections_max: usize,
}

/// The connections of a server.
pub(super) struct Lines<S>(RefCell<State<S>>);

struct State<S> {
    inbox: Receiver<Happening>,
    waiting: Arc<AtomicIsize>,
    connections: Vec<Connection>,
    /// The frame that the server reads, and how much of it it has.
    frame: Vec<u8>,
    read: usize,
    /// Whether the server is at work: frames and replies wait until it has ended.
    is_held: bool,
    /// Replies that wait for a sync, with their connections.
    replies: Vec<(usize, Vec<u8>)>,
    decoder: Box<Decoder<SERVER_CONTENT_MAX>>,
    /// Waits until the disk has everything.
    sync: S,
    failure: Option<io::Error>,
}

/// Lines without connections, of which there will be this number at most. `sync` waits until the
/// disk has everything.
pub(super) fn lines<S: FnMut() -> io::Result<()>>(
    connections_max: usize,
    sync: S,
) -> (Opener, Lines<S>) {
    let (sender, inbox) = sync_channel(FRAMES_MAX);
    let opener = Opener {
        inbox: sender,
        waiting: Arc::default(),
        open: Arc::default(),
        latest: Arc::default(),
        connections_max,
    };
    let state = State {
        inbox,
        waiting: Arc::clone(&opener.waiting),
        connections: Vec::new(),
        frame: Vec::new(),
        read: 0,
        is_held: false,
        replies: Vec::new(),
        decoder: Box::new(Decoder::new()),
        sync,
        failure: None,
    };
    (opener, Lines(RefCell::new(state)))
}

impl<S: FnMut() -> io::Result<()>> Lines<S> {
    /// Waits for a frame, at most for this time.
    pub(super) fn wait(&mut self, timeout: Duration) {
        let state = self.0.get_mut();
        state.acknowledge();
        if let Ok(happening) = state.inbox.recv_timeout(timeout) {
            state.note(happening);
        }
    }

    /// Makes frames and replies wait, or lets them pass again.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.0.get_mut().is_held = is_held;
    }

    /// Sends the replies that wait for a sync.
    pub(super) fn acknowledge(&mut self) {
        self.0.get_mut().acknowledge();
    }

    /// The error of the disk, if a sync has failed. After such an error nothing is sent.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.0.get_mut().failure.take()
    }
}

impl<S: FnMut() -> io::Result<()>> State<S> {
    const fn has_frame(&self) -> bool {
        self.read < self.frame.len()
    }

    fn note(&mut self, happening: Happening) {
        match happening {
            Happening::Opened {
                connection: number,
                outbox,
            } => {
                let client = None;
                self.connections.push(Connection {
                    number,
                    client,
                    outbox,
                });
            }
            Happening::Closed { connection } => {
                self.connections.retain(|open| open.number != connection);
            }
            Happening::Frame {
                connection,
                client,
                bytes,
            } => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                (self.frame, self.read) = (bytes, 0);
                if client.is_none() {
                    return;
                }
                for open in &mut self.connections {
                    if open.number == connection {
                        open.client = client;
                    } else if open.client == client {
                        // The client has connected again.
                        open.client = None;
                    }
                }
            }
        }
    }

    /// Takes frames from the inbox until there is one to read.
    fn fetch(&mut self) {
        if self.replies.len() >= REPLIES_MAX {
            self.acknowledge();
        }
        while !self.has_frame()
            && let Ok(happening) = self.inbox.try_recv()
        {
            self.note(happening);
        }
    }

    /// Sends the replies, once the disk has what they say.
    fn acknowledge(&mut self) {
        if self.replies.is_empty() || self.failure.is_some() {
            return;
        }
        if let Err(error) = (self.sync)() {
            self.failure = Some(error);
            return;
        }
        for (connection, reply) in self.replies.drain(..) {
            let mut open = self.connections.iter();
            if let Some(open) = open.find(|open| open.number == connection) {
                let _ = open.outbox.try_send(reply);
            }
        }
    }
}

impl<S> ErrorType for Lines<S> {
    type Error = Infallible;
}

impl<S: FnMut() -> io::Result<()>> embedded_io::Write for Lines<S> {
    /// Takes the frame of a reply, which goes to the connection of its client.
    fn write(&mut self, frame: &[u8]) -> Result<usize, Infallible> {
        let state = self.0.get_mut();
        let client = client_of(&mut state.decoder, frame);
        let mut open = state.connections.iter();
        if let Some(open) = open.find(|open| client.is_some() && open.client == client) {
            state.replies.push((open.number, frame.to_vec()));
        }
        Ok(frame.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<S: FnMut() -> io::Result<()>> Serial for Lines<S> {
    fn next(&mut self) -> Option<u8> {
        let state = self.0.get_mut();
        if !state.has_frame() {
            if state.is_held {
                return None;
            }
            state.fetch();
        }
        let byte = state.frame.get(state.read).copied();
        match byte {
            Some(_) => state.read += 1,
            None => state.acknowledge(),
        }
        byte
    }

    fn has_next(&self) -> bool {
        let mut state = self.0.borrow_mut();
        let waits = !state.is_held && state.waiting.load(Ordering::Relaxed) > 0;
        let has_next = state.has_frame() || waits;
        if !has_next && !state.is_held {
            state.acknowledge();
        }
        has_next
    }

    fn take_losses(&mut self) -> u32 {
        0
    }

    fn has_sent_all(&mut self) -> bool {
        true
    }

    fn set_baud(&mut self, _: u32) {}
}

/// The client of the last whole frame in these bytes.
fn client_of<const CONTENT: usize>(decoder: &mut Decoder<CONTENT>, bytes: &[u8]) -> Option<u32> {
    let mut client = None;
    for &byte in bytes {
        if let Some(frame) = decoder.push(byte) {
            client = frame.ok().map(|frame| frame.header.client);
        }
    }
    client
}

/// A stream of either kind.
enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Stream {
    fn prepare(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(WRITE_TIMEOUT))
            }
            #[cfg(unix)]
            Stream::Unix(stream) => stream.set_write_timeout(Some(WRITE_TIMEOUT)),
        }
    }

    fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(bytes),
            #[cfg(unix)]
            Stream::Unix(stream) => (&*stream).read(bytes),
        }
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => (&*stream).write_all(bytes),
            #[cfg(unix)]
            Stream::Unix(stream) => (&*stream).write_all(bytes),
        }
    }

    fn close(&self) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Opener {
    /// Opens the connections of a TCP listener, for ever.
    pub(super) fn listen(self, listener: TcpListener) -> io::Result<()> {
        let accept = move || listener.accept().map(|(stream, _)| Stream::Tcp(stream));
        self.accept(accept)
    }

    /// Opens the connections of a Unix socket, for ever.
    #[cfg(unix)]
    pub(super) fn listen_unix(self, listener: UnixListener) -> io::Result<()> {
        let accept = move || listener.accept().map(|(stream, _)| Stream::Unix(stream));
        self.accept(accept)
    }

    fn accept(self, accept: impl Fn() -> io::Result<Stream> + Send + 'static) -> io::Result<()> {
        let accepting = move || {
            loop {
                match accept() {
                    Ok(stream) => self.open(stream),
                    // An error such as too many open files. It may end when other connections
                    // close.
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        };
        thread::Builder::new()
            .stack_size(STACK)
            .spawn(accepting)
            .map(drop)
    }

    /// Serves a stream in threads of its own. One too many is closed.
    fn open(&self, stream: Stream) {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.connections_max {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let opener = self.clone();
        let stream = Arc::new(stream);
        let connection = self.latest.fetch_add(1, Ordering::Relaxed);
        let reading = move || {
            let _ = opener.serve(connection, &stream);
            stream.close();
            let _ = opener.inbox.send(Happening::Closed { connection });
            opener.open.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new()
            .stack_size(STACK)
            .spawn(reading)
            .is_err()
        {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Reads frames until the stream ends.
    fn serve(&self, connection: usize, stream: &Arc<Stream>) -> io::Result<()> {
        stream.prepare()?;
        let (outbox, replies) = sync_channel::<Vec<u8>>(UNREAD_MAX);
        let written = Arc::clone(stream);
        thread::Builder::new().stack_size(STACK).spawn(move || {
            while let Ok(reply) = replies.recv() {
                if written.write_all(&reply).is_err() {
                    // Closing the stream ends the thread that reads, too.
                    written.close();
                    return;
                }
            }
        })?;
        let send = |happening| {
            let sent = self.inbox.send(happening);
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
        };
        send(Happening::Opened { connection, outbox })?;
        let mut decoder = Box::new(Decoder::<CLIENT_CONTENT_MAX>::new());
        // The room for the longest frame. Only the end of a longer frame is kept, which is not a
        // valid frame.
        let mut frame = Vec::with_capacity(CLIENT_FRAME_MAX);
        let mut bytes = [0; 512];
        loop {
            let len = stream.read(&mut bytes)?;
            if len == 0 {
                return Ok(());
            }
            for &byte in &bytes[..len] {
                if frame.len() == CLIENT_FRAME_MAX {
                    frame.clear();
                }
                frame.push(byte);
                if byte != 0 {
                    continue;
                }
                if frame.len() > 1 {
                    let bytes = [&[0], &frame[..]].concat();
                    let client = client_of(&mut decoder, &bytes);
                    send(Happening::Frame {
                        connection,
                        client,
                        bytes,
                    })?;
                    // The frame is counted only now: earlier, the server would look for it in vain.
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                }
                frame.clear();
            }
        }
    }
}
