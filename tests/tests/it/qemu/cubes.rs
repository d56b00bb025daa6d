//! Cubes on the firmware in QEMU: what it refuses.

use meshalloc::{
    Command, Configuration, ConfigureError, Cube, Error, Flags, JobId, Mesh, Refusal, Reply,
    Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_firmware::{Client, Line};
use meshalloc_tests::qemu::{Qemu, call_at};

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
