//! `include/meshalloc.h` is up to date: functions and structures by cbindgen from the source,
//! strategies, schedulers and what they need from the tables of core.
//! `MESHALLOC_REFRESH_GOLDEN=1` writes it anew; the test fails once then.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config, EnumConfig, ExportConfig, Language, RenameRule, Style};
use meshalloc::storage::Needs;
use meshalloc::{Description, Grid, Mesh, SchedulerKind, StrategyForm, StrategyKind};
use meshalloc_c::{SIZES_32, SIZES_64, Sizes, numbers_of};

/// The types, in snake case behind a prefix in C.
const TYPES: [&str; 18] = [
    "Allocation",
    "Allocator",
    "Block",
    "Configuration",
    "Controller",
    "Error",
    "Event",
    "Faults",
    "Job",
    "JobList",
    "Largest",
    "Machine",
    "Read",
    "Request",
    "Scheduler",
    "Statistics",
    "Strategy",
    "Why",
];
/// More types, and constants.
const OTHERS: [&str; 29] = [
    "Write",
    "ALIGNMENT",
    "CHIPS",
    "DIMENSIONS_MAX",
    "EVENT_GRANTED",
    "EVENT_LEASE_ENDED",
    "EVENT_PREEMPTED",
    "FIXED_ORIENTATION",
    "JOB_LIST_MAX",
    "NO_WAIT",
    "PARAMETERS_MAX",
    "PART_MAX",
    "VICTIMS_MAX",
    "PROCESSOR_BUSY",
    "PROCESSOR_FAULTY",
    "REASON_BEHIND_RESERVATION",
    "REASON_FAULTS",
    "REASON_FRAGMENTED",
    "REASON_GANG_INCOMPLETE",
    "REASON_NEVER_FITS",
    "REASON_NONE",
    "REASON_NOT_ITS_TURN",
    "REASON_NOT_SEARCHED_TO_THE_END",
    "REASON_RING_NOT_FREE",
    "REASON_TABLE_FULL",
    "REASON_TOO_FEW_FREE",
    "REASON_UNTRIED",
    "RING",
    "RINGS",
];

const HEAD: &str = "\
/* meshalloc for C99 and C++17: processor allocation for mesh- and torus-connected machines.
 *
 * Made of the sources by `MESHALLOC_REFRESH_GOLDEN=1 cargo test -p meshalloc-c header`.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every function returns 0 or a positive number, or a negative MESHALLOC_ERROR_.. if it fails.
 * A failed call changes nothing unless the comment says otherwise.
 */

#ifndef MESHALLOC_H
#define MESHALLOC_H";

const HOOK: &str = r"
/** The version of this header. */
#define MESHALLOC_VERSION VERSION

#ifdef __cplusplus
extern C_LINKAGE {
#endif

/**
 * You define this function. The library calls it where it has found a bug in itself, and never
 * after it has returned: it must not return. `file` has `length` bytes and no 0 at the end.
 */
void meshalloc_panic(const char *file, size_t length, uint32_t line);

#ifdef __cplusplus
}
#endif
";

const INITIALISERS: &str = r"
/** Initialiser of a meshalloc_machine: a mesh of `w` by `h` processors. */
#define MESHALLOC_MESH(w, h) { { (w), (h) }, 2, 0, 0 }
/** Initialiser of a meshalloc_machine: a mesh of three dimensions. */
#define MESHALLOC_MESH_3D(x, y, z) { { (x), (y), (z) }, 3, 0, 0 }
/** Initialiser of a meshalloc_machine: a torus of `w` by `h` processors. */
#define MESHALLOC_TORUS(w, h) { { (w), (h) }, 2, 3, 0 }
/** Initialiser of a meshalloc_machine: a torus of three dimensions. */
#define MESHALLOC_TORUS_3D(x, y, z) { { (x), (y), (z) }, 3, 7, 0 }
/** Initialiser of a meshalloc_request: `w` by `h` processors. */
#define MESHALLOC_REQUEST(w, h) { { (w), (h) }, 2, 0, 0, 0, 0, 0, 0, 0 }
/** Initialiser of a meshalloc_request: `x` by `y` by `z` processors. */
#define MESHALLOC_REQUEST_3D(x, y, z) { { (x), (y), (z) }, 3, 0, 0, 0, 0, 0, 0, 0 }
/** Initialiser of a meshalloc_request: `n` processors in any shape that the machine has. */
#define MESHALLOC_REQUEST_CHIPS(n) { { 1 }, 1, MESHALLOC_CHIPS, 0, (n), 0, 0, 0, 0 }

/** Whether the same call may succeed later. */
#define MESHALLOC_IS_TEMPORARY(error) ((error) < 0 && (error) > -100)
/** Whether the same call fails again. */
#define MESHALLOC_IS_PERMANENT(error) ((error) <= -100 && (error) > -200)
/** Whether machine, strategy, scheduler, build or memory does not serve. */
#define MESHALLOC_IS_CONFIGURATION(error) ((error) <= -200 && (error) > -300)
/** Whether the caller has broken a rule of this interface. */
#define MESHALLOC_IS_MISUSE(error) ((error) <= -300)
";

const SIZE_MACROS: &str = r"
/* A number as a size_t, without a cast: compilers of C++ warn of those. */
#define MESHALLOC_SIZE_(n) (sizeof(char) * (n))
#define MESHALLOC_ROW_WORDS_(n) \
  ((MESHALLOC_SIZE_(n) + 8 * MESHALLOC_WORD_ - 1) / (8 * MESHALLOC_WORD_))
#define MESHALLOC_LESS_(a, b) \
  (MESHALLOC_SIZE_(a) < MESHALLOC_SIZE_(b) ? MESHALLOC_SIZE_(a) : MESHALLOC_SIZE_(b))
#define MESHALLOC_ROUND_(bytes) (((bytes) + 15) / 8 * 8)
#define MESHALLOC_PARTS_(words, scratch, blocks, block, list, processors) \
  ((words) * (3 + (scratch)) * MESHALLOC_WORD_ + MESHALLOC_SIZE_(blocks) * (block) \
   + MESHALLOC_SIZE_(processors) * 8 * (list))
#define MESHALLOC_ALLOCATOR_SIZE_(parts) MESHALLOC_ROUND_(MESHALLOC_ALLOCATOR_ + (parts))
#define MESHALLOC_CONTROLLER_SIZE_(parts, jobs) \
  MESHALLOC_ROUND_(MESHALLOC_CONTROLLER_ + (parts) + MESHALLOC_SIZE_(jobs) * MESHALLOC_JOB_)

/**
 * Bytes of the memory of an allocator on a two-dimensional mesh without wrapping. `strategy` is the
 * name behind MESHALLOC_STRATEGY_, for instance FIRST_FIT.
 */
#define MESHALLOC_MESH_ALLOCATOR_SIZE(strategy, w, h, allocations) \
  MESHALLOC_ALLOCATOR_SIZE_(MESHALLOC_PARTS_(MESHALLOC_SIZE_(h) * MESHALLOC_ROW_WORDS_(w), \
    MESHALLOC_MESH_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(MESHALLOC_SIZE_(w) * (h), allocations), MESHALLOC_BLOCK_ + 4, \
    MESHALLOC_LIST_##strategy, MESHALLOC_SIZE_(w) * (h)))
/** Bytes of the memory of an allocator on any other machine of this number of processors. */
#define MESHALLOC_GRID_ALLOCATOR_SIZE(strategy, processors, allocations) \
  MESHALLOC_ALLOCATOR_SIZE_(MESHALLOC_PARTS_(MESHALLOC_ROW_WORDS_(processors), \
    MESHALLOC_GRID_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(processors, allocations), MESHALLOC_BLOCK_ + 4, \
    MESHALLOC_LIST_##strategy, processors))
/** Bytes of the memory of a controller on a two-dimensional mesh without wrapping. */
#define MESHALLOC_MESH_CONTROLLER_SIZE(strategy, w, h, jobs) \
  MESHALLOC_CONTROLLER_SIZE_(MESHALLOC_PARTS_(MESHALLOC_SIZE_(h) * MESHALLOC_ROW_WORDS_(w), \
    MESHALLOC_MESH_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(MESHALLOC_SIZE_(w) * (h), jobs), MESHALLOC_BLOCK_, \
    MESHALLOC_LIST_##strategy, MESHALLOC_SIZE_(w) * (h)), jobs)
/** Bytes of the memory of a controller on any other machine of this number of processors. */
#define MESHALLOC_GRID_CONTROLLER_SIZE(strategy, processors, jobs) \
  MESHALLOC_CONTROLLER_SIZE_(MESHALLOC_PARTS_(MESHALLOC_ROW_WORDS_(processors), \
    MESHALLOC_GRID_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(processors, jobs), MESHALLOC_BLOCK_, \
    MESHALLOC_LIST_##strategy, processors), jobs)

/**
 * Defines static memory of this size for an object, with its alignment:
 * `static MESHALLOC_MEMORY(name, MESHALLOC_MESH_ALLOCATOR_SIZE(FIRST_FIT, 16, 16, 32));`
 */
#define MESHALLOC_MEMORY(name, size) uint64_t name[((size) + 7) / 8]

#endif
";

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn screaming(name: &str) -> String {
    name.to_ascii_uppercase()
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// The initialiser of a value whose number in the text is `value`, and with it the name of that
/// number. `of` makes the values.
fn initialiser<T: serde::Serialize>(samples: &[(u64, T)]) -> String {
    let numbers = |at: usize| numbers_of(&samples[at].1).expect("its fields are numbers");
    let (kind, first) = numbers(0);
    let (_, last) = numbers(samples.len() - 1);
    let parameter = |at: usize| {
        if first[at] == last[at] {
            return format!("{}u", first[at]);
        }
        // What is written is what is passed.
        assert_eq!(
            (first[at], last[at]),
            (samples[0].0, samples[samples.len() - 1].0)
        );
        "(value)".to_owned()
    };
    format!("{{ {kind}u, {{ {}, {} }} }}", parameter(0), parameter(1))
}

/// The name of a macro; with what its number is called, if another macro has the name already.
fn distinct(name: String, number: &str, taken: &str) -> String {
    if taken.contains(&format!("_{name} ")) {
        name + "_" + number
    } else {
        name
    }
}

/// A comment, broken into lines of at most 100 columns.
fn comment(opening: &str, text: &str) -> String {
    let mut comment = opening.to_owned();
    let mut column = comment.len();
    for word in text.split(' ') {
        // Room for a space before, and behind the last word for the end of the comment.
        column += 1 + word.len();
        if column + " */".len() > 100 {
            comment += "\n *";
            column = " * ".len() + word.len();
        }
        comment += " ";
        comment += word;
    }
    comment + " */"
}

/// The macro of a form of a strategy with parameters; `taken` has those before.
fn strategy_form(form: &StrategyForm, taken: &str) -> String {
    let text = form
        .text
        .trim_end_matches(|letter: char| letter.is_ascii_uppercase());
    let name = screaming(text.trim_end_matches(['=', ':']));
    let Some(range) = &form.range else {
        let sample = (0, text.parse::<StrategyKind>().expect("a form is read"));
        return format!(
            "/** {text} */\n#define MESHALLOC_STRATEGY_{name} {}\n",
            initialiser(&[sample])
        );
    };
    let samples = [*range.start(), *range.end()].map(|parts| {
        let number = match form.unit {
            1 => parts.to_string(),
            unit => format!("{parts}/{unit}"),
        };
        (
            parts,
            format!("{text}{number}")
                .parse::<StrategyKind>()
                .expect("a form is read"),
        )
    });
    let unit = match form.unit {
        1 => String::new(),
        unit => format!(" `value` counts parts of 1/{unit}."),
    };
    format!(
        "/** {}, {} to {}.{unit} */\n#define MESHALLOC_STRATEGY_{}(value) {}\n",
        form.text,
        range.start(),
        range.end(),
        distinct(name, &form.text[text.len()..], taken),
        initialiser(&samples)
    )
}

fn strategies() -> String {
    let mut text = "\n/* Initialisers of a meshalloc_strategy. */\n\n".to_owned();
    for kind in StrategyKind::ALL {
        let info = kind.info();
        writeln!(text, "{}", comment("/**", info.source)).unwrap();
        let name = screaming(kind.name());
        writeln!(
            text,
            "#define MESHALLOC_STRATEGY_{name} {}",
            initialiser(&[(0, *kind)])
        )
        .unwrap();
        for form in info.forms {
            text += &strategy_form(form, &text);
        }
    }
    text
}

/// The machines whose slices follow rules.
fn machines() -> String {
    let mut text =
        "\n/* Initialisers of a meshalloc_machine whose slices follow rules. The memory \
        comes\n   from meshalloc_allocator_size() or meshalloc_controller_size(). */\n\n"
            .to_owned();
    for (at, preset) in Description::PRESETS.into_iter().enumerate() {
        let machine = Description::preset(preset).expect("it is listed");
        let grid = machine.grid();
        let sides: Vec<_> = grid.sides().iter().map(u16::to_string).collect();
        let wraps = (0..grid.dimensions()).filter(|&dimension| grid.wraps(dimension));
        writeln!(
            text,
            "/** {preset}: {grid} */\n#define MESHALLOC_MACHINE_{} {{ {{ {} }}, {}, {}, {} }}",
            screaming(preset),
            sides.join(", "),
            grid.dimensions(),
            wraps.fold(0, |bits, dimension| bits | 1 << dimension),
            at + 1,
        )
        .unwrap();
    }
    text
}

fn schedulers() -> String {
    let mut text =
        "\n/* Initialisers of a meshalloc_scheduler. Times are in ticks. */\n".to_owned();
    for info in SchedulerKind::INFO {
        writeln!(text, "\n{}", comment("/*", info.meaning)).unwrap();
        for form in info.forms {
            let stem = form.trim_end_matches(|letter: char| letter.is_ascii_uppercase());
            let name = screaming(stem.trim_end_matches(['=', ':']));
            // Two numbers, to see which parameter is the number in the form or a second.
            let samples = [3, 1000].map(|number| {
                let kind = SchedulerKind::from_form(form, number, number);
                (number, kind.expect("a form is read"))
            });
            let initialiser = initialiser(&samples);
            let (arguments, addition) = if !initialiser.contains("value") {
                ("", String::new())
            } else if stem == *form {
                ("(value)", "; `value` is a second in ticks".to_owned())
            } else {
                ("(value)", String::new())
            };
            let name = distinct(name, &form[stem.len()..], &text);
            writeln!(text, "/** {form}{addition} */").unwrap();
            writeln!(
                text,
                "#define MESHALLOC_SCHEDULER_{name}{arguments} {initialiser}"
            )
            .unwrap();
        }
    }
    text
}

/// How many times the words of the occupancy a strategy takes as scratch on each of these machines,
/// and list cells for each processor. `None` if that is no such multiple.
fn multiples(kind: StrategyKind, machines: &[Grid]) -> Option<(usize, usize)> {
    let mut found = None;
    for machine in machines {
        for jobs in [1, 5, 40, 3000] {
            let needs = Needs::of(kind, machine, jobs);
            let nodes = machine.nodes() as usize;
            let these = (needs.scratch / needs.words, needs.list / nodes);
            let is_multiple = these.0 * needs.words == needs.scratch;
            if !is_multiple || these.1 * nodes != needs.list || *found.get_or_insert(these) != these
            {
                return None;
            }
        }
    }
    found
}

/// Blocks by processors and jobs.
type BlockRule = fn(usize, usize) -> usize;

/// The blocks that a strategy holds, as a macro.
fn blocks(kind: StrategyKind) -> Option<&'static str> {
    const RULES: [(&str, BlockRule); 3] = [
        ("MESHALLOC_LESS_(processors, jobs)", |processors, jobs| {
            processors.min(jobs)
        }),
        (
            "MESHALLOC_LESS_(processors, 2 * (jobs))",
            |processors, jobs| processors.min(2 * jobs),
        ),
        ("(processors)", |processors, _| processors),
    ];
    let machine = Mesh::new(16, 16).unwrap().grid();
    let fits = |rule: &BlockRule| {
        (1..600).all(|jobs| Needs::of(kind, &machine, jobs).blocks == rule(256, jobs))
    };
    RULES
        .iter()
        .find(|(_, rule)| fits(rule))
        .map(|(text, _)| *text)
}

fn needs() -> String {
    let mesh = |w, h| Mesh::new(w, h).unwrap().grid();
    let meshes = [
        mesh(1, 1),
        mesh(5, 3),
        mesh(16, 16),
        mesh(33, 40),
        mesh(300, 2),
        mesh(512, 512),
    ];
    let grids = [
        "torus 4x4x4",
        "torus 8x8",
        "mesh 3x5x7x2",
        "2-ary 12-cube",
        "torus 100",
    ];
    let grids = grids.map(|text| text.parse().unwrap());
    let mut text = "\n/* What strategies need, for the sizes below. */\n\n".to_owned();
    let mut others = Vec::new();
    for kind in StrategyKind::ALL {
        let name = screaming(kind.name());
        let Some((on_meshes, blocks)) = multiples(*kind, &meshes).zip(blocks(*kind)) else {
            others.push(name);
            continue;
        };
        writeln!(
            text,
            "#define MESHALLOC_BLOCKS_{name}(processors, jobs) {blocks}"
        )
        .unwrap();
        writeln!(text, "#define MESHALLOC_LIST_{name} {}", on_meshes.1).unwrap();
        writeln!(
            text,
            "#define MESHALLOC_MESH_SCRATCH_{name} {}",
            on_meshes.0
        )
        .unwrap();
        if !grids.iter().any(|grid| kind.serves().includes(grid)) {
            continue;
        }
        match multiples(*kind, &grids) {
            Some((scratch, list)) => {
                assert_eq!(list, on_meshes.1, "{name}");
                writeln!(text, "#define MESHALLOC_GRID_SCRATCH_{name} {scratch}").unwrap();
            }
            None => others.push(format!("{name}, except on two-dimensional meshes")),
        }
    }
    writeln!(
        text,
        "/* There is no constant for the following; ask meshalloc_allocator_size or"
    )
    .unwrap();
    writeln!(text, " * meshalloc_controller_size:").unwrap();
    for name in others {
        writeln!(text, " *   {name}").unwrap();
    }
    text + " */\n"
}

fn sizes() -> String {
    let lines = |sizes: &Sizes| {
        let Sizes {
            word,
            link,
            block,
            job,
            allocator,
            controller,
        } = sizes;
        format!(
            "#define MESHALLOC_WORD_ {word}u\n#define MESHALLOC_BLOCK_ {block}u\n\
             #define MESHALLOC_JOB_ {}u\n#define MESHALLOC_ALLOCATOR_ {allocator}u\n\
             #define MESHALLOC_CONTROLLER_ {controller}u\n",
            job + 3 * link
        )
    };
    format!(
        "\n#if UINTPTR_MAX > 0xffffffffu\n{}#else\n{}#endif\n",
        lines(&SIZES_64),
        lines(&SIZES_32)
    )
}

fn generate() -> String {
    let mut export = ExportConfig {
        include: TYPES
            .iter()
            .chain(&OTHERS)
            .map(|&name| name.to_owned())
            .collect(),
        exclude: ["SIZES_32", "SIZES_64", "Sizes"].map(str::to_owned).into(),
        ..ExportConfig::default()
    };
    for name in TYPES.iter().chain(&OTHERS[..1]) {
        export
            .rename
            .insert((*name).to_owned(), format!("meshalloc_{}", snake(name)));
    }
    for name in &OTHERS[1..] {
        export
            .rename
            .insert((*name).to_owned(), format!("MESHALLOC_{name}"));
    }
    let trailer = [
        INITIALISERS,
        &machines(),
        &strategies(),
        &schedulers(),
        &sizes(),
        &needs(),
        SIZE_MACROS,
    ];
    let config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        header: Some(HEAD.to_owned()),
        after_includes: Some(HOOK.replace("C_LINKAGE", "\"C\"").replace(
            " VERSION\n",
            concat!(" \"", env!("CARGO_PKG_VERSION"), "\"\n"),
        )),
        trailer: Some(trailer.concat()),
        documentation: true,
        usize_is_size_t: true,
        line_length: 100,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export,
        ..Config::default()
    };
    let mut header = Vec::new();
    let bindings = Builder::new()
        .with_config(config)
        .with_src(source("allocator.rs"))
        .with_src(source("checkpoint.rs"))
        .with_src(source("controller.rs"))
        .with_src(source("error.rs"))
        .with_src(source("sizes.rs"))
        .with_src(source("types.rs"))
        .generate();
    bindings
        .expect("cbindgen reads the sources")
        .write(&mut header);
    without_safety(&String::from_utf8(header).expect("a header is text"))
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name)
}

/// Without the sections that say to Rust what the rest of a comment says to C.
fn without_safety(header: &str) -> String {
    let mut kept = String::new();
    let mut is_safety = false;
    for line in header.lines() {
        is_safety |= line.trim() == "* # Safety";
        is_safety &= line.trim() != "*/";
        if !is_safety {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    // The empty line before the section.
    kept.replace(" *\n */", " */")
}

#[test]
fn header_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/meshalloc.h");
    let header = generate();
    let present = fs::read_to_string(&path).unwrap_or_default();
    if header != present && std::env::var("MESHALLOC_REFRESH_GOLDEN").is_ok_and(|it| it == "1") {
        fs::write(&path, &header).unwrap();
    }
    let differs = header
        .lines()
        .zip(present.lines())
        .find(|(ours, theirs)| ours != theirs);
    assert!(
        header == present,
        "bindings/c/include/meshalloc.h is stale; MESHALLOC_REFRESH_GOLDEN=1 cargo test \
         -p meshalloc-c header writes it. The first difference: {differs:?}"
    );
}
