//! The firmware image: how it is built, and what its ELF file says.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use meshalloc::{Grid, Machine, Serves, StrategyKind};
use meshalloc_firmware::boards::{BOARDS, Info};
use object::read::elf::{ElfFile32, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};
use tempfile::TempDir;
use xshell::{Cmd, Shell, cmd};

use crate::shell::{root, target_dir};

/// The board whose images are measured: the NUCLEO-F446RE.
pub(crate) const MAIN: &Info = &BOARDS[0];

/// The features of an image with one strategy and one scheduler, which takes little time to
/// compile.
pub(crate) const ONE_OF_EACH: &str = "meshalloc/first-fit,meshalloc/fcfs";

/// The feature with which all strategies serve every grid that they can serve.
pub(crate) const ANY_GRID: &str = "any-grid";

const PACKAGE: &str = "meshalloc-firmware";

/// The command that builds or lints the image of a board with these features of the firmware,
/// separated by commas, in addition to the default ones or without them. Its target folder is that
/// of the tests in QEMU, so that nothing is compiled twice.
pub(crate) fn command<'s>(
    sh: &'s Shell,
    verb: &str,
    board: &Info,
    features: &str,
    has_defaults: bool,
) -> Cmd<'s> {
    let (features, target, folder) = (board.features(features), board.target, folder());
    let defaults = (!has_defaults).then_some("--no-default-features");
    let command = cmd!(
        sh,
        "cargo {verb} --profile firmware --package {PACKAGE} {defaults...}"
    );
    command
        .args(["--features", &features, "--target", target, "--target-dir"])
        .arg(folder)
}

/// These features, and those of the image for a board's emulator, if there is one.
pub(crate) fn with_emulator(board: &Info, features: &str) -> String {
    let emulator = board
        .emulator
        .as_ref()
        .map_or("", |emulator| emulator.features);
    let all = [emulator, features]
        .into_iter()
        .filter(|features| !features.is_empty());
    all.collect::<Vec<_>>().join(",")
}

fn folder() -> PathBuf {
    target_dir().join("qemu")
}

/// A copy of an image, since another process may build another one at any time. It is removed with
/// this value.
pub(crate) struct Image {
    pub(crate) board: &'static Info,
    folder: TempDir,
    data: Vec<u8>,
    /// Whether it has the feature `any-grid`.
    has_any_grid: bool,
    /// The only machine that it serves, if it was built for one.
    machine: Option<Machine>,
}

impl Image {
    /// Builds an image, for the machine that `MESHALLOC_MACHINE` names. Other processes that build
    /// images in this clone wait meanwhile.
    ///
    /// # Errors
    ///
    /// When it does not build, or cannot be copied.
    pub(crate) fn build(
        sh: &Shell,
        board: &'static Info,
        features: &str,
        has_defaults: bool,
    ) -> Result<Image> {
        let built = root().join(folder());
        fs::create_dir_all(&built)?;
        let lock = File::create(built.join("image.lock"))?;
        lock.lock()?;
        command(sh, "build", board, features, has_defaults).run()?;
        let built = built.join(board.target).join("firmware").join(PACKAGE);
        let data = fs::read(&built).with_context(|| built.display().to_string())?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(PACKAGE), &data)?;
        Ok(Image {
            board,
            folder,
            data,
            has_any_grid: has_defaults || features.split(',').any(|it| it == ANY_GRID),
            machine: sh.var(MACHINE).ok().and_then(|name| Machine::preset(&name)),
        })
    }

    /// Whether it serves a machine with one of its strategies. This program has the feature
    /// `any-grid`; in an image without it these serve two-dimensional meshes.
    pub(crate) fn serves(&self, strategy: StrategyKind, machine: &Grid) -> bool {
        if let Some(described) = &self.machine {
            return described.grid() == machine && strategy.serves_described(described);
        }
        let may = self.has_any_grid || !needs_any_grid(strategy) || Serves::Mesh.includes(machine);
        may && strategy.serves().includes(machine)
    }

    /// Where its file is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(PACKAGE)
    }

    /// Its file.
    pub(crate) fn elf(&self) -> Result<ElfFile32<'_, Endianness>> {
        Ok(ElfFile32::parse(&*self.data)?)
    }

    /// The address and size of the symbol whose name contains this one.
    pub(crate) fn symbol(&self, name: &str) -> Result<(u64, u64)> {
        let elf = self.elf()?;
        let symbol = elf
            .symbols()
            .find(|symbol| symbol.name().is_ok_and(|it| it.contains(name)));
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
        let (elf, mut flash, mut ram) = (self.elf()?, 0, 0);
        for section in elf.sections() {
            let header = section.elf_section_header();
            let flags = header.sh_flags(elf.endian());
            // Initialised variables count twice: flash holds their values until the start copies
            // them.
            let is_loaded = flags.contains(elf::SHF_ALLOC);
            if is_loaded && header.sh_type(elf.endian()) != elf::SHT_NOBITS {
                flash += section.size();
            }
            if is_loaded && flags.contains(elf::SHF_WRITE) {
                ram += section.size();
            }
        }
        Ok((flash, ram))
    }
}

/// The environment variable that names the machine of an image, and the machine of the images of
/// strategies that serve described machines only.
pub(crate) const MACHINE: &str = "MESHALLOC_MACHINE";
pub(crate) const DESCRIBED: &str = "tpu-v4";

/// Whether the strategy serves described machines only.
pub(crate) fn needs_description(strategy: StrategyKind) -> bool {
    matches!(strategy.serves(), Serves::Cubes | Serves::Placements)
}

/// The strategies that serve a machine in some image. A board knows the presets, of which none has
/// the placements of `torus3d`.
pub(crate) fn strategies() -> impl Iterator<Item = StrategyKind> {
    let machine = Machine::preset(DESCRIBED).expect("a preset");
    let kinds = StrategyKind::ALL.iter().copied();
    kinds.filter(move |&kind| !needs_description(kind) || kind.serves_described(&machine))
}

/// Whether the strategy serves other machines with the feature `any-grid` than without.
pub(crate) fn needs_any_grid(strategy: StrategyKind) -> bool {
    let names = [
        "best-fit",
        "busy-list",
        "free-submesh-list",
        "least-expected-blocking",
        "leb-estimates",
    ];
    names.contains(&strategy.name())
}

/// The path as text.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
