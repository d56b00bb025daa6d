//! Measurements of the firmware in QEMU, for `cargo xtask instructions` and `cargo xtask size`: the
//! instructions that it takes, and the stack.
//!
//! QEMU's clock counts instructions, and the image for QEMU keeps how long each command takes, from
//! its last byte to the last one of the replies. So the figures include the protocol, which is the
//! same for all strategies except for the length of the replies.

mod commands;
mod count;
mod queues;
mod stack;

use std::path::PathBuf;
use std::time::Duration;

use meshalloc::{
    Block, Change, Configuration, ConfigureError, Cube, Error, Event, Grid, Query, SchedulerKind,
    StrategyKind, Ticks,
};
use meshalloc_firmware::boards::{self, Info};
use meshalloc_firmware::{Client, Line, Options};
use rayon::prelude::*;

use crate::qemu::Qemu;

/// The machines of a measurement.
struct Machines {
    mesh: Grid,
    /// Long rings.
    torus: Grid,
    /// Many dimensions, for strategies that do not serve a mesh.
    cube: Grid,
}

const MACHINES: Machines = Machines::new(64, 16, 12);
/// For strategies that look at each pair of free processors.
const SMALL: Machines = Machines::new(16, 6, 8);

impl Machines {
    /// A square mesh of this side, a torus of three dimensions, and a cube of radix 2.
    const fn new(mesh: u16, torus: u16, dimensions: u8) -> Machines {
        let (Ok(mesh), Ok(torus), Ok(cube)) = (
            Grid::mesh(&[mesh, mesh]),
            Cube::new(torus, 3),
            Cube::new(2, dimensions),
        ) else {
            panic!("a side or a number of dimensions is wrong");
        };
        Machines {
            mesh,
            torus: torus.grid(),
            cube: cube.grid(),
        }
    }

    /// The machines on which this strategy is measured.
    fn of(strategy: StrategyKind) -> Machines {
        use StrategyKind::{GenAlg, Mc1x1, Mm};
        if matches!(strategy, GenAlg | Mm | Mc1x1) {
            SMALL
        } else {
            MACHINES
        }
    }
}

/// The pod that images for a described machine serve.
const POD: Grid = match Grid::torus(&[16, 16, 16]) {
    Ok(pod) => pod,
    Err(_) => panic!("16 x 16 x 16 is a torus"),
};

/// The cells of a row of a table.
type Row = Vec<String>;

/// Measures what the arguments say and prints the rows of a table: WHAT BOARD IMAGE ADDRESS BYTES
/// SCHEDULER NUMBER STRATEGY... The address and bytes are those of the image's record of times or
/// of the room for its stack; the scheduler is a form and the number in it.
///
/// # Panics
///
/// When an argument is wrong, QEMU does not start, or the image does not answer.
pub fn main(mut arguments: impl Iterator<Item = String>) {
    let mut next = || arguments.next().expect("another argument");
    let what = next();
    let image = Image {
        board: boards::find(&next()).expect("the name of a board"),
        path: next().into(),
        place: [next(), next()].map(|number| number.parse().expect("a number")),
    };
    let (form, number) = (next(), next().parse().expect("a number"));
    // With seconds of a million ticks the threshold is long enough for jobs to be bypassed.
    let scheduler = SchedulerKind::from_form(&form, number, 1_000_000).expect("a form");
    let strategies: Vec<StrategyKind> = arguments
        .map(|name| name.parse().expect("the name of a strategy"))
        .collect();
    let of_each = |row: &(dyn Fn(StrategyKind) -> Row + Sync)| -> Vec<Row> {
        strategies
            .par_iter()
            .map(|&strategy| row(strategy))
            .collect()
    };
    let rows = match &*what {
        "commands" => {
            let rows = strategies.par_iter();
            let rows = rows.map(|&strategy| commands::rows(&image, strategy));
            rows.flatten_iter().collect()
        }
        "stack" => of_each(&|strategy| stack::row(&image, strategy, scheduler)),
        "decisions" => queues::decisions(&image),
        "passes" => queues::passes(&image),
        _ => panic!("unknown: {what}"),
    };
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// An image.
struct Image {
    board: &'static Info,
    path: PathBuf,
    /// The address and bytes of the memory that is read.
    place: [u64; 2],
}

/// A running image, and a client.
struct Running {
    qemu: Qemu,
    client: Client<Box<dyn Line>>,
    place: [u64; 2],
}

/// A change or a query.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Change(Change),
    Query(Query),
}

impl Image {
    /// Starts QEMU with these further options.
    fn start(&self, options: &[&str]) -> Running {
        let qemu = Qemu::boot(self.board, &self.path, options, None).expect("QEMU starts");
        // No frame is sent again because this machine is busy.
        let options = Options {
            timeout: Duration::from_secs(10),
            ..Options::default()
        };
        let line: Box<dyn Line> = Box::new(qemu.line().expect("QEMU listens"));
        Running {
            qemu,
            client: Client::connect(line, options).expect("the image answers"),
            place: self.place,
        }
    }
}

impl Running {
    /// Resets the controller and gives it this configuration, and a virtual clock. Returns whether
    /// it is served.
    fn configure(&mut self, configuration: Configuration) -> bool {
        let clock = self.client.use_virtual_clock(true);
        clock.expect("the image has a virtual clock for a session");
        self.call(0, &Ask::Change(Change::Reset), |_| ());
        let change = Change::Configure(configuration);
        let configured = self.client.call(&change, Some(0), &mut |_, _| ());
        match configured.expect("the image answers") {
            Ok(_) => true,
            Err(Error::Configure(
                ConfigureError::MachineUnsuitable | ConfigureError::OtherMachine,
            )) => false,
            Err(error) => panic!("{configuration:?}: {error}"),
        }
    }

    /// Asks for something at this time; events that follow from it go to `on_event`. Returns
    /// whether it is not refused.
    fn call(&mut self, at: Ticks, ask: &Ask, mut on_event: impl FnMut(&Event)) -> bool {
        let mut on_event = |event: &Event, _: &[Block]| on_event(event);
        match ask {
            Ask::Change(change) => {
                let outcome = self.client.call(change, Some(at), &mut on_event);
                outcome.expect("the image answers").is_ok()
            }
            Ask::Query(query) => self.client.query(query).expect("the image answers").is_ok(),
        }
    }

    /// The memory that is read.
    fn memory(&mut self) -> Vec<u8> {
        let [address, bytes] = self.place;
        self.qemu
            .peek(address, bytes)
            .expect("QEMU writes its memory")
    }
}

/// Asserts that a table of the page of measurements has this head.
#[cfg(test)]
fn assert_head(head: &str) {
    let page = include_str!("../../../docs/measurements/instructions.md");
    assert!(page.contains(head), "{head}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_of_the_pod_is_that_of_the_preset() {
        let machine = meshalloc::Description::preset("tpu-v4").expect("a preset");
        assert_eq!(*machine.grid(), POD);
    }
}
