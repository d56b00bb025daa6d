use meshalloc_sim::workload::{SideDistribution, SideRange};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::Distribution;

fn range(min: u16, max: u16) -> SideRange {
    SideRange::new(min, max).unwrap()
}

fn every() -> Vec<SideDistribution> {
    let names = SideDistribution::FORMS.iter().map(|form| form.name);
    let names = names.chain(["normal:var", "normal:mean=16.5,var=6.6"]);
    names.map(|name| name.parse().unwrap()).collect()
}

#[test]
fn uniform_means_are_the_closed_form() {
    for (min, max) in [(1, 1), (1, 2), (1, 16), (1, 64), (1, 512), (5, 9)] {
        let sides = SideDistribution::Uniform.over(range(min, max)).unwrap();
        let expected = f64::midpoint(f64::from(min), f64::from(max));
        assert!((sides.mean() - expected).abs() < 1e-9, "{min}..{max}");
    }
}

#[test]
fn decreasing_means_are_the_closed_form() {
    // On 1..16: 1..2, 3..4, 5..8, 9..16.
    let sides = SideDistribution::UniformDecreasing
        .over(range(1, 16))
        .unwrap();
    let expected = 0.4 * 1.5 + 0.2 * (3.5 + 6.5 + 12.5);
    assert!((sides.mean() - expected).abs() < 1e-12);
    let of = |side| sides.probability(side);
    assert!((of(2) - 0.2).abs() < 1e-12 && (of(16) - 0.025).abs() < 1e-12);
    assert_eq!((of(0), of(17)), (0.0, 0.0));
    // Eight lengths are the fewest that can be divided so.
    assert!(
        SideDistribution::UniformDecreasing
            .over(range(1, 8))
            .is_ok()
    );
    let error = SideDistribution::UniformDecreasing.over(range(1, 7));
    assert!(error.unwrap_err().to_string().contains("at least 8"));
}

#[test]
fn normal_mean_is_in_the_middle() {
    // Symmetric about (1 + L) / 2, so rounding halves up and cutting off both ends moves nothing.
    for name in ["normal", "normal:var"] {
        let sizes: SideDistribution = name.parse().unwrap();
        let mean = sizes.over(range(1, 64)).unwrap().mean();
        assert!((mean - 32.5).abs() < 1e-9, "{name}: {mean}");
    }
    // The spreads are those that are named.
    let deviation = |name: &str, max| {
        let sizes: SideDistribution = name.parse().unwrap();
        let sides = sizes.over(range(1, max)).unwrap();
        let mean = sides.mean();
        let square = |side| sides.probability(side) * (f64::from(side) - mean).powi(2);
        (1..=max).map(square).sum::<f64>().sqrt()
    };
    // Rounding adds a twelfth to the variance; the tails beyond four deviations hardly matter.
    let rounded = |variance: f64| (variance + 1.0 / 12.0).sqrt();
    assert!((deviation("normal:var", 63) - rounded(16.0)).abs() < 1e-3);
    assert!((deviation("normal:mean=16.5,var=6.6", 32) - rounded(6.6)).abs() < 1e-3);
    assert!((deviation("normal:sd=3", 64) - rounded(9.0)).abs() < 1e-3);
    // Cut off at two deviations: sd * sqrt(1 - 4 phi(2) / .9545).
    assert!((deviation("normal", 399) / (100.0 * 0.8796) - 1.0).abs() < 3e-3);
}

#[test]
fn probabilities_are_those_of_the_draws() {
    const DRAWS: u32 = 200_000;
    for sizes in every() {
        let sides = sizes.over(range(1, 32)).unwrap();
        let mut counts = [0u32; 33];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..DRAWS {
            counts[usize::from(sides.sample(&mut rng))] += 1;
        }
        let probability = |side: u16| sides.probability(side);
        let total: f64 = (1..=32).map(probability).sum();
        assert!((total - 1.0).abs() < 1e-9, "{sizes}: {total}");
        // Pearson's chi-square over lengths that are expected often enough; 31 degrees of freedom
        // exceed 61 once in a thousand.
        let chi_square: f64 = (1..=32)
            .map(|side| {
                (
                    probability(side) * f64::from(DRAWS),
                    counts[usize::from(side)],
                )
            })
            .filter(|&(expected, _)| expected >= 5.0)
            .map(|(expected, count)| (f64::from(count) - expected).powi(2) / expected)
            .sum();
        assert!(chi_square < 61.0, "{sizes}: {chi_square}");
        let drawn: f64 = (0..=32)
            .map(|side| f64::from(side) * f64::from(counts[side as usize]))
            .sum();
        let drawn = drawn / f64::from(DRAWS);
        assert!(
            (drawn / sides.mean() - 1.0).abs() < 0.005,
            "{sizes}: {drawn}"
        );
    }
}

#[test]
fn names_are_read_back() {
    for form in SideDistribution::FORMS {
        let sizes: SideDistribution = form.name.parse().unwrap();
        assert_eq!(sizes.to_string(), form.name);
    }
    for (text, canonical) in [
        ("normal:var", "normal:var"),
        ("normal:mean=16.5,var=6.6", "normal:mean=16.5,var=6.6"),
        ("normal:sd", "normal"),
        ("normal:mean=9", "normal:mean=9"),
        ("normal:sd=2,mean=9", "normal:mean=9,sd=2"),
        ("normal:mean=9,var", "normal:mean=9,var"),
    ] {
        let sizes: SideDistribution = text.parse().unwrap();
        assert_eq!(sizes.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(sizes));
    }
}

#[test]
fn wrong_names_say_what_is_expected() {
    for (text, expected) in [
        ("", "known: uniform, normal[:mean=MEAN]"),
        ("unform", "did you mean \"uniform\"?"),
        ("uniform:3", "expected uniform)"),
        ("normal:", "expected normal"),
        ("normal:mean", "expected normal"),
        ("normal:sd,var", "normal takes sd or var, not both"),
    ] {
        let error = text.parse::<SideDistribution>().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for text in [
        "normal:var=-1",
        "normal:mean=x",
        "normal:sd=inf",
        "normal:var=0",
    ] {
        let error = text.parse::<SideDistribution>().unwrap_err().to_string();
        assert!(
            error.contains("expected a number over 0"),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_range_that_is_hardly_ever_met_is_refused() {
    let far: SideDistribution = "normal:mean=500,var=1".parse().unwrap();
    let error = far.over(range(1, 64)).unwrap_err().to_string();
    assert!(error.contains("1 to 64"), "{error}");
    assert!(SideRange::new(0, 4).is_err() && SideRange::new(5, 4).is_err());
}
