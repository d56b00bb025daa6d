//! Names the build for the greeting, sets the number of jobs and the machine, and lays out the
//! board's memory.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "src/boards.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_qualifications,
    reason = "a module of the library, which has no std"
)]
mod boards;

use boards::{BOARDS, Info};

/// Bytes of the stack.
const STACK_LEN: u32 = 23 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/boards.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!(
        "cargo::rustc-env=MESHALLOC_BUILD_TARGET={}",
        env::var("TARGET")?
    );
    println!(
        "cargo::rustc-env=MESHALLOC_BUILD_PROFILE={}",
        profile(&out).unwrap_or("unknown")
    );

    println!("cargo::rustc-check-cfg=cfg(described)");
    let image = env::var_os("CARGO_FEATURE_IMAGE").is_some();
    if image && env::var("CARGO_CFG_TARGET_OS")? == "none" {
        // The level of defmt's macros; without it they would keep errors only.
        println!("cargo::rerun-if-env-changed=DEFMT_LOG");
        let level = env::var("DEFMT_LOG").unwrap_or_else(|_| "info".to_owned());
        println!("cargo::rustc-env=DEFMT_LOG={level}");
        println!("cargo::rerun-if-env-changed=MESHALLOC_JOBS");
        let jobs = env::var("MESHALLOC_JOBS").unwrap_or_else(|_| "256".to_owned());
        println!("cargo::rustc-env=MESHALLOC_JOBS={jobs}");
        println!("cargo::rerun-if-env-changed=MESHALLOC_MACHINE");
        let machine = env::var("MESHALLOC_MACHINE").unwrap_or_default();
        println!("cargo::rustc-env=MESHALLOC_MACHINE={machine}");
        if !machine.is_empty() {
            println!("cargo::rustc-cfg=described");
        }
        let board = board()?;
        fs::write(out.join("memory.x"), memory(board))?;
        println!("cargo::rustc-link-search={}", out.display());
        // --nmagic: do not align sections to pages, there are none. --icf: equal functions are
        // there once. --emit-relocs: the file keeps a list of all calls, for `cargo xtask panics`.
        for argument in [
            "--nmagic",
            "--icf=all",
            "--emit-relocs",
            "-Tlink.x",
            "-Tdefmt.x",
        ] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    Ok(())
}

/// The board of this image: the one whose feature is on.
fn board() -> Result<&'static Info, String> {
    let is_on = |board: &&Info| {
        let feature = board.name.replace('-', "_").to_uppercase();
        env::var_os(format!("CARGO_FEATURE_BOARD_{feature}")).is_some()
    };
    let chosen: Vec<_> = BOARDS.iter().filter(is_on).collect();
    let names: Vec<_> = BOARDS.iter().map(|board| board.name).collect();
    let target = env::var("TARGET").unwrap_or_default();
    match chosen[..] {
        [board] if board.target == target => Ok(board),
        [board] => Err(format!(
            "the board {} needs --target {}, not {target}",
            board.name, board.target
        )),
        _ => Err(format!(
            "an image needs exactly one of the features board-*, of {}; {} are on",
            names.join(", "),
            chosen.len()
        )),
    }
}

/// The linker script of the board's memory.
///
/// The stack lies at the very bottom of the RAM and everything else above it. A stack that grows
/// too long leaves the RAM and does not enter the job table:
///
/// ```text
///   RAM  │ ◀── stack │ variables │ not used │
/// ```
///
/// On a Cortex-M this is a fault whose handler has no stack either, so the core locks up and the
/// watchdog resets the chip.
fn memory(board: &Info) -> String {
    let Info { flash, ram, .. } = board;
    let mut text = format!(
        "MEMORY\n{{\n  \
         FLASH : ORIGIN = {:#010x}, LENGTH = {}\n  \
         STACK : ORIGIN = {:#010x}, LENGTH = {STACK_LEN}\n  \
         RAM   : ORIGIN = {:#010x}, LENGTH = {}\n}}\n\
         _stack_start = ORIGIN(STACK) + LENGTH(STACK);\n\
         _stack_end = ORIGIN(STACK);\n",
        flash.start,
        flash.len,
        ram.start,
        ram.start + STACK_LEN,
        ram.len - STACK_LEN,
    );
    if env::var_os("CARGO_FEATURE_JOURNAL").is_some() && board.code_behind_journal > 0 {
        text += &format!("_stext = ORIGIN(FLASH) + {};\n", board.code_behind_journal);
    }
    if board.target.starts_with("riscv") {
        for (region, memory) in [
            ("TEXT", "FLASH"),
            ("RODATA", "FLASH"),
            ("DATA", "RAM"),
            ("BSS", "RAM"),
            ("HEAP", "RAM"),
            ("STACK", "STACK"),
        ] {
            text += &format!("REGION_ALIAS(\"REGION_{region}\", {memory});\n");
        }
        // Nothing unwinds.
        text += "SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame.*) } }\n";
    }
    text
}

/// The name of the profile, which cargo tells only through the place of the output
/// (`.../<profile>/build/<package>/out`): `PROFILE` names the one it inherits from.
fn profile(out: &Path) -> Option<&str> {
    let build = out
        .ancestors()
        .find(|path| path.file_name().is_some_and(|name| name == "build"))?;
    build.parent()?.file_name()?.to_str()
}
