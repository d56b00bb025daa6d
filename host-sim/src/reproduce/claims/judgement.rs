//! The verdict of a rule on a claim, and the numbers that it is applied to.

use std::fmt;

use crate::statistics::Estimate;

/// Whether a claim is borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As in the paper, or more so.
    Holds,
    /// In the paper's direction, but by less, or not everywhere.
    Weaker,
    /// Not so.
    DoesNotHold,
    /// The run was too short to tell.
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

/// By what part one strategy's number is below another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gain {
    /// 1 minus the ratio of the means over paired replications.
    By(Estimate),
    /// The other one is saturated and this one is not: a gain beyond any number.
    OtherSaturated,
    /// The reverse.
    OwnSaturated,
    /// Nothing to compare.
    BothSaturated,
    /// A mean of the two still grows with the length of the run: the point decides nothing.
    Growing,
}

/// A number and where it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// In words, for instance `64x64`.
    pub at: String,
    /// The number.
    pub value: T,
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
    /// The paper's number.
    pub paper: String,
    /// The verdict and our numbers.
    pub judgement: Judgement,
}

/// What is within this of 0 is level: it counts neither for the claim nor against it.
pub(super) const LEVEL: f64 = 0.005;
/// A half-width over this is too much to compare with a paper's number.
pub(super) const HALF_WIDTH_MAX: f64 = 0.10;

/// The ends of the interval; `None` where there is none, as with a single replication.
pub(super) fn interval(estimate: &Estimate) -> Option<(f64, f64)> {
    let half_width = estimate.ci95?;
    Some((estimate.mean - half_width, estimate.mean + half_width))
}

/// A number without digits it does not have: `31`, `0.5`.
pub(super) fn percent(part: f64) -> f64 {
    (part * 1000.0).round() / 10.0
}

/// `3 hold, 1 weaker, 0 do not hold, 2 not decided`.
pub fn tally<'c>(claims: impl Iterator<Item = &'c Claim>) -> String {
    let verdicts: Vec<Verdict> = claims.map(|claim| claim.judgement.verdict).collect();
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
