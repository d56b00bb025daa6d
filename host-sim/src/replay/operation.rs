//! One line of a file of operations: its forms, and the messages for a line that is none.

use std::fmt;

use meshalloc::{Grid, JobId, NodeId, Request, Shape, Ticks, Tuple};

use crate::names;

/// One line of a file of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `alloc ID AxBx...`, or `alloc ID A B` for two extents, then `est=TIME` if there is an estimate: a job asks for processors.
    Alloc {
        /// The job.
        job: JobId,
        /// What it asks for.
        request: Request,
    },
    /// `free ID`: the job gives its processors back.
    Free {
        /// The job.
        job: JobId,
    },
    /// `fault X Y ...`: the processor is faulty.
    Fault {
        /// The processor, which the machine has.
        node: NodeId,
    },
    /// `repair X Y ...`: the processor works again.
    Repair {
        /// The processor, which the machine has.
        node: NodeId,
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
            b"free" => Verb::Free,
            b"fault" => Verb::Fault,
            b"repair" => Verb::Repair,
            _ => {
                return Err(format!(
                    "unknown operation {} (expected alloc, free, fault or repair)",
                    quoted(first)
                ));
            }
        };
        let usage = Usage { verb, machine };
        let mut operands = Operands { words, usage };
        let operation = match verb {
            Verb::Alloc => {
                let job = operands.job()?;
                let request = operands.request()?;
                Operation::Alloc { job, request }
            }
            Verb::Free => {
                let job = operands.job()?;
                operands.end()?;
                Operation::Free { job }
            }
            Verb::Fault => Operation::Fault {
                node: operands.node()?,
            },
            Verb::Repair => Operation::Repair {
                node: operands.node()?,
            },
        };
        Ok(Some(operation))
    }
}

/// The first word of a line.
#[derive(Clone, Copy)]
enum Verb {
    Alloc,
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
                format!("ID {} [{ESTIMATE}TIME]", extents.join("x"))
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

fn is_estimate(word: &[u8]) -> bool {
    word.starts_with(ESTIMATE.as_bytes())
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

    fn number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.word(what)?;
        self.digits(word, word, what)
    }

    /// Any number of digits, which are a part of `word`; what is too large for 64 bits becomes the largest that is not.
    fn digits(&self, digits: &[u8], word: &[u8], what: &str) -> Result<u64, String> {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(format!(
                "{} is not {what} (expected {} with whole numbers from 0)",
                quoted(word),
                self.usage
            ));
        }
        let digits = digits.iter().map(|&digit| u64::from(digit - b'0'));
        Ok(digits.fold(0, |value: u64, digit| {
            value.saturating_mul(10).saturating_add(digit)
        }))
    }

    fn job(&mut self) -> Result<JobId, String> {
        let id = self.number("a job id")?;
        u32::try_from(id)
            .map(JobId)
            .map_err(|_| format!("the job id is too large (expected 0 to {})", u32::MAX))
    }

    /// `AxBx...`, or `A B` for two extents, and perhaps an estimate: the last operands of a line.
    ///
    /// A request with an extent beyond the range of a shape fits no machine, nor does the largest for two extents; extents
    /// of zero are left as they are, because an empty request is another error.
    fn request(&mut self) -> Result<Request, String> {
        let word = self.word("what is asked for")?;
        let mut extents = Vec::new();
        for digits in word.split(|byte| byte.eq_ignore_ascii_case(&b'x')) {
            extents.push(self.digits(digits, word, "a list of extents")?);
        }
        let mut next = self.words.next();
        if let Some(second) = next.filter(|word| extents.len() == 1 && !is_estimate(word)) {
            extents.push(self.digits(second, second, "an extent")?);
            next = self.words.next();
        }
        let estimate = match next {
            Some(word) if is_estimate(word) => Some(self.estimate(word)?),
            Some(word) => return Err(self.excess(word)),
            None => None,
        };
        self.end()?;
        let is_beyond = extents.iter().any(|&extent| extent > u64::from(u16::MAX));
        let shape = if is_beyond && !extents.contains(&0) {
            Shape::new(&[u16::MAX; 2])
        } else {
            let extent = |&extent| u16::try_from(extent).unwrap_or(u16::MAX);
            Shape::new(&extents.iter().map(extent).collect::<Vec<_>>())
        };
        let wrong = |error| format!("{}: {error} (expected {})", quoted(word), self.usage);
        let request = shape.map(Request::new).map_err(wrong)?;
        Ok(estimate.map_or(request, |ticks| request.with_estimate(ticks)))
    }

    /// `est=TIME`: at least 1.
    fn estimate(&self, word: &[u8]) -> Result<Ticks, String> {
        match self.digits(&word[ESTIMATE.len()..], word, "an estimate")? {
            0 => Err(format!(
                "{} is no time to hold processors (expected {ESTIMATE}TIME with a TIME of at least 1)",
                quoted(word)
            )),
            ticks => Ok(ticks),
        }
    }

    /// The last operands of a line.
    fn node(&mut self) -> Result<NodeId, String> {
        const KNOWN: &str = "a coordinate below each side is a processor";
        let machine = self.usage.machine;
        let names = dimensions(machine);
        let mut numbers = Vec::new();
        for name in &names {
            numbers.push(self.number(name)?);
        }
        self.end()?;
        let sides = machine.written(Tuple::from_slice(machine.sides()).expect(KNOWN));
        for ((name, number), &side) in names.iter().zip(&numbers).zip(sides.iter()) {
            if *number >= u64::from(side) {
                return Err(format!(
                    "{name} = {number} is outside {machine} (expected 0 to {})",
                    side - 1
                ));
            }
        }
        let numbers: Vec<u16> = numbers.iter().map(|&number| number as u16).collect();
        let coordinates = machine.written(Tuple::from_slice(&numbers).expect(KNOWN));
        Ok(machine.node(&coordinates).expect(KNOWN))
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

/// A word of the input, shortened, as an error message shows it.
fn quoted(word: &[u8]) -> String {
    const BYTES_MAX: usize = 40;
    let shown = &word[..word.len().min(BYTES_MAX)];
    let more = if word.len() > BYTES_MAX { "..." } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(shown))
}
