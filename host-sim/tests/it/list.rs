use crate::program::host_sim;

#[test]
fn json_has_everything_with_its_source() {
    let list = host_sim("list --format json").json();
    let strategies = list["strategies"].as_array().unwrap();
    let of = |name: &str| {
        strategies
            .iter()
            .find(|strategy| strategy["name"] == name)
            .unwrap()
    };
    for (name, alias, serves, complete, contiguous) in [
        ("first-fit", Some("ff"), "any grid", false, true),
        ("adaptive-scan", Some("as"), "any grid", true, true),
        (
            "free-submesh-list",
            Some("fsl"),
            "grids of at most six dimensions",
            true,
            true,
        ),
        (
            "frame-sliding",
            Some("fs"),
            "two-dimensional meshes",
            false,
            true,
        ),
        ("naive", None, "any grid", true, false),
        ("tree-collapsing", Some("tc"), "any grid", true, true),
        ("tree-collapsing-printed", None, "any grid", false, true),
        (
            "free-list",
            None,
            "k-ary n-cubes whose k is a power of two",
            false,
            true,
        ),
        ("sniffing", None, "k-ary n-cubes", false, true),
        ("partner", None, "k-ary n-cubes", false, true),
        ("random", None, "any grid", true, false),
        ("paging", None, "any grid", true, false),
    ] {
        let strategy = of(name);
        assert_eq!(
            strategy["aliases"].get(0).and_then(|alias| alias.as_str()),
            alias
        );
        assert_eq!(strategy["serves"], serves, "{name}");
        assert_eq!(strategy["complete"], complete, "{name}");
        assert_eq!(strategy["contiguous"], contiguous, "{name}");
        assert_eq!(strategy["built"], true, "{name}");
    }
    for kind in [
        "strategies",
        "schedulers",
        "side_lengths",
        "service",
        "dims",
        "radices",
        "patterns",
    ] {
        for item in list[kind].as_array().unwrap() {
            let is_fcfs = item["name"] == "fcfs";
            assert_eq!(
                item["source"].as_str().unwrap().is_empty(),
                is_fcfs,
                "{item}"
            );
        }
    }
    for scheduler in list["schedulers"].as_array().unwrap() {
        assert!(
            !scheduler["meaning"].as_str().unwrap().is_empty(),
            "{scheduler}"
        );
        assert!(
            !scheduler["forms"].as_array().unwrap().is_empty(),
            "{scheduler}"
        );
    }
    assert_eq!(list["schedulers"][0]["name"], "fcfs");
    assert_eq!(of("first-fit")["parameters"], serde_json::json!([]));
    let parameters = serde_json::json!(["seed=SEED"]);
    assert_eq!(of("random")["parameters"], parameters);
    let shown = host_sim("list").good();
    assert!(shown.contains("parameters: seed=SEED"), "{shown}");
}

#[test]
fn a_part_of_the_list_has_that_part_alone() {
    let shown = host_sim("list metrics").good();
    assert!(
        shown.starts_with("Metrics\n") && !shown.contains("Schedulers"),
        "{shown}"
    );
    for part in ["waiting_delay", "Unit: seconds", "Kim and Yoon 1995"] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    let list = host_sim("list metrics --format json").json();
    let keys: Vec<_> = list.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["program", "version", "metrics"]);
    for metric in list["metrics"].as_array().unwrap() {
        for key in ["name", "meaning", "unit", "source"] {
            assert!(!metric[key].as_str().unwrap().is_empty(), "{metric}");
        }
    }
    let ended = host_sim("list metric");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("'metrics'"),
        "{ended}"
    );
}

#[test]
fn the_table_fits_a_terminal() {
    let shown = host_sim("list").good();
    for name in [
        "free-submesh-list, fsl",
        "tree-collapsing, tc",
        "for any grid: contiguous, complete (finds a place whenever one exists)",
        "for k-ary n-cubes: contiguous, may overlook a free place",
        "Written sjf or sjf:SECONDS.",
        "Written bypass-queue:SECONDS.",
        "(--dims, --radices)",
        "(--pattern)",
        "fcfs",
        "uniform-decreasing",
        "near-square",
        "near-cubic",
    ] {
        assert!(shown.contains(name), "{shown}");
    }
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = host_sim("list --format json").json();
    for kind in [
        "strategies",
        "schedulers",
        "side_lengths",
        "service",
        "dims",
        "radices",
        "patterns",
    ] {
        for item in list[kind].as_array().unwrap() {
            let [name, source] = ["name", "source"].map(|key| item[key].as_str().unwrap());
            assert!(flat.contains(name) && flat.contains(source), "{item}");
        }
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}
