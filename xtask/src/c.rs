//! `cargo xtask c`: the library for C as an archive for each target, and its tests and examples.
//!
//! ```text
//!   meshalloc-c-VERSION-TARGET/
//!     include/meshalloc.h
//!     lib/libmeshalloc.a, lib/cmake/meshalloc/, lib/pkgconfig/
//!     zephyr/          a module for Zephyr
//!     README.md, LICENSE-APACHE, LICENSE-MIT
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use meshalloc_firmware::boards;

use crate::command::{Cmd, root, target_dir};
use crate::setup;
use crate::tables::Table;

/// The options of `cargo xtask c`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Make only the archive for this Rust target
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The strategies and schedulers in it, separated by commas; without this option all
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
/// The board of the example firmware.
const BOARD: &str = "mps2-an386";
const TABLE: Table = Table {
    page: "bindings/c/README.md",
    name: "sizes",
};

/// Makes the archive that the options name; or checks and tests the package, makes the archives for
/// this machine and the example firmware, and builds and runs the examples with them.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(target) = &options.target {
        setup::target(target)?;
        let only: Vec<&str> = options.only.iter().map(String::as_str).collect();
        return archive(target, &only).map(drop);
    }
    Cmd::new("cargo clippy --package meshalloc-c --all-targets -- -D warnings").run()?;
    if let Err(reason) = setup::c_compilers() {
        println!("SKIPPED: tests and examples in C: {reason:#}");
        return Ok(());
    }
    Cmd::new("cargo test --package meshalloc-c -- --show-output").run()?;
    let host = Cmd::new("rustc --print host-tuple").output()?;
    host_examples(&archive(host.trim(), &[])?)?;
    match setup::cortex_m_compiler() {
        Ok(()) => firmware(options)?,
        Err(reason) => println!("SKIPPED: firmware for Cortex-M: {reason:#}"),
    }
    zephyr()
}

/// Builds the library for a target and packs it. Returns the folder with what the archive has.
fn archive(target: &str, only: &[&str]) -> Result<PathBuf> {
    let is_chip = target.contains("-none");
    let profile = if is_chip { "c-small" } else { "c" };
    let folder = target_dir().join("c");
    let mut build = Cmd::new("cargo rustc --package meshalloc-c --lib --crate-type staticlib")
        .args("--profile")
        .arg(profile)
        .args("--target")
        .arg(target)
        .args("--target-dir")
        .arg(folder.display().to_string());
    if !only.is_empty() {
        let features: Vec<_> = only
            .iter()
            .map(|name| format!("meshalloc/{name}"))
            .collect();
        build = build
            .args("--no-default-features --features")
            .arg(format!("save,{}", features.join(",")));
    }
    build.run()?;
    let library = folder.join(target).join(profile).join("libmeshalloc_c.a");

    let version = env!("CARGO_PKG_VERSION");
    let name = format!("meshalloc-c-{version}-{target}");
    let archive = folder.join(&name);
    if archive.exists() {
        fs::remove_dir_all(&archive)?;
    }
    let copy = |from: PathBuf, to: &str| -> Result<()> {
        let to = archive.join(to);
        fs::create_dir_all(to.parent().unwrap_or(&archive))?;
        fs::copy(&from, to).with_context(|| from.display().to_string())?;
        Ok(())
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
        let text = fs::read_to_string(package.join("cmake").join(file))?;
        let to = archive.join(to);
        fs::create_dir_all(&to)?;
        fs::write(to.join(file), text.replace("@VERSION@", version))?;
    }
    Cmd::new("tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0")
        .arg("--directory")
        .arg(folder.display().to_string())
        .arg("--file")
        .arg(folder.join(format!("{name}.tar.gz")).display().to_string())
        .arg(&name)
        .run()?;
    println!("archive: {}.tar.gz", archive.display());
    Ok(archive)
}

/// Configures and builds an example with CMake. Returns the folder with its programs.
fn cmake(example: &str, archive: &Path, further: &str) -> Result<PathBuf> {
    let source = format!("{PACKAGE}/examples/{example}");
    let build = target_dir().join("c/examples").join(example);
    Cmd::new("cmake -S")
        .arg(&source)
        .arg("-B")
        .arg(build.display().to_string())
        .arg(format!("-DCMAKE_PREFIX_PATH={}", archive.display()))
        .args(further)
        .run()?;
    Cmd::new("cmake --build")
        .arg(build.display().to_string())
        .run()?;
    Ok(build)
}

/// Builds the host program with CMake and with pkg-config, and compares what it prints.
fn host_examples(archive: &Path) -> Result<()> {
    let example = root().join(PACKAGE).join("examples/host");
    let expected = fs::read_to_string(example.join("expected.txt"))?;
    let build = cmake("host", archive, "")?;
    let by_pkg_config = build.join("by-pkg-config");
    let script = format!(
        "cc -std=c99 -Wall -Wextra -pedantic -Werror '{}' -o '{}' \
         $(pkg-config --cflags --libs meshalloc)",
        example.join("main.c").display(),
        by_pkg_config.display()
    );
    Cmd::new("sh -eu -c")
        .arg(script)
        .env(
            "PKG_CONFIG_PATH",
            archive.join("lib/pkgconfig").display().to_string(),
        )
        .run()?;
    for program in [build.join("host"), by_pkg_config] {
        compare(
            &program.display().to_string(),
            &expected,
            &Cmd::at(&program).output()?,
        )?;
    }
    Ok(())
}

fn compare(program: &str, expected: &str, printed: &str) -> Result<()> {
    println!("{printed}");
    match printed == expected {
        true => Ok(()),
        false => bail!("{program} prints something else than its file expects:\n{expected}"),
    }
}

/// What a program of the example firmware takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    flash: u64,
    ram: u64,
    stack: u64,
}

/// Builds the example firmware, runs it in QEMU, and compares what it prints and takes.
fn firmware(options: &Options) -> Result<()> {
    let board = boards::find(BOARD).context(BOARD)?;
    setup::board(board)?;
    let archive = archive(board.target, &FIRMWARE_ONLY)?;
    let build = cmake("firmware", &archive, "--toolchain arm-none-eabi.cmake")?;
    let emulator = setup::emulator(board)?;
    let mut table = "| program | flash | RAM | deepest stack |\n|---|--:|--:|--:|".to_owned();
    let mut grown = Vec::new();
    let before = TABLE.read()?;
    for program in PROGRAMS {
        let image = build.join(format!("{program}.elf")).display().to_string();
        let arguments = emulator.arguments(&image);
        let run = arguments
            .into_iter()
            .fold(Cmd::new(emulator.program), Cmd::arg);
        println!("$ {run}");
        let (mut printed, mut stack) = (String::new(), None);
        // What a program prints by semihosting comes on standard error.
        run.run_watched(|line| match line.strip_prefix("stack: ") {
            Some(bytes) => stack = bytes.trim_end_matches(" bytes").parse().ok(),
            None => printed += &format!("{line}\n"),
        })?;
        let expected = format!("{PACKAGE}/examples/firmware/{program}.txt");
        compare(
            program,
            &fs::read_to_string(root().join(expected))?,
            &printed,
        )?;
        let size = Size {
            stack: stack.with_context(|| format!("{program} prints no stack"))?,
            ..size(&image)?
        };
        let row = format!(
            "| `{program}` | {} | {} | {} |",
            size.flash, size.ram, size.stack
        );
        write!(table, "\n{row}")?;
        let old = before.lines().find_map(|line| parse(line, program));
        if old.is_none_or(|old| has_grown(size, old)) {
            grown.push(row);
        }
    }
    println!("\n{table}");
    if options.update {
        return TABLE.write(&table);
    }
    match grown.is_empty() {
        true => Ok(()),
        false => bail!(
            "over 2 % larger than in the table of {}, which `cargo xtask c --update` writes:\n{}",
            TABLE.page,
            grown.join("\n")
        ),
    }
}

/// Flash and RAM, as the compiler's own tool says.
fn size(image: &str) -> Result<Size> {
    let printed = Cmd::new("arm-none-eabi-size").arg(image).output()?;
    let line = printed
        .lines()
        .nth(1)
        .context("arm-none-eabi-size prints no sizes")?;
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let [text, data, bss, ..] = numbers[..] else {
        bail!("arm-none-eabi-size prints {line:?}");
    };
    Ok(Size {
        flash: text + data,
        ram: data + bss,
        stack: 0,
    })
}

/// The row of this program.
fn parse(line: &str, program: &str) -> Option<Size> {
    let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [name, flash, ram, stack] = cells[..] else {
        return None;
    };
    (name.trim_matches('`') == program).then_some(())?;
    Some(Size {
        flash: flash.parse().ok()?,
        ram: ram.parse().ok()?,
        stack: stack.parse().ok()?,
    })
}

/// Whether a number is over 2 % larger.
fn has_grown(now: Size, before: Size) -> bool {
    let is_larger = |now: u64, before: u64| now > before + before / 50;
    is_larger(now.flash, before.flash)
        || is_larger(now.ram, before.ram)
        || is_larger(now.stack, before.stack)
}

/// Builds the application for Zephyr where its tools are.
fn zephyr() -> Result<()> {
    let missing = match std::env::var("ZEPHYR_BASE") {
        Err(_) => Some("ZEPHYR_BASE is unset"),
        Ok(_) if !Cmd::new("west --version").succeeds() => Some("west is not installed"),
        Ok(_) => None,
    };
    if let Some(missing) = missing {
        println!("SKIPPED: application for Zephyr: {missing}");
        return Ok(());
    }
    let board = boards::find(BOARD).context(BOARD)?;
    let archive = archive(board.target, &FIRMWARE_ONLY)?;
    Cmd::new("west build --pristine -b mps2/an386")
        .arg("-d")
        .arg(target_dir().join("c/examples/zephyr").display().to_string())
        .arg(format!("{PACKAGE}/examples/zephyr"))
        .arg("--")
        .arg(format!("-DZEPHYR_EXTRA_MODULES={}", archive.display()))
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_growth_is_over_two_percent() {
        let size = Size {
            flash: 1000,
            ram: 200,
            stack: 50,
        };
        let row = "| `allocator` | 1000 | 200 | 50 |";
        assert_eq!(parse(row, "allocator"), Some(size));
        assert_eq!(parse(row, "controller"), None);
        let by = |flash| Size { flash, ..size };
        assert!(!has_grown(by(1020), size) && has_grown(by(1021), size));
        assert!(has_grown(Size { stack: 52, ..size }, size));
    }
}
