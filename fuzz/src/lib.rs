//! Arbitrary bytes for everything that reads bytes. Each function is the body of a target of the
//! same name: it takes any bytes, and panics if something does not hold.
//!
//! If a checksum would reject nearly all bytes, a target is structured: the bytes choose the
//! operations, and the target computes the checksum.

use std::fs;
use std::path::PathBuf;

mod allocations;
mod board;
mod bytes;
mod frames;
mod journal;
mod page;
mod requests;
#[cfg(feature = "host-sim")]
mod texts;

pub use allocations::allocations;
pub use frames::frames;
pub use journal::{journal_bytes, journal_damage};
pub use page::page;
pub use requests::requests;
#[cfg(feature = "host-sim")]
pub use texts::{operations, scenario, swf};

/// The program of a target: cargo-fuzz gives it bytes, and otherwise it reads files.
#[macro_export]
macro_rules! program {
    ($target:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$target(bytes));

        #[cfg(not(fuzzing))]
        fn main() {
            $crate::over_files($crate::$target);
        }
    };
}

/// Runs a target over the files and folders on the command line, to look at a finding without
/// cargo-fuzz.
///
/// # Panics
///
/// If one cannot be read, or the target does.
pub fn over_files(target: fn(&[u8])) {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for path in paths {
        println!("{}: {} inputs", path.display(), run(target, &path));
    }
}

/// Runs a target over a file, or the files of a folder; returns how many.
fn run(target: fn(&[u8]), path: &std::path::Path) -> usize {
    if !path.is_dir() {
        target(&fs::read(path).expect("the file can be read"));
        return 1;
    }
    let entries = fs::read_dir(path).expect("the folder can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| run(target, path)).sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The corpus: inputs that reach different code, and all earlier findings.
    fn corpus(target: fn(&[u8]), name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        assert!(super::run(target, &folder) > 0, "{name}: no inputs");
        // The corpus has no file for the empty input.
        target(&[]);
        target(&[0xff; 600]);
    }

    macro_rules! corpora {
        ($($name:ident)*) => {
            $(#[test]
            fn $name() {
                corpus(super::$name, stringify!($name));
            })*
        };
    }

    corpora! { allocations frames page requests journal_bytes journal_damage }
    #[cfg(feature = "host-sim")]
    corpora! { swf scenario operations }
}
