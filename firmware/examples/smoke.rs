//! A short test of a board that was just ported. `docs/porting.md` says when to use it.
//!
//! ```sh
//! cargo run -p meshalloc-firmware --features serial --example smoke -- serial:/dev/ttyACM0
//! cargo run -p meshalloc-firmware --features serial --example smoke -- tcp:127.0.0.1:4000
//! ```
//!
//! With `--reset` at the end it also waits for a reset of the board by hand.

use std::error::Error;
use std::process::ExitCode;

use meshalloc_firmware::client::Endpoint;
use meshalloc_firmware::client::smoke::{CLOCK_OFF, smoke, smoke_reset};
use meshalloc_firmware::{Client, Line, Options};

const USAGE: &str = "usage: smoke tcp:HOST:PORT|serial:DEVICE [--reset]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (endpoint, by_hand) = match &arguments[..] {
        [endpoint] => (endpoint, false),
        [endpoint, option] if option == "--reset" => (endpoint, true),
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
    match run(line, by_hand) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: Box<dyn Line>, by_hand: bool) -> Result<(), Box<dyn Error>> {
    let mut report = |step: &str| println!("{step}");
    let mut client = Client::connect(line, Options::default())?;
    smoke(&mut client, CLOCK_OFF, &mut report)?;
    if by_hand {
        smoke_reset(&mut client, &mut report)?;
    }
    println!("passed");
    Ok(())
}
