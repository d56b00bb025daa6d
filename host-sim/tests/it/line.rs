//! The program with a controller at the end of a TCP connection: the firmware's server, in this
//! process.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use meshalloc::{
    Change, Configuration, Controller, JobId, Mesh, Pauses, Request, SchedulerKind, Storage,
    StrategyKind,
};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::Keep;
use meshalloc_firmware::{Client, Line, Options, Received, Server};

use crate::program::{host_sim, host_sim_in};

/// Room for a 16 x 16 mesh and 300 jobs.
pub(crate) type BoardStorage = Storage<16, 300, 32, 256, 256>;

/// A board that serves `clients` connections, one after another, without being reset between them.
pub(crate) struct Board {
    pub(crate) endpoint: String,
    thread: JoinHandle<()>,
}

impl Board {
    pub(crate) fn new(clients: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
        let thread = thread::spawn(move || {
            let mut storage = Box::new(BoardStorage::new());
            let mut server = server(&mut storage);
            for _ in 0..clients {
                let (stream, _) = listener.accept().unwrap();
                serve(&mut server, stream);
            }
            assert_eq!(server.counters().faults(), 0);
            assert_left_in_order(&mut server);
        });
        Board { endpoint, thread }
    }

    pub(crate) fn join(self) {
        self.thread.join().unwrap();
    }
}

/// The line of another client, at this time of the server's clock.
struct Direct<'s, 'm, K> {
    server: &'s mut Server<'m, K>,
    now: u64,
    bytes: Vec<u8>,
}

impl<K: Keep> Line for Direct<'_, '_, K> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut replies = [0; 1 << 10];
        let answer = answer_at(self.server, bytes, self.now, &mut replies);
        self.bytes.extend(answer);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let len = self.bytes.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.bytes.drain(..len)) {
            *to = from;
        }
        Ok(len)
    }
}

/// Has a change of another client carried out, which names no time.
fn carry_out(server: &mut Server<'_, impl Keep>, change: Change, now: u64) {
    let bytes = Vec::new();
    let line = Direct { server, now, bytes };
    let mut client = Client::connect(line, Options::default()).unwrap();
    let outcome = client.call(&change, None, &mut |_, _| ()).unwrap();
    assert!(outcome.is_ok(), "{change:?}: {outcome:?}");
}

const LEASED: Change = Change::Submit {
    job: JobId(1),
    request: Request::submesh(1, 1),
    lease: NonZeroU64::new(500),
};

/// The clock of the server goes on to this time. Returns the number of its jobs.
pub(crate) fn jobs_at(server: &mut Server<'_, impl Keep>, now: u64) -> u32 {
    answer_at(server, &[], now, &mut []);
    let statistics = server.controller().statistics();
    statistics.waiting + statistics.running
}

/// No job is there, and a lease of half a second lasts half a second.
fn assert_left_in_order(server: &mut Server<'_, impl Keep>) {
    assert_eq!(jobs_at(server, 1000), 0);
    carry_out(server, LEASED, 1000);
    assert_eq!(jobs_at(server, 1499), 1);
    assert_eq!(jobs_at(server, 1500), 0);
}

pub(crate) fn server(storage: &mut BoardStorage) -> Server<'_> {
    Server::new(server_controller(storage), 1)
}

fn server_controller(storage: &mut BoardStorage) -> Controller<'_> {
    let configuration = Configuration {
        machine: Mesh::new(4, 4).unwrap().into(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    Controller::new(storage.memory(), configuration).unwrap()
}

/// The replies of the server to these bytes.
pub(crate) fn answer<'r>(
    server: &mut Server<'_, impl Keep>,
    bytes: &[u8],
    replies: &'r mut [u8],
) -> &'r [u8] {
    answer_at(server, bytes, 0, replies)
}

/// The same at this time of its clock.
fn answer_at<'r>(
    server: &mut Server<'_, impl Keep>,
    bytes: &[u8],
    now: u64,
    replies: &'r mut [u8],
) -> &'r [u8] {
    let mut room = &mut replies[..];
    let mut port = Received {
        bytes,
        line: &mut room,
    };
    while server.receive_from(now, &mut port).unwrap().is_some() {}
    while server.work(&mut port).unwrap() {}
    let left = room.len();
    &replies[..replies.len() - left]
}

/// Until the client goes.
fn serve(server: &mut Server<'_, impl Keep>, mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let (mut bytes, mut replies) = ([0; 256], vec![0; 1 << 16]);
    while let Ok(len @ 1..) = stream.read(&mut bytes) {
        let replies = answer(server, &bytes[..len], &mut replies);
        stream.write_all(replies).unwrap();
    }
}

/// Runs the program with a board that disappears after a number of reads.
fn with_lost_board(line: &str, reads: usize) -> crate::program::Ended {
    with_board_until(line, reads, drop)
}

/// Runs the program with a board that answers a number of reads; then `end` gets the connection.
fn with_board_until(
    line: &str,
    reads: usize,
    end: impl FnOnce(TcpStream) + Send + 'static,
) -> crate::program::Ended {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let board = thread::spawn(move || {
        let mut storage = Box::new(BoardStorage::new());
        let mut server = server(&mut storage);
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut bytes, mut replies) = ([0; 256], vec![0; 1 << 16]);
        for _ in 0..reads {
            let len = stream.read(&mut bytes).unwrap();
            let reply = answer(&mut server, &bytes[..len], &mut replies);
            stream.write_all(reply).unwrap();
        }
        end(stream);
    });
    let ended = host_sim(&format!("{line} --backend {endpoint}"));
    board.join().unwrap();
    ended
}

#[test]
fn what_is_complete_when_a_board_is_lost_is_printed() {
    let line = "run --mesh 16x16 --jobs 100 --load .5 --strategy ff,naive";
    // A run takes 200 exchanges and a few, with naive, whose jobs have several blocks, up to 200
    // more.
    let ended = with_lost_board(&format!("{line} --replications 10 --format json"), 1_150);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(
        ended
            .stderr
            .starts_with("error: first-fit, replication 3: tcp:"),
        "{ended}"
    );
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(
        ended.stderr.contains(json["incomplete"].as_str().unwrap()),
        "{ended}"
    );
    let whole = host_sim(&format!("{line} --replications 2 --format json")).json();
    for strategy in [0, 1] {
        let [part, whole] = [&json, &whole].map(|json| &json["results"][strategy]);
        assert_eq!(
            (&part["replications"], &part["stop"]),
            (&2.into(), &"incomplete".into())
        );
        assert_eq!(part["metrics"], whole["metrics"]);
        assert_eq!(part["decision_hash"], whole["decision_hash"]);
    }

    let ended = with_lost_board(&format!("{line} --replications 10"), 950);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(
        ended
            .stdout
            .contains("INCOMPLETE: naive, replication 2: tcp:"),
        "{ended}"
    );
    assert!(ended.stdout.contains("completed: 1."), "{ended}");

    let ended = with_lost_board(line, 300);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(
        ended.stderr.ends_with("; no replication is complete\n"),
        "{ended}"
    );
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_board_that_falls_silent_gets_no_hint_about_a_wrong_place() {
    let silent = |mut stream: TcpStream| while let Ok(1..) = stream.read(&mut [0; 256]) {};
    let line = "run --mesh 16x16 --jobs 100 --load .5 --strategy ff";
    let ended = with_board_until(line, 300, silent);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(ended.stderr.contains("no reply"), "{ended}");
    assert!(!ended.stderr.contains("may be connected"), "{ended}");
}

#[test]
fn a_run_makes_the_decisions_of_one_in_process() {
    let board = Board::new(1);
    let line = "run --mesh 16x16 --jobs 200 --replications 2 --load .5 --strategy fsl,naive,ff --format json";
    let near = host_sim(line).json();
    let far = host_sim(&format!("{line} --backend {}", board.endpoint)).json();
    board.join();
    let results = |json: &serde_json::Value| json["results"].as_array().unwrap().clone();
    for (near, far) in results(&near).iter().zip(results(&far)) {
        assert_eq!(near["decision_hash"], far["decision_hash"]);
        assert_eq!(near["metrics"], far["metrics"]);
        assert!(near.get("round_trip").is_none());
        let trips = &far["round_trip"];
        // Each measured job is submitted and released, in two replications.
        assert!(
            trips["commands"].as_u64().unwrap() >= 2 * 2 * 190,
            "{trips}"
        );
        let [median, p99] =
            ["median_seconds", "p99_seconds"].map(|key| trips[key].as_f64().unwrap());
        assert!(0.0 < median && median <= p99 && p99 < 1.0, "{trips}");
    }
    assert!(
        far["controller"]
            .as_str()
            .unwrap()
            .contains(env!("CARGO_PKG_VERSION")),
        "{far}"
    );
}

/// Its journal has room for fewer jobs than its table.
#[test]
fn a_board_whose_journal_is_full_makes_the_decisions_of_one_without() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let board = thread::spawn(move || {
        let mut storage = Box::new(BoardStorage::new());
        let controller = server_controller(&mut storage);
        let flash = MemoryFlash::<2048, 4>::new(3);
        let (journal, recovered) = Journal::<_, 3>::open(flash).unwrap();
        let mut server =
            <Server<'_, _>>::restored(controller, 1, journal, recovered, &Pauses::none());
        serve(&mut server, listener.accept().unwrap().0);
        assert_left_in_order(&mut server);
        server.journal().sectors_erased()
    });
    let line =
        "run --mesh 16x16 --jobs 300 --load 1.2 --replications 1 --strategy ff,naive --format json";
    let near = host_sim(line).json();
    let far = host_sim(&format!("{line} --backend {endpoint}")).json();
    assert!(board.join().unwrap() > 10);
    for strategy in [0, 1] {
        let [near, far] = [&near, &far].map(|json| &json["results"][strategy]);
        assert_eq!(near["decision_hash"], far["decision_hash"]);
        assert_eq!(near["metrics"], far["metrics"]);
        assert_eq!(near["refused"], far["refused"]);
    }
}

#[test]
fn a_cube_on_a_board_is_that_of_this_process() {
    let board = Board::new(1);
    let line =
        "run --machine 4-ary-3-cube --replications 2 --strategy tc,sniffing,partner --format json";
    let near = host_sim(line).json();
    let far = host_sim(&format!("{line} --backend {}", board.endpoint)).json();
    board.join();
    for (near, far) in [0, 1, 2].map(|i| (&near["results"][i], &far["results"][i])) {
        assert_eq!(near["decision_hash"], far["decision_hash"]);
        assert_eq!(near["metrics"], far["metrics"]);
        assert_eq!(near["refused"], far["refused"]);
    }
}

/// A board does not return jobs to their old places in the queue. It does all else.
#[test]
fn failures_on_a_board_are_those_of_this_process() {
    let board = Board::new(3);
    let line = "run --torus 4x4x4 --strategy ff --load .5 --jobs 200 --replications 1 \
                --failures 2x2x2:300,40 --format json";
    for restart in ["elsewhere:last", "in-place", "spare"] {
        let line = format!("{line} --restart {restart}");
        let near = host_sim(&line).json();
        let far = host_sim(&format!("{line} --backend {}", board.endpoint)).json();
        let [near, far] = [&near, &far].map(|json| &json["results"][0]);
        assert_eq!(near["decision_hash"], far["decision_hash"], "{restart}");
        assert_eq!(near["metrics"], far["metrics"], "{restart}");
        let restarts = near["metrics"]["restarts"]["mean"].as_f64();
        assert!(restarts.unwrap() > 0.0, "{restart}: {near}");
    }
    board.join();
}

/// A board has jobs make room itself, with several victims too.
#[test]
fn preemption_on_a_board_is_that_of_this_process() {
    let folder = tempfile::tempdir().unwrap();
    let mix = "4x4,3,,1\n2x6,2,30,1\n8x8,1,600,\n3x3,3,60,0\n";
    let mix = format!("shape,weight,priority,preemptible\n{mix}");
    fs::write(folder.path().join("mix.csv"), mix).unwrap();
    let board = Board::new(4);
    for (scheduler, rule) in [
        ("fcfs", "on"),
        ("easy", "on"),
        ("fcfs", "on:5"),
        ("sjf", "on:1"),
    ] {
        let line = format!(
            "run --mesh 8x8 --mix mix.csv --strategy ff --load .6 --jobs 200 --replications 1 \
             --scheduler {scheduler} --preemption {rule} --format json"
        );
        let near = host_sim_in(folder.path(), &line).json();
        let far = format!("{line} --backend {}", board.endpoint);
        let far = host_sim_in(folder.path(), &far).json();
        let [near, far] = [&near, &far].map(|json| &json["results"][0]);
        assert_eq!(near["decision_hash"], far["decision_hash"], "{line}");
        assert_eq!(near["metrics"], far["metrics"], "{line}");
        let preemptions = near["metrics"]["preemptions"]["mean"].as_f64();
        assert!(preemptions > Some(10.0), "{line}: {near}");
    }
    board.join();
}

#[test]
fn the_map_of_a_board_is_that_of_this_process() {
    let board = Board::new(1);
    let folder = tempfile::tempdir().unwrap();
    let line =
        "run --mesh 16x16 --jobs 150 --replications 1 --load .5 --strategy fsl,naive --draw map";
    host_sim_in(folder.path(), &format!("{line} -o near.svg")).good();
    let far = format!("{line} -o far.svg --backend {}", board.endpoint);
    host_sim_in(folder.path(), &far).good();
    board.join();
    let [near, far] =
        ["near.svg", "far.svg"].map(|name| fs::read(folder.path().join(name)).unwrap());
    assert!(near == far && !near.is_empty());
}

#[test]
fn the_table_shows_round_trips() {
    let board = Board::new(1);
    let line = format!(
        "run --mesh 8x8 --jobs 100 --replications 2 --backend {}",
        board.endpoint
    );
    let shown = host_sim(&line).good();
    board.join();
    assert!(
        shown.contains("round trip") && shown.contains("controller: "),
        "{shown}"
    );
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn a_replay_gives_the_same_lines_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut operations = String::from("fault 3 3\n");
    for id in 0..60_u32 {
        operations += &format!(
            "alloc {id} {} {} est={}",
            1 + id % 5,
            1 + id % 3,
            1 + id % 9
        );
        if id % 3 == 0 {
            operations += &format!(" lease={}", 5 + id % 17);
        }
        operations += "\n";
        if id % 2 == 1 {
            operations += &format!("free {}\n", id / 2);
        }
        if id % 8 == 3 {
            operations += &format!("lease {} 9\n", id - 2);
        }
    }
    fs::write(folder.path().join("ops"), operations).unwrap();
    let board = Board::new(4);
    for options in ["fsl", "naive", "ff --scheduler easy"] {
        let line = format!("replay ops --mesh 16x16 --strategy {options}");
        let near = host_sim_in(folder.path(), &line).good();
        assert!(near.contains("lease-ended"), "{near}");
        // The second run finds the jobs of the first and must not mind them.
        let far = host_sim_in(
            folder.path(),
            &format!("{line} --backend {}", board.endpoint),
        )
        .good();
        assert_eq!(near, far);
    }
    let quiet = format!(
        "replay ops --mesh 16x16 --quiet --backend {}",
        board.endpoint
    );
    let shown = host_sim_in(folder.path(), &quiet).good();
    assert!(shown.contains("round trip median (ms)"), "{shown}");
    board.join();
}

#[test]
fn a_mesh_too_large_for_the_board_is_an_error() {
    let board = Board::new(1);
    let ended = host_sim(&format!("run --mesh 64x64 --backend {}", board.endpoint));
    board.join();
    assert_eq!(ended.code, Some(2), "{ended}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    assert!(
        ended
            .stderr
            .contains("first-fit on a mesh 64x64: the machine needs more memory"),
        "{ended}"
    );
}

#[test]
fn a_controller_whose_jobs_have_leases_is_left_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let board = thread::spawn(move || {
        let mut storage = Box::new(BoardStorage::new());
        let mut server = server(&mut storage);
        carry_out(&mut server, LEASED, 0);
        serve(&mut server, listener.accept().unwrap().0);
        (jobs_at(&mut server, 499), jobs_at(&mut server, 500))
    });
    let ended = host_sim(&format!("run --mesh 16x16 --jobs 10 --backend {endpoint}"));
    assert_eq!(board.join().unwrap(), (1, 0));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended
            .stderr
            .contains("the clock cannot become virtual while jobs have leases")
            && ended
                .stderr
                .contains("wait until the leases of other clients have ended"),
        "{ended}"
    );
}

#[test]
fn a_missing_controller_is_an_error() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ended = host_sim(&format!("run --backend tcp:127.0.0.1:{port}"));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended
            .stderr
            .contains(&format!("tcp:127.0.0.1:{port}: cannot connect")),
        "{ended}"
    );

    // A server that closes the connection.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp:{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || drop(listener.accept().unwrap()));
    let ended = host_sim(&format!("run --backend {endpoint}"));
    thread.join().unwrap();
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended.stderr.starts_with(&format!("error: {endpoint}: ")),
        "{ended}"
    );
}

/// A serial line: a pair of pseudo-terminals, the board at the one and the program at the other.
/// A controller that serves another client takes the connection and leaves it at that.
#[test]
fn a_second_client_hears_why_nothing_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ended = host_sim(&format!(
        "run --mesh 8x8 --jobs 10 --backend tcp:127.0.0.1:{port}"
    ));
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(
        ended.stderr.contains("serves one client at a time"),
        "{ended}"
    );
    drop(listener);
}

#[cfg(target_os = "linux")]
#[test]
fn a_serial_line_makes_the_same_decisions() {
    use serialport::{SerialPort, TTYPort};
    use std::sync::atomic::{AtomicBool, Ordering};

    let (mut board, program) = TTYPort::pair().unwrap();
    board.set_timeout(Duration::from_millis(20)).unwrap();
    let endpoint = format!("serial:{}@115200", program.name().unwrap());
    // The program opens the terminal by its name, and wants it for itself alone.
    drop(program);
    let line = "run --mesh 16x16 --jobs 100 --replications 1 --strategy as --format json";
    let ended = AtomicBool::new(false);
    let far = thread::scope(|scope| {
        scope.spawn(|| {
            let mut storage = Box::new(BoardStorage::new());
            let mut server = server(&mut storage);
            let (mut bytes, mut replies) = ([0; 256], vec![0; 1 << 16]);
            while !ended.load(Ordering::Relaxed) {
                // Nothing to read: the program has not connected yet, or has disconnected.
                let Ok(len) = board.read(&mut bytes) else {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                };
                board
                    .write_all(answer(&mut server, &bytes[..len], &mut replies))
                    .unwrap();
            }
        });
        let far = host_sim(&format!("{line} --backend {endpoint}"));
        ended.store(true, Ordering::Relaxed);
        far.json()
    });
    let near = host_sim(line).json();
    assert_eq!(
        near["results"][0]["decision_hash"],
        far["results"][0]["decision_hash"]
    );
    assert_eq!(far["scenario"]["backend"], endpoint);
}
