//! A short test of a board that was just ported. `docs/porting.md` says when to use it.
//!
//! ```sh
//! cargo run -p meshalloc-firmware --features serial --example smoke -- serial:/dev/ttyACM0
//! cargo run -p meshalloc-firmware --features serial --example smoke -- tcp:127.0.0.1:4000
//! ```
//!
//! With `--reset` at the end it also waits for a reset of the board by hand. With `--emulator` at
//! the end the board's clock may be slow.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use meshalloc_firmware::client::Endpoint;
use meshalloc_firmware::client::smoke::{CLOCK_OFF, EMULATED_CLOCK_OFF, smoke, smoke_reset};
use meshalloc_firmware::{Client, Line, Options};

const USAGE: &str = "usage: smoke tcp:HOST:PORT|serial:DEVICE [--reset|--emulator]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (endpoint, by_hand, clock_off) = match &arguments[..] {
        [endpoint] => (endpoint, false, CLOCK_OFF),
        [endpoint, option] if option == "--reset" => (endpoint, true, CLOCK_OFF),
        [endpoint, option] if option == "--emulator" => (endpoint, false, EMULATED_CLOCK_OFF),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let line = match endpoint.parse::<Endpoint>().and_then(|end| end.open()) {
        Ok(line) => line,
        Err(error) => {
            eprintln!("error: {endpoint}: {error}");
            return ExitCode::from(2);
        }
    };
    match run(line, by_hand, clock_off) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: Box<dyn Line>, by_hand: bool, clock_off: Duration) -> Result<(), Box<dyn Error>> {
    let mut report = |step: &str| println!("{step}");
    let mut client = Client::connect(line, Options::default())?;
    smoke(&mut client, clock_off, &mut report)?;
    if by_hand {
        smoke_reset(&mut client, &mut report)?;
    }
    println!("passed");
    Ok(())
}
