//! How many instructions the firmware takes for a submit and a release: a table in the README.
//!
//! QEMU's clock counts instructions, and the image for QEMU keeps how long each command takes, from its last byte to the last one of
//! the replies. So the figures have the protocol in them, which is the same for all strategies but for the length of the replies.
//! The clock interrupts a command here or there, every 500,000 instructions; so each strategy goes through the same work several
//! times, and of each command the least counts.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use meshalloc::{
    Command, Configuration, Flags, Grid, JobId, Reply, Request, SchedulerKind, StrategyKind,
};

use crate::command::in_parallel;
use crate::emulator::Emulator;
use crate::image::{self, Image};
use crate::{readme, setup};

/// The options of `cargo xtask instructions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into the README.
    #[arg(long)]
    update: bool,
}

const MESH: Grid = match Grid::mesh(&[64, 64]) {
    Ok(mesh) => mesh,
    Err(_) => panic!("64 x 64 is a mesh"),
};
/// What a smaller budget saves.
const SMALLER_BUDGETS: [StrategyKind; 4] = [
    StrategyKind::LeastExpectedBlocking { budget: 16 },
    StrategyKind::LeastExpectedBlocking { budget: 32 },
    StrategyKind::LebEstimates { budget: 16 },
    StrategyKind::LebEstimates { budget: 32 },
];
/// Jobs that hold processors, or were refused, at any time of the measurement.
const JOBS: u32 = 64;
/// Jobs that leave and are replaced while it is measured.
const REPLACED: u32 = 192;
/// How often a strategy goes through all of it.
const REPEATS: usize = 2;
/// 2 ns an instruction.
const QEMU_CLOCK: [&str; 2] = ["-icount", "shift=1,sleep=off"];
/// Of SysTick in QEMU, 168 MHz.
const TICKS_EACH: f64 = 0.168 * 2.0;
/// The table stands between these lines of the README.
const MARKS: [&str; 2] = [
    "<!-- cargo xtask instructions -->",
    "<!-- end of instructions -->",
];

/// Instructions of one kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    median: u64,
    most: u64,
}

impl Spread {
    fn of(mut instructions: Vec<u64>) -> Option<Spread> {
        instructions.sort_unstable();
        Some(Spread {
            median: *instructions.get(instructions.len() / 2)?,
            most: *instructions.last()?,
        })
    }
}

/// What was measured of a strategy.
struct Row {
    strategy: StrategyKind,
    granted: u32,
    submit: Spread,
    release: Spread,
}

/// Builds the image, counts, prints the table and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::target()?;
    setup::qemu()?;
    image::build(&image::build_command("board,qemu"))?;
    let image = Image::read()?;
    let strategies = StrategyKind::ALL.iter().copied().chain(SMALLER_BUDGETS);
    let strategies: Vec<_> = strategies
        .filter(|strategy| strategy.serves().includes(&MESH))
        .collect();
    let rows = in_parallel(&strategies, |_, &strategy| {
        measure(&image, strategy)
            .with_context(|| format!("counting the instructions of {strategy}"))
    })?;
    let table = table(&rows);
    println!("\n{table}");
    if options.update {
        let (before, _, after) = readme::split(MARKS)?;
        readme::write(&before, &table, &after)?;
    }
    Ok(())
}

fn measure(image: &Image, strategy: StrategyKind) -> Result<Row> {
    let work = work();
    let (granted, mut least) = command_ticks(image, strategy, &work)?;
    for _ in 1..REPEATS {
        let (again, ticks) = command_ticks(image, strategy, &work)?;
        if again != granted {
            bail!("it placed {granted} jobs, then {again}");
        }
        for (least, ticks) in least.iter_mut().zip(ticks) {
            *least = ticks.min(*least);
        }
    }
    println!("{strategy}: {granted} jobs placed");
    let spread = |is_submit: bool| {
        let commands = work.iter().zip(&least);
        let of_kind = commands
            .filter(|(command, _)| matches!(command, Command::Submit { .. }) == is_submit)
            .map(|(_, &ticks)| (f64::from(ticks) / TICKS_EACH).round() as u64);
        Spread::of(of_kind.collect()).context("no commands")
    };
    Ok(Row {
        strategy,
        granted,
        submit: spread(true)?,
        release: spread(false)?,
    })
}

/// How many jobs are placed, and the ticks of each command.
fn command_ticks(
    image: &Image,
    strategy: StrategyKind,
    work: &[Command],
) -> Result<(u32, Vec<u32>)> {
    let (address, bytes) = image
        .command_ticks
        .context("the image does not keep how long commands take")?;
    let (emulator, mut client) = Emulator::start(&QEMU_CLOCK)?;
    let configuration = Configuration {
        machine: MESH,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let first = [Command::Reset, Command::Configure(configuration)];
    let mut granted = 0;
    for command in first.iter().chain(work) {
        client.call(command, Some(0), &mut |reply| {
            granted += u32::from(matches!(reply, Reply::Grant(grant) if grant.first == 0));
        })?;
    }
    // All before this frame has been kept. Frames that were sent again have not.
    let counters = client.line_counters()?;
    let end = (counters.frames - 1 - counters.repeated) as usize;
    drop(client);
    let memory = emulator.memory(address, bytes)?;
    let words = memory
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let words: Vec<u32> = words.collect();
    let [_, kept @ ..] = &words[..] else {
        bail!("there is no count of commands");
    };
    let before = end
        .checked_sub(work.len())
        .filter(|_| work.len() <= kept.len())
        .context("commands are missing")?;
    let ticks = (before..end).map(|number| kept[number % kept.len()]);
    Ok((granted, ticks.collect()))
}

/// Fills the mesh with jobs, then has one after the other leave, out of order, and another come.
fn work() -> Vec<Command> {
    let submit = |job: u32| Command::Submit {
        job: JobId(job),
        request: request(job).with_flags(Flags::NO_WAIT),
    };
    let mut jobs: Vec<u32> = (1..=JOBS).collect();
    let mut commands: Vec<_> = jobs.iter().copied().map(submit).collect();
    for job in (JOBS + 1..).take(REPLACED as usize) {
        let place = (job * 37 % JOBS) as usize;
        let leaves = std::mem::replace(&mut jobs[place], job);
        commands.push(Command::Release { job: JobId(leaves) });
        commands.push(submit(job));
    }
    commands
}

/// Sides of 1 to 15: 64 such jobs are as large as the mesh, about.
fn request(job: u32) -> Request {
    let (w, h) = (1 + job * 7 % 15, 1 + job * job * 11 / 4 % 15);
    Request::submesh(w as u16, h as u16)
}

/// Two significant digits: what is left of interrupts does not show.
fn rounded(instructions: u64) -> u64 {
    let unit = 10_u64.pow(instructions.max(1).ilog10().saturating_sub(1));
    (instructions + unit / 2) / unit * unit
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| strategy | jobs placed | submit, median | submit, most | release, median | release, most |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let spreads = [row.submit, row.release];
        let numbers = spreads
            .iter()
            .flat_map(|spread| [spread.median, spread.most]);
        let cells: Vec<_> = numbers.map(|number| rounded(number).to_string()).collect();
        writeln!(
            text,
            "| `{}` | {} | {} |",
            row.strategy.name(),
            row.granted,
            cells.join(" | ")
        )
        .expect("a string takes any text");
    }
    write!(
        text,
        "\nInstructions of the image with all strategies in QEMU, from the last byte of a command to that of its last reply, on a 64 x 64 mesh.\n{JOBS} jobs \
         of 1 to 15 by 1 to 15 processors fill it, then {REPLACED} times one leaves and another comes; those that find no place do not\nwait. Two digits.\n"
    )
    .expect("a string takes any text");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_about_as_large_as_the_mesh() {
        let work = work();
        assert_eq!(work.len() as u32, JOBS + 2 * REPLACED);
        let processors: u32 = (1..=JOBS).map(|job| request(job).processors).sum();
        assert!((3000..5500).contains(&processors), "{processors}");
    }

    #[test]
    fn numbers_have_two_digits() {
        for (number, expected) in [(0, 0), (7, 7), (99, 99), (1234, 1200), (98_765, 99_000)] {
            assert_eq!(rounded(number), expected);
        }
    }

    #[test]
    fn half_of_the_numbers_are_up_to_the_median() {
        let spread = Spread::of(vec![5, 1, 9]);
        assert_eq!(spread, Some(Spread { median: 5, most: 9 }));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
