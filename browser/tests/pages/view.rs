//! The page of `view` in a real browser: it shows the results of the run, and clicks and keys work.

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
         const [x, y, w, h] = view.places().rect(...rect); \
         return [job, box.left + x + w / 2, box.top + y + h / 2]; })()",
    );
    let at = |place: usize| found[place].as_f64().unwrap();
    (at(0), Point { x: at(1), y: at(2) })
}

/// Which of the signs on the play button are shown: 0 stands for play, 1 for pause.
fn shown_signs(window: &Window) -> Vec<u64> {
    let shown = window.eval(
        "[...document.querySelectorAll('#play svg')] \
         .map((sign, place) => sign.getBoundingClientRect().width ? place : null) \
         .filter((place) => place !== null)",
    );
    serde_json::from_value(shown).unwrap()
}

/// A text on a canvas, which has a class and a place among those of its class, and the edges of
/// the text within it.
#[derive(Debug, serde::Deserialize)]
struct Text {
    class: String,
    place: usize,
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    width: f64,
    height: f64,
}

impl Text {
    fn overlaps(&self, other: &Text) -> bool {
        (&self.class, self.place) == (&other.class, other.place)
            && self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Every text on the canvases of the page as it is now.
fn texts(window: &Window) -> Vec<Text> {
    let texts = window.eval(
        "(() => { const texts = []; \
         const { prototype } = CanvasRenderingContext2D; const { fillText } = prototype; \
         prototype.fillText = function (text, x, y) { \
           const { canvas } = this; const name = canvas.className; const ratio = devicePixelRatio; \
           const box = this.measureText(text); \
           const place = [...document.getElementsByClassName(name)].indexOf(canvas); \
           texts.push({ class: name, place, text: String(text), \
             left: x - box.actualBoundingBoxLeft, right: x + box.actualBoundingBoxRight, \
             top: y - box.actualBoundingBoxAscent, bottom: y + box.actualBoundingBoxDescent, \
             width: canvas.width / ratio, height: canvas.height / ratio }); \
           return fillText.call(this, text, x, y); }; \
         view.draw(); prototype.fillText = fillText; return texts; })()",
    );
    serde_json::from_value(texts).unwrap()
}

fn assert_readable(texts: &[Text]) {
    for (place, text) in texts.iter().enumerate() {
        let is_within = text.left >= -1.0
            && text.top >= -1.0
            && text.right <= text.width + 1.0
            && text.bottom <= text.height + 1.0;
        assert!(is_within, "{text:?}");
        let other = texts[..place].iter().find(|other| other.overlaps(text));
        assert!(other.is_none(), "{text:?} {other:?}");
    }
}

/// Windows of a usual screen and of a telephone.
const WIDE: (u32, u32) = (1400, 900);
const NARROW: (u32, u32) = (400, 800);

const SCENARIO: &str =
    "--mesh 16x16 --strategy ff,as,mbs --load .7 --jobs 1500 --warmup 0 --seed 4";

fn page(folder: &Path, scenario: &str) -> String {
    let line = format!("view {scenario} -o o/view.html");
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
    let line = format!("run {SCENARIO} --replications 1 -o jobs.csv");
    host_sim(folder.path(), &line);
    let mut reader = csv::Reader::from_path(folder.path().join("jobs.csv")).unwrap();
    let rows: Vec<Row> = reader.deserialize().map(Result::unwrap).collect();
    let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
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
    for (size, scheme) in [(WIDE, "light"), (NARROW, "dark")] {
        let width = size.0;
        let file = folder.path().join("o/view.html");
        let Some(window) = Window::open(&file, size, scheme) else {
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

        // Playing passes time, all of it in two minutes, and stops.
        let speed = window.number("view.state().speed");
        let whole = window.number("view.page.meta.end") / speed;
        assert!((whole - 120.0).abs() < 1e-6, "{whole}");
        assert_eq!(shown_signs(&window), [0]);
        window.click("#faster");
        assert_eq!(window.number("view.state().speed"), 2.0 * speed);
        let before = now(&window);
        window.click("#play");
        window.wait_for(&format!("view.state().now > {before}"));
        assert_eq!(shown_signs(&window), [1]);
        window.press(" ");
        assert_eq!(shown_signs(&window), [0]);
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
            window.number("document.querySelectorAll('#job svg path:not(.axes)').length"),
            3.0
        );
        let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow <= 0.0, "{width}: {overflow}");
        window.press("Escape");
        assert_eq!(window.eval("view.state().chosen"), Value::Null);

        // A click on a chart goes there.
        let point = window.eval(
            "(() => { const chart = document.querySelector('canvas.chart'); chart.scrollIntoView(); \
             const box = chart.getBoundingClientRect(); const frame = new Frame(box.width, 1, 1); \
             return [box.left + frame.x(0.25), box.top + 20]; })()",
        );
        let [x, y] = [0, 1].map(|place: usize| point[place].as_f64().unwrap());
        window.tab.click_point(Point { x, y }).unwrap();
        let part = now(&window) / window.number("view.page.meta.end");
        assert!((part - 0.25).abs() < 0.01, "{part}");

        // The mesh is drawn with colours of jobs.
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
    let Some(window) = Window::open(&broken, WIDE, "light") else {
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
        ("--mesh 4x4x3 --strategy ff,as --load .5 --jobs 200", 12, 3),
        (
            "--machine 3-ary-4-cube --strategy tc,sniffing --batch 60",
            9,
            9,
        ),
        ("--torus 8x8 --strategy ff --load .5 --jobs 200", 8, 1),
    ] {
        page(folder.path(), scenario);
        let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
            return;
        };
        window.wait_until_ready();
        let drawn = window.eval(
            "[view.places().planes.w * view.places().planes.axes[0].all, \
             view.places().shownPlanes().length]",
        );
        assert_eq!(drawn, serde_json::json!([columns, planes]));
        window.assert_no_complaint();
    }
}

#[test]
fn a_hundred_thousand_jobs_take_less_than_10_mb_and_50_ms_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "--mesh 64x64 --strategy ff,as,fsl --load .5 --jobs 100000";
    let bytes = page(folder.path(), scenario).len();
    assert!(bytes < 10_000_000, "{bytes}");
    let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
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
    // The machine may do other things meanwhile: not so during the quickest tenth.
    assert!(times[20].as_f64().unwrap() < 50.0, "{times}");
}

#[test]
fn curves_have_axes() {
    let folder = tempfile::tempdir().unwrap();
    // A job an hour for 100 days; the last 50 days' jobs are too many.
    let line = |hour: u32| {
        let run = if hour < 1200 { 1_800 } else { 9_000 };
        format!(
            "{hour} {} -1 {run} 9 -1 -1 9 {run} -1 1 1 1 -1 -1 1 -1 -1\n",
            3_600 * hour
        )
    };
    let log: String = (1..=2_400).map(line).collect();
    fs::write(folder.path().join("log.swf"), log).unwrap();
    for (scenario, unit, known) in [
        (SCENARIO, "s", "5,000 s"),
        ("--mesh 4x4 --log log.swf --strategy ff,naive", "d", "100 d"),
        ("--mesh 4x4 --batch 5 --strategy ff", "s", "0 s"),
    ] {
        page(folder.path(), scenario);
        for size in [WIDE, NARROW] {
            let file = folder.path().join("o/view.html");
            let Some(window) = Window::open(&file, size, "light") else {
                return;
            };
            window.wait_until_ready();
            let texts = texts(&window);
            let texts: Vec<Text> = texts
                .into_iter()
                .filter(|text| text.class == "chart")
                .collect();
            assert_readable(&texts);
            for chart in 0..3 {
                let of_chart: Vec<&Text> =
                    texts.iter().filter(|text| text.place == chart).collect();
                let ends = format!(" {unit}");
                let (times, values): (Vec<&Text>, Vec<&Text>) =
                    of_chart.iter().partition(|text| text.text.ends_with(&ends));
                assert!(times.len() >= 2 && values.len() >= 2, "{of_chart:?}");
                assert!(times.iter().any(|text| text.text == known), "{of_chart:?}");
                let values: Vec<&str> = values.iter().map(|text| &*text.text).collect();
                match chart {
                    // The axis ends at a round number above the curve.
                    0 | 1 => {
                        assert_eq!(values[0], "0 %");
                        assert!(
                            values.iter().all(|value| value.ends_with(" %")),
                            "{values:?}"
                        );
                    }
                    _ => assert_eq!(values[0], "0"),
                }
            }
            // The numbers stand where the curves have these values.
            let part = window.number(
                "(() => { const frame = new Frame(500, view.page.meta.end, 7); \
                 return [frame.time(frame.x(view.page.meta.end / 3)) / view.page.meta.end, \
                 (frame.y(0) - frame.y(3.5)) / frame.height].reduce((a, b) => a * b); })()",
            );
            assert!((part - 0.5 / 3.0).abs() < 1e-9, "{part}");
            window.assert_no_complaint();
        }
    }
}

#[test]
fn a_run_in_which_no_time_passes_is_at_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    page(
        folder.path(),
        "--torus 8x8x8 --strategy partner --batch 1 --seed 3",
    );
    let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
        return;
    };
    window.wait_until_ready();
    for key in ["ArrowRight", " ", "PageDown", "End", "+", "ArrowLeft"] {
        window.press(key);
        let shown = window.eval(
            "[document.getElementById('scrub').value, document.getElementById('time').textContent, \
             document.getElementById('speed').textContent, \
             document.querySelector('.state').textContent, \
             document.querySelector('#meshes small').textContent]",
        );
        let expected = serde_json::json!([
            "0",
            "0 s of 0 s",
            "0 s/s",
            "0 run, 0 wait, 1 refused; 0.0 % in use, 0.0 % fragmented",
            "1 of 1 job refused"
        ]);
        assert_eq!(shown, expected, "{key}");
    }
    window.assert_no_complaint();
}

/// The cells of the record of a job, by the name of the row.
fn record(window: &Window) -> BTreeMap<String, Vec<String>> {
    let rows = window.eval(
        "Object.fromEntries([...document.querySelectorAll('#job tbody tr')].map((row) => \
         [row.querySelector('th').textContent, \
         [...row.querySelectorAll('td')].map((cell) => cell.textContent)]))",
    );
    serde_json::from_value(rows).unwrap()
}

#[test]
fn a_job_that_never_waited_or_ran_has_no_numbers_of_waiting_and_running() {
    let folder = tempfile::tempdir().unwrap();
    page(
        folder.path(),
        "--torus 8x8x8 --strategy partner,ff --load .7 --jobs 300 --seed 1",
    );
    let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
        return;
    };
    window.wait_until_ready();
    // One job for each fate in a run: its number, and the place of the run.
    let found = window.eval(
        "view.page.runs.flatMap((run, place) => \
         ['refused', 'waits', 'runs', 'left', 'absent'].map((fate) => { \
         for (let job = 0; job < view.page.jobs.count; job++) \
           if (fateOf(run, job) === fate) return [fate, place, job]; \
         return null; })).filter((found) => found)",
    );
    let found: Vec<(String, usize, u64)> = serde_json::from_value(found).unwrap();
    let mut fates: Vec<&str> = found.iter().map(|(fate, ..)| &**fate).collect();
    fates.sort_unstable();
    fates.dedup();
    assert_eq!(fates, ["absent", "left", "refused", "runs", "waits"]);
    for (fate, run, job) in &found {
        window.eval(&format!("view.choose({job}) ?? 0"));
        let rows = record(&window);
        let cell = |row: &str| &*rows[row][*run];
        let waited = ["waited", "ahead at arrival", "overtaken by"].map(cell);
        let ran = ["left", "misses", "held"].map(cell);
        match &**fate {
            "refused" | "absent" => {
                assert_eq!((waited, ran), (["–"; 3], ["–"; 3]), "{fate} {job}");
            }
            "waits" => assert_eq!(ran, ["–"; 3], "{fate} {job}"),
            _ => assert!(
                !waited.contains(&"–") && !ran.contains(&"–"),
                "{fate} {job}"
            ),
        }
        let started = match &**fate {
            "refused" => "refused",
            "absent" => "not arrived",
            "waits" => "waits at the end",
            _ => cell("started"),
        };
        assert_eq!(cell("started"), started);
        // Nothing is marked in the curves of a run in which it did not wait.
        let (fate, is_first) = (&**fate, *run == 0);
        let marking = window.eval("document.querySelector('.legend + p').textContent");
        if is_first {
            let is_marked = !matches!(fate, "refused" | "absent");
            assert_eq!(marking != "", is_marked, "{fate}: {marking}");
        }
    }
    window.assert_no_complaint();
}

#[test]
fn the_record_of_a_chosen_job_is_above_the_control_bar() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, scrolls) in [
        (SCENARIO, false),
        (
            "--torus 8x8x8 --strategy ff,naive,partner --load .5 --jobs 200",
            false,
        ),
        (
            "--mesh 16x16 --strategy ff,as,fsl,naive,2db,fs,bf,bl,mbs --load .5 --jobs 200",
            true,
        ),
    ] {
        page(folder.path(), scenario);
        for size in [WIDE, NARROW] {
            let file = folder.path().join("o/view.html#job=100");
            let Some(window) = Window::open(&file, size, "light") else {
                return;
            };
            window.wait_until_ready();
            let room = window.number(
                "document.getElementById('controls').getBoundingClientRect().top - \
                 document.getElementById('job').getBoundingClientRect().bottom",
            );
            assert!(room >= 0.0, "{scenario} {size:?}: {room}");
            let top =
                window.number("document.querySelector('#job table').getBoundingClientRect().top");
            assert!(top >= 0.0, "{scenario} {size:?}: {top}");
            if size == WIDE && !scrolls {
                assert_eq!(window.number("scrollY"), 0.0, "{scenario}");
            }
            window.assert_no_complaint();
        }
    }
}

#[test]
fn planes_have_coordinates_and_no_strip() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, sentence, labels) in [
        (
            "--torus 8x8x8 --strategy ff,naive --load .5 --jobs 200",
            "Each plane: x to the right, y upwards. Above each plane: z.",
            (0..8).map(|z| format!("z = {z}")).collect::<Vec<_>>(),
        ),
        (
            "--machine 3-ary-4-cube --strategy tc --batch 60",
            "Each plane: A[0] to the right, A[1] upwards. Above each plane: A[3], A[2].",
            (0..9)
                .map(|plane| format!("{}{}", plane / 3, plane % 3))
                .collect(),
        ),
        (
            "--mesh 16x16 --strategy ff --load .5 --jobs 200",
            "",
            vec![],
        ),
    ] {
        page(folder.path(), scenario);
        for size in [WIDE, NARROW] {
            let file = folder.path().join("o/view.html");
            let Some(window) = Window::open(&file, size, "light") else {
                return;
            };
            window.wait_until_ready();
            window.eval("(view.showLayer(null), view.seek(0)) ?? 0");
            let shown = window.eval("document.getElementById('planes').textContent");
            assert_eq!(shown, sentence, "{scenario} {size:?}");
            let texts = texts(&window);
            // Without the numbers of jobs.
            let is_label = |text: &str| {
                labels.iter().any(|label| label == text) || text.parse::<u32>().is_err()
            };
            let of_mesh = texts
                .into_iter()
                .filter(|text| text.class == "mesh" && text.place == 0 && is_label(&text.text));
            let of_mesh: Vec<Text> = of_mesh.collect();
            assert_readable(&of_mesh);
            let mut shown: Vec<_> = of_mesh.iter().map(|text| text.text.clone()).collect();
            shown.sort_unstable();
            assert_eq!(shown, labels, "{scenario} {size:?}");
            let shape = window.number("view.places().width / view.places().height");
            assert!((0.25..4.0).contains(&shape), "{scenario} {size:?}: {shape}");
            window.assert_no_complaint();
        }
    }
}

/// The number of a processor by its coordinates, the lowest dimension first.
fn node(sides: &[u64], coordinates: &BTreeMap<String, u64>, names: &[&str]) -> u64 {
    let places = sides.iter().zip(names).rev();
    places.fold(0, |node, (side, name)| node * side + coordinates[*name])
}

/// The numbers that `run` writes of a job's processors, `0-3 8`.
fn numbers(text: &str) -> Vec<u64> {
    let ranges = text.split_whitespace().flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u64>().unwrap()..=last.parse::<u64>().unwrap()
    });
    let mut numbers: Vec<_> = ranges.collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_point_of_a_job_has_the_coordinates_of_one_of_its_processors() {
    let folder = tempfile::tempdir().unwrap();
    for (options, sides, names) in [
        (
            "--torus 4x6x5 --strategy naive --load .6 --jobs 60 --warmup 0",
            &[4, 6, 5][..],
            &["x", "y", "z"][..],
        ),
        (
            "--mesh 3x4x2x5 --strategy naive --load .6 --jobs 60 --warmup 0",
            &[3, 4, 2, 5],
            &["x", "y", "z", "d3"],
        ),
        (
            "--machine 2-ary-7-cube --strategy tc --batch 40",
            &[2; 7],
            &["A[0]", "A[1]", "A[2]", "A[3]", "A[4]", "A[5]", "A[6]"],
        ),
        (
            "--mesh 30 --strategy naive --load .6 --jobs 60 --warmup 0",
            &[30],
            &["x"],
        ),
    ] {
        page(folder.path(), options);
        let line = format!("run {options} --replications 1 -o jobs.csv");
        host_sim(folder.path(), &line);
        let mut reader = csv::Reader::from_path(folder.path().join("jobs.csv")).unwrap();
        let rows: Vec<Row> = reader.deserialize().map(Result::unwrap).collect();
        assert!(rows.len() >= 40, "{options}");
        for size in [WIDE, NARROW] {
            let file = folder.path().join("o/view.html");
            let Some(window) = Window::open(&file, size, "light") else {
                return;
            };
            window.wait_until_ready();
            window.eval("view.showLayer(null) ?? 0");
            // For each job, the names under the middles of its processors.
            let seen = window.eval(
                "(() => { const [run] = view.page.runs; const places = view.places(); \
                 return Array.from({ length: run.count }, (_, job) => { const names = []; \
                 for (let at = 4 * run.first[job]; at < 4 * run.first[job + 1]; at += 4) { \
                   const [left, top, w, h] = places.rect(...run.rects.subarray(at, at + 4)); \
                   const [across, up] = [run.rects[at + 2], run.rects[at + 3]]; \
                   for (let i = 0; i < across; i++) for (let j = 0; j < up; j++) { \
                     const [x, y] = [left + (i + 0.5) * w / across, top + (j + 0.5) * h / up]; \
                     if (x < 0 || y < 0) return 'outside'; \
                     if (x > places.width || y > places.height) return 'outside'; \
                     names.push(places.name(places.at(x, y))); } } \
                 return names; }); })()",
            );
            let seen: Vec<Vec<String>> = serde_json::from_value(seen).unwrap();
            for row in &rows {
                let job = row["job_id"].parse::<usize>().unwrap() - 1;
                let shown = seen[job].iter().map(|name| {
                    let coordinates = name.split(", ").map(|part| {
                        let (name, value) = part.split_once(" = ").unwrap();
                        (name.to_owned(), value.parse().unwrap())
                    });
                    node(sides, &coordinates.collect(), names)
                });
                let mut shown: Vec<u64> = shown.collect();
                shown.sort_unstable();
                let expected = numbers(&row["allocated_resources"]);
                assert_eq!(shown, expected, "{options} {size:?}, job {job}");
            }
            window.assert_no_complaint();
        }
    }
}

/// A letter that no font has is drawn like a code point without a character.
#[test]
fn no_letter_of_the_page_is_missing_in_its_font() {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), SCENARIO);
    let file = folder.path().join("o/view.html#job=700");
    let Some(window) = Window::open(&file, WIDE, "light") else {
        return;
    };
    window.wait_until_ready();
    window.click("#play");
    let missing = window.eval(
        "(() => { const canvas = document.createElement('canvas'); \
         Object.assign(canvas, { width: 40, height: 40 }); \
         const context = canvas.getContext('2d', { willReadFrequently: true }); \
         context.font = '24px system-ui, sans-serif'; \
         const drawn = (letter) => { context.clearRect(0, 0, 40, 40); \
           context.fillText(letter, 4, 30); \
           return context.getImageData(0, 0, 40, 40).data.join(); }; \
         const none = drawn('\u{378}'); \
         const titles = [...document.querySelectorAll('[title]')].map((one) => one.title); \
         const letters = new Set(document.body.innerText + titles.join('')); \
         return { missing: [...letters].filter((letter) => drawn(letter) === none), \
           control: drawn('a') === none, count: letters.size }; })()",
    );
    assert_eq!(missing["missing"], serde_json::json!([]), "{missing}");
    assert_eq!(missing["control"], false, "{missing}");
    assert!(missing["count"].as_u64().unwrap() > 50, "{missing}");
}

#[test]
fn times_are_read_in_the_unit_of_their_length() {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), "--mesh 4x4 --jobs 50");
    let Some(window) = Window::open(&folder.path().join("o/view.html"), WIDE, "light") else {
        return;
    };
    window.wait_until_ready();
    for (is_log, seconds, time, rate) in [
        (true, 59.0, "59 s", "59 s/s"),
        (true, 3_599.0, "3,599 s", "3,600 s/s"),
        (true, 3_600.0, "1:00:00", "1 h/s"),
        (true, 86_399.0, "23:59:59", "24 h/s"),
        (
            true,
            117.0 * 86_400.0 + 80_212.0,
            "117 d 22:16:52",
            "120 d/s",
        ),
        (false, 80_212.25, "80,212.25 s", "80,000 s/s"),
        (false, 86_400.5, "1 d 00:00:00", "24 h/s"),
    ] {
        let meta = format!("{{ unit: 's', ticks: 1e6, isLog: {is_log} }}");
        let ticks = seconds * 1e6;
        let shown = window.eval(&format!(
            "[timeText({meta}, {ticks}), rateText({meta}, {ticks})]"
        ));
        assert_eq!(shown, serde_json::json!([time, rate]));
    }
    let steps = window.eval("[0.03, 1, 1.1, 2.5, 7, 51].map((least) => roundStep(least))");
    assert_eq!(steps, serde_json::json!([0.05, 1, 2, 5, 10, 100]));
    // The axis of a curve of .8 % ends at 1 %.
    let tops = window.eval("[0, 0.8, 1.2, 45, 65, 100].map((most) => percentAbove(most, 100))");
    assert_eq!(tops, serde_json::json!([0.1, 1, 2, 50, 100, 100]));
    let texts = window.eval("valueTicks({ most: 41, percent: 1 }, 76)");
    assert_eq!(
        texts,
        serde_json::json!([[0, "0 %"], [20.5, "0.5 %"], [41, "1 %"]])
    );
}

/// At many moments of each run: the processors that are down, and whether a job runs on them; pairs
/// of jobs that touch, and those of them that share a colour although it has fewer neighbours than
/// there are colours and neither has started again. The processors of jobs by themselves are
/// compared with the sum of the state, and the colours of a job with its first.
const AT_MOMENTS: &str = "view.page.runs.map((run) => { \
     const { meta } = view.page; const found = { down: [], onDown: 0, pairs: 0, same: 0 }; \
     if (run.job.some((job, at) => run.colour[at] !== run.colour[job])) throw new Error('colour'); \
     for (let part = 1; part < 200; part++) { \
       const now = run.end * part / 200; const state = stateAt(run, now, meta.nodes); \
       const cells = Cells.of(planesOf(run.meta)); const placed = [...state.running, ...state.stopped]; \
       for (const at of placed) cells.take(rectsAt(run, at), at); \
       if (cells.owners.filter((at) => at >= 0).length !== state.held) throw new Error('held'); \
       const down = new Cells(cells.width, cells.height); down.take(downAt(run, now), 1); \
       const nodes = [...down.owners.keys()].filter((at) => down.owners[at] === 1); \
       if (nodes.length !== state.down) throw new Error('down'); \
       found.down.push([now / meta.ticks, nodes]); \
       found.onDown += nodes.filter((at) => state.running.includes(cells.owners[at])).length; \
       for (const at of placed) { \
         const around = [...cells.around(rectsAt(run, at))].filter((other) => other !== at); \
         const firsts = around.filter((other) => other < run.count); \
         const colours = new Set(firsts.map((other) => run.colour[other])); \
         found.pairs += around.length; \
         const isFirst = at < run.count && colours.size < 7; \
         if (isFirst && colours.has(run.colour[at])) found.same++; } } \
     return found; })";

#[test]
fn failures_are_shown_and_jobs_that_touch_differ_in_colour() {
    let folder = tempfile::tempdir().unwrap();
    // The boxes of 4 x 4 that fail, and when. Each is down for 35 s.
    let outages: Vec<(f64, u64)> = (1..60).map(|n| (25.0 * n as f64, n * 7 % 16)).collect();
    let mut events: Vec<(f64, u64, &str)> = Vec::new();
    for &(at, which) in &outages {
        events.extend([(at, which, "down"), (at + 35.0, which, "up")]);
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    let lines = events
        .iter()
        .map(|(at, which, state)| format!("{at},4x4,{which},{state}\n"));
    let text = "time,what,which,state\n".to_owned() + &lines.collect::<String>();
    fs::write(folder.path().join("events.csv"), text).unwrap();
    for (restart, sign) in [
        ("elsewhere", "waits to start again"),
        ("in-place", "stopped by"),
    ] {
        let scenario = format!(
            "--torus 16x16 --strategy ff,as --side-range 1..6 --load .6 --jobs 600 --warmup 0 \
             --failures events.csv --restart {restart}"
        );
        page(folder.path(), &scenario);
        let line = format!("run {scenario} --replications 1 -o jobs.csv");
        host_sim(folder.path(), &line);
        let mut reader = csv::Reader::from_path(folder.path().join("jobs.csv")).unwrap();
        let rows: Vec<Row> = reader.deserialize().map(Result::unwrap).collect();
        for size in [WIDE, NARROW] {
            let Some(window) = Window::open(&folder.path().join("o/view.html"), size, "dark")
            else {
                return;
            };
            window.wait_until_ready();
            let found = window.eval(AT_MOMENTS);
            for run in found.as_array().unwrap() {
                let down: Vec<(f64, Vec<u64>)> =
                    serde_json::from_value(run["down"].clone()).unwrap();
                for (at, nodes) in down {
                    let is_down = |node: &u64| {
                        let of = node % 16 / 4 + node / 16 / 4 * 4;
                        let mut now = outages
                            .iter()
                            .filter(|one| one.0 <= at && at < one.0 + 35.0);
                        now.any(|(_, which)| *which == of)
                    };
                    let expected: Vec<u64> = (0..256).filter(is_down).collect();
                    assert_eq!(nodes, expected, "{restart} at {at}");
                }
                assert_eq!(run["onDown"], 0, "{restart}");
                assert!(run["pairs"].as_u64().unwrap() > 1000, "{restart}");
                assert_eq!(run["same"], 0, "{restart}");
            }
            // Each job started as often as in the run, and its record has the times.
            let stretches = window.eval(
                "view.page.runs.map((run) => Array.from({ length: run.count }, (_, job) => \
                 stretchesOf(run, job).length))",
            );
            for (place, name) in ["first-fit", "adaptive-scan"].iter().enumerate() {
                for row in rows.iter().filter(|row| row["strategy"] == *name) {
                    let job = row["job_id"].parse::<usize>().unwrap() - 1;
                    let restarts = row["restarts"].parse::<u64>().unwrap();
                    assert_eq!(stretches[place][job], restarts + 1, "{name}, job {job}");
                }
            }
            let job = rows.iter().find(|row| row["restarts"] == "1").unwrap();
            let number = job["job_id"].parse::<usize>().unwrap() - 1;
            window.eval(&format!("view.choose({number}) ?? 0"));
            let place = usize::from(job["strategy"] != "first-fit");
            let text = &record(&window)["interrupted"][place];
            assert!(
                text.starts_with("at ") && text.contains(", again at "),
                "{text}"
            );
            let legend = window.eval("document.getElementById('failures').textContent");
            let legend = legend.as_str().unwrap();
            assert!(
                legend.contains("down: has failed") && legend.contains(sign),
                "{legend}"
            );
            window.eval("(view.seek(view.page.meta.end / 4), view.draw()) ?? 0");
            let label =
                window.eval("document.querySelector('canvas.mesh').getAttribute('aria-label')");
            let label = label.as_str().unwrap();
            assert!(
                label.contains(" % down; ") && label.contains("interruption"),
                "{label}"
            );
            let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
            assert!(overflow <= 0.0, "{size:?}: {overflow}");
            window.assert_no_complaint();
        }
    }
}
