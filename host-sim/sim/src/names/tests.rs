use super::*;

#[test]
fn sides_are_numbers_with_an_x_between_them() {
    for (text, expected) in [
        ("1x1", &[1, 1][..]),
        ("512X3", &[512, 3]),
        ("64", &[64]),
        ("8x8x16", &[8, 8, 16]),
    ] {
        assert_eq!(*sides(text).unwrap().extents(), *expected);
    }
    for wrong in [
        "",
        "x",
        "64x",
        "x64",
        "0x5",
        "5x0",
        "+5x5",
        "5 x 5",
        "-1x4",
        "70000x1",
        "1024x1025",
        "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
    ] {
        let error = sides(wrong).unwrap_err();
        assert!(error.contains("expected WxH"), "{wrong}: {error}");
    }
}

#[test]
fn an_unknown_name_is_answered_by_the_nearest_or_by_all() {
    let error = strategy("fist-fit").unwrap_err();
    let expected = "unknown strategy \"fist-fit\"; did you mean \"first-fit\"?";
    assert_eq!(error, expected);
    let error = strategy("zzz").unwrap_err();
    for kind in StrategyKind::ALL {
        assert!(error.contains(kind.name()), "{error}");
    }
    assert!(error.contains("(fsl)"), "{error}");
    let error = scheduler("zzz").unwrap_err();
    let known = scheduler_forms().join(", ");
    assert_eq!(error, format!("unknown scheduler \"zzz\" (known: {known})"));
    assert_eq!(
        nearest("relications", ["jobs", "replications"]),
        Some("replications")
    );
    // Swapped letters are one slip, and "flex" is the more similar name by Jaro and Winkler.
    let error = strategy("fls").unwrap_err();
    assert!(error.contains("did you mean \"fsl\"?"), "{error}");
    assert_eq!(nearest("zzz", ["fcfs", "sjf"]), None);
}

#[test]
fn a_span_has_one_unit() {
    for text in ["3ss", "5mmm", "4www", "3hm", "s", ""] {
        let error = span(text).unwrap_err();
        assert!(error.contains("a number with a unit"), "{text}: {error}");
    }
}

#[test]
fn a_scheduler_with_a_parameter_that_is_missing_or_wrong_is_known() {
    for (text, expected) in [
        (
            "bypass-queue",
            "the scheduler bypass-queue needs a parameter (expected bypass-queue:SECONDS)",
        ),
        (
            "sjf:",
            "\"\" is not a time: expected seconds, 0 to 31622400",
        ),
        (
            "fcfs:3",
            "the scheduler fcfs does not take \"3\" (expected fcfs)",
        ),
        (
            "easy:0",
            "the scheduler easy does not take \"0\" (expected easy or easy:reservations=COUNT)",
        ),
    ] {
        assert_eq!(scheduler(text), Err(expected.to_owned()));
    }
}

#[test]
fn parameters_of_strategies_are_read_as_they_are_written() {
    for kind in StrategyKind::ALL {
        assert_eq!(strategy(kind.name()), Ok(*kind));
        assert_eq!(kind.to_string(), kind.name());
        assert_eq!(strategy(&format!("{}:", kind.name())).ok(), None);
        let error = strategy(&format!("{}:x=1", kind.name())).unwrap_err();
        let expected = match kind.info().forms {
            [] => "takes no parameter".to_owned(),
            forms => forms[0].text.to_owned(),
        };
        assert!(error.contains(&expected), "{error}");
    }
    let seeds = [1, 7, u64::MAX];
    for kind in seeds.map(|seed| StrategyKind::Random { seed }) {
        assert_eq!(strategy(&kind.to_string()), Ok(kind));
        // As wide as a column asks for.
        assert_eq!(format!("{kind:>40}").len(), 40);
    }
    assert_eq!(
        strategy("random:seed=7"),
        Ok(StrategyKind::Random { seed: 7 })
    );
    for wrong in ["0", "-1", "+1", "", "1.5", "x", "18446744073709551616"] {
        let error = strategy(&format!("random:seed={wrong}")).unwrap_err();
        assert_eq!(
            error,
            "expected random:seed=SEED, a whole number from 1 to 18446744073709551615"
        );
    }
    let error = strategy("rand:seed=1").unwrap_err();
    assert!(
        error.contains("unknown strategy \"rand\"; did you mean \"random\"?"),
        "{error}"
    );
}
