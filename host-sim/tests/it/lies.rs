//! The program with a controller that lies, or never comes to an end: a clear error, and no table
//! made of nonsense.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use meshalloc::{Answer, Block, Error, Event, EventKind, JobId, Outcome, Submesh};
use meshalloc_firmware::ServerMessage;
use meshalloc_firmware::frame::{Decoder, SERVER_CONTENT_MAX, ServerFrameBuffer};
use meshalloc_firmware::protocol::ProtocolError;

use crate::line::{BoardStorage, answer, jobs_at, server};
use crate::program::{host_sim_in, kill};

type Lie = fn(&mut ServerMessage);

/// A right server, whose answers become others on their way. Returns the number of jobs that are
/// there at the end.
fn lying(mut lie: impl FnMut(&mut ServerMessage) + Send + 'static) -> (String, JoinHandle<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        let mut storage = Box::new(BoardStorage::new());
        let mut server = server(&mut storage);
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
        let (mut bytes, mut replies) = ([0; 256], vec![0; 1 << 16]);
        while let Ok(len @ 1..) = stream.read(&mut bytes) {
            for &byte in answer(&mut server, &bytes[..len], &mut replies) {
                let Some(frame) = decoder.push(byte) else {
                    continue;
                };
                let frame = frame.unwrap();
                let mut message = postcard::from_bytes(frame.body).unwrap();
                lie(&mut message);
                send(&mut stream, frame.header, &message);
            }
        }
        jobs_at(&mut server, 0)
    });
    (endpoint, thread)
}

fn send(
    stream: &mut TcpStream,
    header: meshalloc_firmware::frame::Header,
    message: &ServerMessage,
) {
    let mut room = ServerFrameBuffer::new();
    // A program that was interrupted does not listen any more.
    let _ = stream.write_all(room.encode(header, message).unwrap());
}

/// Changes the grants in the events of an outcome or of a poll.
fn grants(message: &mut ServerMessage, change: fn(JobId, &mut u32, &mut Block)) {
    if let ServerMessage::Outcome { events, .. } | ServerMessage::Events(events) = message {
        for event in &mut events.list {
            if let EventKind::Granted { block, .. } = &mut event.what {
                change(event.job, &mut event.processors, block);
            }
        }
    }
}

fn outcome(message: &mut ServerMessage, change: fn(&mut Result<Outcome, Error>)) {
    if let ServerMessage::Outcome { outcome, .. } = message {
        change(outcome);
    }
}

/// Each lie, the command line that meets it, and the text of the error.
#[test]
fn a_controller_that_lies_is_not_believed() {
    let run = "run --mesh 16x16 --jobs 50 --load .9 --replications 1";
    let messages =
        "run --mesh 16x16 --jobs 20 --replications 1 --pattern all-to-all --arrival-rate 0.001";
    let reasons = "run --mesh 16x16 --jobs 50 --load .9 --replications 1 --reasons";
    let naive = "run --mesh 16x16 --jobs 50 --load .9 --replications 1 --strategy naive";
    let replay = "replay ops --mesh 16x16";
    let folder = tempfile::tempdir().unwrap();
    let operations =
        "alloc 1 2 2\nalloc 2 2 2 lease=3\nfault 0..1 0..1\nfree 1\nfault 9 9\nfault 9 8\n";
    std::fs::write(folder.path().join("ops"), operations).unwrap();
    let waits = "alloc 1 16 16\nalloc 2 2 2\nfree 2\nfree 1\n";
    std::fs::write(folder.path().join("waits"), waits).unwrap();
    let table: [(&str, Lie, &str); 21] = [
        // It gives fewer processors than were asked for.
        (
            messages,
            |it| {
                grants(it, |_, processors, block| {
                    *processors = 1;
                    *block = Submesh::new(0, 0, 1, 1).into();
                });
            },
            "(expected (Event { number: 1, job: JobId(0), at: 447, processors: 150,",
        ),
        // It gives the first processor to every job.
        (
            run,
            |it| {
                grants(it, |_, _, block| {
                    let [_, _, w, h] = sides(*block);
                    *block = Submesh::new(0, 0, w, h).into();
                });
            },
            "block: Block([15, 0, 1, 11]) } }, [Block([15, 0, 1, 11])])",
        ),
        (
            run,
            |it| grants(it, |_, _, block| *block = Submesh::new(15, 15, 2, 2).into()),
            "block: Block([0, 0, 15, 10]) } }, [Block([0, 0, 15, 10])])",
        ),
        (
            run,
            |it| grants(it, |_, processors, _| *processors += 1),
            "(expected (Event { number: 1, job: JobId(0), at: 1401422, processors: 150,",
        ),
        (
            run,
            |it| {
                outcome(it, |outcome| {
                    if let Ok(Outcome::Released { processors }) = outcome {
                        *processors += 1;
                    }
                });
            },
            "(expected Ok(Released { processors: 150 }))",
        ),
        // A job that is refused for nothing, one that is not granted on an empty machine, and one
        // that is granted twice.
        (
            run,
            |it| {
                if let ServerMessage::Outcome { outcome, events } = it
                    && !events.list.is_empty()
                {
                    *outcome = Err(Error::Refused(meshalloc::Refusal::NeverFits));
                }
            },
            "with Err(Refused(NeverFits)) (expected Ok(Done))",
        ),
        (
            run,
            |it| {
                if let ServerMessage::Outcome { events, .. } = it {
                    events.list.clear();
                }
            },
            "with Ok(Done) (expected (Event { number: 1, job: JobId(0),",
        ),
        (
            run,
            |it| {
                if let ServerMessage::Outcome { events, .. } = it
                    && let Some(event) = events.list.first().copied()
                {
                    events.latest += 1;
                    let number = events.latest;
                    let again = Event { number, ..event };
                    events.list.push(again).unwrap();
                }
            },
            "(expected no such event)",
        ),
        (
            run,
            |it| {
                if let ServerMessage::Outcome { events, .. } = it {
                    events
                        .list
                        .iter_mut()
                        .for_each(|event| event.at += 1_000_000_000);
                }
            },
            "(expected (Event { number: 1, job: JobId(0), at: 1401422,",
        ),
        (
            run,
            |it| {
                if let ServerMessage::Outcome { events, .. } = it {
                    events
                        .list
                        .iter_mut()
                        .for_each(|event| event.job = JobId(777));
                }
            },
            "(expected (Event { number: 1, job: JobId(0),",
        ),
        // Blocks of a scattered job.
        (
            naive,
            |it| {
                if let ServerMessage::Answer(Ok(Answer::Blocks(list))) = it {
                    list.blocks.fill(Submesh::new(15, 15, 1, 1).into());
                }
            },
            "[Block([0, 0, 16, 9]), Block([0, 9, 6, 1])])",
        ),
        // Faults and leases.
        (
            replay,
            |it| {
                outcome(it, |outcome| {
                    if let Ok(Outcome::Faults(report)) = outcome {
                        report.changed += 1;
                    }
                });
            },
            "(expected Ok(Faults(FaultReport { changed: 4, jobs: 1,",
        ),
        (
            replay,
            |it| {
                outcome(it, |outcome| {
                    if let Ok(Outcome::Faults(report)) = outcome {
                        report.first = Some(JobId(777));
                        report.jobs = 2;
                    }
                });
            },
            "(expected Ok(Faults(FaultReport { changed: 4, jobs: 1,",
        ),
        (
            replay,
            |it| {
                if let ServerMessage::Outcome { events, .. } | ServerMessage::Events(events) = it {
                    let ended = events.list.iter_mut();
                    let ended = ended.filter(|event| event.what == EventKind::LeaseEnded);
                    ended.for_each(|event| event.processors = 3);
                }
            },
            "(expected (Event { number: 3, job: JobId(2), at: 5, processors: 4, what: LeaseEnded }",
        ),
        (
            replay,
            |it| {
                if let ServerMessage::Outcome { events, .. } | ServerMessage::Events(events) = it {
                    let all = events.list.len();
                    events
                        .list
                        .retain(|event| event.what != EventKind::LeaseEnded);
                    events.latest -= (all - events.list.len()) as u64;
                }
            },
            "(expected (Event { number: 3, job: JobId(2), at: 5, processors: 4, what: LeaseEnded }",
        ),
        (
            replay,
            |it| {
                if let ServerMessage::Outcome { events, .. } = it
                    && let Some(event) = events.list.first().copied()
                    && event.job.0 == 1
                {
                    let what = EventKind::LeaseEnded;
                    events.latest += 1;
                    let number = events.latest;
                    let ended = Event {
                        number,
                        what,
                        ..event
                    };
                    events.list.push(ended).unwrap();
                }
            },
            "what: LeaseEnded }, []) (expected no such event)",
        ),
        // What the reasons of waiting are found from.
        (
            reasons,
            |it| {
                if let ServerMessage::Answer(Ok(Answer::Jobs(list))) = it {
                    list.jobs.pop();
                }
            },
            "jobs: [(JobId(0), 150)], next: None })",
        ),
        (
            reasons,
            |it| {
                if let ServerMessage::Answer(Ok(Answer::Occupancy(chunk))) = it {
                    chunk.busy[0] |= 1;
                    chunk.faulty[0] |= 1;
                }
            },
            "faulty: [0, 0,",
        ),
        (
            reasons,
            |it| {
                if let ServerMessage::Answer(Ok(Answer::Blocks(list))) = it {
                    list.total += 1;
                }
            },
            "total: 1, first: 0, blocks: [Block(",
        ),
        (
            "replay waits --mesh 16x16 --scheduler fcfs",
            |it| {
                if let ServerMessage::Answer(Ok(Answer::Job(report))) = it {
                    report.request = report.request.with_processors(1);
                }
            },
            "processors: 4, flags: Flags(0x0)",
        ),
        // What it says of itself.
        (
            run,
            |it| {
                if let ServerMessage::Hello(greeting) = it {
                    greeting.capacity.list = u32::MAX;
                }
            },
            "room for 4294967295 jobs, blocks or entries of a list (expected at most 1048576)",
        ),
    ];
    for (number, (line, lie, expected)) in table.into_iter().enumerate() {
        let (endpoint, board) = lying(lie);
        let ended = host_sim_in(folder.path(), &format!("{line} --backend {endpoint}"));
        let said = format!("lie {number}: {expected:?}: {ended}");
        assert!(matches!(ended.code, Some(1 | 2)), "{said}");
        assert!(ended.stderr.contains("the controller answered"), "{said}");
        assert!(ended.stderr.contains(expected), "{said}");
        assert!(!ended.stderr.contains("panicked"), "{said}");
        assert_eq!(board.join().unwrap(), 0, "{said}");
    }
}

/// A controller that was built without preemption does not know the message.
#[test]
fn a_controller_without_preemption_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "submit,run,shape,priority,preemptible\n0,5,8x8,,1\n1,5,8x8,9,\n";
    std::fs::write(folder.path().join("a.csv"), trace).unwrap();
    let (endpoint, board) = lying(|it| {
        if let ServerMessage::Outcome { outcome, .. } = it
            && *outcome == Err(Error::UnknownJob)
        {
            *it = ServerMessage::Error(ProtocolError::BadMessage);
        }
    });
    let line = format!("run --mesh 8x8 --log a.csv --preemption on --backend {endpoint}");
    let ended = host_sim_in(folder.path(), &line);
    assert_eq!(ended.code, Some(1), "{ended}");
    let expected = "`preemption` requires a controller that was built with the feature";
    assert!(ended.stderr.contains(expected), "{ended}");
    assert_eq!(board.join().unwrap(), 0);
}

/// The start and the extent of a block on a mesh.
fn sides(block: Block) -> [u16; 4] {
    let machine = meshalloc::Mesh::new(16, 16).unwrap().grid();
    let (start, extent) = (machine.start(block), machine.extent(block));
    [start[0], start[1], extent[0], extent[1]]
}

/// Ctrl-C while a controller is always busy, never ends one job, or is silent.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_what_a_controller_does_not() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    // An outcome with an event is that of a submission.
    let lies: [Lie; 3] = [
        |it| {
            if let ServerMessage::Outcome { outcome, events } = it
                && (!events.list.is_empty() || matches!(outcome, Err(Error::Refused(_))))
            {
                *outcome = Err(Error::Busy { left: 1 });
            }
        },
        |it| {
            if let ServerMessage::Outcome { events, .. } = it
                && !events.list.is_empty()
            {
                events.left = 1;
            }
            if let ServerMessage::Events(events) = it {
                events.left = 1;
            }
        },
        |it| {
            if let ServerMessage::Outcome { events, .. } = it
                && !events.list.is_empty()
            {
                thread::sleep(Duration::from_millis(1500));
            }
        },
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ops"), "alloc 1 2 2\nalloc 2 2 2\n").unwrap();
    // With the first two lies, the program hears one lie after another. With the third, the board
    // is silent.
    let heard = [3, 3, 1];
    for line in ["run --mesh 16x16 --jobs 50", "replay ops --mesh 16x16"] {
        for (lie, heard) in lies.into_iter().zip(heard) {
            let (begin, begun) = mpsc::channel();
            let mut has_begun = false;
            let (endpoint, board) = lying(move |it| {
                has_begun |= matches!(it, ServerMessage::Outcome { events, .. }
                    if !events.list.is_empty());
                if has_begun {
                    // The program ends while nobody listens any more.
                    let _ = begin.send(());
                }
                lie(it);
            });
            let line = format!("{line} --backend {endpoint}");
            let child = crate::program::command(folder.path(), &line)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            for _ in 0..heard {
                begun.recv_timeout(Duration::from_secs(60)).unwrap();
            }
            kill("-INT", child.id());
            let begun = Instant::now();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(130), "{said}");
            assert!(said.contains("interrupted"), "{said}");
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{:?}",
                begun.elapsed()
            );
            board.join().unwrap();
        }
    }
}

/// A replay whose input has not ended leaves no job behind either.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_replay_that_waits_for_input() {
    use std::process::Stdio;

    let (endpoint, board) = lying(|_| ());
    let line = format!("replay - --mesh 16x16 --backend {endpoint}");
    let mut child = crate::program::command(std::path::Path::new("."), &line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"alloc 1 2 2\nalloc 2 2 2\n").unwrap();
    input.flush().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    for _ in 0..2 {
        shown.read_line(&mut lines).unwrap();
    }
    kill("-INT", child.id());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), &*said),
        (Some(130), "error: interrupted\n")
    );
    shown.read_to_string(&mut lines).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert_eq!(board.join().unwrap(), 0);
}
