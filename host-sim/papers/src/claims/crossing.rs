//! The rule about where the ratio of two numbers passes a factor.

use super::judgement::{At, Compared, Judgement, Verdict, interval};
use meshalloc_sim::wording::number as number_text;

/// A ratio of own to other, and its place on the axis.
pub(super) type Step = (f64, At<Compared>);

/// The side of `factor` on which a ratio is: 1 above, -1 below; `None` if that is open.
fn side(ratio: &Compared, factor: f64) -> Option<i8> {
    match ratio {
        Compared::OwnSaturated => Some(1),
        Compared::OtherSaturated => Some(-1),
        Compared::BothSaturated | Compared::Growing => None,
        Compared::Number(estimate) => match interval(estimate)? {
            (low, _) if low > factor => Some(1),
            (_, high) if high < factor => Some(-1),
            _ => None,
        },
    }
}

fn text(At { at, value }: &At<Compared>) -> String {
    let value = match value {
        Compared::Number(estimate) => number_text(estimate, 1.0),
        Compared::OwnSaturated => "this one alone is saturated".to_owned(),
        Compared::OtherSaturated => "the other one alone is saturated".to_owned(),
        Compared::BothSaturated => "both are saturated".to_owned(),
        Compared::Growing => "a mean still grows with the run".to_owned(),
    };
    format!("{at}: {value}")
}

/// The place between two steps at which the ratio is `factor`, if it grows or falls evenly on the
/// log; `None` where a step has no number.
fn between(before: &Step, after: &Step, factor: f64) -> Option<f64> {
    let log = |step: &Step| Some((step.1.value.number()?.mean / factor).ln());
    let (from, to) = (log(before)?, log(after)?);
    let place = before.0 + (after.0 - before.0) * from / (from - to);
    place.is_finite().then_some(place)
}

/// The ratio passes `factor` once, in either direction.
pub(super) fn passes(steps: &[Step], factor: f64) -> Judgement {
    let decided = |step: &&Step| side(&step.1.value, factor).is_some();
    let decided: Vec<&Step> = steps.iter().filter(decided).collect();
    let changes = |pair: &&[&Step]| {
        let [before, after] = [pair[0], pair[1]].map(|step| side(&step.1.value, factor));
        before != after
    };
    let changes: Vec<_> = decided.windows(2).filter(changes).collect();
    let (verdict, ours) = match (&changes[..], &decided[..]) {
        ([], []) => (Verdict::NotDecided, "no point is decided".to_owned()),
        ([], [first, ..]) => {
            let where_to = match side(&first.1.value, factor) {
                Some(1) => "above",
                _ => "below",
            };
            let open = steps.len() - decided.len();
            let verdict = if open > 0 {
                Verdict::NotDecided
            } else {
                Verdict::DoesNotHold
            };
            let count = decided.len();
            let (all, first, last) = (steps.len(), &decided[0].1, &decided[count - 1].1);
            let (first, last) = (text(first), text(last));
            let ours = format!("{where_to} {factor} at {count} of {all} points; {first}; {last}");
            (verdict, ours)
        }
        ([pair], _) => {
            let place = between(pair[0], pair[1], factor);
            let near = place.map_or_else(String::new, |place| format!(", near {place:.2}"));
            let (before, after) = (text(&pair[0].1), text(&pair[1].1));
            let ours = format!("passes {factor} between {before} and {after}{near}");
            (Verdict::Holds, ours)
        }
        (several, _) => {
            let ours = format!("passes {factor} {} times", several.len());
            (Verdict::Weaker, ours)
        }
    };
    Judgement {
        verdict,
        ours,
        details: steps.iter().map(|step| text(&step.1)).collect(),
        rule: format!(
            "holds if the ratio is on one side of {factor} up to a point and on the other side after it, weaker \
             if it changes sides more than once, does not hold if it is on the same side at every point; a point \
             whose interval holds {factor}, or where a mean still grows with the run, is on no side"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshalloc_sim::statistics::{Estimate, Interval};

    fn steps(ratios: &[(f64, f64)]) -> Vec<Step> {
        let step = |(number, &(mean, width)): (usize, &(f64, f64))| {
            let value = Compared::Number(Estimate {
                mean,
                ci95: Some(Interval::around(mean, width)),
                deviation: None,
                replications: 10,
            });
            let place = (number + 1) as f64 / 10.0;
            let at = format!("load {place}");
            (place, At { at, value })
        };
        ratios.iter().enumerate().map(step).collect()
    }

    #[test]
    fn a_ratio_passes_a_factor_where_its_intervals_change_sides() {
        use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
        for (ratios, verdict, ours) in [
            // Half way on the logarithmic scale.
            (
                &[(2.0, 0.1), (0.5, 0.1)][..],
                Holds,
                "passes 1 between load 0.1: 2.00 ± 0.10 and load 0.2: 0.50 ± 0.10, near 0.15",
            ),
            (
                &[(0.5, 0.1), (1.0, 0.1), (2.0, 0.1)],
                Holds,
                "passes 1 between load 0.1: 0.50 ± 0.10 and load 0.3: 2.00 ± 0.10, near 0.20",
            ),
            (
                &[(1.5, 0.1), (1.4, 0.1)],
                DoesNotHold,
                "above 1 at 2 of 2 points; load 0.1: 1.50 ± 0.10; load 0.2: 1.40 ± 0.10",
            ),
            (
                &[(0.5, 0.1), (0.9, 0.2)],
                NotDecided,
                "below 1 at 1 of 2 points; load 0.1: 0.50 ± 0.10; load 0.1: 0.50 ± 0.10",
            ),
            (
                &[(1.5, 0.1), (0.5, 0.1), (1.5, 0.1)],
                Weaker,
                "passes 1 2 times",
            ),
            (&[(1.0, 0.1)], NotDecided, "no point is decided"),
        ] {
            let judgement = passes(&steps(ratios), 1.0);
            assert_eq!((judgement.verdict, &*judgement.ours), (verdict, ours));
            assert_eq!(judgement.details.len(), ratios.len());
        }
    }

    #[test]
    fn the_side_of_a_saturated_system_is_known() {
        let mut steps = steps(&[(0.5, 0.1), (0.5, 0.1)]);
        steps[1].1.value = Compared::OwnSaturated;
        let judgement = passes(&steps, 1.0);
        let ours =
            "passes 1 between load 0.1: 0.50 ± 0.10 and load 0.2: this one alone is saturated";
        assert_eq!(
            (judgement.verdict, &*judgement.ours),
            (Verdict::Holds, ours)
        );
    }
}
