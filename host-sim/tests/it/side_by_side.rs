//! The page in the browser shows the numbers of this program, and the command that gives them.

use meshalloc_wasm::{Lab, answer};
use serde_json::Value;

use crate::program::host_sim;

fn reply(lab: &mut Option<Lab>, command: &str) -> Value {
    serde_json::from_slice(&answer(lab, command.as_bytes())).unwrap()
}

#[test]
fn the_command_on_the_page_gives_its_numbers() {
    for (machine, strategies, load) in [
        (
            "mesh 16x16",
            "first-fit,best-fit,free-submesh-list,multiple-buddy",
            70,
        ),
        ("mesh 5x7x3 wrap 0,2", "first-fit,random,naive", 105),
        ("torus 6x4", "tree-collapsing,paging", 40),
        ("torus 12", "naive", 155),
    ] {
        let mut lab = None;
        reply(&mut lab, &format!("start {load} 7 {strategies} {machine}"));
        let state = reply(&mut lab, "advance 600000");
        let results = &state["done"]["results"];
        let command = results["command"].as_str().unwrap();
        let (program, arguments) = command.split_once(' ').unwrap();
        assert_eq!(program, "host-sim");
        let found = host_sim(&format!("{arguments} --format json --quiet")).json();
        let shown = results["means"].as_array().unwrap();
        let found = found["results"].as_array().unwrap();
        assert_eq!(shown.len(), found.len(), "{command}");
        for (shown, found) in shown.iter().zip(found) {
            for (key, metric) in [
                ("waitingDelay", "waiting_delay"),
                ("turnaround", "turnaround"),
                ("utilization", "utilization"),
                ("externalFragmentation", "external_fragmentation"),
                ("internalFragmentation", "internal_fragmentation"),
            ] {
                let mean = &found["metrics"][metric]["mean"];
                assert!(mean.is_number(), "{command}: {metric}");
                assert_eq!(&shown[key], mean, "{command}: {metric}");
            }
        }
    }
}
