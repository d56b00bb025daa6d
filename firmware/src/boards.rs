//! The boards that there is an image for: [`BOARDS`], the one table of them.
//!
//! `build.rs` uses the table to lay out the memory, `cargo xtask` to flash and measure, and the
//! tests to start emulators. The code of a board is the module of its name in
//! `src/bin/meshalloc-firmware/boards/`; `docs/porting.md` says how to add one.

/// A board.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name: that of its module, with `-` for `_`, and of its feature, behind `board-`.
    pub name: &'static str,
    /// The Rust target of its image.
    pub target: &'static str,
    /// The memory that code is fetched from.
    pub flash: Memory,
    /// The memory for variables and the stack.
    pub ram: Memory,
    /// Where the code begins in an image with a journal, in bytes from the start of the flash:
    /// behind the sectors of the journal, if these are in the same flash as the code.
    pub code_behind_journal: u32,
    /// The name of its chip in probe-rs, if it is flashed with that.
    pub chip: Option<&'static str>,
    /// How the board is emulated, if it can be.
    pub emulator: Option<Emulator>,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The first address.
    pub start: u32,
    /// Bytes.
    pub len: u32,
}

/// QEMU, and its machine that runs an image.
#[derive(Clone, Copy, Debug)]
pub struct Emulator {
    /// The program.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// The machine.
    pub machine: &'static str,
    /// Further arguments of the program, separated by blanks.
    pub arguments: &'static str,
    /// Features of the image in addition to that of the board, separated by commas.
    pub features: &'static str,
}

impl Info {
    /// The arguments of a `cargo` that builds the image, or lints it if `verb` is `clippy`, in this
    /// target folder. `features` are those in addition to the board's, separated by commas;
    /// `default` stands for the default ones.
    #[cfg(feature = "client")]
    pub fn cargo(
        &self,
        verb: &str,
        features: &str,
        folder: &str,
    ) -> std::vec::Vec<std::string::String> {
        let features = std::format!("board-{},{features}", self.name);
        let image = ["--package", "meshalloc-firmware", "--profile", "firmware"];
        let settings = [
            "--no-default-features",
            "--features",
            features.trim_end_matches(','),
            "--target",
            self.target,
            "--target-dir",
            folder,
        ];
        let all = [verb].into_iter().chain(image).chain(settings);
        all.map(std::string::String::from).collect()
    }
}

impl Emulator {
    /// The arguments that start the machine with an image of this path, without its serial line and
    /// its monitor. Its log goes to standard output.
    #[cfg(feature = "client")]
    pub fn arguments(&self, image: &str) -> std::vec::Vec<std::string::String> {
        let words = [
            "-machine",
            self.machine,
            "-display",
            "none",
            "-kernel",
            image,
        ];
        // A character device for semihosting stays empty; standard output does not.
        let log = ["-semihosting-config", "enable=on,target=native"];
        let others = self.arguments.split_whitespace();
        let all = words.into_iter().chain(log).chain(others);
        all.map(std::string::String::from).collect()
    }
}

const KB: u32 = 1024;
const MB: u32 = 1024 * KB;

/// The common entry of the boards with an STM32F4; the memory is that of the smallest.
const NUCLEO: Info = Info {
    name: "",
    target: "thumbv7em-none-eabihf",
    flash: Memory {
        start: 0x0800_0000,
        len: 512 * KB,
    },
    ram: Memory {
        start: 0x2000_0000,
        len: 128 * KB,
    },
    code_behind_journal: 64 * KB,
    chip: None,
    emulator: None,
};

/// The boards; the first is the one that tools take if none is named.
pub const BOARDS: &[Info] = &[
    Info {
        name: "nucleo-f446re",
        chip: Some("STM32F446RETx"),
        // An STM32F405, close enough to the F446.
        emulator: Some(Emulator {
            program: "qemu-system-arm",
            package: "qemu-system-arm",
            machine: "netduinoplus2",
            // The first serial port is USART1; the image uses the second, USART2.
            arguments: "-serial null",
            features: "qemu",
        }),
        ..NUCLEO
    },
    Info {
        name: "nucleo-f411re",
        chip: Some("STM32F411RETx"),
        ..NUCLEO
    },
    Info {
        name: "nucleo-f429zi",
        flash: Memory {
            start: 0x0800_0000,
            len: 2 * MB,
        },
        ram: Memory {
            start: 0x2000_0000,
            len: 192 * KB,
        },
        chip: Some("STM32F429ZITx"),
        ..NUCLEO
    },
    Info {
        name: "mps2-an386",
        target: "thumbv7em-none-eabihf",
        flash: Memory {
            start: 0,
            len: 4 * MB,
        },
        ram: Memory {
            start: 0x2000_0000,
            len: 4 * MB,
        },
        code_behind_journal: 0,
        chip: None,
        emulator: Some(Emulator {
            program: "qemu-system-arm",
            package: "qemu-system-arm",
            machine: "mps2-an386",
            arguments: "",
            features: "",
        }),
    },
    Info {
        name: "riscv-virt",
        target: "riscv32imac-unknown-none-elf",
        flash: Memory {
            start: 0x8000_0000,
            len: 4 * MB,
        },
        ram: Memory {
            start: 0x8040_0000,
            len: 4 * MB,
        },
        code_behind_journal: 0,
        chip: None,
        emulator: Some(Emulator {
            program: "qemu-system-riscv32",
            package: "qemu-system-misc",
            machine: "virt",
            arguments: "-bios none",
            features: "",
        }),
    },
];

/// The board of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    BOARDS.iter().find(|board| board.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_is_in_all_places_that_porting_names() {
        for Info { name, target, .. } in BOARDS {
            let module = name.replace('-', "_");
            for (file, text, entry) in [
                (
                    "firmware/Cargo.toml",
                    include_str!("../Cargo.toml"),
                    std::format!("\nboard-{name} = ["),
                ),
                (
                    "firmware/src/bin/meshalloc-firmware/boards/mod.rs",
                    include_str!("bin/meshalloc-firmware/boards/mod.rs"),
                    std::format!("\nmod {module};\n"),
                ),
                (
                    "rust-toolchain.toml",
                    include_str!("../../rust-toolchain.toml"),
                    std::format!("\"{target}\""),
                ),
                (
                    "firmware/README.md",
                    include_str!("../README.md"),
                    std::format!("\n| `{name}` |"),
                ),
            ] {
                assert!(text.contains(&entry), "{name}: {file} has no {entry:?}");
            }
        }
    }
}
