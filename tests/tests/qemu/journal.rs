//! The image keeps its state over resets and restarts of QEMU. The journal is a file on the host.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::{
    Answer, Change, Configuration, JobId, Mesh, Outcome, Query, Request, SchedulerKind,
    StrategyKind,
};
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{Client, ClientError, Line, ProtocolError};
use meshalloc_tests::exhaustive;
use meshalloc_tests::qemu::{Qemu, call_at};
use meshalloc_tests::random::Random;
use tempfile::tempdir;

/// Half of the resets end QEMU, the others reset the chip.
const RESETS: u32 = exhaustive(30, 8);

/// The jobs by name, each with the processors it holds, 0 while it waits.
type Jobs = BTreeMap<u32, u32>;

fn jobs(client: &mut Client<impl Line>) -> Result<Jobs, ClientError> {
    let mut jobs = Jobs::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let answer = client.query(&Query::Jobs { on: None, from: at })?;
        let Ok(Answer::Jobs(list)) = answer else {
            panic!("{answer:?}");
        };
        jobs.extend(
            list.jobs
                .iter()
                .map(|&(job, processors)| (job.0, processors)),
        );
        from = list.next;
    }
    Ok(jobs)
}

/// Submits and releases jobs until the chip is reset or QEMU has ended. Returns the job whose
/// command was not answered, if there is one.
fn work(
    client: &mut Client<impl Line>,
    known: &mut Jobs,
    random: &mut Random,
    next: &mut u32,
) -> Option<u32> {
    loop {
        let release = known.len() > 30 || (!known.is_empty() && random.percent(40));
        let (job, command) = if release {
            let at = random.below(known.len() as u32) as usize;
            let job = *known.keys().nth(at).expect("below their number");
            (job, Change::Release { job: JobId(job) })
        } else {
            *next += 1;
            let request =
                Request::submesh(random.between(1, 30) as u16, random.between(1, 30) as u16);
            (*next, Change::submit(JobId(*next), request))
        };
        let Ok(answer) = call_at(client, &command, None) else {
            return Some(job);
        };
        assert!(answer.outcome.is_ok(), "{answer:?}");
        if release {
            known.remove(&job);
        } else {
            known.insert(job, 0);
        }
        for grant in answer.grants {
            let machine = Mesh::new(64, 64).expect("a mesh").grid();
            known.insert(grant.job.0, machine.area(grant.blocks[0]));
        }
    }
}

/// The client after a reset of the chip.
fn after_reset(client: &mut Client<impl Line>) -> Jobs {
    for _ in 0..100 {
        // This reply reports the reset, unless a command has already done so.
        match client.hello() {
            Ok(_) | Err(ClientError::ControllerReset { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(
            matches!(client.greeting().origin, Origin::Restored { .. }),
            "{:?}",
            client.greeting().origin
        );
        match jobs(client) {
            Ok(jobs) => return jobs,
            Err(ClientError::ControllerReset { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it is reset again and again")
}

/// The state is exactly the acknowledged one, except for the command that was not answered.
fn compare(there: &Jobs, known: &mut Jobs, in_doubt: Option<u32>) {
    if let Some(job) = in_doubt {
        let differs = there.contains_key(&job) != known.contains_key(&job);
        // A release or submission that was carried out may have started other jobs.
        if differs {
            for (job, processors) in there {
                known.entry(*job).and_modify(|held| {
                    assert!(*held == 0 || held == processors, "job {job}");
                    *held = *processors;
                });
            }
        }
        known.remove(&job);
        known.extend(there.get(&job).map(|&processors| (job, processors)));
    }
    assert_eq!(there, known);
}

#[test]
fn qemu_keeps_every_acknowledged_job_over_resets_and_kills() {
    keeps_every_acknowledged_job(&Qemu::start_with_journal, RESETS);
}

/// Resets the chip, and ends QEMU, at any moment, and compares the jobs afterwards.
pub(super) fn keeps_every_acknowledged_job(start: &dyn Fn(&Path) -> Qemu, resets: u32) {
    let folder = tempdir().expect("there is a folder for temporary files");
    let mut qemu = start(folder.path());
    let mut client = qemu.client().expect("it has started");
    assert_eq!(client.greeting().origin, Origin::New);
    let configuration = Configuration {
        machine: Mesh::new(64, 64).expect("a mesh").grid(),
        strategy: StrategyKind::FreeSubmeshList,
        scheduler: SchedulerKind::BypassQueue {
            threshold: 1_000_000,
        },
    };
    let configured = call_at(&mut client, &Change::Configure(configuration), None);
    assert_eq!(configured.expect("it answers").outcome, Ok(Outcome::Done));
    let (mut known, mut next) = (Jobs::new(), 0);
    let mut random = Random::new(13);
    let mut in_doubt_and_done = [0; 2];
    for reset in 0..resets {
        let delay = Duration::from_micros(u64::from(random.below(60_000)));
        let is_kill = reset % 2 == 1;
        let strike = qemu.strike(is_kill).expect("QEMU runs");
        let striking = thread::spawn(move || {
            thread::sleep(delay);
            strike()
        });
        let in_doubt = work(&mut client, &mut known, &mut random, &mut next);
        striking.join().expect("no panic").expect("QEMU was there");
        if is_kill {
            drop(qemu);
            qemu = start(folder.path());
            client = qemu.client().expect("it has started");
            assert!(matches!(client.greeting().origin, Origin::Restored { .. }));
        }
        let there = after_reset(&mut client);
        let job = in_doubt.expect("it was reset");
        in_doubt_and_done[usize::from(there.contains_key(&job) != known.contains_key(&job))] += 1;
        compare(&there, &mut known, in_doubt);
    }
    assert!(next > resets, "{next} jobs were submitted");
    println!(
        "{next} jobs; commands not answered: {in_doubt_and_done:?} (not carried out, carried out)"
    );
}

/// Commands that take QEMU long to repeat: many jobs wait, and each departure makes all their
/// reservations anew.
fn make_long_restore(client: &mut Client<impl Line>) {
    let configuration = Configuration {
        machine: Mesh::new(64, 64).expect("a mesh").grid(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Conservative,
    };
    let configured = call_at(client, &Change::Configure(configuration), None);
    assert_eq!(configured.expect("it answers").outcome, Ok(Outcome::Done));
    let mut random = Random::new(7);
    for job in 0..60 {
        let mut side = || random.between(5, 40) as u16;
        let request = Request::submesh(side(), side()).with_estimate(1000 + u64::from(job));
        let submit = Change::submit(JobId(job), request);
        call_at(client, &submit, None).expect("it answers");
        if let Some(job) = job.checked_sub(30).map(JobId) {
            call_at(client, &Change::Release { job }, None).expect("it answers");
        }
    }
}

/// The origin of the state in the greeting.
fn origin(client: &mut Client<impl Line>) -> Origin {
    match client.hello() {
        Ok(_) | Err(ClientError::ControllerReset { .. }) => client.greeting().origin,
        Err(error) => panic!("{error}"),
    }
}

/// Resets the chip during each of `times` restores in a row, and starts another.
fn reset_during_restores(qemu: &mut Qemu, times: u32) {
    // If the host is busy, a restore may end before its reset. Then the count starts again.
    let patience = Instant::now() + Duration::from_secs(120);
    let mut begun = 0;
    while begun < times {
        qemu.reset_chip().expect("it starts again");
        // The chip says that it starts before it counts the restore.
        let counts = Instant::now() + Duration::from_secs(10);
        begun = loop {
            match qemu.restores_begun() {
                count if count > begun || Instant::now() > counts => break count,
                _ => thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(
            begun >= times || Instant::now() < patience,
            "{begun} of {times} restores in a row were interrupted"
        );
    }
    qemu.reset_chip().expect("it starts again");
}

/// Resets the chip during three restores in a row, after which the journal stays unread.
fn leave_unread(qemu: &mut Qemu, client: &mut Client<impl Line>) {
    // If the host is busy, the third restore may end before the last reset.
    let is_unread = (0..5).any(|_| {
        reset_during_restores(qemu, 3);
        origin(client) == Origin::Unread
    });
    assert!(is_unread);
}

#[test]
fn qemu_leaves_a_journal_alone_after_three_resets_while_it_restores() {
    let folder = tempdir().expect("there is a folder for temporary files");
    let mut qemu = Qemu::start_with_journal(folder.path());
    let mut client = qemu.client().expect("it has started");
    make_long_restore(&mut client);
    let before = jobs(&mut client).expect("it answers");
    assert_eq!(before.len(), 30);
    // Two are not enough: the third restore completes.
    reset_during_restores(&mut qemu, 2);
    assert_eq!(after_reset(&mut client), before);
    leave_unread(&mut qemu, &mut client);
    assert_eq!(jobs(&mut client).expect("it answers"), Jobs::new());
    // A command leaves the journal as it is.
    let request = Request::submesh(1, 1);
    let submit = Change::submit(JobId(1000), request);
    match call_at(&mut client, &submit, None) {
        Err(ClientError::Refused {
            error: ProtocolError::Unread,
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
    qemu.reset_chip().expect("it starts again");
    assert_eq!(after_reset(&mut client), before);
    // A reset of the controller discards it.
    leave_unread(&mut qemu, &mut client);
    let discarded = call_at(&mut client, &Change::Reset, None);
    assert_eq!(discarded.expect("it answers").outcome, Ok(Outcome::Done));
    assert_eq!(origin(&mut client), Origin::New);
    qemu.reset_chip().expect("it starts again");
    assert_eq!(after_reset(&mut client), Jobs::new());
}
