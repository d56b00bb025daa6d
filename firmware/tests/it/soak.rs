//! Several clients, a server with a journal, and everything that can go wrong between them: frames that are lost, changed, cut, repeated, delayed
//! and overtaken, clients that are started again, and resets at any word of a write to the journal.
//!
//! A ledger says after each operation what must be true: no processor is lost or in two jobs, every acknowledged grant is there, none
//! is there twice or without anybody having asked for it, and every reset is known. Everything follows from the seed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use meshalloc::jobs::LEASES_ENDED_MAX;
use meshalloc::{
    Block, Command, Configuration, Controller, Error, Flags, JobId, JobState, LeaseEnded, Refusal,
    Reply, Request, StrategyKind, Submesh,
};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{
    Client, ClientError, Happened as Happening, Line, Options, Received, Server,
};

use crate::board::{Board, configuration};
use crate::line::Random;
use crate::session::SCHEDULERS;

const SECTOR: usize = 4096;
const REGIONS: usize = 3;
type Flash = MemoryFlash<SECTOR>;
type Kept = Journal<Flash, REGIONS>;

fn regions() -> [Range<u32>; REGIONS] {
    std::array::from_fn(|at| (at * SECTOR) as u32..((at + 1) * SECTOR) as u32)
}

/// A server in a boot of its own. Its memory is never given back: a few kilobytes for each reset.
fn boot(flash: Flash, number: u64, configuration: Configuration) -> Server<'static, Kept> {
    let board = Box::leak(Box::new(Board::new()));
    let controller = Controller::new(board.memory(), configuration).expect("it fits");
    let (journal, recovered) = Journal::open(flash, &regions()).expect("the flash has power");
    // Often enough for an attempt of each strategy to pause several times.
    Server::restored(controller, number, journal, recovered).pausing_after(1_000)
}

/// A strategy whose jobs hold a block, or many, whose search pauses or not, and schedulers under which many jobs try after a departure.
fn some_configuration(random: &mut Random) -> Configuration {
    const STRATEGIES: [StrategyKind; 6] = [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::Random { seed: 7 },
        StrategyKind::Naive,
        StrategyKind::AllShapes,
        StrategyKind::MultipleBuddy,
    ];
    Configuration {
        scheduler: SCHEDULERS[random.below(SCHEDULERS.len())],
        ..configuration(16, 16, STRATEGIES[random.below(STRATEGIES.len())])
    }
}

/// What happened, for the faults to have bitten.
#[derive(Clone, Copy, Debug, Default)]
struct Happened {
    operations: u64,
    grants: u64,
    events: u64,
    lost: u64,
    changed: u64,
    repeated: u64,
    late: u64,
    resets: u64,
    power_cuts: u64,
    no_reply: u64,
    told_of_resets: u64,
    sessions_lost: u64,
    restarts: u64,
    busy: u64,
    refused: u64,
    under_way: u64,
    in_doubt: u64,
    there: u64,
    sectors_erased: u64,
    leases_ended: u64,
    told_of_ends: u64,
    renewed: u64,
}

/// The server and the lines to it.
struct World {
    server: Option<Server<'static, Kept>>,
    boot: u64,
    configuration: Configuration,
    now: u64,
    random: Random,
    /// Frames on their way: when each arrives.
    there: Vec<(u64, Vec<u8>)>,
    back: Vec<(u64, Vec<u8>)>,
    /// Bytes for each client.
    inboxes: Vec<VecDeque<u8>>,
    /// One fault in so many frames.
    rate: usize,
    happened: Happened,
}

impl World {
    fn server(&mut self) -> &mut Server<'static, Kept> {
        self.server.as_mut().expect("it is there between resets")
    }

    /// Puts a frame on a line, with faults.
    fn post(&mut self, frame: &[u8], is_there: bool) {
        let rate = self.rate;
        let mut copies = 1;
        let mut bytes = frame.to_vec();
        match self.random.below(rate) {
            0 => {
                copies = 0;
                self.happened.lost += 1;
            }
            1 => {
                copies = 2 + self.random.below(2);
                self.happened.repeated += 1;
            }
            2 => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
                self.happened.changed += 1;
            }
            3 => {
                let at = self.random.below(bytes.len());
                bytes.truncate(at);
                self.happened.changed += 1;
            }
            _ => {}
        }
        for _ in 0..copies {
            let mut delay = 0;
            if self.random.once_in(rate) {
                // Some come after a reset or two.
                let longest = if self.random.once_in(4) { 2000 } else { 20 };
                delay = 1 + self.random.below(longest);
                self.happened.late += 1;
            }
            let due = self.now + delay as u64;
            match is_there {
                true => self.there.push((due, bytes.clone())),
                false => self.back.push((due, bytes.clone())),
            }
        }
    }

    /// Time passes: frames arrive, in any order among those that are due, and the server works in between.
    fn step(&mut self) {
        self.now += 1;
        for _ in 0..self.random.below(3) {
            self.attend(true);
        }
        while self.due(true).is_some() {
            let works = self.random.once_in(2);
            self.attend(works);
        }
        while let Some(at) = self.due(false) {
            let (_, frame) = self.back.swap_remove(at);
            for inbox in &mut self.inboxes {
                inbox.extend(&frame);
            }
        }
    }

    /// Some of the frames that are due arrive at once, so that the server sees all but the first in pauses if it makes some, and before that
    /// it works.
    fn attend(&mut self, works: bool) {
        let mut bytes = Vec::new();
        for _ in 0..self.random.below(4) {
            if let Some(at) = self.due(true) {
                bytes.extend(self.there.swap_remove(at).1);
            }
        }
        let is_busy = self.server().controller().is_scheduling();
        self.happened.busy += u64::from(is_busy && !bytes.is_empty());
        let now = self.now;
        let mut answer = Vec::new();
        let mut port = Received {
            bytes: &bytes,
            line: &mut answer,
        };
        let server = self.server();
        if works {
            server.work(&mut port).expect("a vector takes everything");
        }
        while let Ok(Some(())) = server.receive_from(now, &mut port) {}
        // What was being sent when the power was cut does not arrive.
        if self.reset_if_cut() {
            return;
        }
        for frame in answer.split_inclusive(|&byte| byte == 0) {
            // A delimiter comes before each frame too.
            if frame.len() > 1 {
                self.post(&[&[0], frame].concat(), false);
            }
        }
    }

    fn due(&mut self, is_there: bool) -> Option<usize> {
        let now = self.now;
        let frames = if is_there { &self.there } else { &self.back };
        let due: Vec<usize> = (0..frames.len())
            .filter(|&at| frames[at].0 <= now)
            .collect();
        (!due.is_empty()).then(|| due[self.random.below(due.len())])
    }

    /// A server whose power was cut is another one.
    fn reset_if_cut(&mut self) -> bool {
        let is_cut = self.server().journal().flash_mut().is_cut();
        if is_cut {
            self.happened.power_cuts += 1;
            self.reset();
        }
        is_cut
    }

    fn reset(&mut self) {
        self.happened.resets += 1;
        let mut server = self.server.take().expect("it was there");
        self.happened.sectors_erased += u64::from(server.journal().sectors_erased());
        let mut flash = server.into_journal().into_flash();
        // The power may be cut again while the server starts.
        loop {
            flash.power_on();
            self.boot += 1;
            if self.random.once_in(4) {
                let steps = self.random.below(200) as u64;
                flash.cut_power_after(steps, self.random.next());
            }
            match Journal::<_, REGIONS>::open(flash.clone(), &regions()) {
                Ok(_) => {}
                Err(error) => panic!("the journal cannot be opened: {error:?}"),
            }
            let mut server = boot(flash, self.boot, self.configuration);
            if server.journal().flash_mut().is_cut() {
                flash = server.into_journal().into_flash();
                continue;
            }
            assert!(
                !matches!(server.origin(), Origin::Damaged { .. } | Origin::Forgetful),
                "{:?}",
                server.origin()
            );
            self.server = Some(server);
            return;
        }
    }
}

/// A client's end.
#[derive(Clone)]
struct End {
    world: Rc<RefCell<World>>,
    client: usize,
}

impl Line for End {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.world.borrow_mut().post(bytes, true);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        for _ in 0..8 {
            if !world.inboxes[self.client].is_empty() {
                break;
            }
            world.step();
        }
        let inbox = &mut world.inboxes[self.client];
        let len = buffer.len().min(inbox.len());
        for (to, from) in buffer.iter_mut().zip(inbox.drain(..len)) {
            *to = from;
        }
        Ok(len)
    }
}

/// What must be true of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// It waits or runs.
    Submitted,
    /// It runs and holds these.
    Granted(Vec<Block>),
    /// It is gone, or was refused.
    Gone,
    /// Nobody can know: the client that sent the last command about it is no more.
    Unknown,
}

/// What must be true of a lease.
#[derive(Clone, Copy, Debug)]
struct Lease {
    ticks: u64,
    /// It does not end earlier, as far as the ledger knows.
    not_before: u64,
}

/// The ledger and the clients.
struct Soak {
    seed: u64,
    world: Rc<RefCell<World>>,
    random: Random,
    clients: Vec<Option<Client<End>>>,
    /// The boot that each client's program knows of.
    told: Vec<u64>,
    /// The jobs of whose grants each client was told.
    seen: Vec<BTreeSet<u32>>,
    /// The jobs of whose leases' ends each client was told.
    seen_ended: Vec<BTreeSet<u32>>,
    ledger: BTreeMap<u32, Entry>,
    /// The jobs that have, or had, leases.
    leased: BTreeMap<u32, Lease>,
    next_job: u32,
    operation: u64,
}

const CLIENTS: usize = 5;

impl Soak {
    fn new(seed: u64, happened: Happened) -> Self {
        let mut random = Random(seed);
        let rate = [6, 12, 40, 200][random.below(4)];
        let configuration = some_configuration(&mut random);
        let flash = Flash::new(REGIONS);
        let world = World {
            server: Some(boot(flash, 1, configuration)),
            boot: 1,
            configuration,
            now: 0,
            random: Random(!seed),
            there: Vec::new(),
            back: Vec::new(),
            inboxes: vec![VecDeque::new(); CLIENTS],
            rate,
            happened,
        };
        Soak {
            seed,
            world: Rc::new(RefCell::new(world)),
            random,
            clients: (0..CLIENTS).map(|_| None).collect(),
            told: vec![0; CLIENTS],
            seen: vec![BTreeSet::new(); CLIENTS],
            seen_ended: vec![BTreeSet::new(); CLIENTS],
            leased: BTreeMap::new(),
            ledger: BTreeMap::new(),
            next_job: 1,
            operation: 0,
        }
    }

    fn happened(&self) -> std::cell::RefMut<'_, Happened> {
        std::cell::RefMut::map(self.world.borrow_mut(), |world| &mut world.happened)
    }

    /// The client, connected; `None` if nothing answers.
    fn client(&mut self, at: usize) -> Option<Client<End>> {
        if let Some(client) = self.clients[at].take() {
            return Some(client);
        }
        let options = Options {
            timeout: Duration::from_secs(1),
            tries: 4,
            number: Some(self.random.next() as u32),
            interval: Duration::ZERO,
            ..Options::default()
        };
        let end = End {
            world: Rc::clone(&self.world),
            client: at,
        };
        let client = Client::connect(end, options).ok()?;
        self.seen[at].clear();
        self.seen_ended[at].clear();
        self.told[at] = client.greeting().session.boot;
        Some(client)
    }

    /// Notes what an error says.
    fn note(&mut self, at: usize, error: &ClientError, client: &Client<End>) {
        match error {
            ClientError::ControllerReset { origin } => {
                assert!(matches!(origin, Origin::Restored { .. } | Origin::New));
                let boot = client.greeting().session.boot;
                assert!(boot > self.told[at], "a reset is told once");
                self.told[at] = boot;
                self.happened().told_of_resets += 1;
            }
            ClientError::SessionLost => self.happened().sessions_lost += 1,
            ClientError::NoReply { .. } => self.happened().no_reply += 1,
            other => panic!("seed {}, operation {}: {other}", self.seed, self.operation),
        }
    }

    /// Sends a command that changes something. `None` if it is in doubt.
    fn call(
        &mut self,
        at: usize,
        client: &mut Client<End>,
        command: &Command,
    ) -> Option<Vec<Reply>> {
        let (boot, resets) = {
            let world = self.world.borrow();
            (world.boot, world.happened.resets)
        };
        let mut replies = Vec::new();
        let result = client.call(command, None, &mut |reply| replies.push(reply.clone()));
        match result {
            Ok(()) => {
                let is_reset = self.world.borrow().happened.resets != resets;
                assert!(
                    is_reset || self.told[at] == boot,
                    "the client of boot {} has a reply from boot {boot}",
                    self.told[at]
                );
                self.take_grants(at, &replies);
                Some(replies)
            }
            Err(error) => {
                self.note(at, &error, client);
                None
            }
        }
    }

    /// A client is told of each grant once. Of what another one was told, too, it is told the same.
    fn take_grants(&mut self, at: usize, replies: &[Reply]) {
        let mut granted: BTreeMap<u32, Vec<Block>> = BTreeMap::new();
        for reply in replies {
            if let Reply::Grant(grant) = reply {
                granted
                    .entry(grant.job.0)
                    .or_default()
                    .extend(&grant.blocks);
            }
            if let Reply::LeaseEnded(ended) = reply {
                self.take_end(at, ended.job);
            }
        }
        for (job, blocks) in granted {
            self.happened().grants += 1;
            assert!(
                self.seen[at].insert(job),
                "told twice of the grant of job {job}"
            );
            match self.ledger.get(&job) {
                Some(Entry::Submitted) => {
                    self.ledger.insert(job, Entry::Granted(blocks));
                }
                Some(Entry::Granted(before)) => assert_eq!(before, &blocks),
                Some(Entry::Gone | Entry::Unknown) => {}
                None => panic!("nobody has asked for job {job}"),
            }
        }
    }

    /// A client is told of the end of each lease once.
    fn take_end(&mut self, at: usize, job: JobId) {
        self.happened().told_of_ends += 1;
        assert!(self.leased.contains_key(&job.0), "job {job} has no lease");
        let is_new = self.seen_ended[at].insert(job.0);
        assert!(is_new, "told twice of the end of the lease of job {job}");
    }

    /// Learns of all events until nothing is left to be done.
    fn take_events(&mut self, at: usize, client: &mut Client<End>) -> Result<(), ClientError> {
        client.poll()?;
        while let Some(event) = client.next_event()? {
            self.happened().events += 1;
            match event.what {
                Happening::LeaseEnded => self.take_end(at, event.job),
                Happening::Granted { .. } => {
                    assert!(self.seen[at].insert(event.job.0), "told twice");
                }
            }
        }
        Ok(())
    }

    /// Finds out what has become of a job whose last command is in doubt. If it is there, it is as it was before that.
    fn settle(&mut self, at: usize, mut client: Client<End>, job: u32, before: Entry) {
        self.happened().in_doubt += 1;
        for _ in 0..200 {
            // From here on an earlier command is not carried out any more.
            if let Err(error) = client.hello() {
                self.note(at, &error, &client);
                continue;
            }
            // Nor is one under way any more: a job that never waits is there while it is tried.
            if let Err(error) = self.take_events(at, &mut client) {
                self.note(at, &error, &client);
                continue;
            }
            match client.query(&Command::QueryJob { job: JobId(job) }) {
                Ok(Reply::Job(_)) => {
                    self.ledger.insert(job, before);
                    self.clients[at] = Some(client);
                    self.happened().there += 1;
                    return;
                }
                Ok(Reply::Error(Error::UnknownJob)) => {
                    self.ledger.insert(job, Entry::Gone);
                    self.clients[at] = Some(client);
                    return;
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => self.note(at, &error, &client),
            }
        }
        // The line is too bad: another client is started, and what it finds does not tell what a late frame of this one may do.
        self.ledger.insert(job, Entry::Unknown);
    }

    fn operate(&mut self) {
        self.operation += 1;
        self.happened().operations += 1;
        match self.random.below(200) {
            0 => return self.world.borrow_mut().reset(),
            1..=3 => {
                let steps = self.random.below(60) as u64;
                let noise = self.random.next();
                let mut world = self.world.borrow_mut();
                world
                    .server()
                    .journal()
                    .flash_mut()
                    .cut_power_after(steps, noise);
                return;
            }
            4 => {
                let at = self.random.below(CLIENTS);
                self.clients[at] = None;
                self.happened().restarts += 1;
                return;
            }
            _ => {}
        }
        let at = self.random.below(CLIENTS);
        let Some(mut client) = self.client(at) else {
            return;
        };
        let known: Vec<u32> = self
            .ledger
            .iter()
            .filter(|(_, entry)| !matches!(entry, Entry::Gone | Entry::Unknown))
            .map(|(&job, _)| job)
            .collect();
        match self.random.below(100) {
            0..=44 if !known.is_empty() => {
                let job = known[self.random.below(known.len())];
                self.release(at, client, job);
            }
            45..=50 => {
                // Faults come and go.
                let (x, y) = (self.random.below(16) as u16, self.random.below(16) as u16);
                let mut side = |at: u16| 1 + self.random.below(usize::from(16 - at).min(3)) as u16;
                let block = Submesh::new(x, y, side(x), side(y)).into();
                let command = match self.random.below(3) {
                    0 => Command::MarkFaulty { block },
                    _ => Command::ClearFaulty { block },
                };
                let _ = self.call(at, &mut client, &command);
                self.clients[at] = Some(client);
            }
            56..=60 if known.iter().any(|job| self.leased.contains_key(job)) => {
                let mut leased = known.iter().filter(|job| self.leased.contains_key(job));
                let job = *leased.next().expect("there is one");
                let lease = self.leased.get_mut(&job).expect("it has one");
                lease.not_before = 0;
                let command = Command::Lease {
                    job: JobId(job),
                    ticks: lease.ticks,
                };
                if let Some(replies) = self.call(at, &mut client, &command) {
                    let is_renewed = replies.last() == Some(&Reply::Done);
                    self.happened().renewed += u64::from(is_renewed);
                }
                self.clients[at] = Some(client);
            }
            51..=55 => {
                if let Err(error) = self.take_events(at, &mut client) {
                    self.note(at, &error, &client);
                }
                self.clients[at] = Some(client);
            }
            _ => {
                let job = self.next_job;
                self.next_job += 1;
                self.submit(at, client, job);
            }
        }
    }

    fn submit(&mut self, at: usize, mut client: Client<End>, job: u32) {
        let mut side = || 1 + self.random.below(8) as u16;
        let request = Request::submesh(side(), side());
        let mut request = request.with_estimate(1 + self.random.below(100) as u64);
        let never_waits = self.random.once_in(3);
        if never_waits {
            request = request.with_flags(Flags::NO_WAIT);
        }
        let asked = client.counters().under_way;
        self.ledger.insert(job, Entry::Submitted);
        let is_leased = self.random.once_in(5);
        let ticks = 50 + self.random.below(1000) as u64;
        let command = match is_leased {
            false => Command::Submit {
                job: JobId(job),
                request,
            },
            true => Command::SubmitLeased {
                job: JobId(job),
                request,
                ticks,
            },
        };
        if is_leased {
            let not_before = 0;
            self.leased.insert(job, Lease { ticks, not_before });
        }
        match self.call(at, &mut client, &command).as_deref() {
            None => self.settle(at, client, job, Entry::Submitted),
            Some([.., last]) => {
                self.happened().under_way += client.counters().under_way - asked;
                match last {
                    Reply::Submitted {
                        state: JobState::Waiting { .. },
                        ..
                    } => assert!(!never_waits && self.ledger[&job] == Entry::Submitted),
                    Reply::Submitted {
                        state: JobState::Running { .. },
                        ..
                    } => {
                        assert!(
                            matches!(self.ledger[&job], Entry::Granted(_) | Entry::Submitted),
                            "{:?}",
                            self.ledger[&job]
                        );
                    }
                    Reply::Error(error) => {
                        let Error::Refused(refusal) = error else {
                            panic!("{error}");
                        };
                        assert!(
                            *refusal == Refusal::TableFull || never_waits && refusal.is_temporary(),
                            "{error}"
                        );
                        self.happened().refused += 1;
                        self.ledger.insert(job, Entry::Gone);
                    }
                    other => panic!("{other:?}"),
                }
                self.clients[at] = Some(client);
            }
            Some([]) => panic!("no reply"),
        }
    }

    fn release(&mut self, at: usize, mut client: Client<End>, job: u32) {
        let command = Command::Release { job: JobId(job) };
        let before = self.ledger.insert(job, Entry::Gone);
        let before = before.expect("it was known");
        match self.call(at, &mut client, &command).as_deref() {
            None => self.settle(at, client, job, before),
            Some([.., Reply::Released { .. }]) => self.clients[at] = Some(client),
            Some([.., Reply::Error(Error::UnknownJob)]) if self.leased.contains_key(&job) => {
                self.clients[at] = Some(client);
            }
            Some(other) => panic!("{other:?}"),
        }
    }

    /// A job with a lease may be gone: then the lease has ended, at its time, and the server can tell so.
    fn see_leases(&mut self) {
        let world = self.world.borrow();
        let controller = world.server.as_ref().expect("it is there").controller();
        let status = controller.status();
        let view = controller.view(&status);
        let ended: Vec<LeaseEnded> = view.leases_ended_since(0).map(|(_, ended)| ended).collect();
        let mut gone = Vec::new();
        for (&job, lease) in &mut self.leased {
            let slot = controller.jobs().find(JobId(job));
            if let Some(slot) = slot {
                let submitted = controller.jobs().get(slot).submitted();
                if lease.not_before == 0
                    && controller.jobs().lease(slot) == Some(submitted + lease.ticks)
                {
                    lease.not_before = submitted + lease.ticks;
                }
            } else if let Some(Entry::Submitted | Entry::Granted(_)) = self.ledger.get(&job) {
                let context = || {
                    format!(
                        "seed {}, operation {}, job {job}",
                        self.seed, self.operation
                    )
                };
                match ended.iter().find(|ended| ended.job.0 == job) {
                    Some(ended) => assert!(ended.at >= lease.not_before, "{}", context()),
                    None => assert_eq!(ended.len(), LEASES_ENDED_MAX, "{}", context()),
                }
                gone.push(job);
            }
        }
        drop(world);
        for job in gone {
            self.happened().leases_ended += 1;
            self.ledger.insert(job, Entry::Gone);
        }
    }

    /// What must be true after each operation.
    fn check(&mut self) {
        self.see_leases();
        let world = self.world.borrow();
        let controller = world.server.as_ref().expect("it is there").controller();
        let jobs = controller.jobs();
        let context = || format!("seed {}, operation {}", self.seed, self.operation);
        controller.check_invariants();
        let mut there = 0;
        for (job, entry) in &self.ledger {
            let slot = jobs.find(JobId(*job));
            there += u32::from(slot.is_some());
            match entry {
                Entry::Submitted => assert!(slot.is_some(), "{}: job {job} is lost", context()),
                Entry::Granted(blocks) => {
                    let slot = slot.unwrap_or_else(|| panic!("{}: job {job} is lost", context()));
                    let held: Vec<Block> = controller.blocks(jobs.get(slot)).collect();
                    assert_eq!(&held, blocks, "{}: job {job} holds others", context());
                }
                Entry::Gone => assert!(slot.is_none(), "{}: job {job} is back", context()),
                Entry::Unknown => {}
            }
        }
        let all = jobs.running_len() + jobs.waiting_len();
        assert_eq!(there, all, "{}: jobs that nobody submitted", context());
    }
}

/// Runs so many operations with this seed, and goes on counting.
fn soak(seed: u64, operations: u64, so_far: Happened) -> Happened {
    let mut soak = Soak::new(seed, so_far);
    for _ in 0..operations {
        soak.operate();
        soak.check();
        // Names of jobs that are gone need not be looked at for ever, late frames about them come within some thousand steps.
        if soak.operation.is_multiple_of(512) {
            let old = soak.next_job.saturating_sub(600);
            let is_over = |job: &u32, entry: &Entry| *job < old && *entry == Entry::Gone;
            soak.ledger.retain(|job, entry| !is_over(job, entry));
            let ledger = &soak.ledger;
            soak.leased.retain(|job, _| ledger.contains_key(job));
        }
    }
    *soak.happened()
}

fn soak_seeds(seeds: Range<u64>, operations: u64) {
    let mut all = Happened::default();
    for seed in seeds {
        all = soak(seed, operations, all);
    }
    println!("{all:#?}");
    let each = [
        all.grants,
        all.lost,
        all.changed,
        all.repeated,
        all.late,
        all.power_cuts,
        all.told_of_resets,
        all.sessions_lost,
        all.restarts,
        all.in_doubt,
        all.there,
        all.busy,
        all.refused,
        all.under_way,
        all.leases_ended,
        all.told_of_ends,
        all.renewed,
    ];
    assert!(
        each.iter().all(|&times| times * 2000 > all.operations),
        "the faults did not bite: {all:?}"
    );
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    soak_seeds(0..70, 1_000);
}

/// A million operations: `cargo test --release -p meshalloc-firmware --test it a_million -- --ignored --nocapture`. With
/// `MESHALLOC_SOAK_SEED` only those of one seed.
#[test]
#[ignore = "minutes: a million operations"]
fn a_million_operations() {
    match std::env::var("MESHALLOC_SOAK_SEED").map(|seed| seed.parse::<u64>()) {
        Ok(Ok(seed)) => println!("{:#?}", soak(seed, 2_000, Happened::default())),
        Ok(Err(error)) => panic!("MESHALLOC_SOAK_SEED: {error}"),
        Err(_) => soak_seeds(0..500, 2_000),
    }
}
