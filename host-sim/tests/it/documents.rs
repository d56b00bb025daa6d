//! The commands in the documents: each is run, and printed output is compared.
//!
//! - A block ```` ```sh ```` is run by `sh -eu`.
//! - A block ```` ```console ```` has lines `$ command`, each with the output that it prints. There
//!   a line `...` stands for any lines, and `[..]` for any text within a line. If the first line is
//!   `? CODE`, the command ends with this code, and standard error stands behind the output.
//! - A line `<!-- not run: REASON -->` before a block leaves it out.
//!
//! All blocks of a page run in one empty folder, in their order, with `host-sim` on the path. With
//! `MESHALLOC_REFRESH_GOLDEN=1` the outputs are written anew, except those with `...` or `[..]`.
//!
//! The pages in `golden/` are no documents. They hold what a change of the program must not change
//! without notice: errors, outputs, the decisions of 60 scenarios, and the layout of help, whose
//! texts are those of the reference.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{host_sim_in, skipped};

/// A test for each document that has commands.
macro_rules! pages {
    ($($name:ident $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];

        /// The commands of a document run, and print what it says.
        mod the_commands_run_of {
            $(#[test]
            fn $name() {
                super::check_page($path);
            })*
        }
    };
}

pages! {
    readme "README.md",
    concepts_failures "docs/concepts/failures.md",
    concepts_metrics_and_intervals "docs/concepts/metrics-and-intervals.md",
    concepts_saturation "docs/concepts/saturation.md",
    concepts_schedulers "docs/concepts/schedulers.md",
    concepts_strategies "docs/concepts/strategies.md",
    concepts_the_problem "docs/concepts/the-problem.md",
    concepts_which_strategy "docs/concepts/which-strategy.md",
    fidelity "docs/fidelity.md",
    guides_compare_strategies "docs/guides/compare-strategies.md",
    guides_io "docs/guides/io.md",
    guides_message_contention "docs/guides/message-contention.md",
    guides_more_dimensions "docs/guides/more-dimensions.md",
    guides_operate "docs/guides/operate.md",
    guides_papers "docs/guides/papers.md",
    guides_per_job_data "docs/guides/per-job-data.md",
    guides_ray "docs/guides/ray.md",
    guides_resets_and_journals "docs/guides/resets-and-journals.md",
    guides_run_a_log "docs/guides/run-a-log.md",
    guides_serve "docs/guides/serve.md",
    guides_single_operations "docs/guides/single-operations.md",
    guides_studies "docs/guides/studies.md",
    guides_the_board "docs/guides/the-board.md",
    guides_tpu_slices "docs/guides/tpu-slices.md",
    guides_view_and_pictures "docs/guides/view-and-pictures.md",
    lookahead "docs/lookahead.md",
    measurements_benchmarks "docs/measurements/benchmarks.md",
    porting "docs/porting.md",
    reference_outputs "docs/reference/outputs.md",
    start_first_comparison "docs/start/first-comparison.md",
    start_install "docs/start/install.md",
    start_reading_the_output "docs/start/reading-the-output.md",
}

/// A document, by its path from the root of the workspace.
fn document(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Runs a script as a reader would type it.
fn sh(folder: &Path, script: &str) -> Result<String, String> {
    let (code, output) = run(folder, script);
    match code {
        Some(0) => Ok(output),
        code => Err(format!("{script}\nexit code {code:?}\n{output}")),
    }
}

/// Runs a script. Returns its exit code and output, behind which standard error stands if it fails.
fn run(folder: &Path, script: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_host-sim"));
    // From a clone the program is `cargo run --release --`.
    let script = script.replace("cargo run --release --", "host-sim");
    let path = env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned())
            .chain(env::split_paths(&env::var_os("PATH").unwrap())),
    );
    let ended = Command::new("sh")
        .args(["-eu", "-c", &script])
        .current_dir(folder)
        .env("PATH", path.unwrap())
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    let shown = if ended.status.success() {
        stdout
    } else {
        stdout + &stderr
    };
    (ended.status.code(), shown)
}

/// Whether this is the line of a pattern, in which `[..]` stands for any text.
fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether these are the lines of a pattern, in which `...` stands for any lines.
fn lines_match(pattern: &[&str], lines: &[&str]) -> bool {
    match (pattern, lines) {
        ([], _) => lines.is_empty(),
        ([dots, pattern @ ..], _) if dots.trim() == "..." => {
            (0..=lines.len()).any(|skipped| lines_match(pattern, &lines[skipped..]))
        }
        ([first, pattern @ ..], [line, lines @ ..]) => {
            line_matches(first.trim_end(), line.trim_end()) && lines_match(pattern, lines)
        }
        _ => false,
    }
}

/// Runs a block of commands and outputs. Returns it with the outputs of now.
fn console(folder: &Path, block: &[&str], faults: &mut Vec<String>) -> Vec<String> {
    let mut shown = Vec::new();
    let mut rest = block;
    while let [command, behind @ ..] = rest {
        shown.push((*command).to_owned());
        let mut script = command
            .strip_prefix("$ ")
            .map(str::to_owned)
            .unwrap_or_else(|| {
                panic!("a console block has `{command}` where a line `$ command` is expected")
            });
        let mut behind = behind;
        while let (true, [more, others @ ..]) = (script.ends_with('\\'), behind) {
            script = format!("{}{}", script.trim_end_matches('\\'), more.trim_start());
            shown.push((*more).to_owned());
            behind = others;
        }
        let expected = behind
            .iter()
            .take_while(|line| !line.starts_with("$ "))
            .count();
        let (expected, others) = behind.split_at(expected);
        rest = others;
        let fails = expected.first().is_some_and(|line| line.starts_with("? "));
        let outcome = if fails {
            let (code, output) = run(folder, &script);
            Ok(format!("? {}\n{output}", code.unwrap_or(-1)))
        } else {
            sh(folder, &script)
        };
        match outcome {
            Err(error) => faults.push(error),
            Ok(printed) => {
                let lines: Vec<&str> = printed.trim_end().lines().collect();
                let is_pattern = |line: &&str| line.trim() == "..." || line.contains("[..]");
                let as_expected = lines_match(expected, &lines);
                if as_expected || expected.iter().any(is_pattern) {
                    shown.extend(expected.iter().map(|line| (*line).to_owned()));
                } else {
                    shown.extend(lines.iter().map(|line| line.trim_end().to_owned()));
                }
                if !as_expected {
                    let expected = expected.join("\n");
                    faults.push(format!(
                        "$ {script}\nprints\n{printed}\nand not\n{expected}"
                    ));
                }
            }
        }
    }
    shown
}

/// Runs all blocks of a page. Returns the page with the outputs of now.
fn run_page(text: &str, faults: &mut Vec<String>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        shown.push((*line).to_owned());
        at += 1;
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else {
            continue;
        };
        let length = lines[at..].iter().position(|line| *line == "```");
        let block = &lines[at..at + length.expect("each block has an end")];
        at += block.len() + 1;
        let before = shown.iter().rev().nth(1).map_or("", String::as_str);
        let is_run = !before.starts_with("<!-- not run: ");
        match kind {
            "sh" if is_run => {
                if let Err(error) = sh(folder.path(), &block.join("\n")) {
                    faults.push(error);
                }
                shown.extend(block.iter().map(|line| (*line).to_owned()));
            }
            "console" if is_run => shown.extend(console(folder.path(), block, faults)),
            _ => shown.extend(block.iter().map(|line| (*line).to_owned())),
        }
        shown.push("```".to_owned());
    }
    shown.join("\n") + "\n"
}

/// Checks the documents at the top and each page of the book.
#[test]
fn every_document_with_commands_has_a_test() {
    let root = document("");
    let mut left: Vec<_> = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs"]
        .map(PathBuf::from)
        .into();
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        let full = root.join(&path);
        if full.is_dir() {
            let entries = fs::read_dir(full).unwrap();
            left.extend(entries.map(|entry| path.join(entry.unwrap().file_name())));
        } else if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(full).unwrap();
            let is_block = |line: &str| matches!(line, "```sh" | "```console");
            found.extend(text.lines().any(is_block).then_some(path));
        }
    }
    found.sort();
    let mut pages: Vec<_> = PAGES.iter().map(PathBuf::from).collect();
    pages.sort();
    assert_eq!(found, pages);
}

/// Compares a page, by its path from the root of the workspace, with what its commands print now.
fn check_page(path: &str) {
    if cfg!(not(unix)) {
        skipped("the commands of the documents are for a Unix shell");
        return;
    }
    let file = document(path);
    let text = fs::read_to_string(&file).unwrap();
    let mut faults = Vec::new();
    let shown = run_page(&text, &mut faults);
    if env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() && shown != text {
        fs::write(file, shown).unwrap();
    }
    assert!(faults.is_empty(), "{path}: {}", faults.join("\n\n"));
}

/// The same of a page of `golden/`.
fn check_golden(name: &str) {
    check_page(&format!("host-sim/tests/it/golden/{name}"));
}

#[test]
fn help_is_that_of_the_golden_page() {
    check_golden("help.golden");
}

#[test]
fn errors_are_those_of_the_golden_page() {
    check_golden("errors.golden");
}

#[test]
fn outputs_are_those_of_the_golden_page() {
    check_golden("outputs.golden");
}

#[test]
fn decisions_are_those_of_the_golden_page() {
    check_golden("decisions.golden");
}

/// Pictures of the documents: the page with the command, the command up to the name of its file,
/// and the picture. The commands of others take minutes.
const PICTURES: [(&str, &str, &str); 4] = [
    (
        "README.md",
        "run --mesh 32x32 --side-range 1..12 --strategy ff,fsl,naive --load 0.8 --jobs 2000 \
         --replications 2 --scheduler fcfs --draw map -o",
        "docs/pictures/meshes.svg",
    ),
    (
        "docs/lookahead.md",
        "run --strategy fsl,leb --load .5 --jobs 2000 --replications 1 --draw map:jobs=500 \
         -o",
        "docs/lookahead/map.svg",
    ),
    (
        "docs/lookahead.md",
        "compare --strategy ff,fsl,leb,naive --load .3,.4,.5 --jobs 4000 --replications 10 -o",
        "docs/lookahead/compare.svg",
    ),
    (
        "docs/start/first-comparison.md",
        "run --mesh 32x16 --strategy ff,fsl --side-lengths uniform-decreasing --load .8 --jobs 1000 \
         --replications 1 --draw map:jobs=200 -o",
        "docs/pictures/map.svg",
    ),
];

#[test]
fn pictures_are_what_their_commands_write() {
    let mut faults = Vec::new();
    for (page, command, picture) in PICTURES {
        let text = fs::read_to_string(document(page))
            .unwrap()
            .replace("\\\n", " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let shown = command.trim_end_matches(" -o");
        assert!(words.join(" ").contains(shown), "{page} has no {shown}");
        let folder = tempfile::tempdir().unwrap();
        host_sim_in(folder.path(), &format!("{command} it.svg")).good();
        let drawn = fs::read_to_string(folder.path().join("it.svg")).unwrap();
        let known = document(picture);
        if drawn != fs::read_to_string(&known).unwrap() {
            faults.push(picture);
            if env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
                fs::write(known, drawn).unwrap();
            }
        }
    }
    assert!(
        faults.is_empty(),
        "their commands write other pictures: {faults:?}"
    );
}

#[test]
fn patterns_stand_for_lines_and_for_text_within_a_line() {
    let text = ["a 1.5 s", "b", "c"];
    for (pattern, expected) in [
        (&["a [..] s", "b", "c"][..], true),
        (&["a [..] s", "...", "c"], true),
        (&["...", "c"], true),
        (&["..."], true),
        (&["a 1.5 s", "...", "b", "c"], true),
        (&["a [..] s", "b"], false),
        (&["a [..] m", "...", "c"], false),
        (&["...", "b"], false),
        (&["a[..]5[..]s", "[..]", "c[..]"], true),
    ] {
        assert_eq!(lines_match(pattern, &text), expected, "{pattern:?}");
    }
}

#[test]
fn wrong_outputs_and_failing_commands_are_found() {
    let page = |block: &str| {
        let mut faults = Vec::new();
        let shown = run_page(block, &mut faults);
        (shown, faults.len())
    };
    let good = "```console\n$ echo a \\\n    b\na b\n```\n\n```sh\nhost-sim --version\n```\n";
    assert_eq!(page(good), (good.to_owned(), 0));
    let wrong = "```console\n$ echo a\nb\n$ echo c\nc\n```\n";
    assert_eq!(page(wrong), (wrong.replace("\nb\n", "\na\n"), 1));
    assert_eq!(page("```sh\nfalse\ntrue\n```\n").1, 1);
    let fails = "```console\n$ echo a; echo b >&2; exit 3\n? 3\na\nb\n```\n";
    assert_eq!(page(fails), (fails.to_owned(), 0));
    for wrong in [fails.replace("? 3\n", "? 2\n"), fails.replace("? 3\n", "")] {
        assert_eq!(page(&wrong).1, 1);
    }
    let left_out = "<!-- not run: it fails -->\n```sh\nfalse\n```\n";
    assert_eq!(page(left_out), (left_out.to_owned(), 0));
}
