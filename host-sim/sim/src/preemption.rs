//! Preemption: running jobs make room for a job that waits and has a higher priority.
//!
//! After each event, when the scheduler has had its turn, the jobs that wait are looked at in the
//! order of the queue. The first job that has a higher priority than at least one preemptible
//! running job, and that surely fits after some such jobs have gone, takes their processors, and
//! the scheduler has another turn. This is repeated until there is no such job. The jobs that go
//! are chosen by [`Situation::victims`](crate::situation::Situation::victims): at most
//! [`VICTIMS_MAX`](meshalloc::VICTIMS_MAX), with the least work to lose since their starts. The
//! choice may be empty, if the job fits and the scheduler put other jobs first. All of this is one
//! change of the controller ([`Change::Preempt`](meshalloc::Change::Preempt)).
//!
//! A job that made room waits at its old place in the queue. What it has done since its start or
//! its last complete [`Checkpoint`] is lost.
//!
//! # The grace time
//!
//! With a grace time the chosen jobs run on for that time: the first choice is a notice to their
//! owners. At its end, after the departures and arrivals of that moment, the choice is made anew,
//! and other jobs may go. A job that ends by itself within the grace time leaves as usual. If the
//! waiting job then fits without any job going, it starts at once. If it was granted meanwhile, or
//! no jobs can make room for it any more, no job goes, and the notice lapses. Jobs do not save work
//! because of a notice.

use std::borrow::Cow;

use meshalloc::Ticks;
use serde::Serialize;

use crate::failures::{Checkpoint, as_text};
use crate::names::grammar::{Form, Kind, Value, Values, Written, param, written};
use crate::workload::{TIME_MAX, TimeUnit};

/// Whether jobs make room, and how long they still run after the notice.
///
/// ```
/// use meshalloc_sim::preemption::PreemptionRule;
/// let rule: PreemptionRule = "on:30s".parse().unwrap();
/// assert_eq!(rule, PreemptionRule::On { grace: 30_000_000 });
/// assert_eq!(rule.to_string(), "on:30");
/// assert_eq!("on".parse(), Ok(PreemptionRule::On { grace: 0 }));
/// assert_eq!("off".parse(), Ok(PreemptionRule::Off));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptionRule {
    /// Jobs do not make room.
    Off,
    /// Jobs make room.
    On {
        /// How long they still run, in ticks.
        grace: Ticks,
    },
}

/// The longest grace time, in seconds.
const GRACE_MAX: f64 = (TIME_MAX / TimeUnit::Second.ticks_each()) as f64;

impl Written for PreemptionRule {
    const WHAT: &'static str = "preemption";

    const FORMS: &'static [Form] = &[
        Form::new("off", &[], "no job makes room for another one", ""),
        Form::new(
            "on",
            &[param("grace", Kind::Time(0.0, GRACE_MAX)).or("0")],
            "jobs make room for one of a higher priority after the time GRACE",
            "",
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(if name == "off" {
            PreemptionRule::Off
        } else {
            let grace = TimeUnit::Second.ticks(values.number(0));
            PreemptionRule::On { grace }
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match *self {
            PreemptionRule::Off => ("off".into(), Vec::new()),
            PreemptionRule::On { grace } => {
                let seconds = Value::Number(TimeUnit::Second.of(grace));
                ("on".into(), vec![Some(seconds).filter(|_| grace > 0)])
            }
        }
    }
}

written!(PreemptionRule);

/// How jobs of an experiment make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Preempting {
    /// How long they still run, in ticks.
    pub grace: Ticks,
    /// When jobs save what they have done; `None`: they start from the beginning.
    #[serde(serialize_with = "as_text")]
    pub checkpoint: Option<Checkpoint>,
}
