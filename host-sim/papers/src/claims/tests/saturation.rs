use super::super::saturation::{alone_sustains, saturates, saturates_later};
use super::super::{Backlog, Ladder, Verdict};
use super::at;

#[test]
fn a_backlog_is_open_where_replications_disagree() {
    assert_eq!(Backlog::of(0, 8), Backlog::Level);
    assert_eq!(Backlog::of(2, 8), Backlog::Level);
    assert_eq!(Backlog::of(3, 8), Backlog::Open);
    assert_eq!(Backlog::of(5, 8), Backlog::Open);
    assert_eq!(Backlog::of(6, 8), Backlog::Grows);
}

#[test]
fn saturates_at_all_some_or_no_points() {
    use Backlog::{Grows, Level, Open};
    for (points, verdict) in [
        (&[Grows, Grows][..], Verdict::Holds),
        (&[Grows, Level], Verdict::Weaker),
        (&[Level, Level], Verdict::DoesNotHold),
        (&[Grows, Open], Verdict::NotDecided),
        (&[Level, Open], Verdict::NotDecided),
        (&[], Verdict::NotDecided),
    ] {
        let judgement = saturates(&at(points.iter().copied()));
        assert_eq!(judgement.verdict, verdict, "{points:?}: {judgement:?}");
    }
}

/// Loads .50, .52, .54, .55 and what became of the backlog.
fn ladder(backlogs: [Backlog; 4]) -> Ladder {
    let loads = [0.50, 0.52, 0.54, 0.55];
    Ladder {
        name: "it".to_owned(),
        steps: loads.into_iter().zip(backlogs).collect(),
    }
}

#[test]
fn alone_sustains_what_the_others_do_not() {
    use Backlog::{Grows, Level, Open};
    let all = ladder([Level, Level, Level, Grows]);
    let none = ladder([Level, Grows, Grows, Grows]);
    let some = ladder([Level, Level, Grows, Grows]);
    let open = ladder([Level, Level, Open, Grows]);
    let early = ladder([Level, Open, Grows, Grows]);
    let nowhere = ladder([Level, Open, Open, Open]);
    for (own, other, verdict) in [
        (&all, &none, Verdict::Holds),
        (&all, &some, Verdict::Weaker),
        (&some, &none, Verdict::Weaker),
        // It may sustain .54, and then it is alone.
        (&open, &none, Verdict::NotDecided),
        (&open, &early, Verdict::NotDecided),
        // It does not reach .54 whatever it does at .52.
        (
            &ladder([Level, Open, Grows, Grows]),
            &none,
            Verdict::NotDecided,
        ),
        (&some, &some, Verdict::DoesNotHold),
        (&none, &some, Verdict::DoesNotHold),
        // The rival sustains as much, whatever it does at .54.
        (&some, &open, Verdict::DoesNotHold),
        (&open, &some, Verdict::NotDecided),
        // The rival may sustain what this one does, so it may not be alone.
        (&all, &open, Verdict::NotDecided),
        (&all, &early, Verdict::NotDecided),
        // Not decided between "holds" and "weaker" there; here it does not reach .54, so that is
        // "weaker" in any case.
        (&some, &ladder([Open, Grows, Grows, Grows]), Verdict::Weaker),
        (&all, &nowhere, Verdict::NotDecided),
        (&some, &all, Verdict::DoesNotHold),
    ] {
        let judgement = alone_sustains(own, std::slice::from_ref(other), 0.5, 0.54);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
    assert_eq!(
        alone_sustains(&all, &[], 0.5, 0.54).verdict,
        Verdict::NotDecided
    );
    assert_eq!(
        alone_sustains(&all, std::slice::from_ref(&none), 0.6, 0.7).verdict,
        Verdict::NotDecided
    );
}

#[test]
fn saturates_later_in_all_some_or_no_variants() {
    use Backlog::{Grows, Level, Open};
    let low = ladder([Level, Grows, Grows, Grows]);
    let high = ladder([Level, Level, Level, Grows]);
    let open = ladder([Level, Open, Grows, Grows]);
    for (own, verdict) in [
        (vec![high.clone(), high.clone()], Verdict::Holds),
        (vec![low.clone(), high.clone()], Verdict::Weaker),
        // No difference says nothing about which is higher.
        (vec![low.clone(), low.clone()], Verdict::NotDecided),
        (vec![low.clone(), open.clone()], Verdict::NotDecided),
        (vec![], Verdict::NotDecided),
    ] {
        let judgement = saturates_later(&own, &low);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
    let some = ladder([Level, Level, Grows, Grows]);
    let long_open = ladder([Level, Open, Open, Grows]);
    let nowhere = ladder([Level, Level, Open, Open]);
    for (own, rival, verdict) in [
        // The rival may sustain .54, as this one does.
        (&high, &long_open, Verdict::NotDecided),
        (&some, &open, Verdict::NotDecided),
        (&high, &nowhere, Verdict::NotDecided),
        // It is saturated at .54, whatever it does at .52.
        (&high, &open, Verdict::Holds),
        (&some, &nowhere, Verdict::DoesNotHold),
        (&low, &open, Verdict::DoesNotHold),
        (&low, &high, Verdict::DoesNotHold),
    ] {
        let judgement = saturates_later(std::slice::from_ref(own), rival);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
    let judgement = saturates_later(&[high], &long_open);
    let text = "it sustains 0.5, is open at 0.52, 0.54, is saturated at 0.55";
    assert!(
        judgement.details.iter().any(|it| it == text),
        "{judgement:?}"
    );
}
