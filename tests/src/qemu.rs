//! The firmware in QEMU: [`Qemu`].
//!
//! The first test that needs an image builds it. It has a target folder of its own, since cargo
//! locks the folder of the running `cargo test`.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::{Change, EventKind, Ticks};
use meshalloc_firmware::boards::{self, BOARDS, Emulator, Info};
use meshalloc_firmware::{Client, ClientError, Line, Options};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSymbol};
use tempfile::TempDir;

use crate::rig::{Answer, Ended, Granted};

/// The board on which all tests run: the NUCLEO-F446RE.
const MAIN: &Info = &BOARDS[0];
/// How long QEMU may take to open its sockets.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How often a client sends a frame, a second apart: on a busy host, a restore takes seconds.
const TRIES: u32 = 60;
/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(10);

/// Files in a folder of each QEMU.
const SERIAL: &str = "serial";
const MONITOR: &str = "monitor";
const LOG: &str = "log";

/// A running firmware, which ends when this value is dropped.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    image: PathBuf,
    monitor: UnixStream,
    /// Holds the sockets of the serial port and the monitor, and the log.
    folder: TempDir,
}

impl Qemu {
    /// Builds the image if that was not done yet, and starts it.
    ///
    /// # Panics
    ///
    /// When QEMU or the target is not installed, when the image does not build, and when QEMU does
    /// not start.
    pub fn start() -> Qemu {
        Self::start_with(MAIN, false, &[], Path::new("."))
    }

    /// The same with the image that keeps a journal, in a file of this folder.
    ///
    /// # Panics
    ///
    /// As [`Qemu::start`].
    pub fn start_with_journal(folder: &Path) -> Qemu {
        Self::start_with(MAIN, true, &[], folder)
    }

    /// The same with an image for one described machine, of this name, with the strategies for it.
    ///
    /// # Panics
    ///
    /// As [`Qemu::start`], and if another machine was named before.
    pub fn start_described(machine: &'static str) -> Qemu {
        assert_eq!(machine, *DESCRIBED.get_or_init(|| machine), "one image");
        Self::start_image(MAIN, Variant::Described, &[], Path::new("."))
    }

    /// The same with the board of this name.
    ///
    /// # Panics
    ///
    /// As [`Qemu::start`], and if there is no such board or it has no emulator.
    pub fn start_board_with_journal(board: &str, folder: &Path) -> Qemu {
        let board = boards::find(board).expect("the table has the board");
        Self::start_with(board, true, &[], folder)
    }

    /// The same with a clock that counts instructions: each takes 64 ns, about one cycle at 16 MHz.
    /// By this clock the firmware takes the same time in every run, however busy the host is. A
    /// real processor takes more than a cycle for some instructions.
    ///
    /// # Panics
    ///
    /// As [`Qemu::start`].
    pub fn start_counting() -> Qemu {
        let options = ["-icount", "shift=6,sleep=off"];
        Self::start_with(MAIN, false, &options, Path::new("."))
    }

    fn start_with(
        board: &'static Info,
        has_journal: bool,
        options: &[&str],
        folder: &Path,
    ) -> Qemu {
        let variant = if has_journal {
            Variant::Journal
        } else {
            Variant::Plain
        };
        Self::start_image(board, variant, options, folder)
    }

    fn start_image(
        board: &'static Info,
        variant: Variant,
        options: &[&str],
        folder: &Path,
    ) -> Qemu {
        let emulator = board.emulator.as_ref().expect("QEMU has this board");
        let image = image(board, emulator, variant).unwrap_or_else(|missing| panic!("{missing}"));
        Self::boot(board, image, options, Some(folder)).expect("QEMU starts")
    }

    /// Starts an image of this board. Without a folder for its journal, that is as short-lived as
    /// the process.
    ///
    /// # Errors
    ///
    /// When QEMU does not start.
    ///
    /// # Panics
    ///
    /// When the board has no emulator.
    pub fn boot(
        board: &Info,
        image: &Path,
        options: &[&str],
        journal: Option<&Path>,
    ) -> io::Result<Qemu> {
        let emulator = board.emulator.as_ref().expect("QEMU has this board");
        let folder = tempfile::tempdir()?;
        let socket = |name: &str| {
            let path = folder.path().join(name);
            format!("unix:{},server=on,wait=off", path.display())
        };
        let image = image.to_str().expect("the path of the image is text");
        let mut child = Command::new(emulator.program)
            .args(emulator.arguments(image))
            .args(options)
            .current_dir(journal.unwrap_or(folder.path()))
            .args(["-monitor", &socket(MONITOR)])
            .args(["-serial", &socket(SERIAL)])
            .stdin(Stdio::null())
            .stdout(File::create(folder.path().join(LOG))?)
            .stderr(Stdio::inherit())
            .spawn()?;
        // The first connection to the serial port only shows that it is there.
        let ready = connect(&folder.path().join(SERIAL), &mut child)
            .and_then(|_| connect(&folder.path().join(MONITOR), &mut child));
        match ready {
            Ok(monitor) => Ok(Qemu {
                child,
                image: image.into(),
                monitor,
                folder,
            }),
            Err(error) => {
                // Both fail only when it has ended already.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The socket that stands for the serial port, for one connection at a time.
    pub fn serial(&self) -> PathBuf {
        self.folder.path().join(SERIAL)
    }

    /// A client on the serial port.
    ///
    /// # Errors
    ///
    /// When the firmware does not answer.
    pub fn client(&self) -> Result<Client<impl Line + use<>>, ClientError> {
        let line = self.line().map_err(|source| ClientError::Line {
            doing: "connecting",
            source,
        })?;
        let options = Options {
            tries: TRIES,
            ..Options::default()
        };
        Client::connect(line, options)
    }

    /// The serial port.
    ///
    /// # Errors
    ///
    /// When QEMU has ended.
    pub fn line(&self) -> io::Result<impl Line + use<>> {
        Serial::new(UnixStream::connect(self.serial())?)
    }

    /// Presses the reset button and waits for the log of the new start. The serial line stays.
    ///
    /// # Errors
    ///
    /// When QEMU has ended, or nothing starts.
    pub fn reset_chip(&mut self) -> io::Result<()> {
        let logged = self.log()?.len();
        self.monitor.write_all(b"system_reset\n")?;
        wait("the chip starts again", || Ok(self.log()?.len() > logged))
    }

    /// The bytes at an address of the chip's memory.
    ///
    /// # Errors
    ///
    /// When QEMU has ended, or does not write them.
    pub fn peek(&mut self, address: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let dump = tempfile::NamedTempFile::new_in(&self.folder)?;
        let path = dump.path().display();
        writeln!(self.monitor, "pmemsave {address:#x} {bytes} \"{path}\"")?;
        wait("QEMU has written its memory", || {
            Ok(dump.as_file().metadata()?.len() == bytes)
        })?;
        fs::read(&dump)
    }

    /// The longest time so far for which the firmware of [`Qemu::start_counting`] did not look at
    /// its line, in milliseconds at 16 MHz and 1.5 cycles an instruction.
    ///
    /// # Panics
    ///
    /// When QEMU has ended, or the image keeps no such time.
    pub fn longest_slice_ms(&mut self) -> f64 {
        let (address, size) = self.symbol("COMMAND_TICKS");
        let ticks = self.peek_word(address + size - 4);
        // SysTick has 168 MHz in QEMU, an instruction takes 64 ns.
        let instructions = f64::from(ticks) / (0.168 * 64.0);
        instructions * 1.5 / 16_000.0
    }

    /// The number of restores in a row that the firmware with a journal has begun and not ended.
    ///
    /// # Panics
    ///
    /// When QEMU has ended, or the image keeps no such number.
    pub fn restores_begun(&mut self) -> u32 {
        // `Kept` has four words: the number of the boot, and then the restores with its complement.
        let (address, _) = self.symbol("KEPT");
        let [count, complement] = [8, 12].map(|offset| self.peek_word(address + offset));
        if complement == !count { count } else { 0 }
    }

    /// Address and size of the only symbol of the image with this in its name.
    fn symbol(&self, part: &str) -> (u64, u64) {
        let data = fs::read(&self.image).expect("the image is there");
        let elf = ElfFile32::<Endianness>::parse(&*data).expect("the image is an ELF file");
        let has_name = |symbol: &_| {
            let name = ObjectSymbol::name(symbol);
            name.is_ok_and(|name| name.contains(part))
        };
        let mut found = elf.symbols().filter(has_name);
        let (Some(symbol), None) = (found.next(), found.next()) else {
            panic!("the image has not one symbol with {part} in its name");
        };
        (symbol.address(), symbol.size())
    }

    fn peek_word(&mut self, address: u64) -> u32 {
        let word = self.peek(address, 4).expect("QEMU writes its memory");
        u32::from_le_bytes(word.try_into().expect("four bytes"))
    }

    /// A function that resets the chip, or ends QEMU with SIGKILL, from another thread.
    ///
    /// # Errors
    ///
    /// When QEMU has ended.
    pub fn strike(
        &self,
        kill: bool,
    ) -> io::Result<impl FnOnce() -> io::Result<()> + Send + 'static> {
        let mut monitor = self.monitor.try_clone()?;
        let process = self.child.id().to_string();
        Ok(move || {
            if kill {
                Command::new("kill")
                    .args(["-9", &process])
                    .status()
                    .map(|_| ())
            } else {
                monitor.write_all(b"system_reset\n")
            }
        })
    }

    /// What the firmware has logged so far, in defmt's encoding.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn log(&self) -> io::Result<Vec<u8>> {
        fs::read(self.folder.path().join(LOG))
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The serial port. A thread reads each byte as it arrives, even while the test receives nothing.
/// QEMU sends single bytes, and its socket holds fewer than 300 that are unread. When the socket is
/// full, QEMU stops, and no longer reads its monitor.
struct Serial {
    socket: UnixStream,
    received: Receiver<Vec<u8>>,
    /// What came, and did not fit in the buffer of the caller.
    left: Vec<u8>,
}

impl Serial {
    fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_write_timeout(Some(START_TIMEOUT))?;
        let mut source = socket.try_clone()?;
        let (sender, received) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // After an error the line counts as closed: `receive` fails.
            while let Ok(len @ 1..) = source.read(&mut buffer) {
                if sender.send(buffer[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Serial {
            socket,
            received,
            left: Vec::new(),
        })
    }
}

impl Line for Serial {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if self.left.is_empty() {
            self.left = match self.received.recv_timeout(timeout) {
                Ok(bytes) => bytes,
                Err(RecvTimeoutError::Timeout) => return Ok(0),
                Err(RecvTimeoutError::Disconnected) => {
                    let reason = "QEMU has closed the serial line";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
                }
            };
        }
        let len = buffer.len().min(self.left.len());
        let left = self.left.split_off(len);
        buffer[..len].copy_from_slice(&self.left);
        self.left = left;
        Ok(len)
    }
}

impl Drop for Serial {
    fn drop(&mut self) {
        // This ends the thread. It fails only when QEMU, and the thread with it, has ended.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// All replies to a command; `at` is its time, `None` for the firmware's own clock.
///
/// # Errors
///
/// When no whole reply comes.
pub fn call_at(
    client: &mut Client<impl Line>,
    change: &Change,
    at: Option<Ticks>,
) -> Result<Answer, ClientError> {
    let (mut grants, mut ended) = (Vec::new(), Vec::new());
    let outcome = client.call(change, at, &mut |event, blocks| match event.what {
        EventKind::Granted { .. } => grants.push(Granted::new(event, blocks.to_vec())),
        EventKind::LeaseEnded | EventKind::Preempted { .. } => ended.push(Ended::new(event)),
    })?;
    Ok(Answer {
        grants,
        ended,
        outcome,
        state: None,
    })
}

/// Waits until something is so.
fn wait(what: &str, mut is_so: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > START_TIMEOUT {
            return Err(io::Error::other(format!("still not: {what}")));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Connects as soon as QEMU listens.
fn connect(socket: &Path, child: &mut Child) -> io::Result<UnixStream> {
    let started = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if started.elapsed() > START_TIMEOUT => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        thread::sleep(POLL);
    }
}

/// Where an image is, or what is missing for it.
type Built = Result<PathBuf, String>;

/// The images, each built once in a process: of each board in each variant.
static IMAGES: [[OnceLock<Built>; 3]; BOARDS.len()] =
    [const { [const { OnceLock::new() }; 3] }; BOARDS.len()];

/// The machine of [`Variant::Described`].
static DESCRIBED: OnceLock<&str> = OnceLock::new();

/// What is special about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Plain,
    /// It keeps a journal.
    Journal,
    /// It serves one described machine.
    Described,
}

impl Variant {
    /// Its features in addition to those of the board.
    const fn features(self) -> &'static str {
        match self {
            Variant::Plain => "default",
            Variant::Journal => "default,journal",
            Variant::Described => {
                "any-grid,leases,machine,rates,meshalloc/adaptive-scan,meshalloc/cubes,\
                 meshalloc/folding,meshalloc/first-fit,meshalloc/free-submesh-list,\
                 meshalloc/least-expected-blocking,meshalloc/fcfs,meshalloc/easy"
            }
        }
    }
}

/// Where an image is, or what is missing for it.
fn image(
    board: &'static Info,
    emulator: &Emulator,
    variant: Variant,
) -> Result<&'static Path, &'static str> {
    let at = BOARDS.iter().position(|other| other.name == board.name);
    let built = IMAGES[at.expect("a board of the table")][variant as usize].get_or_init(|| {
        if !succeeds(Command::new(emulator.program).arg("--version")) {
            return Err(format!("{} is not installed", emulator.program));
        }
        if !target_is_installed(board.target) {
            return Err(format!("the Rust target {} is not installed", board.target));
        }
        Ok(build(board, emulator, variant))
    });
    built.as_deref().map_err(String::as_str)
}

fn build(board: &Info, emulator: &Emulator, variant: Variant) -> PathBuf {
    let features = [emulator.features, variant.features()].into_iter();
    let features: Vec<_> = features.filter(|feature| !feature.is_empty()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target_dir = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder))
        .join("qemu");
    // `cargo xtask` builds other images in this folder, under the same lock.
    fs::create_dir_all(&target_dir).expect("the folder of images can be made");
    let lock = File::create(target_dir.join("image.lock")).expect("the lock can be made");
    lock.lock().expect("the lock can be taken");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(board.cargo("build", &features.join(","), &target_dir.to_string_lossy()));
    if let (Variant::Described, Some(machine)) = (variant, DESCRIBED.get()) {
        command.env("MESHALLOC_MACHINE", machine);
    }
    let status = command
        .current_dir(&root)
        .status()
        .expect("cargo, which runs this test, can be started");
    assert!(status.success(), "the firmware does not build: {status}");
    let built = target_dir
        .join(board.target)
        .join("firmware")
        .join("meshalloc-firmware");
    // All tests build the same image, so one copy is enough; a QEMU that starts never reads half of
    // it.
    let copy = target_dir.join(format!("tests-image-{}-{variant:?}", board.name));
    let new = copy.with_extension("new");
    fs::copy(&built, &new).expect("the image can be copied");
    fs::rename(&new, &copy).expect("the copy can be renamed");
    fs::canonicalize(copy).expect("the copy is there")
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn target_is_installed(target: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", target])
        .output();
    folder.is_ok_and(|output| {
        output.status.success()
            && std::str::from_utf8(&output.stdout).is_ok_and(|path| Path::new(path.trim()).is_dir())
    })
}
