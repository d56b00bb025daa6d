//! The memory of the chips; yours has other numbers.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

const CORTEX_M: &str = "\
MEMORY {
    FLASH : ORIGIN = 0x00000000, LENGTH = 256K
    RAM : ORIGIN = 0x20000000, LENGTH = 16K
}
";

const RISC_V: &str = "\
MEMORY {
    FLASH : ORIGIN = 0x20000000, LENGTH = 256K
    RAM : ORIGIN = 0x80000000, LENGTH = 16K
}
REGION_ALIAS(\"REGION_TEXT\", FLASH);
REGION_ALIAS(\"REGION_RODATA\", FLASH);
REGION_ALIAS(\"REGION_DATA\", RAM);
REGION_ALIAS(\"REGION_BSS\", RAM);
REGION_ALIAS(\"REGION_HEAP\", RAM);
REGION_ALIAS(\"REGION_STACK\", RAM);
";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS")? == "none" {
        // The script of riscv-rt does not name memory.x.
        let (memory, scripts) = match env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
            "arm" => (CORTEX_M, &["link.x"][..]),
            _ => (RISC_V, &["memory.x", "link.x"][..]),
        };
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("memory.x"), memory)?;
        println!("cargo::rustc-link-search={}", out.display());
        for script in scripts {
            println!("cargo::rustc-link-arg-bins=-T{script}");
        }
    }
    Ok(())
}
