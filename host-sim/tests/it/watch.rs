//! `watch`: frames of all sizes, and the terminal after it.

use std::fs;
use std::path::Path;

use meshalloc::{Grid, JobId, NodeId, StrategyKind};
use meshalloc_host_sim::map::{Map, MapJob, Snapshot};
use meshalloc_host_sim::watch::frame::{Frame, Look, Queued};
use meshalloc_sim::workload::TimeUnit;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};

use crate::program::{host_sim, host_sim_in};

const COLOURS: Look = Look {
    colours: true,
    is_ascii: false,
};
const LETTERS: Look = Look {
    colours: false,
    is_ascii: false,
};
const ASCII: Look = Look {
    colours: false,
    is_ascii: true,
};

/// A machine with three jobs and a faulty processor, whose other jobs wait.
fn map(machine: Grid, waiting: u32) -> Map {
    let extent = |part: u16| -> Vec<u16> {
        let sides = machine.sides().iter();
        sides.map(|side| side.div_ceil(part)).collect()
    };
    let corner = |part: u16| -> Vec<u16> {
        let sides = machine.sides().iter();
        sides.map(|side| side - side.div_ceil(part)).collect()
    };
    let zero = vec![0; machine.dimensions()];
    let blocks = [
        (zero, extent(3)),
        (corner(2), extent(2)),
        (extent(3), extent(7)),
    ];
    let jobs = (4..).zip(&blocks).map(|(id, (start, extent))| MapJob {
        id: JobId(id),
        blocks: machine.block(start, extent).into_iter().collect(),
    });
    Map {
        strategy: StrategyKind::FirstFit,
        at: Some(12_500_000),
        unit: TimeUnit::Second,
        snapshot: Snapshot {
            plan: machine.into(),
            jobs: jobs.collect(),
            waiting,
            faulty: vec![NodeId(machine.nodes().saturating_sub(2))],
        },
    }
}

fn queue(count: u32) -> Vec<Queued> {
    let queued = |job: u32| Queued {
        job: 10 + job,
        request: format!("{}x{}", job + 1, job + 2),
        cause: "fragmented",
        reason: "60 processors are free, but the strategy finds no place".into(),
    };
    (0..count).map(queued).collect()
}

fn drawn(map: &Map, plane: Option<usize>, look: Look, (width, height): (u16, u16)) -> Buffer {
    let head = format!("{}, first-fit, fcfs", map.snapshot.plan.machine);
    let queue = queue(map.snapshot.waiting);
    let frame = Frame {
        head: &head,
        pace: "2 s/s",
        map,
        queue: &queue,
        plane,
        keys: "space stop  ",
    };
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|shown| frame.draw(look, shown.area(), shown.buffer_mut()))
        .unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(buffer.area.width.into());
    let rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

/// Symbols and styles are those of the file; with `MESHALLOC_REFRESH_GOLDEN=1` it is written anew.
#[test]
fn frames_are_those_of_the_files() {
    let mesh = Grid::mesh(&[16, 16]).unwrap();
    let torus = Grid::torus(&[8, 8, 4]).unwrap();
    for (name, map, plane, look, size) in [
        ("80x24", map(mesh, 3), None, COLOURS, (80, 24)),
        ("80x24-plane", map(torus, 30), Some(3), COLOURS, (80, 24)),
        ("120x40", map(torus, 3), None, COLOURS, (120, 40)),
        ("120x40-ascii", map(mesh, 50), None, ASCII, (120, 40)),
    ] {
        let found = format!("{:#?}\n", drawn(&map, plane, look, size));
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/watch/{name}.golden"));
        if std::env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
            fs::write(&path, &found).unwrap();
        }
        assert_eq!(found, fs::read_to_string(&path).unwrap(), "{name}");
    }
}

#[test]
fn a_frame_fits_every_size() {
    let machines = [
        Grid::mesh(&[1]).unwrap(),
        Grid::mesh(&[7]).unwrap(),
        Grid::mesh(&[200, 3]).unwrap(),
        Grid::mesh(&[64, 64]).unwrap(),
        Grid::torus(&[4, 4, 9]).unwrap(),
        Grid::torus(&[2, 2, 2, 2, 2]).unwrap(),
    ];
    for machine in machines {
        let map = map(machine, 40);
        for (width, height) in (1..=130).flat_map(|w| (1..=45).map(move |h| (w, h))) {
            // Small sizes all, larger ones now and then.
            if (width > 64 || height > 18) && (width * 7 + height) % 11 > 0 {
                continue;
            }
            let look = [COLOURS, LETTERS, ASCII][usize::from(width + height) % 3];
            let plane = (width % 2 == 0).then_some(usize::from(width) % map.snapshot.planes());
            let frame = text(&drawn(&map, plane, look, (width, height)));
            if width < 60 || height < 15 {
                let is_named = width < 60 || frame.contains("watch needs 60 x 15");
                assert!(
                    is_named && !frame.contains("quit"),
                    "{width} {height}\n{frame}"
                );
                continue;
            }
            let all = [
                "first-fit",
                "3 running, 40 waiting",
                "40 jobs in the queue",
                "q quit",
            ];
            for part in all {
                assert!(
                    frame.contains(part),
                    "{machine} {width} {height} {part}\n{frame}"
                );
            }
            assert!(look != ASCII || frame.is_ascii(), "{frame}");
        }
    }
}

#[test]
fn a_frame_of_a_run_has_the_queue_with_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = "submit,run,shape\n0,100,4x3\n1,100,4x2\n2,10,1x1\n";
    fs::write(folder.path().join("three.csv"), jobs).unwrap();
    let line = "watch --mesh 4x4 --log three.csv --once --ascii";
    let frame = host_sim_in(folder.path(), line).good();
    for part in [
        "mesh 4x4, first-fit, fcfs",
        "2.0 s: 1 running, 2 waiting",
        "     1  4x2       it needs 8 processors, and 4 are free",
        "     2  1x1       the scheduler tries 1 other job first",
    ] {
        assert!(frame.contains(part), "{part}\n{frame}");
    }
    assert_eq!(frame.lines().count(), 24);
    let later = host_sim_in(folder.path(), &format!("{line} --at 150s")).good();
    assert!(later.contains("150.0 s: 1 running, 0 waiting"), "{later}");
}

/// What a machine lacks is faulty in its map, as on a controller.
#[test]
fn an_absent_processor_is_in_the_frame_and_in_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let machine = "sides = [4, 4]\nabsent = [{ start = [2, 2], sides = [2, 1] }]\n";
    fs::write(folder.path().join("m.toml"), machine).unwrap();
    let jobs = "submit,run,shape\n0,100,4x2\n1,100,4x2\n";
    fs::write(folder.path().join("two.csv"), jobs).unwrap();
    let settings = "--machine m.toml --strategy ff --log two.csv";
    let watch = format!("watch {settings} --once --ascii");
    let frame = host_sim_in(folder.path(), &watch).good();
    for part in ["1 running, 1 waiting", "6 free, 2 faulty", "|..xx|"] {
        assert!(frame.contains(part), "{part}\n{frame}");
    }
    let map = host_sim_in(folder.path(), &format!("run {settings} --draw map")).good();
    assert!(map.contains("6 free, 2 faulty"), "{map}");
}

#[test]
fn what_cannot_be_watched_is_an_error() {
    for (line, part) in [
        (
            "watch --mesh 4x4 --jobs 5",
            "standard output is no terminal",
        ),
        (
            "watch --tcp 127.0.0.1:1 --mesh 4x4 --once",
            "--mesh is of a run, and a controller has its own settings",
        ),
        ("watch --tcp 127.0.0.1:1 --once", "127.0.0.1:1"),
        (
            "watch --tcp 127.0.0.1:1 --port x --once",
            "cannot be used with",
        ),
    ] {
        let ended = host_sim(line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
    }
}

#[test]
fn a_board_is_watched_as_it_is() {
    let board = crate::line::Board::new(4);
    let address = board.endpoint.replacen(':', " ", 1);
    let says = |command: &str| host_sim(&format!("{command} --{address}")).good();
    says("device configure 16x16");
    says("device submit 7 16x15");
    says("device submit 8 2x2");
    let frame = says("watch --once --ascii");
    for part in [
        "mesh 16x16, first-fit, fcfs",
        "1 running, 1 waiting, 93.8 % busy",
        "     8  2x2       fragmented",
    ] {
        assert!(frame.contains(part), "{part}\n{frame}");
    }
}

#[cfg(target_os = "linux")]
mod terminals {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

    use crate::program::{command, kill};

    const PANICS: &str = "MESHALLOC_WATCH_PANICS";

    /// A program on a terminal of its own, and what it has written there.
    struct OnTerminal {
        child: Child,
        keys: File,
        screen: OwnedFd,
        modes: LocalModes,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl OnTerminal {
        fn start(mut command: Command) -> Self {
            let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&keys).unwrap();
            unlockpt(&keys).unwrap();
            let screen = ioctl_tiocgptpeer(&keys, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            let size = Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            tcsetwinsize(&screen, size).unwrap();
            let modes = tcgetattr(&screen).unwrap().local_modes;
            let end = || screen.try_clone().unwrap();
            let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
            let keys = File::from(keys);
            let written = Arc::new(Mutex::default());
            let (mut reader, list) = (keys.try_clone().unwrap(), Arc::clone(&written));
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(len @ 1..) = reader.read(&mut bytes) {
                    let mut list: std::sync::MutexGuard<'_, Vec<u8>> = list.lock().unwrap();
                    list.extend(&bytes[..len]);
                }
            });
            OnTerminal {
                child: child.unwrap(),
                keys,
                screen,
                modes,
                written,
            }
        }

        fn text(&self) -> String {
            String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
        }

        fn wait_for(&self, part: &str) {
            let begun = Instant::now();
            while !self.text().contains(part) {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "{part}: {}",
                    self.text()
                );
                thread::sleep(Duration::from_millis(20));
            }
        }

        /// Waits for the end; the terminal is as it was.
        fn ends_with(&mut self, code: i32) -> String {
            let ended = self.child.wait().unwrap();
            // What was written last comes through the terminal.
            self.wait_for("\u{1b}[?1049l");
            thread::sleep(Duration::from_millis(200));
            let text = self.text();
            assert_eq!(ended.code(), Some(code), "{text}");
            let last = |one: &str, other: &str| text.rfind(one) > text.rfind(other);
            assert!(last("\u{1b}[?1049l", "\u{1b}[?1049h"), "{text}");
            assert!(last("\u{1b}[?25h", "\u{1b}[?25l"), "{text}");
            assert_eq!(tcgetattr(&self.screen).unwrap().local_modes, self.modes);
            text
        }
    }

    fn watching() -> OnTerminal {
        let line = "watch --torus 4x4x4 --load .9 --jobs 300";
        let started = OnTerminal::start(command(std::path::Path::new("."), line));
        started.wait_for("q quit");
        let raw = tcgetattr(&started.screen).unwrap().local_modes;
        assert_ne!(raw, started.modes);
        started
    }

    #[test]
    fn the_terminal_is_restored_after_q() {
        let mut watching = watching();
        // Stop, an event on, a plane, faster, and the end of the run.
        for key in [" ", "\u{1b}[C", "z", "+", "\u{1b}[F"] {
            watching.keys.write_all(key.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
        watching.wait_for("s/s, stopped");
        watching.keys.write_all(b"q").unwrap();
        watching.ends_with(0);
    }

    #[test]
    fn the_terminal_is_restored_after_sigterm() {
        let mut watching = watching();
        kill("-TERM", watching.child.id());
        watching.ends_with(143);
    }

    #[test]
    fn the_terminal_is_restored_after_a_panic() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "watch::terminals::a_panic_if_asked",
            "--nocapture",
        ]);
        let mut panicking = OnTerminal::start({
            command.env(PANICS, "1");
            command
        });
        let text = panicking.ends_with(101);
        assert!(text.find("as asked") > text.find("\u{1b}[?1049l"), "{text}");
    }

    /// In a process of its own, on a terminal.
    #[test]
    fn a_panic_if_asked() {
        if std::env::var_os(PANICS).is_some() {
            let mut terminal = meshalloc_host_sim::watch::open().unwrap();
            terminal.draw(|_| {}).unwrap();
            panic!("as asked");
        }
    }
}
