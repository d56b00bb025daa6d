//! Cubes on the firmware in QEMU: what it refuses, and how long its longest search takes.

use meshalloc::{
    Command, Configuration, ConfigureError, Cube, Error, Flags, JobId, Mesh, NodeId, Refusal,
    Reply, Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::{Client, ClientMessage, Line};
use meshalloc_tests::qemu::{Qemu, call_at};

/// The longest search may take so many milliseconds of the board's clock, at a cycle an instruction: a quarter of the
/// time after which the watchdog resets the chip, as an instruction may take two cycles on average.
const SEARCH_MS_MAX: u64 = 2_000;

fn configuration(k: u16, n: u8, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: Cube::new(k, n).expect("a cube").into(),
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

fn submit(job: u32, radices: &[u16]) -> Command {
    let shape = Shape::new(radices).expect("radices of some cube");
    Command::Submit {
        job: JobId(job),
        request: Request::new(shape).with_flags(Flags::NO_WAIT),
    }
}

fn call(client: &mut Client<impl Line>, command: Command) -> Vec<Reply> {
    call_at(client, command, None).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

#[test]
fn qemu_refuses_cubes_and_subcubes_that_it_cannot_serve() {
    let Some(qemu) = Qemu::start() else { return };
    let mut client = qemu.client().unwrap();
    let tc = StrategyKind::TreeCollapsing;
    let on_a_mesh = Configuration {
        machine: Mesh::new(8, 8).unwrap().into(),
        ..configuration(2, 1, StrategyKind::Sniffing)
    };
    for (refused, why) in [
        (configuration(17, 3, tc), ConfigureError::MachineTooLarge),
        (configuration(2, 13, tc), ConfigureError::MachineTooLarge),
        (configuration(4097, 1, tc), ConfigureError::MachineTooLarge),
        (
            configuration(4, 3, StrategyKind::BestFit),
            ConfigureError::MachineUnsuitable,
        ),
        (
            configuration(3, 3, StrategyKind::FreeList),
            ConfigureError::MachineUnsuitable,
        ),
        (on_a_mesh, ConfigureError::MachineUnsuitable),
    ] {
        assert_eq!(
            call(&mut client, Command::Configure(refused)),
            [Reply::Error(Error::Configure(why))],
            "{refused:?}"
        );
    }
    // The largest of them fit, whatever k and n.
    for (k, n) in [(2, 12), (3, 7), (8, 4), (15, 3), (64, 2), (4096, 1)] {
        let served = Command::Configure(configuration(k, n, tc));
        assert_eq!(call(&mut client, served), [Reply::Done], "k = {k}, n = {n}");
    }

    let partner = configuration(4, 3, StrategyKind::Partner);
    assert_eq!(
        call(&mut client, Command::Configure(partner)),
        [Reply::Done]
    );
    for (radices, why) in [
        (&[5][..], Refusal::NeverFits),
        (&[2, 2, 2, 2], Refusal::TooManyExtents),
        (&[17, 4], Refusal::NeverFits),
        (&[4, 3], Refusal::ExtentBelowSide),
    ] {
        assert_eq!(
            call(&mut client, submit(1, radices)),
            [Reply::Error(Error::Refused(why))],
            "{radices:?}"
        );
    }
    assert_eq!(call(&mut client, submit(1, &[4, 4])).len(), 2);
}

/// The searches that take the longest: those for m radices 2 on the 2-ary 12-cube where no such subcube is free, but
/// one of a dimension less along every notation.
#[test]
fn qemu_searches_a_whole_cube_in_time() {
    let Some(qemu) = Qemu::start_counting() else {
        return;
    };
    let mut client = qemu.client().unwrap();
    let hypercube = Cube::new(2, 12).expect("a cube").grid();
    // Naive never searches in vain.
    let searches =
        |kind: &StrategyKind| kind.serves().includes(&hypercube) && *kind != StrategyKind::Naive;
    for strategy in StrategyKind::built().filter(searches) {
        let served = Command::Configure(configuration(2, 12, strategy));
        for command in [Command::Reset, served] {
            assert_eq!(call(&mut client, command), [Reply::Done], "{strategy}");
        }
        let longest = (5..=8).map(|m| search_ms(&mut client, m)).max();
        let longest = longest.expect("there are four of them");
        println!("{strategy}: {longest} ms at most, a cycle an instruction");
        assert!(longest <= SEARCH_MS_MAX, "{strategy}: {longest} ms");
    }
}

/// How long the board searches in vain for m radices 2, in milliseconds of its clock.
fn search_ms(client: &mut Client<impl Line>, m: u32) -> u64 {
    assert_eq!(call(client, Command::Reset), [Reply::Done]);
    // The nodes of a subcube with m dimensions have m + 1 numbers of ones in a row.
    for node in (0..1_u32 << 12).filter(|node| node.count_ones() % (m + 1) == 0) {
        call(client, Command::MarkFaulty { node: NodeId(node) });
    }
    // All in one go, so that the board does not wait for frames in between.
    let radices = vec![2; m as usize];
    let burst: Vec<u8> = [submit(1, &[]), submit(2, &radices), submit(3, &[])]
        .into_iter()
        .zip(1000..)
        .flat_map(|(command, seq)| {
            let message = ClientMessage::Command { at: None, command };
            let mut buffer = ClientFrameBuffer::new();
            let frame = buffer.encode(Header::new(seq, 0), &message);
            frame.expect("it fits").to_vec()
        })
        .collect();
    client.line_mut().send(&burst).expect("QEMU runs");
    let mut granted_at = |job| match &call(client, Command::QueryJob { job: JobId(job) })[..] {
        [Reply::Grant(grant), Reply::Job(_)] => grant.at,
        other => panic!("{other:?}"),
    };
    let elapsed = granted_at(3) - granted_at(1);
    let Reply::Statistics(statistics) = call(client, Command::Statistics)[0] else {
        panic!("no statistics");
    };
    assert_eq!(
        (statistics.misses, statistics.running),
        (1, 2),
        "it was to be searched in vain"
    );
    elapsed
}
