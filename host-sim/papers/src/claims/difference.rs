//! Rules about numbers that are given with their errors: relative differences, and means.

use super::judgement::{At, Judgement, Verdict, interval};
use meshalloc_sim::statistics::Estimate;

/// Each relative difference, in percent, reaches the paper's, which is `paper` give or take
/// `error`. A larger difference is not counted against the claim.
pub(super) fn difference(found: &[At<Estimate>], paper: f64, error: f64) -> Judgement {
    let verdict = |estimate: &Estimate| {
        let Some((low, high)) = interval(estimate) else {
            return Verdict::NotDecided;
        };
        // If the paper's number is below 0, the signs are reversed, so that it counts as over 0.
        let (low, high) = if paper < 0.0 {
            (-high, -low)
        } else {
            (low, high)
        };
        match () {
            () if high < 0.0 => Verdict::DoesNotHold,
            () if low <= 0.0 => Verdict::NotDecided,
            () if high >= paper.abs() - error => Verdict::Holds,
            () => Verdict::Weaker,
        }
    };
    let rule = format!(
        "holds if the interval of the difference reaches the paper's less its error, {error:.1} points, at every point; weaker if it is \
         on the same side of 0 but stays below; does not hold if it is on the other side; not decided if it holds 0. More is not \
         counted against the claim. Both are of runs of this length, also where means still grow with it"
    );
    judgement(found, verdict, " %", rule)
}

/// A half-width over this multiple of the paper's error decides nothing.
pub(super) const WIDTH_MAX: f64 = 3.0;

/// Whether an interval meets the paper's number give or take its error.
pub(super) fn meets((low, high): (f64, f64), paper: f64, error: f64) -> Verdict {
    match () {
        () if high - low > 2.0 * WIDTH_MAX * error => Verdict::NotDecided,
        () if low <= paper + error && high >= paper - error => Verdict::Holds,
        () => Verdict::DoesNotHold,
    }
}

/// Each mean meets the paper's number `paper`, give or take `error * paper`.
pub(super) fn value(found: &[At<Estimate>], paper: f64, error: f64) -> Judgement {
    let verdict = |estimate: &Estimate| {
        interval(estimate).map_or(Verdict::NotDecided, |ends| {
            meets(ends, paper, error * paper)
        })
    };
    let rule = format!(
        "holds if the interval meets the paper's number give or take {:.0} % at every point; does not hold otherwise; not decided if \
         its half-width is over {:.0} %",
        error * 100.0,
        WIDTH_MAX * error * 100.0
    );
    judgement(found, verdict, "", rule)
}

/// The worst verdict of all points.
fn judgement(
    found: &[At<Estimate>],
    verdict: impl Fn(&Estimate) -> Verdict,
    unit: &str,
    rule: String,
) -> Judgement {
    let verdicts = || found.iter().map(|point| verdict(&point.value));
    let verdict = match () {
        () if found.is_empty() => Verdict::NotDecided,
        () if verdicts().any(|verdict| verdict == Verdict::DoesNotHold) => Verdict::DoesNotHold,
        () if verdicts().any(|verdict| verdict == Verdict::NotDecided) => Verdict::NotDecided,
        () => verdicts().max().unwrap_or(Verdict::NotDecided),
    };
    let details: Vec<String> = found.iter().map(|point| point.shown(1.0, unit)).collect();
    let ours = if details.is_empty() {
        "not measured, or saturated".to_owned()
    } else {
        details.join("; ")
    };
    Judgement {
        verdict,
        ours,
        details,
        rule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshalloc_sim::statistics::Interval;

    fn at(mean: f64, width: f64) -> Vec<At<Estimate>> {
        let value = Estimate {
            mean,
            ci95: Some(Interval::around(mean, width)),
            deviation: None,
            replications: 10,
        };
        vec![At {
            at: "here".to_owned(),
            value,
        }]
    }

    #[test]
    fn intervals_that_meet_hold_and_the_other_side_of_zero_does_not() {
        for (mean, width, expected) in [
            (-13.0, 1.0, Verdict::Holds),
            (-9.0, 2.1, Verdict::Holds),
            (-30.0, 1.0, Verdict::Holds),
            (-9.0, 1.0, Verdict::Weaker),
            (-1.0, 2.0, Verdict::NotDecided),
            (3.0, 2.0, Verdict::DoesNotHold),
            (0.0, 20.0, Verdict::NotDecided),
            (0.0, 0.0, Verdict::NotDecided),
        ] {
            let judged = difference(&at(mean, width), -13.3, 2.3).verdict;
            assert_eq!(judged, expected, "{mean} +- {width}");
            assert_eq!(difference(&at(-mean, width), 13.3, 2.3).verdict, expected);
        }
        assert_eq!(difference(&[], -1.0, 0.0).verdict, Verdict::NotDecided);
    }

    #[test]
    fn a_mean_holds_within_its_error_alone() {
        for (mean, width, expected) in [
            (10.4, 0.0, Verdict::Holds),
            (10.4, 1.6, Verdict::NotDecided),
            (11.0, 0.6, Verdict::Holds),
            (9.0, 0.4, Verdict::DoesNotHold),
            (11.0, 0.4, Verdict::DoesNotHold),
        ] {
            assert_eq!(
                value(&at(mean, width), 10.0, 0.05).verdict,
                expected,
                "{mean}"
            );
        }
    }
}
