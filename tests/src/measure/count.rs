//! Counting instructions in QEMU: of each command the least of several runs, since the clock
//! interrupts a command here or there, every 500,000 instructions.

use std::collections::BTreeMap;

use meshalloc::{Configuration, JobId, Ticks};

use super::{Ask, Image, Running};

/// How often commands are counted.
const REPEATS: usize = 2;
/// 2 ns an instruction.
const CLOCK: [&str; 2] = ["-icount", "shift=1,sleep=off"];
/// Of SysTick in QEMU, 168 MHz.
const TICKS_EACH: f64 = 0.168 * 2.0;

/// Instructions of one kind of command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// How many there were.
    pub(super) count: usize,
    pub(super) median: u64,
    pub(super) most: u64,
}

impl Spread {
    /// The spread of the instructions of the commands; there is at least one command.
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
    running: Running,
    granted: u32,
    /// The kinds of the commands so far, and the ticks of queries. The image keeps those of
    /// changes, and that of a query until the next frame.
    commands: Vec<(&'static str, Option<u32>)>,
}

impl Counter {
    pub(super) fn start(image: &Image) -> Counter {
        Counter {
            running: image.start(&CLOCK),
            granted: 0,
            commands: Vec::new(),
        }
    }

    /// Starts anew with this configuration. These commands are not counted. Returns whether it is
    /// served.
    pub(super) fn configure(&mut self, configuration: Configuration) -> bool {
        self.running.configure(configuration)
    }

    /// Carries out a command of this kind at this time; returns the jobs that begin.
    pub(super) fn call(&mut self, kind: &'static str, at: Ticks, ask: &Ask) -> Vec<JobId> {
        let mut granted = Vec::new();
        // Whether it is refused does not matter: that takes time as well.
        self.running.call(at, ask, |event| granted.push(event.job));
        self.granted += granted.len() as u32;
        let is_query = matches!(ask, Ask::Query(_));
        let ticks = is_query.then(|| self.latest());
        self.commands.push((kind, ticks));
        granted
    }

    /// How many commands there were.
    pub(super) const fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Gives the latest command another kind.
    pub(super) fn rename(&mut self, kind: &'static str) {
        self.commands.last_mut().expect("there was a command").0 = kind;
    }

    /// The ticks of the latest frame.
    fn latest(&mut self) -> u32 {
        let [address, bytes] = self.running.place;
        let word = self.running.qemu.peek(address + bytes - 8, 4);
        let word = word.expect("QEMU writes its memory");
        words(&word).next().expect("a word")
    }

    /// How many jobs were placed, and the kind and the ticks of each command.
    fn finish(mut self) -> (u32, Vec<(&'static str, u32)>) {
        let counters = self.running.client.line_counters();
        let end = counters.expect("the image answers").changes as usize;
        let record: Vec<u32> = words(&self.running.memory()).collect();
        let [_, kept @ .., _, _] = &record[..] else {
            panic!("there is no count of commands");
        };
        let is_change = |(_, ticks): &&(_, Option<u32>)| ticks.is_none();
        let changes = self.commands.iter().filter(is_change).count();
        assert!(changes <= end.min(kept.len()), "commands are missing");
        let mut kept = (end - changes..end).map(|number| kept[number % kept.len()]);
        let commands = self.commands.into_iter().map(|(kind, ticks)| {
            let ticks = ticks.or_else(|| kept.next());
            (kind, ticks.expect("all changes are kept"))
        });
        (self.granted, commands.collect())
    }
}

/// How many jobs the image places in this configuration, and the instructions of each kind of
/// command, for commands of which the next one may depend on the outcome of the one before. `None`
/// if the image does not serve the configuration.
pub(super) fn count(
    image: &Image,
    configuration: Configuration,
    commands: impl Fn(&mut Counter),
) -> Option<(u32, BTreeMap<&'static str, Spread>)> {
    let run = || {
        let mut counter = Counter::start(image);
        let is_served = counter.configure(configuration);
        is_served.then(|| {
            commands(&mut counter);
            counter.finish()
        })
    };
    let (granted, mut least) = run()?;
    for _ in 1..REPEATS {
        let (again, counted) = run()?;
        assert_eq!(
            (again, counted.len()),
            (granted, least.len()),
            "another run differs"
        );
        for ((_, least), (_, ticks)) in least.iter_mut().zip(counted) {
            *least = ticks.min(*least);
        }
    }
    let (strategy, scheduler) = (configuration.strategy, configuration.scheduler.name());
    eprintln!("{strategy}, {scheduler}: {granted} jobs placed");
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for (kind, ticks) in least {
        kinds.entry(kind).or_default().push(instructions(ticks));
    }
    let spreads = kinds
        .into_iter()
        .map(|(kind, counts)| (kind, Spread::of(counts)));
    Some((granted, spreads.collect()))
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
