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
    for (name, alias, machine, complete, contiguous) in [
        ("first-fit", Some("ff"), "mesh", false, true),
        ("adaptive-scan", Some("as"), "mesh", true, true),
        ("free-submesh-list", Some("fsl"), "mesh", true, true),
        ("naive", None, "mesh", true, false),
        ("tree-collapsing", Some("tc"), "cube", true, true),
        ("tree-collapsing-printed", None, "cube", false, true),
        ("free-list", None, "cube", false, true),
        ("sniffing", None, "cube", false, true),
        ("partner", None, "cube", false, true),
    ] {
        let strategy = of(name);
        assert_eq!(
            strategy["aliases"].get(0).and_then(|alias| alias.as_str()),
            alias
        );
        assert_eq!(strategy["machine"], machine, "{name}");
        assert_eq!(strategy["complete"], complete, "{name}");
        assert_eq!(strategy["contiguous"], contiguous, "{name}");
        assert_eq!(strategy["built"], true, "{name}");
    }
    for kind in [
        "strategies",
        "schedulers",
        "sizes",
        "service",
        "dims",
        "radices",
    ] {
        for item in list[kind].as_array().unwrap() {
            assert!(!item["source"].as_str().unwrap().is_empty(), "{item}");
        }
    }
    assert_eq!(list["schedulers"][0]["name"], "fcfs");
}

#[test]
fn the_table_fits_a_terminal() {
    let shown = host_sim("list").good();
    for name in [
        "free-submesh-list, fsl",
        "tree-collapsing, tc",
        "for a mesh: contiguous, recognises completely",
        "for a cube: contiguous, does not recognise completely",
        "(--dims, --radices)",
        "fcfs",
        "uniform-decreasing",
        "near-square",
    ] {
        assert!(shown.contains(name), "{shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}
