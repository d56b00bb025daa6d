//! Rules about which loads a system sustains.

use super::judgement::{At, Judgement, Verdict};

/// The trend of the backlog over the runs of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// Stayed level in at least three quarters of them: the load is sustained.
    Level,
    /// Grew in at least three quarters of them: saturated.
    Grows,
    /// In between: too near the saturation load for runs of this length.
    Open,
}

impl Backlog {
    /// From the number of runs in which it grew.
    pub const fn of(grew: usize, runs: usize) -> Self {
        if 4 * grew >= 3 * runs {
            Backlog::Grows
        } else if 4 * grew <= runs {
            Backlog::Level
        } else {
            Backlog::Open
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Backlog::Level => "sustained",
            Backlog::Grows => "saturated",
            Backlog::Open => "open",
        }
    }
}

/// A system is saturated at all these points.
pub(super) fn saturates(points: &[At<Backlog>]) -> Judgement {
    let has = |backlog| points.iter().any(|point| point.value == backlog);
    let verdict = if points.is_empty() || (has(Backlog::Open) && !has(Backlog::Level)) {
        Verdict::NotDecided
    } else if !has(Backlog::Level) {
        Verdict::Holds
    } else if has(Backlog::Grows) {
        Verdict::Weaker
    } else if has(Backlog::Open) {
        Verdict::NotDecided
    } else {
        Verdict::DoesNotHold
    };
    let details: Vec<_> = points
        .iter()
        .map(|point| format!("{}: {}", point.at, point.value.text()))
        .collect();
    let ours = if details.is_empty() {
        "no such point was measured".to_owned()
    } else {
        details.join(", ")
    };
    Judgement {
        verdict,
        ours,
        details,
        rule: "holds if the backlog grows at every point, weaker if at some, does not hold if at none; not decided \
               where replications disagree or no such point was measured"
            .to_owned(),
    }
}

/// The loads that were offered to one system, in increasing order, with the trend of the backlog at each.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// The system.
    pub name: String,
    /// Its loads.
    pub steps: Vec<(f64, Backlog)>,
}

impl Ladder {
    /// The highest load up to which all are sustained.
    fn top(&self) -> Option<f64> {
        let sustained = self
            .steps
            .iter()
            .take_while(|step| step.1 == Backlog::Level);
        sustained.last().map(|step| step.0)
    }

    /// Whether the load at which it saturates is unknown: at a load that is open, or over all that were offered.
    fn is_open(&self) -> bool {
        let end = self.steps.iter().find(|step| step.1 != Backlog::Level);
        end.is_none_or(|step| step.1 == Backlog::Open)
    }

    fn text(&self) -> String {
        let first = self.steps.iter().find(|step| step.1 == Backlog::Grows);
        let sustained = match self.top() {
            Some(top) => format!("{} sustains {top}", self.name),
            None => format!("{} sustains none of them", self.name),
        };
        match first {
            Some(first) => format!("{sustained}, is saturated at {}", first.0),
            None => format!("{sustained}, is saturated nowhere"),
        }
    }
}

/// One system alone sustains loads over `over`, up to `nearly`.
pub(super) fn alone_sustains(own: &Ladder, others: &[Ladder], over: f64, nearly: f64) -> Judgement {
    let all = |ladder: &Ladder, wanted: Backlog, from: f64, to: f64| {
        let mut steps = ladder.steps.iter();
        steps.all(|step| step.0 <= from || step.0 > to || step.1 == wanted)
    };
    let reaches = all(own, Backlog::Level, over, nearly);
    let alone = others
        .iter()
        .all(|other| all(other, Backlog::Grows, over, f64::INFINITY));
    let rival = others.iter().filter_map(Ladder::top).fold(0.0, f64::max);
    let top = own.top().unwrap_or(0.0);
    let offered = own.steps.iter().any(|step| step.0 > over);
    let rivals_open = others
        .iter()
        .any(|other| other.is_open() && other.top().unwrap_or(0.0) >= top);
    let verdict = match () {
        () if !offered || others.is_empty() => Verdict::NotDecided,
        () if reaches && alone => Verdict::Holds,
        () if top > rival && top > over => Verdict::Weaker,
        () if own.is_open() || rivals_open => Verdict::NotDecided,
        () => Verdict::DoesNotHold,
    };
    let details: Vec<_> = std::iter::once(own)
        .chain(others)
        .map(Ladder::text)
        .collect();
    Judgement {
        verdict,
        ours: details.join("; "),
        details,
        rule: format!(
            "holds if it sustains every load offered over {over} up to {nearly} and the others are saturated at every load \
             over {over}; weaker if it sustains a higher load than each of them; does not hold otherwise; not decided where \
             replications disagree or nothing was saturated"
        ),
    }
}

/// Each of `own` sustains a higher load than `other`.
pub(super) fn saturates_later(own: &[Ladder], other: &Ladder) -> Judgement {
    let rival = other.top().unwrap_or(0.0);
    let later = |own: &Ladder| own.top().unwrap_or(0.0) > rival;
    let verdict = if own.is_empty() || other.steps.is_empty() {
        Verdict::NotDecided
    } else if own.iter().all(later) {
        Verdict::Holds
    } else if own.iter().any(later) {
        Verdict::Weaker
    } else if own.iter().any(Ladder::is_open) {
        Verdict::NotDecided
    } else {
        Verdict::DoesNotHold
    };
    let top = |ladder: &Ladder| match ladder.top() {
        Some(top) => format!("{} up to {top}", ladder.name),
        None => format!("{} nothing", ladder.name),
    };
    let mine: Vec<_> = own.iter().map(top).collect();
    Judgement {
        verdict,
        ours: format!("sustained: {}; {}", mine.join(", "), top(other)),
        details: own.iter().chain([other]).map(Ladder::text).collect(),
        rule: "holds if it sustains a higher of the loads offered in every variant, weaker if in some, does not hold \
               if in none; not decided where replications disagree or nothing was saturated"
            .to_owned(),
    }
}
