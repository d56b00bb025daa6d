//! Counting instructions in QEMU: of each command of a script the least of several runs, since the
//! clock interrupts a command here or there, every 500,000 instructions.

use anyhow::{Context, Result, bail, ensure};
use meshalloc::{Change, Configuration, Ticks};

use crate::emulator::{Ask, Emulator};
use crate::image::Image;

/// How often a script is run.
const REPEATS: usize = 2;
/// 2 ns an instruction.
pub(super) const QEMU_CLOCK: [&str; 2] = ["-icount", "shift=1,sleep=off"];
/// Of SysTick in QEMU, 168 MHz.
const TICKS_EACH: f64 = 0.168 * 2.0;
/// The image's record of the time that commands take.
pub(super) const TICKS: &str = "COMMAND_TICKS";

/// A command and its time.
pub(super) type Step = (Ticks, Ask);

/// Instructions of one kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) median: u64,
    pub(super) most: u64,
}

impl Spread {
    /// Of at least one command.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn of(instructions: impl Iterator<Item = u64>) -> Result<Spread> {
        let mut instructions: Vec<u64> = instructions.collect();
        instructions.sort_unstable();
        let spread = instructions.last().map(|&most| Spread {
            median: instructions[instructions.len() / 2],
            most,
        });
        spread.context("no commands")
    }

    /// Two cells of a table.
    pub(super) fn cells(self) -> [String; 2] {
        [self.median, self.most].map(|count| rounded(count).to_string())
    }
}

/// How many jobs the image places in this configuration, and the instructions of each command.
///
/// # Errors
///
/// When QEMU or the image fails, or the runs differ.
pub(super) fn instructions(
    image: &Image,
    configuration: Configuration,
    script: &[Step],
) -> Result<(u32, Vec<u64>)> {
    let (granted, mut least) = ticks(image, configuration, script)?;
    for _ in 1..REPEATS {
        let (again, ticks) = ticks(image, configuration, script)?;
        ensure!(again == granted, "it placed {granted} jobs, then {again}");
        least
            .iter_mut()
            .zip(ticks)
            .for_each(|(least, ticks)| *least = ticks.min(*least));
    }
    let Configuration {
        strategy,
        scheduler,
        ..
    } = configuration;
    println!("{strategy}, {}: {granted} jobs placed", scheduler.name());
    Ok((granted, least.into_iter().map(of_ticks).collect()))
}

/// Ticks of SysTick as instructions.
pub(super) fn of_ticks(ticks: u32) -> u64 {
    (f64::from(ticks) / TICKS_EACH).round() as u64
}

/// The first commands of each script.
pub(super) fn first(configuration: Configuration) -> [Step; 2] {
    [Change::Reset, Change::Configure(configuration)].map(|change| (0, change.into()))
}

/// How many jobs are placed, and the ticks of each command. The image keeps those of changes, and
/// that of a query until the next frame.
fn ticks(image: &Image, configuration: Configuration, script: &[Step]) -> Result<(u32, Vec<u32>)> {
    let (address, bytes) = image.symbol(TICKS)?;
    let (mut emulator, mut client) = Emulator::start(image, &QEMU_CLOCK)?;
    client.use_virtual_clock(true)?;
    let mut granted = 0;
    let mut queries = Vec::new();
    for (at, command) in first(configuration).iter().chain(script) {
        // Whether it is refused does not matter here.
        let _ = command.call(&mut client, Some(*at), &mut |_, _| granted += 1)?;
        if let Ask::Query(_) = command {
            queries.extend(words(&emulator.peek((address + bytes - 8, 4))?));
        }
    }
    let end = client.line_counters()?.changes as usize;
    let memory: Vec<u32> = words(&emulator.peek((address, bytes))?).collect();
    let [_, kept @ .., _, _] = &memory[..] else {
        bail!("there is no count of commands");
    };
    let changes = script.len() - queries.len();
    let begin = end.checked_sub(changes).filter(|_| changes <= kept.len());
    let begin = begin.context("commands are missing")?;
    let mut changes = (begin..end).map(|number| kept[number % kept.len()]);
    let mut queries = queries.into_iter();
    let ticks = script.iter().map(|(_, command)| match command {
        Ask::Change(_) => changes.next(),
        Ask::Query(_) => queries.next(),
    });
    Ok((
        granted,
        ticks
            .collect::<Option<_>>()
            .context("commands are missing")?,
    ))
}

/// The words in these bytes of the board.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let words = bytes.as_chunks().0.iter();
    words.map(|word| u32::from_le_bytes(*word))
}

/// Two significant digits: what is left of interrupts does not show.
pub(super) fn rounded(instructions: u64) -> u64 {
    let unit = 10_u64.pow(instructions.max(1).ilog10().saturating_sub(1));
    (instructions + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        for (number, expected) in [(0, 0), (7, 7), (99, 99), (1234, 1200), (98_765, 99_000)] {
            assert_eq!(rounded(number), expected);
        }
    }

    #[test]
    fn half_of_the_numbers_are_up_to_the_median() {
        let spread = Spread::of([5, 1, 9].into_iter()).unwrap();
        assert_eq!(spread, Spread { median: 5, most: 9 });
        assert!(Spread::of(std::iter::empty()).is_err());
    }
}
