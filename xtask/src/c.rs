//! `cargo xtask c`: the library for C as an archive for each target, and its tests and examples.
//!
//! ```text
//!   meshalloc-c-VERSION-TARGET/
//!     include/meshalloc.h
//!     lib/libmeshalloc.a, lib/cmake/meshalloc/, lib/pkgconfig/
//!     zephyr/          a module for Zephyr
//!     examples/
//!     README.md, LICENSE-APACHE, LICENSE-MIT, LICENSE-CRATES
//! ```

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use meshalloc::StrategyKind;
use meshalloc_firmware::boards::{self, Info};

use crate::licences;
use crate::setup;
use crate::shell::{cmd, root, run, shell, skipped, succeeds, target_dir};
use crate::tables::{Table, code};

/// The options of `cargo xtask c`.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Make only the archive for this Rust target
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The strategies and schedulers in it, separated by commas, `machine` for pods, `gangs` for
    /// requests of several slices, `priorities` and `tolerance`; without this option all
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

/// The board of the example firmware.
fn board() -> Result<&'static Info> {
    boards::find("mps2-an386").context("the table has no mps2-an386")
}

/// Makes the archive that the options name; or checks and tests the package, makes the archives for
/// this machine and the example firmware, and builds and runs the examples with them.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(target) = &options.target {
        setup::target(target)?;
        return archive(target, &options.only).map(drop);
    }
    run!("cargo clippy --package meshalloc-c --all-targets -- -D warnings")?;
    let programs = "type cc c++ make cmake pkg-config";
    if let Err(reason) = setup::packages("gcc g++ make cmake pkg-config", programs) {
        skipped!("tests and examples in C: {reason:#}");
        return Ok(());
    }
    run!("cargo test --package meshalloc-c -- --show-output")?;
    let host = cmd!("rustc --print host-tuple").read()?;
    host_examples(&archive(&host, &[])?)?;
    let programs = "type arm-none-eabi-gcc arm-none-eabi-size";
    match setup::packages("gcc-arm-none-eabi libnewlib-arm-none-eabi", programs) {
        Ok(()) => firmware(options)?,
        Err(reason) => skipped!("firmware for Cortex-M: {reason:#}"),
    }
    zephyr()
}

/// Builds the library for a target and packs it. Returns the folder with the archive's files.
fn archive(target: &str, only: &[String]) -> Result<PathBuf> {
    let profile = if target.contains("-none") {
        "c-small"
    } else {
        "c"
    };
    let folder = root().join(target_dir()).join("c");
    let mut features = vec![];
    if !only.is_empty() {
        let names = only.iter().map(|name| match &**name {
            "machine" | "gangs" | "priorities" | "tolerance" => name.clone(),
            name => {
                let strategy = StrategyKind::ALL.iter().find(|kind| kind.name() == name);
                let feature = strategy.map_or(name, |kind| kind.info().feature);
                format!("meshalloc/{feature}")
            }
        });
        let names = names.collect::<Vec<_>>().join(",");
        features.push("--no-default-features".to_owned());
        features.push(format!("--features=save,{names}"));
    }
    let options = &features;
    run!(
        "cargo rustc --package meshalloc-c --lib --crate-type staticlib --profile {profile}
         --target {target} --target-dir {folder} {options...}"
    )?;

    let (sh, version) = (shell(), env!("CARGO_PKG_VERSION"));
    let name = format!("meshalloc-c-{version}-{target}");
    let archive = folder.join(&name);
    sh.remove_path(&archive)?;
    for part in ["lib/cmake/meshalloc", "lib/pkgconfig"] {
        sh.create_dir(archive.join(part))?;
    }
    let library = folder.join(target).join(profile).join("libmeshalloc_c.a");
    sh.copy_file(library, archive.join("lib/libmeshalloc.a"))?;
    let parts =
        ["include", "zephyr", "examples", "README.md"].map(|part| format!("{PACKAGE}/{part}"));
    run!("cp -r {parts...} LICENSE-APACHE LICENSE-MIT {archive}")?;
    let crates = licences::text("meshalloc-c", target, &features)?;
    sh.write_file(archive.join(licences::FILE), crates)?;
    for (file, to) in [
        ("meshalloc-config.cmake", "lib/cmake/meshalloc"),
        ("meshalloc-config-version.cmake", "lib/cmake/meshalloc"),
        ("meshalloc.pc", "lib/pkgconfig"),
    ] {
        let text = sh.read_file(format!("{PACKAGE}/cmake/{file}"))?;
        let text = text
            .replace("@VERSION@", version)
            .replace("@TARGET@", target)
            .replace("@PROCESSORS@", processors(target));
        sh.write_file(archive.join(to).join(file), text)?;
    }
    run!(
        "tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0
         --directory {folder} --file {archive}.tar.gz {name}"
    )?;
    println!("archive: {}.tar.gz", archive.display());
    Ok(archive)
}

/// What CMake may call the processors of a target, as a regular expression.
fn processors(target: &str) -> &'static str {
    match target.split('-').next() {
        Some("x86_64") => "^(x86_64|amd64|AMD64)$",
        Some("aarch64") => "^(aarch64|arm64|ARM64)$",
        Some(name) if name.starts_with("thumb") || name.starts_with("arm") => {
            "^(arm|ARM|thumb|cortex|Cortex)"
        }
        Some(name) if name.starts_with("riscv32") => "^(riscv|rv32)",
        Some(name) if name.starts_with("riscv64") => "^(riscv|rv64)",
        // Unknown ones are not checked.
        _ => "",
    }
}

/// Configures and builds an example with CMake. Returns the folder with its programs.
fn cmake(example: &str, archive: &Path, further: &[&str]) -> Result<PathBuf> {
    let build = root().join(target_dir()).join("c/examples").join(example);
    run!(
        "cmake -S {PACKAGE}/examples/{example} -B {build} -DCMAKE_PREFIX_PATH={archive}
         {further...}"
    )?;
    run!("cmake --build {build}")?;
    Ok(build)
}

/// Builds the host program with CMake and with pkg-config, and compares what it prints.
fn host_examples(archive: &Path) -> Result<()> {
    let build = cmake("host", archive, &[])?;
    let by_pkg_config = build.join("by-pkg-config");
    let flags = cmd!("pkg-config --cflags --libs meshalloc")
        .env("PKG_CONFIG_PATH", archive.join("lib/pkgconfig"))
        .read()?;
    let flags = flags.split_whitespace();
    run!(
        "cc -std=c99 -Wall -Wextra -pedantic -Werror {PACKAGE}/examples/host/main.c
         -o {by_pkg_config} {flags...}"
    )?;
    for program in [build.join("host"), by_pkg_config] {
        compare("host/expected.txt", &cmd!("{program}").read()?)?;
    }
    // Without a compiler for it, nothing is built: the archive is refused before.
    let other = build.with_file_name("host-of-another-processor");
    let refused = cmd!(
        "cmake -S {PACKAGE}/examples/host -B {other} -DCMAKE_PREFIX_PATH={archive}
         -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_SYSTEM_PROCESSOR=mips
         -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"
    );
    let printed = refused.ignore_status().read_stderr()?;
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(
        printed.contains("not for a processor called mips"),
        "CMake takes the archive of another processor: {printed}"
    );
    Ok(())
}

/// Compares what an example prints with a file.
fn compare(file: &str, printed: &str) -> Result<()> {
    println!("{printed}");
    let expected = shell().read_file(format!("{PACKAGE}/examples/{file}"))?;
    ensure!(
        printed.trim_end() == expected.trim_end(),
        "the program prints something else than {file} has:\n{expected}"
    );
    Ok(())
}

/// Builds the example firmware, runs it in QEMU, and compares its output and its sizes.
fn firmware(options: &Options) -> Result<()> {
    let board = board()?;
    setup::target_and_emulator(board)?;
    let archive = archive(board.target, &FIRMWARE_ONLY.map(str::to_owned))?;
    let build = cmake(
        "firmware",
        &archive,
        &["--toolchain", "arm-none-eabi.cmake"],
    )?;
    let emulator = setup::emulator(board)?;
    let (qemu, mut rows) = (emulator.program, Vec::new());
    for program in PROGRAMS {
        let image = build.join(format!("{program}.elf")).display().to_string();
        let arguments = emulator.arguments(&image);
        // What a program prints by semihosting comes on standard error.
        let printed = cmd!("{qemu} {arguments...}").read_stderr()?;
        let is_stack = |line: &&str| line.starts_with("stack: ");
        let (stack, text): (Vec<&str>, Vec<&str>) = printed.lines().partition(is_stack);
        compare(&format!("firmware/{program}.txt"), &text.join("\n"))?;
        let stack = stack.first().and_then(|line| line.split(' ').nth(1));
        let stack = stack.with_context(|| format!("{program} prints no stack"))?;
        // Text, data and bss, as the compiler's own tool says.
        let printed = cmd!("arm-none-eabi-size {image}").read()?;
        let numbers = printed
            .split_whitespace()
            .filter_map(|word| word.parse().ok());
        let [text, data, bss, ..]: [u64] = numbers.collect::<Vec<_>>()[..] else {
            bail!("arm-none-eabi-size prints {printed:?}");
        };
        let sizes = [text + data, data + bss].map(|bytes| bytes.to_string());
        let [flash, ram] = sizes;
        rows.push(vec![code(program), flash, ram, stack.to_owned()]);
    }
    println!("\n{}", TABLE.with(&rows)?);
    if options.update {
        TABLE.write(&rows)
    } else {
        TABLE.check(&rows, 0, "cargo xtask c --update")
    }
}

/// Builds the application for Zephyr where its tools are.
fn zephyr() -> Result<()> {
    for (probe, missing) in [
        ("test -n \"$ZEPHYR_BASE\"", "ZEPHYR_BASE is unset"),
        ("west --version", "west is not installed"),
    ] {
        if !succeeds(probe) {
            skipped!("application for Zephyr: {missing}");
            return Ok(());
        }
    }
    let archive = archive(board()?.target, &FIRMWARE_ONLY.map(str::to_owned))?;
    let build = root().join(target_dir()).join("c/examples/zephyr");
    run!(
        "west build --pristine -b mps2/an386 -d {build} {PACKAGE}/examples/zephyr --
         -DZEPHYR_EXTRA_MODULES={archive}"
    )
}
