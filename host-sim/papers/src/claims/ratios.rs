//! Rules about ratios of two numbers that are near 1.

use super::judgement::{
    At, Compared, Judgement, Verdict, ends, interval, is_wide, numbers, percent,
};
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::wording::number as number_text;

/// A ratio within this of 1 counts as "nearly the same".
const SIMILAR: f64 = 0.25;

/// `None`: one of the two was not measured.
type Ratio = Option<Compared>;

fn text(ratio: &Ratio) -> String {
    let text = match ratio {
        Some(Compared::Number(ratio)) => return number_text(ratio, 1.0),
        Some(Compared::OwnSaturated | Compared::OtherSaturated) => "saturated",
        Some(Compared::BothSaturated) => "both saturated",
        Some(Compared::Growing) => "still grows with the run",
        None => "not measured",
    };
    text.to_owned()
}

/// The ratio of a strategy's numbers under two workloads is near 1, and nearer to 1 than the ratios
/// of other strategies. `all_own` has the ratios of the strategy, and `others` those of the other
/// strategies at the same places.
pub(super) fn least_affected(all_own: &[At<Ratio>], others: &[At<Ratio>]) -> Judgement {
    let mut all = all_own.iter().chain(others);
    let both_saturated = Some(Compared::BothSaturated);
    let open = all.any(|ratio| matches!(ratio.value, Some(Compared::Growing) | None))
        || all_own.iter().any(|own| own.value == both_saturated);
    // A strategy that is saturated under one of the workloads, or under both, is farther from 1
    // than any number.
    let distance = |ratio: &Ratio| match ratio {
        Some(Compared::Number(ratio)) => (ratio.mean - 1.0).abs(),
        _ => f64::INFINITY,
    };
    let near = all_own.iter().all(|own| distance(&own.value) <= SIMILAR);
    let nearest = all_own.iter().all(|own| {
        let mut rivals = others.iter().filter(|other| other.at == own.at);
        rivals.all(|other| distance(&own.value) <= distance(&other.value))
    });
    let wide = |ratio: &At<Estimate>| is_wide(&ratio.value, SIMILAR);
    let verdict = match (near, nearest) {
        _ if open || all_own.is_empty() || numbers(all_own).iter().any(wide) => Verdict::NotDecided,
        (true, true) => Verdict::Holds,
        (true, false) | (false, true) => Verdict::Weaker,
        (false, false) => Verdict::DoesNotHold,
    };
    let show = |ratios: &[At<Ratio>]| {
        let shown = ratios.iter();
        let shown = shown.map(|ratio| format!("{} {}", ratio.at, text(&ratio.value)));
        shown.collect::<Vec<_>>().join(", ")
    };
    let (mine, theirs) = (show(all_own), show(others));
    Judgement {
        verdict,
        ours: format!("ratio {mine}"),
        details: vec![format!("this one: {mine}"), format!("the others: {theirs}")],
        rule: format!(
            "holds if the ratio is within {:.0} % of 1 everywhere and nearer to 1 than the others'; weaker if one of \
             the two; does not hold otherwise; not decided if a half-width is over {:.0} points, \
             or a number is not measured or still grows with the run. Saturated under one of the two workloads is \
             farther from 1 than any number",
            SIMILAR * 100.0,
            SIMILAR * 100.0
        ),
    }
}

/// The ratio is near 1: within `tight` of it for "holds", within `loose` for "weaker". If only one
/// of the two is saturated, the ratio is beyond any limit. A point with nothing to compare is left
/// out and named.
pub(super) fn close(all: &[At<Ratio>], tight: f64, loose: f64) -> Judgement {
    let ratios = numbers(all);
    let distance = |ratio: &At<Estimate>| (ratio.value.mean - 1.0).abs();
    let all_within = |limit: f64| {
        let mut intervals = ratios.iter().map(|ratio| interval(&ratio.value));
        intervals
            .all(|ends| ends.is_some_and(|(low, high)| low >= 1.0 - limit && high <= 1.0 + limit))
    };
    let beyond = |ratio: &At<Estimate>| {
        interval(&ratio.value).is_some_and(|(low, high)| high < 1.0 - loose || low > 1.0 + loose)
    };
    let one_saturated = [Compared::OwnSaturated, Compared::OtherSaturated].map(Some);
    let is_one_saturated = |ratio: &At<Ratio>| one_saturated.contains(&ratio.value);
    let verdict = if all.iter().any(is_one_saturated) || ratios.iter().any(beyond) {
        Verdict::DoesNotHold
    } else if ratios.is_empty() || !all_within(loose) {
        Verdict::NotDecided
    } else if all_within(tight) {
        Verdict::Holds
    } else if ratios.iter().any(|ratio| distance(ratio) > tight) {
        Verdict::Weaker
    } else {
        Verdict::NotDecided
    };
    let details = all
        .iter()
        .map(|ratio| format!("{}: {}", ratio.at, text(&ratio.value)));
    let ours = match ends(&ratios) {
        Some((low, high)) if ratios.len() > 1 => {
            format!("ratio {} to {}", low.shown(1.0, ""), high.shown(1.0, ""))
        }
        Some((only, _)) => format!("ratio {}", only.shown(1.0, "")),
        None => "no point where both have a number".to_owned(),
    };
    let mut parts = vec![ours];
    let kinds: [(&[Ratio], _); 4] = [
        (&one_saturated, "only one of the two saturated"),
        (
            &[Some(Compared::BothSaturated)],
            "left out, as both are saturated",
        ),
        (
            &[Some(Compared::Growing)],
            "left out, as a mean still grows with the run",
        ),
        (&[None], "left out, as not measured"),
    ];
    for (kinds, text) in kinds {
        let places = all.iter().filter(|ratio| kinds.contains(&ratio.value));
        let places: Vec<_> = places.map(|ratio| ratio.at.as_str()).collect();
        if !places.is_empty() {
            parts.push(format!("{text}: {}", places.join(", ")));
        }
    }
    Judgement {
        verdict,
        ours: parts.join("; "),
        details: details.collect(),
        rule: format!(
            "holds if every ratio is within {} % of 1, weaker within {} %, does not hold if one is \
             farther away or only one of the two is saturated; not decided if an interval goes across the limit or nothing is left to \
             compare. Points where both are saturated, a mean still grows with the run or one of the two was not measured are left out",
            percent(tight),
            percent(loose)
        ),
    }
}
