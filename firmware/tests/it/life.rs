//! A server with a journal, the clients that speak to it, and its resets: [`Life`].

use std::num::NonZeroU64;

use meshalloc::jobs::JobSlot;
use meshalloc::{
    Change, Configuration, Controller, Error, Flags, JobId, Memory, NodeId, Outcome, Pauses,
    Refusal, Request, StrategyKind, Ticks,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::{
    ClientMessage, Events, ProtocolError, Received, Server, ServerMessage, Session,
};

use crate::board::{Board, configuration};
use crate::line::answers;

pub(crate) const REGIONS: usize = 3;
pub(crate) type Kept<const SECTOR: usize> = Durable<MemoryFlash<SECTOR>, REGIONS>;

/// A server with a journal, and the clients that speak to it.
pub(crate) struct Life<const SECTOR: usize> {
    pub(crate) server: Server<'static, Kept<SECTOR>>,
    pub(crate) boot: u64,
    pub(crate) now: Ticks,
    pub(crate) seq: u32,
}

impl<const SECTOR: usize> Life<SECTOR> {
    /// In the memory of a small board.
    pub(crate) fn begin(
        flash: MemoryFlash<SECTOR>,
        boot: u64,
        configuration: Configuration,
    ) -> Self {
        let board = Box::leak(Box::new(Board::new()));
        Self::begin_in(board.memory(), flash, boot, configuration, &Pauses::none())
    }

    pub(crate) fn begin_in(
        memory: Memory<'static>,
        flash: MemoryFlash<SECTOR>,
        boot: u64,
        configuration: Configuration,
        pauses: &Pauses<'_>,
    ) -> Self {
        let controller = Controller::new(memory, configuration).expect("it fits");
        let (journal, recovered) = Journal::open(flash).expect("it has power");
        let server = Server::restored(controller, boot, journal, recovered, pauses);
        Self::of(server, boot)
    }

    /// That of this server.
    pub(crate) fn of(server: Server<'static, Kept<SECTOR>>, boot: u64) -> Self {
        Life {
            server,
            boot,
            now: 0,
            seq: 100 * boot as u32,
        }
    }

    pub(crate) fn into_flash(self) -> MemoryFlash<SECTOR> {
        self.server.into_journal().into_flash()
    }

    /// Sends a frame; returns the answer.
    pub(crate) fn send(&mut self, client: u32, seq: u32, message: &ClientMessage) -> ServerMessage {
        let mut buffer = ClientFrameBuffer::new();
        let header = Header::new(client, seq);
        let frame = buffer.encode(header, message).expect("it fits");
        let mut line = Vec::new();
        self.server
            .receive(frame, self.now, &mut line)
            .expect("a vector takes everything");
        let mut answers = answers(line).into_iter();
        let (_, answer) = answers.next().expect("it answers");
        assert!(answers.next().is_none(), "one frame is answered by one");
        answer
    }

    /// The session of this client, which is opened if it has none.
    pub(crate) fn session(&mut self, client: u32) -> Session {
        self.seq += 1;
        let ServerMessage::Hello(greeting) = self.send(client, self.seq, &ClientMessage::Hello)
        else {
            panic!("a hello is greeted");
        };
        assert_eq!(greeting.session.boot, self.boot);
        greeting.session
    }

    /// This client asks for a virtual clock, or for the server's own.
    pub(crate) fn clock(&mut self, client: u32, is_virtual: bool) -> ServerMessage {
        let message = ClientMessage::Clock {
            session: self.session(client),
            since: u64::MAX,
            is_virtual,
        };
        self.seq += 1;
        let answer = self.send(client, self.seq, &message);
        // Only what has happened meanwhile differs.
        if is_done(&answer) { DONE } else { answer }
    }

    /// The message of a change of this client, whose session is opened if it has none.
    pub(crate) fn message(
        &mut self,
        client: u32,
        change: Change,
        at: Option<Ticks>,
    ) -> ClientMessage {
        ClientMessage::Change {
            session: self.session(client),
            since: 0,
            at,
            change,
        }
    }

    /// Has a change of this client carried out, and all that follows from it.
    pub(crate) fn call(&mut self, client: u32, change: Change, at: Option<Ticks>) -> ServerMessage {
        let message = self.message(client, change, at);
        for _ in 0..3 {
            self.seq += 1;
            let answer = self.send(client, self.seq, &message);
            self.work();
            if !is_busy(&answer) {
                return answer;
            }
            // A change that gives room back never waits for room.
            assert!(!matches!(change, Change::Release { .. } | Change::Reset));
        }
        panic!("it is always busy");
    }

    /// The outcome of a change of client 1.
    pub(crate) fn outcome(&mut self, change: Change) -> Result<Outcome, Error> {
        match self.call(1, change, None) {
            ServerMessage::Outcome { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn work(&mut self) {
        let mut answer = Vec::new();
        let mut port = Received {
            bytes: &[],
            line: &mut answer,
        };
        assert_eq!(self.server.receive_from(self.now, &mut port), Ok(None));
        for _ in 0..1000 {
            if !self.server.has_work() {
                return;
            }
            self.server.work(&mut port).expect("no client has asked");
        }
        panic!("there is always more to do");
    }

    pub(crate) fn let_time_pass(&mut self, now: Ticks) {
        self.now = now;
        self.work();
    }

    pub(crate) fn jobs(&self) -> Vec<u32> {
        let jobs = self.server.controller().jobs();
        (0..1000)
            .filter(|&job| jobs.find(JobId(job)).is_some())
            .collect()
    }

    /// Everything that must be the same after a reset: places of jobs, reservations, leases,
    /// faults, the number of the latest event.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen_with(true)
    }

    /// The same without reservations: outdated ones may have been made anew for a job that never
    /// waits and was refused, and the next change needs them anew, too.
    pub(crate) fn seen_but_for_reservations(&self) -> Vec<String> {
        self.seen_with(false)
    }

    fn seen_with(&self, reservations: bool) -> Vec<String> {
        let controller = self.server.controller();
        let jobs = controller.jobs();
        let (running, queue) = (jobs.running(), jobs.queue());
        let of_job = |job: &JobSlot| {
            let lease = jobs.find(job.id()).and_then(|slot| jobs.lease(slot));
            let blocks: Vec<_> = controller.blocks(job).collect();
            let reserved = reservations.then(|| (job.reserved_from(), job.reserved_block()));
            let tries = (job.attempts(), job.misses(), job.submitted());
            format!(
                "{} {:?} {tries:?} {lease:?} {blocks:?} {reserved:?}",
                job.id(),
                job.request()
            )
        };
        let waiting = queue.slots().map(|slot| queue.get(slot));
        let mut seen: Vec<String> = running.chain(waiting).map(of_job).collect();
        let faulty = |&node: &u32| controller.occupancy().is_faulty(NodeId(node));
        let faulty: Vec<u32> = (0..controller.machine().nodes()).filter(faulty).collect();
        let happened: Vec<_> = controller.view().events_since(0).collect();
        let configuration = controller.configuration();
        let events = controller.events();
        seen.push(format!(
            "{faulty:?} {happened:?} {events} {configuration:?}"
        ));
        seen
    }

    pub(crate) fn sectors_erased(&mut self) -> u32 {
        self.server.journal().sectors_erased()
    }
}

pub(crate) fn is_done(answer: &ServerMessage) -> bool {
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == Ok(Outcome::Done))
}

pub(crate) fn is_busy(answer: &ServerMessage) -> bool {
    let busy = Err(Error::Busy { left: 1 });
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == busy)
}

/// Whether the state has no room for what the command may lead to.
pub(crate) fn is_full(answer: &ServerMessage) -> bool {
    let full = Err(Error::Refused(Refusal::TableFull));
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == full)
}

/// The answer to a granted clock.
pub(crate) const DONE: ServerMessage = ServerMessage::Outcome {
    outcome: Ok(Outcome::Done),
    events: Events {
        list: heapless::Vec::new(),
        latest: 0,
        left: 0,
    },
};

pub(crate) const NOT_KEPT: ServerMessage = ServerMessage::Error(ProtocolError::NotKept);

pub(crate) fn first_fit() -> Configuration {
    configuration(16, 16, StrategyKind::FirstFit)
}

pub(crate) fn lease(job: u32, ticks: Ticks) -> Change {
    Change::Submit {
        job: JobId(job),
        request: Request::submesh(2, 2),
        lease: NonZeroU64::new(ticks),
    }
}

pub(crate) fn renew(job: u32, ticks: Ticks) -> Change {
    Change::Lease {
        job: JobId(job),
        ticks: NonZeroU64::new(ticks),
    }
}

pub(crate) fn never_waits(job: u32, w: u16, h: u16) -> Change {
    let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
    Change::submit(JobId(job), request)
}
