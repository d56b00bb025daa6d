//! The page of `view`. What it does in a browser: `cargo xtask browser`.

use std::fs;
use std::path::Path;

use scraper::{Html, Selector};
use serde_json::Value;

use crate::program::host_sim_in;

const SCENARIO: &str =
    "--mesh 16x16 --strategy ff,as,mbs --load .7 --jobs 1500 --warmup 0 --seed 4";

fn page(folder: &Path, scenario: &str) -> String {
    let line = format!("view {scenario} -o o/view.html");
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
    let list = |name: &str| -> Vec<Value> {
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
    let scenario = "mesh = \"8x8\"\njobs = 50\nwarmup = 0\nreplications = 3\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    page(folder.path(), "--scenario s.toml");
}

/// What the page says of its runs.
fn meta(text: &str) -> Value {
    let page = Html::parse_document(text);
    let script = Selector::parse("script#meta").unwrap();
    let script = page.select(&script).next().unwrap();
    serde_json::from_str(&script.text().collect::<String>()).unwrap()
}

#[test]
fn means_refusals_and_saturation_are_those_of_run() {
    let folder = tempfile::tempdir().unwrap();
    // Two jobs a minute that hold half of the machine for an hour.
    let line = |number: u32| {
        let submit = 30 * number;
        format!("{number} {submit} -1 3600 8 -1 -1 8 3600 -1 1 1 1 -1 -1 1 -1 -1\n")
    };
    let log: String = (1..=300).map(line).collect();
    fs::write(folder.path().join("full.swf"), log).unwrap();
    let mut seen = Vec::new();
    for (scenario, strategies) in [
        (
            "--mesh 16x16 --load .7 --jobs 1500 --seed 4",
            "ff,mbs,naive",
        ),
        ("--torus 8x8x8 --load .7 --jobs 300", "partner,ff"),
        ("--mesh 8x8 --load .9 --jobs 300 --measure departures", "ff"),
        ("--mesh 8x8 --batch 30", "ff,naive"),
        ("--mesh 4x4 --log full.swf", "ff,naive"),
    ] {
        let options = format!("{scenario} --strategy {strategies}");
        let page = meta(&page(folder.path(), &options));
        // A log has one.
        let once = if scenario.contains("--log") {
            ""
        } else {
            "--replications 1"
        };
        let line = format!("run {options} {once} --format json");
        let run = host_sim_in(folder.path(), &line).json();
        let results = run["results"].as_array().unwrap();
        assert_eq!(page["runs"].as_array().unwrap().len(), results.len());
        for (shown, result) in page["runs"].as_array().unwrap().iter().zip(results) {
            let mean = &result["metrics"]["waiting_delay"]["mean"];
            assert_eq!(&shown["meanWait"], mean, "{options}");
            assert_eq!(shown["saturated"], result["saturated"], "{options}");
            assert_eq!(shown["grows"], result["grows_with_length"], "{options}");
            let refused = result["refused"].as_object().unwrap();
            let refused: u64 = refused.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(shown["measuredRefused"], refused, "{options}");
            let served = result["metrics"]["jobs"]["mean"].as_f64().unwrap() as u64;
            assert_eq!(shown["measured"], served + refused, "{options}");
            seen.push((shown["saturated"] == true, refused > 0));
        }
    }
    for expected in [(true, false), (false, true), (false, false)] {
        assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
    }
}

#[test]
fn a_gang_is_shown_with_the_number_of_its_slices() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "submit,run,shape\n0,9,2x 4x2\n1,9,3x3\n2,9,3x 3x8\n";
    fs::write(folder.path().join("gangs.csv"), trace).unwrap();
    let page = meta(&page(
        folder.path(),
        "--torus 8x8 --log gangs.csv --strategy as",
    ));
    assert_eq!(
        page["shapes"],
        serde_json::json!(["2x 4x2", "3x3", "3x 3x8"])
    );
    // Those of a slice of each; the third never fits.
    let sides = page["runs"][0]["slices"].as_array().unwrap().iter();
    let sides: Vec<_> = sides
        .map(|slice| slice["sides"].as_str().unwrap())
        .collect();
    assert_eq!(sides, ["4x2", "3x3"]);
}

#[test]
fn a_run_in_which_no_time_passes_ends_at_0() {
    let folder = tempfile::tempdir().unwrap();
    let line = "--torus 8x8x8 --strategy partner --batch 1 --seed 3";
    let meta = meta(&page(folder.path(), line));
    assert_eq!((&meta["end"], &meta["jobs"]), (&0.into(), &1.into()));
    let run = &meta["runs"][0];
    assert_eq!(
        (&run["measuredRefused"], &run["measured"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&run["meanWait"], &run["saturated"]),
        (&Value::Null, &false.into())
    );
    assert_eq!(run["used"], serde_json::json!([]));
    let dimensions = serde_json::json!([
        {"name": "x", "side": 8}, {"name": "y", "side": 8}, {"name": "z", "side": 8}
    ]);
    assert_eq!(meta["runs"][0]["picture"]["dimensions"], dimensions);
}

/// The signs on the buttons are drawn; the rest is in every font.
#[test]
fn the_page_needs_no_signs_that_fonts_lack() {
    let folder = tempfile::tempdir().unwrap();
    let text = page(folder.path(), "--mesh 4x4 --jobs 5 --warmup 0");
    let page = Html::parse_document(&text);
    let buttons = |selector: &str| page.select(&Selector::parse(selector).unwrap()).count();
    assert_eq!(buttons("#back svg, #play svg, #next svg"), 1 + 2 + 1);
    let others = text.chars().filter(|letter| !letter.is_ascii());
    // Dashes and the minus sign.
    let others: Vec<char> = others.filter(|letter| !"–−".contains(*letter)).collect();
    assert!(others.is_empty(), "{others:?}");
}
