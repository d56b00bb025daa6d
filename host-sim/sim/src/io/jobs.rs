//! What the jobs of an I/O workload do, and how it is written.

use serde::Serialize;
use std::fmt::{self, Display};
use std::str::FromStr;

use super::{Bandwidths, Direction, IoSide};
use crate::names::{self, named};

/// To whom the processors of a job send in a communication phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Communication {
    /// Each to each other one.
    #[default]
    AllToAll,
    /// Each to one, a permutation drawn anew for each phase; nothing where that is itself.
    Permutation,
}

/// How messages cross the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum IoNetwork {
    /// The messages of a phase progress at one rate; phases [share](crate::sharing) resources.
    #[default]
    FairShares,
    /// Each message crosses the [wormhole network](crate::network) by itself.
    Wormhole {
        /// The flits of a message of 1 MB, over 0: a cycle is the time in which a link carries one.
        flits: u32,
    },
}

impl IoNetwork {
    /// The flits of a message where their number is not given.
    const FLITS: u32 = 64;
    /// The most flits: times are counted in microseconds.
    const FLITS_MAX: u32 = 4096;
}

impl FromStr for IoNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = format!(
            "expected network=fair-shares or network=wormhole:FLITS, 1 to {}",
            IoNetwork::FLITS_MAX
        );
        let flits = match text.split_once(':') {
            None if text == "fair-shares" => return Ok(IoNetwork::FairShares),
            None if text == "wormhole" => Some(IoNetwork::FLITS),
            Some(("wormhole", flits)) => flits.parse().ok(),
            _ => None,
        };
        let flits = flits.filter(|flits| (1..=IoNetwork::FLITS_MAX).contains(flits));
        let flits = flits.ok_or(expected)?;
        Ok(IoNetwork::Wormhole { flits })
    }
}

impl Display for IoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoNetwork::FairShares => f.pad("fair-shares"),
            IoNetwork::Wormhole { flits } => f.pad(&format!("wormhole:{flits}")),
        }
    }
}

/// What every job does once it has its processors: communication phases, then one I/O phase. All
/// messages have 1 MB. The next phase of a job begins when all of its messages have arrived; other
/// jobs do not wait for it.
///
/// ```
/// use meshalloc_sim::io::{Direction, IoJobs};
/// let jobs: IoJobs = "communications=4,direction=read".parse()?;
/// assert_eq!((jobs.communications, jobs.direction), (4, Direction::Read));
/// let whole = "communications=4,pattern=all-to-all,direction=read,link=11.65,disk=4.545,\
///              network=fair-shares";
/// assert_eq!(jobs.to_string(), whole);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IoJobs {
    /// Where the I/O nodes are.
    pub nodes: IoSide,
    /// The number of communication phases. With none the traffic is I/O alone.
    pub communications: u16,
    /// What happens in each of them.
    pub pattern: Communication,
    /// Which way the data of the I/O phase goes.
    pub direction: Direction,
    /// Of links and disks.
    pub bandwidths: Bandwidths,
    /// How messages cross the links.
    pub network: IoNetwork,
}

impl IoJobs {
    /// How they are written, but for the place of the I/O nodes: what is not given has its default.
    pub const FORM: &str = "communications=COUNT,pattern=all-to-all|permutation,direction=write|read,link=MB/S,disk=MB/S,network=fair-shares|wormhole:FLITS";
}

/// I/O nodes are on the left.
impl FromStr for IoJobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut jobs = IoJobs::default();
        let mut seen = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if seen.contains(&key) {
                return Err(format!("{key} is given twice"));
            }
            seen.push(key);
            match key {
                "communications" => {
                    let expected = format!("communications=COUNT, 0 to {}", u16::MAX);
                    jobs.communications = names::value(value, &expected, |_| true)?;
                }
                "pattern" => jobs.pattern = value.parse()?,
                "direction" => jobs.direction = value.parse()?,
                "link" => jobs.bandwidths.link = bandwidth(key, value)?,
                "disk" => jobs.bandwidths.disk = bandwidth(key, value)?,
                "network" => jobs.network = value.parse()?,
                _ => return Err(format!("expected {}", IoJobs::FORM)),
            }
        }
        Ok(jobs)
    }
}

impl Display for IoJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where the I/O nodes are is written apart.
        let IoJobs {
            nodes: _,
            communications,
            pattern,
            direction,
            bandwidths: Bandwidths { link, disk },
            network,
        } = self;
        write!(
            f,
            "communications={communications},pattern={pattern},direction={direction},link={link},disk={disk},network={network}"
        )
    }
}

/// Far from where times cannot be counted.
fn bandwidth(key: &str, text: &str) -> Result<f64, String> {
    let expected = format!("{key} with a bandwidth in MB/s, 0.001 to 1000000");
    names::value(text, &expected, |value: &f64| (1e-3..=1e6).contains(value))
}

named!(Communication, "pattern": AllToAll = "all-to-all", Permutation = "permutation");
named!(Direction, "direction": Write = "write", Read = "read");
named!(IoSide, "side": Left = "left", Right = "right", Top = "top", Bottom = "bottom");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "communications=0,pattern=all-to-all,direction=write,link=11.65,disk=4.545,network=fair-shares",
            "communications=64,pattern=permutation,direction=read,link=100,disk=0.5,network=wormhole:16",
        ] {
            assert_eq!(text.parse::<IoJobs>().unwrap().to_string(), text);
        }
        for side in [IoSide::Left, IoSide::Right, IoSide::Top, IoSide::Bottom] {
            assert_eq!(side.name().parse(), Ok(side));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, expected) in [
            ("", "expected communications=COUNT,pattern="),
            ("phases=3", "expected communications=COUNT,pattern="),
            (
                "communications",
                "expected communications=COUNT, 0 to 65535",
            ),
            (
                "communications=-1",
                "expected communications=COUNT, 0 to 65535",
            ),
            (
                "communications=1,communications=2",
                "communications is given twice",
            ),
            (
                "pattern=ring",
                "unknown pattern \"ring\" (known: all-to-all, permutation)",
            ),
            (
                "direction=both",
                "unknown direction \"both\" (known: write, read)",
            ),
            ("link=0", "expected link with a bandwidth in MB/s"),
            ("network=wormhole:0", "expected network=fair-shares or"),
            ("network=fair-shares:4", "expected network=fair-shares or"),
            ("disk=nan", "expected disk with a bandwidth in MB/s"),
        ] {
            let error = text.parse::<IoJobs>().unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
