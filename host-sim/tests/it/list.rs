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
    for (name, alias, complete, contiguous) in [
        ("first-fit", Some("ff"), false, true),
        ("adaptive-scan", Some("as"), true, true),
        ("free-submesh-list", Some("fsl"), true, true),
        ("naive", None, true, false),
    ] {
        let strategy = of(name);
        assert_eq!(
            strategy["aliases"].get(0).and_then(|alias| alias.as_str()),
            alias
        );
        assert_eq!(strategy["complete"], complete, "{name}");
        assert_eq!(strategy["contiguous"], contiguous, "{name}");
        assert_eq!(strategy["built"], true, "{name}");
    }
    for kind in ["strategies", "schedulers", "sizes", "service"] {
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
