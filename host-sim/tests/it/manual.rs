//! Completions and man pages have what the command line takes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{host_sim, skipped};

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = host_sim(&format!("completions {shell}")).good();
        for word in ["host-sim", "saturation", "until-rel-error"] {
            assert!(script.contains(word), "{shell}: {word} is missing");
        }
    }
    let ended = host_sim("completions csh");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("csh"),
        "{ended}"
    );
}

/// Words of which the last is being written, and what it may become.
const COMPLETED: &[(&str, &str, &[&str])] = &[
    ("sat", "", &["saturation"]),
    ("run --strat", "", &["--strategy"]),
    ("saturation --back", "", &["--backlog"]),
    ("compare --dr", "", &["--draw"]),
    ("run --strategy", "free-s", &["free-submesh-list"]),
    ("run --strategy", "al", &["all", "all-shapes"]),
    ("view --scheduler", "ea", &["easy"]),
    (
        "run --mesh 8x8 --machine",
        "tpu-v5",
        &["tpu-v5e", "tpu-v5p"],
    ),
    ("saturation --side-lengths", "exp", &["exponential"]),
    ("run --pattern", "n-", &["n-body"]),
    ("run --restart", "in", &["in-place"]),
    ("run --format", "j", &["json"]),
    ("list --format", "j", &["json"]),
    ("compare --draw", "util", &["utilization"]),
    ("run --draw", "time", &["timeline"]),
    ("list schedu", "", &["schedulers"]),
    ("reproduce kim", "", &["kim-yoon"]),
    ("completions fi", "", &["fish"]),
];

/// What a shell prints, a completion in each line, for a line of the command that is completed.
fn check_completions(shell: &str, complete: impl Fn(&Path, &str) -> Command) {
    if Command::new(shell).arg("--version").output().is_err() {
        skipped(format_args!("no {shell}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, host_sim(&format!("completions {shell}")).good()).unwrap();
    for (line, value, expected) in COMPLETED {
        let line = match *value {
            "" => (*line).to_owned(),
            value => format!("{line} {value}"),
        };
        let output = complete(&script, &line).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        // Behind a word stands what it means.
        let words = shown.lines().filter_map(|line| line.split('\t').next());
        let mut words: Vec<_> = words
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect();
        words.sort_unstable();
        words.dedup();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(words, *expected, "{shell}: {line}: {error}");
    }
}

#[test]
fn bash_completes_options_and_values() {
    let complete = |script: &Path, line: &str| {
        let commands = "source \"$1\"; COMP_WORDS=(host-sim $2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                        $(complete -p host-sim | sed 's/.*-F \\([^ ]*\\) .*/\\1/') host-sim \
                        \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                        printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", commands, "bash"])
            .arg(script)
            .arg(line);
        bash
    };
    check_completions("bash", complete);
}

#[test]
fn fish_completes_options_and_values() {
    let complete = |script: &Path, line: &str| {
        let commands = "source $argv[1]; complete -C \"host-sim $argv[2]\"";
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", commands])
            .arg(script)
            .arg(line);
        fish
    };
    check_completions("fish", complete);
}

/// A terminal in which a line is written, and looked at until it has what is expected.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
await() {
    local all= chunk
    for i in {1..600}; do
        if zpty -r -t z chunk; then
            all+=$chunk
            [[ $all == *$1* ]] && return 0
        else
            sleep .1
        fi
    done
    print -r -- "$all"
    return 1
}
zpty -w z "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; print re''ady"
await ready || exit 1
zpty -n -w z "host-sim $2"$'\t'
await "host-sim $3"
"#;

#[test]
fn zsh_completes_options_and_values() {
    if Command::new("zsh").arg("--version").output().is_err() {
        skipped("no zsh");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = host_sim("completions zsh").good();
    fs::write(folder.path().join("_host-sim"), script).unwrap();
    for (line, completed) in [
        ("run --strat", "run --strategy"),
        ("run --scheduler ea", "run --scheduler easy"),
        ("compare --draw util", "compare --draw utilization"),
        ("list schedu", "list schedulers"),
    ] {
        let mut zsh = Command::new("zsh");
        zsh.args(["-f", "-c", ZSH, "zsh"]).arg(folder.path());
        let output = zsh.args([line, completed]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }
}

#[test]
fn every_command_has_a_man_page_and_every_document_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    meshalloc_host_sim::reference::write(&folder.path().join("pages")).unwrap();
    let page = |name: &str| fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    assert!(page("man1/host-sim.1").contains("Exit codes:"));
    assert!(page("schema/run.json").contains("\"decision_hash\""));
    let help = host_sim("--help").good();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<_> = names
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(names.contains(&"run"), "{names:?}");
    for name in names {
        let page = page(&format!("man1/host-sim-{name}.1"));
        assert!(page.contains(".SH NAME"), "{name}");
    }
}
