//! The page on which the simulator runs in the browser: a drag, a typed request, keys, faults, and
//! the same state as the simulator has outside of a browser.

use std::path::PathBuf;

use headless_chrome::browser::tab::point::Point;
use meshalloc_browser::{Window, host_sim, web_page};
use meshalloc_wasm::{Lab, answer};
use serde_json::{Value, json};

const WIDE: (u32, u32) = (1400, 900);
const NARROW: (u32, u32) = (400, 800);

/// The page in a window, ready.
fn open(size: (u32, u32), scheme: &str) -> Option<Window> {
    let page: PathBuf = web_page();
    let window = Window::open(&page, size, scheme)?;
    window.wait_until_ready();
    Some(window)
}

/// A panel of the state.
fn run(window: &Window, place: usize) -> Value {
    window.eval(&format!("lab.state().panels[{place}].run"))
}

/// The middle of a cell of a mesh.
fn cell(window: &Window, mesh: usize, column: u32, row: u32) -> Point {
    let found = window.eval(&format!(
        "(() => {{ const mesh = document.querySelectorAll('canvas.mesh')[{mesh}]; \
         mesh.scrollIntoView({{ block: 'center' }}); \
         const box = mesh.getBoundingClientRect(); \
         const [x, y, w, h] = lab.places().rect({column}, {row}, 1, 1); \
         return [box.left + x + w / 2, box.top + y + h / 2]; }})()"
    ));
    let at = |place: usize| found[place].as_f64().unwrap();
    Point { x: at(0), y: at(1) }
}

fn text(window: &Window, selector: &str) -> String {
    let value = window.eval(&format!("document.querySelector({selector:?}).textContent"));
    value.as_str().unwrap().to_owned()
}

/// Changes the value of a field, as its user does.
fn set(window: &Window, selector: &str, value: &str) {
    window.eval(&format!(
        "(() => {{ const field = document.querySelector({selector:?}); field.value = {value:?}; \
         for (const name of ['input', 'change']) \
         field.dispatchEvent(new Event(name, {{ bubbles: true }})); return null; }})()"
    ));
}

/// Removes the strategies that serve the machine from a reply, and returns them.
fn take_choices(reply: &mut Value) -> Vec<String> {
    let state = reply["done"].as_object_mut();
    let choices = state.and_then(|state| state.remove("choices"));
    choices.map_or_else(Vec::new, |names| serde_json::from_value(names).unwrap())
}

#[test]
fn the_module_reports_what_the_simulator_does_outside_of_a_browser() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    let send = |command: &str| {
        window.eval(&format!(
            "(() => {{ try {{ return {{ done: lab.send({command:?}) }}; }} \
             catch (error) {{ return {{ failed: error.message }}; }} }})()"
        ))
    };
    for machine in ["mesh 16x16", "torus 8x8", "mesh 6x5x4", "torus 4x4x4"] {
        let choices = take_choices(&mut send(&format!("start 95 3 first-fit {machine}")));
        assert!(choices.len() >= 9, "{machine}: {choices:?}");
        for chosen in choices.chunks(4) {
            let start = format!("start 95 3 {} {machine}", chosen.join(","));
            let commands = [
                start.as_str(),
                "request 3x2",
                "fault 2 1",
                "advance 20000",
                "release 2",
                "step",
                "request 1x1",
                "load 150",
                "advance 100000",
                "step",
                "fault 2 1",
                "advance 60000",
            ];
            let mut lab: Option<Lab> = None;
            for command in commands {
                let reply = answer(&mut lab, command.as_bytes());
                let mut expected: Value = serde_json::from_slice(&reply).unwrap();
                let mut found = send(command);
                // The module in the page is built without a part of the strategies.
                let all = take_choices(&mut expected);
                let some = take_choices(&mut found);
                assert!(some.iter().all(|one| all.contains(one)), "{some:?}");
                assert_eq!(found, expected, "{command}");
            }
        }
    }
    window.assert_no_complaint();
}

#[test]
fn the_command_on_the_page_gives_its_numbers() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    assert!(text(&window, "#results").contains("no command repeats it"));
    set(&window, "#machine", "torus 8x8");
    set(&window, "#load", "80");
    window.eval("(lab.act('advance 900000'), null)");
    let command = text(&window, "#results code");
    let arguments = command.strip_prefix("host-sim ").unwrap();
    let found = host_sim(
        &std::env::temp_dir(),
        &format!("{arguments} --format json -q"),
    );
    let found: Value = serde_json::from_str(&found).unwrap();
    let shown = window.eval("lab.state().results.means.map(({ waitingDelay }) => waitingDelay)");
    let expected = found["results"].as_array().unwrap().iter();
    let expected = expected.map(|one| one["metrics"]["waiting_delay"]["mean"].clone());
    assert_eq!(shown, Value::from_iter(expected), "{command}");
    let cell = text(&window, "#results td:nth-child(2)");
    assert_eq!(cell, format!("{:.2} s", shown[0].as_f64().unwrap()));
    window.assert_no_complaint();
}

#[test]
fn a_drag_asks_for_its_size_everywhere() {
    for size in [WIDE, NARROW] {
        let Some(window) = open(size, "light") else {
            return;
        };
        window.click("#clear");
        // Four columns and three rows, from the upper right to the lower left.
        window.drag(cell(&window, 1, 9, 8), cell(&window, 1, 6, 6));
        assert_eq!(text(&window, "#said"), "job 1 asks for 4x3");
        for place in 0..4 {
            let run = run(&window, place);
            assert_eq!(run["statistics"]["free"], 256 - 12, "{place}");
        }
        let first_fit = run(&window, 0);
        assert_eq!(first_fit["jobs"]["rects"], json!([[0, 0, 4, 3]]));
        assert_eq!(text(&window, ".message"), "job 1 gets 4x3 at 0,0");
        // It is where the picture has its colour.
        let colours = window.eval(
            "(() => { const mesh = document.querySelector('canvas.mesh'); \
             const { data } = mesh.getContext('2d').getImageData(0, 0, mesh.width, mesh.height); \
             return [[0, 2], [3, 0], [4, 0], [3, 3]].map(([column, row]) => { \
             const [left, top] = lab.places().rect(column, row, 1, 1); \
             const at = 4 * (Math.floor(top + 5) * mesh.width + Math.floor(left + 5)); \
             return data.slice(at, at + 3).join(); }); })()",
        );
        assert_eq!(colours[0], colours[1]);
        assert_ne!(colours[0], colours[2]);
        assert_eq!(colours[2], colours[3]);
        window.assert_no_complaint();
    }
}

#[test]
fn a_job_has_one_colour_in_all_meshes() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    // The colour in the corner of the first rectangle of each job, by mesh.
    let colours = window.eval(
        "(() => [...document.querySelectorAll('canvas.mesh')].map((mesh, place) => { \
         const { numbers, jobs: { first, rects } } = lab.state().panels[place].run; \
         const { data } = mesh.getContext('2d').getImageData(0, 0, mesh.width, mesh.height); \
         return numbers.map((number, job) => { \
         const [left, top] = lab.places().rect(...rects[first[job]]); \
         const at = 4 * (Math.floor(top + 5) * mesh.width + Math.floor(left + 5)); \
         return [number, data.slice(at, at + 3).join()]; }); }))()",
    );
    let mut known = std::collections::BTreeMap::new();
    let mut meshes = 0;
    for mesh in colours.as_array().unwrap() {
        meshes += 1;
        for job in mesh.as_array().unwrap() {
            let (number, colour) = (job[0].as_u64().unwrap(), job[1].as_str().unwrap());
            let before = known.entry(number).or_insert_with(|| colour.to_owned());
            assert_eq!(before, colour, "job {number} in mesh {meshes}");
        }
    }
    assert!(meshes == 4 && known.len() >= 6, "{known:?}");
    window.assert_no_complaint();
}

#[test]
fn strategies_come_back_after_a_machine_that_they_do_not_serve() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    let names = || window.eval("lab.state().panels.map(({ name }) => name)");
    let before = names();
    set(&window, "#machine", "torus 6x6x4");
    let on_torus = names();
    assert_ne!(on_torus, before);
    let all_run = "lab.state().panels.every(({ run }) => run)";
    assert_eq!(window.eval(all_run), true);
    set(&window, "#machine", "mesh 16x16");
    assert_eq!(names(), before);
    window.assert_no_complaint();
}

#[test]
fn the_address_and_steps_back_lead_to_the_same_state() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    let jobs = || window.eval("lab.state().panels.map(({ run }) => [run.numbers, run.jobs])");
    let first = jobs();
    window.eval("(lab.act('load 90'), lab.act('advance 900000'), lab.act('advance 300000'))");
    window.eval("(lab.act('request 2x2'), null)");
    let (then, now) = (jobs(), window.number("lab.state().now"));
    let address = window.eval("location.hash");
    assert_ne!(first, then);
    assert!(
        address.as_str().unwrap().contains("advance+1200000"),
        "{address}"
    );
    // Three steps back: the request, the time, the load.
    for _ in 0..3 {
        window.click("#back");
    }
    assert_eq!(jobs(), first);
    assert_eq!(window.eval("document.getElementById('load').value"), "0");
    // A machine is a step as well.
    set(&window, "#machine", "mesh 8x8");
    assert_eq!(window.eval("lab.state().machine"), "mesh 8x8");
    window.click("#back");
    assert_eq!(window.eval("lab.state().machine"), "mesh 16x16");
    assert_eq!(jobs(), first);
    window.eval(&format!("(location.hash = {address}, null)"));
    window.wait_for(&format!("lab.state().now === {now}"));
    assert_eq!(jobs(), then);
    assert_eq!(window.eval("document.getElementById('load').value"), "90");
    // One that is wrong is an error, and the page shows its first state.
    window.eval("(location.hash = 'machine=ring', null)");
    window.wait_for("document.querySelector('#error').textContent.includes('ring')");
    window.assert_no_complaint();
}

#[test]
fn a_typed_request_is_placed_or_refused_with_the_reason_of_the_core() {
    let Some(window) = open(WIDE, "dark") else {
        return;
    };
    set(&window, "#machine", "mesh 4x3");
    let ask = |shape: &str| {
        set(&window, "#shape", shape);
        window.click("#asking button");
        text(&window, ".message")
    };
    assert_eq!(ask("3x2"), "job 1 gets 3x2 at 0,0");
    assert_eq!(
        ask("2x2"),
        "job 2 refused: enough free processors, but fragmented"
    );
    assert_eq!(ask("4x2"), "job 3 refused: not enough free processors");
    let never = "job 4 refused: can never fit: too large for the machine under this strategy";
    assert_eq!(ask("5 X 1"), never);
    assert!(text(&window, ".state").contains("fragmented 0.0 % externally"));
    assert_eq!(text(&window, "#error"), "");
    ask("4 by 3");
    assert!(text(&window, "#error").contains("expected numbers from 0 to 65535 with an x"));
    // The next valid request clears the error.
    ask("1x1");
    assert_eq!(text(&window, "#error"), "");
    set(&window, "#machine", "mesh 100x100");
    assert!(text(&window, "#error").contains("expected at most 1024"));
    assert_eq!(window.eval("lab.state().machine"), "mesh 4x3");
    window.assert_no_complaint();
}

#[test]
fn a_click_sets_and_clears_a_fault_and_releases_a_job() {
    let Some(window) = open(NARROW, "light") else {
        return;
    };
    window.click("#clear");
    window.eval("lab.act('request 5x4')");
    window.click("input[value=fault]");
    window.click_at(cell(&window, 0, 2, 1));
    assert_eq!(text(&window, "#said"), "x = 2, y = 1 is faulty");
    assert_eq!(
        text(&window, ".message"),
        "job 1 keeps running with a faulty processor"
    );
    assert_eq!(window.eval("lab.state().faulty"), json!([[2, 1]]));
    window.click("input[value=release]");
    window.click_at(cell(&window, 0, 0, 0));
    assert_eq!(text(&window, "#said"), "job 1 is released");
    for place in 0..4 {
        assert_eq!(run(&window, place)["statistics"]["free"], 255, "{place}");
    }
    window.click_at(cell(&window, 0, 0, 0));
    assert_eq!(text(&window, "#said"), "no job is there");
    window.click("input[value=fault]");
    window.click_at(cell(&window, 0, 2, 1));
    assert_eq!(run(&window, 0)["boxesTotal"], 1);
    assert_eq!(text(&window, "#said"), "x = 2, y = 1 works again");
    window.assert_no_complaint();
}

#[test]
fn everything_can_be_done_with_keys() {
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    window.click("#clear");
    window.eval("(document.querySelector('canvas.mesh').focus(), null)");
    let press = |keys: &str| keys.split(' ').for_each(|key| window.press(key));
    press("ArrowRight ArrowRight ArrowUp Enter ArrowRight ArrowUp ArrowUp");
    assert_eq!(text(&window, "#said"), "2x3, x = 2, y = 3: free");
    press("Enter");
    assert_eq!(text(&window, "#said"), "job 1 asks for 2x3");
    assert_eq!(run(&window, 0)["jobs"]["rects"], json!([[0, 0, 2, 3]]));
    window.click("input[value=release]");
    window.eval("(document.querySelector('canvas.mesh').focus(), null)");
    press("ArrowLeft");
    assert_eq!(text(&window, "#said"), "x = 0, y = 0: job 1");
    press("Enter");
    assert_eq!(run(&window, 0)["statistics"]["running"], 0);
    // Random jobs by keys.
    window.eval("(document.activeElement.blur(), null)");
    press("n n n n n n");
    assert_eq!(window.eval("document.getElementById('load').value"), "70");
    assert!(run(&window, 0)["statistics"]["granted"].as_u64().unwrap() > 1);
    let before = window.number("lab.state().now");
    press("p");
    window.wait_for(&format!("lab.state().now > {before} + 2000000"));
    press("p");
    let after = window.number("lab.state().now");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(window.number("lab.state().now"), after);
    // Each control can be reached, and has a name.
    let unnamed = window.eval(
        "[...document.querySelectorAll('input, select, button, canvas:not(.key)')] \
         .filter((one) => !(one.labels?.length || one.textContent || one.ariaLabel)) \
         .map((one) => one.outerHTML)",
    );
    assert_eq!(unnamed, json!([]));
    let order =
        window.eval("[...document.querySelectorAll('[tabindex]')].map((one) => one.tabIndex)");
    assert_eq!(order, json!([0, 0, 0, 0]));
    window.assert_no_complaint();
}

#[test]
fn nothing_is_wider_than_the_window() {
    for size in [NARROW, WIDE] {
        let Some(window) = open(size, "dark") else {
            return;
        };
        for machine in [
            "mesh 16x16",
            "mesh 32x4",
            "torus 8x8x4",
            "mesh 64x2x2",
            "torus 12",
        ] {
            set(&window, "#machine", machine);
            assert_eq!(text(&window, "#error"), "", "{machine}");
            window.eval("(lab.act('load 120'), lab.act('advance 90000'))");
            let overflow = window.number("document.documentElement.scrollWidth - innerWidth");
            assert!(overflow <= 0.0, "{machine} at {size:?}: {overflow}");
            // Each mesh is within its column, and its jobs are.
            let outside = window.eval(
                "[...document.querySelectorAll('canvas')].filter((one) => !one.hidden) \
                 .map((one) => [one.className, one.getBoundingClientRect()]) \
                 .filter(([, box]) => box.left < 0 || box.right > document.documentElement.clientWidth)",
            );
            assert_eq!(outside, json!([]), "{machine} at {size:?}");
        }
        // Strategies that do not serve a machine are replaced by others, all different.
        let names = window.eval("lab.state().panels.map(({ name, run }) => run && name)");
        let names: std::collections::BTreeSet<&str> = names
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
        window.assert_no_complaint();
    }
}

#[test]
fn the_page_asks_for_nothing_from_a_network() {
    let page = std::fs::read_to_string(web_page()).unwrap();
    for part in [
        "fetch(",
        "XMLHttpRequest",
        "http://",
        "https://",
        "import(",
        "src=",
    ] {
        assert!(!page.contains(part), "{part}");
    }
    let Some(window) = open(WIDE, "light") else {
        return;
    };
    let loaded = window.eval("performance.getEntriesByType('resource').map((one) => one.name)");
    let loaded: Vec<String> = serde_json::from_value(loaded).unwrap();
    assert!(
        loaded.iter().all(|name| name.starts_with("data:")),
        "{loaded:?}"
    );
}
