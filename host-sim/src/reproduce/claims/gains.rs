//! Rules about gains: by what part one system's number is below another's.

use super::judgement::{At, Gain, HALF_WIDTH_MAX, Judgement, LEVEL, Verdict, interval, percent};
use crate::report;
use crate::statistics::Estimate;

/// More open points than this leave a claim about all points undecided, in percent.
const OPEN_MAX: usize = 25;
/// As many places are named in a line; more are counted.
const PLACES_MAX: usize = 3;

/// On which side of 0 a gain is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Over,
    Level,
    Below,
    Open,
}

/// The side of a gain; those within `level` of 0 are level.
fn side(gain: &Gain, level: f64) -> Option<Side> {
    Some(match gain {
        Gain::OtherSaturated => Side::Over,
        Gain::OwnSaturated => Side::Below,
        Gain::BothSaturated => return None,
        Gain::Growing => Side::Open,
        Gain::By(estimate) => match interval(estimate) {
            Some((low, high)) if low > -level && high < level => Side::Level,
            Some((low, _)) if low > 0.0 => Side::Over,
            Some((_, high)) if high < 0.0 => Side::Below,
            _ => Side::Open,
        },
    })
}

/// The gain is between `low` and `high`, as in the paper, wherever it was measured.
pub(super) fn range(gains: &[At<Gain>], low: f64, high: f64) -> Judgement {
    let reaches = |gain: &Gain| match gain {
        Gain::By(estimate) => interval(estimate).is_some_and(|(_, top)| top >= low),
        other => *other == Gain::OtherSaturated,
    };
    let wide = |gain: &Gain| match gain {
        Gain::By(estimate) => estimate.ci95.is_none_or(|width| width > HALF_WIDTH_MAX),
        _ => false,
    };
    let sides = sides(gains, 0.0);
    let verdict = if sides.is_empty() {
        Verdict::NotDecided
    } else if sides.contains(&Side::Below) {
        Verdict::DoesNotHold
    } else if sides.contains(&Side::Open) || gains.iter().any(|gain| wide(&gain.value)) {
        Verdict::NotDecided
    } else {
        let compared = |gain: &&At<Gain>| gain.value != Gain::BothSaturated;
        let all = gains
            .iter()
            .filter(compared)
            .all(|gain| reaches(&gain.value));
        if all { Verdict::Holds } else { Verdict::Weaker }
    };
    let rule = format!(
        "holds if the interval of the gain reaches {} % at every point; weaker if all gains are over 0 \
         but some stay below; does not hold if one is below 0; not decided if an interval holds 0, its \
         half-width is over {:.0} points or a mean still grows with the run. More than {} % is not counted against the claim",
        percent(low),
        HALF_WIDTH_MAX * 100.0,
        percent(high),
    );
    judgement(verdict, gains, rule)
}

/// One is below the other wherever both were measured.
pub(super) fn everywhere(gains: &[At<Gain>]) -> Judgement {
    let sides = sides(gains, LEVEL);
    let count = |side| sides.iter().filter(|&&other| other == side).count();
    let (over, below, open) = (count(Side::Over), count(Side::Below), count(Side::Open));
    let verdict = match (over, below) {
        (0, 0) => Verdict::NotDecided,
        (_, 0) if open > OPEN_MAX * sides.len() / 100 => Verdict::NotDecided,
        (_, 0) => Verdict::Holds,
        _ if over > below => Verdict::Weaker,
        _ => Verdict::DoesNotHold,
    };
    let rule = format!(
        "holds if the gain is over 0 at every point (those within {} % of 0 are level and do not count); weaker \
         if it is over 0 at more points than below; does not hold otherwise; not decided if none is below 0 but at \
         more than {OPEN_MAX} % of the points the interval holds 0 or a mean still grows with the run",
        percent(LEVEL)
    );
    let mut judgement = judgement(verdict, gains, rule);
    if open > 0 {
        judgement
            .ours
            .push_str(&format!("; open: {open} of {} points", sides.len()));
    }
    judgement
}

/// The gain grows from the first point to the last.
pub(super) fn grows(gains: &[At<Gain>]) -> Judgement {
    // Against a saturated competitor a gain is 1, the most there is.
    let numbers: Vec<Estimate> = gains
        .iter()
        .filter_map(|gain| match gain.value {
            Gain::By(estimate) => Some(estimate),
            Gain::OtherSaturated => Some(Estimate {
                mean: 1.0,
                ci95: Some(0.0),
                replications: 0,
            }),
            Gain::OwnSaturated | Gain::BothSaturated | Gain::Growing => None,
        })
        .collect();
    // The two points have workloads of their own, so their errors add up as independent ones do.
    let rise = |from: &Estimate, to: &Estimate| -> Option<(f64, f64)> {
        let half_width = from.ci95?.hypot(to.ci95?);
        let rise = to.mean - from.mean;
        Some((rise - half_width, rise + half_width))
    };
    let verdict = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if numbers.len() > 1 => match rise(first, last) {
            Some((low, _)) if low > 0.0 => {
                let falls = |pair: &[Estimate]| {
                    rise(&pair[0], &pair[1]).is_some_and(|(_, high)| high < 0.0)
                };
                if numbers.windows(2).any(falls) {
                    Verdict::Weaker
                } else {
                    Verdict::Holds
                }
            }
            Some((_, high)) if high < 0.0 => Verdict::DoesNotHold,
            _ => Verdict::NotDecided,
        },
        _ => Verdict::NotDecided,
    };
    let rule = "holds if the gain at the last point is over that at the first by more than the error of their \
                difference and no step between neighbours is downwards; weaker with such a step; does not hold if \
                the last is below the first; a saturated competitor counts as a gain of 100 %";
    let mut judgement = judgement(verdict, gains, rule.to_owned());
    let left_out = gains.len() - numbers.len();
    if left_out > 0 {
        let left_out = format!("; left out: {left_out} of {} points", gains.len());
        judgement.ours.push_str(&left_out);
    }
    judgement
}

/// The mean of the gains over all points is between `low` and `high`, as in the paper.
pub(super) fn average(gains: &[At<Gain>], low: f64, high: f64) -> Judgement {
    let numbers = gains
        .iter()
        .filter(|gain| matches!(gain.value, Gain::By(_)));
    let at = match (numbers.count(), gains.len()) {
        (count, all) if count == all => format!("mean of {all} points"),
        (count, all) => format!("mean of {count} of {all} points"),
    };
    let value = mean_gain(gains).map(Gain::By);
    let mean = value.map(|value| At { at, value });
    let mut judgement = range(mean.as_slice(), low, high);
    let details = gains.iter();
    let details = details.map(|gain| format!("{}: {}", gain.at, gain_text(&gain.value)));
    judgement.details.extend(details);
    judgement
}

/// The mean of gains, with an interval that holds even if all their errors have the same cause. `None` without
/// numbers.
pub(super) fn mean_gain(gains: &[At<Gain>]) -> Option<Estimate> {
    let numbers: Vec<&Estimate> = gains
        .iter()
        .filter_map(|gain| match &gain.value {
            Gain::By(estimate) => Some(estimate),
            _ => None,
        })
        .collect();
    let replications = numbers.iter().map(|number| number.replications).min()?;
    let count = numbers.len() as f64;
    let widths: Option<f64> = numbers.iter().map(|number| number.ci95).sum();
    Some(Estimate {
        mean: numbers.iter().map(|number| number.mean).sum::<f64>() / count,
        ci95: widths.map(|sum| sum / count),
        replications,
    })
}

fn sides(gains: &[At<Gain>], level: f64) -> Vec<Side> {
    let sides = gains.iter().map(|gain| side(&gain.value, level));
    sides.flatten().collect()
}

/// A gain in a table.
fn gain_text(gain: &Gain) -> String {
    match gain {
        Gain::By(estimate) => format!("{} %", report::number(estimate, 100.0)),
        Gain::OtherSaturated => "the other is saturated".to_owned(),
        Gain::OwnSaturated => "this one is saturated, the other not".to_owned(),
        Gain::BothSaturated => "both saturated".to_owned(),
        Gain::Growing => "a mean still grows with the run".to_owned(),
    }
}

/// Adds our numbers to a verdict: the smallest and the largest gain, and how often one of the two was saturated.
fn judgement(verdict: Verdict, gains: &[At<Gain>], rule: String) -> Judgement {
    let measured = || {
        gains.iter().filter_map(|gain| match &gain.value {
            Gain::By(estimate) => Some((estimate, &gain.at)),
            _ => None,
        })
    };
    let smallest = measured().min_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
    let largest = measured().max_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
    let show = |(estimate, at): (&Estimate, &String)| {
        format!("{} % ({at})", report::number(estimate, 100.0))
    };
    let mut parts = Vec::new();
    match (smallest, largest) {
        (Some(low), Some(high)) if measured().count() > 1 => {
            parts.push(format!("{} to {}", show(low), show(high)));
        }
        (Some(only), _) => parts.push(show(only)),
        _ => {}
    }
    for (kind, text) in [
        (Gain::OtherSaturated, "only the other saturated"),
        (Gain::OwnSaturated, "only this one saturated"),
        (Gain::BothSaturated, "both saturated"),
        (Gain::Growing, "a mean still grows with the run"),
    ] {
        let places = gains.iter().filter(|gain| gain.value == kind);
        let places: Vec<_> = places.map(|gain| gain.at.as_str()).collect();
        match places.len() {
            0 => {}
            1..=PLACES_MAX => parts.push(format!("{text}: {}", places.join(", "))),
            count => parts.push(format!("{text}: {count} of {} points", gains.len())),
        }
    }
    if parts.is_empty() {
        parts.push("nothing to compare".to_owned());
    }
    let details = gains.iter();
    let details = details.map(|gain| format!("{}: {}", gain.at, gain_text(&gain.value)));
    Judgement {
        verdict,
        ours: parts.join("; "),
        details: details.collect(),
        rule,
    }
}
