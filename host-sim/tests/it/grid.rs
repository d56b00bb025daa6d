//! Grids of any number of dimensions: meshes, tori, and meshes some of whose dimensions wrap.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{host_sim, host_sim_fed, host_sim_in};

/// Around dimension 2: job 3 lies in the last plane and the first.
const OPERATIONS: &str = "\
alloc 1 4x4x1
alloc 2 4x4x2
free 1
alloc 3 2x2x2
alloc 4 4 1
fault 3 0 2
alloc 5 5x1x1
alloc 6 1x1x1x1
fault 1..2 * 3..0
repair * * *
";

fn names(results: &Value) -> Vec<&str> {
    let results = results.as_array().unwrap().iter();
    results
        .map(|result| result["strategy"].as_str().unwrap())
        .collect()
}

#[test]
fn a_torus_is_simulated_as_a_mesh_is() {
    let line = "run --torus 4x4x8 --strategy ff,as,naive,tc --load .4 --jobs 400 --replications 2";
    let json = host_sim(&format!("{line} --format json")).json();
    let expected = json!({
        "torus": "4x4x8", "strategy": ["first-fit", "adaptive-scan", "naive", "tree-collapsing"],
        "scheduler": "fcfs", "side_lengths": "uniform", "side_range": "1..4,1..4,1..8", "load": 0.4,
        "service_mean": 10.0, "measure": "arrivals", "warmup": 0.05, "jobs": 400, "estimates": "perfect", "replications": 2, "slowdown_threshold": 10.0, "seed": 1,
        "backend": "in-process"
    });
    assert_eq!(json["scenario"], expected);
    let results = json["results"].as_array().unwrap();
    let mean = |at: usize, metric: &str| results[at]["metrics"][metric]["mean"].as_f64();
    for (at, result) in results.iter().enumerate() {
        assert!(result["decisions"].as_u64() >= Some(800), "{result}");
        assert_eq!(mean(at, "service_time"), mean(0, "service_time"));
    }
    assert_eq!(mean(2, "allocation_miss"), Some(0.0));
    assert!(mean(1, "allocation_miss") < mean(0, "allocation_miss"));
    let shown = host_sim(line).good();
    assert!(shown.contains("torus 4x4x8, fcfs, seed 1"), "{shown}");
}

#[test]
fn operations_on_a_ring_of_meshes() {
    let line = "replay - --machine mesh-4x4x4-wrap-2";
    let shown = host_sim_fed(Path::new("."), line, OPERATIONS).good();
    let expected = r#"{"line":1,"op":"alloc","id":1,"granted":[{"start":[0,0,0],"extent":[4,4,1]}]}
{"line":2,"op":"alloc","id":2,"granted":[{"start":[0,0,1],"extent":[4,4,2]}]}
{"line":3,"op":"free","id":1,"released":16}
{"line":4,"op":"alloc","id":3,"granted":[{"start":[0,0,3],"extent":[2,2,2]}]}
{"line":5,"op":"alloc","id":4,"granted":[{"start":[0,2,0],"extent":[4,1,1]}]}
{"line":6,"op":"fault","block":{"start":[3,0,2],"extent":[1,1,1]},"changed":1,"jobs":[2]}
{"line":7,"op":"alloc","id":5,"error":"never-fits"}
{"line":8,"op":"alloc","id":6,"error":"too-many-extents"}
{"line":9,"op":"fault","block":{"start":[1,0,3],"extent":[2,4,2]},"changed":16,"jobs":[3,4]}
{"line":10,"op":"repair","block":{"start":[0,0,0],"extent":[4,4,4]},"changed":17,"jobs":[2,3,4]}
"#;
    assert_eq!(shown, expected);
    for (operation, part) in [
        (
            "fault 1 2",
            "ops:1: z is missing (expected `fault X Y Z` on mesh 4x4x4 wrap 2)",
        ),
        (
            "fault 1 2 4",
            "ops:1: z = 4 is outside mesh 4x4x4 wrap 2 (expected 0 to 3)",
        ),
        (
            "alloc 1 2x",
            "expected `alloc ID [Sx] AxBxC|chips=N [est=TIME] [priority=TIME] [lease=TIME] [tolerate=N]` on mesh 4x4x4 wrap 2",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ops"), operation).unwrap();
        let ended = host_sim_in(folder.path(), "replay ops --machine mesh-4x4x4-wrap-2");
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.contains(part), "{part}: {ended}");
    }
}

#[test]
fn a_map_shows_the_planes() {
    let folder = tempfile::tempdir().unwrap();
    let line = "replay - --machine mesh-4x4x4-wrap-2 --quiet --draw map -o p.svg";
    let shown = host_sim_fed(folder.path(), line, OPERATIONS).good();
    let expected = "
first-fit
3 running, 0 waiting
68.8 % busy, 20 free
largest free submesh: 2x2x2
    ┌───────────────────┐
z   │0    1    2    3   │
    │.... cccc cccc ....│
    │eeee cccc cccc ....│
    │dd.. cccc cccc dd..│
  0 ┤dd.. cccc cccc dd..│
    └┬────┬────┬────┬───┘
x    0123 0123 0123 0123

. free, x faulty; jobs that touch have different letters
above each plane: z; x to the right, y upwards
map: p.svg
";
    assert!(shown.ends_with(expected), "{shown}");
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    for part in [
        "mesh 4x4x4 wrap 2",
        "above each plane: z; x to the right, y upwards",
        "largest free submesh: 2x2x2",
    ] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
}

#[test]
fn a_log_takes_near_cubic_shapes() {
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/tests/it/data/small.swf"
    );
    let line = format!("run --torus 4x4x8 --log {log} --strategy ff,naive");
    let json = host_sim(&format!("{line} --format json")).json();
    assert_eq!(json["scenario"]["shape"], "near-cubic");
    assert_eq!(json["scenario"]["torus"], "4x4x8");
    for result in json["results"].as_array().unwrap() {
        assert!(result["decisions"].as_u64().unwrap() > 0, "{result}");
    }
    let ended = host_sim(&format!("{line} --shape near-square"));
    assert_eq!(ended.code, Some(2), "{ended}");
    let expected = "error: the shape rule near-square is for two-dimensional meshes, not for torus 4x4x8 (expected near-cubic)\n";
    assert_eq!(ended.stderr, expected);
    // On a two-dimensional mesh both are the same.
    let decisions = |shape: &str| {
        let line = format!("run --mesh 10x10 --log {log} --shape {shape} --format json");
        host_sim(&line).json()["results"][0]["decision_hash"].clone()
    };
    assert_eq!(decisions("near-square"), decisions("near-cubic"));
}

#[test]
fn studies_comparisons_and_saturation_serve_grids() {
    let folder = tempfile::tempdir().unwrap();
    let text = "jobs = 200\nreplications = 2\nmachine = [\"mesh 4x3x4 wrap 0\", \"mesh-4x3x4-wrap-0,2\"]\n";
    fs::write(folder.path().join("rings.toml"), text).unwrap();
    let json = host_sim_in(folder.path(), "run --scenario rings.toml --format json").json();
    for (point, wrap) in json["points"].as_array().unwrap().iter().zip(["0", "0,2"]) {
        let machine = format!("mesh 4x3x4 wrap {wrap}");
        assert_eq!(point["scenario"]["machine"], machine);
        assert_eq!(point["scenario"]["side_range"], "1..4,1..3,1..4");
    }

    let line = "compare --torus 4x3x4 --load .3 --jobs 200 --replications 2 --format json";
    let json = host_sim_in(folder.path(), line).json();
    let expected = [
        "first-fit",
        "adaptive-scan",
        "free-submesh-list",
        "least-expected-blocking",
        "naive",
    ];
    for (point, scheduler) in json["points"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["fcfs", "easy"])
    {
        assert_eq!(point["scenario"]["torus"], "4x3x4");
        assert_eq!(point["scenario"]["scheduler"], scheduler);
        assert_eq!(names(&point["results"]), expected);
    }

    let line = "saturation --machine mesh-4x3x4-wrap-2 --jobs 200 --replications 2 --format json";
    let json = host_sim(line).json();
    assert_eq!(json["scenario"]["machine"], "mesh 4x3x4 wrap 2");
    let expected = [
        "first-fit",
        "adaptive-scan",
        "free-submesh-list",
        "naive",
        "best-fit",
        "busy-list",
        "tree-collapsing",
        "tree-collapsing-printed",
        "random",
        "paging",
        "curve",
        "least-expected-blocking",
        "leb-estimates",
        "folding",
        "partition",
        "walltime-aware",
    ];
    assert_eq!(names(&json["results"]), expected);
}

#[test]
fn what_cannot_be_served_is_explained() {
    for (line, part) in [
        (
            "run --torus 8x8x16 --strategy fs",
            "frame-sliding serves two-dimensional meshes, not torus 8x8x16",
        ),
        (
            "run --machine mesh-8x8-wrap-2",
            "there is no dimension 2 to wrap (dimensions count from 0) (expected a machine as in",
        ),
        (
            "run --mesh 2000x4",
            "each side of a two-dimensional mesh must be 1 to 1024",
        ),
    ] {
        let ended = host_sim(line);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.stderr.contains(part), "{line}: {ended}");
    }
    // As large as machines get.
    let shown = host_sim_fed(
        Path::new("."),
        "replay - --torus 128x128x64",
        "alloc 1 128x128x64\n",
    );
    assert!(shown.good().contains("\"extent\":[128,128,64]"));
}
