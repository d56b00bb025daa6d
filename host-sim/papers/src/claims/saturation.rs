//! Rules about which loads a system sustains.

use super::judgement::{At, Judgement, Verdict};

/// The trend of the backlog over the runs of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// Stayed level in at least three quarters of the runs: the load is sustained.
    Level,
    /// Grew in at least three quarters of the runs: the system is saturated.
    Grows,
    /// In between: too near the saturation load for runs of this length.
    Open,
}

impl Backlog {
    /// The trend if the backlog grew in `grew` of `runs` runs.
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

/// The loads that were offered to one system, ascending, with the backlog's trend at each.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// The system.
    pub name: String,
    /// Its loads.
    pub steps: Vec<(f64, Backlog)>,
}

impl Ladder {
    /// The highest load up to which all offered loads are sustained.
    fn top(&self) -> Option<f64> {
        let sustained = self
            .steps
            .iter()
            .take_while(|step| step.1 == Backlog::Level);
        sustained.last().map(|step| step.0)
    }

    /// The highest load that the system may sustain: that before its first saturated load. Infinite
    /// if no load saturates the system.
    fn limit(&self) -> f64 {
        let first = self.steps.iter().position(|step| step.1 == Backlog::Grows);
        first.map_or(f64::INFINITY, |first| {
            let below = self.steps[..first].last();
            below.map_or(0.0, |step| step.0)
        })
    }

    /// Whether the system sustains a higher load than `other`; `None` if that depends on open
    /// loads.
    fn is_above(&self, other: &Ladder) -> Option<bool> {
        let top = |ladder: &Ladder| ladder.top().unwrap_or(0.0);
        match () {
            () if top(self) > other.limit() => Some(true),
            () if self.limit() <= top(other) => Some(false),
            () => None,
        }
    }

    /// Whether both systems sustain the same of the offered loads.
    fn is_level_with(&self, other: &Ladder) -> bool {
        (self.top(), self.limit()) == (other.top(), other.limit())
    }

    fn text(&self) -> String {
        let has = |backlog| move |step: &&(f64, Backlog)| step.1 == backlog;
        let first = self.steps.iter().find(has(Backlog::Grows));
        let mut text = match self.top() {
            Some(top) => format!("{} sustains {top}", self.name),
            None => format!("{} sustains none of them", self.name),
        };
        let open = self.steps.iter().filter(has(Backlog::Open));
        let open: Vec<String> = open.map(|step| step.0.to_string()).collect();
        if !open.is_empty() {
            text.push_str(&format!(", is open at {}", open.join(", ")));
        }
        match first {
            Some(first) => format!("{text}, is saturated at {}", first.0),
            None => format!("{text}, is saturated nowhere"),
        }
    }
}

/// Whether all trends are the wanted one; `None` if that depends on open ones.
fn all_are(wanted: Backlog, backlogs: impl Iterator<Item = Backlog>) -> Option<bool> {
    let mut all = Some(true);
    for backlog in backlogs {
        match backlog {
            Backlog::Open => all = None,
            other if other != wanted => return Some(false),
            _ => {}
        }
    }
    all
}

/// One system alone sustains loads over `over`, up to `nearly`.
pub(super) fn alone_sustains(own: &Ladder, others: &[Ladder], over: f64, nearly: f64) -> Judgement {
    // First the loads at which the own backlog has to be level, then those at which the backlogs of
    // the others have to grow.
    let wanted = own
        .steps
        .iter()
        .filter(|step| step.0 > over && step.0 <= nearly);
    let reaches = all_are(Backlog::Level, wanted.map(|step| step.1));
    let beyond = others.iter().flat_map(|other| &other.steps);
    let beyond = beyond.filter(|step| step.0 > over);
    let no_rival_does = all_are(Backlog::Grows, beyond.map(|step| step.1));
    let above = || others.iter().map(|other| own.is_above(other));
    let top = own.top().unwrap_or(0.0);
    let offered = own.steps.iter().any(|step| step.0 > over);
    let verdict = match () {
        () if !offered || others.is_empty() => Verdict::NotDecided,
        () if reaches == Some(true) && no_rival_does == Some(true) => Verdict::Holds,
        () if reaches != Some(false) && no_rival_does != Some(false) => Verdict::NotDecided,
        () if top > over && above().all(|above| above == Some(true)) => Verdict::Weaker,
        () if own.limit() <= over || above().any(|above| above == Some(false)) => {
            Verdict::DoesNotHold
        }
        () => Verdict::NotDecided,
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
             that depends on loads at which replications disagree, or nothing was saturated"
        ),
    }
}

/// Each of `own` sustains a higher load than `other`.
pub(super) fn saturates_later(own: &[Ladder], other: &Ladder) -> Judgement {
    let later: Vec<Option<bool>> = own.iter().map(|own| own.is_above(other)).collect();
    let has = |it| later.contains(&it);
    let verdict = match () {
        () if own.is_empty() || other.steps.is_empty() => Verdict::NotDecided,
        () if has(Some(true)) && has(Some(false)) => Verdict::Weaker,
        () if has(None) => Verdict::NotDecided,
        () if has(Some(true)) => Verdict::Holds,
        () if own.iter().all(|own| own.is_level_with(other)) => Verdict::NotDecided,
        () => Verdict::DoesNotHold,
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
               if in none; not decided where that depends on loads at which replications disagree, where all sustain \
               the same of these loads, or nothing was saturated"
            .to_owned(),
    }
}
