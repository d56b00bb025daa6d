//! One line of a file of operations: what it may be, and what is said about a line that is none.

use meshalloc::{Coord, Flags, JobId, Mesh, Request};

/// One line of a file of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `alloc ID W H`: a job asks for `W` by `H` processors.
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
    /// `fault X Y`: the processor `<X, Y>` is faulty.
    Fault {
        /// The processor.
        at: Coord,
    },
    /// `repair X Y`: the processor `<X, Y>` works again.
    Repair {
        /// The processor.
        at: Coord,
    },
}

impl Operation {
    /// Reads one line, without its end; `None` for one that is blank or a comment.
    ///
    /// # Errors
    ///
    /// What is wrong with the line and what was expected. A side of more than 65,535 is no error: such
    /// a request is well formed and never fits.
    pub fn parse(line: &[u8], mesh: Mesh) -> Result<Option<Self>, String> {
        let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut words = text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(verb) = words.next() else {
            return Ok(None);
        };
        let mut operands = Operands { words };
        let operation = match verb {
            b"alloc" => {
                let usage = "`alloc ID W H`";
                let job = operands.job(usage)?;
                let w = operands.number("a width", usage)?;
                let h = operands.number("a height", usage)?;
                operands.end(usage)?;
                Operation::Alloc {
                    job,
                    request: request(w, h),
                }
            }
            b"free" => {
                let usage = "`free ID`";
                let job = operands.job(usage)?;
                operands.end(usage)?;
                Operation::Free { job }
            }
            b"fault" => Operation::Fault {
                at: operands.node("`fault X Y`", mesh)?,
            },
            b"repair" => Operation::Repair {
                at: operands.node("`repair X Y`", mesh)?,
            },
            _ => {
                return Err(format!(
                    "unknown operation {} (expected alloc, free, fault or repair)",
                    quoted(verb)
                ));
            }
        };
        Ok(Some(operation))
    }
}

/// A side beyond the range of a request fits no mesh, nor does the largest request there is; sides of
/// zero are left as they are, because an empty request is another error.
fn request(w: u64, h: u64) -> Request {
    let side = |length: u64| u16::try_from(length).unwrap_or(u16::MAX);
    let beyond = w.max(h) > u64::from(u16::MAX) && w.min(h) > 0;
    let request = if beyond {
        Request::submesh(u16::MAX, u16::MAX)
    } else {
        Request::submesh(side(w), side(h))
    };
    request.with_flags(Flags::NO_WAIT)
}

/// The words of a line after the first.
struct Operands<I> {
    words: I,
}

impl<'l, I: Iterator<Item = &'l [u8]>> Operands<I> {
    /// Any number of digits; what is too large for 64 bits becomes the largest that is not.
    fn number(&mut self, what: &str, usage: &str) -> Result<u64, String> {
        let Some(word) = self.words.next() else {
            return Err(format!("{what} is missing (expected {usage})"));
        };
        if !word.iter().all(u8::is_ascii_digit) {
            return Err(format!(
                "{} is not {what} (expected {usage} with whole numbers from 0)",
                quoted(word)
            ));
        }
        let digits = word.iter().map(|&digit| u64::from(digit - b'0'));
        Ok(digits.fold(0, |value: u64, digit| {
            value.saturating_mul(10).saturating_add(digit)
        }))
    }

    fn job(&mut self, usage: &str) -> Result<JobId, String> {
        let id = self.number("a job id", usage)?;
        u32::try_from(id)
            .map(JobId)
            .map_err(|_| format!("the job id is too large (expected 0 to {})", u32::MAX))
    }

    fn node(&mut self, usage: &str, mesh: Mesh) -> Result<Coord, String> {
        let x = self.number("a column", usage)?;
        let y = self.number("a row", usage)?;
        self.end(usage)?;
        let sides = mesh.sides();
        let within = |at: u64, side: u16| u16::try_from(at).ok().filter(|&at| at < side);
        match (within(x, sides.w), within(y, sides.h)) {
            (Some(x), Some(y)) => Ok(Coord::new(x, y)),
            _ => Err(format!(
                "the node <{x}, {y}> is outside the mesh (expected 0 <= x < {} and 0 <= y < {})",
                sides.w, sides.h
            )),
        }
    }

    fn end(&mut self, usage: &str) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(format!(
                "{} is more than was expected ({usage})",
                quoted(word)
            )),
        }
    }
}

/// A word of the input, shortened, as an error message shows it.
fn quoted(word: &[u8]) -> String {
    const BYTES_MAX: usize = 40;
    let shown = &word[..word.len().min(BYTES_MAX)];
    let more = if word.len() > BYTES_MAX { "..." } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(shown))
}
