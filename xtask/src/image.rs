//! The firmware image: builds it, and reads its ELF file.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, Result};
use meshalloc::{Description, SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::{BOARDS, Info};
use object::read::elf::{ElfFile32, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};
use tempfile::TempDir;
use xshell::Cmd;

use crate::packages::EXHAUSTIVE;
use crate::shell::{cmd, root, run, target_dir};
use crate::tables::{Row, cells};

/// The board whose images are measured: the NUCLEO-F446RE.
pub(crate) const MAIN: &Info = &BOARDS[0];

/// The features of an image with one strategy and one scheduler, which takes little time to
/// compile.
pub(crate) const ONE_OF_EACH: &str = "meshalloc/first-fit,meshalloc/fcfs";

const PACKAGE: &str = "meshalloc-firmware";

/// The command that builds or lints the image of a board with these features of the firmware,
/// separated by commas; `default` stands for the default ones. Its target folder is that of the
/// tests in QEMU, so that nothing is compiled twice.
pub(crate) fn command(verb: &str, board: &Info, features: &str) -> Cmd<'static> {
    let arguments = board.cargo(verb, features, &folder().display().to_string());
    cmd!("cargo {arguments...}")
}

/// Lints an image; warnings are errors.
pub(crate) fn clippy(board: &Info, features: &str) -> Result<()> {
    let clippy = command("clippy", board, features);
    Ok(clippy.args(["--", "-Dwarnings"]).run()?)
}

/// These features, and those of the image for a board's emulator, if there is one.
pub(crate) fn with_emulator(board: &Info, features: &str) -> String {
    let emulator = board.emulator.as_ref();
    format!(
        "{features},{}",
        emulator.map_or("", |emulator| emulator.features)
    )
}

fn folder() -> PathBuf {
    target_dir().join("qemu")
}

/// A copy of an image, since another process may build a different image at any time. It is removed
/// with this value.
pub(crate) struct Image {
    pub(crate) board: &'static Info,
    folder: TempDir,
    data: Vec<u8>,
}

impl Image {
    /// Builds an image. Other processes that build images in this clone wait meanwhile.
    ///
    /// # Errors
    ///
    /// When it does not build, or cannot be copied.
    pub(crate) fn build(board: &'static Info, features: &str) -> Result<Image> {
        let built = root().join(folder());
        fs::create_dir_all(&built)?;
        let lock = File::create(built.join("image.lock"))?;
        lock.lock()?;
        command("build", board, features).run()?;
        let built = built.join(board.target).join("firmware").join(PACKAGE);
        let data = fs::read(&built).with_context(|| built.display().to_string())?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(PACKAGE), &data)?;
        Ok(Image {
            board,
            folder,
            data,
        })
    }

    /// Measures it in QEMU. Returns rows of a table.
    ///
    /// # Errors
    ///
    /// When the program that measures, `tests/src/measure/`, does not build or fails.
    pub(crate) fn measure(
        &self,
        what: &str,
        (address, bytes): (u64, u64),
        scheduler: SchedulerKind,
        strategies: &[StrategyKind],
    ) -> Result<Vec<Row>> {
        let (board, path, (form, number)) = (self.board.name, self.path(), scheduler.form());
        let place = [address, bytes].map(|it| it.to_string());
        let scheduler = [form.to_owned(), number.to_string()];
        let names = strategies.iter().map(ToString::to_string);
        run!("cargo build {EXHAUSTIVE...} --example measure")?;
        let program = root().join(target_dir()).join("debug/examples/measure");
        let measure = cmd!("{program} {what} {board} {path} {place...} {scheduler...} {names...}");
        Ok(measure.read()?.lines().map(cells).collect())
    }

    /// Where its file is.
    pub(crate) fn path(&self) -> String {
        self.folder.path().join(PACKAGE).display().to_string()
    }

    /// Its file.
    pub(crate) fn elf(&self) -> Result<ElfFile32<'_, Endianness>> {
        Ok(ElfFile32::parse(&*self.data)?)
    }

    /// The address and size of the symbol whose name contains this one.
    pub(crate) fn symbol(&self, name: &str) -> Result<(u64, u64)> {
        let elf = self.elf()?;
        let has_name = |symbol: &_| ObjectSymbol::name(symbol).is_ok_and(|it| it.contains(name));
        let symbol = elf.symbols().find(has_name);
        let symbol = symbol.with_context(|| format!("the image has no symbol {name}"))?;
        Ok((symbol.address(), symbol.size()))
    }

    /// The address of the end of the room for the stack, and its size.
    pub(crate) fn stack(&self) -> Result<(u64, u64)> {
        let (end, start) = (self.symbol("_stack_end")?.0, self.symbol("_stack_start")?.0);
        Ok((end, start - end))
    }

    /// The bytes of flash and static RAM that it takes.
    pub(crate) fn sizes(&self) -> Result<(u64, u64)> {
        Ok(sizes(&self.elf()?))
    }
}

/// The bytes of flash and static RAM that a program takes.
pub(crate) fn sizes(elf: &ElfFile32<'_, Endianness>) -> (u64, u64) {
    let (mut flash, mut ram) = (0, 0);
    for section in elf.sections() {
        let header = section.elf_section_header();
        let flags = header.sh_flags(elf.endian());
        // Initialised variables count twice: flash holds their values until the start copies them.
        let is_loaded = flags.contains(elf::SHF_ALLOC);
        if is_loaded && header.sh_type(elf.endian()) != elf::SHT_NOBITS {
            flash += section.size();
        }
        if is_loaded && flags.contains(elf::SHF_WRITE) {
            ram += section.size();
        }
    }
    (flash, ram)
}

/// The environment variable that names the machine of an image, and the machine of the images of
/// strategies that serve described machines only.
pub(crate) const MACHINE: &str = "MESHALLOC_MACHINE";
pub(crate) const DESCRIBED: &str = "tpu-v4";

/// The strategies that serve a machine in some image. A board knows the presets, of which none has
/// the placements of `torus3d`.
pub(crate) fn strategies() -> impl Iterator<Item = StrategyKind> + Clone {
    let machine = Description::preset(DESCRIBED).expect("a preset");
    let kinds = StrategyKind::ALL.iter().copied();
    kinds.filter(move |&kind| !kind.serves().needs_description() || kind.serves_described(&machine))
}
