//! The rate of the line: a client and a server with different rates read each other's levels as
//! garbage, and must agree on a rate again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use meshalloc::Query;
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::rate::{BAUDS, PATIENCE_MS, Rate};
use meshalloc_firmware::{BAUD_DEFAULT, Client, ClientError, ClientMessage, Line, Options, Server};

use crate::board::{Board, at_reset, release, submit};
use crate::line::{Random, call};

/// The bytes that a receiver of one rate reads if they were sent at another: each byte, and whether
/// it has no stop bit. The receiver samples the line in the middle of each bit, after a falling
/// edge.
fn received(bytes: &[u8], sent_at: u32, heard_at: u32) -> Vec<(u8, bool)> {
    let bits = bytes.iter().flat_map(|&byte| {
        let data = (0..8).map(move |bit| byte >> bit & 1 == 1);
        [false].into_iter().chain(data).chain([true])
    });
    let bits: Vec<bool> = bits.collect();
    // In bits of the sender; high before and behind.
    let level = |at: f64| bits.get(at as usize).copied().unwrap_or(true);
    let bit = f64::from(sent_at) / f64::from(heard_at);
    let mut read = Vec::new();
    let mut at = 0.0;
    while at < bits.len() as f64 {
        if level(at) {
            // To the next edge: levels change at whole bits only.
            at = at.floor() + 1.0;
            continue;
        }
        let sample = |place: u8| level(at + bit * (f64::from(place) + 0.5));
        let byte = (0..8).fold(0, |byte, place| byte | u8::from(sample(place + 1)) << place);
        read.push((byte, !sample(9)));
        at += bit * 9.5;
        // A line that is still low is no new start.
        while !level(at) {
            at = at.floor() + 1.0;
        }
    }
    read
}

#[test]
fn ends_of_one_rate_understand_each_other_and_others_do_not() {
    let bytes: Vec<u8> = (0..=255).collect();
    let right: Vec<_> = bytes.iter().map(|&byte| (byte, false)).collect();
    for a in BAUDS {
        for b in BAUDS {
            let is_near = f64::from(a.abs_diff(b)) < 0.04 * f64::from(a);
            if a == b {
                assert_eq!(received(&bytes, a, b), right);
            } else if !is_near {
                assert_ne!(
                    received(&bytes, a, b),
                    right,
                    "sent at {a} baud, read at {b}"
                );
            }
        }
    }
}

/// A board and its line. Time passes while bytes travel and while a client waits.
struct World<'m> {
    /// The running server, and those after its resets.
    servers: VecDeque<Server<'m>>,
    board_baud: u32,
    /// In microseconds.
    now: u64,
    /// Every byte is lost.
    is_cut: bool,
    /// Above this rate a bit of every byte is flipped.
    baud_max: u32,
    /// The number of client frames that are still to be cut short.
    damaged: u32,
}

impl World<'_> {
    fn poll(&mut self) {
        let next = self.servers[0].next_rate(self.now / 1000, || true);
        self.board_baud = next.unwrap_or(self.board_baud);
    }

    fn reset_board(&mut self) {
        self.servers.pop_front();
        self.board_baud = BAUD_DEFAULT;
    }

    fn carry(&self, bytes: &[u8], from: u32, to: u32) -> Vec<(u8, bool)> {
        let mut read = received(bytes, from, to);
        if from.max(to) > self.baud_max {
            read.iter_mut().for_each(|(byte, _)| *byte ^= 0x24);
        }
        if self.is_cut {
            read.clear();
        }
        read
    }
}

/// A client's end.
struct End<'w, 'm> {
    world: &'w RefCell<World<'m>>,
    baud: u32,
    arrived: VecDeque<u8>,
}

impl Line for End<'_, '_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut guard = self.world.borrow_mut();
        let world = &mut *guard;
        let mut answer = Vec::new();
        let bytes = match world.damaged {
            0 => bytes,
            _ => &bytes[..bytes.len() / 2],
        };
        world.damaged = world.damaged.saturating_sub(1);
        for (byte, is_misframed) in world.carry(bytes, self.baud, world.board_baud) {
            world.now += 10_000_000 / u64::from(self.baud);
            let now = world.now / 1000;
            if is_misframed {
                world.servers[0].overrun(1);
            } else {
                world.servers[0].receive(&[byte], now, &mut answer).unwrap();
            }
            let carried = world.carry(&answer, world.board_baud, self.baud);
            self.arrived.extend(carried.iter().map(|&(byte, _)| byte));
            answer.clear();
            world.poll();
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if self.arrived.is_empty() {
            let mut world = self.world.borrow_mut();
            for _ in 0..timeout.as_millis() {
                world.now += 1000;
                world.poll();
            }
        }
        io::Read::read(&mut self.arrived, buffer)
    }

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        self.baud = baud;
        Ok(())
    }
}

/// Runs `body` with a board that can be reset `resets` times.
fn with_world(resets: usize, body: impl FnOnce(&RefCell<World<'_>>)) {
    let mut boards: Vec<_> = (0..=resets).map(|_| Board::new()).collect();
    let controllers = boards.iter_mut().map(at_reset);
    let servers = controllers
        .zip(1..)
        .map(|(controller, boot)| Server::new(controller, boot));
    body(&RefCell::new(World {
        servers: servers.collect(),
        board_baud: BAUD_DEFAULT,
        now: 0,
        is_cut: false,
        baud_max: u32::MAX,
        damaged: 0,
    }));
}

fn connect<'w, 'm>(
    world: &'w RefCell<World<'m>>,
    baud: u32,
) -> Result<Client<End<'w, 'm>>, ClientError> {
    let end = End {
        world,
        baud: BAUD_DEFAULT,
        arrived: VecDeque::new(),
    };
    let options = Options {
        baud,
        ..Options::default()
    };
    Client::connect(end, options)
}

#[test]
fn a_client_and_the_board_work_at_every_rate() {
    for baud in BAUDS {
        with_world(0, |world| {
            let mut client = connect(world, baud).unwrap();
            assert_eq!((client.baud(), world.borrow().board_baud), (baud, baud));
            for job in 0..50 {
                assert_eq!(
                    call(&mut client, &submit(job, 3, 3), None)
                        .unwrap()
                        .grants()
                        .len(),
                    1
                );
                call(&mut client, &release(job), None).unwrap();
                // Silence of any length.
                world.borrow_mut().now += 100_000_000;
                world.borrow_mut().poll();
            }
            assert_eq!((client.baud(), world.borrow().board_baud), (baud, baud));
            assert_eq!(client.counters().retries, 0);
        });
    }
}

/// The board has gone to a rate that its line does not bear, or one that it does not have.
#[test]
fn where_a_rate_does_not_work_the_client_and_the_board_stay_at_the_default() {
    for (baud, baud_max) in [
        (1_000_000, 500_000),
        (230_400, 115_200),
        (250_000, u32::MAX),
    ] {
        with_world(0, |world| {
            world.borrow_mut().baud_max = baud_max;
            let mut client = connect(world, baud).unwrap();
            assert_eq!(client.baud(), BAUD_DEFAULT);
            assert_eq!(
                call(&mut client, &submit(1, 3, 3), None)
                    .unwrap()
                    .grants()
                    .len(),
                1
            );
            assert_eq!(world.borrow().board_baud, BAUD_DEFAULT);
        });
    }
}

#[test]
fn a_client_finds_a_board_that_an_earlier_one_has_left_at_another_rate() {
    for (first, second) in [(1_000_000, BAUD_DEFAULT), (460_800, 921_600)] {
        with_world(0, |world| {
            drop(connect(world, first).unwrap());
            assert_eq!(world.borrow().board_baud, first);
            let client = connect(world, second).unwrap();
            assert_eq!((client.baud(), world.borrow().board_baud), (second, second));
        });
    }
}

#[test]
fn a_client_finds_a_board_that_was_reset_and_goes_back_to_its_rate() {
    with_world(1, |world| {
        let mut client = connect(world, 1_000_000).unwrap();
        assert_eq!(
            call(&mut client, &submit(1, 3, 3), None)
                .unwrap()
                .grants()
                .len(),
            1
        );
        world.borrow_mut().reset_board();
        let error = call(&mut client, &submit(2, 3, 3), None).unwrap_err();
        assert!(
            matches!(error, ClientError::ControllerReset { .. }),
            "{error}"
        );
        assert_eq!(
            call(&mut client, &submit(2, 3, 3), None)
                .unwrap()
                .grants()
                .len(),
            1
        );
        assert_eq!(
            (client.baud(), world.borrow().board_baud),
            (1_000_000, 1_000_000)
        );
    });
}

/// Cuts, resets, lines that bear less than before and other clients, at random moments, also in the
/// middle of a switch: on a sound line the next client is served within its five tries.
#[test]
fn whatever_happens_a_client_is_served_once_the_line_is_sound() {
    let (mut fast, mut slow) = (0, 0);
    for seed in 0..300 {
        with_world(20, |world| {
            let mut random = Random(seed);
            let mut client = None;
            for _ in 0..20 {
                let baud = BAUDS[random.below(BAUDS.len())];
                match random.below(5) {
                    0 => world.borrow_mut().is_cut = true,
                    1 => world.borrow_mut().reset_board(),
                    2 => world.borrow_mut().baud_max = BAUDS[random.below(BAUDS.len())],
                    3 => client = connect(world, baud).ok(),
                    _ => world.borrow_mut().now += random.next() % 3_000_000,
                }
                world.borrow_mut().poll();
                if let Some(client) = &mut client {
                    // Whether it is answered depends on the line.
                    let _ = client.query(&Query::Statistics);
                    let _ = client.hello();
                }
                if random.once_in(3) {
                    let mut world = world.borrow_mut();
                    (world.is_cut, world.baud_max) = (false, u32::MAX);
                }
            }
            {
                let mut world = world.borrow_mut();
                (world.is_cut, world.baud_max) = (false, u32::MAX);
            }
            if let Some(mut client) = client {
                match client.hello() {
                    Ok(_) | Err(ClientError::ControllerReset { .. }) => {}
                    Err(error) => panic!("seed {seed}: {error}"),
                }
                assert!(client.query(&Query::Statistics).unwrap().is_ok());
                match client.baud() {
                    BAUD_DEFAULT => slow += 1,
                    _ => fast += 1,
                }
                assert_eq!(client.baud(), world.borrow().board_baud, "seed {seed}");
            }
            let mut other =
                connect(world, 1_000_000).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(other.query(&Query::Statistics).unwrap().is_ok());
            assert_eq!(other.baud(), 1_000_000, "seed {seed}");
        });
    }
    assert!(
        fast > 20 && slow > 20,
        "{fast} at a high rate, {slow} at the default"
    );
}

/// The client sends a frame again after a second, and the board waits for it at the rate that they
/// have. Its answer comes behind the word that the half of the first copy was damaged.
#[test]
fn a_lost_frame_does_not_cost_the_rate() {
    with_world(0, |world| {
        let mut client = connect(world, 1_000_000).unwrap();
        for _ in 0..3 {
            let before = client.counters().retries;
            world.borrow_mut().damaged = 1;
            assert!(client.query(&Query::Statistics).unwrap().is_ok());
            assert_eq!(client.counters().retries, before + 1);
            assert_eq!(client.baud(), 1_000_000);
            assert_eq!(world.borrow().board_baud, 1_000_000);
        }
    });
}

#[test]
fn a_rate_stays_with_frames_and_with_silence_and_not_with_bytes_alone() {
    let mut rate = Rate::new();
    assert_eq!(rate.ask(230_400), 230_400);
    assert_eq!(
        rate.next(0, || false),
        None,
        "the reply is still on its way"
    );
    assert_eq!(rate.next(5, || true), Some(230_400));
    // On trial: silence is enough to go back.
    assert_eq!(rate.next(4 + PATIENCE_MS, || true), None);
    assert_eq!(rate.next(5 + PATIENCE_MS, || true), Some(BAUD_DEFAULT));

    rate.ask(1_000_000);
    assert_eq!(rate.next(2000, || true), Some(1_000_000));
    rate.hear();
    rate.hear_frame();
    assert_eq!(rate.next(1_000_000, || true), None, "silence after a frame");
    // Even if the clock is read much later.
    rate.hear();
    assert_eq!(rate.next(2_000_000, || true), None);
    rate.hear();
    assert_eq!(rate.next(2_000_900, || true), None);
    let late = 2_000_000 + PATIENCE_MS;
    assert_eq!(rate.next(late - 1, || true), None);
    assert_eq!(rate.next(late, || true), Some(BAUD_DEFAULT));

    // At the default nothing is ever due.
    rate.hear();
    assert_eq!(rate.next(late + 1000, || true), None);
    assert_eq!(rate.next(9_000_000, || true), None);
    assert_eq!(rate.ask(250_000), BAUD_DEFAULT);
    assert_eq!(rate.next(9_000_000, || true), None);
}

#[test]
fn frames_that_are_not_understood_and_zeros_between_frames_do_not_end_a_rate() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), 1);
    let mut buffer = ClientFrameBuffer::new();
    let mut line = Vec::new();
    let ask = ClientMessage::Rate { baud: 1_000_000 };
    let frame = buffer.encode(Header::new(7, 1), &ask).unwrap();
    server.receive(frame, 0, &mut line).unwrap();
    assert_eq!(server.next_rate(0, || true), Some(1_000_000));
    // A message of a later protocol, whole.
    let frame = buffer.encode(Header::new(7, 2), &250_u8).unwrap();
    server.receive(frame, 10, &mut line).unwrap();
    assert_eq!(server.counters().bad_message, 1);
    server.receive(&[0, 0, 0], 20, &mut line).unwrap();
    assert_eq!(server.next_rate(100_000, || true), None);
    // The first byte of a frame that does not come.
    server.receive(&[5], 100_000, &mut line).unwrap();
    assert_eq!(server.next_rate(100_000, || true), None);
    let late = 100_000 + PATIENCE_MS;
    assert_eq!(server.next_rate(late, || true), Some(BAUD_DEFAULT));
}
