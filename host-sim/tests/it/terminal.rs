//! On a terminal, tables use its width, and `compare` shows what it has so far.

#![cfg(unix)]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use serialport::{SerialPort, TTYPort};

use crate::program::{command, host_sim};

/// The output on a terminal with this number of columns.
fn on_terminal(columns: usize, line: &str, shows_errors: bool) -> String {
    let (mut screen, port) = TTYPort::pair().unwrap();
    let path = port.name().unwrap();
    let open = || -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap()
    };
    let mut stty = Command::new("stty");
    let stty = stty.args(["rows", "50", "cols", &columns.to_string()]);
    assert!(stty.stdin(open()).status().unwrap().success());
    screen.set_timeout(Duration::from_millis(100)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut program = command(folder.path(), line);
    program
        .stdin(Stdio::null())
        .stdout(open())
        .stderr(if shows_errors {
            open().into()
        } else {
            Stdio::null()
        });
    let mut child = program.spawn().unwrap();
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let has_ended = child.try_wait().unwrap().is_some();
        match screen.read(&mut buffer) {
            Ok(count) => shown.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::TimedOut && has_ended => break,
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => panic!("{error}"),
        }
    }
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_frame_for_a_window_without_room_is_an_error() {
    let shown = on_terminal(50, "watch --mesh 4x4 --jobs 5 --once", true);
    let expected = "watch needs 60 x 15 characters; the window has 50 x 49\n";
    assert!(shown.ends_with(expected), "{shown}");
}

#[test]
fn tables_use_the_width_of_the_terminal() {
    for line in [
        "run --mesh 8x8 --jobs 40 --replications 2 --load .3 --strategy ff,naive",
        "compare --mesh 8x8 --jobs 40 --replications 1 --load .3 --scheduler fcfs --strategy all",
        "list strategies",
    ] {
        let longest = |shown: &str| shown.lines().map(|line| line.chars().count()).max();
        let tables = |shown: &str| shown.lines().filter(|line| line.starts_with('─')).count();
        // Wall clock times may differ.
        let piped = host_sim(line).good();
        let narrow = on_terminal(80, line, false);
        assert_eq!(tables(&narrow), tables(&piped), "{narrow}");
        assert_eq!(longest(&narrow) <= Some(80), longest(&piped) <= Some(80));
        let wide = on_terminal(220, line, false);
        assert!(longest(&wide) > Some(80), "{wide}");
        assert!(longest(&wide) <= Some(220), "{wide}");
        assert!(wide.lines().count() < narrow.lines().count(), "{wide}");
        if !line.starts_with("list") {
            assert!(tables(&wide) < tables(&narrow), "{wide}");
        }
    }
}

#[test]
fn compare_shows_its_frame_at_once_and_then_the_tables() {
    let line = "compare --mesh 8x8 --jobs 9000 --replications 2 --load .3,.4 --strategy ff,naive";
    let shown = on_terminal(80, line, true);
    let tables = host_sim(line).good();
    let frame = shown.strip_suffix(&tables);
    let frame = frame.unwrap_or_else(|| panic!("{tables} are not the end of {shown}"));
    let (first, _) = frame.split_once(" left").unwrap();
    for part in [
        "mesh=8x8",
        "Mean waiting delay (s), scheduler=fcfs",
        "Mean waiting delay (s), scheduler=easy",
    ] {
        assert!(first.contains(part), "{part} is missing in {first}");
    }
    // Two loads, two schedulers, two strategies.
    assert_eq!(first.matches('…').count(), 8, "{first}");
}
