//! What a server makes of its journal when it starts, and what it does when the journal has no room left.

use std::ops::Range;

use meshalloc::{
    Command, Configuration, Controller, Error, JobId, Memory, Pauses, Refusal, Request,
    SchedulerKind, Storage, StrategyKind, Ticks, View,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Decoder, Header, SERVER_CONTENT_MAX};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::sessions::WINDOW;
use meshalloc_firmware::{
    ClientMessage, Events, Outcome, ProtocolError, Received, Server, ServerMessage, Session,
};

use crate::board::{Board, configuration, release, submit};

const REGIONS: usize = 3;
type Kept<const SECTOR: usize> = Durable<MemoryFlash<SECTOR>, REGIONS>;

/// A server with a journal, and the clients that speak to it.
pub(crate) struct Life<const SECTOR: usize> {
    pub(crate) server: Server<'static, Kept<SECTOR>>,
    boot: u64,
    pub(crate) now: Ticks,
    seq: u32,
}

impl<const SECTOR: usize> Life<SECTOR> {
    /// In the memory of a small board.
    pub(crate) fn begin(
        flash: MemoryFlash<SECTOR>,
        boot: u64,
        configuration: Configuration,
    ) -> Self {
        let board = Box::leak(Box::new(Board::new()));
        Self::begin_in(board.memory(), flash, boot, configuration, &mut ())
    }

    fn begin_in(
        memory: Memory<'static>,
        flash: MemoryFlash<SECTOR>,
        boot: u64,
        configuration: Configuration,
        pauses: &mut dyn Pauses,
    ) -> Self {
        let regions: [Range<u32>; REGIONS] =
            std::array::from_fn(|at| (at * SECTOR) as u32..((at + 1) * SECTOR) as u32);
        let controller = Controller::new(memory, configuration).expect("it fits");
        let (journal, recovered) = Journal::open(flash, &regions).expect("it has power");
        Life {
            server: Server::restored(controller, boot, journal, recovered, pauses),
            boot,
            now: 0,
            seq: 100 * boot as u32,
        }
    }

    pub(crate) fn into_flash(self) -> MemoryFlash<SECTOR> {
        self.server.into_journal().into_flash()
    }

    /// Sends a frame; returns the answer.
    fn send(&mut self, client: u32, seq: u32, message: &ClientMessage) -> ServerMessage {
        let mut buffer = ClientFrameBuffer::new();
        let header = Header::new(client, seq);
        let frame = buffer.encode(header, message).expect("it fits");
        let mut line = Vec::new();
        self.server
            .receive(frame, self.now, &mut line)
            .expect("a vector takes everything");
        let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
        let mut frames = line.into_iter().filter_map(|byte| {
            let frame = decoder.push(byte)?.expect("the server sends whole frames");
            Some(postcard::from_bytes(frame.body).expect("and messages in them"))
        });
        let answer = frames.next().expect("it answers");
        assert!(frames.next().is_none(), "one frame is answered by one");
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

    /// Has this client ask for a virtual clock, or for the server's own.
    pub(crate) fn clock(&mut self, client: u32, is_virtual: bool) -> ServerMessage {
        let message = ClientMessage::Clock {
            session: self.session(client),
            since: u64::MAX,
            is_virtual,
        };
        self.seq += 1;
        match self.send(client, self.seq, &message) {
            // Only what has happened meanwhile differs.
            ServerMessage::Outcome {
                outcome: Outcome::Done,
                ..
            } => DONE,
            other => other,
        }
    }

    /// The message of a command of this client, whose session is opened if it has none.
    fn message(&mut self, client: u32, command: Command, at: Option<Ticks>) -> ClientMessage {
        ClientMessage::Command {
            session: self.session(client),
            since: 0,
            at,
            command,
        }
    }

    /// Has a command of this client carried out, and all that follows from it.
    pub(crate) fn call(
        &mut self,
        client: u32,
        command: Command,
        at: Option<Ticks>,
    ) -> ServerMessage {
        let message = self.message(client, command, at);
        for _ in 0..3 {
            self.seq += 1;
            let answer = self.send(client, self.seq, &message);
            self.work();
            if !is_busy(&answer) {
                return answer;
            }
            // It is counted what room there is; nobody waits for that to give something back.
            assert!(!matches!(command, Command::Release { .. } | Command::Reset));
        }
        panic!("it is always busy");
    }

    /// What a command of client 1 has come to.
    pub(crate) fn outcome(&mut self, command: Command) -> Outcome {
        match self.call(1, command, None) {
            ServerMessage::Outcome { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn work(&mut self) {
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
            self.server.work(&mut port).expect("nobody has asked");
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

    fn sectors_erased(&mut self) -> u32 {
        self.server.journal().sectors_erased()
    }
}

fn is_busy(answer: &ServerMessage) -> bool {
    let busy = Outcome::Error(Error::Busy { left: 1 });
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == busy)
}

/// Whether the state has no room for what the command may lead to.
fn is_full(answer: &ServerMessage) -> bool {
    let full = Outcome::Error(Error::Refused(Refusal::TableFull));
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == full)
}

/// The answer to a clock that is given.
pub(crate) const DONE: ServerMessage = ServerMessage::Outcome {
    outcome: Outcome::Done,
    as_of: 0,
    events: Events {
        list: heapless::Vec::new(),
        latest: 0,
        left: 0,
    },
};

const NOT_KEPT: ServerMessage = ServerMessage::Error(ProtocolError::NotKept);

pub(crate) fn first_fit() -> Configuration {
    configuration(16, 16, StrategyKind::FirstFit)
}

pub(crate) fn lease(job: u32, ticks: Ticks) -> Command {
    Command::SubmitLeased {
        job: JobId(job),
        request: Request::submesh(2, 2),
        ticks,
    }
}

#[test]
fn whoever_waits_is_told_of_the_progress_of_a_restore() {
    struct Count(u32, u32);
    impl Pauses for Count {
        fn worked(&mut self, instructions: u32, _: &View<'_, '_>) {
            self.0 += 1;
            self.1 = self.1.max(instructions);
        }
    }
    let conservative = Configuration {
        scheduler: SchedulerKind::Conservative,
        ..configuration(16, 16, StrategyKind::FreeSubmeshList)
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, conservative);
    let commands = 20;
    for job in 0..commands {
        let request = Request::submesh(9, 9).with_estimate(10);
        let job = JobId(job);
        life.outcome(Command::Submit { job, request });
    }
    let before = life.jobs();
    let board = Box::leak(Box::new(Board::new()));
    let mut count = Count(0, 0);
    let life = Life::begin_in(
        board.memory(),
        life.into_flash(),
        2,
        conservative,
        &mut count,
    );
    assert_eq!(life.jobs(), before);
    // Once behind every record, and within the reservations.
    assert!(count.0 > 2 * commands, "{} times", count.0);
    assert!(count.1 < 1_000_000, "{} instructions", count.1);
}

#[test]
fn a_journal_that_cannot_be_read_stays_until_something_is_changed() {
    type Small = Storage<16, 4, 32, 256, 256>;
    let small = |flash, boot| {
        let memory = Box::leak(Box::new(Small::new())).memory();
        Life::begin_in(memory, flash, boot, first_fit(), &mut ())
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    for job in 0..10 {
        life.outcome(submit(job, 2, 2));
    }
    // No room for so many jobs.
    let life = small(life.into_flash(), 2);
    assert!(matches!(life.server.origin(), Origin::Damaged { .. }));
    assert_eq!(life.jobs(), []);
    // The one who had written it reads it.
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), (0..10).collect::<Vec<u32>>());
    // What is acknowledged from then on is not lost, nor behind what cannot be read.
    let mut life = small(life.into_flash(), 4);
    life.outcome(submit(77, 2, 2));
    let life = small(life.into_flash(), 5);
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), [77]);
    // With more room what was refused might be granted.
    let life = Life::begin(life.into_flash(), 6, first_fit());
    assert!(matches!(life.server.origin(), Origin::Damaged { .. }));
    assert_eq!(life.jobs(), []);
}

/// A job whose description is long.
fn long(job: u32) -> Command {
    Command::Submit {
        job: JobId(job),
        request: Request::submesh(2, 2).with_estimate(1 << 60),
    }
}

/// A server whose state has no room for another job, and the next job to submit.
fn full() -> (Life<1024>, u32) {
    let mut life = Life::begin(MemoryFlash::new(3), 1, first_fit());
    let mut job = 0;
    while !is_full(&life.call(1, long(job), None)) {
        job += 1;
        assert!(job < 24, "there is always room");
    }
    (life, job)
}

#[test]
fn a_full_state_becomes_smaller_whatever_comes_before() {
    let (mut life, next) = full();
    assert_eq!(life.jobs(), (0..next).collect::<Vec<u32>>());
    let erased = life.sectors_erased();
    assert!(is_full(&life.call(1, long(next), None)));
    assert!(is_full(&life.call(2, long(next), None)));
    assert_eq!(life.sectors_erased(), erased, "no sector is erased in vain");
    // It is the same after a reset.
    let mut life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.jobs(), (0..next).collect::<Vec<u32>>());
    assert!(is_full(&life.call(1, long(next), None)));
    // Records that change nothing take room as well.
    for _ in 0..200 {
        assert_eq!(
            life.outcome(release(500)),
            Outcome::Error(Error::UnknownJob)
        );
    }
    for job in 0..next {
        let processors = 4;
        let expected = Outcome::Released {
            job: JobId(job),
            processors,
        };
        assert_eq!(life.outcome(release(job)), expected);
    }
    assert!(matches!(
        life.outcome(long(next)),
        Outcome::Submitted { .. }
    ));
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [next]);
}

/// The count of the room is work between frames: whoever needs it is told that the server is busy, and others are served.
#[test]
fn what_room_there_is_is_counted_between_frames() {
    let (mut life, next) = full();
    assert!(matches!(life.outcome(release(0)), Outcome::Released { .. }));
    let submit = life.message(1, long(next), None);
    let send = |life: &mut Life<1024>, client, message: &ClientMessage| {
        life.seq += 1;
        life.send(client, life.seq, message)
    };
    let left = |answer| match answer {
        ServerMessage::Events(events) => events.left,
        other => panic!("{other:?}"),
    };
    let ask = |life: &mut Life<1024>| {
        let message = life.message(2, Command::Reset, None);
        let ClientMessage::Command { session, since, .. } = message else {
            panic!("{message:?}");
        };
        ClientMessage::Events { session, since }
    };
    let events = ask(&mut life);
    assert_eq!(left(send(&mut life, 2, &events)), 0);
    assert!(is_busy(&send(&mut life, 1, &submit)));
    assert_eq!(left(send(&mut life, 2, &events)), 1, "there is work");
    assert!(is_busy(&send(&mut life, 1, &submit)));
    life.work();
    assert_eq!(left(send(&mut life, 2, &events)), 0);
    let answer = send(&mut life, 1, &submit);
    let expected = JobId(next);
    assert!(
        matches!(answer, ServerMessage::Outcome { outcome: Outcome::Submitted { job, .. }, .. } if job == expected),
        "{answer:?}"
    );
}

/// Jobs whose processors are granted one by one, and that wait first.
#[test]
fn what_waiting_jobs_will_hold_has_room_before_they_hold_it() {
    let scattered = configuration(16, 16, StrategyKind::Naive);
    let mut life = Life::begin(MemoryFlash::<2048>::new(3), 1, scattered);
    life.outcome(submit(0, 16, 16));
    let mut job = 1;
    while !is_full(&life.call(1, submit(job, 5, 5), None)) {
        job += 1;
        assert!(job < 64, "there is always room");
    }
    for _ in 0..200 {
        assert_eq!(
            life.outcome(release(500)),
            Outcome::Error(Error::UnknownJob)
        );
    }
    for job in 0..job {
        assert!(matches!(
            life.outcome(release(job)),
            Outcome::Released { .. }
        ));
    }
    assert_eq!(life.jobs(), []);
}

/// As README says: as many jobs as a board's sectors have room for, the first on the whole machine, and all of them released again.
#[test]
fn sectors_of_a_board_have_room_for_so_many_jobs() {
    let short = |job| submit(job, 16, 16);
    let long = |job| Command::SubmitLeased {
        job: JobId(job),
        request: Request::submesh(16, 16).with_estimate(1 << 60),
        ticks: 1 << 60,
    };
    for (strategy, command, first, expected) in [
        (
            StrategyKind::FirstFit,
            &short as &dyn Fn(u32) -> Command,
            0,
            256,
        ),
        (StrategyKind::FirstFit, &long, 1 << 28, 157),
        (StrategyKind::Naive, &short, 0, 56),
        (StrategyKind::Naive, &long, 1 << 28, 31),
    ] {
        let storage = Storage::<256, 256, 256, 4096, 4096>::new();
        let board = Box::leak(Box::new(storage));
        let mut life = Life::<{ 16 * 1024 }>::begin_in(
            board.memory(),
            MemoryFlash::new(3),
            1,
            configuration(64, 64, strategy),
            &mut (),
        );
        life.outcome(submit(first, 64, 64));
        let more = first + 1..first + 256;
        let waiting = more.take_while(|&job| !is_full(&life.call(1, command(job), None)));
        let jobs = 1 + waiting.count() as u32;
        assert_eq!(jobs, expected, "{strategy}");
        for job in first..first + jobs {
            let outcome = life.outcome(release(job));
            assert!(
                matches!(outcome, Outcome::Released { .. }),
                "{strategy}: {job}"
            );
        }
    }
}

/// No commands lead to such a state, but another image may have left it.
#[test]
fn a_reset_makes_room_for_a_state_that_has_none() {
    let regions: [Range<u32>; REGIONS] =
        std::array::from_fn(|at| at as u32 * 1024..(at as u32 + 1) * 1024);
    let board = Box::leak(Box::new(Board::new()));
    let mut controller = Controller::new(board.memory(), first_fit()).expect("it fits");
    for job in 0..24 {
        let request = Request::submesh(2, 2).with_estimate(1 << 60);
        let submitted = controller.submit(JobId(job), request, 0, &mut |_| ());
        assert!(submitted.is_ok(), "{submitted:?}");
    }
    let (journal, recovered) = Journal::open(MemoryFlash::new(3), &regions).expect("it has power");
    let mut life = Life::<1024> {
        server: Server::restored(controller, 1, journal, recovered, &mut ()),
        boot: 1,
        now: 0,
        seq: 0,
    };
    assert_eq!(life.call(1, release(0), None), NOT_KEPT);
    assert_eq!(life.jobs().len(), 24);
    assert_eq!(life.outcome(Command::Reset), Outcome::Done);
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), []);
}

/// That no lease is left makes room, although to renew one does not.
#[test]
fn leases_that_are_taken_away_make_room() {
    let mut life = Life::begin(MemoryFlash::<1024>::new(3), 1, first_fit());
    let full = (0..24).find(|&job| is_full(&life.call(1, lease(job, 1 << 60), None)));
    let full = full.expect("there is not always room");
    let ticks = 0;
    for job in (0..full).map(JobId) {
        assert_eq!(life.outcome(Command::Lease { job, ticks }), Outcome::Done);
    }
    let answer = life.outcome(submit(full, 2, 2));
    assert!(matches!(answer, Outcome::Submitted { .. }), "{answer:?}");
}

#[test]
fn leases_of_a_full_state_end() {
    let mut life = Life::begin(MemoryFlash::<1024>::new(3), 1, first_fit());
    let mut job = 0;
    while !is_full(&life.call(1, lease(job, 1000), None)) {
        job += 1;
        assert!(job < 24, "there is always room");
    }
    // Renewals take room for records, but none of the state.
    for _ in 0..200 {
        let renewal = Command::Lease {
            job: JobId(0),
            ticks: 1000,
        };
        assert_eq!(life.outcome(renewal), Outcome::Done);
    }
    life.let_time_pass(5000);
    assert_eq!(life.jobs(), []);
}

/// Everything is as long as it becomes: jobs, their times, sessions.
#[test]
fn a_full_state_has_room_for_long_times_and_other_clients() {
    let (mut life, mut next) = (Life::<1024>::begin(MemoryFlash::new(3), 1, first_fit()), 0);
    while !is_full(&life.call(1, submit(next, 1, 1), None)) {
        next += 1;
        assert!(next < 30, "there is always room");
    }
    next -= 1;
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, release(next), Some(1 << 42));
    for client in u32::MAX - 2..=u32::MAX {
        for job in u32::MAX - 3..=u32::MAX {
            life.call(client, release(job), None);
        }
    }
    for _ in 0..200 {
        let unknown = Outcome::Error(Error::UnknownJob);
        assert_eq!(life.outcome(release(500)), unknown);
    }
    assert!(matches!(life.outcome(release(0)), Outcome::Released { .. }));
    assert_eq!(life.jobs(), (1..next).collect::<Vec<u32>>());
    assert_eq!(life.outcome(Command::Reset), Outcome::Done);
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), []);
}

#[test]
fn a_late_copy_of_what_had_no_room_is_not_carried_out() {
    let (mut life, next) = full();
    let message = life.message(1, long(next), None);
    life.seq += 1;
    let seq = life.seq;
    assert!(is_full(&life.send(1, seq, &message)));
    life.work();
    for job in 0..next / 2 {
        life.call(2, release(job), None);
    }
    assert!(is_full(&life.send(1, seq, &message)));
    life.session(1);
    for _ in 0..WINDOW {
        life.call(1, release(500), None);
    }
    let too_old = ServerMessage::Error(ProtocolError::TooOld);
    assert_eq!(life.send(1, seq, &message), too_old);
    assert!(!life.jobs().contains(&next));
}

#[test]
fn a_journal_that_is_not_to_be_read_stays_until_something_is_changed() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    life.outcome(submit(1, 2, 2));
    let regions: [Range<u32>; REGIONS] =
        std::array::from_fn(|at| at as u32 * 4096..(at as u32 + 1) * 4096);
    let unread = |flash, boot| {
        let board = Box::leak(Box::new(Board::new()));
        let controller = Controller::new(board.memory(), first_fit()).expect("it fits");
        let (journal, _) = Journal::open(flash, &regions).expect("it has power");
        let mut server = Server::unrestored(controller, boot, journal);
        server.leave_unread();
        assert!(matches!(server.origin(), Origin::Damaged { .. }));
        assert!(!server.has_work());
        Life {
            server,
            boot,
            now: 0,
            seq: 100 * boot as u32,
        }
    };
    let life = unread(life.into_flash(), 2);
    assert_eq!(life.jobs(), []);
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [1]);
    let mut life = unread(life.into_flash(), 4);
    life.outcome(submit(2, 2, 2));
    let life = Life::begin(life.into_flash(), 5, first_fit());
    assert_eq!(life.jobs(), [2]);
}
