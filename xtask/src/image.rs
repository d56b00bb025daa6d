//! The firmware image: how it is built and what is in the ELF file.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use meshalloc_firmware::boards::{BOARDS, Info};
use object::read::elf::{ElfFile32, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};
use tempfile::TempDir;

use crate::command::{Cmd, root, target_dir};

/// The board whose images are measured: the NUCLEO-F446RE.
pub(crate) const MAIN: &Info = &BOARDS[0];

const PACKAGE: &str = "meshalloc-firmware";

/// The command that builds the image of a board with these features of the firmware, separated by
/// commas.
pub(crate) fn build_command(board: &Info, features: &str) -> Cmd {
    command("build", board, features)
}

/// The command that lints the image with these features of the firmware, in addition to the default
/// ones or without them. What runs on the host, such as derive macros, is not compiled again for
/// the build.
pub(crate) fn clippy_command(board: &Info, features: &str, has_defaults: bool) -> Cmd {
    let command = command("clippy", board, features);
    let command = match has_defaults {
        true => command,
        false => command.arg("--no-default-features"),
    };
    command.args("-- -D warnings")
}

fn command(verb: &str, board: &Info, features: &str) -> Cmd {
    Cmd::new("cargo")
        .arg(verb)
        .args("--profile firmware --package")
        .arg(PACKAGE)
        .args("--features")
        .arg(board.features(features))
        .args("--target")
        .arg(board.target)
        .args("--target-dir")
        .arg(folder().display().to_string())
}

/// Where images are built: in the folder of the QEMU tests, so that nothing is compiled twice.
fn folder() -> PathBuf {
    let folder = target_dir().join("qemu");
    // Commands run at the root and read better with a short path.
    folder
        .strip_prefix(root())
        .map_or(folder.clone(), PathBuf::from)
}

/// The copy that this process has of the image it built last, and its board. Another process may
/// build another image at any time.
static COPY: Mutex<Option<(TempDir, &Info)>> = Mutex::new(None);

/// Builds an image of a board and keeps a copy of it: [`path`]. Other processes that build images
/// in this clone wait meanwhile.
///
/// # Errors
///
/// When it does not build, or cannot be copied.
pub(crate) fn build(board: &'static Info, command: &Cmd) -> Result<()> {
    let folder = root().join(folder());
    fs::create_dir_all(&folder)?;
    let lock = File::create(folder.join("image.lock"))?;
    lock.lock()?;
    command.run()?;
    let built = folder.join(board.target).join("firmware").join(PACKAGE);
    let copy = tempfile::tempdir()?;
    fs::copy(&built, copy.path().join(PACKAGE))
        .with_context(|| format!("{} cannot be copied", built.display()))?;
    *COPY.lock().unwrap_or_else(PoisonError::into_inner) = Some((copy, board));
    Ok(())
}

/// Where the copy of the image is that this process built last.
///
/// # Panics
///
/// If it has built none.
pub(crate) fn path() -> PathBuf {
    let copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    let (copy, _) = copy.as_ref().expect("an image is built before it is used");
    copy.path().join(PACKAGE)
}

/// The board of the image that this process built last.
///
/// # Panics
///
/// If it has built none.
pub(crate) fn board() -> &'static Info {
    let copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, board) = copy.as_ref().expect("an image is built before it is used");
    board
}

/// Removes the copy.
pub(crate) fn remove_copy() {
    *COPY.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// What the image takes, in bytes, and where the stack lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    /// Vectors, code, constants and the initial values of variables.
    pub(crate) flash: u64,
    /// Variables: initialised, zeroed and neither.
    pub(crate) ram: u64,
    /// The lowest address the stack may grow down to.
    pub(crate) stack_end: u64,
    /// The address it grows down from.
    pub(crate) stack_start: u64,
    /// The address and bytes of what the image for QEMU keeps of the time that commands take.
    pub(crate) command_ticks: Option<(u64, u64)>,
}

impl Image {
    /// Reads the image that was built last.
    ///
    /// # Errors
    ///
    /// When there is none, or the file is no ELF file with the symbols of `cortex-m-rt`.
    pub(crate) fn read() -> Result<Image> {
        let path = path();
        let data = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Image::parse(&data).with_context(|| format!("{} is no firmware image", path.display()))
    }

    fn parse(data: &[u8]) -> Result<Image> {
        let file = ElfFile32::<Endianness>::parse(data)?;
        let symbol = |name: &str| {
            file.symbols()
                .find(|symbol| symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
                .with_context(|| format!("it has no symbol {name}"))
        };
        let mut image = Image {
            stack_end: symbol("_stack_end")?,
            stack_start: symbol("_stack_start")?,
            command_ticks: file
                .symbols()
                .find(|symbol| {
                    symbol
                        .name()
                        .is_ok_and(|name| name.contains("COMMAND_TICKS"))
                })
                .map(|symbol| (symbol.address(), symbol.size())),
            ..Image::default()
        };
        for section in file.sections() {
            let header = section.elf_section_header();
            let flags = header.sh_flags(file.endian());
            if !flags.contains(elf::SHF_ALLOC) {
                continue;
            }
            // Initialised variables count twice: flash holds their values until the start copies
            // them.
            if header.sh_type(file.endian()) != elf::SHT_NOBITS {
                image.flash += section.size();
            }
            if flags.contains(elf::SHF_WRITE) {
                image.ram += section.size();
            }
        }
        Ok(image)
    }

    /// Bytes left for the stack.
    pub(crate) fn stack_room(&self) -> u64 {
        self.stack_start - self.stack_end
    }
}
