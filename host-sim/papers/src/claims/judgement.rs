//! The verdict of a rule on a claim, and the numbers that it is applied to.

use std::fmt;

use meshalloc_sim::statistics::{Estimate, Interval};
use meshalloc_sim::wording::{counted, number};

/// Whether a claim is borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As the claim says, or more so.
    Holds,
    /// In the direction of the claim, but by less, or not at all points.
    Weaker,
    /// Not as the claim says.
    DoesNotHold,
    /// The runs were too short to tell, or the compared systems do not differ.
    NotDecided,
}

impl Verdict {
    /// Every verdict, from the best.
    pub const ALL: [Verdict; 4] = [
        Verdict::Holds,
        Verdict::Weaker,
        Verdict::DoesNotHold,
        Verdict::NotDecided,
    ];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::Weaker => "weaker",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotDecided => "not decided",
        })
    }
}

/// How two systems compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// The ratio of the means over paired replications, own to other, or the gain: 1 minus that.
    Number(Estimate),
    /// Only the other system is saturated: a gain beyond any number.
    OtherSaturated,
    /// Only the own system is saturated.
    OwnSaturated,
    /// Both systems are saturated, so there is nothing to compare.
    BothSaturated,
    /// One of the two means still grows with the length of the run, so the point decides nothing.
    Growing,
}

impl Compared {
    /// The number, if there is one.
    pub const fn number(self) -> Option<Estimate> {
        match self {
            Compared::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The same with `factor` times its number, plus `offset`.
    pub(super) fn affine(self, factor: f64, offset: f64) -> Self {
        let number = |number: Estimate| Compared::Number(number.affine(factor, offset));
        self.number().map_or(self, number)
    }
}

/// A number and where it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// In words, for instance `64x64`.
    pub at: String,
    /// The number.
    pub value: T,
}

/// The places that have a number.
pub(super) fn numbers<T: Copy + Into<Option<Compared>>>(all: &[At<T>]) -> Vec<At<Estimate>> {
    let numbers = all.iter().filter_map(|one| {
        let at = one.at.clone();
        let value = one.value.into()?.number()?;
        Some(At { at, value })
    });
    numbers.collect()
}

impl At<Estimate> {
    /// `49.1 ± 2.0 % (64x64)`, the number times `scale`.
    pub(super) fn shown(&self, scale: f64, unit: &str) -> String {
        format!("{}{unit} ({})", number(&self.value, scale), self.at)
    }
}

/// The places with the least and with the most mean.
pub(super) fn ends(all: &[At<Estimate>]) -> Option<(&At<Estimate>, &At<Estimate>)> {
    ends_by(all, |estimate| estimate.mean)
}

/// The places with the least and with the most value.
pub(super) fn ends_by<T>(all: &[At<T>], value: fn(&T) -> f64) -> Option<(&At<T>, &At<T>)> {
    let order = |a: &&At<T>, b: &&At<T>| value(&a.value).total_cmp(&value(&b.value));
    all.iter().min_by(order).zip(all.iter().max_by(order))
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Our numbers in a line.
    pub ours: String,
    /// Each number, `64x64: 49.1 ± 2.0 %`.
    pub details: Vec<String>,
    /// The rule, in a sentence.
    pub rule: String,
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The figure it is about.
    pub figure: u32,
    /// The claim, paraphrased.
    pub text: String,
    /// The paper's number; `None` if the claim is not the paper's.
    pub paper: Option<String>,
    /// Whether it is about times on the clock, which change with the machine.
    pub is_clocked: bool,
    /// The verdict and our numbers.
    pub judgement: Judgement,
}

impl Claim {
    /// The paper's number, or a text that says that the claim is not the paper's.
    pub fn paper_text(&self) -> String {
        match &self.paper {
            Some(paper) => format!("paper {paper}"),
            None => "not in the paper".to_owned(),
        }
    }
}

/// A gain within this of 0 is level: it counts neither for the claim nor against it.
pub(super) const LEVEL: f64 = 0.005;
/// A half-width over this is too much to compare with a paper's number.
pub(super) const HALF_WIDTH_MAX: f64 = 0.10;

/// The ends of the interval; `None` where there is none, as with a single replication.
pub(super) fn interval(estimate: &Estimate) -> Option<(f64, f64)> {
    estimate.ci95.map(|Interval { low, high }| (low, high))
}

/// Whether half the interval is wider than `most`, or there is none.
pub(super) fn is_wide(estimate: &Estimate, most: f64) -> bool {
    let half_width = estimate.ci95.map(Interval::half_width);
    half_width.is_none_or(|width| width > most)
}

/// More open points than this leave a claim about all points undecided, in percent.
pub(super) const OPEN_MAX: usize = 25;

/// Whether `open` undecided points out of `all` leave a claim undecided.
pub(super) const fn is_over_open_max(open: usize, all: usize) -> bool {
    open * 100 > OPEN_MAX * all
}

/// The most places that a line names. If there are more, it has only their number.
const PLACES_MAX: usize = 3;

/// Some of `all` places, by name or counted; `None` without any.
pub(super) fn places_text(places: &[&str], all: usize) -> Option<String> {
    match places.len() {
        0 => None,
        1..=PLACES_MAX => Some(places.join(", ")),
        count => Some(format!("{count} of {all} points")),
    }
}

/// A number without digits it does not have: `31`, `0.5`.
pub(super) fn percent(part: f64) -> f64 {
    (part * 1000.0).round() / 10.0
}

/// A note about claims on times that a clock measures.
pub const CLOCKED: &str = "about search times, which change with the machine";

/// `6 claims: 3 hold, 1 weaker, 0 do not hold, 2 not decided`; claims about search times and claims
/// that are not the paper's are counted separately.
pub fn tally<'c>(claims: impl Iterator<Item = &'c Claim>) -> String {
    let (clocked, simulated): (Vec<&Claim>, Vec<&Claim>) =
        claims.partition(|claim| claim.is_clocked);
    let (papers, others): (Vec<&Claim>, Vec<&Claim>) = simulated
        .into_iter()
        .partition(|claim| claim.paper.is_some());
    let counts = |claims: &[&Claim], which: &str| {
        let claimed = counted(claims.len(), "claim");
        (!claims.is_empty()).then(|| format!("{claimed}{which}: {}", verdicts_text(claims)))
    };
    let parts = [
        counts(&papers, ""),
        counts(&clocked, &format!(" {CLOCKED}")),
        counts(&others, " that the paper does not make"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `3 hold, 1 weaker, 0 do not hold, 2 not decided`.
fn verdicts_text(claims: &[&Claim]) -> String {
    let verdicts: Vec<Verdict> = claims.iter().map(|claim| claim.judgement.verdict).collect();
    let parts = Verdict::ALL.map(|verdict| {
        let count = verdicts.iter().filter(|&&other| other == verdict).count();
        let words = match verdict {
            Verdict::Holds if count != 1 => "hold".to_owned(),
            Verdict::DoesNotHold if count != 1 => "do not hold".to_owned(),
            other => other.to_string(),
        };
        format!("{count} {words}")
    });
    parts.join(", ")
}
