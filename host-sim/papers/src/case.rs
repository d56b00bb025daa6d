//! A claim of a paper before it is judged.

use super::claims::rule::{Rule, StatedNumber};
use super::figure::Figure;
use super::measure::Line;
use meshalloc_sim::metrics::Metric;

/// A claim and the points that decide it.
#[derive(Debug)]
pub struct Case {
    /// The figure that the claim is about.
    pub figure: u32,
    /// The claim, paraphrased.
    pub text: String,
    /// The paper's number or word; `None` if the claim is not the paper's.
    pub paper: Option<String>,
    /// The rule that judges the claim.
    pub rule: Rule,
    /// The metric that is compared.
    pub metric: Metric,
    /// The paper's number of replications, as far as it gives one.
    pub replications: Option<usize>,
    /// The systems that the claim is about, one line each.
    pub lines: Vec<Line>,
    /// The systems that it is compared with, for rules about several.
    pub rivals: Vec<Line>,
}

impl Case {
    /// Adds the number that the claim states, if any, to the panels that show its points.
    pub(super) fn mark(&self, figure: &mut Figure) {
        let Some(number) = self.rule.stated(self.metric) else {
            return;
        };
        let points: Vec<_> = self.lines.iter().flat_map(|line| &line.points).collect();
        let one = points.len() == 1;
        for point in points {
            let own_alone = point.own == point.other;
            let against = match number {
                StatedNumber::OfOne(_) if !one => return,
                StatedNumber::OfOne(_) | StatedNumber::OfEach(_) if own_alone => None,
                StatedNumber::OfDifference(_) => Some(&point.other),
                _ => continue,
            };
            let (StatedNumber::OfOne(number)
            | StatedNumber::OfEach(number)
            | StatedNumber::OfDifference(number)) = number;
            for panel in &mut figure.panels {
                panel.state(self.metric, &point.own, against, number);
            }
        }
    }
}
