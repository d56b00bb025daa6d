//! One line of a file of operations: what it may be, and what is said about a line that is none.

use std::fmt;

use meshalloc::{Coord, Cube, DIMENSIONS_MAX, Flags, JobId, Machine, Mesh, NodeId, Request};

use crate::names;

/// One line of a file of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `alloc ID W H`, on a cube `alloc ID R0xR1x...`: a job asks for processors.
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
    /// `fault X Y`, on a cube `fault A[n-1] ... A[0]`: the processor is faulty.
    Fault {
        /// The processor, which the machine has.
        node: NodeId,
    },
    /// `repair X Y`, on a cube `repair A[n-1] ... A[0]`: the processor works again.
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
    /// What is wrong with the line and what was expected. What is only too large for this machine is no error: a side
    /// of more than 65,535, or radices that some cube has room for. Such a request is well formed and never fits.
    pub fn parse(line: &[u8], machine: Machine) -> Result<Option<Self>, String> {
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
                let request = operands.request()?.with_flags(Flags::NO_WAIT);
                operands.end()?;
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
    machine: Machine,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, operands) = match self.verb {
            Verb::Free => return f.write_str("`free ID`"),
            Verb::Alloc => ("alloc", "ID W H"),
            Verb::Fault => ("fault", "X Y"),
            Verb::Repair => ("repair", "X Y"),
        };
        let Machine::Cube(cube) = self.machine else {
            return write!(f, "`{name} {operands}` on a mesh");
        };
        write!(f, "`{name}")?;
        match self.verb {
            Verb::Alloc => f.write_str(" ID R0xR1x...")?,
            _ => {
                for dimension in (0..cube.n()).rev() {
                    write!(f, " A[{dimension}]")?;
                }
            }
        }
        write!(f, "` on a {cube}")
    }
}

/// The words of a line after the first.
struct Operands<I> {
    words: I,
    usage: Usage,
}

impl<'l, I: Iterator<Item = &'l [u8]>> Operands<I> {
    fn word(&mut self, what: impl fmt::Display) -> Result<&'l [u8], String> {
        let missing = || format!("{what} is missing (expected {})", self.usage);
        self.words.next().ok_or_else(missing)
    }

    /// Any number of digits; what is too large for 64 bits becomes the largest that is not.
    fn number(&mut self, what: impl fmt::Display) -> Result<u64, String> {
        let word = self.word(&what)?;
        if !word.iter().all(u8::is_ascii_digit) {
            return Err(format!(
                "{} is not {what} (expected {} with whole numbers from 0)",
                quoted(word),
                self.usage
            ));
        }
        let digits = word.iter().map(|&digit| u64::from(digit - b'0'));
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

    fn request(&mut self) -> Result<Request, String> {
        match self.usage.machine {
            Machine::Cube(_) => self.radices(),
            _ => self.sides(),
        }
    }

    /// A side beyond the range of a request fits no mesh, nor does the largest request there is; sides of
    /// zero are left as they are, because an empty request is another error.
    fn sides(&mut self) -> Result<Request, String> {
        let w = self.number("a width")?;
        let h = self.number("a height")?;
        let side = |length: u64| u16::try_from(length).unwrap_or(u16::MAX);
        let beyond = w.max(h) > u64::from(u16::MAX) && w.min(h) > 0;
        Ok(match beyond {
            true => Request::submesh(u16::MAX, u16::MAX),
            false => Request::submesh(side(w), side(h)),
        })
    }

    fn radices(&mut self) -> Result<Request, String> {
        let word = self.word("what is asked for")?;
        let text = String::from_utf8_lossy(word);
        let radices = names::radices(&text);
        let wrong = |reason| format!("{}: {reason} (in {})", quoted(word), self.usage);
        radices.map(Request::subcube).map_err(wrong)
    }

    /// The last operands of a line.
    fn node(&mut self) -> Result<NodeId, String> {
        match self.usage.machine {
            Machine::Mesh(mesh) => self.mesh_node(mesh),
            Machine::Cube(cube) => self.cube_node(cube),
            other => Err(format!("no processor of a {other} can be named")),
        }
    }

    fn mesh_node(&mut self, mesh: Mesh) -> Result<NodeId, String> {
        let x = self.number("a column")?;
        let y = self.number("a row")?;
        self.end()?;
        let [column, row] = [x, y].map(|at| u16::try_from(at).ok());
        let at = column.zip(row).map(|(x, y)| Coord::new(x, y));
        at.and_then(|at| mesh.node(at)).ok_or_else(|| {
            let sides = mesh.sides();
            format!(
                "the node <{x}, {y}> is outside the mesh (expected 0 <= x < {} and 0 <= y < {})",
                sides.w, sides.h
            )
        })
    }

    fn cube_node(&mut self, cube: Cube) -> Result<NodeId, String> {
        let mut digits = [0; DIMENSIONS_MAX];
        let digits = &mut digits[..cube.n().into()];
        let names = (0..cube.n()).rev();
        for (digit, dimension) in digits.iter_mut().zip(names.clone()) {
            *digit = self.number(format_args!("the digit A[{dimension}]"))?;
        }
        self.end()?;
        let k = u64::from(cube.k());
        if let Some((digit, dimension)) = digits.iter().zip(names).find(|(digit, _)| **digit >= k) {
            return Err(format!(
                "the digit A[{dimension}] = {digit} is outside the {cube} (expected 0 to {})",
                k - 1
            ));
        }
        let number = digits.iter().fold(0, |number, digit| number * k + digit);
        Ok(NodeId(number as u32))
    }

    fn end(&mut self) -> Result<(), String> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(format!(
                "{} is more than was expected ({})",
                quoted(word),
                self.usage
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
