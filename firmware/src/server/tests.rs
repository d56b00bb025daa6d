//! What a server does where its memory fails or is full.

use core::cell::Cell;

use meshalloc::{
    Change, Configuration, Error, Flags, JobId, Mesh, Outcome, Refusal, Request, SchedulerKind,
    Storage, StrategyKind,
};

use super::*;
use crate::frame::{ClientFrameBuffer, Header, SERVER_CONTENT_MAX};
use crate::keeping::{Meantime, NoRecord, NotKept, Record};
use crate::protocol::{ClientMessage, ProtocolError, ServerMessage};
use crate::sessions::Remembered;

/// Has room for checkpoints, but not for records, or fails when one is written. A checkpoint of the
/// state after a reset leaves room for records.
#[derive(Debug, Default)]
struct Full {
    is_empty: bool,
    checkpoints: u32,
    work: Ticks,
}

impl Keep for Full {
    const KEEPS: bool = true;

    fn append(&mut self, _: &Record, _: usize) -> Result<(), NoRecord> {
        if self.is_empty {
            Ok(())
        } else {
            Err(NoRecord::Failed)
        }
    }

    fn worked(&mut self, ms: Ticks) {
        self.work += ms;
    }

    fn is_due(&self) -> bool {
        false
    }

    fn checkpoint<const CLIENTS: usize>(
        &mut self,
        _: &Controller<'_>,
        reset: Option<Ticks>,
        _: &mut dyn Meantime<CLIENTS>,
    ) -> Result<(), NotKept> {
        self.checkpoints += 1;
        self.is_empty |= reset.is_some();
        Ok(())
    }
}

const CONFIGURATION: Configuration = Configuration {
    machine: match Mesh::new(64, 64) {
        Ok(mesh) => mesh.grid(),
        Err(_) => panic!("a mesh"),
    },
    strategy: StrategyKind::FirstFit,
    scheduler: SchedulerKind::Fcfs,
};

/// A port whose clock goes on by a millisecond each time that it is read.
struct Ticking<'a, W> {
    received: Received<'a, W>,
    now: Cell<Ticks>,
}

impl<W: Write> Port for Ticking<'_, W> {
    fn next(&mut self) -> Option<u8> {
        self.received.next()
    }

    fn has_next(&mut self) -> bool {
        self.received.has_next()
    }

    fn now_ms(&self) -> Ticks {
        self.now.update(|now| now + 1);
        self.now.get()
    }
}

impl<W: Write> ErrorType for Ticking<'_, W> {
    type Error = W::Error;
}

impl<W: Write> Write for Ticking<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, W::Error> {
        self.received.write(bytes)
    }

    fn flush(&mut self) -> Result<(), W::Error> {
        self.received.flush()
    }
}

/// These bytes on a line that ticks.
fn ticking<'a, W: Write>(bytes: &'a [u8], line: &'a mut W) -> Ticking<'a, W> {
    Ticking {
        received: Received { bytes, line },
        now: Cell::new(0),
    }
}

/// The answer of a server to a frame of client 7.
fn ask<K: Keep>(server: &mut Server<'_, K>, seq: u32, message: &ClientMessage) -> ServerMessage {
    let mut buffer = ClientFrameBuffer::new();
    let frame = buffer.encode(Header::new(7, seq), message).unwrap();
    let mut room = [0; 512];
    let mut line = &mut room[..];
    let mut port = ticking(frame, &mut line);
    while server.receive_from(0, &mut port).unwrap().is_some() {}
    let rest = line.len();
    let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
    let mut answer = None;
    for &byte in &room[..512 - rest] {
        if let Some(frame) = decoder.push(byte) {
            assert!(answer.is_none(), "one frame is answered by one");
            answer = postcard::from_bytes(frame.unwrap().body).ok();
        }
    }
    answer.unwrap()
}

/// A submission that never waits, in a session that is opened for it.
fn never_waits<K: Keep>(server: &mut Server<'_, K>) -> ClientMessage {
    let request = Request::submesh(41, 53).with_flags(Flags::NO_WAIT);
    in_session(server, Change::submit(JobId(1), request))
}

/// A change in a session that is opened for it.
fn in_session<K: Keep>(server: &mut Server<'_, K>, change: Change) -> ClientMessage {
    let ServerMessage::Hello(greeting) = ask(server, 1, &ClientMessage::Hello) else {
        panic!("it is greeted");
    };
    ClientMessage::Change {
        session: greeting.session,
        since: 0,
        at: None,
        change,
    }
}

/// What a frame was answered with; `None`: that the change is under way.
fn outcome(answer: ServerMessage) -> Result<Remembered, ProtocolError> {
    match answer {
        ServerMessage::Outcome { outcome, .. } => Ok(Some(outcome)),
        ServerMessage::UnderWay(_) => Ok(None),
        ServerMessage::Error(error) => Err(error),
        other => panic!("{other:?}"),
    }
}

/// The job is not there afterwards, and no copy of the frame is carried out, whether the change was
/// first answered as under way or not.
#[test]
fn a_granted_job_that_cannot_be_recorded_is_gone_again() {
    for (slice, expected) in [
        (
            Ticks::MAX,
            [Err(ProtocolError::NotKept), Err(ProtocolError::TooOld)],
        ),
        (0, [Ok(None), Ok(Some(Err(Error::Busy { left: 1 })))]),
    ] {
        let mut storage = Storage::<128, 4>::new();
        let controller = Controller::new(storage.memory(), CONFIGURATION).unwrap();
        let server = <Server<'_, _>>::with(controller, 1, Full::default(), Origin::New);
        let mut server = server.pausing_after(slice);
        let submit = never_waits(&mut server);
        for expected in expected {
            assert_eq!(outcome(ask(&mut server, 2, &submit)), expected);
            assert!(server.controller().jobs().is_empty());
            assert_eq!(server.controller().occupancy().free(), 4096);
        }
    }
}

/// An attempt that is not recorded takes no time when the state is restored.
#[test]
fn refused_attempts_bring_no_checkpoint_about() {
    let mut storage = Storage::<128, 4>::new();
    let configuration = Configuration {
        strategy: StrategyKind::AllShapes,
        ..CONFIGURATION
    };
    let mut controller = Controller::new(storage.memory(), configuration).unwrap();
    let most = Request::submesh(64, 30);
    let submit = Change::submit(JobId(9), most);
    assert_eq!(controller.handle(&submit, 0), Ok(Outcome::Done));
    let mut server = <Server<'_, _>>::with(controller, 1, Full::default(), Origin::New);
    let submit = never_waits(&mut server);
    for seq in 2..10 {
        let fragmented = Err(Error::Refused(Refusal::Fragmented));
        let answered = outcome(ask(&mut server, seq, &submit));
        assert_eq!(answered, Ok(Some(fragmented)));
    }
    assert_eq!((server.keep.work, server.keep.checkpoints), (0, 0));
}

#[test]
fn a_reset_makes_room_where_no_command_has_any() {
    let mut storage = Storage::<8, 4>::new();
    let configuration = Configuration {
        machine: Mesh::new(8, 8).unwrap().grid(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut controller = Controller::new(storage.memory(), configuration).unwrap();
    let job = JobId(1);
    let submit = Change::submit(job, Request::submesh(2, 2));
    assert_eq!(controller.handle(&submit, 0), Ok(Outcome::Done));
    let mut server = <Server<'_, _>>::with(controller, 1, Full::default(), Origin::New);
    let release = in_session(&mut server, Change::Release { job });
    let kept = outcome(ask(&mut server, 2, &release));
    assert_eq!(kept, Err(ProtocolError::NotKept));
    assert!(server.controller.jobs().find(job).is_some());
    assert_eq!(server.keep.checkpoints, 1);
    // This checkpoint is of the empty state. The reset is carried out after it.
    let reset = in_session(&mut server, Change::Reset);
    assert_eq!(
        outcome(ask(&mut server, 3, &reset)),
        Ok(Some(Ok(Outcome::Done)))
    );
    assert!(server.controller.jobs().is_empty());
    assert_eq!(server.keep.checkpoints, 2);
}

#[test]
fn the_work_of_attempts_between_frames_is_counted() {
    let mut storage = Storage::<128, 4>::new();
    let mut controller = Controller::new(storage.memory(), CONFIGURATION).unwrap();
    for job in 1..4 {
        let submit = Change::submit(JobId(job), Request::submesh(64, 64));
        assert_eq!(controller.handle(&submit, 0), Ok(Outcome::Done));
    }
    let release = Change::Release { job: JobId(1) };
    let released = controller.begin(&release, 0, None, None);
    assert_eq!(released, Ok(Outcome::Released { processors: 4096 }));
    let keep = Full::default();
    let mut server = <Server<'_, _>>::with(controller, 1, keep, Origin::New);
    let mut line = &mut [0; 0][..];
    let mut port = ticking(&[], &mut line);
    assert_eq!((server.has_work(), server.keep.work), (true, 0));
    server.work(&mut port).unwrap();
    assert!(server.keep.work > 0);
}
