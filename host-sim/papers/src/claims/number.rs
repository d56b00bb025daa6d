//! Rules about one number of a paper, and about its error.

use super::difference::{WIDTH_MAX, meets};
use super::judgement::{
    At, HALF_WIDTH_MAX, Judgement, LEVEL, Verdict, ends, ends_by, interval, percent,
};
use meshalloc_sim::statistics::{BLOCKS_MIN, Estimate};
use meshalloc_sim::wording::number as number_text;

/// Which error a paper's number has.
const WHICH_ERROR: &str =
    "the stated one or, if larger, that of a mean over as many replications as the paper has";

/// A share meets the paper's number `paper`, which has an error of plus or minus `error`. All of
/// them are parts of 1. `unit` is `points` or `%`.
pub(super) fn share(found: Option<Estimate>, paper: f64, error: f64, unit: &str) -> Judgement {
    let rule = format!(
        "holds if the interval meets the paper's number give or take its own error, {error:.1} {unit} ({WHICH_ERROR}); does not \
         hold otherwise; not decided if its half-width is over {width:.1} {unit}",
        error = error * 100.0,
        width = WIDTH_MAX * error * 100.0,
    );
    compared(found, paper, error, unit, rule, |ends| {
        meets(ends, paper, error)
    })
}

/// A difference of shares reaches the paper's number. A larger difference is not counted against
/// the claim. The parameters are those of [`share`].
pub(super) fn number(found: Option<Estimate>, paper: f64, error: f64, unit: &str) -> Judgement {
    let rule = format!(
        "holds if the interval reaches the paper's number less its own error, {error:.1} {unit} ({WHICH_ERROR}); weaker if it is over 0 \
         but stays below; does not hold if it is below 0; not decided if it holds 0 or its half-width is over \
         {width:.0} {unit}. More than the paper's is not counted against the claim, but named",
        error = error * 100.0,
        width = HALF_WIDTH_MAX * 100.0,
    );
    compared(found, paper, error, unit, rule, |(low, high)| match () {
        () if high - low > 2.0 * HALF_WIDTH_MAX => Verdict::NotDecided,
        () if high < 0.0 => Verdict::DoesNotHold,
        () if low <= 0.0 => Verdict::NotDecided,
        () if high >= paper - error => Verdict::Holds,
        () => Verdict::Weaker,
    })
}

/// Compares the found number with the paper's. `verdict` gives the verdict for the ends of the
/// interval.
fn compared(
    found: Option<Estimate>,
    paper: f64,
    error: f64,
    unit: &str,
    rule: String,
    verdict: impl Fn((f64, f64)) -> Verdict,
) -> Judgement {
    let Some((estimate, (low, high))) =
        found.and_then(|estimate| Some((estimate, interval(&estimate)?)))
    else {
        let ours = match found {
            Some(estimate) => format!("{} {unit}", number_text(&estimate, 100.0)),
            None => "not measured".to_owned(),
        };
        return Judgement {
            verdict: Verdict::NotDecided,
            details: vec![ours.clone()],
            ours,
            rule,
        };
    };
    let verdict = verdict((low, high));
    let compared = match () {
        () if low > paper + error => "more than the paper's",
        () if high < paper - error => "less than the paper's",
        () => "fits the paper's",
    };
    let distance = (estimate.mean - paper) * 100.0;
    let ours = format!("{} {unit}, {compared}", number_text(&estimate, 100.0));
    Judgement {
        verdict,
        details: vec![format!("{ours}: {distance:+.1} {unit}")],
        ours,
        rule,
    }
}

/// A share is 0.
pub(super) fn nothing(shares: &[At<Estimate>]) -> Judgement {
    let all = |limit: f64| shares.iter().all(|share| share.value.mean <= limit);
    let verdict = match () {
        () if shares.is_empty() => Verdict::NotDecided,
        () if all(0.0) => Verdict::Holds,
        () if all(LEVEL) => Verdict::Weaker,
        () => Verdict::DoesNotHold,
    };
    let show = |share: &At<Estimate>| {
        let number = number_text(&share.value, 100.0);
        format!("{}: {number} %", share.at)
    };
    Judgement {
        verdict,
        ours: match ends(shares) {
            Some((_, most)) if most.value.mean > 0.0 => format!("at most {}", show(most)),
            Some(_) => format!("0 at all {} points", shares.len()),
            None => "not measured".to_owned(),
        },
        details: shares.iter().map(show).collect(),
        rule: format!(
            "holds if it is 0 in every replication of every point; weaker if it is at most {} % everywhere; does not \
             hold otherwise",
            percent(LEVEL)
        ),
    }
}

/// A share is between `low` and `high`, parts of 1 like the shares.
pub(super) fn between(shares: &[At<Estimate>], low: f64, high: f64) -> Judgement {
    let intervals: Vec<_> = shares
        .iter()
        .filter_map(|share| interval(&share.value))
        .collect();
    let within = intervals
        .iter()
        .filter(|(bottom, top)| *top >= low && *bottom <= high)
        .count();
    let is_wide = |(bottom, top): &(f64, f64)| top - bottom > 2.0 * HALF_WIDTH_MAX;
    let is_open = intervals.len() < shares.len() || intervals.iter().any(is_wide);
    let verdict = if is_open {
        Verdict::NotDecided
    } else {
        by_part(within, shares.len())
    };
    let show = |share: &At<Estimate>| share.shown(100.0, " %");
    Judgement {
        verdict,
        ours: match ends(shares) {
            Some((least, most)) => format!(
                "{} to {}; within at {within} of {} points",
                show(least),
                show(most),
                shares.len()
            ),
            None => "not measured".to_owned(),
        },
        details: shares.iter().map(show).collect(),
        rule: format!(
            "holds if the interval reaches into {} to {} % at every point; weaker if at half of them; does not hold \
             otherwise; not decided if a half-width is over {:.0} points",
            percent(low),
            percent(high),
            HALF_WIDTH_MAX * 100.0,
        ),
    }
}

/// The verdict where this number of all points is as claimed.
const fn by_part(within: usize, all: usize) -> Verdict {
    match within {
        _ if all == 0 => Verdict::NotDecided,
        _ if within == all => Verdict::Holds,
        _ if 2 * within >= all => Verdict::Weaker,
        _ => Verdict::DoesNotHold,
    }
}

/// An error as a part of the mean. A mean from which no run differs is exact, even if it is 0.
pub(super) fn part_of(error: f64, mean: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / mean }
}

/// Means over this number of `replications` have an error of at most `limit`, a part of 1 as the
/// `errors` of each point are. `unit` is the unit: `% of the mean`, `points`.
pub(super) fn exact(errors: &[At<f64>], replications: usize, limit: f64, unit: &str) -> Judgement {
    let within = errors.iter().filter(|error| error.value <= limit).count();
    let show = |error: &At<f64>| format!("{:.1} {unit} ({})", error.value * 100.0, error.at);
    let ours = match ends_by(errors, |error| *error) {
        Some((least, most)) => format!(
            "half-width {} to {}; within the limit at {within} of {} places",
            show(least),
            show(most),
            errors.len()
        ),
        None => "too few replications to tell".to_owned(),
    };
    Judgement {
        verdict: by_part(within, errors.len()),
        ours,
        details: errors.iter().map(show).collect(),
        rule: format!(
            "holds if the half-width of the interval over {replications} replications, the mean over all blocks of \
             {replications} that were measured, is at most {} {unit} at every place; weaker if at half of them; \
             does not hold otherwise; not decided with fewer than {} blocks",
            percent(limit),
            BLOCKS_MIN
        ),
    }
}
