//! Rules about how a number changes with the mesh or with the workload.

use super::judgement::{At, Judgement, Verdict, interval};
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::wording::number as number_text;

/// A growth below this counts as "nearly constant".
const CONSTANT_MAX: f64 = 1.5;
/// A growth with at least this power of the side counts as "proportional".
const PROPORTIONAL_POWER: f64 = 0.9;

/// A number hardly changes. From the first point to the last it grows by the factor `growth`, while
/// the mesh's side grows by `sides`.
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

/// A number grows as the side of the mesh, which grows by `sides`; `growth` is the ratio of the
/// last number to the first.
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
            let factor = number_text(&growth.value, 1.0);
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
