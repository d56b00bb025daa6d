//! The real client and the real server: every decision over the line is the one made in process.

use meshalloc::message::GRANT_BLOCKS_MAX;
use meshalloc::{
    Command, ConfigureError, Error, Flags, JobId, JobState, NodeId, Refusal, Reply, Request,
    StrategyKind,
};
use meshalloc_firmware::{BUILD, Client, ClientError, PROTOCOL_VERSION, SOFTWARE, Server};

use crate::board::{Board, JOBS, at_reset, configuration, handle, release, submit};
use crate::line::{Faults, MemoryLine, OPTIONS, Random, call};

#[test]
fn the_greeting_says_who_the_server_is() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let greeting = client.greeting();
    assert_eq!(greeting.protocol, PROTOCOL_VERSION);
    assert_eq!(greeting.software, SOFTWARE);
    assert_eq!(greeting.build, BUILD);
    assert_eq!(greeting.capacity.jobs as usize, JOBS);
    assert!(
        greeting
            .strategies
            .iter()
            .copied()
            .eq(StrategyKind::built())
    );
    assert_eq!(
        greeting.configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
}

/// Commands of every kind, many of them wrong in some way, on a machine that is nearly always full.
fn commands(random: &mut Random, count: usize) -> Vec<Command> {
    let strategies: Vec<StrategyKind> = StrategyKind::built().collect();
    (0..count)
        .map(|_| {
            let job = random.below(40) as u32;
            let node = NodeId(random.below(130) as u32);
            match random.below(100) {
                0 => Command::Reset,
                1..=3 => Command::Configure(configuration(
                    1 + random.below(20) as u16,
                    1 + random.below(16) as u16,
                    strategies[random.below(strategies.len())],
                )),
                4..=6 => Command::MarkFaulty { node },
                7..=9 => Command::ClearFaulty { node },
                10..=14 => Command::QueryJob { job: JobId(job) },
                15..=17 => Command::Occupancy { from: node },
                18..=20 => Command::ListJobs { from: job },
                21..=23 => Command::Statistics,
                24..=59 => release(job),
                _ => Command::Submit {
                    job: JobId(job),
                    request: Request::submesh(random.below(9) as u16, random.below(9) as u16)
                        .with_flags(Flags::from_bits_truncate(random.below(16) as u8)),
                },
            }
        })
        .collect()
}

/// Runs the commands over a line with these faults and in process, and compares every reply.
fn compare(seed: u64, faults: Faults, count: usize) -> (u64, [u32; 6]) {
    let (mut there, mut here) = (Board::new(), Board::new());
    let mut server = Server::new(at_reset(&mut there));
    let mut reference = at_reset(&mut here);
    let line = MemoryLine::with_faults(&mut server, faults, seed);
    let mut client = Client::connect(line, OPTIONS).expect("the line lets some frames through");
    let mut random = Random(seed ^ 0x5eed);
    for (i, command) in commands(&mut random, count).iter().enumerate() {
        let now = 10 * i as u64;
        let over_line = call(&mut client, command, Some(now))
            .unwrap_or_else(|error| panic!("seed {seed}, command {i}: {error}"));
        let in_process = handle(&mut reference, command, now);
        assert_eq!(
            over_line, in_process,
            "seed {seed}, command {i}: {command:?}"
        );
    }
    let retries = client.counters().retries;
    let happened = client.line_mut().happened();
    server.controller().check_invariants();
    (retries, happened)
}

#[test]
fn on_a_good_line_every_reply_equals_the_one_in_process() {
    for seed in 0..8 {
        assert_eq!(compare(seed, Faults::default(), 600), (0, [0; 6]));
    }
}

#[test]
fn on_a_bad_line_every_reply_equals_the_one_in_process() {
    let one = |seed| {
        let mut random = Random(seed);
        let mut rate = || [0, 4, 8, 30][random.below(4)];
        Faults {
            lose: rate(),
            repeat: rate(),
            cut: rate(),
            change: rate(),
            insert: rate(),
            hold: rate(),
        }
    };
    let (mut retries, mut happened) = (0, [0; 6]);
    for seed in 0..40 {
        let (more, faults) = compare(seed, one(seed), 250);
        retries += more;
        happened = std::array::from_fn(|i| happened[i] + faults[i]);
    }
    assert!(
        retries > 1000,
        "only {retries} retries: the faults did not bite"
    );
    assert!(
        happened.iter().all(|&times| times > 500),
        "not every kind of fault happened: {happened:?}"
    );
}

#[test]
fn a_full_table_refuses_and_loses_nothing() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let mut submit_job = |job: usize| call(&mut client, &submit(job as u32, 1, 1), None).unwrap();
    for job in 1..JOBS {
        assert_eq!(submit_job(job).len(), 2, "job {job} of {JOBS}");
    }
    assert_eq!(submit_job(JOBS).len(), 2, "the last that fits");
    assert_eq!(
        submit_job(JOBS + 1),
        [Reply::Error(Error::Refused(Refusal::TableFull))]
    );
    // What was refused was not taken; releasing needs no room and makes some.
    assert_eq!(
        call(&mut client, &release(JOBS as u32 + 1), None).unwrap(),
        [Reply::Error(Error::UnknownJob)]
    );
    assert_eq!(call(&mut client, &release(1), None).unwrap().len(), 1);
    assert_eq!(
        call(&mut client, &submit(JOBS as u32 + 1, 1, 1), None)
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_long_grant_comes_in_parts_and_again_when_one_is_lost() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let naive = Command::Configure(configuration(16, 16, StrategyKind::Naive));
    call(&mut client, &naive, None).unwrap();
    // A checkerboard of faults: what is left are 128 blocks of one processor.
    for node in (0..256).filter(|node| (node / 16 + node % 16) % 2 == 0) {
        call(
            &mut client,
            &Command::MarkFaulty { node: NodeId(node) },
            None,
        )
        .unwrap();
    }
    client.line_mut().set_faults(Faults {
        lose: 4,
        ..Faults::default()
    });
    let replies = call(&mut client, &submit(1, 8, 16), None).unwrap();
    let grants = 128_usize.div_ceil(GRANT_BLOCKS_MAX);
    assert_eq!(replies.len(), grants + 1);
    let mut blocks = 0;
    for reply in &replies[..grants] {
        let Reply::Grant(grant) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!((grant.first as usize, grant.blocks_total), (blocks, 128));
        blocks += grant.blocks.len();
    }
    assert_eq!(blocks, 128);
    assert!(client.counters().retries > 0, "nothing was lost");
    assert_eq!(server.controller().statistics().granted, 1);
}

#[test]
fn after_a_reset_of_the_server_nothing_old_is_carried_out() {
    let (mut one, mut two) = (Board::new(), Board::new());
    let mut before = Server::new(at_reset(&mut one));
    let mut after = Server::new(at_reset(&mut two));
    let mut client = Client::connect(MemoryLine::new(&mut before), OPTIONS).unwrap();
    let naive = Command::Configure(configuration(4, 4, StrategyKind::Naive));
    call(&mut client, &naive, None).unwrap();
    call(&mut client, &submit(1, 2, 2), None).unwrap();
    client.line_mut().server = &mut after;
    let error = call(&mut client, &submit(2, 2, 2), None).unwrap_err();
    assert!(matches!(error, ClientError::ControllerReset), "{error}");
    let greeting = client.hello().unwrap();
    assert_eq!(
        greeting.configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
    let replies = call(&mut client, &submit(2, 2, 2), None).unwrap();
    assert!(
        matches!(
            &replies[..],
            [
                Reply::Grant(_),
                Reply::Submitted {
                    job: JobId(2),
                    state: JobState::Running { .. }
                }
            ]
        ),
        "{replies:?}"
    );
    assert_eq!(after.controller().statistics().submitted, 1);
}

#[test]
fn a_command_without_a_time_gets_the_clock_of_the_server() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let granted_at = |replies: &[Reply]| match replies {
        [Reply::Grant(grant), _] => grant.at,
        other => panic!("{other:?}"),
    };
    client.line_mut().now = 70;
    let replies = call(&mut client, &submit(1, 2, 2), None).unwrap();
    assert_eq!(granted_at(&replies), 70);
    let replies = call(&mut client, &submit(2, 2, 2), Some(100)).unwrap();
    assert_eq!(granted_at(&replies), 100);
    let replies = call(&mut client, &submit(3, 2, 2), None).unwrap();
    assert_eq!(granted_at(&replies), 100, "time does not go back");
}

#[test]
fn a_configuration_that_does_not_fit_leaves_the_old_one() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    let large = Command::Configure(configuration(1024, 1024, StrategyKind::FirstFit));
    assert_eq!(
        call(&mut client, &large, None).unwrap(),
        [Reply::Error(Error::Configure(
            ConfigureError::MachineTooLarge
        ))]
    );
    assert_eq!(
        client.hello().unwrap().configuration,
        configuration(16, 16, StrategyKind::FirstFit)
    );
}
