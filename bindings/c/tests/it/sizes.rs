//! The sizes that the header computes: a program in C prints them next to those of the functions.
//! And what the library takes from outside.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use meshalloc::{Grid, StrategyKind};

use crate::library::{compile, library, output};

/// Machines with the arguments of the macros, and whether they are two-dimensional meshes.
const MACHINES: [(&str, &str, bool); 6] = [
    ("MESHALLOC_MESH(1, 1)", "1, 1", true),
    ("MESHALLOC_MESH(16, 16)", "16, 16", true),
    ("MESHALLOC_MESH(65, 7)", "65, 7", true),
    ("MESHALLOC_MESH(128, 64)", "128, 64", true),
    ("MESHALLOC_TORUS_3D(4, 4, 4)", "64", false),
    ("MESHALLOC_MESH_3D(5, 7, 9)", "315", false),
];
const JOBS: [u32; 4] = [1, 7, 32, 1000];
/// How much more a constant may have than is needed: room for strategies that other builds have.
const SLACK: usize = 128;

fn grid(machine: &str) -> Grid {
    let numbers = machine
        .split(['(', ')', ','])
        .filter_map(|word| word.trim().parse().ok());
    let sides: Vec<u16> = numbers.collect();
    if machine.contains("TORUS") {
        Grid::torus(&sides).unwrap()
    } else {
        Grid::mesh(&sides).unwrap()
    }
}

#[test]
fn constants_are_as_large_as_the_functions_say_and_hardly_larger() {
    let header = fs::read_to_string(crate::library::package().join("include/meshalloc.h")).unwrap();
    let mut calls = String::new();
    let mut expected = 0;
    for kind in StrategyKind::ALL {
        let name = kind.name().to_ascii_uppercase().replace('-', "_");
        if !header.contains(&format!("#define MESHALLOC_LIST_{name} ")) {
            continue;
        }
        for (machine, arguments, is_mesh) in MACHINES {
            if !kind.serves().includes(&grid(machine)) {
                continue;
            }
            let of = if is_mesh { "MESH" } else { "GRID" };
            if !header.contains(&format!("#define MESHALLOC_{of}_SCRATCH_{name} ")) {
                continue;
            }
            for jobs in JOBS {
                expected += 1;
                writeln!(
                    calls,
                    "{{ const meshalloc_configuration c = {{ {machine}, \
                     MESHALLOC_STRATEGY_{name}, MESHALLOC_SCHEDULER_FCFS }};\n\
                     static MESHALLOC_MEMORY(a, MESHALLOC_{of}_ALLOCATOR_SIZE({name}, \
                     {arguments}, {jobs}));\n\
                     static MESHALLOC_MEMORY(b, MESHALLOC_{of}_CONTROLLER_SIZE({name}, \
                     {arguments}, {jobs}));\n\
                     show(\"{name} {arguments} {jobs}\", &c, {jobs}, a, sizeof a, b, sizeof b); }}"
                )
                .unwrap();
            }
        }
    }
    let source = format!(
        "#include <meshalloc.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         void meshalloc_panic(const char *f, size_t l, uint32_t at) \
         {{ (void)f; (void)l; (void)at; abort(); }}\n\
         static void show(const char *name, const meshalloc_configuration *c, uint32_t jobs, \
         void *a, size_t a_size, void *b, size_t b_size) {{\n\
         size_t needs[2]; meshalloc_allocator *allocator; meshalloc_controller *controller;\n\
         if (meshalloc_allocator_size(&c->machine, &c->strategy, jobs, &needs[0]) != 0 \
         || meshalloc_controller_size(c, jobs, &needs[1]) != 0 \
         || meshalloc_allocator_init(a, a_size, &c->machine, &c->strategy, jobs, &allocator) != 0 \
         || meshalloc_controller_init(b, b_size, c, jobs, &controller) != 0) abort();\n\
         printf(\"%s: %zu %zu %zu %zu\\n\", name, a_size, needs[0], b_size, needs[1]);\n}}\n\
         int main(void) {{\n{calls}return 0;\n}}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sizes.c");
    fs::write(&path, source).unwrap();
    let printed = output(&mut Command::new(compile(&path, folder.path())));
    assert!(expected > 300 && printed.lines().count() == expected);
    for line in printed.lines() {
        let numbers = line.rsplit(": ").next().unwrap().split(' ');
        let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
        let [a, a_needs, b, b_needs] = numbers[..] else {
            panic!("{line}");
        };
        assert!(a >= a_needs && a <= a_needs + SLACK, "{line}");
        assert!(b >= b_needs && b <= b_needs + SLACK, "{line}");
    }
}

/// Every initialiser and each rule of sizes, under the warnings of compilers of C++.
#[test]
fn macros_give_no_warning_in_cpp() {
    let header = fs::read_to_string(crate::library::package().join("include/meshalloc.h")).unwrap();
    let mut source = "#include <meshalloc.h>\n".to_owned();
    let mut count = 0;
    for line in header.lines() {
        let Some((name, value)) = line
            .strip_prefix("#define MESHALLOC_")
            .and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        let Some((kind, _)) = ["strategy", "scheduler", "machine"]
            .map(|kind| (kind, format!("{}_", kind.to_ascii_uppercase())))
            .into_iter()
            .find(|(_, prefix)| name.starts_with(prefix) && value.starts_with('{'))
        else {
            continue;
        };
        let call = name.replace("(value)", "(7)");
        writeln!(
            source,
            "extern const meshalloc_{kind} v{count};\n\
             const meshalloc_{kind} v{count} = MESHALLOC_{call};"
        )
        .unwrap();
        count += 1;
    }
    assert!(count > 60, "{count} initialisers");
    for name in [
        "FIRST_FIT",
        "BEST_FIT",
        "FREE_SUBMESH_LIST",
        "L_SHAPE",
        "NAIVE",
    ] {
        for of in ["ALLOCATOR", "CONTROLLER"] {
            writeln!(
                source,
                "extern MESHALLOC_MEMORY(v{count}, MESHALLOC_MESH_{of}_SIZE({name}, 16, 8, 5));\n\
                 MESHALLOC_MEMORY(v{count}, MESHALLOC_MESH_{of}_SIZE({name}, 16, 8, 5));"
            )
            .unwrap();
            count += 1;
        }
    }
    let grid = "MESHALLOC_GRID_ALLOCATOR_SIZE(BEST_FIT, 64, 5)";
    writeln!(source, "static_assert({grid} > 0, MESHALLOC_VERSION);").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("macros.cpp");
    fs::write(&path, source).unwrap();
    output(
        Command::new("c++")
            .args([
                "-std=c++17",
                "-fsyntax-only",
                "-Wall",
                "-Wextra",
                "-pedantic",
            ])
            .args([
                "-Wconversion",
                "-Wold-style-cast",
                "-Wuseless-cast",
                "-Werror",
            ])
            .arg("-I")
            .arg(crate::library::package().join("include"))
            .arg(path),
    );
}

/// Neither heap nor unwinding nor formatting.
#[test]
fn the_library_takes_the_hook_and_functions_on_memory_from_outside() {
    // The library has an object of its own code, and many of the compiler's.
    let names = output(Command::new("nm").arg(library()));
    let ours = names
        .split("\n\n")
        .filter(|object| object.trim_start().starts_with("meshalloc_c-"));
    let lines: Vec<&str> = ours.flat_map(str::lines).collect();
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with(" T meshalloc_allocator_allocate"))
    );
    let formats = lines.iter().find(|line| line.contains("4core3fmt"));
    assert_eq!(formats, None);
    let mut undefined: Vec<_> = lines
        .iter()
        .filter_map(|line| line.trim().strip_prefix("U "))
        .collect();
    // What begins with two lines is the compiler's own, and in the archive.
    undefined.retain(|name| {
        !name.starts_with("__") && !["memcpy", "memmove", "memset", "memcmp", "bcmp"].contains(name)
    });
    assert_eq!(undefined, ["meshalloc_panic"]);
}
