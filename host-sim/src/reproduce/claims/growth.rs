//! Rules about how a number changes with the mesh or with the workload.

use super::judgement::{At, Judgement, Verdict, interval};
use crate::report;
use crate::statistics::Estimate;

/// "Nearly constant" is a growth below this.
const CONSTANT_MAX: f64 = 1.5;
/// "Proportional" is a growth with at least this power of the side.
const PROPORTIONAL_POWER: f64 = 0.9;
/// "Nearly the same" is a ratio within this of 1.
const SIMILAR: f64 = 0.25;

/// A number hardly changes while the side of the mesh grows by `sides`: `growth` is the ratio of the last to the
/// first.
pub(super) fn nearly_constant(growth: Option<&At<Estimate>>, sides: f64) -> Judgement {
    let verdict = match growth.and_then(|growth| interval(&growth.value)) {
        None => Verdict::NotDecided,
        Some((_, high)) if high <= CONSTANT_MAX => Verdict::Holds,
        Some((low, _)) if low <= CONSTANT_MAX => Verdict::NotDecided,
        Some((_, high)) if high < sides => Verdict::Weaker,
        Some((low, _)) if low < sides => Verdict::NotDecided,
        Some(_) => Verdict::DoesNotHold,
    };
    let rule = format!(
        "holds if the number grows by a factor of at most {CONSTANT_MAX} from the smallest mesh to the largest; weaker \
         if by less than the side of the mesh does; does not hold otherwise"
    );
    judgement(verdict, growth, sides, rule)
}

/// A number grows as the side of the mesh, which grows by `sides`: `growth` is the ratio of the last to the first.
pub(super) fn proportional(growth: Option<&At<Estimate>>, sides: f64) -> Judgement {
    let wanted = sides.powf(PROPORTIONAL_POWER);
    let verdict = match growth.and_then(|growth| interval(&growth.value)) {
        None => Verdict::NotDecided,
        Some((low, _)) if low >= wanted => Verdict::Holds,
        Some((_, high)) if high >= wanted => Verdict::NotDecided,
        Some((low, _)) if low > 1.0 => Verdict::Weaker,
        Some((_, high)) if high > 1.0 => Verdict::NotDecided,
        Some(_) => Verdict::DoesNotHold,
    };
    let rule = format!(
        "holds if the number grows at least with power {PROPORTIONAL_POWER} of the side of the mesh; weaker if it grows \
         by less; does not hold if it does not grow"
    );
    judgement(verdict, growth, sides, rule)
}

fn judgement(
    verdict: Verdict,
    growth: Option<&At<Estimate>>,
    sides: f64,
    rule: String,
) -> Judgement {
    let ours = match growth {
        Some(growth) => {
            let factor = report::number(&growth.value, 1.0);
            format!(
                "grows by a factor of {factor} ({}), the side by {sides}",
                growth.at
            )
        }
        None => "not measured on two meshes".to_owned(),
    };
    Judgement {
        verdict,
        details: vec![ours.clone()],
        ours,
        rule,
    }
}

/// The ratio of two numbers, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ratio {
    /// Over paired replications.
    Of(Estimate),
    /// One of the two is saturated.
    Saturated,
    /// A mean of the two still grows with the length of the run.
    Growing,
    /// One of the two was not measured.
    Missing,
}

impl Ratio {
    fn text(&self) -> String {
        match self {
            Ratio::Of(ratio) => report::number(ratio, 1.0),
            Ratio::Saturated => "saturated".to_owned(),
            Ratio::Growing => "still grows with the run".to_owned(),
            Ratio::Missing => "not measured".to_owned(),
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Ratio::Growing | Ratio::Missing)
    }
}

/// The places that have a ratio.
pub(super) fn known(ratios: &[At<Ratio>]) -> Vec<At<Estimate>> {
    let known = ratios.iter().filter_map(|ratio| match ratio.value {
        Ratio::Of(value) => Some(At {
            at: ratio.at.clone(),
            value,
        }),
        _ => None,
    });
    known.collect()
}

/// Under two workloads a strategy gives nearly the same, which cannot be said of others: `all_own` are its ratios of one to
/// the other, `others` theirs at the same places.
pub(super) fn least_affected(all_own: &[At<Ratio>], others: &[At<Ratio>]) -> Judgement {
    let own = known(all_own);
    let open = all_own
        .iter()
        .chain(others)
        .any(|ratio| ratio.value.is_open());
    let distance = |ratio: &Estimate| (ratio.mean - 1.0).abs();
    let near = own.iter().all(|ratio| distance(&ratio.value) <= SIMILAR);
    let nearest = own.iter().all(|ratio| {
        let mut rivals = others.iter().filter(|other| other.at == ratio.at);
        rivals.all(|other| match &other.value {
            Ratio::Of(other) => distance(&ratio.value) <= distance(other),
            _ => true,
        })
    });
    let wide = |ratio: &At<Estimate>| ratio.value.ci95.is_none_or(|width| width > SIMILAR);
    let verdict = match (near, nearest) {
        _ if open || own.is_empty() || own.iter().any(wide) => Verdict::NotDecided,
        (true, true) => Verdict::Holds,
        (true, false) | (false, true) => Verdict::Weaker,
        (false, false) => Verdict::DoesNotHold,
    };
    let show = |ratios: &[At<Ratio>]| {
        let shown = ratios.iter();
        let shown = shown.map(|ratio| format!("{} {}", ratio.at, ratio.value.text()));
        shown.collect::<Vec<_>>().join(", ")
    };
    let (mine, theirs) = (show(all_own), show(others));
    Judgement {
        verdict,
        ours: format!("ratio {mine}"),
        details: vec![format!("this one: {mine}"), format!("the others: {theirs}")],
        rule: format!(
            "holds if the ratio is within {:.0} % of 1 everywhere and nearer to 1 than the others' ; weaker if one of \
             the two; does not hold otherwise; not decided if a half-width is over {:.0} points, \
             or a number is not measured or still grows with the run",
            SIMILAR * 100.0,
            SIMILAR * 100.0
        ),
    }
}
