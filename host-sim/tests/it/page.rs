//! The HTML page of `reproduce`: valid, self-contained, and readable in a narrow and a wide window.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scraper::{Html, Selector};

use crate::program::{host_sim_in, skipped};

/// A paper and what its page has.
#[derive(Clone, Copy)]
struct Paper {
    name: &'static str,
    panels: usize,
    figures: usize,
    /// Tables of claims: one for each figure with claims, and one more for claims on search times.
    judged: usize,
}

const PAPERS: [Paper; 2] = [
    Paper {
        name: "chang-mohapatra",
        // Fig. 3: two strategies, two distributions; Figs. 4 to 6: two each; two of search times.
        panels: 4 + 2 + 2 + 2 + 2,
        figures: 4,
        judged: 5,
    },
    Paper {
        name: "chuang-wu",
        // Fig. 2: four measures, two service times; Fig. 3: two measures, four cubes; two of search
        // times.
        panels: 4 * 2 + 2 * 4 + 2,
        figures: 2,
        judged: 1,
    },
];

/// Makes a page of very short runs in `folder`.
fn page(folder: &Path, paper: Paper) -> String {
    let name = paper.name;
    // All jobs of liu are there at time 0.
    let jobs = if name == "liu" { "" } else { "--jobs 200" };
    let line = format!("reproduce {name} {jobs} --replications 3 --save o");
    host_sim_in(folder, &line).good();
    fs::read_to_string(folder.join(format!("o/{name}.html"))).unwrap()
}

fn select(page: &Html, selector: &str) -> usize {
    page.select(&Selector::parse(selector).unwrap()).count()
}

#[test]
fn the_page_is_valid_and_complete() {
    for paper in PAPERS {
        let folder = tempfile::tempdir().unwrap();
        let text = page(folder.path(), paper);
        let page = Html::parse_document(&text);
        assert!(page.errors.is_empty(), "{:?}", page.errors);
        for (selector, count) in [
            ("html[lang=en]", 1),
            ("head > meta[charset=utf-8]", 1),
            ("head > meta[name=viewport]", 1),
            ("head > title", 1),
            ("h1", 1),
            ("h2[id]", paper.figures),
            ("svg[role=img][aria-label]", paper.panels),
            ("table.numbers", paper.panels),
            ("table.claims", paper.judged),
            // Every table scrolls in a container of its own.
            (":not(.scroll) > table", 0),
        ] {
            assert_eq!(select(&page, selector), count, "{}: {selector}", paper.name);
        }
        let verdicts = select(&page, "table.claims tbody tr");
        assert!(verdicts > 20, "{verdicts}");
        assert_eq!(select(&page, ".verdict"), verdicts);
        assert!(text.contains(&format!("host-sim reproduce {}", paper.name)));

        // Identifiers are unique and links within the page lead somewhere.
        let ids = Selector::parse("[id]").unwrap();
        let mut ids: Vec<_> = page.select(&ids).filter_map(|e| e.attr("id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for link in page.select(&Selector::parse("a[href]").unwrap()) {
            let target = link.attr("href").unwrap();
            assert!(ids.contains(&target.trim_start_matches('#')), "{target}");
        }
    }
}

#[test]
fn the_papers_own_number_of_replications_stands_beside_all() {
    let folder = tempfile::tempdir().unwrap();
    let line = "reproduce chuang-wu --figure 2 --replications 12 --save o";
    host_sim_in(folder.path(), line).good();
    let text = fs::read_to_string(folder.path().join("o/chuang-wu.html")).unwrap();
    let page = Html::parse_document(&text);
    let rows = Selector::parse("table.numbers tbody tr").unwrap();
    let cells = Selector::parse("th, td").unwrap();
    let rows: Vec<Vec<String>> = page
        .select(&rows)
        .map(|row| {
            row.select(&cells)
                .map(|cell| cell.text().collect())
                .collect()
        })
        .collect();
    // Eight tables of four distributions with two rows each.
    assert_eq!(rows.len(), 8 * 4 * 2);
    let heads: Vec<&str> = rows[..4].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(heads, ["U*U", "the first 10", "U*N", "the first 10"]);
    assert!(rows.iter().all(|row| row.len() == 1 + 4), "{rows:?}");
    assert!(
        rows[..8].iter().flatten().all(|cell| cell != "-"),
        "{rows:?}"
    );
    assert_ne!(rows[0][1..], rows[1][1..]);
}

#[test]
fn the_page_needs_no_network() {
    for paper in PAPERS {
        let folder = tempfile::tempdir().unwrap();
        let text = page(folder.path(), paper);
        let page = Html::parse_document(&text);
        for selector in [
            "script",
            "img",
            "iframe",
            "link:not([href='data:,'])",
            "[src]",
        ] {
            assert_eq!(select(&page, selector), 0, "{selector}");
        }
        // The name space of SVG is a name, not an address that is asked for.
        let without_names = text.replace("http://www.w3.org/2000/svg", "");
        for address in ["http:", "https:", "url(", "@import"] {
            assert!(!without_names.contains(address), "{address}");
        }
    }
}

/// What the page says about itself in a window, as the last line of its console.
const REPORT: &str = "<script>addEventListener('load', () => console.log(\
    'measured inner=' + innerWidth + ' scroll=' + document.documentElement.scrollWidth \
    + ' pictures=' + [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height > 100).length));\
    </script></body>";

/// Opens a page `width` pixels wide in Debian's `chromium` and gives what it says on its console,
/// one line an entry; an error if `chromium` cannot be started.
///
/// It is in a frame of that width, since a window of `chromium` may not be narrower than 500
/// pixels.
fn console(folder: &Path, file: &Path, width: u32) -> std::io::Result<Vec<String>> {
    const TIME_MAX: Duration = Duration::from_secs(60);
    let profile = tempfile::tempdir_in(folder).unwrap();
    let log = folder.join(format!("console-{width}"));
    let framed = folder.join(format!("framed-{width}.html"));
    let frame = format!(
        "<!DOCTYPE html><title>framed</title><iframe style=\"width:{width}px;height:3000px;border:0\" src=\"{}\">\
         </iframe>",
        file.file_name().unwrap().display()
    );
    fs::write(&framed, frame).unwrap();
    let mut child = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=3000",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={},3100", width.max(500) + 100))
        .arg(format!("file://{}", framed.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > TIME_MAX {
            child.kill()?;
            child.wait()?;
            panic!("chromium does not end: {}", fs::read_to_string(&log)?);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let log = fs::read(&log)?;
    let log = String::from_utf8_lossy(&log);
    Ok(log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect())
}

/// The number after `name=` in a line.
fn value(line: &str, name: &str) -> u32 {
    let (_, rest) = line.split_once(&format!("{name}=")).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
#[cfg_attr(not(feature = "exhaustive"), ignore = "it starts a browser")]
fn the_page_opens_in_chromium_at_400_and_1400_pixels() {
    for paper in PAPERS {
        opens_in_chromium(paper);
    }
}

fn opens_in_chromium(paper: Paper) {
    let folder = tempfile::tempdir().unwrap();
    let text = page(folder.path(), paper);
    // A copy that reports on itself.
    let reporting = text.replacen("</body>", REPORT, 1);
    assert_ne!(reporting, text);
    let file = folder.path().join("reporting.html");
    fs::write(&file, reporting).unwrap();
    // And one whose fault must be found, or this test would not see one in the page either.
    let broken = folder.path().join("broken.html");
    let fault = "<div style=\"width:2000px\">x</div><script>missing()</script></body>";
    let faulty = text.replacen("</body>", fault, 1);
    fs::write(&broken, faulty.replacen("</body>", REPORT, 1)).unwrap();

    for width in [400, 1400] {
        let lines = match console(folder.path(), &file, width) {
            Ok(lines) => lines,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                skipped(format_args!(
                    "the page in a browser: chromium cannot be started: {error}"
                ));
                return;
            }
            Err(error) => panic!("chromium: {error}"),
        };
        assert_eq!(
            lines.len(),
            1,
            "at {width} only the report is on the console: {lines:?}"
        );
        let inner = value(&lines[0], "inner");
        assert_eq!(inner, width, "{lines:?}");
        assert!(
            value(&lines[0], "scroll") <= inner,
            "it overflows: {lines:?}"
        );
        let pictures = value(&lines[0], "pictures") as usize;
        assert_eq!(pictures, paper.panels, "{lines:?}");

        let lines = console(folder.path(), &broken, width).unwrap();
        assert!(
            lines.iter().any(|line| line.contains("ReferenceError")),
            "{lines:?}"
        );
        let report = lines.iter().find(|line| line.contains("measured")).unwrap();
        assert!(value(report, "scroll") >= 2000, "{lines:?}");
    }
}
