//! The pages of the project in a real browser: Debian's `chromium`, driven over its debugging
//! protocol.
//!
//! A package of its own, since the crate that drives the browser takes longer to compile than all
//! of the simulator; `cargo xtask browser` runs its tests.

#![allow(
    clippy::missing_panics_doc,
    reason = "a test ends where the browser fails"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::Emulation;
use headless_chrome::protocol::cdp::Input::{
    DispatchMouseEvent, DispatchMouseEventTypeOption, MouseButton,
};
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;

/// Runs the simulator in a folder; returns what it printed. `MESHALLOC_HOST_SIM` is the absolute
/// path of the simulator. If it is not set, cargo builds the simulator.
pub fn host_sim(folder: &Path, line: &str) -> String {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let mut command = env::var_os("MESHALLOC_HOST_SIM").map_or_else(
        || {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "--bin", "host-sim"]);
            cargo.args(["--manifest-path", workspace, "--"]);
            cargo
        },
        Command::new,
    );
    command.args(line.split_whitespace()).current_dir(folder);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Builds the page on which the simulator runs, once; returns its path.
pub fn web_page() -> PathBuf {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let mut command = Command::new(env!("CARGO"));
        command.args(["xtask", "web"]).current_dir(workspace);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo xtask web: {stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let mut lines = stdout.lines();
        PathBuf::from(lines.find_map(|line| line.strip_prefix("page: ")).unwrap())
    };
    PAGE.get_or_init(build).clone()
}

/// A page in a window, and what its console complained about.
pub struct Window {
    /// The page.
    pub tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Ends with the window.
    _browser: Browser,
}

impl Window {
    /// Opens a file in a window of this width and height, in a `light` or `dark` scheme. Behind
    /// its name there may be a part of an address, such as `#job=7`.
    /// `None`, with the reason on standard error, where there is no browser.
    pub fn open(file: &Path, (width, height): (u32, u32), scheme: &str) -> Option<Window> {
        let flags = [
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
        ];
        let options = LaunchOptions::default_builder()
            .sandbox(false)
            .args(flags.iter().map(AsRef::as_ref).collect())
            .idle_browser_timeout(Duration::from_secs(120))
            .build()
            .unwrap();
        let browser = match Browser::new(options) {
            Ok(browser) => browser,
            Err(error) => {
                eprintln!("SKIPPED: the page in a browser: chromium cannot be started: {error}");
                return None;
            }
        };
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(Duration::from_secs(60));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let seen = complaints.clone();
        let listener = move |event: &Event| {
            let complaint = match event {
                Event::LogEntryAdded(entry) => format!("{:?}", entry.params.entry.text),
                Event::RuntimeExceptionThrown(thrown) => {
                    format!("{:?}", thrown.params.exception_details)
                }
                Event::RuntimeConsoleAPICalled(call) => format!("{:?}", call.params.args),
                _ => return,
            };
            seen.lock().unwrap().push(complaint);
        };
        tab.add_event_listener(Arc::new(listener)).unwrap();
        tab.enable_log().unwrap();
        tab.enable_runtime().unwrap();
        tab.call_method(Emulation::SetDeviceMetricsOverride {
            width,
            height,
            device_scale_factor: 1.0,
            mobile: false,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        })
        .unwrap();
        tab.call_method(Emulation::SetEmulatedMedia {
            media: None,
            features: Some(vec![Emulation::MediaFeature {
                name: "prefers-color-scheme".into(),
                value: scheme.into(),
            }]),
        })
        .unwrap();
        let (file, part) = match file.to_str().unwrap().split_once('#') {
            Some((file, part)) => (Path::new(file), format!("#{part}")),
            None => (file, String::new()),
        };
        let file = fs::canonicalize(file).unwrap();
        tab.navigate_to(&format!("file://{}{part}", file.display()))
            .unwrap();
        tab.wait_until_navigated().unwrap();
        Some(Window {
            tab,
            complaints,
            _browser: browser,
        })
    }

    /// Waits until the page says that it is complete.
    pub fn wait_until_ready(&self) {
        self.tab.wait_for_element("html[data-ready]").unwrap();
    }

    /// The value of an expression.
    pub fn eval(&self, expression: &str) -> Value {
        let text = format!("JSON.stringify({expression})");
        let value = self.tab.evaluate(&text, true).unwrap().value.unwrap();
        serde_json::from_str(value.as_str().unwrap()).unwrap()
    }

    /// Waits until an expression holds.
    pub fn wait_for(&self, expression: &str) {
        const TIME_MAX: Duration = Duration::from_secs(60);
        let begun = Instant::now();
        while self.eval(&format!("Boolean({expression})")) != true {
            assert!(begun.elapsed() < TIME_MAX, "{expression} does not hold");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression that is a number.
    pub fn number(&self, expression: &str) -> f64 {
        self.eval(expression).as_f64().unwrap()
    }

    /// Presses a key.
    pub fn press(&self, key: &str) {
        self.tab.press_key(key).unwrap();
    }

    /// Clicks on the first element that a CSS selector names.
    pub fn click(&self, selector: &str) {
        self.tab.find_element(selector).unwrap().click().unwrap();
    }

    /// Clicks at a point of the window.
    pub fn click_at(&self, point: Point) {
        self.tab.click_point(point).unwrap();
    }

    /// Drags the mouse from one point of the window to another.
    pub fn drag(&self, from: Point, to: Point) {
        use DispatchMouseEventTypeOption::{MouseMoved, MousePressed, MouseReleased};
        for (kind, Point { x, y }) in [(MousePressed, from), (MouseMoved, to), (MouseReleased, to)]
        {
            let event = DispatchMouseEvent {
                Type: kind,
                x,
                y,
                button: Some(MouseButton::Left),
                buttons: Some(1),
                click_count: Some(1),
                modifiers: None,
                timestamp: None,
                force: None,
                tangential_pressure: None,
                tilt_x: None,
                tilt_y: None,
                twist: None,
                delta_x: None,
                delta_y: None,
                pointer_Type: None,
            };
            self.tab.call_method(event).unwrap();
        }
    }

    /// What the console has complained about so far: errors, exceptions and whatever the page has
    /// printed.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap().clone()
    }

    /// Asserts that the console has nothing to complain about.
    pub fn assert_no_complaint(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}
