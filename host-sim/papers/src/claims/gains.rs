//! Rules about gains: by what part one system's number is below another's.

use super::judgement::{
    At, Compared, HALF_WIDTH_MAX, Judgement, LEVEL, OPEN_MAX, Verdict, ends, interval,
    is_over_open_max, is_wide, numbers, percent, places_text,
};
use meshalloc_sim::statistics::{Estimate, Interval};
use meshalloc_sim::wording::counted;
use meshalloc_sim::wording::number as number_text;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Over,
    Level,
    Below,
    Open,
}

/// The side of a gain; those within `level` of 0 are level.
fn side(gain: &Compared, level: f64) -> Option<Side> {
    Some(match gain {
        Compared::OtherSaturated => Side::Over,
        Compared::OwnSaturated => Side::Below,
        Compared::BothSaturated => return None,
        Compared::Growing => Side::Open,
        Compared::Number(estimate) => match interval(estimate) {
            Some((low, high)) if low > -level && high < level => Side::Level,
            Some((low, _)) if low > 0.0 => Side::Over,
            Some((_, high)) if high < 0.0 => Side::Below,
            _ => Side::Open,
        },
    })
}

/// The gain reaches the paper's range, which is `low` to `high`, wherever it was measured. A gain
/// over `high` is not counted against the claim.
pub(super) fn range(gains: &[At<Compared>], low: f64, high: f64) -> Judgement {
    let reaches = |gain: &Compared| match gain {
        Compared::Number(estimate) => interval(estimate).is_some_and(|(_, top)| top >= low),
        other => *other == Compared::OtherSaturated,
    };
    let wide = |gain: &Compared| match gain {
        Compared::Number(estimate) => is_wide(estimate, HALF_WIDTH_MAX),
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
        let compared = |gain: &&At<Compared>| gain.value != Compared::BothSaturated;
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

/// The sum of the gains that are over or below 0. Each counts as -1 to 1, so that no gain outweighs
/// all others. If only one of the two systems is saturated, the gain counts as much as the largest
/// of the other gains.
fn balance(gains: &[At<Compared>], level: f64) -> f64 {
    let on_a_side = gains.iter().filter_map(|gain| {
        let sign = match side(&gain.value, level)? {
            Side::Over => 1.0,
            Side::Below => -1.0,
            Side::Level | Side::Open => return None,
        };
        let number = gain.value.number();
        Some((sign, number.map(|gain| gain.mean.clamp(-1.0, 1.0))))
    });
    let on_a_side: Vec<(f64, Option<f64>)> = on_a_side.collect();
    let numbers = on_a_side.iter().filter_map(|(_, gain)| gain.map(f64::abs));
    let farthest = numbers.max_by(f64::total_cmp).unwrap_or(1.0);
    let gains = on_a_side.iter();
    gains
        .map(|(sign, gain)| gain.unwrap_or(sign * farthest))
        .sum()
}

/// The own number is below the other one wherever both were measured.
pub(super) fn everywhere(gains: &[At<Compared>]) -> Judgement {
    let sides = sides(gains, LEVEL);
    let count = |side| sides.iter().filter(|&&other| other == side).count();
    let all = sides.len();
    let (over, level) = (count(Side::Over), count(Side::Level));
    let (below, open) = (count(Side::Below), count(Side::Open));
    let nearly_all = |count: usize| !is_over_open_max(all - count, all);
    let verdict = match () {
        () if below > 0 && balance(gains, LEVEL) > 0.0 => Verdict::Weaker,
        () if below > 0 => Verdict::DoesNotHold,
        () if all == 0 => Verdict::NotDecided,
        () if nearly_all(over) => Verdict::Holds,
        // The verdict depends on the open points.
        () if nearly_all(over + open) => Verdict::NotDecided,
        () if over > 0 => Verdict::Weaker,
        () => Verdict::NotDecided,
    };
    let rule = format!(
        "holds if the gain is over 0 at {} % of the points or more, and below 0 at none; weaker if \
         it is over 0 at fewer, or below 0 at some and the mean of all that are over or below 0 is over \
         0; does not hold if that mean is not over 0; not decided where that depends on open points, at \
         which the interval holds 0 or a mean still grows with the run, or where there is no \
         difference. Within {} % of 0 a point is level. In that mean a gain or loss counts as 100 % at \
         most, and where one of the two is saturated as the largest of the other points",
        100 - OPEN_MAX,
        percent(LEVEL)
    );
    let mut judgement = judgement(verdict, gains, rule);
    if all > 0 {
        let counts = format!(
            "; over 0 at {over}, level at {level}, below 0 at {below}, open at {open} of {}",
            counted(all, "point")
        );
        judgement.ours.push_str(&counts);
    }
    judgement
}

/// The gain grows from the first point to the last.
pub(super) fn grows(gains: &[At<Compared>]) -> Judgement {
    // Against a saturated competitor a gain is 1, the most there is.
    let numbers: Vec<Estimate> = gains
        .iter()
        .filter_map(|gain| match gain.value {
            Compared::Number(estimate) => Some(estimate),
            Compared::OtherSaturated => Some(Estimate {
                mean: 1.0,
                ci95: Some(Interval::around(1.0, 0.0)),
                deviation: None,
                replications: 0,
            }),
            Compared::OwnSaturated | Compared::BothSaturated | Compared::Growing => None,
        })
        .collect();
    // The two points have workloads of their own, so their errors add up as independent ones do.
    let rise = |from: &Estimate, to: &Estimate| to.minus_independent(from);
    let verdict = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if numbers.len() > 1 => match rise(first, last) {
            Some(Interval { low, .. }) if low > 0.0 => {
                let falls = |pair: &[Estimate]| {
                    rise(&pair[0], &pair[1]).is_some_and(|rise| rise.high < 0.0)
                };
                if numbers.windows(2).any(falls) {
                    Verdict::Weaker
                } else {
                    Verdict::Holds
                }
            }
            Some(Interval { high, .. }) if high < 0.0 => Verdict::DoesNotHold,
            _ => Verdict::NotDecided,
        },
        _ => Verdict::NotDecided,
    };
    let rule = "holds if the gain at the last point is over that at the first by more than the error of their \
                difference and no step between neighbours is downwards; weaker with one such step; does not hold if \
                the last is below the first; a saturated competitor counts as a gain of 100 %";
    let mut judgement = judgement(verdict, gains, rule.to_owned());
    let left_out = gains.len() - numbers.len();
    if left_out > 0 {
        let left_out = format!("; left out: {left_out} of {} points", gains.len());
        judgement.ours.push_str(&left_out);
    }
    judgement
}

/// The mean of the gains over all points reaches the paper's range, which is `low` to `high`. A
/// mean over `high` is not counted against the claim.
pub(super) fn average(gains: &[At<Compared>], low: f64, high: f64) -> Judgement {
    let at = match (numbers(gains).len(), gains.len()) {
        (count, all) if count == all => format!("mean of {all} points"),
        (count, all) => format!("mean of {count} of {all} points"),
    };
    let value = mean_gain(gains).map(Compared::Number);
    let mean = value.map(|value| At { at, value });
    let mut judgement = range(mean.as_slice(), low, high);
    let details = gains.iter().map(gain_text);
    judgement.details.extend(details);
    judgement
}

/// The mean of gains, and the mean of their intervals, as if all errors had one cause. `None`
/// without numbers.
pub(super) fn mean_gain(gains: &[At<Compared>]) -> Option<Estimate> {
    let numbers: Vec<Estimate> = numbers(gains).iter().map(|gain| gain.value).collect();
    let replications = numbers.iter().map(|number| number.replications).min()?;
    let count = numbers.len() as f64;
    let intervals: Option<Vec<Interval>> = numbers.iter().map(|number| number.ci95).collect();
    let ends = |intervals: Vec<Interval>| Interval {
        low: intervals.iter().map(|interval| interval.low).sum::<f64>() / count,
        high: intervals.iter().map(|interval| interval.high).sum::<f64>() / count,
    };
    Some(Estimate {
        mean: numbers.iter().map(|number| number.mean).sum::<f64>() / count,
        ci95: intervals.map(ends),
        deviation: None,
        replications,
    })
}

fn sides(gains: &[At<Compared>], level: f64) -> Vec<Side> {
    let sides = gains.iter().map(|gain| side(&gain.value, level));
    sides.flatten().collect()
}

fn gain_text(gain: &At<Compared>) -> String {
    let text = match &gain.value {
        Compared::Number(estimate) => &format!("{} %", number_text(estimate, 100.0)),
        Compared::OtherSaturated => "the other is saturated",
        Compared::OwnSaturated => "this one is saturated, the other not",
        Compared::BothSaturated => "both saturated",
        Compared::Growing => "a mean still grows with the run",
    };
    format!("{}: {text}", gain.at)
}

/// Adds our numbers to a verdict: the least and the most, and where one was saturated.
fn judgement(verdict: Verdict, gains: &[At<Compared>], rule: String) -> Judgement {
    let measured = numbers(gains);
    let show = |gain: &At<Estimate>| gain.shown(100.0, " %");
    let mut parts = Vec::new();
    match ends(&measured) {
        Some((low, high)) if measured.len() > 1 => {
            parts.push(format!("{} to {}", show(low), show(high)));
        }
        Some((only, _)) => parts.push(show(only)),
        None => {}
    }
    for (kind, text) in [
        (Compared::OtherSaturated, "only the other saturated"),
        (Compared::OwnSaturated, "only this one saturated"),
        (Compared::BothSaturated, "both saturated"),
        (Compared::Growing, "a mean still grows with the run"),
    ] {
        let places = gains.iter().filter(|gain| gain.value == kind);
        let places: Vec<_> = places.map(|gain| gain.at.as_str()).collect();
        if let Some(places) = places_text(&places, gains.len()) {
            parts.push(format!("{text}: {places}"));
        }
    }
    if parts.is_empty() {
        parts.push("nothing to compare".to_owned());
    }
    Judgement {
        verdict,
        ours: parts.join("; "),
        details: gains.iter().map(gain_text).collect(),
        rule,
    }
}
