//! What the jobs of an I/O workload do, and the text form of that.

use serde::Serialize;
use std::borrow::Cow;

use super::{Bandwidths, Direction, IoSide};
use crate::names::grammar::{Form, Kind, Value, Values, Written, param, written};
use crate::names::named;

/// The receivers of the processors of a job in a communication phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Communication {
    /// Each processor sends to each other one.
    #[default]
    AllToAll,
    /// Each processor sends to one processor, by a permutation that is drawn anew for each phase.
    /// It sends nothing to itself.
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

impl Written for IoNetwork {
    const WHAT: &'static str = "network";

    const FORMS: &'static [Form] = &[
        Form::new(
            "fair-shares",
            &[],
            "the messages of a phase progress at one rate",
            "",
        ),
        Form::new(
            "wormhole",
            &[param("flits", Kind::Whole(1, IoNetwork::FLITS_MAX)).or("64")],
            "each message crosses the wormhole network by itself",
            "",
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(match name {
            "fair-shares" => IoNetwork::FairShares,
            _ => IoNetwork::Wormhole {
                flits: values
                    .given(0)
                    .map_or(IoNetwork::FLITS, |flits| flits as u32),
            },
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match *self {
            IoNetwork::FairShares => ("fair-shares".into(), Vec::new()),
            IoNetwork::Wormhole { flits } => {
                ("wormhole".into(), vec![Some(Value::Number(flits.into()))])
            }
        }
    }
}

written!(IoNetwork);

/// What every job does once it has its processors: communication phases, then one I/O phase. All
/// messages have 1 MB. The next phase of a job begins when all messages of the phase before have
/// arrived; other jobs do not wait for it.
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
    /// The receivers in each communication phase.
    pub pattern: Communication,
    /// The direction of the data in the I/O phase.
    pub direction: Direction,
    /// The bandwidths of links and disks.
    pub bandwidths: Bandwidths,
    /// How messages cross the links.
    pub network: IoNetwork,
}

/// The range of bandwidths in MB/s. Within it, times can be counted with a wide margin.
const BANDWIDTH: Kind = Kind::Within(1e-3, 1e6);

/// I/O nodes are on the left.
impl Written for IoJobs {
    const WHAT: &'static str = "communication and I/O of jobs";

    const FORMS: &'static [Form] = &[Form::new(
        "",
        &[
            param("communications", Kind::Whole(0, u16::MAX as u32))
                .keyed()
                .or("0"),
            param("pattern", Kind::Word(&["all-to-all", "permutation"]))
                .keyed()
                .or("all-to-all"),
            param("direction", Kind::Word(&["write", "read"]))
                .keyed()
                .or("write"),
            param("link", BANDWIDTH).keyed().or("11.65"),
            param("disk", BANDWIDTH).keyed().or("4.545"),
            param("network", Kind::Text("fair-shares|wormhole:FLITS"))
                .keyed()
                .or("fair-shares"),
        ],
        "communication phases, then an I/O phase; link and disk in MB/s",
        "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers",
    )];

    fn of(_name: &str, values: &Values) -> Result<Self, String> {
        let default = IoJobs::default();
        let Bandwidths { link, disk } = default.bandwidths;
        Ok(IoJobs {
            communications: values.number(0) as u16,
            pattern: values.parsed(1)?.unwrap_or_default(),
            direction: values.parsed(2)?.unwrap_or_default(),
            bandwidths: Bandwidths {
                link: values.given(3).unwrap_or(link),
                disk: values.given(4).unwrap_or(disk),
            },
            network: values.parsed(5)?.unwrap_or_default(),
            ..default
        })
    }

    /// The side of the I/O nodes is written separately.
    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let text = |text: String| Some(Value::Text(text));
        let number = |number| Some(Value::Number(number));
        let values = vec![
            number(self.communications.into()),
            text(self.pattern.to_string()),
            text(self.direction.to_string()),
            number(self.bandwidths.link),
            number(self.bandwidths.disk),
            text(self.network.to_string()),
        ];
        ("".into(), values)
    }
}

written!(IoJobs);

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
            ("", "expected communications=COMMUNICATIONS[,pattern="),
            (
                "phases=3",
                "expected communications=COMMUNICATIONS[,pattern=",
            ),
            (
                "communications",
                "expected communications=COMMUNICATIONS[,pattern=",
            ),
            (
                "communications=-1",
                "is \"-1\": expected a whole number, 0 to 65535",
            ),
            (
                "communications=1,communications=2",
                "communications is given twice",
            ),
            (
                "pattern=ring",
                "pattern is \"ring\": expected all-to-all or permutation",
            ),
            (
                "direction=both",
                "direction is \"both\": expected write or read",
            ),
            (
                "link=0",
                "link is \"0\": expected a number from 0.001 to 1000000",
            ),
            (
                "network=wormhole:0",
                "FLITS of wormhole is \"0\": expected a whole number",
            ),
            (
                "network=fair-shares:4",
                "the network fair-shares does not take \"4\"",
            ),
            ("disk=nan", "disk is \"nan\": expected a number from 0.001"),
        ] {
            let error = text.parse::<IoJobs>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
