//! Names the build for the greeting, sets the number of jobs, and lays out the board's memory.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The vector table has to be at the start of the flash, in its first sector of 16 KB; the journal has the next three.
const BEHIND_THE_JOURNAL: &str = "\n_stext = ORIGIN(FLASH) + 64K;\n";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=memory.x");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!(
        "cargo::rustc-env=MESHALLOC_BUILD_TARGET={}",
        env::var("TARGET")?
    );
    println!(
        "cargo::rustc-env=MESHALLOC_BUILD_PROFILE={}",
        profile(&out).unwrap_or("unknown")
    );

    let board = env::var_os("CARGO_FEATURE_BOARD").is_some();
    if board && env::var("CARGO_CFG_TARGET_OS")? == "none" {
        // What defmt's macros keep; they would drop all but errors.
        println!("cargo::rerun-if-env-changed=DEFMT_LOG");
        let level = env::var("DEFMT_LOG").unwrap_or_else(|_| "info".to_owned());
        println!("cargo::rustc-env=DEFMT_LOG={level}");
        println!("cargo::rerun-if-env-changed=MESHALLOC_JOBS");
        let jobs = env::var("MESHALLOC_JOBS").unwrap_or_else(|_| "256".to_owned());
        println!("cargo::rustc-env=MESHALLOC_JOBS={jobs}");
        let mut memory = fs::read_to_string("memory.x")?;
        if env::var_os("CARGO_FEATURE_JOURNAL").is_some() {
            memory += BEHIND_THE_JOURNAL;
        }
        fs::write(out.join("memory.x"), memory)?;
        println!("cargo::rustc-link-search={}", out.display());
        // --nmagic: do not align sections to pages, there are none. --icf: functions of the same instructions are there once.
        for argument in ["--nmagic", "--icf=all", "-Tlink.x", "-Tdefmt.x"] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    Ok(())
}

/// The profile's own name, which cargo tells only through the place of the output
/// (`.../<profile>/build/<package>/out`): `PROFILE` has the one it inherits from.
fn profile(out: &Path) -> Option<&str> {
    let build = out
        .ancestors()
        .find(|path| path.file_name().is_some_and(|name| name == "build"))?;
    build.parent()?.file_name()?.to_str()
}
