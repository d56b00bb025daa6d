//! Counting instructions in QEMU: of each command the least of several runs, since the clock
//! interrupts a command here or there, every 500,000 instructions.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use meshalloc::{Configuration, JobId, Query, Ticks};

use crate::emulator::{Ask, Emulator};
use crate::image::Image;

/// How often commands are counted.
const REPEATS: usize = 2;
/// 2 ns an instruction.
const CLOCK: [&str; 2] = ["-icount", "shift=1,sleep=off"];
/// Of SysTick in QEMU, 168 MHz.
const TICKS_EACH: f64 = 0.168 * 2.0;
/// The image's record of the time that commands take.
const TICKS: &str = "COMMAND_TICKS";

/// Instructions of one kind of command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// How many there were.
    pub(super) count: usize,
    pub(super) median: u64,
    pub(super) most: u64,
}

impl Spread {
    /// Of at least one command.
    fn of(mut instructions: Vec<u64>) -> Spread {
        instructions.sort_unstable();
        let count = instructions.len();
        Spread {
            count,
            median: instructions[count / 2],
            most: instructions[count - 1],
        }
    }

    /// Two cells of a table.
    pub(super) fn cells(self) -> [String; 2] {
        [self.median, self.most].map(|count| rounded(count).to_string())
    }
}

/// An image in a QEMU whose clock counts instructions.
pub(super) struct Counter {
    emulator: Emulator,
    /// The address and size of the image's record.
    record: (u64, u64),
    granted: u32,
    /// The kinds of the commands so far, and the ticks of queries. The image keeps those of
    /// changes, and that of a query until the next frame.
    commands: Vec<(&'static str, Option<u32>)>,
}

impl Counter {
    pub(super) fn start(image: &Image) -> Result<Counter> {
        Ok(Counter {
            emulator: Emulator::start(image, &CLOCK)?,
            record: image.symbol(TICKS)?,
            granted: 0,
            commands: Vec::new(),
        })
    }

    /// Starts anew with this configuration. These commands are not counted.
    pub(super) fn configure(&mut self, configuration: Configuration) -> Result<()> {
        // Where it is refused, no job is placed.
        self.emulator.configure(configuration).map(drop)
    }

    /// Carries out a command of this kind at this time; returns the jobs that begin.
    pub(super) fn call(&mut self, kind: &'static str, at: Ticks, ask: &Ask) -> Result<Vec<JobId>> {
        let mut granted = Vec::new();
        // Whether it is refused does not matter: that takes time as well.
        let _ = self
            .emulator
            .call(at, ask, |event| granted.push(event.job))?;
        self.granted += granted.len() as u32;
        let ticks = match ask {
            Ask::Change(_) => None,
            Ask::Query(_) => Some(self.word_from_end(2)?),
        };
        self.commands.push((kind, ticks));
        Ok(granted)
    }

    /// How many commands there were.
    pub(super) const fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Gives the latest command another kind.
    pub(super) fn rename(&mut self, kind: &'static str) {
        self.commands.last_mut().expect("there was a command").0 = kind;
    }

    /// The most instructions between two looks at the line so far.
    pub(super) fn longest_slice(&mut self) -> Result<u64> {
        let _ = self.emulator.client.query(&Query::Statistics)?;
        Ok(instructions(self.word_from_end(1)?))
    }

    /// The word of the record that is the first, second and so on from its end.
    fn word_from_end(&mut self, number: u64) -> Result<u32> {
        let (address, bytes) = self.record;
        let word = self.emulator.peek((address + bytes - 4 * number, 4))?;
        words(&word).next().context("no word was read")
    }

    /// How many jobs were placed, and the kind and the ticks of each command.
    fn finish(mut self) -> Result<(u32, Vec<(&'static str, u32)>)> {
        let end = self.emulator.client.line_counters()?.changes as usize;
        let record: Vec<u32> = words(&self.emulator.peek(self.record)?).collect();
        let [_, kept @ .., _, _] = &record[..] else {
            bail!("there is no count of commands");
        };
        let changes = self
            .commands
            .iter()
            .filter(|(_, ticks)| ticks.is_none())
            .count();
        let begin = end.checked_sub(changes).filter(|_| changes <= kept.len());
        let mut numbers = begin.context("commands are missing")?..end;
        let ticks = self.commands.into_iter().map(|(kind, ticks)| {
            let kept = |number: usize| kept[number % kept.len()];
            (
                kind,
                ticks.or_else(|| numbers.next().map(kept)).unwrap_or(0),
            )
        });
        Ok((self.granted, ticks.collect()))
    }
}

/// How many jobs the image places in this configuration, and the instructions of each kind of
/// command, for commands of which the next one may depend on the outcome of the one before.
///
/// # Errors
///
/// When QEMU or the image fails, or the runs differ.
pub(super) fn count(
    image: &Image,
    configuration: Configuration,
    commands: impl Fn(&mut Counter) -> Result<()>,
) -> Result<(u32, BTreeMap<&'static str, Spread>)> {
    let run = || {
        let mut counter = Counter::start(image)?;
        counter.configure(configuration)?;
        commands(&mut counter)?;
        counter.finish()
    };
    let (granted, mut least) = run()?;
    for _ in 1..REPEATS {
        let (again, counted) = run()?;
        ensure!(again == granted, "it placed {granted} jobs, then {again}");
        ensure!(
            counted.len() == least.len(),
            "another run had other commands"
        );
        for ((_, least), (_, ticks)) in least.iter_mut().zip(counted) {
            *least = ticks.min(*least);
        }
    }
    let (strategy, scheduler) = (configuration.strategy, configuration.scheduler.name());
    println!("{strategy}, {scheduler}: {granted} jobs placed");
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for (kind, ticks) in least {
        kinds.entry(kind).or_default().push(instructions(ticks));
    }
    let spreads = kinds
        .into_iter()
        .map(|(kind, counts)| (kind, Spread::of(counts)));
    Ok((granted, spreads.collect()))
}

/// Ticks of SysTick as instructions.
fn instructions(ticks: u32) -> u64 {
    (f64::from(ticks) / TICKS_EACH).round() as u64
}

/// The words in these bytes of the board.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
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
        let spread = Spread::of(vec![5, 1, 9]);
        assert_eq!((spread.count, spread.median, spread.most), (3, 5, 9));
    }
}
