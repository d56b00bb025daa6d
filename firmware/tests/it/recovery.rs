//! How a server restores its journal at the start, and what it refuses when the journal has no room
//! left.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::ops::Range;

use meshalloc::jobs::JobSlot;
use meshalloc::{
    Answer, Change, Configuration, Controller, Error, Flags, JobId, Memory, NodeId, Outcome,
    Pauses, Query, Refusal, Request, SchedulerKind, Storage, StrategyKind, Submesh, Ticks, View,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Decoder, Header, SERVER_CONTENT_MAX};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::sessions::WINDOW;
use meshalloc_firmware::{
    ClientMessage, Events, ProtocolError, Received, Server, ServerMessage, Session,
};

use crate::board::{Board, configuration, release, submit};
use crate::line::Random;
use crate::session::SCHEDULERS;

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
        Self::begin_in(board.memory(), flash, boot, configuration, &Pauses::none())
    }

    fn begin_in(
        memory: Memory<'static>,
        flash: MemoryFlash<SECTOR>,
        boot: u64,
        configuration: Configuration,
        pauses: &Pauses<'_>,
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

    /// This client asks for a virtual clock, or for the server's own.
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
                outcome: Ok(Outcome::Done),
                ..
            } => DONE,
            other => other,
        }
    }

    /// The message of a change of this client, whose session is opened if it has none.
    fn message(&mut self, client: u32, change: Change, at: Option<Ticks>) -> ClientMessage {
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
    fn seen(&self) -> Vec<String> {
        let controller = self.server.controller();
        let jobs = controller.jobs();
        let (running, queue) = (jobs.running(), jobs.queue());
        let of_job = |job: &JobSlot| {
            let lease = jobs.find(job.id()).and_then(|slot| jobs.lease(slot));
            let blocks: Vec<_> = controller.blocks(job).collect();
            let reserved = (job.reserved_from(), job.reserved_block());
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

    fn sectors_erased(&mut self) -> u32 {
        self.server.journal().sectors_erased()
    }
}

fn is_busy(answer: &ServerMessage) -> bool {
    let busy = Err(Error::Busy { left: 1 });
    matches!(answer, ServerMessage::Outcome { outcome, .. } if *outcome == busy)
}

/// Whether the state has no room for what the command may lead to.
fn is_full(answer: &ServerMessage) -> bool {
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

const NOT_KEPT: ServerMessage = ServerMessage::Error(ProtocolError::NotKept);

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

#[test]
fn a_restore_reports_its_progress() {
    let conservative = Configuration {
        scheduler: SchedulerKind::Conservative,
        ..configuration(16, 16, StrategyKind::FreeSubmeshList)
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, conservative);
    let commands = 20;
    for job in 0..commands {
        let request = Request::submesh(9, 9).with_estimate(10);
        let job = JobId(job);
        life.call(1, Change::submit(job, request), None);
    }
    let before = life.jobs();
    let board = Box::leak(Box::new(Board::new()));
    let (times, most) = (Cell::new(0), Cell::new(0));
    let count = |instructions, _: &View<'_, '_>| {
        times.set(times.get() + 1);
        most.set(most.get().max(instructions));
    };
    let life = Life::begin_in(
        board.memory(),
        life.into_flash(),
        2,
        conservative,
        &Pauses::new(1_000, &count),
    );
    assert_eq!(life.jobs(), before);
    // Once behind every record, and within the reservations.
    assert!(times.get() > 2 * commands, "{times:?} times");
    assert!(most.get() < 500_000, "{most:?} instructions");
}

const UNREAD: ServerMessage = ServerMessage::Error(ProtocolError::Unread);

/// A state that was not read is kept until a Reset, whatever clients send.
#[test]
fn a_journal_that_cannot_be_read_stays_until_a_reset() {
    type Small = Storage<16, 4, 32, 256, 256>;
    let small = |flash, boot| {
        let memory = Box::leak(Box::new(Small::new())).memory();
        Life::begin_in(memory, flash, boot, first_fit(), &Pauses::none())
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    for job in 0..10 {
        life.call(1, submit(job, 2, 2), None);
    }
    // No room for this number of jobs.
    let mut life = small(life.into_flash(), 2);
    assert_eq!(life.server.origin(), Origin::Unread);
    assert_eq!(life.jobs(), []);
    stays_unread(&mut life);
    // The image that wrote it reads it.
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), (0..10).collect::<Vec<u32>>());
    // Commands acknowledged after a Reset are not lost, also behind an unread state.
    let mut life = small(life.into_flash(), 4);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    assert_eq!(life.server.origin(), Origin::New);
    life.call(1, submit(77, 2, 2), None);
    let life = small(life.into_flash(), 5);
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), [77]);
    // So does one with more room.
    let life = Life::begin(life.into_flash(), 6, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), [77]);
}

/// Every command that may change something is refused, and not a word is written.
fn stays_unread<const SECTOR: usize>(life: &mut Life<SECTOR>) {
    let steps = life.server.journal().flash_mut().steps();
    let block = Submesh::new(0, 0, 1, 1).into();
    let job = JobId(1);
    for command in [
        submit(1, 2, 2),
        lease(1, 10),
        release(1),
        Change::Lease {
            job,
            ticks: NonZeroU64::new(5),
        },
        Change::EndLease { job },
        Change::MarkFaulty { block },
        Change::ClearFaulty { block },
        Change::Configure(first_fit()),
    ] {
        assert_eq!(life.call(1, command, None), UNREAD, "{command:?}");
        // A copy is not carried out either.
        let message = life.message(1, command, None);
        life.seq += 1;
        let seq = life.seq;
        assert_eq!(life.send(1, seq, &message), UNREAD);
        let too_old = ServerMessage::Error(ProtocolError::TooOld);
        assert_eq!(life.send(1, seq, &message), too_old);
    }
    life.let_time_pass(1_000);
    assert!(!life.server.has_work());
    assert_eq!(life.server.journal().flash_mut().steps(), steps);
    assert_eq!(life.server.origin(), Origin::Unread);
}

/// Lists the jobs and calls `between` between two parts.
fn list(life: &mut Life<4096>, mut between: impl FnMut(&mut Life<4096>)) -> Vec<u32> {
    let mut jobs = Vec::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let ClientMessage::Change { session, .. } = life.message(3, Change::Reset, None) else {
            unreachable!();
        };
        let query = Query::Jobs { on: None, from };
        life.seq += 1;
        let answer = life.send(3, life.seq, &ClientMessage::Query { session, query });
        let ServerMessage::Answer(Ok(Answer::Jobs(list))) = answer else {
            panic!("{answer:?}");
        };
        jobs.extend(list.jobs.iter().map(|(job, _)| job.0));
        next = list.next;
        between(life);
    }
    jobs
}

/// As PROTOCOL.md says: a job that is there all the time is listed once, in an order that a reset
/// keeps.
#[test]
fn jobs_that_stay_are_listed_once_and_in_the_same_order() {
    for released in 1..24 {
        let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
        for job in 0..24 {
            life.call(1, submit(job, 3, 3), None);
        }
        for job in [released, 0, 13] {
            life.call(1, release(job), None);
        }
        life.call(1, submit(30, 1, 1), None);
        let order = list(&mut life, |_| ());
        let mut all = order.clone();
        all.sort_unstable();
        assert_eq!(all, life.jobs());
        // Others come and go between the parts.
        let mut job = 100;
        let seen = list(&mut life, |life| {
            life.call(1, submit(job, 1, 1), None);
            life.call(1, release(30), None);
            life.call(1, release(job - 1), None);
            job += 1;
        });
        let stays = |job: &&u32| **job < 30;
        let stayed: Vec<&u32> = seen.iter().filter(stays).collect();
        assert_eq!(stayed, order.iter().filter(stays).collect::<Vec<_>>());
        let before = list(&mut life, |_| ());
        let mut life = Life::begin(life.into_flash(), 2, first_fit());
        assert_eq!(list(&mut life, |_| ()), before);
    }
}

/// Wherever the power is cut while a Reset discards an unread state, that state is there or the
/// machine is empty.
#[test]
fn a_cut_while_a_state_is_discarded_leaves_it_or_none() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    for job in 0..10 {
        life.call(1, submit(job, 2, 2), None);
    }
    let flash = life.into_flash();
    let (mut kept, mut discarded) = (0, 0);
    for step in 0.. {
        let mut life = unread(flash.clone(), 2);
        life.server
            .journal()
            .flash_mut()
            .cut_power_after(step, step);
        let answer = life.call(1, Change::Reset, None);
        let is_done = matches!(
            answer,
            ServerMessage::Outcome {
                outcome: Ok(Outcome::Done),
                ..
            }
        );
        let mut flash = life.into_flash();
        flash.power_on();
        let life = Life::begin(flash, 3, first_fit());
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
        match life.jobs().len() {
            10 => kept += 1,
            0 => discarded += 1,
            other => panic!("step {step}: {other} jobs"),
        }
        assert!(!is_done || life.jobs().is_empty(), "step {step}");
        if is_done {
            break;
        }
    }
    assert!(
        kept > 5 && discarded > 0,
        "{kept} kept, {discarded} discarded"
    );
}

/// An image with other strategies, with room for more jobs, blocks and list entries, and one that
/// has no more room than the state takes read the journal of a smaller one, and its records.
#[test]
fn the_contents_of_the_state_decide_which_image_reads_it() {
    type Small = Storage<16, 12, 32, 12, 0>;
    let mut life: Life<4096> = Life::begin_in(
        Box::leak(Box::new(Small::new())).memory(),
        MemoryFlash::new(3),
        1,
        first_fit(),
        &Pauses::none(),
    );
    let table_is_full = Err(Error::Refused(Refusal::TableFull));
    for job in 0..12 {
        life.call(1, submit(job, 5, 5), None);
    }
    assert_eq!(life.outcome(submit(12, 1, 1)), table_is_full);
    for job in 0..8 {
        life.call(1, release(job), None);
    }
    life.call(1, submit(13, 2, 2), None);
    let seen = life.seen();
    let flash = life.into_flash();
    let of_same_room = |memory, flash: &MemoryFlash<4096>| {
        let life = Life::begin_in(memory, flash.clone(), 2, first_fit(), &Pauses::none());
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
        assert_eq!(life.seen(), seen);
    };
    of_same_room(Box::leak(Box::new(Board::new())).memory(), &flash);
    type Large = Storage<128, 256, 512, 4096, 4096>;
    of_same_room(Box::leak(Box::new(Large::new())).memory(), &flash);
    // There is room for all but one of the 12 jobs that were present at a time.
    type Least = Storage<16, 11, 32, 11, 0>;
    let memory = Box::leak(Box::new(Least::new())).memory();
    let mut life = Life::begin_in(memory, flash.clone(), 3, first_fit(), &Pauses::none());
    assert_eq!(life.server.origin(), Origin::Unread);
    stays_unread(&mut life);
    of_same_room(
        Box::leak(Box::new(Small::new())).memory(),
        &life.into_flash(),
    );
}

/// A strategy that remembers the latest requests also remembers one for which the table had no
/// room. With more room the record does not tell whether it was refused.
#[test]
fn records_of_remembered_requests_need_the_same_table() {
    type Small = Storage<16, 12, 4096, 256, 256>;
    type More = Storage<16, 13, 4096, 256, 4096>;
    type OtherList = Storage<32, 12, 8192, 512, 512>;
    let strategy = StrategyKind::LeastExpectedBlocking { budget: 8 };
    let configuration = configuration(16, 16, strategy);
    let begin = |memory, flash, boot| -> Life<4096> {
        Life::begin_in(memory, flash, boot, configuration, &Pauses::none())
    };
    let small = || Box::leak(Box::new(Small::new())).memory();
    let mut life = begin(small(), MemoryFlash::new(3), 1);
    for job in 0..12 {
        life.call(1, submit(job, 5, 5), None);
    }
    let steps = life.server.journal().flash_mut().steps();
    let full = Err(Error::Refused(Refusal::TableFull));
    assert_eq!(life.outcome(submit(12, 9, 1)), full);
    assert!(life.server.journal().flash_mut().steps() > steps);
    life.call(1, release(3), None);
    life.call(1, submit(14, 2, 3), None);
    let (seen, flash) = (life.seen(), life.into_flash());
    let other_list = Box::leak(Box::new(OtherList::new())).memory();
    for memory in [small(), other_list] {
        let life = begin(memory, flash.clone(), 2);
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
        assert_eq!(life.seen(), seen);
    }
    let more = Box::leak(Box::new(More::new())).memory();
    assert_eq!(begin(more, flash, 3).server.origin(), Origin::Unread);
}

/// Commands that are refused or change nothing write and erase nothing, however often they come.
/// The state after a reset is the one before.
#[test]
fn commands_that_change_nothing_are_not_written() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    let marked = |x| Submesh::new(x, 0, 1, 1).into();
    life.call(1, Change::MarkFaulty { block: marked(15) }, None);
    life.call(1, lease(0, 1 << 40), None);
    life.call(1, submit(1, 16, 8), None);
    life.call(1, submit(2, 16, 16), None);
    for job in 3..24 {
        life.call(1, submit(job, 16, 9), None);
    }
    let seen = life.seen();
    let never_waits = |job, w, h| {
        Change::submit(
            JobId(job),
            Request::submesh(w, h).with_flags(Flags::NO_WAIT),
        )
    };
    let mesh = configuration(64, 64, StrategyKind::FirstFit);
    let job = JobId(1);
    let outside = Submesh::new(15, 15, 2, 2).into();
    let refused = [
        release(500),
        submit(1, 1, 1),
        submit(500, 0, 1),
        submit(500, 17, 1),
        // The table is full.
        submit(500, 1, 1),
        never_waits(500, 1, 1),
        lease(500, 7),
        Change::Lease {
            job: JobId(500),
            ticks: NonZeroU64::new(7),
        },
        Change::EndLease { job: JobId(0) },
        Change::EndLease { job },
        Change::MarkFaulty { block: outside },
        Change::ClearFaulty { block: outside },
        Change::Configure(first_fit()),
        Change::Configure(mesh),
    ];
    let idle = [
        Change::MarkFaulty { block: marked(15) },
        Change::ClearFaulty { block: marked(14) },
        Change::Lease {
            job,
            ticks: NonZeroU64::new(0),
        },
    ];
    let steps = life.server.journal().flash_mut().steps();
    for _ in 0..200 {
        life.now += 1;
        for command in refused {
            let outcome = life.outcome(command);
            assert!(outcome.is_err(), "{command:?}: {outcome:?}");
        }
        for command in idle {
            let outcome = life.outcome(command);
            assert!(outcome.is_ok(), "{command:?}: {outcome:?}");
        }
    }
    // Jobs that never wait are refused by their attempts, of which some fail for want of a place.
    life.call(1, release(23), None);
    let released = life.server.journal().flash_mut().steps();
    assert!(released > steps);
    for (w, h) in [(16, 8), (1, 1)] {
        for _ in 0..200 {
            let outcome = life.outcome(never_waits(500, w, h));
            assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
        }
    }
    assert_eq!(life.server.journal().flash_mut().steps(), released);
    assert_eq!(life.sectors_erased(), 0);
    // One that is granted is written.
    life.call(1, Change::Reset, None);
    let steps = life.server.journal().flash_mut().steps();
    let outcome = life.outcome(never_waits(500, 2, 2));
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(life.server.journal().flash_mut().steps() > steps);
    let granted = life.seen();
    assert_ne!(granted, seen);
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.seen(), granted);
}

/// After any commands, many of which change nothing and are not written, the state that is restored
/// is the one before: in the same memory and in a larger one.
#[test]
fn the_restored_state_is_the_one_before_also_after_refusals() {
    type Larger = Storage<64, 40, 4096, 512, 512>;
    let foresight = StrategyKind::LeastExpectedBlocking { budget: 8 };
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::Random { seed: 3 },
        StrategyKind::FreeSubmeshList,
        StrategyKind::Neighbor,
        foresight,
    ];
    let mut refused = 0;
    for (seed, strategy) in (1..).zip(strategies) {
        for scheduler in SCHEDULERS {
            let configuration = Configuration {
                scheduler,
                ..configuration(12, 12, strategy)
            };
            let mut random = Random(seed);
            type Small = Storage<16, 10, 4096, 256, 256>;
            let memory = || Box::leak(Box::new(Small::new())).memory();
            let flash = MemoryFlash::<8192>::new(3);
            let mut life = Life::begin_in(memory(), flash, 1, configuration, &Pauses::none());
            for given in 0..150 {
                life.let_time_pass(life.now + random.below(20) as u64);
                let client = 1 + random.below(3) as u32;
                let answer = life.call(client, some_command(&mut random), None);
                refused += u32::from(matches!(
                    answer,
                    ServerMessage::Outcome {
                        outcome: Err(_),
                        ..
                    }
                ));
                if !random.once_in(10) {
                    continue;
                }
                let seen = life.seen();
                let flash = life.server.journal().flash_mut().clone();
                let larger = Box::leak(Box::new(Larger::new())).memory();
                let memories = match strategy == foresight {
                    true => vec![memory()],
                    false => vec![memory(), larger],
                };
                for memory in memories {
                    let again =
                        Life::begin_in(memory, flash.clone(), 2, configuration, &Pauses::none());
                    let context = format!("{configuration:?}, {given}");
                    let origin = again.server.origin();
                    assert!(
                        matches!(origin, Origin::Restored { .. }),
                        "{context}: {origin:?}"
                    );
                    assert_eq!(again.seen(), seen, "{context}");
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused} refused");
}

fn some_command(random: &mut Random) -> Change {
    let job = JobId(random.below(16) as u32);
    let mut side = |most| 1 + random.below(most) as u16;
    let (x, y) = (side(12) - 1, side(12) - 1);
    let block = Submesh::new(x, y, side(2), side(2)).into();
    let request = Request::submesh(side(8), side(8));
    let request = request.with_estimate(side(100).into());
    let request = match random.once_in(3) {
        true => request.with_flags(Flags::NO_WAIT),
        false => request,
    };
    let ticks = random.below(300) as u64;
    match random.below(20) {
        0..8 => Change::submit(job, request),
        8..10 => Change::Submit {
            job,
            request,
            lease: NonZeroU64::new(ticks),
        },
        10..15 => Change::Release { job },
        15 => Change::Lease {
            job,
            ticks: NonZeroU64::new(ticks),
        },
        16 => Change::EndLease { job },
        17 => Change::MarkFaulty { block },
        18 => Change::ClearFaulty { block },
        _ => Change::Configure(first_fit()),
    }
}

/// A client that sends a time advances the clock, also by a command that changes nothing else.
#[test]
fn a_clock_that_a_client_has_advanced_is_kept() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    let block = Submesh::new(0, 0, 1, 1).into();
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, Change::ClearFaulty { block }, Some(700));
    let mut life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at: 700 });
    // A command that is not written down may advance the clock beyond the time of the next one.
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, release(9), Some(900));
    life.call(1, submit(3, 1, 1), Some(0));
    assert_eq!(
        life.outcome(release(3)),
        Ok(Outcome::Released { processors: 1 })
    );
    let at = life.server.controller().clock();
    let seen = life.seen();
    let mut life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at });
    assert_eq!(life.seen(), seen);
    // That of the server goes on by itself. A lease that is given behind it has the time at which
    // it was given.
    life.call(1, release(9), None);
    life.call(1, lease(1, 100), None);
    life.now = 50;
    life.call(1, Change::ClearFaulty { block }, None);
    assert_eq!(life.server.controller().clock(), at + 50);
    life.call(1, submit(2, 2, 2), None);
    let (at, seen) = (life.server.controller().clock(), life.seen());
    let life = Life::begin(life.into_flash(), 4, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at });
    assert_eq!(life.seen(), seen);
}

/// A job whose description is long.
fn long(job: u32) -> Change {
    Change::submit(JobId(job), Request::submesh(2, 2).with_estimate(1 << 60))
}

/// Renews the lease of job 0 until checkpoints have been due several times: records that make the
/// state no longer.
fn fill<const SECTOR: usize>(life: &mut Life<SECTOR>) {
    let erased = life.sectors_erased();
    let job = JobId(0);
    for ticks in 0..200 {
        let ticks = (1 << 60) + ticks;
        assert_eq!(
            life.outcome(Change::Lease {
                job,
                ticks: NonZeroU64::new(ticks)
            }),
            Ok(Outcome::Done)
        );
    }
    assert!(life.sectors_erased() > erased);
}

/// A server whose state has no room for another job, and the next job to submit.
fn full() -> (Life<1024>, u32) {
    let mut life = Life::begin(MemoryFlash::new(3), 1, first_fit());
    life.call(1, lease(0, 1 << 60), None);
    let mut job = 1;
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
    // Renewals take room for records.
    fill(&mut life);
    for job in 0..next {
        let expected = Ok(Outcome::Released { processors: 4 });
        assert_eq!(life.outcome(release(job)), expected);
    }
    assert_eq!(life.outcome(long(next)), Ok(Outcome::Done));
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [next]);
}

/// The server counts the room between frames: commands that need the count are answered with Busy,
/// others are carried out.
#[test]
fn room_is_counted_between_frames() {
    let (mut life, next) = full();
    assert!(life.outcome(release(0)).is_ok());
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
        let message = life.message(2, Change::Reset, None);
        let ClientMessage::Change { session, since, .. } = message else {
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
    assert!(
        matches!(
            answer,
            ServerMessage::Outcome {
                outcome: Ok(Outcome::Done),
                ..
            }
        ),
        "{answer:?}"
    );
}

/// Jobs whose processors are granted one by one, and that wait first.
#[test]
fn what_waiting_jobs_will_hold_has_room_before_they_hold_it() {
    let scattered = configuration(16, 16, StrategyKind::Naive);
    let mut life = Life::begin(MemoryFlash::<2048>::new(3), 1, scattered);
    life.call(
        1,
        Change::Submit {
            job: JobId(0),
            request: Request::submesh(16, 16),
            lease: NonZeroU64::new(1 << 60),
        },
        None,
    );
    let mut job = 1;
    while !is_full(&life.call(1, submit(job, 5, 5), None)) {
        job += 1;
        assert!(job < 64, "there is always room");
    }
    fill(&mut life);
    for job in 0..job {
        assert!(life.outcome(release(job)).is_ok());
    }
    assert_eq!(life.jobs(), []);
}

/// As the README says: as many jobs as a board's sectors have room for, the first on the whole
/// machine, and all of them released again.
#[test]
fn sectors_of_a_board_have_room_for_the_jobs_of_the_readme() {
    let short = |job| submit(job, 16, 16);
    let long = |job| Change::Submit {
        job: JobId(job),
        request: Request::submesh(16, 16).with_estimate(1 << 60),
        lease: NonZeroU64::new(1 << 60),
    };
    // With short names and without estimates, with the longest names, and with leases and estimates
    // as well.
    let rows = [
        (StrategyKind::FirstFit, [256, 245, 157]),
        (
            StrategyKind::LeastExpectedBlocking { budget: 64 },
            [256, 239, 154],
        ),
        (StrategyKind::LShape, [240, 224, 148]),
        (StrategyKind::Naive, [56, 50, 31]),
        (StrategyKind::Neighbor, [56, 50, 31]),
    ];
    let columns = [
        (&short as &dyn Fn(u32) -> Change, 0),
        (&short, 1 << 28),
        (&long, 1 << 28),
    ];
    for (strategy, expected) in rows {
        for ((command, first), expected) in columns.into_iter().zip(expected) {
            let storage = Storage::<256, 256, 8192, 4096, 4096>::new();
            let board = Box::leak(Box::new(storage));
            let mut life = Life::<{ 16 * 1024 }>::begin_in(
                board.memory(),
                MemoryFlash::new(3),
                1,
                configuration(64, 64, strategy),
                &Pauses::none(),
            );
            life.call(1, submit(first, 64, 64), None);
            let more = first + 1..first + 256;
            let waiting = more.take_while(|&job| !is_full(&life.call(1, command(job), None)));
            let jobs = 1 + waiting.count() as u32;
            assert_eq!(jobs, expected, "{strategy}, from {first} on");
            for job in first..first + jobs {
                let outcome = life.outcome(release(job));
                assert!(outcome.is_ok(), "{strategy}: {job}");
            }
        }
    }
}

/// As README says: jobs of a submesh each, with names and estimates of two or three bytes, from one
/// client or four.
#[test]
fn sectors_of_a_board_have_room_for_a_mixture_of_jobs() {
    let mut seen = Vec::new();
    for (clients, estimates) in [(1, 1 << 14), (1, 100_000), (4, 1 << 14), (4, 100_000)] {
        for seed in 1..4 {
            let mut random = Random(seed);
            let storage = Storage::<256, 256, 256, 256, 256>::new();
            let board = Box::leak(Box::new(storage));
            let mut life = Life::<{ 16 * 1024 }>::begin_in(
                board.memory(),
                MemoryFlash::new(3),
                1,
                configuration(64, 64, StrategyKind::FirstFit),
                &Pauses::none(),
            );
            let mut jobs = 0;
            while jobs < 256 {
                life.now += random.below(1000) as u64;
                let mut side = || 1 + random.below(32) as u16;
                let request = Request::submesh(side(), side());
                let request = request.with_estimate(1 + random.below(estimates) as u64);
                let job = JobId(random.below(1 << 14) as u32);
                let client = 1 + random.below(clients) as u32;
                let answer = life.call(client, Change::submit(job, request), None);
                if is_full(&answer) {
                    break;
                }
                jobs = life.server.controller().jobs().running_len()
                    + life.server.controller().jobs().waiting_len();
            }
            seen.push(jobs);
        }
    }
    let range = seen.iter().min().zip(seen.iter().max());
    assert_eq!(range, Some((&247, &255)), "{seen:?}");
}

/// No commands lead to this state, but another image may have left it.
#[test]
fn a_reset_makes_room_for_a_state_that_has_none() {
    let regions: [Range<u32>; REGIONS] =
        std::array::from_fn(|at| at as u32 * 1024..(at as u32 + 1) * 1024);
    let board = Box::leak(Box::new(Board::new()));
    let mut controller = Controller::new(board.memory(), first_fit()).expect("it fits");
    for job in 0..24 {
        let request = Request::submesh(2, 2).with_estimate(1 << 60);
        let submitted = controller.handle(&Change::submit(JobId(job), request), 0);
        assert_eq!(submitted, Ok(Outcome::Done));
    }
    let (journal, recovered) = Journal::open(MemoryFlash::new(3), &regions).expect("it has power");
    let mut life = Life::<1024> {
        server: Server::restored(controller, 1, journal, recovered, &Pauses::none()),
        boot: 1,
        now: 0,
        seq: 0,
    };
    assert_eq!(life.call(1, release(0), None), NOT_KEPT);
    assert_eq!(life.jobs().len(), 24);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), []);
}

/// Removing the last lease makes room, although renewing one does not.
#[test]
fn leases_that_are_taken_away_make_room() {
    let mut life = Life::begin(MemoryFlash::<1024>::new(3), 1, first_fit());
    let full = (0..24).find(|&job| is_full(&life.call(1, lease(job, 1 << 60), None)));
    let full = full.expect("there is not always room");
    let ticks = 0;
    for job in (0..full).map(JobId) {
        assert_eq!(
            life.outcome(Change::Lease {
                job,
                ticks: NonZeroU64::new(ticks)
            }),
            Ok(Outcome::Done)
        );
    }
    let answer = life.outcome(submit(full, 2, 2));
    assert!(answer.is_ok(), "{answer:?}");
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
        let renewal = Change::Lease {
            job: JobId(0),
            ticks: NonZeroU64::new(1000),
        };
        assert_eq!(life.outcome(renewal), Ok(Outcome::Done));
    }
    life.let_time_pass(5000);
    assert_eq!(life.jobs(), []);
}

/// Jobs, their times and sessions are as long as they can become.
#[test]
fn a_full_state_has_room_for_long_times_and_other_clients() {
    let (mut life, mut next) = (Life::<1024>::begin(MemoryFlash::new(3), 1, first_fit()), 1);
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, lease(0, 1 << 60), None);
    while !is_full(&life.call(1, submit(next, 1, 1), None)) {
        next += 1;
        assert!(next < 30, "there is always room");
    }
    next -= 1;
    life.call(1, release(next), Some(1 << 42));
    for client in u32::MAX - 2..=u32::MAX {
        for job in u32::MAX - 3..=u32::MAX {
            life.call(client, release(job), None);
        }
    }
    fill(&mut life);
    assert!(life.outcome(release(0)).is_ok());
    assert_eq!(life.jobs(), (1..next).collect::<Vec<u32>>());
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
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

/// A server that does not read its journal.
fn unread(flash: MemoryFlash<4096>, boot: u64) -> Life<4096> {
    let regions: [Range<u32>; REGIONS] =
        std::array::from_fn(|at| at as u32 * 4096..(at as u32 + 1) * 4096);
    let board = Box::leak(Box::new(Board::new()));
    let controller = Controller::new(board.memory(), first_fit()).expect("it fits");
    let (journal, _) = Journal::open(flash, &regions).expect("it has power");
    let mut server = Server::unrestored(controller, boot, journal);
    server.leave_unread();
    assert_eq!(server.origin(), Origin::Unread);
    assert!(!server.has_work());
    Life {
        server,
        boot,
        now: 0,
        seq: 100 * boot as u32,
    }
}

#[test]
fn a_journal_that_is_not_to_be_read_stays_until_a_reset() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    life.call(1, submit(1, 2, 2), None);
    let mut life = unread(life.into_flash(), 2);
    assert_eq!(life.jobs(), []);
    stays_unread(&mut life);
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [1]);
    let mut life = unread(life.into_flash(), 4);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    life.call(1, submit(2, 2, 2), None);
    let life = Life::begin(life.into_flash(), 5, first_fit());
    assert_eq!(life.jobs(), [2]);
}
