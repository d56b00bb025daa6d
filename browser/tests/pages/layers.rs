//! The page of `view` for machines of three dimensions and machines of cubes: layers, the colours
//! of processors, and the record of slices.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use headless_chrome::browser::tab::point::Point;
use meshalloc_browser::{Window, host_sim};
use serde_json::{Value, json};

const WIDE: (u32, u32) = (1400, 900);
const NARROW: (u32, u32) = (400, 800);

/// A torus, and cubes that switches join.
const TORUS: &str = "--torus 8x6x5 --strategy ff,folding --load .7 --jobs 150 --warmup 0";
const CUBES: &str =
    "--machine pod.toml --mix rfold --strategy cubes,cubes:fold --load .4 --jobs 150 --warmup 0";
const POD: &str = "name = \"pod\"\nsides = [16, 16, 16]\nwraps = [true, true, true]\n\
                   rotate = true\ncube = [4, 4, 4]\n";

/// The colours of jobs (`draw.js`).
const COLOURS: [&str; 7] = [
    "86,180,233",
    "230,159,0",
    "0,158,115",
    "240,228,66",
    "204,121,167",
    "213,94,0",
    "0,114,178",
];

/// Waits until the requested state is drawn.
const DRAWN: &str = "new Promise((done) => requestAnimationFrame(() => \
                     requestAnimationFrame(() => done(0))))";

/// A job of the table that `run` writes.
type Row = BTreeMap<String, String>;

/// Writes the page, and returns the jobs of the same run.
fn page(folder: &Path, scenario: &str) -> Vec<Row> {
    fs::write(folder.join("pod.toml"), POD).unwrap();
    host_sim(folder, &format!("view {scenario} -o view.html"));
    let line = format!("run {scenario} --replications 1 -o jobs.csv");
    host_sim(folder, &line);
    let mut reader = csv::Reader::from_path(folder.join("jobs.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn open(folder: &Path, size: (u32, u32), scheme: &str) -> Option<Window> {
    let window = Window::open(&folder.join("view.html"), size, scheme)?;
    window.wait_until_ready();
    Some(window)
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// The numbers of the processors of the jobs that run at a time, with the place of their job.
fn held(rows: &[Row], strategy: &str, at: f64) -> BTreeMap<u64, usize> {
    let mut held = BTreeMap::new();
    for row in rows.iter().filter(|row| row["strategy"] == strategy) {
        let time = |column: &str| row[column].parse::<f64>();
        let (Ok(start), Ok(end)) = (time("starting_time"), time("finish_time")) else {
            continue;
        };
        if !(start <= at && at < end) {
            continue;
        }
        for range in row["allocated_resources"].split_whitespace() {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let nodes = first.parse::<u64>().unwrap()..=last.parse::<u64>().unwrap();
            held.extend(nodes.map(|node| (node, number(row, "job_id") as usize - 1)));
        }
    }
    held
}

/// The colour in the middle of each processor that a mesh shows, by the processor's number. They
/// are read from a copy, since Chromium complains when a canvas that it draws on is read
/// repeatedly.
fn shown(window: &Window, mesh: usize) -> BTreeMap<u64, String> {
    let cells = window.eval(&format!(
        "(() => {{ const places = view.places(); const {{ w, h }} = places.planes; \
         const {{ prototype }} = CanvasRenderingContext2D; \
         const {{ fillText, strokeText }} = prototype; \
         prototype.fillText = prototype.strokeText = () => {{}}; view.draw(); \
         Object.assign(prototype, {{ fillText, strokeText }}); \
         const canvas = document.querySelectorAll('canvas.mesh')[{mesh}]; \
         const copy = new OffscreenCanvas(canvas.width, canvas.height); \
         const pixels = copy.getContext('2d', {{ willReadFrequently: true }}); \
         pixels.drawImage(canvas, 0, 0); \
         const {{ data }} = pixels.getImageData(0, 0, canvas.width, canvas.height); \
         return places.shownPlanes().flatMap(([p, q]) => \
           Array.from({{ length: w * h }}, (_, at) => {{ \
             const cell = [p * w + at % w, q * h + Math.floor(at / w)]; \
             const [left, top, width, height] = places.rect(...cell, 1, 1); \
             const [x, y] = [Math.floor(left + width / 2), Math.floor(top + height / 2)]; \
             const pixel = 4 * (y * canvas.width + x); \
             let node = 0; \
             for (let d = places.meta.dimensions.length - 1; d >= 0; d--) \
               node = node * places.meta.dimensions[d].side + places.coordinate(cell, d); \
             return [node, data.slice(pixel, pixel + 3).join()]; }})); }})()"
    ));
    let cells: Vec<(u64, String)> = serde_json::from_value(cells).unwrap();
    let count = cells.len();
    let cells: BTreeMap<_, _> = cells.into_iter().collect();
    assert_eq!(cells.len(), count, "a processor is shown twice");
    cells
}

/// Asserts that all processors of a job have the same colour, and that free ones have no colour of
/// a job. `of_jobs` has the colours of the jobs so far.
fn assert_coloured(
    shown: &BTreeMap<u64, String>,
    held: &BTreeMap<u64, usize>,
    of_jobs: &mut BTreeMap<usize, String>,
    what: &str,
) {
    for (node, colour) in shown {
        let is_of_job = COLOURS.contains(&&**colour);
        assert_eq!(
            is_of_job,
            held.contains_key(node),
            "{what}: {node} is {colour}"
        );
        if let Some(job) = held.get(node) {
            let known = of_jobs.entry(*job).or_insert_with(|| colour.clone());
            assert_eq!(known, colour, "{what}: {node} of job {job}");
        }
    }
}

#[test]
fn every_processor_has_the_colour_of_its_job_in_all_layers_and_in_each() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, strategies, nodes, layers) in [
        (TORUS, ["first-fit", "folding"], 240, 5),
        (CUBES, ["cubes", "cubes:fold"], 4096, 16),
    ] {
        let rows = page(folder.path(), scenario);
        let end = rows.iter().map(|row| number(row, "submission_time"));
        let end = end.fold(0.0, f64::max);
        for (size, scheme) in [(WIDE, "light"), (NARROW, "dark")] {
            let Some(window) = open(folder.path(), size, scheme) else {
                return;
            };
            for part in [0.3, 0.8] {
                let at = end * part;
                window.eval(&format!("view.seek({at} * view.page.meta.ticks) ?? 0"));
                for (mesh, strategy) in strategies.iter().enumerate() {
                    let held = held(&rows, strategy, at);
                    assert!(held.len() > nodes / 10, "{scenario}: {}", held.len());
                    let what = format!("{strategy} at {at}, {size:?}");
                    window.eval("view.showLayer(null) ?? 0");
                    let all = shown(&window, mesh);
                    assert_eq!(all.len(), nodes, "{what}");
                    let mut colours = BTreeMap::new();
                    assert_coloured(&all, &held, &mut colours, &what);
                    let distinct: BTreeSet<_> = colours.values().collect();
                    assert!(
                        colours.len() < 2 || distinct.len() > 1,
                        "{what}: one colour"
                    );
                    let mut seen = 0;
                    for layer in [0, layers / 2, layers - 1] {
                        window.eval(&format!("view.showLayer({layer}) ?? 0"));
                        let shown = shown(&window, mesh);
                        let each = (nodes / layers) as u64;
                        let first = layer as u64 * each;
                        let expected: Vec<u64> = (first..first + each).collect();
                        assert!(shown.keys().eq(&expected), "{what}, layer {layer}");
                        assert_coloured(&shown, &held, &mut colours, &what);
                        seen += shown.len();
                    }
                    assert_eq!(seen, 3 * nodes / layers);
                }
            }
            window.assert_no_complaint();
        }
    }
}

#[test]
fn the_slider_of_layers_is_used_with_keys() {
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), TORUS);
    for (size, first) in [(WIDE, Value::Null), (NARROW, json!(0))] {
        let Some(window) = open(folder.path(), size, "light") else {
            return;
        };
        // A telephone begins with one layer.
        assert_eq!(window.eval("view.layer()"), first);
        let now = window.number("view.state().now");
        let name = || window.eval("document.getElementById('layer-name').textContent");
        if first.is_null() {
            assert_eq!(name(), "all layers");
        }
        for id in ["alone", "layer"] {
            window.press("Tab");
            assert_eq!(window.eval("document.activeElement.id"), id);
        }
        for (key, layer) in [
            ("ArrowRight", 1),
            ("ArrowUp", 2),
            ("ArrowLeft", 1),
            ("End", 4),
            ("ArrowDown", 3),
            ("Home", 0),
            ("ArrowRight", 1),
        ] {
            window.press(key);
            window.tab.evaluate(DRAWN, true).unwrap();
            assert_eq!(window.eval("view.layer()"), layer, "{key}");
            assert_eq!(name(), format!("z = {layer}"), "{key}");
        }
        assert_eq!(shown(&window, 0).len(), 8 * 6);
        // The keys did not move the time.
        assert_eq!(window.number("view.state().now"), now);
        // Back to all layers. With the focus outside the slider the keys move the time again.
        window.eval("(document.getElementById('alone').focus(), 0)");
        window.press(" ");
        assert_eq!(window.eval("view.layer()"), Value::Null);
        assert_eq!(window.eval("view.state().playing"), false);
        window.eval("(document.activeElement.blur(), 0)");
        window.press("ArrowRight");
        assert!(window.number("view.state().now") > now);
        let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow <= 0.0, "{size:?}: {overflow}");
        window.assert_no_complaint();
    }
}

/// The cells of a row of the record of a job.
fn cells(window: &Window, row: &str) -> Vec<String> {
    let cells = window.eval(&format!(
        "[...document.querySelectorAll('#job tbody tr')] \
         .filter((one) => one.querySelector('th').textContent === '{row}') \
         .flatMap((one) => [...one.querySelectorAll('td')].map((cell) => cell.textContent))"
    ));
    serde_json::from_value(cells).unwrap()
}

/// Points at a processor of a mesh, in one layer.
fn point_at(window: &Window, cell: &str) {
    let point = window.eval(&format!(
        "(() => {{ const canvas = document.querySelectorAll('canvas.mesh')[1]; \
         canvas.scrollIntoView({{ block: 'center' }}); \
         const box = canvas.getBoundingClientRect(); \
         const [x, y, w, h] = view.places().rect(...{cell}, 1, 1); \
         return [box.left + x + w / 2, box.top + y + h / 2]; }})()"
    ));
    let [x, y] = [0, 1].map(|at: usize| point[at].as_f64().unwrap());
    window.tab.move_mouse_to_point(Point { x, y }).unwrap();
}

#[test]
fn what_is_pointed_at_names_job_slice_rings_and_rank() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, is_cubes) in [(TORUS, false), (CUBES, true)] {
        let rows = page(folder.path(), scenario);
        let Some(window) = open(folder.path(), WIDE, "light") else {
            return;
        };
        // A job with more than two ranks that is folded under the second strategy, and the places
        // of its ranks.
        let found = window.eval(
            "(() => { const run = view.page.runs[1]; const places = view.places(); \
             for (const [job, cells] of run.ranks) { \
               if (cells.length < 4 || run.leave[job] === Infinity) continue; \
               const { width } = new Owners([], places); \
               const ranks = [...cells].map((cell) => [cell % width, Math.floor(cell / width)]); \
               view.seek(run.start[job]); \
               return { job, ranks, at: ranks.map((cell) => places.meta.dimensions.map((_, d) => \
                 places.coordinate(cell, d))), kind: run.slices[run.slice[job]] }; } \
             return null; })()",
        );
        let at: Vec<[i64; 3]> = serde_json::from_value(found["at"].clone()).unwrap();
        let (job, kind) = (found["job"].as_u64().unwrap(), &found["kind"]);
        assert_eq!(kind["folded"], at.len(), "{found}");
        // Ranks one after another are neighbours, at least within a cube.
        let sides = if is_cubes { [16, 16, 16] } else { [8, 6, 5] };
        let are_neighbours = |one: &[i64; 3], other: &[i64; 3]| {
            let steps = (0..3).map(|d| {
                let apart = (one[d] - other[d]).abs();
                apart.min(sides[d] - apart)
            });
            steps.sum::<i64>() == 1
        };
        let cube = |at: &[i64; 3]| at.map(|at| at / 4);
        for pair in at.windows(2) {
            let through_switches = is_cubes && cube(&pair[0]) != cube(&pair[1]);
            assert!(
                through_switches || are_neighbours(&pair[0], &pair[1]),
                "{pair:?}"
            );
        }
        let ends = [at[0], *at.last().unwrap()];
        if kind["closes"] == true && !is_cubes {
            assert!(are_neighbours(&ends[0], &ends[1]), "{found}");
        }
        let rank = 2;
        let layer = at[rank][2];
        window.eval(&format!("view.showLayer({layer}) ?? 0"));
        point_at(&window, &found["ranks"][rank].to_string());
        let title = window.eval("document.querySelectorAll('canvas.mesh')[1].title");
        let [x, y, z] = at[rank];
        let cube = if is_cubes {
            format!(", cube {}", x / 4 + y / 4 * 4 + z / 4 * 16)
        } else {
            String::new()
        };
        let expected = format!(
            "x = {x}, y = {y}, z = {z}{cube}: job {}, rank {rank}",
            job + 1
        );
        assert_eq!(title, expected);
        let said = window.eval("document.querySelector('#job .where').textContent");
        let strategy = if is_cubes { "cubes:fold" } else { "folding" };
        assert_eq!(said, format!("{expected}, under {strategy}."));
        // The record has the slice under each strategy, as many processors as the job holds.
        let slices = cells(&window, "slice");
        let rings = cells(&window, "rings");
        assert!(
            cells(&window, "ranks")[1].contains("folded into"),
            "{found}"
        );
        for (place, strategy) in ["cubes", "cubes:fold"]
            .iter()
            .enumerate()
            .filter(|_| is_cubes)
        {
            let row = rows.iter().find(|row| {
                row["strategy"] == *strategy && number(row, "job_id") as u64 == job + 1
            });
            let held = number(row.unwrap(), "held") as u64;
            let sides: Vec<u64> = slices[place]
                .split('x')
                .map(|s| s.parse().unwrap())
                .collect();
            assert_eq!(sides.iter().product::<u64>(), held, "{slices:?}");
            // A side of 2, or of whole cubes.
            let has_ring = |side: &u64| *side == 2 || side.is_multiple_of(4);
            let names = ["x", "y", "z"]
                .iter()
                .zip(&sides)
                .filter(|(_, side)| has_ring(side));
            let names: Vec<&str> = names.map(|(name, _)| *name).collect();
            let expected = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(" ")
            };
            assert_eq!(rings[place], expected, "{slices:?}");
        }
        window.assert_no_complaint();
    }
}

/// A text on a mesh: its edges, and the size of the canvas.
type Text = (String, [f64; 4], [f64; 2]);

#[test]
fn texts_of_layers_and_cubes_are_readable() {
    let folder = tempfile::tempdir().unwrap();
    for (scenario, labels) in [(TORUS, 5), (CUBES, 64)] {
        page(folder.path(), scenario);
        for size in [WIDE, NARROW] {
            let Some(window) = open(folder.path(), size, "dark") else {
                return;
            };
            for layer in ["null", "3"] {
                window.eval(&format!("view.showLayer({layer}) ?? 0"));
                let texts = window.eval(
                    "(() => { const texts = []; const { prototype } = CanvasRenderingContext2D; \
                     const { fillText } = prototype; const mesh = document.querySelector('canvas.mesh'); \
                     prototype.fillText = function (text, x, y) { if (this.canvas === mesh) { \
                       const box = this.measureText(text); texts.push([String(text), \
                         [x - box.actualBoundingBoxLeft, x + box.actualBoundingBoxRight, \
                          y - box.actualBoundingBoxAscent, y + box.actualBoundingBoxDescent], \
                         [mesh.width, mesh.height]]); } \
                       return fillText.call(this, text, x, y); }; \
                     view.draw(); prototype.fillText = fillText; return texts; })()",
                );
                let texts: Vec<Text> = serde_json::from_value(texts).unwrap();
                for (place, (text, [left, right, top, bottom], [width, height])) in
                    texts.iter().enumerate()
                {
                    let is_within =
                        *left >= -1.0 && *top >= -1.0 && right <= width && *bottom <= height + 1.0;
                    assert!(
                        is_within,
                        "{scenario} {size:?} {layer}: {text} {left} {top}"
                    );
                    let other = texts[..place].iter().find(|(_, [l, r, t, b], _)| {
                        left < r && l < right && top < b && t < bottom
                    });
                    assert!(other.is_none(), "{size:?} {layer}: {text} {other:?}");
                }
                let named = texts
                    .iter()
                    .filter(|(text, ..)| text.starts_with("z = ") || text.starts_with("cube "));
                let expected = match (layer, labels) {
                    ("null", all) => all,
                    (_, 64) => 16,
                    _ => 0,
                };
                assert_eq!(named.count(), expected, "{scenario} {size:?} {layer}");
                // Processors can be told apart.
                let cell = window.number("view.places().cell");
                assert!(cell >= 5.0, "{scenario} {size:?} {layer}: {cell}");
            }
            window.assert_no_complaint();
        }
    }
}
