//! The one clock of a server: its own, or temporarily the virtual one of a session. Leases begin
//! and end by it.

use meshalloc::{Outcome, Ticks};
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::{Origin, TIME_MAX};
use meshalloc_firmware::{ProtocolError, ServerMessage};

use crate::board::{release, submit};
use crate::life::{DONE, Life, first_fit, is_done, lease, renew};
use crate::line::Random;

/// The clients: one simulates, one uses leases.
const SIMULATOR: u32 = 1;
const OTHER: u32 = 2;

fn begin() -> Life<4096> {
    Life::begin(MemoryFlash::new(3), 1, first_fit())
}

fn refused(error: ProtocolError) -> ServerMessage {
    ServerMessage::Error(error)
}

/// A regression: a lease lasted 8.9 days instead of half a second.
#[test]
fn a_simulator_that_was_there_changes_no_lease_of_later_clients() {
    for end in [770_000_000, TIME_MAX] {
        let mut life = begin();
        life.let_time_pass(1_000);
        assert_eq!(life.clock(SIMULATOR, true), DONE);
        for at in [0, 5, end] {
            assert!(is_done(&life.call(SIMULATOR, submit(9, 2, 2), Some(at))));
            life.call(SIMULATOR, release(9), Some(at));
        }
        life.let_time_pass(2_000);
        assert_eq!(life.clock(SIMULATOR, false), DONE);
        life.let_time_pass(3_000);
        assert!(is_done(&life.call(OTHER, lease(1, 500), None)));
        life.let_time_pass(3_499);
        assert_eq!(life.jobs(), [1]);
        life.let_time_pass(3_500);
        assert_eq!(life.jobs(), []);
    }
}

/// The clock of the board goes back after a simulation that ended at an earlier time: the lease
/// lasts half a second nevertheless.
#[test]
fn a_clock_that_goes_back_counts_as_one_that_stands_still() {
    let mut life = begin();
    life.let_time_pass(1_000);
    assert_eq!(life.clock(SIMULATOR, true), DONE);
    assert!(is_done(&life.call(SIMULATOR, submit(9, 2, 2), Some(0))));
    life.call(SIMULATOR, release(9), Some(0));
    assert_eq!(life.clock(SIMULATOR, false), DONE);
    life.let_time_pass(999);
    assert!(is_done(&life.call(OTHER, lease(1, 500), None)));
    life.let_time_pass(1_499);
    assert_eq!(life.jobs(), [1]);
    life.let_time_pass(1_500);
    assert_eq!(life.jobs(), []);
}

#[test]
fn a_time_is_for_the_session_that_has_the_virtual_clock() {
    let mut life = begin();
    let no_clock = refused(ProtocolError::NoVirtualClock);
    assert_eq!(life.call(SIMULATOR, submit(1, 2, 2), Some(5)), no_clock);
    assert_eq!(life.clock(SIMULATOR, true), DONE);
    assert_eq!(life.call(OTHER, submit(1, 2, 2), Some(5)), no_clock);
    assert_eq!(life.jobs(), []);
    assert!(is_done(&life.call(SIMULATOR, submit(1, 2, 2), Some(5))));
    assert!(is_done(&life.call(OTHER, submit(2, 2, 2), None)));
    let bad = refused(ProtocolError::BadMessage);
    let too_late = Some(TIME_MAX + 1);
    assert_eq!(life.call(SIMULATOR, submit(3, 2, 2), too_late), bad);
    // Another one takes it, and gives it back.
    assert_eq!(life.clock(OTHER, true), DONE);
    assert_eq!(life.call(SIMULATOR, submit(3, 2, 2), Some(6)), no_clock);
    assert!(is_done(&life.call(OTHER, submit(3, 2, 2), Some(6))));
    assert_eq!(life.clock(SIMULATOR, false), DONE);
    assert_eq!(life.call(OTHER, submit(4, 2, 2), Some(6)), no_clock);
    assert_eq!(life.jobs(), [1, 2, 3]);
}

#[test]
fn leases_and_a_virtual_clock_of_others_exclude_each_other() {
    let mut life = begin();
    assert!(is_done(&life.call(OTHER, lease(1, 500), None)));
    let leases_run = refused(ProtocolError::LeasesRun);
    assert_eq!(life.clock(SIMULATOR, true), leases_run);
    life.let_time_pass(499);
    assert_eq!(life.clock(OTHER, true), leases_run);
    life.let_time_pass(500);
    assert_eq!(life.jobs(), []);
    assert_eq!(life.clock(SIMULATOR, true), DONE);

    let is_virtual = refused(ProtocolError::VirtualClock);
    assert_eq!(life.call(OTHER, lease(1, 500), None), is_virtual);
    assert!(is_done(&life.call(OTHER, lease(1, 0), None)));
    assert_eq!(life.call(OTHER, renew(1, 500), None), is_virtual);
    assert_eq!(
        life.outcome(renew(1, 500)),
        Ok(Outcome::Done),
        "its own may"
    );
    assert!(is_done(&life.call(OTHER, renew(1, 0), None)));
    // Those under a virtual clock stay under the next one.
    assert_eq!(life.outcome(renew(1, 500)), Ok(Outcome::Done));
    assert_eq!(life.clock(OTHER, true), DONE);
    life.call(OTHER, submit(2, 2, 2), Some(999));
    assert_eq!(life.jobs(), [1, 2]);
    life.call(OTHER, submit(3, 2, 2), Some(1_000));
    assert_eq!(life.jobs(), [2, 3]);
}

#[test]
fn a_virtual_clock_ends_with_its_session_and_goes_on_from_where_it_stood() {
    let mut life = begin();
    assert_eq!(life.clock(SIMULATOR, true), DONE);
    life.call(SIMULATOR, lease(1, 500), Some(10_000));
    life.let_time_pass(100_000);
    assert_eq!(life.jobs(), [1]);
    // As many others as there are places.
    for client in 2..=5 {
        life.session(client);
    }
    life.let_time_pass(100_000);
    life.let_time_pass(100_499);
    assert_eq!(life.jobs(), [1]);
    life.let_time_pass(100_500);
    assert_eq!(life.jobs(), []);
    let no_clock = refused(ProtocolError::NoVirtualClock);
    assert_eq!(life.call(SIMULATOR, submit(1, 2, 2), Some(5)), no_clock);
    assert!(is_done(&life.call(OTHER, lease(1, 500), None)));
    life.let_time_pass(101_000);
    assert_eq!(life.jobs(), []);
}

#[test]
fn a_virtual_clock_ends_with_a_reset() {
    // From a record, then from a checkpoint.
    for commands in [0, 500] {
        let mut life = begin();
        assert_eq!(life.clock(SIMULATOR, true), DONE);
        life.call(SIMULATOR, lease(1, 1000), Some(100));
        for _ in 0..commands {
            life.call(SIMULATOR, release(9), Some(100));
            life.call(SIMULATOR, submit(5, 16, 16), Some(100));
            life.call(SIMULATOR, release(5), Some(100));
        }
        life.let_time_pass(1_000_000);
        assert_eq!(life.jobs(), [1]);
        let mut life = Life::begin(life.into_flash(), 100, first_fit());
        assert_eq!(life.server.origin(), Origin::Restored { at: 100 });
        life.let_time_pass(999);
        assert_eq!(life.jobs(), [1]);
        life.let_time_pass(1_000);
        assert_eq!(life.jobs(), []);
        let no_clock = refused(ProtocolError::NoVirtualClock);
        assert_eq!(life.call(SIMULATOR, submit(2, 2, 2), Some(5)), no_clock);
    }
}

/// A naive model of a server: a clock, its owner, and the ends of leases.
#[derive(Default)]
struct Model {
    time: Ticks,
    /// The time of the last command.
    latest: Ticks,
    virtual_of: Option<u32>,
    /// The last reading of the server's own clock.
    now: Ticks,
    leases: Vec<(u32, Ticks)>,
}

impl Model {
    fn pass(&mut self, now: Ticks) {
        if self.virtual_of.is_none() {
            self.time += now - self.now;
        }
        self.now = now;
        self.end();
    }

    fn end(&mut self) {
        let time = self.time;
        let ended = self.leases.extract_if(.., |&mut (_, ends)| ends <= time);
        let latest = ended.map(|(_, ends)| ends).max();
        self.latest = self.latest.max(latest.unwrap_or(0));
    }

    /// Whether the client may submit a job with a lease.
    fn lease(&mut self, client: u32, job: u32, ticks: Ticks, at: Option<Ticks>) -> bool {
        let has_clock = self.virtual_of == Some(client);
        let may = has_clock || (at.is_none() && self.virtual_of.is_none());
        if may {
            self.time = self.time.max(at.unwrap_or(self.time));
            self.latest = self.time;
            self.leases.push((job, self.time + ticks));
        }
        may
    }
}

#[test]
fn leases_end_as_in_a_model_whichever_session_has_the_clock() {
    let (mut given, mut kept_from) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(seed);
        let (mut life, mut model) = (begin(), Model::default());
        for job in 0..60 {
            let client = 1 + random.below(3) as u32;
            match random.below(4) {
                0 => life.let_time_pass(life.now + random.below(200) as Ticks),
                1 => {
                    let is_virtual = random.once_in(2);
                    let is_refused =
                        is_virtual && model.virtual_of.is_none() && !model.leases.is_empty();
                    let expected = if is_refused {
                        refused(ProtocolError::LeasesRun)
                    } else {
                        DONE
                    };
                    assert_eq!(life.clock(client, is_virtual), expected, "seed {seed}");
                    if !is_refused {
                        if is_virtual && model.virtual_of.is_none() {
                            model.time = model.latest;
                        }
                        model.virtual_of = is_virtual.then_some(client);
                    }
                }
                _ => {
                    let time = model.time + random.below(200) as Ticks;
                    let at = random.once_in(2).then_some(time);
                    let ticks = 1 + random.below(300) as Ticks;
                    let may = model.lease(client, job, ticks, at);
                    let answer = life.call(client, lease(job, ticks), at);
                    assert_eq!(is_done(&answer), may, "seed {seed}: {answer:?}");
                    given += u32::from(may);
                    kept_from += u32::from(!may);
                }
            }
            model.pass(life.now);
            let mut leased: Vec<u32> = model.leases.iter().map(|lease| lease.0).collect();
            leased.sort_unstable();
            assert_eq!(life.jobs(), leased, "seed {seed}, job {job}");
        }
    }
    assert!(
        given > 300 && kept_from > 300,
        "given {given} times, kept from another {kept_from} times"
    );
}
