//! Cubes on the firmware in QEMU: what it refuses.

use meshalloc::{
    Change, Configuration, ConfigureError, Cube, Error, Flags, JobId, Mesh, Outcome, Refusal,
    Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_tests::qemu::Qemu;

use super::call;

fn configuration(k: u16, n: u8, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: Cube::new(k, n).expect("a cube").into(),
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

fn submit(job: u32, radices: &[u16]) -> Change {
    let shape = Shape::new(radices).expect("radices of some cube");
    Change::submit(JobId(job), Request::new(shape).with_flags(Flags::NO_WAIT))
}

#[test]
fn qemu_refuses_cubes_and_subcubes_that_it_cannot_serve() {
    let qemu = Qemu::start();
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
            configuration(4, 3, StrategyKind::Buddy),
            ConfigureError::MachineUnsuitable,
        ),
        (
            configuration(3, 3, StrategyKind::FreeList),
            ConfigureError::MachineUnsuitable,
        ),
        (on_a_mesh, ConfigureError::MachineUnsuitable),
    ] {
        assert_eq!(
            call(&mut client, Change::Configure(refused)).outcome,
            Err(Error::Configure(why)),
            "{refused:?}"
        );
    }
    // The largest of them fit, whatever k and n.
    for (k, n) in [(2, 12), (3, 7), (8, 4), (15, 3), (64, 2), (4096, 1)] {
        let served = Change::Configure(configuration(k, n, tc));
        assert_eq!(
            call(&mut client, served).outcome,
            Ok(Outcome::Done),
            "k = {k}, n = {n}"
        );
    }

    let partner = configuration(4, 3, StrategyKind::Partner);
    assert_eq!(
        call(&mut client, Change::Configure(partner)).outcome,
        Ok(Outcome::Done)
    );
    for (radices, why) in [
        (&[5][..], Refusal::NeverFits),
        (&[2, 2, 2, 2], Refusal::TooManyExtents),
        (&[17, 4], Refusal::NeverFits),
        (&[4, 3], Refusal::ExtentBelowSide),
    ] {
        assert_eq!(
            call(&mut client, submit(1, radices)).outcome,
            Err(Error::Refused(why)),
            "{radices:?}"
        );
    }
    assert_eq!(call(&mut client, submit(1, &[4, 4])).grants.len(), 1);
}
