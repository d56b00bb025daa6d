//! Each rule on given numbers, once for each verdict it can come to.

use super::gains::{average, everywhere, grows, range};
use super::growth::{nearly_constant, proportional};
use super::number::{between, exact, nothing, number, part_of, share};
use super::ratios::{close, least_affected};
use super::{At, Claim, Compared, Judgement, Verdict, tally};
use meshalloc_sim::statistics::{Estimate, Interval};

mod saturation;

fn estimate(mean: f64, half_width: f64) -> Estimate {
    Estimate {
        mean,
        ci95: Some(Interval::around(mean, half_width)),
        deviation: None,
        replications: 8,
    }
}

fn by(mean: f64, half_width: f64) -> Compared {
    Compared::Number(estimate(mean, half_width))
}

fn ratio(estimate: Estimate) -> Option<Compared> {
    Some(Compared::Number(estimate))
}

fn at<T>(values: impl IntoIterator<Item = T>) -> Vec<At<T>> {
    let named = values.into_iter().enumerate();
    named
        .map(|(i, value)| At {
            at: format!("point {i}"),
            value,
        })
        .collect()
}

#[test]
fn range_compares_every_interval_with_the_lower_end() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let single = Compared::Number(Estimate {
        ci95: None,
        ..estimate(0.4, 0.0)
    });
    let cases: [(&[Compared], Verdict); 13] = [
        (&[by(0.31, 0.02), by(0.56, 0.02)], Holds),
        // An interval that reaches the range is enough, and so is more than the paper claims.
        (&[by(0.29, 0.03), by(0.70, 0.02)], Holds),
        (&[by(0.40, 0.02), Compared::OtherSaturated], Holds),
        (&[by(0.40, 0.02), Compared::BothSaturated], Holds),
        (&[by(0.20, 0.02), by(0.56, 0.02)], Weaker),
        (&[by(-0.20, 0.02), by(0.56, 0.02)], DoesNotHold),
        (&[by(0.40, 0.02), Compared::OwnSaturated], DoesNotHold),
        // Too wide: the sign is open, or everything overlaps.
        (&[by(0.02, 0.05)], NotDecided),
        (&[by(0.40, 0.20)], NotDecided),
        (&[single], NotDecided),
        (&[Compared::BothSaturated], NotDecided),
        (&[by(0.40, 0.02), Compared::Growing], NotDecided),
        (&[], NotDecided),
    ];
    for (gains, verdict) in cases {
        let judgement = range(&at(gains.iter().copied()), 0.31, 0.56);
        assert_eq!(judgement.verdict, verdict, "{gains:?}: {judgement:?}");
        assert_eq!(judgement.details.len(), gains.len());
    }
}

#[test]
fn a_gain_just_below_0_is_below_it() {
    // Level for a claim about the side alone, which compares no numbers.
    for (gain, verdict) in [
        (by(-0.003, 0.001), Verdict::DoesNotHold),
        (by(0.001, 0.002), Verdict::NotDecided),
        (by(0.003, 0.001), Verdict::Weaker),
    ] {
        for judgement in [
            range(&at([gain]), 0.05, 0.15),
            range(&at([gain, by(0.10, 0.01)]), 0.05, 0.15),
            average(&at([gain, gain]), 0.05, 0.15),
        ] {
            assert_eq!(judgement.verdict, verdict, "{gain:?}: {judgement:?}");
        }
    }
    assert_eq!(
        range(&at([by(0.0, 0.0)]), 0.05, 0.15).verdict,
        Verdict::NotDecided
    );
}

#[test]
fn everywhere_wants_the_same_sign_at_all_points() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let (over, below, level, open) = (
        by(0.3, 0.1),
        by(-0.3, 0.1),
        by(0.001, 0.002),
        by(0.05, 0.10),
    );
    let slightly_below = by(-0.02, 0.01);
    let cases: [(&[Compared], Verdict); 20] = [
        (&[over, over, level, Compared::OtherSaturated], Holds),
        // At one of five points.
        (&[over, level, level, level, level], Weaker),
        (&[over, open, level, level, level], Weaker),
        (&[over, over, level, level, open], Weaker),
        (&[level, level, level, open], NotDecided),
        (&[over, over, over, open], Holds),
        (&[over, over, below], Weaker),
        (&[over, over, open, Compared::OwnSaturated], Weaker),
        (&[over, Compared::OwnSaturated], DoesNotHold),
        (
            &[Compared::OtherSaturated, Compared::OwnSaturated],
            DoesNotHold,
        ),
        // Far over at one point and a little below at another, where one is saturated.
        (
            &[over, by(0.04, 0.01), slightly_below, Compared::OwnSaturated],
            Weaker,
        ),
        // A little below at more points than it is far over.
        (&[over, slightly_below, slightly_below], Weaker),
        (&[below, by(0.05, 0.01), by(0.05, 0.01)], DoesNotHold),
        (&[over, below], DoesNotHold),
        (&[below, level], DoesNotHold),
        (&[over, open], NotDecided),
        // No difference says nothing about who is better.
        (&[level, level], NotDecided),
        (&[by(0.0, 0.0), by(0.0, 0.0)], NotDecided),
        (&[Compared::BothSaturated], NotDecided),
        (&[], NotDecided),
    ];
    for (gains, verdict) in cases {
        let judgement = everywhere(&at(gains.iter().copied()));
        assert_eq!(judgement.verdict, verdict, "{gains:?}: {judgement:?}");
    }
    let judgement = everywhere(&at([over, over, over, open, level]));
    let counts = "; over 0 at 3, level at 1, below 0 at 0, open at 1 of 5 points";
    assert!(judgement.ours.ends_with(counts), "{judgement:?}");
}

#[test]
fn grows_compares_the_ends_and_the_steps() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let cases: [(&[Compared], Verdict); 8] = [
        (&[by(0.1, 0.02), by(0.2, 0.02), by(0.3, 0.02)], Holds),
        (
            &[by(0.1, 0.02), by(0.2, 0.02), Compared::OtherSaturated],
            Holds,
        ),
        (&[by(0.1, 0.02), by(0.4, 0.02), by(0.3, 0.02)], Weaker),
        (&[by(0.3, 0.02), by(0.1, 0.02)], DoesNotHold),
        (&[by(0.1, 0.2), by(0.2, 0.2)], NotDecided),
        (&[by(0.1, 0.02), Compared::BothSaturated], NotDecided),
        (&[by(0.1, 0.02)], NotDecided),
        (&[], NotDecided),
    ];
    for (gains, verdict) in cases {
        let judgement = grows(&at(gains.iter().copied()));
        assert_eq!(judgement.verdict, verdict, "{gains:?}: {judgement:?}");
    }
    let judgement = grows(&at([by(0.1, 0.02), Compared::Growing, by(0.3, 0.02)]));
    let ending = "a mean still grows with the run: point 1; left out: 1 of 3 points";
    assert_eq!(judgement.verdict, Holds);
    assert!(judgement.ours.ends_with(ending), "{judgement:?}");
}

#[test]
fn close_has_a_tight_and_a_loose_limit() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let cases: [(&[Estimate], Verdict); 7] = [
        (&[estimate(1.02, 0.02), estimate(0.95, 0.01)], Holds),
        (&[estimate(1.02, 0.02), estimate(1.20, 0.02)], Weaker),
        (&[estimate(1.02, 0.02), estimate(1.40, 0.02)], DoesNotHold),
        (&[estimate(1.09, 0.05)], NotDecided),
        (&[estimate(1.24, 0.05)], NotDecided),
        (&[estimate(1.02, 0.02), estimate(1.27, 0.05)], NotDecided),
        (&[], NotDecided),
    ];
    for (ratios, verdict) in cases {
        let judgement = close(&at(ratios.iter().copied().map(ratio)), 0.10, 0.25);
        assert_eq!(judgement.verdict, verdict, "{ratios:?}: {judgement:?}");
    }
    let near = ratio(estimate(1.02, 0.02));
    for (without, verdict, text) in [
        (
            Some(Compared::OtherSaturated),
            DoesNotHold,
            "only one of the two saturated: point 1",
        ),
        (
            Some(Compared::BothSaturated),
            Holds,
            "left out, as both are saturated: point 1",
        ),
        (
            Some(Compared::Growing),
            Holds,
            "left out, as a mean still grows with the run: point 1",
        ),
        (None, Holds, "left out, as not measured: point 1"),
    ] {
        let judgement = close(&at([near, without]), 0.10, 0.25);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
        assert!(judgement.ours.ends_with(text), "{judgement:?}");
        let named = match without {
            Some(Compared::Growing) => "a mean still grows with the run",
            None => "one of the two was not measured",
            _ => "saturated",
        };
        assert!(judgement.rule.contains(named), "{judgement:?}");
        let nothing_else = match verdict {
            DoesNotHold => DoesNotHold,
            _ => NotDecided,
        };
        let judgement = close(&at([without]), 0.10, 0.25);
        assert_eq!(judgement.verdict, nothing_else, "{judgement:?}");
    }
}

#[test]
fn growth_is_constant_slow_or_proportional() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let growth = |mean, half_width| at([estimate(mean, half_width)]).pop();
    for (growth, constant, proportional_) in [
        (growth(1.2, 0.1), Holds, Weaker),
        (growth(1.45, 0.1), NotDecided, Weaker),
        (growth(3.0, 0.1), Weaker, Weaker),
        (growth(7.9, 0.5), NotDecided, Holds),
        (growth(20.0, 0.5), DoesNotHold, Holds),
        (growth(6.4, 0.3), Weaker, NotDecided),
        (growth(1.0, 0.1), Holds, NotDecided),
        (growth(0.8, 0.1), Holds, DoesNotHold),
        (None, NotDecided, NotDecided),
    ] {
        let judgement = nearly_constant(growth.as_ref(), 8.0);
        assert_eq!(judgement.verdict, constant, "{judgement:?}");
        let judgement = proportional(growth.as_ref(), 8.0);
        assert_eq!(judgement.verdict, proportional_, "{judgement:?}");
    }
}

#[test]
fn least_affected_is_near_and_nearest() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let others = at([ratio(estimate(1.4, 0.1)), Some(Compared::OtherSaturated)]);
    for (own, verdict) in [
        (estimate(1.1, 0.1), Holds),
        (estimate(1.35, 0.1), Weaker),
        (estimate(1.5, 0.1), DoesNotHold),
        (estimate(1.1, 0.5), NotDecided),
    ] {
        let judgement = least_affected(&at([ratio(own)]), &others);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
    let own = ratio(estimate(1.1, 0.1));
    let nearer = at([ratio(estimate(1.01, 0.1))]);
    assert_eq!(least_affected(&at([own]), &nearer).verdict, Weaker);
    for (open, reason) in [
        (Some(Compared::Growing), "point 1 still grows with the run"),
        (None, "point 1 not measured"),
    ] {
        let judgement = least_affected(&at([own]), &at([Some(Compared::OtherSaturated), open]));
        assert_eq!(judgement.verdict, NotDecided, "{judgement:?}");
        assert!(judgement.details[1].ends_with(reason), "{judgement:?}");
        let judgement = least_affected(&at([own, open]), &others);
        assert_eq!(judgement.verdict, NotDecided, "{judgement:?}");
        assert!(judgement.ours.ends_with(reason), "{judgement:?}");
    }
    assert_eq!(least_affected(&[], &others).verdict, NotDecided);
    // Its own saturation is not passed over: under one workload alone it fails, under both nothing
    // is known.
    let near = ratio(estimate(1.1, 0.1));
    let numbers = at([ratio(estimate(1.4, 0.1)); 2]);
    for (own, rivals, verdict) in [
        (Some(Compared::OtherSaturated), &numbers, DoesNotHold),
        (
            Some(Compared::OtherSaturated),
            &at([near, Some(Compared::OtherSaturated)]),
            Weaker,
        ),
        (Some(Compared::BothSaturated), &numbers, NotDecided),
    ] {
        let judgement = least_affected(&at([near, own]), rivals);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
}

#[test]
fn the_mean_of_gains_keeps_their_error() {
    let gains = at([by(0.2, 0.04), by(0.4, 0.02), Compared::BothSaturated]);
    let mean = average(&gains, 0.2, 0.4);
    assert_eq!(mean.ours, "30.0 ± 3.0 % (mean of 2 of 3 points)");
    assert_eq!((mean.verdict, mean.details.len()), (Verdict::Holds, 1 + 3));
    let none = average(&at([Compared::OtherSaturated]), 0.2, 0.4);
    assert_eq!(none.verdict, Verdict::NotDecided);
}

#[test]
fn claims_of_the_clock_and_those_that_the_paper_does_not_make_are_counted_apart() {
    let claim = |paper: Option<&str>, verdict| Claim {
        figure: 1,
        text: String::new(),
        paper: paper.map(str::to_owned),
        is_clocked: false,
        judgement: Judgement {
            verdict,
            ours: String::new(),
            details: Vec::new(),
            rule: String::new(),
        },
    };
    let papers = [Verdict::Holds, Verdict::Holds, Verdict::Weaker];
    let papers = papers.map(|verdict| claim(Some("less"), verdict));
    let text = "3 claims: 2 hold, 1 weaker, 0 do not hold, 0 not decided";
    assert_eq!(tally(papers.iter()), text);
    let other = claim(None, Verdict::Holds);
    let of_other =
        "1 claim that the paper does not make: 1 holds, 0 weaker, 0 do not hold, 0 not decided";
    assert_eq!(
        tally(papers.iter().chain([&other])),
        format!("{text}; {of_other}")
    );
    let clocked = Claim {
        is_clocked: true,
        ..claim(Some("less"), Verdict::DoesNotHold)
    };
    let of_clocked = "1 claim about search times, which change with the machine: 0 hold, 0 weaker, \
                      1 does not hold, 0 not decided";
    assert_eq!(
        tally(papers.iter().chain([&other, &clocked])),
        format!("{text}; {of_clocked}; {of_other}")
    );
    assert_eq!(tally([other].iter()), of_other);
    assert_eq!(tally([].iter()), "");
}

#[test]
fn many_places_are_counted_and_few_are_named() {
    let few = everywhere(&at([by(0.3, 0.1), Compared::BothSaturated]));
    let ending =
        "both saturated: point 1; over 0 at 1, level at 0, below 0 at 0, open at 0 of 1 point";
    assert!(few.ours.ends_with(ending), "{few:?}");
    let many = everywhere(&at([Compared::BothSaturated; 5]));
    assert_eq!(many.ours, "both saturated: 5 of 5 points");
}

#[test]
fn a_number_is_compared_with_the_papers_less_its_error() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let single = Estimate {
        ci95: None,
        ..estimate(0.2, 0.0)
    };
    for (found, verdict, compared) in [
        (Some(estimate(0.200, 0.005)), Holds, "fits the paper's"),
        (Some(estimate(0.175, 0.006)), Holds, "fits the paper's"),
        (Some(estimate(0.225, 0.006)), Holds, "fits the paper's"),
        (Some(estimate(0.300, 0.005)), Holds, "more than the paper's"),
        (
            Some(estimate(0.170, 0.005)),
            Weaker,
            "less than the paper's",
        ),
        (
            Some(estimate(0.010, 0.005)),
            Weaker,
            "less than the paper's",
        ),
        (
            Some(estimate(-0.010, 0.005)),
            DoesNotHold,
            "less than the paper's",
        ),
        (
            Some(estimate(0.0, 0.0)),
            NotDecided,
            "less than the paper's",
        ),
        (
            Some(estimate(0.010, 0.020)),
            NotDecided,
            "less than the paper's",
        ),
        (Some(estimate(0.200, 0.110)), NotDecided, "fits the paper's"),
        (Some(single), NotDecided, "points"),
        (None, NotDecided, "not measured"),
    ] {
        let judgement = number(found, 0.2, 0.02, "points");
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
        assert!(judgement.ours.ends_with(compared), "{judgement:?}");
    }
    let judgement = number(Some(estimate(0.25, 0.005)), 0.2, 0.02, "points");
    assert!(
        judgement.details[0].ends_with(": +5.0 points"),
        "{judgement:?}"
    );
    assert!(
        judgement.rule.contains("its own error, 2.0 points"),
        "{judgement:?}"
    );
}

#[test]
fn a_share_is_compared_with_the_papers_on_both_sides() {
    use Verdict::{DoesNotHold, Holds, NotDecided};
    for (found, verdict, compared) in [
        (Some(estimate(0.62, 0.01)), Holds, "fits the paper's"),
        (Some(estimate(0.58, 0.02)), Holds, "fits the paper's"),
        (
            Some(estimate(0.95, 0.01)),
            DoesNotHold,
            "more than the paper's",
        ),
        (
            Some(estimate(0.05, 0.01)),
            DoesNotHold,
            "less than the paper's",
        ),
        (Some(estimate(0.62, 0.10)), NotDecided, "fits the paper's"),
        (None, NotDecided, "not measured"),
    ] {
        let judgement = share(found, 0.62, 0.031, "points");
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
        assert!(judgement.ours.ends_with(compared), "{judgement:?}");
    }
}

#[test]
fn nothing_is_0_in_every_replication() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    let zero = estimate(0.0, 0.0);
    for (shares, verdict) in [
        (vec![zero, zero], Holds),
        (vec![zero, estimate(0.004, 0.001)], Weaker),
        (vec![zero, estimate(0.2, 0.001)], DoesNotHold),
        (vec![], NotDecided),
    ] {
        let judgement = nothing(&at(shares));
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
}

#[test]
fn a_share_is_between_two_numbers_at_all_half_or_fewer_points() {
    let inside = estimate(0.7, 0.01);
    let touching = estimate(0.59, 0.02);
    let below = estimate(0.5, 0.02);
    let above = estimate(0.8, 0.02);
    let wide = estimate(0.7, 0.2);
    for (shares, verdict) in [
        (vec![], Verdict::NotDecided),
        (vec![inside, touching], Verdict::Holds),
        (vec![inside, below], Verdict::Weaker),
        (vec![inside, above], Verdict::Weaker),
        (vec![inside, below, above], Verdict::DoesNotHold),
        (vec![inside, wide], Verdict::NotDecided),
    ] {
        let judgement = between(&at(shares), 0.6, 0.75);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
}

#[test]
fn an_error_is_within_its_limit_at_all_half_or_fewer_places() {
    use Verdict::{DoesNotHold, Holds, NotDecided, Weaker};
    for (errors, verdict) in [
        (&[0.01, 0.034][..], Holds),
        (&[0.01, 0.035], Weaker),
        (&[0.01, 0.035, 0.05], DoesNotHold),
        (&[], NotDecided),
    ] {
        let judgement = exact(&at(errors.iter().copied()), 10, 0.034, "points");
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
    assert_eq!((part_of(1.0, 4.0), part_of(0.0, 0.0)), (0.25, 0.0));
    let judgement = exact(&at([0.012, 0.05, 0.03]), 10, 0.034, "points");
    let expected = "half-width 1.2 points (point 0) to 5.0 points (point 1); within the limit at 2 \
                    of 3 places";
    assert_eq!(judgement.ours, expected);
}
