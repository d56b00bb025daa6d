//! `serve`: many clients, and a server that is killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::{Answer, Change, Error, JobId, Outcome, Query, Request};
use meshalloc_firmware::client::IoLine;
use meshalloc_firmware::journal::memory::Random;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{Client, ClientError, Line, Options};

use crate::program::{command, host_sim, host_sim_in, kill};

/// A server in a process of its own.
struct Server {
    process: Child,
    /// Where it listens, the lines that it has printed.
    places: Vec<String>,
}

/// The file with the messages of the last server of a folder.
const SAID: &str = "said";

const MACHINE: &str = "--mesh 16x16 --strategy fsl --scheduler easy --journal j";

impl Server {
    fn start(folder: &Path, options: &str) -> Self {
        Server::serving(MACHINE, folder, options)
    }

    fn serving(machine: &str, folder: &Path, options: &str) -> Self {
        let mut process = command(folder, &format!("serve {machine} {options}"))
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join(SAID)).unwrap())
            .spawn()
            .unwrap();
        let count = if options.contains("--socket") && options.contains("--listen") {
            2
        } else {
            1
        };
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let places = lines.take(count).map(Result::unwrap).collect();
        Server { process, places }
    }

    fn address(&self) -> &str {
        self.places[0].strip_prefix("tcp:").unwrap()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends it as a service manager does.
    fn end(mut self) {
        kill("-TERM", self.process.id());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A line that connects again when it is lost: to its client a line on which bytes are lost.
struct Again {
    address: String,
    stream: Option<IoLine<TcpStream>>,
}

impl Again {
    fn new(address: &str) -> Self {
        let address = address.to_owned();
        let stream = None;
        Again { address, stream }
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut IoLine<TcpStream>) -> io::Result<T>) -> Option<T> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address).and_then(IoLine::tcp);
            self.stream = stream.ok();
        }
        let done = act(self.stream.as_mut()?);
        if done.is_err() {
            self.stream = None;
        }
        done.ok()
    }
}

impl Line for Again {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.on(|line| line.send(bytes));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let received = self.on(|line| line.receive(buffer, timeout));
        if received.is_none() {
            thread::sleep(timeout.min(Duration::from_millis(5)));
        }
        Ok(received.unwrap_or(0))
    }
}

fn connect(address: &str) -> Client<Again> {
    let options = Options {
        timeout: Duration::from_millis(300),
        tries: 200,
        ..Options::default()
    };
    Client::connect(Again::new(address), options).unwrap()
}

fn call<L: Line>(
    client: &mut Client<L>,
    change: &Change,
) -> Result<Result<Outcome, Error>, ClientError> {
    client.call(change, None, &mut |_, _| ())
}

/// Whether a job whose last change is in doubt is there.
fn settle(client: &mut Client<Again>, job: JobId) -> bool {
    loop {
        // From here on an earlier change is not carried out any more.
        if let Err(error) = client.hello() {
            expect_lost(&error);
            continue;
        }
        match client.query(&Query::Job { job }) {
            Ok(Ok(Answer::Job(_))) => return true,
            Ok(Err(Error::UnknownJob)) => return false,
            Ok(other) => panic!("{other:?}"),
            Err(error) => expect_lost(&error),
        }
    }
}

/// What a client may hear of a server that is killed; never that something is lost.
fn expect_lost(error: &ClientError) {
    let is_expected = match error {
        ClientError::ControllerReset { origin } => {
            matches!(origin, Origin::Restored { .. } | Origin::New)
        }
        ClientError::SessionLost | ClientError::NoReply { .. } => true,
        _ => false,
    };
    assert!(is_expected, "{error}");
}

/// Submits and releases jobs of its own until the end. Returns those that are there.
fn work(number: u32, address: &str, is_over: &AtomicBool, changes: &AtomicU64) -> BTreeSet<u32> {
    let mut random = Random(number.into());
    let mut client = connect(address);
    let mut held = BTreeSet::new();
    let mut next = number * 1_000_000;
    while !is_over.load(Ordering::Relaxed) {
        let is_release = held.len() >= 8 || (!held.is_empty() && random.once_in(2));
        let change = if is_release {
            let job = JobId(*held.first().unwrap());
            Change::Release { job }
        } else {
            next += 1;
            let mut side = || 1 + random.below(4) as u16;
            Change::submit(JobId(next), Request::submesh(side(), side()))
        };
        let (Change::Release { job } | Change::Submit { job, .. }) = change else {
            unreachable!("there are no others")
        };
        let is_there = match call(&mut client, &change) {
            Ok(Ok(_)) => !is_release,
            // What was acknowledged is there, so a release finds it.
            Ok(Err(error)) => panic!("client {number}: {change:?}: {error}"),
            Err(error) => {
                expect_lost(&error);
                settle(&mut client, job)
            }
        };
        changes.fetch_add(1, Ordering::Relaxed);
        if is_there {
            held.insert(job.0);
        } else {
            held.remove(&job.0);
        }
    }
    held
}

/// Sends garbage: noise, frames that are too long, and connections that end in a frame.
fn disturb(address: &str, is_over: &AtomicBool) {
    let mut random = Random(99);
    while !is_over.load(Ordering::Relaxed) {
        if let Ok(mut stream) = TcpStream::connect(address) {
            let len = random.below(4_000);
            let most = if random.once_in(2) { 256 } else { 3 };
            let bytes: Vec<u8> = (0..len).map(|_| random.below(most) as u8).collect();
            let _ = stream.write_all(&bytes);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the server so often while clients work. At the end every client finds exactly the jobs
/// that it should, and the server has no other.
fn kills(times: u32, clients: u32) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), "--listen 127.0.0.1:0 --connections 80");
    let address = server.address().to_owned();
    let options = format!("--listen {address} --connections 80");
    let (is_over, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let (is_over, changes, address) = (&is_over, &changes, &*address);
    let held: Vec<u32> = thread::scope(|scope| {
        let working: Vec<_> = (1..=clients)
            .map(|number| scope.spawn(move || work(number, address, is_over, changes)))
            .collect();
        scope.spawn(|| disturb(address, is_over));
        let mut random = Random(times.into());
        for _ in 0..times {
            thread::sleep(Duration::from_millis(random.below(150) as u64));
            server.kill();
            server = Server::start(folder.path(), &options);
        }
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::Relaxed);
        let held = working.into_iter().map(|working| working.join().unwrap());
        held.flatten().collect()
    });
    println!(
        "{times} kills, {clients} clients, {} changes",
        changes.load(Ordering::Relaxed)
    );
    let mut client = connect(server.address());
    for &job in &held {
        let job = JobId(job);
        let answer = client.query(&Query::Job { job }).unwrap();
        assert!(matches!(answer, Ok(Answer::Job(_))), "{job:?}: {answer:?}");
    }
    let Ok(Answer::Statistics(statistics)) = client.query(&Query::Statistics).unwrap() else {
        panic!("another answer")
    };
    let all = statistics.running + statistics.waiting;
    assert_eq!(all as usize, held.len(), "{statistics:?}");
    server.end();
}

#[test]
fn a_server_that_is_killed_loses_nothing_acknowledged() {
    if cfg!(feature = "exhaustive") {
        kills(200, 64);
    } else {
        kills(8, 8);
    }
}

#[test]
fn clients_over_tcp_and_a_unix_socket_share_the_jobs_which_outlive_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--listen 127.0.0.1:0 --socket s";
    let server = Server::start(folder.path(), options);
    let device = |line: &str| host_sim_in(folder.path(), &format!("device {line}")).good();
    let tcp = format!("--tcp {}", server.address());
    device(&format!("{tcp} submit 7 4x3"));
    assert!(device("--unix s jobs").contains('7'));
    // A lease ends by itself, unless it is taken away.
    device("--unix s lease 7 1");
    device("--unix s lease 7 0");
    device("--unix s submit 8 1x1");
    device("--unix s lease 8 1.5");
    let until = Instant::now() + Duration::from_secs(30);
    while device("--unix s jobs").contains('8') {
        assert!(Instant::now() < until, "job 8 is still there");
    }
    let other = host_sim_in(
        folder.path(),
        &format!("serve {MACHINE} --listen 127.0.0.1:0 --socket t"),
    );
    assert_eq!(other.code, Some(2), "{other}");
    assert!(other.stderr.contains("another program uses"), "{other}");
    assert!(!folder.path().join("t").exists(), "the socket is removed");
    server.end();
    assert!(!folder.path().join("s").exists(), "the socket is removed");
    // A socket that a killed server has left is no obstacle.
    Server::start(folder.path(), options).kill();
    let server = Server::start(folder.path(), options);
    assert_eq!(
        device("--unix s release 7"),
        "job 7 gave back 12 processors\n"
    );
    server.end();
}

/// The journal goes before the options, and says so. A port that is taken leaves no journal behind.
#[test]
fn options_beside_a_journal_of_another_configuration_are_not_silent() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path(), "--listen 127.0.0.1:0").end();
    let other = "--mesh 16x16 --strategy ff --scheduler easy --journal j";
    let server = Server::serving(other, folder.path(), "--listen 127.0.0.1:0");
    let taken = format!("serve {MACHINE}2 --listen {}", server.address());
    let ended = host_sim_in(folder.path(), &taken);
    assert!(ended.stderr.contains("cannot listen"), "{ended}");
    assert!(!folder.path().join("j2").exists());
    server.end();
    let said = fs::read_to_string(folder.path().join(SAID)).unwrap();
    let expected = "j: no changes so far: mesh 16x16, free-submesh-list, easy: 0 jobs\n\
                    warning: the journal has its own configuration, so these options are ignored: \
                    first-fit; ";
    assert!(said.starts_with(expected), "{said}");
}

/// The client knows the machine by its digest.
#[test]
fn legal_shapes_of_the_machine_have_room_and_places() {
    let folder = tempfile::tempdir().unwrap();
    let machine = "--machine tpu-v5e --journal j";
    let server = Server::serving(machine, folder.path(), "--listen 127.0.0.1:0");
    let device = |line: &str| host_sim(&format!("device --tcp {} {line}", server.address()));
    device("submit 1 8x8").good();
    device("submit 2 8x16").good();
    // Of 16 x 16 an 8 x 8 is left, where slices begin at even x and at each fourth y.
    assert_eq!(
        device("fits").good(),
        "1x1          room for 64 jobs, 64 places\n\
         2x2          room for 16 jobs, 16 places\n\
         2x4          room for 8 jobs, 8 places\n\
         4x4          room for 4 jobs, 6 places\n\
         4x8          room for 2 jobs, 3 places\n\
         8x8          room for 1 job, 1 place\n\
         no room for 2 other legal shapes\n\
         the largest free box is (0, 8)+(8, 8); at most 8x8 (64 processors) can be granted\n"
    );
    let objects = device("fits --json").good();
    assert_eq!(objects.lines().count(), 9);
    assert!(
        objects.contains(r#"{"request":"8x16","room":0,"places":0}"#),
        "{objects}"
    );
    server.end();
}

#[test]
fn one_connection_too_many_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "--listen 127.0.0.1:0 --connections 2");
    let mut clients = [connect(server.address()), connect(server.address())];
    let mut third = TcpStream::connect(server.address()).unwrap();
    let read = third.read(&mut [0; 1]);
    assert_eq!(read.unwrap_or(0), 0, "the end of the connection");
    for (client, job) in clients.iter_mut().zip(1..) {
        let change = Change::submit(JobId(job), Request::submesh(1, 1));
        assert_eq!(call(client, &change).unwrap(), Ok(Outcome::Done));
    }
    server.end();
}

#[test]
fn a_client_that_reads_nothing_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "--listen 127.0.0.1:0");
    let mut deaf = TcpStream::connect(server.address()).unwrap();
    deaf.set_write_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let hello = meshalloc_firmware::frame::ClientFrameBuffer::new()
        .encode(
            meshalloc_firmware::frame::Header::new(5, 1),
            &meshalloc_firmware::ClientMessage::Hello,
        )
        .unwrap()
        .to_vec();
    for _ in 0..20_000 {
        if deaf.write_all(&hello).is_err() {
            break;
        }
    }
    let mut client = connect(server.address());
    let change = Change::submit(JobId(1), Request::submesh(1, 1));
    assert_eq!(call(&mut client, &change).unwrap(), Ok(Outcome::Done));
    server.end();
}

#[test]
fn wrong_options_say_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (options, expected) in [
        ("serve --mesh 8x8", "--journal <FILE>"),
        ("serve --journal j --listen here", "expected ADDR:PORT"),
        ("serve --journal j --connections 0", "1..=256"),
        ("serve --journal no/folder/j", "cannot make the journal"),
    ] {
        let ended = host_sim_in(folder.path(), options);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.contains(expected), "{ended}");
    }
    assert!(
        host_sim("serve --help")
            .good()
            .contains("no authentication")
    );
}

/// Clients work until each has made some changes, however slow the machine is.
#[test]
fn every_client_gets_its_turn() {
    const CLIENTS: u32 = if cfg!(feature = "exhaustive") { 64 } else { 16 };
    const TURNS: u64 = 50;
    const TIME_MAX: Duration = Duration::from_secs(120);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "--listen 127.0.0.1:0");
    let address = server.address();
    let is_over = &AtomicBool::new(false);
    let changes: Vec<_> = (0..CLIENTS).map(|_| AtomicU64::new(0)).collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        for (number, changes) in (1..).zip(&changes) {
            scope.spawn(move || work(number, address, is_over, changes));
        }
        let has_had = |changes: &AtomicU64| changes.load(Ordering::Relaxed) >= TURNS;
        while !changes.iter().all(has_had) && begun.elapsed() < TIME_MAX {
            thread::sleep(Duration::from_millis(5));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let changes: Vec<_> = changes.into_iter().map(AtomicU64::into_inner).collect();
    assert!(changes.iter().min() >= Some(&TURNS), "{changes:?}");
    server.end();
}
