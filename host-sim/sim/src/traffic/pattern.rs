//! Where messages go: [`Pattern`].

use std::borrow::Cow;

use meshalloc::{Grid, NodeId};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Uniform};

use crate::names::grammar::{Form, Kind, Value, Values, Written, numbers, param, written};
use crate::network::has_links_around;

/// How the destination of a message is chosen.
///
/// ```
/// use meshalloc_sim::traffic::Pattern;
/// let pattern: Pattern = "hot-spot:0.1,27".parse().unwrap();
/// assert_eq!(pattern.to_string(), "hot-spot:0.1,27");
/// assert!("hotspot".parse::<Pattern>().unwrap_err().contains("did you mean"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Every other processor, each as likely.
    UniformRandom,
    /// The processor with the coordinates in reverse order, on a plane (y, x) from (x, y).
    /// Processors that are their own transpose send nothing. The sides must be the same in reverse
    /// order.
    Transpose,
    /// One processor with a given probability, otherwise every other processor, each as likely, as
    /// for all messages of that one processor.
    HotSpot {
        /// The probability, 0 to 1.
        share: f64,
        /// The number of the processor.
        node: u32,
    },
    /// Every processor at the other end of a link, each link as likely.
    NearestNeighbor,
}

impl Written for Pattern {
    const WHAT: &'static str = "pattern";

    const FORMS: &'static [Form] = &[
        Form::new("random", &[], "every other processor, each as likely", ""),
        Form::new(
            "transpose",
            &[],
            "the processor with the coordinates in reverse order",
            "",
        ),
        Form::new(
            "hot-spot",
            &[
                param("share", Kind::Within(0.0, 1.0)),
                param("node", Kind::Whole(0, u32::MAX)),
            ],
            "processor NODE with the probability SHARE, otherwise every other one",
            "",
        ),
        Form::new(
            "nearest-neighbor",
            &[],
            "the other end of a link, each as likely",
            "",
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(match name {
            "random" => Pattern::UniformRandom,
            "transpose" => Pattern::Transpose,
            "nearest-neighbor" => Pattern::NearestNeighbor,
            _ => Pattern::HotSpot {
                share: values.number(0),
                node: values.number(1) as u32,
            },
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match *self {
            Pattern::UniformRandom => ("random".into(), Vec::new()),
            Pattern::Transpose => ("transpose".into(), Vec::new()),
            Pattern::HotSpot { share, node } => {
                ("hot-spot".into(), numbers([share, f64::from(node)]))
            }
            Pattern::NearestNeighbor => ("nearest-neighbor".into(), Vec::new()),
        }
    }
}

written!(Pattern);

impl Pattern {
    /// The destinations on a grid. It has none when it is a single processor, its sides differ from
    /// those in reverse order, or the hot spot is no processor.
    pub fn on(self, grid: Grid) -> Result<Destinations, String> {
        let nodes = grid.nodes();
        if nodes < 2 {
            return Err(format!("{grid}: there is no other processor to send to"));
        }
        match self {
            Pattern::Transpose if !grid.sides().iter().eq(grid.sides().iter().rev()) => {
                return Err(format!(
                    "{grid}: transpose needs sides that are the same in reverse order"
                ));
            }
            Pattern::HotSpot { node, .. } if node >= nodes => {
                return Err(format!(
                    "{grid} has no processor {node}: expected 0 to {}",
                    nodes - 1
                ));
            }
            _ => {}
        }
        let (other, part) = (Uniform::new(0, nodes - 1), Uniform::new(0.0, 1.0));
        let (Ok(other), Ok(part)) = (other, part) else {
            return Err(format!("{grid}: no destinations"));
        };
        Ok(Destinations {
            pattern: self,
            grid,
            other,
            part,
        })
    }
}

/// A pattern on a grid.
#[derive(Clone, Debug)]
pub struct Destinations {
    pattern: Pattern,
    grid: Grid,
    /// The number of a processor among those without one.
    other: Uniform<u32>,
    /// From 0 to 1.
    part: Uniform<f64>,
}

impl Destinations {
    /// The most links on the route of a message.
    pub(super) fn hops_max(&self) -> u32 {
        let dimensions = self.grid.dimensions();
        let across = |dimension: usize| {
            let side = u32::from(self.grid.side(dimension));
            if self.grid.wraps(dimension) {
                side / 2
            } else {
                side - 1
            }
        };
        match self.pattern {
            Pattern::NearestNeighbor => 1,
            // In the middle one of an odd number of dimensions the coordinate stays.
            Pattern::Transpose => (0..dimensions)
                .filter(|dimension| 2 * dimension + 1 != dimensions)
                .map(across)
                .sum(),
            Pattern::UniformRandom | Pattern::HotSpot { .. } => (0..dimensions).map(across).sum(),
        }
    }

    /// The destination of a message; `None` if the processor sends nothing.
    pub(super) fn draw(&self, source: NodeId, rng: &mut ChaCha8Rng) -> Option<NodeId> {
        let uniform = |rng: &mut ChaCha8Rng| {
            let other = self.other.sample(rng);
            NodeId(other + u32::from(other >= source.0))
        };
        match self.pattern {
            Pattern::UniformRandom => Some(uniform(rng)),
            Pattern::Transpose => {
                let coordinates = self.grid.coordinates(source)?;
                let to = self.grid.node(&coordinates.reversed());
                to.filter(|&to| to != source)
            }
            Pattern::HotSpot { share, node } => {
                // Both are drawn in any case: the stream does not depend on the share.
                let (to_hot_spot, other) = (self.part.sample(rng) < share, uniform(rng));
                let hot_spot = NodeId(node);
                Some(if to_hot_spot && source != hot_spot {
                    hot_spot
                } else {
                    other
                })
            }
            Pattern::NearestNeighbor => {
                let neighbours = neighbours(self.grid, source);
                let place = self.part.sample(rng) * neighbours.len() as f64;
                neighbours.get(place as usize).copied()
            }
        }
    }
}

/// The processors at the other ends of a processor's links.
fn neighbours(grid: Grid, node: NodeId) -> Vec<NodeId> {
    let mut neighbours = Vec::new();
    let Some(coordinates) = grid.coordinates(node) else {
        return neighbours;
    };
    for (dimension, &side) in grid
        .sides()
        .iter()
        .enumerate()
        .filter(|(_, side)| **side > 1)
    {
        let at = coordinates[dimension];
        let around = has_links_around(grid, dimension);
        let up = if at + 1 < side {
            Some(at + 1)
        } else {
            around.then_some(0)
        };
        let down = if at > 0 {
            Some(at - 1)
        } else {
            around.then_some(side - 1)
        };
        for to in [up, down].into_iter().flatten() {
            let mut there = coordinates;
            there[dimension] = to;
            neighbours.extend(grid.node(&there));
        }
    }
    neighbours
}
