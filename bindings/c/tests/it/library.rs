//! Builds the static library as it is delivered, and programs in C and C++ against it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of this package.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// The library for this machine. Its target folder is another than that of the tests, since cargo
/// locks theirs. `cargo xtask c` builds there as well.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let root = package().join("../..");
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |folder| root.join(folder))
            .join("c");
        let host = output(Command::new("rustc").args(["--print", "host-tuple"]));
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        output(
            Command::new(cargo)
                .current_dir(root)
                .args(["rustc", "--package", "meshalloc-c", "--lib"])
                .args(["--crate-type", "staticlib", "--profile", "c"])
                .args(["--target", host.trim(), "--target-dir"])
                .arg(&target),
        );
        target.join(host.trim()).join("c/libmeshalloc_c.a")
    })
}

/// Compiles a program without warnings: as C99, or as C++17 if its name ends with `cpp`.
pub(crate) fn compile(source: &Path, folder: &Path) -> PathBuf {
    let (compiler, standard) = if source.extension().is_some_and(|end| end == "cpp") {
        ("c++", "-std=c++17")
    } else {
        ("cc", "-std=c99")
    };
    let program = folder
        .join(source.file_name().expect("a file"))
        .with_extension("program");
    output(
        Command::new(compiler)
            .args([
                standard,
                "-O1",
                "-Wall",
                "-Wextra",
                "-pedantic",
                "-Werror",
                "-I",
            ])
            .arg(package().join("include"))
            .arg("-o")
            .arg(&program)
            .arg(source)
            .arg(library()),
    );
    program
}
