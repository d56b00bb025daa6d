//! `cargo xtask c`: the library for C as an archive for each target, and its tests and examples.
//!
//! ```text
//!   meshalloc-c-VERSION-TARGET/
//!     include/meshalloc.h
//!     lib/libmeshalloc.a, lib/cmake/meshalloc/, lib/pkgconfig/
//!     zephyr/          a module for Zephyr
//!     README.md, LICENSE-APACHE, LICENSE-MIT
//! ```

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use meshalloc_firmware::boards::{self, Info};
use xshell::{Shell, cmd};

use crate::setup;
use crate::shell::{root, succeeds, target_dir};
use crate::tables::{Row, Table, code, markdown};

/// The options of `cargo xtask c`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Make only the archive for this Rust target
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The strategies and schedulers in it, separated by commas, and `machine` for pods; without
    /// this option all
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        requires = "target"
    )]
    only: Vec<String>,
    /// Write the sizes of the example firmware into the table of the README
    #[arg(long, conflicts_with = "target")]
    update: bool,
}

/// The folder of the package.
const PACKAGE: &str = "bindings/c";
/// The strategies and the scheduler of the example firmware.
const FIRMWARE_ONLY: [&str; 3] = ["first-fit", "free-submesh-list", "fcfs"];
/// The programs of the example firmware.
const PROGRAMS: [&str; 3] = ["nothing", "allocator", "controller"];
pub(crate) const TABLE: Table = Table {
    page: "bindings/c/README.md",
    name: "sizes",
};
const COLUMNS: [&str; 4] = ["program", "flash", "RAM", "deepest stack"];

/// The board of the example firmware.
fn board() -> Result<&'static Info> {
    boards::find("mps2-an386").context("the table has no mps2-an386")
}

/// Makes the archive that the options name; or checks and tests the package, makes the archives for
/// this machine and the example firmware, and builds and runs the examples with them.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    if let Some(target) = &options.target {
        setup::target(sh, target)?;
        let only: Vec<&str> = options.only.iter().map(String::as_str).collect();
        return archive(sh, target, &only).map(drop);
    }
    cmd!(
        sh,
        "cargo clippy --package meshalloc-c --all-targets -- -D warnings"
    )
    .run()?;
    let compilers = ["cc", "c++", "make", "cmake", "pkg-config"];
    if let Err(reason) = setup::programs(sh, &compilers, "gcc g++ make cmake pkg-config") {
        println!("SKIPPED: tests and examples in C: {reason:#}");
        return Ok(());
    }
    cmd!(sh, "cargo test --package meshalloc-c -- --show-output").run()?;
    let host = cmd!(sh, "rustc --print host-tuple").read()?;
    host_examples(sh, &archive(sh, &host, &[])?)?;
    let compilers = ["arm-none-eabi-gcc", "arm-none-eabi-size"];
    match setup::programs(sh, &compilers, "gcc-arm-none-eabi libnewlib-arm-none-eabi") {
        Ok(()) => firmware(sh, options)?,
        Err(reason) => println!("SKIPPED: firmware for Cortex-M: {reason:#}"),
    }
    zephyr(sh)
}

/// Builds the library for a target and packs it. Returns the folder with the archive's files.
fn archive(sh: &Shell, target: &str, only: &[&str]) -> Result<PathBuf> {
    let is_chip = target.contains("-none");
    let profile = if is_chip { "c-small" } else { "c" };
    let folder = root().join(target_dir()).join("c");
    let names: Vec<_> = only
        .iter()
        .map(|&name| match name {
            "machine" => name.to_owned(),
            _ => format!("meshalloc/{name}"),
        })
        .collect();
    let features = format!("--features=save,{}", names.join(","));
    let features = ["--no-default-features", &features];
    let features = if only.is_empty() { &[][..] } else { &features };
    cmd!(
        sh,
        "cargo rustc --package meshalloc-c --lib --crate-type staticlib"
    )
    .args(["--profile", profile, "--target", target, "--target-dir"])
    .arg(&folder)
    .args(features)
    .run()?;
    let library = folder.join(target).join(profile).join("libmeshalloc_c.a");

    let version = env!("CARGO_PKG_VERSION");
    let name = format!("meshalloc-c-{version}-{target}");
    let archive = folder.join(&name);
    sh.remove_path(&archive)?;
    let copy = |from: PathBuf, to: &str| -> Result<()> {
        let to = archive.join(to);
        sh.create_dir(to.parent().unwrap_or(&archive))?;
        Ok(sh.copy_file(from, to)?)
    };
    copy(library, "lib/libmeshalloc.a")?;
    let package = root().join(PACKAGE);
    for file in [
        "include/meshalloc.h",
        "zephyr/module.yml",
        "zephyr/CMakeLists.txt",
        "zephyr/Kconfig",
        "README.md",
    ] {
        copy(package.join(file), file)?;
    }
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(root().join(file), file)?;
    }
    for (file, to) in [
        ("meshalloc-config.cmake", "lib/cmake/meshalloc"),
        ("meshalloc-config-version.cmake", "lib/cmake/meshalloc"),
        ("meshalloc.pc", "lib/pkgconfig"),
    ] {
        let text = sh.read_file(package.join("cmake").join(file))?;
        sh.write_file(
            archive.join(to).join(file),
            text.replace("@VERSION@", version),
        )?;
    }
    let tar = folder.join(format!("{name}.tar.gz"));
    cmd!(
        sh,
        "tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0"
    )
    .arg("--directory")
    .arg(&folder)
    .arg("--file")
    .arg(&tar)
    .arg(&name)
    .run()?;
    println!("archive: {}", tar.display());
    Ok(archive)
}

/// Configures and builds an example with CMake. Returns the folder with its programs.
fn cmake(sh: &Shell, example: &str, archive: &Path, further: &[&str]) -> Result<PathBuf> {
    let source = format!("{PACKAGE}/examples/{example}");
    let build = root().join(target_dir()).join("c/examples").join(example);
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", archive.display());
    cmd!(sh, "cmake -S {source} -B {build} {prefix} {further...}").run()?;
    cmd!(sh, "cmake --build {build}").run()?;
    Ok(build)
}

/// Builds the host program with CMake and with pkg-config, and compares what it prints.
fn host_examples(sh: &Shell, archive: &Path) -> Result<()> {
    let example = root().join(PACKAGE).join("examples/host");
    let expected = sh.read_file(example.join("expected.txt"))?;
    let build = cmake(sh, "host", archive, &[])?;
    let by_pkg_config = build.join("by-pkg-config");
    let flags = {
        let _path = sh.push_env("PKG_CONFIG_PATH", archive.join("lib/pkgconfig"));
        cmd!(sh, "pkg-config --cflags --libs meshalloc").read()?
    };
    let (main, flags) = (example.join("main.c"), flags.split_whitespace());
    cmd!(
        sh,
        "cc -std=c99 -Wall -Wextra -pedantic -Werror {main} -o {by_pkg_config} {flags...}"
    )
    .run()?;
    for program in [build.join("host"), by_pkg_config] {
        let printed = cmd!(sh, "{program}").read()?;
        compare(&program.display().to_string(), &expected, &printed)?;
    }
    Ok(())
}

fn compare(program: &str, expected: &str, printed: &str) -> Result<()> {
    println!("{printed}");
    ensure!(
        printed.trim_end() == expected.trim_end(),
        "{program} prints something else than its file expects:\n{expected}"
    );
    Ok(())
}

/// Builds the example firmware, runs it in QEMU, and compares its output and its sizes.
fn firmware(sh: &Shell, options: &Options) -> Result<()> {
    let board = board()?;
    setup::target_and_emulator(sh, board)?;
    let archive = archive(sh, board.target, &FIRMWARE_ONLY)?;
    let toolchain = ["--toolchain", "arm-none-eabi.cmake"];
    let build = cmake(sh, "firmware", &archive, &toolchain)?;
    let emulator = setup::emulator(board)?;
    let (qemu, before) = (emulator.program, TABLE.rows()?);
    let (mut rows, mut grown) = (Vec::new(), Vec::new());
    for program in PROGRAMS {
        let image = build.join(format!("{program}.elf")).display().to_string();
        let arguments = emulator.arguments(&image);
        // What a program prints by semihosting comes on standard error.
        let printed = cmd!(sh, "{qemu} {arguments...}").read_stderr()?;
        let (stack, text): (Vec<&str>, Vec<&str>) = printed
            .lines()
            .partition(|line| line.starts_with("stack: "));
        let expected = sh.read_file(format!("{PACKAGE}/examples/firmware/{program}.txt"))?;
        compare(program, &expected, &text.join("\n"))?;
        let stack = stack.first().and_then(|line| line.split(' ').nth(1));
        let stack = stack.with_context(|| format!("{program} prints no stack"))?;
        // Text, data and bss, as the compiler's own tool says.
        let printed = cmd!(sh, "arm-none-eabi-size {image}").read()?;
        let numbers = printed
            .lines()
            .nth(1)
            .unwrap_or_default()
            .split_whitespace();
        let numbers: Vec<u64> = numbers.map_while(|word| word.parse().ok()).collect();
        let [text, data, bss, ..] = numbers[..] else {
            anyhow::bail!("arm-none-eabi-size prints {printed:?}");
        };
        let sizes = [(text + data).to_string(), (data + bss).to_string()];
        let row: Row = [code(program)]
            .into_iter()
            .chain(sizes)
            .chain([stack.to_owned()])
            .collect();
        let old = before.iter().find(|old| old[0] == row[0]);
        if old.is_none_or(|old| has_grown(&row, old)) {
            grown.push(row.join(" "));
        }
        rows.push(row);
    }
    println!("\n{}", markdown(&COLUMNS, &rows));
    if options.update {
        return TABLE.write(&COLUMNS, &rows);
    }
    ensure!(
        grown.is_empty(),
        "over 2 % larger than in the table of {}, which `cargo xtask c --update` writes:\n{}",
        TABLE.page,
        grown.join("\n")
    );
    Ok(())
}

/// Whether a number is over 2 % larger.
fn has_grown(now: &Row, before: &Row) -> bool {
    let bytes = |cell: &String| cell.parse::<u64>().unwrap_or(0);
    let mut cells = now.iter().zip(before).skip(1);
    cells.any(|(now, before)| bytes(now) > bytes(before) + bytes(before) / 50)
}

/// Builds the application for Zephyr where its tools are.
fn zephyr(sh: &Shell) -> Result<()> {
    let missing = match env::var("ZEPHYR_BASE") {
        Err(_) => Some("ZEPHYR_BASE is unset"),
        Ok(_) if !succeeds(cmd!(sh, "west --version")) => Some("west is not installed"),
        Ok(_) => None,
    };
    if let Some(missing) = missing {
        println!("SKIPPED: application for Zephyr: {missing}");
        return Ok(());
    }
    let archive = archive(sh, board()?.target, &FIRMWARE_ONLY)?;
    let build = root().join(target_dir()).join("c/examples/zephyr");
    let modules = format!("-DZEPHYR_EXTRA_MODULES={}", archive.display());
    let source = format!("{PACKAGE}/examples/zephyr");
    Ok(cmd!(
        sh,
        "west build --pristine -b mps2/an386 -d {build} {source} -- {modules}"
    )
    .run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_over_two_percent() {
        let row =
            |flash: &str, stack: &str| ["`a`", flash, "200", stack].map(str::to_owned).to_vec();
        assert!(!has_grown(&row("1020", "50"), &row("1000", "50")));
        assert!(has_grown(&row("1021", "50"), &row("1000", "50")));
        assert!(has_grown(&row("1000", "52"), &row("1000", "50")));
    }
}
