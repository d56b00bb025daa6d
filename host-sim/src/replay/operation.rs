//! One line of a file of operations: its forms, and the messages for a line that is none.

use std::fmt;

use meshalloc::{Block, Grid, JobId, Request, Shape, Ticks, Tuple};

use meshalloc_sim::names;
use meshalloc_sim::wording::{quoted, shortened};

/// One line of a file of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `alloc ID AxBx...`, or `alloc ID A B` for two extents, then `est=TIME` if there is an estimate, and `lease=TIME` if it has a lease: a job asks for
    /// processors.
    Alloc {
        /// The job.
        job: JobId,
        /// What it asks for.
        request: Request,
        /// How long it may wait and run before its lease is renewed, at least 1; `None` without a lease.
        lease: Option<Ticks>,
    },
    /// `lease ID TIME`: the job has a lease from now on, in place of the one it had.
    Lease {
        /// The job.
        job: JobId,
        /// How long it lasts; 0: the job has none from now on.
        ticks: Ticks,
    },
    /// `free ID`: the job gives its processors back.
    Free {
        /// The job.
        job: JobId,
    },
    /// `fault X Y ...`: these processors are faulty. Each operand is a coordinate, a range `A..B` of them with both ends, or `*` for all.
    Fault {
        /// The processors, which the machine has.
        block: Block,
    },
    /// `repair X Y ...`: these processors work again.
    Repair {
        /// The processors, which the machine has.
        block: Block,
    },
}

impl Operation {
    /// Reads one line, without its end; `None` for one that is blank or a comment.
    ///
    /// # Errors
    ///
    /// What is wrong with the line and what was expected. What is only too large for this machine is no error, nor is an
    /// extent of more than 65,535. Such a request is well formed and never fits.
    pub fn parse(line: &[u8], machine: Grid) -> Result<Option<Self>, String> {
        let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut words = text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(first) = words.next() else {
            return Ok(None);
        };
        let verb = match first {
            b"alloc" => Verb::Alloc,
            b"lease" => Verb::Lease,
            b"free" => Verb::Free,
            b"fault" => Verb::Fault,
            b"repair" => Verb::Repair,
            _ => {
                return Err(format!(
                    "unknown operation {} (expected alloc, lease, free, fault or repair)",
                    quoted(first)
                ));
            }
        };
        let usage = Usage { verb, machine };
        let mut operands = Operands { words, usage };
        let operation = match verb {
            Verb::Alloc => {
                let job = operands.job()?;
                let (request, lease) = operands.request()?;
                Operation::Alloc {
                    job,
                    request,
                    lease,
                }
            }
            Verb::Lease => {
                let job = operands.job()?;
                let ticks = operands.number("a time", Ticks::MAX)?;
                operands.end()?;
                Operation::Lease { job, ticks }
            }
            Verb::Free => {
                let job = operands.job()?;
                operands.end()?;
                Operation::Free { job }
            }
            Verb::Fault => Operation::Fault {
                block: operands.block()?,
            },
            Verb::Repair => Operation::Repair {
                block: operands.block()?,
            },
        };
        Ok(Some(operation))
    }
}

/// The first word of a line.
#[derive(Clone, Copy)]
enum Verb {
    Alloc,
    Lease,
    Free,
    Fault,
    Repair,
}

/// How an operation on a machine is written.
#[derive(Clone, Copy)]
struct Usage {
    verb: Verb,
    machine: Grid,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.verb {
            Verb::Free => return f.write_str("`free ID`"),
            Verb::Lease => return f.write_str("`lease ID TIME`"),
            Verb::Alloc => "alloc",
            Verb::Fault => "fault",
            Verb::Repair => "repair",
        };
        let machine = self.machine;
        let operands = match self.verb {
            Verb::Alloc => {
                let extents: Vec<_> = ('A'..)
                    .take(machine.dimensions())
                    .map(String::from)
                    .collect();
                format!("ID {} [{ESTIMATE}TIME] [{LEASE}TIME]", extents.join("x"))
            }
            _ => dimensions(machine).join(" ").to_uppercase(),
        };
        write!(f, "`{name} {operands}` on {machine}")
    }
}

/// The names of the machine's dimensions in the order in which coordinates are written.
fn dimensions(machine: Grid) -> Vec<String> {
    let names = (0..machine.dimensions()).map(|dimension| names::dimension(machine, dimension));
    let mut names: Vec<_> = names.collect();
    if machine.is_written_high_first() {
        names.reverse();
    }
    names
}

/// What an estimate begins with.
const ESTIMATE: &str = "est=";
/// What a lease begins with.
const LEASE: &str = "lease=";

/// What the word begins with, if it is one of these times.
fn name_of_time(word: &[u8]) -> Option<&'static str> {
    [ESTIMATE, LEASE]
        .into_iter()
        .find(|name| word.starts_with(name.as_bytes()))
}

/// The words of a line after the first.
struct Operands<I> {
    words: I,
    usage: Usage,
}

impl<'l, I: Iterator<Item = &'l [u8]>> Operands<I> {
    fn word(&mut self, what: &str) -> Result<&'l [u8], String> {
        let missing = || format!("{what} is missing (expected {})", self.usage);
        self.words.next().ok_or_else(missing)
    }

    /// A whole number, 0 to `most`.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, String> {
        let word = self.word(what)?;
        let number = self.digits(word, word, what)?;
        let in_range = number.filter(|&number| number <= most);
        in_range.ok_or_else(|| {
            let given = quoted(word);
            format!("{given} is too large for {what} (expected 0 to {most})")
        })
    }

    /// Any number of digits, which are a part of `word`; `None` if they are too large for 64 bits.
    fn digits(&self, digits: &[u8], word: &[u8], what: &str) -> Result<Option<u64>, String> {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(format!(
                "{} is not {what} (expected {} with whole numbers from 0)",
                quoted(word),
                self.usage
            ));
        }
        let mut digits = digits.iter().map(|&digit| u64::from(digit - b'0'));
        Ok(digits.try_fold(0, |value: u64, digit| {
            value.checked_mul(10)?.checked_add(digit)
        }))
    }

    /// The same; what is too large for 64 bits becomes the largest that is not.
    fn extent(&self, digits: &[u8], word: &[u8], what: &str) -> Result<u64, String> {
        let extent = self.digits(digits, word, what)?;
        Ok(extent.unwrap_or(u64::MAX))
    }

    fn job(&mut self) -> Result<JobId, String> {
        let id = self.number("a job id", u32::MAX.into())?;
        Ok(JobId(id as u32))
    }

    /// `AxBx...`, or `A B` for two extents, and perhaps an estimate and a lease, in any order: the last operands of a line.
    ///
    /// A request with an extent beyond the range of a shape fits no machine, nor does the largest
    /// for two extents, or for one on a shorter dimension; extents of zero are left as they are,
    /// because an empty request is another error.
    fn request(&mut self) -> Result<(Request, Option<Ticks>), String> {
        let word = self.word("what is asked for")?;
        let mut extents = Vec::new();
        for digits in word.split(|byte| byte.eq_ignore_ascii_case(&b'x')) {
            extents.push(self.extent(digits, word, "a list of extents")?);
        }
        let mut next = self.words.next();
        if let Some(second) = next.filter(|word| extents.len() == 1 && name_of_time(word).is_none())
        {
            extents.push(self.extent(second, second, "an extent")?);
            next = self.words.next();
        }
        let (mut estimate, mut lease) = (None, None);
        while let Some(word) = next {
            let (name, what, time) = match name_of_time(word) {
                Some(ESTIMATE) => (ESTIMATE, "an estimate", &mut estimate),
                Some(name) => (name, "a lease", &mut lease),
                None => return Err(self.excess(word)),
            };
            if time.is_some() {
                return Err(self.excess(word));
            }
            *time = Some(self.time(word, name, what)?);
            next = self.words.next();
        }
        let is_beyond = extents.iter().any(|&extent| extent > u64::from(u16::MAX));
        let shape = if is_beyond && !extents.contains(&0) {
            // On one dimension two extents are too many, unless it is as long as the longest
            // extent.
            match self.usage.machine.sides() {
                [side] if *side < u16::MAX => Shape::new(&[u16::MAX]),
                _ => Shape::new(&[u16::MAX; 2]),
            }
        } else {
            let extent = |&extent| u16::try_from(extent).unwrap_or(u16::MAX);
            Shape::new(&extents.iter().map(extent).collect::<Vec<_>>())
        };
        let wrong = |error| format!("{}: {error} (expected {})", quoted(word), self.usage);
        let request = shape.map(Request::new).map_err(wrong)?;
        let request = estimate.map_or(request, |ticks| request.with_estimate(ticks));
        Ok((request, lease))
    }

    /// What stands behind a name, `est=TIME` or `lease=TIME`: at least 1.
    fn time(&self, word: &[u8], name: &str, what: &str) -> Result<Ticks, String> {
        let time = self.digits(&word[name.len()..], word, what)?;
        time.filter(|&ticks| ticks > 0).ok_or_else(|| {
            let (given, most) = (quoted(word), Ticks::MAX);
            format!("{given} is out of range (expected {name}TIME with a TIME of 1 to {most})")
        })
    }

    /// The last operands of a line.
    fn block(&mut self) -> Result<Block, String> {
        const KNOWN: &str = "coordinates below each side and extents up to it are a block";
        let machine = self.usage.machine;
        let names = dimensions(machine);
        let written = |numbers: &[u16]| Tuple::from_slice(numbers).expect(KNOWN);
        let sides = machine.written(written(machine.sides()));
        let (mut starts, mut extents) = (Vec::new(), Vec::new());
        for (at, (name, &side)) in names.iter().zip(sides.iter()).enumerate() {
            let dimension = match machine.is_written_high_first() {
                true => names.len() - 1 - at,
                false => at,
            };
            let (start, extent) = self.span(name, side, machine.wraps(dimension))?;
            starts.push(start);
            extents.push(extent);
        }
        self.end()?;
        let [start, extent] = [starts, extents].map(|numbers| machine.written(written(&numbers)));
        Ok(machine.block(&start, &extent).expect(KNOWN))
    }

    /// A coordinate, `A..B` or `*`: where it starts along a dimension and how far it goes.
    fn span(&mut self, name: &str, side: u16, wraps: bool) -> Result<(u16, u16), String> {
        let machine = self.usage.machine;
        let word = self.word(name)?;
        if word == b"*" {
            return Ok((0, side));
        }
        let range = word.windows(2).position(|two| two == b"..");
        let [first, last] = match range {
            Some(at) => [&word[..at], &word[at + 2..]],
            None => [word, word],
        };
        let coordinate = |digits| match self.digits(digits, word, name)? {
            Some(number) if number < u64::from(side) => Ok(number as u16),
            _ => Err(format!(
                "{name} = {} is outside {machine} (expected 0 to {})",
                shortened(digits),
                side - 1
            )),
        };
        let (first, last) = (coordinate(first)?, coordinate(last)?);
        match last.checked_sub(first) {
            Some(more) => Ok((first, more + 1)),
            None if wraps => Ok((first, side - first + last + 1)),
            None => Err(format!(
                "{} ends before it begins, and {name} does not wrap on {machine}",
                quoted(word)
            )),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.excess(word)),
        }
    }

    fn excess(&self, word: &[u8]) -> String {
        format!(
            "{} is more than was expected ({})",
            quoted(word),
            self.usage
        )
    }
}
