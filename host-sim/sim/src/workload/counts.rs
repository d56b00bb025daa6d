//! Requests by a number of processors alone.

use serde::Serialize;
use std::borrow::Cow;

use meshalloc::{Grid, Request};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp};

use super::ShapeRule;
use super::lublin::{Lublin, Sizes};
use crate::error::SettingError;
use crate::names::grammar::{Form, Kind, Value, Values, Written, numbers, param, written};
use crate::wording::Number;

/// Requests for a number of processors, to which a rule gives a shape. Strategies that need no
/// shape hold exactly the requested number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// The machine.
    pub machine: Grid,
    /// How the number is distributed.
    pub distribution: CountDistribution,
    /// How the number becomes a shape.
    pub shape: ShapeRule,
}

/// How the number of processors of a job is distributed, from 1 to the machine's number.
///
/// ```
/// use meshalloc_sim::workload::CountDistribution;
/// let counts: CountDistribution = "exponential:16".parse().unwrap();
/// assert_eq!(counts.to_string(), "exponential:16");
/// // Rounded up, so the mean is half a processor higher.
/// assert!((counts.mean(256) - 16.5).abs() < 0.01);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum CountDistribution {
    /// Exponential, rounded up; numbers beyond the machine's become the whole machine.
    Exponential {
        /// The mean before rounding.
        mean: f64,
    },
    /// The distribution of a workload model.
    Lublin(Lublin),
}

impl CountDistribution {
    /// Every distribution by name.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;

    /// The mean number on a machine of `nodes` processors, exact for whole numbers.
    pub fn mean(self, nodes: u32) -> f64 {
        match self {
            // The mean is the sum over k >= 0 of P(n > k). P(n > 0) is 1, and rounding up gives P(n
            // > k) = P(X > k).
            CountDistribution::Exponential { mean } => {
                (0..nodes).map(|k| (-f64::from(k) / mean).exp()).sum()
            }
            CountDistribution::Lublin(model) => model.mean_processors(nodes),
        }
    }
}

impl Written for CountDistribution {
    const WHAT: &'static str = "distribution of processors";

    const FORMS: &'static [Form] = &[Form::new(
        "exponential",
        &[param("mean", Kind::Over(0.0))],
        "exponential with this mean, rounded up, at most the whole machine",
        "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers",
    )];

    fn of(_name: &str, values: &Values) -> Result<Self, String> {
        let mean = values.number(0);
        Ok(CountDistribution::Exponential { mean })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match *self {
            CountDistribution::Exponential { mean } => ("exponential".into(), numbers([mean])),
            CountDistribution::Lublin(model) => (model.name().into(), Vec::new()),
        }
    }
}

written!(CountDistribution);

impl Counts {
    /// A function that draws a request.
    pub(super) fn sampler(self) -> Result<impl Fn(&mut ChaCha8Rng) -> Request, SettingError> {
        let Counts { machine, shape, .. } = self;
        let count: Box<dyn Fn(&mut ChaCha8Rng) -> u32> = match self.distribution {
            CountDistribution::Exponential { mean } => {
                let rate = Exp::new(1.0 / mean).ok();
                let rate = rate.filter(|_| mean.is_finite() && mean > 0.0);
                let exponential = rate.ok_or_else(|| {
                    let what = "the mean number of processors";
                    let mean = Number(mean);
                    SettingError::out_of_range(what, &["processors"], mean, "a number over 0")
                })?;
                let most = f64::from(machine.nodes());
                Box::new(move |rng| exponential.sample(rng).ceil().clamp(1.0, most) as u32)
            }
            CountDistribution::Lublin(model) => {
                model.check(machine.nodes())?;
                let sizes = Sizes::new(model, machine.nodes());
                Box::new(move |rng| sizes.sample(rng))
            }
        };
        // Each rule has a shape for each number of processors up to the machine's.
        let is_good = shape.check(machine);
        is_good.map_err(|expected| {
            SettingError::out_of_range("the shape rule", &["shape"], shape, expected)
        })?;
        Ok(move |rng: &mut ChaCha8Rng| {
            let request = shape.request(count(rng), machine, rng);
            request.expect("the machine has enough processors, and the rule is for it")
        })
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    fn counts(mean: f64, shape: ShapeRule) -> Counts {
        Counts {
            machine: Grid::mesh(&[16, 16]).unwrap(),
            distribution: CountDistribution::Exponential { mean },
            shape,
        }
    }

    #[test]
    fn numbers_are_drawn_as_they_are_described() {
        for mean in [0.2, 16.0, 300.0] {
            let counts = counts(mean, ShapeRule::NearSquare);
            let sampler = counts.sampler().unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let drawn: Vec<Request> = (0..100_000).map(|_| sampler(&mut rng)).collect();
            let sum: f64 = drawn
                .iter()
                .map(|request| f64::from(request.processors))
                .sum();
            let expected = counts.distribution.mean(256);
            let found = sum / drawn.len() as f64;
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{mean}: {found} for {expected}"
            );
            // P(n <= 10) = P(X <= 10).
            let few = drawn
                .iter()
                .filter(|request| request.processors <= 10)
                .count();
            let expected = 1.0 - (-10.0 / mean).exp();
            assert!(
                (few as f64 / drawn.len() as f64 - expected).abs() < 0.01,
                "{mean}"
            );
            for request in drawn {
                let rule = ShapeRule::NearSquare;
                let by_rule = rule.request(request.processors, counts.machine, &mut rng);
                assert_eq!(Ok(request), by_rule);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "exponential",
            "exponential:0",
            "exponential:-1",
            "uniform:3",
            "",
        ] {
            let error = text.parse::<CountDistribution>().unwrap_err().to_string();
            let says = ["expected ", "(known: "].map(|part| error.contains(part));
            assert!(says.contains(&true), "{text}: {error}");
        }
        let mut on_torus = counts(16.0, ShapeRule::NearSquare);
        on_torus.machine = Grid::torus(&[4, 4, 4]).unwrap();
        let error = on_torus.sampler().err().unwrap().to_string();
        assert!(error.contains("near-cubic"), "{error}");
    }
}
