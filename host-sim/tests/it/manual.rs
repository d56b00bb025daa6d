//! Completions and man pages have what the command line takes.

use std::fs;

use crate::program::{host_sim, host_sim_in};

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

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    host_sim_in(folder.path(), "man pages/man1").good();
    let page =
        |name: &str| fs::read_to_string(folder.path().join("pages/man1").join(name)).unwrap();
    assert!(page("host-sim.1").contains("Exit codes:"));
    let help = host_sim("--help").good();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<_> = names
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(
        names.contains(&"run") && names.contains(&"man"),
        "{names:?}"
    );
    for name in names {
        assert!(
            page(&format!("host-sim-{name}.1")).contains(".SH NAME"),
            "{name}"
        );
    }
    fs::write(folder.path().join("file"), "").unwrap();
    let ended = host_sim_in(folder.path(), "man file");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("file: cannot write the pages"),
        "{ended}"
    );
}
