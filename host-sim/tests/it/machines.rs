//! Machines that give only certain slices, on the command line.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{Ended, host_sim, host_sim_in};

/// The preset `tpu-v4` as a file with other whitespace and order than any that is made.
const TPU_V4: &str = "\
chips-max = 4096
align = [2, 2, 1]
multiple = [4, 4, 4]
shapes = ['1x1x1', '1x1x2', '1x2x2', '2x2x2', '2x2x4', '2x4x4']
cube = [4, 4, 4]
rotate = true
wraps = [true, true, true]
sides = [16, 16, 16]
name = 'pod'
";

const TOPOLOGY: &str = "\
- topology: pods
  cluster_default: true
  torus3d:
    toruses:
      - name: other
        dims: { x: 2, y: 2, z: 2 }
        nodes: node[32-39]
        placements:
          - dims: { x: 2, y: 2, z: 1 }
      - name: pod
        dims: { x: 4, y: 4, z: 2 }
        nodes: node[0-31]
        placements:
          - dims: { x: 4, y: 4, z: 2 }
          - dims: { x: 2, y: 2, z: 1 }
          - dims: { x: 2, y: 2, z: 2 }
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("pod.toml", TPU_V4);
    write("topology.yaml", TOPOLOGY);
    folder
}

/// What a run that is refused says.
fn failed(ended: Ended) -> String {
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    ended.stderr
}

fn json(folder: &Path, arguments: &str) -> Value {
    host_sim_in(folder, &format!("{arguments} --format json")).json()
}

#[test]
fn a_preset_and_its_file_decide_alike() {
    let folder = folder();
    let run = "run --mix tpu-v4 --strategy cubes,cubes:fold,adaptive-scan --load .3 --jobs 400 \
               --replications 2";
    let [preset, file] = ["tpu-v4", "pod.toml"].map(|machine| {
        let results = json(folder.path(), &format!("{run} --machine {machine}"));
        assert_eq!(results["scenario"]["machine"], machine);
        for key in ["mesh", "torus"] {
            assert_eq!(results["scenario"][key], Value::Null);
        }
        results
    });
    for (one, other) in [0, 1, 2].map(|place| (&preset["results"][place], &file["results"][place]))
    {
        assert_eq!(one["decision_hash"], other["decision_hash"]);
        assert!(one["metrics"]["waiting_delay"]["mean"].is_f64());
    }
    let hashes = [0, 2].map(|place| &preset["results"][place]["decision_hash"]);
    assert_ne!(hashes[0], hashes[1]);
    // On the plain torus of the same sides there are other rules.
    let plain = format!("{run} --torus 16x16x16").replace("cubes,cubes:fold,", "");
    let plain = json(folder.path(), &format!("{plain} --mix-drop"));
    assert!(plain["mix"]["dropped"].as_array().unwrap().len() > 3);
}

/// Those of the mix `tpu-v4` with a side over 16 never fit on a static torus; in cubes all do.
#[test]
fn jobs_that_a_strategy_never_places_are_counted_with_the_reason() {
    let folder = folder();
    let run = "run --machine tpu-v4 --mix tpu-v4 --strategy cubes,adaptive-scan --load .2 \
               --jobs 4000 --warmup 0 --replications 2 -o jobs.csv";
    let results = json(folder.path(), run);
    let [cubes, scan] = [0, 1].map(|place| &results["results"][place]);
    assert_eq!(cubes["refused"], serde_json::json!({}));
    assert_eq!(cubes["served_share"], 1.0);
    let jobs = fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    let mut lines = jobs.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let shape = header
        .iter()
        .position(|&name| name == "requested_extents")
        .unwrap();
    let strategy = header.iter().position(|&name| name == "strategy").unwrap();
    let mut long = 0;
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        let mut sides = cells[shape]
            .split('x')
            .map(|side| side.parse::<u32>().unwrap());
        let is_long = sides.any(|side| side > 16);
        long += u64::from(is_long && cells[strategy] == "adaptive-scan");
    }
    assert_eq!(scan["refused"], serde_json::json!({ "never-fits": long }));
    // 1.4 of the weights of the mix, which are 98.8 together.
    let expected = 8000.0 * 1.4 / 98.8;
    assert!(
        (long as f64 - expected).abs() < 4.0 * expected.sqrt(),
        "{long}"
    );
    let table = host_sim(&run.replace(" -o jobs.csv", "")).good();
    let note = format!("adaptive-scan: {long} jobs refused: never-fits.");
    assert!(table.contains(&note), "{}", table);
    assert!(table.starts_with("tpu-v4: "), "{}", table);
}

#[test]
fn illegal_shapes_of_a_mix_are_listed_or_left_out_and_counted() {
    let folder = folder();
    let mix = "shape,weight\n4x4x4,3\n3x4x4,1\n4x4x32,1\n2x2x3,1\n";
    fs::write(folder.path().join("mix.csv"), mix).unwrap();
    let run = "run --machine tpu-v4 --mix mix.csv --strategy cubes --jobs 200 --replications 1";
    let error = failed(host_sim_in(folder.path(), run));
    assert!(
        error.contains(
            "mix.csv (--mix): 2 shapes can never be placed by cubes on this machine (3x4x4, 2x2x3; "
        ),
        "{error}"
    );
    let results = json(folder.path(), &format!("{run} --mix-drop"));
    assert_eq!(
        results["mix"]["dropped"],
        serde_json::json!(["3x4x4", "2x2x3"])
    );
    assert!((results["mix"]["dropped_share"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    // A ring of 3 is none of a cube, nor one that first fit gives.
    let mix = "shape,weight,rings\n2x2x4,1,\n2x2x4,1,all\n2x4x4,1,0\n";
    fs::write(folder.path().join("mix.csv"), mix).unwrap();
    let results = json(folder.path(), run);
    assert_eq!(results["results"][0]["refused"], serde_json::json!({}));
    let error = failed(host_sim_in(
        folder.path(),
        &run.replace("cubes", "adaptive-scan"),
    ));
    assert!(
        error.contains("1 shape can never be placed by adaptive-scan on this machine (2x2x4; "),
        "{error}"
    );
}

#[test]
fn jobs_that_name_processors_are_requests_for_chips() {
    let folder = folder();
    // Of 5 processors there is no slice; of 192 there are 4x4x12 and others.
    let rows: String = [192, 5, 4, 4, 64, 5000]
        .iter()
        .zip(0..)
        .map(|(count, at)| format!("{at},100,{count},\n"))
        .collect();
    let trace = format!("submit,run,processors,shape\n{rows}9,50,,4x4x4\n10,50,,3x3x3\n");
    fs::write(folder.path().join("trace.csv"), trace).unwrap();
    let run = "run --machine tpu-v4 --log trace.csv --strategy cubes -o jobs.csv";
    let results = json(folder.path(), run);
    assert_eq!(results["scenario"]["shape"], "chips");
    let refused = serde_json::json!({ "never-fits": 1, "not-legal": 2 });
    assert_eq!(results["results"][0]["refused"], refused);
    let jobs = fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    assert!(jobs.lines().nth(1).unwrap().contains(",192,"), "{jobs}");
    // With a rule they have shapes: 5 processors 2x2x2, and 192 processors 6x4x8, which is not
    // legal.
    let shaped = json(folder.path(), &format!("{run} --shape near-cubic"));
    assert_eq!(shaped["results"][0]["refused"], refused);
    assert_ne!(
        shaped["results"][0]["decision_hash"],
        results["results"][0]["decision_hash"]
    );
}

#[test]
fn slurms_reference_trace_is_replayed_from_its_topology() {
    let folder = folder();
    let operations = "alloc 1 chips=4\nalloc 2 chips=4\nalloc 3 chips=8\nalloc 4 chips=4\nfree 1\n\
                      {\"op\":\"alloc\",\"id\":5,\"chips\":4}\nalloc 6 chips=7\n";
    fs::write(folder.path().join("ops.txt"), operations).unwrap();
    let replay = "replay ops.txt --machine topology.yaml:pod";
    let output = host_sim_in(folder.path(), replay).good();
    let objects = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let objects: Vec<Value> = objects.collect();
    let chips = |object: &Value| -> Vec<u64> {
        let blocks = object["granted"]
            .as_array()
            .unwrap_or_else(|| panic!("{object}"));
        let mut chips = Vec::new();
        for block in blocks {
            let [start, extent] = ["start", "extent"].map(|key| {
                let numbers = block[key].as_array().unwrap_or_else(|| panic!("{block}"));
                numbers
                    .iter()
                    .map(|number| number.as_u64().unwrap())
                    .collect::<Vec<_>>()
            });
            for z in 0..extent[2] {
                for y in 0..extent[1] {
                    for x in 0..extent[0] {
                        let [x, y, z] = [start[0] + x, start[1] + y, start[2] + z];
                        chips.push(x % 4 + 4 * (y % 4) + 16 * (z % 2));
                    }
                }
            }
        }
        chips.sort_unstable();
        chips
    };
    let expected: [&[u64]; 4] = [
        &[0, 1, 4, 5],
        &[16, 17, 20, 21],
        &[8, 9, 12, 13, 24, 25, 28, 29],
        &[2, 3, 6, 7],
    ];
    for (object, expected) in objects.iter().zip(expected) {
        assert_eq!(chips(object), expected);
    }
    assert_eq!(chips(&objects[5]), [0, 1, 4, 5]);
    assert_eq!(objects[6]["error"], "never-fits");
    let both = "alloc 1 2x2x1 chips=4\n";
    fs::write(folder.path().join("ops.txt"), both).unwrap();
    let error = failed(host_sim_in(folder.path(), replay));
    assert!(
        error.contains("ops.txt:1: shape and chips (expected one of them)"),
        "{error}"
    );
}

#[test]
fn errors_about_machines_say_what_is_wrong_and_where() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("bad.toml", "sides = [8, 8]\n\ncubes = [4, 4]\n");
    write("odd.toml", "sides = [8, 8]\n\ncube = [4, 3]\n");
    write("s.toml", "mix = \"tpu-v4\"\nmachine = \"odd.toml\"\n");
    for (arguments, expected) in [
        (
            "run --machine tpu-v4 --torus 16x16x16",
            "cannot be used with",
        ),
        ("run --machine tpu-v4 --mesh 16x16", "cannot be used with"),
        (
            "run --machine tpu-4",
            "unknown machine \"tpu-4\"; did you mean \"tpu-v4\"?",
        ),
        (
            "run --machine tpu-v4",
            "--machine tpu-v4 gives only certain shapes",
        ),
        (
            "run --machine bad.toml",
            "bad.toml:3: unknown field 'cubes', expected one of",
        ),
        (
            "run --machine odd.toml",
            "odd.toml:3: cube: a side of the machine is not a multiple",
        ),
        ("run --scenario s.toml", "s.toml:2: odd.toml:3: cube: "),
        (
            "run --machine missing.toml",
            "missing.toml: cannot read the machine: ",
        ),
        (
            "run --machine topology.yaml:pdo",
            "(expected one of other, pod)",
        ),
        (
            "run --machine tpu-v5e --mix tpu-v4 --strategy cubes",
            "--strategy cubes serves machines whose description has cubes, not tpu-v5e, a ",
        ),
        (
            "run --torus 16x16x16 --strategy cubes",
            "machines whose description has cubes",
        ),
    ] {
        let error = failed(host_sim_in(folder.path(), arguments));
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn every_command_takes_machines() {
    let folder = folder();
    let json = |arguments: &str| json(folder.path(), arguments);
    let compare = json(
        "compare --machine tpu-v4 --mix tpu-v4 --strategy cubes,adaptive-scan --load .2,.3 \
         --jobs 300 --replications 2 -o compare.svg",
    );
    assert_eq!(compare["points"].as_array().unwrap().len(), 4);
    let saturation = json(
        "saturation --machine pod.toml --mix tpu-v4 --strategy cubes,adaptive-scan --jobs 300 \
         --replications 2",
    );
    let of = |place: usize| saturation["results"][place]["metrics"]["utilization"]["mean"].as_f64();
    assert!(of(0).unwrap() > of(1).unwrap(), "cubes fill more");
    // A machine in whose description no shape is ruled out takes random sides.
    let galaxy = json("run --machine galaxy --strategy all --jobs 200 --replications 1");
    assert!(galaxy["results"].as_array().unwrap().len() > 10);
    let view =
        "view -o page.html --machine tpu-v4 --mix tpu-v4 --strategy cubes --jobs 100 --load .3";
    host_sim_in(folder.path(), view).good();
    let list = host_sim("list machines --format json").json();
    assert_eq!(list["machines"][1]["cube"], serde_json::json!([4, 4, 4]));
    let text = host_sim("list machines").good();
    assert!(
        text.contains("tpu-v5p") && text.contains("up to 6144 processors"),
        "{text}"
    );
    let grid = "mix = \"tpu-v4\"\nstrategy = \"cubes\"\njobs = 100\nreplications = 1\n\n\
                machine = [\"tpu-v4\", \"pod.toml\"]\nload = 0.2\n";
    fs::write(folder.path().join("study.toml"), grid).unwrap();
    let line = "run --scenario study.toml --wide --format csv";
    let points = host_sim_in(folder.path(), line).good();
    assert_eq!(points.lines().count(), 3, "{points}");
}
