//! The page of `view` in a real browser: what it shows is what the run gave, and clicks and keys do what they should.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use headless_chrome::browser::tab::point::Point;
use meshalloc_browser::{Window, host_sim};
use serde_json::Value;

/// The time that the page shows.
fn now(window: &Window) -> f64 {
    window.number("view.state().now")
}

/// The point in the middle of the largest rectangle of the first run's job that runs.
fn point_of_a_job(window: &Window) -> (f64, Point) {
    let found = window.eval(
        "(() => { const { page } = view; const run = page.runs[0]; \
         const canvas = document.querySelector('canvas.mesh'); \
         const box = canvas.getBoundingClientRect(); \
         const job = stateAt(run, view.state().now, page.meta.nodes).running[0]; \
         const rect = run.rects.subarray(4 * run.first[job], 4 * run.first[job] + 4); \
         const [x, y, w, h] = new Places(page.meta, canvas.clientWidth).rect(...rect); \
         return [job, box.left + x + w / 2, box.top + y + h / 2]; })()",
    );
    let at = |place: usize| found[place].as_f64().unwrap();
    (at(0), Point { x: at(1), y: at(2) })
}

const SCENARIO: &str =
    "--mesh 16x16 --strategy ff,as,mbs --load .7 --jobs 1500 --warmup 0 --seed 4";

fn page(folder: &Path, scenario: &str) -> String {
    let line = format!("view {scenario} --output o/view.html");
    let said = host_sim(folder, &line);
    assert!(said.starts_with("view: o/view.html, "), "{said}");
    fs::read_to_string(folder.join("o/view.html")).unwrap()
}

/// A job of the table that `run` writes.
type Row = BTreeMap<String, String>;

#[test]
fn the_page_shows_at_any_time_the_jobs_that_the_run_has_then() {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), SCENARIO);
    let line = format!("run {SCENARIO} --replications 1 --jobs-output jobs.csv");
    host_sim(folder.path(), &line);
    let mut reader = csv::Reader::from_path(folder.path().join("jobs.csv")).unwrap();
    let rows: Vec<Row> = reader.deserialize().map(Result::unwrap).collect();
    let Some(window) = Window::open(&folder.path().join("o/view.html"), 1400, "light") else {
        return;
    };
    window.wait_until_ready();
    let last = rows
        .iter()
        .map(|row| row["submission_time"].parse::<f64>().unwrap());
    let last = last.fold(0.0, f64::max);
    // Jobs that arrive later are not in the table.
    for part in [0.03, 0.2, 0.41, 0.666, 0.9] {
        let at = last * part;
        for (place, strategy) in ["first-fit", "adaptive-scan", "multiple-buddy"]
            .iter()
            .enumerate()
        {
            let of_run = rows.iter().filter(|row| row["strategy"] == *strategy);
            let (mut running, mut waiting, mut cells) = (Vec::new(), Vec::new(), 0);
            for row in of_run {
                let time = |column: &str| row[column].parse::<f64>().unwrap();
                if time("starting_time") <= at && at < time("finish_time") {
                    running.push(time("job_id") - 1.0);
                    cells += row["held"].parse::<i64>().unwrap();
                } else if time("submission_time") <= at && at < time("starting_time") {
                    waiting.push(time("job_id") - 1.0);
                }
            }
            let shown = window.eval(&format!(
                "(() => {{ const run = view.page.runs[{place}]; const state = stateAt(run, {at} * 1e6, 256); \
                 const cells = new Set(); for (const job of state.running) for (let i = run.first[job]; i < run.first[job + 1]; i++) {{ \
                 const [x, y, w, h] = run.rects.subarray(4 * i, 4 * i + 4); \
                 for (let dy = 0; dy < h; dy++) for (let dx = 0; dx < w; dx++) cells.add((y + dy) * 16 + x + dx); }} \
                 return [state.running.sort((a, b) => a - b), state.waiting, cells.size, state.held, run.name]; }})()"
            ));
            assert_eq!(shown[4], *strategy);
            assert_eq!(
                shown[0],
                serde_json::json!(running.iter().map(|&n| n as u64).collect::<Vec<_>>())
            );
            assert_eq!(
                shown[1],
                serde_json::json!(waiting.iter().map(|&n| n as u64).collect::<Vec<_>>())
            );
            assert_eq!(
                (shown[2].as_i64(), shown[3].as_i64()),
                (Some(cells), Some(cells))
            );
        }
    }
    window.assert_no_complaint();
}

#[test]
fn buttons_keys_and_the_pointer_do_what_they_should() {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), SCENARIO);
    for (width, scheme) in [(1400, "light"), (400, "dark")] {
        let file = folder.path().join("o/view.html");
        let Some(window) = Window::open(&file, width, scheme) else {
            return;
        };
        window.wait_until_ready();
        let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow <= 0.0, "{width}: {overflow}");
        let paper = window.eval("getComputedStyle(document.body).backgroundColor");
        assert_eq!(paper == "rgb(255, 255, 255)", scheme == "light", "{paper}");

        // Event by event, there and back.
        let begin = now(&window);
        window.press("ArrowRight");
        let next = now(&window);
        assert!(next > begin);
        window.click("#next");
        assert!(now(&window) > next);
        window.press("ArrowLeft");
        assert_eq!(now(&window), next);
        window.press("End");
        assert_eq!(now(&window), window.number("view.page.meta.end"));
        window.press("Home");
        assert_eq!(now(&window), 0.0);
        window.press("PageDown");
        assert!((now(&window) / window.number("view.page.meta.end") - 0.01).abs() < 1e-9);

        // Playing passes time, and stops.
        let speed = window.number("view.state().speed");
        window.click("#faster");
        assert_eq!(window.number("view.state().speed"), 2.0 * speed);
        let before = now(&window);
        window.click("#play");
        std::thread::sleep(Duration::from_millis(700));
        window.press(" ");
        let after = now(&window);
        assert!(after > before && window.eval("view.state().playing") == false);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(now(&window), after);

        // A job under the pointer shows its record; a click keeps it; Escape lets it go.
        window.eval("view.seek(view.page.meta.end / 2) ?? scrollTo(0, 0) ?? 0");
        let (job, point) = point_of_a_job(&window);
        window.tab.move_mouse_to_point(point).unwrap();
        assert_eq!(window.number("view.state().chosen"), job);
        let (_, point) = point_of_a_job(&window);
        window.tab.click_point(point).unwrap();
        window
            .tab
            .move_mouse_to_point(Point { x: 2.0, y: 2.0 })
            .unwrap();
        assert_eq!(window.number("view.state().chosen"), job);
        let text = window.eval("document.getElementById('job').textContent");
        let text = text.as_str().unwrap();
        assert!(
            text.contains(&format!("Job {}", job + 1.0)) && text.contains("overtaken by"),
            "{text}"
        );
        assert_eq!(
            window.number("document.querySelectorAll('#job svg path').length"),
            3.0
        );
        let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow <= 0.0, "{width}: {overflow}");
        window.press("Escape");
        assert_eq!(window.eval("view.state().chosen"), Value::Null);

        // A click on a chart goes there.
        let point = window.eval(
            "(() => { const chart = document.querySelector('canvas.chart'); chart.scrollIntoView(); \
             const box = chart.getBoundingClientRect(); return [box.left + box.width / 4, box.top + 20]; })()",
        );
        let [x, y] = [0, 1].map(|place: usize| point[place].as_f64().unwrap());
        window.tab.click_point(Point { x, y }).unwrap();
        let part = now(&window) / window.number("view.page.meta.end");
        assert!((part - 0.25).abs() < 0.01, "{part}");

        // What is drawn: the mesh has colours of jobs.
        let colours = window.number(
            "(() => { const canvas = document.querySelector('canvas.mesh'); \
             const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height); \
             const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); \
             return [0x56b4e9, 0xe69f00, 0x009e73, 0xf0e442, 0xcc79a7, 0xd55e00, 0x0072b2].filter((c) => seen.has(c)).length; })()",
        );
        assert!(colours >= 2.0, "{colours}");
        window.assert_no_complaint();
    }
}

#[test]
fn a_fault_in_the_page_would_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let text = page(folder.path(), "--mesh 4x4 --jobs 50");
    let broken = folder.path().join("broken.html");
    fs::write(
        &broken,
        text.replacen("</body>", "<script>missing()</script></body>", 1),
    )
    .unwrap();
    let Some(window) = Window::open(&broken, 1400, "light") else {
        return;
    };
    window.wait_until_ready();
    let complaints = window.complaints();
    assert!(
        complaints
            .iter()
            .any(|complaint| complaint.contains("ReferenceError")),
        "{complaints:?}"
    );
}

#[test]
fn grids_of_more_dimensions_and_cubes_are_planes() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, columns, planes) in [
        (
            "--mesh 4x4x3 --strategy ff,as --load .5 --jobs 200",
            12.0,
            3.0,
        ),
        ("--cube k=3,n=4 --strategy tc,sniffing --tasks 60", 9.0, 9.0),
        ("--torus 8x8 --strategy ff --load .5 --jobs 200", 8.0, 1.0),
    ] {
        page(folder.path(), scenario);
        let Some(window) = Window::open(&folder.path().join("o/view.html"), 1400, "light") else {
            return;
        };
        window.wait_until_ready();
        assert_eq!(window.number("view.page.meta.gapsAcross.length"), columns);
        assert_eq!(window.number("view.page.meta.planes.length"), planes);
        window.assert_no_complaint();
    }
}

#[test]
fn a_hundred_thousand_jobs_take_less_than_10_mb_and_50_ms_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "--mesh 64x64 --strategy ff,as,fsl --load .5 --jobs 100000";
    let bytes = page(folder.path(), scenario).len();
    assert!(bytes < 10_000_000, "{bytes}");
    let Some(window) = Window::open(&folder.path().join("o/view.html"), 1400, "light") else {
        return;
    };
    window.wait_until_ready();
    // Reading a pixel waits for what is drawn.
    let times = window.eval(
        "(() => { const times = []; for (let i = 0; i < 200; i++) { const begin = performance.now(); \
         view.seek(view.page.meta.end * ((i * 37) % 200) / 200); \
         document.querySelector('canvas.mesh').getContext('2d').getImageData(0, 0, 1, 1); \
         times.push(performance.now() - begin); } return times.sort((a, b) => a - b); })()",
    );
    let [median, slow] = [100, 190].map(|place: usize| times[place].as_f64().unwrap());
    eprintln!("{bytes} bytes; a frame takes {median:.1} ms, one in twenty more than {slow:.1} ms");
    // The machine may do other things meanwhile.
    assert!(median < 50.0, "{times}");
}
