//! The page of `view`. What it does in a browser: `cargo xtask browser`.

use std::fs;
use std::path::Path;

use scraper::{Html, Selector};

use crate::program::host_sim_in;

const SCENARIO: &str =
    "--mesh 16x16 --strategy ff,as,mbs --load .7 --jobs 1500 --warmup 0 --seed 4";

fn page(folder: &Path, scenario: &str) -> String {
    let line = format!("view {scenario} --output o/view.html");
    let said = host_sim_in(folder, &line).good();
    assert!(said.starts_with("view: o/view.html, "), "{said}");
    fs::read_to_string(folder.join("o/view.html")).unwrap()
}

#[test]
fn the_page_is_valid_and_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let text = page(folder.path(), SCENARIO);
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let count = |selector: &str| page.select(&Selector::parse(selector).unwrap()).count();
    assert_eq!(count("html[lang=en] > head > meta[name=viewport]"), 1);
    for selector in ["img", "iframe", "link:not([href='data:,'])", "[src]"] {
        assert_eq!(count(selector), 0, "{selector}");
    }
    let without_names = text.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "url(", "@import", "import("] {
        assert!(!without_names.contains(address), "{address}");
    }
}

/// Colours and dashes of the curves have periods without a common factor.
#[test]
fn the_curves_of_twenty_strategies_differ() {
    let folder = tempfile::tempdir().unwrap();
    let text = page(folder.path(), "--mesh 4x4 --jobs 5 --warmup 0");
    let list = |name: &str| -> Vec<serde_json::Value> {
        let start = format!("const {name} = ");
        let (_, rest) = text.split_once(&start).unwrap();
        let (list, _) = rest.split_once(';').unwrap();
        serde_json::from_str(list).unwrap()
    };
    let (colours, dashes) = (list("RUN_COLOURS"), list("DASHES"));
    for name in &colours {
        let value = format!("--{}:", name.as_str().unwrap());
        assert!(text.contains(&value), "{value}");
    }
    let looks: Vec<_> = (0..20)
        .map(|place| {
            (
                &colours[place % colours.len()],
                &dashes[place % dashes.len()],
            )
        })
        .collect();
    for (place, look) in looks.iter().enumerate() {
        assert!(!looks[..place].contains(look), "{place}: {look:?}");
    }
    for name in ["RUN_COLOURS", "DASHES"] {
        let period = format!("{name}[place % {name}.length]");
        assert!(text.contains(&period), "{period}");
    }
}

#[test]
fn options_that_do_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--format json", "--replications 3", "--until-rel-error .1"] {
        let ended = host_sim_in(folder.path(), &format!("view --mesh 4x4 {option}"));
        let name = option.split(' ').next().unwrap();
        assert!(
            ended.code == Some(2) && ended.stderr.contains(name),
            "{ended}"
        );
    }
    let scenario = "mesh = \"8x8\"\njobs = 50\nwarmup = 0\nreplications = 3\nformat = \"json\"\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    page(folder.path(), "--scenario s.toml");
}
