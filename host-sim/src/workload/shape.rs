//! From a number of processors to side lengths.
//!
//! Logs say how many processors a job had and not in which shape; the rule that is used must be named
//! with every result.

use std::fmt;
use std::str::FromStr;

use meshalloc::{Machine, Mesh, Request, Sides};

use super::WorkloadError;

/// A rule that gives a number of processors a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeRule {
    /// Among sides that fit the mesh and hold all processors, the longer at most twice the shorter: the
    /// least area, then the most square. Where none fits, the same without the limit on the ratio. The
    /// longer side lies along the mesh's longer side, along x when these are equal.
    #[default]
    NearSquare,
}

impl ShapeRule {
    /// Every rule.
    pub const ALL: &'static [ShapeRule] = &[ShapeRule::NearSquare];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ShapeRule::NearSquare => "near-square",
        }
    }

    /// A request for exactly `processors`, at least 1, in the shape of this rule. `None` when there are too
    /// many for any shape to be written down.
    ///
    /// When the machine has fewer processors, the shape is the rule's for an unbounded mesh, and the
    /// request will be refused as one that never fits.
    pub fn request(self, processors: u32, machine: Machine) -> Option<Request> {
        let Machine::Mesh(mesh) = machine else {
            return None;
        };
        let sides = near_square(processors, mesh.sides())
            .or_else(|| near_square(processors, unbounded(mesh)))?;
        Some(Request::from(sides).with_processors(processors))
    }
}

/// The largest sides there are, longer along the same axis.
fn unbounded(mesh: Mesh) -> Sides {
    if mesh.sides().w >= mesh.sides().h {
        Sides::new(u16::MAX, u16::MAX - 1)
    } else {
        Sides::new(u16::MAX - 1, u16::MAX)
    }
}

/// The rule of [`ShapeRule::NearSquare`]; `None` when no sides fit into `within`. Takes time proportional to
/// the square root of the number of processors.
///
/// ```
/// use meshalloc::Sides;
/// use meshalloc_host_sim::workload::shape::near_square;
/// assert_eq!(near_square(7, Sides::new(16, 22)), Some(Sides::new(2, 4)));
/// assert_eq!(near_square(7, Sides::new(16, 16)), Some(Sides::new(4, 2)));
/// ```
pub fn near_square(processors: u32, within: Sides) -> Option<Sides> {
    let longest = u32::from(within.w.max(within.h));
    let shortest = u32::from(within.w.min(within.h));
    // For each shorter side only the least longer side can win. Beyond the root the longer side equals
    // the shorter, so the first such shape has the least area of them.
    let shapes = || {
        let widest = (processors.isqrt() + 1).min(shortest);
        (1..=widest)
            .map(|short| (short, processors.div_ceil(short).max(short)))
            .filter(|&(_, long)| long <= longest)
    };
    let order = |&(short, long): &(u32, u32)| (u64::from(short) * u64::from(long), long - short);
    let limited = shapes().filter(|&(short, long)| long <= 2 * short);
    let (short, long) = limited
        .min_by_key(order)
        .or_else(|| shapes().min_by_key(order))?;
    let sides = Sides::new(u16::try_from(long).ok()?, u16::try_from(short).ok()?);
    Some(if within.w >= within.h {
        sides
    } else {
        sides.rotated()
    })
}

impl FromStr for ShapeRule {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let rule = ShapeRule::ALL.iter().find(|rule| rule.name() == text);
        rule.copied().ok_or_else(|| WorkloadError::UnknownName {
            what: "shape rule",
            given: text.into(),
            expected: "near-square".into(),
        })
    }
}

impl fmt::Display for ShapeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(processors: u32, w: u16, h: u16) -> Option<(u16, u16)> {
        near_square(processors, Sides::new(w, h)).map(|sides| (sides.w, sides.h))
    }

    #[test]
    fn the_cases_of_the_definition() {
        assert_eq!(shape(7, 64, 64), Some((4, 2)));
        assert_eq!(shape(13, 64, 64), Some((5, 3)));
        assert_eq!(shape(128, 64, 64), Some((16, 8)));
        assert_eq!(shape(320, 16, 22), Some((16, 20)));
        // A prime that only fits in a long shape, and one too many.
        assert_eq!(shape(11, 1, 11), Some((1, 11)));
        assert_eq!(shape(12, 1, 11), None);
    }

    #[test]
    fn agrees_with_a_search_through_all_sides() {
        for (w, h) in [(16u16, 22u16), (10, 10), (9, 4), (1, 7), (12, 11)] {
            let (longest, shortest) = (u32::from(w.max(h)), u32::from(w.min(h)));
            for processors in 1..=u32::from(w) * u32::from(h) + 1 {
                let all = (1..=shortest)
                    .flat_map(|short| (short..=longest).map(move |long| (short, long)))
                    .filter(|(short, long)| short * long >= processors);
                let order = |&(short, long): &(u32, u32)| (short * long, long - short);
                let limited = all.clone().filter(|(short, long)| *long <= 2 * short);
                let expected = limited.min_by_key(order).or(all.min_by_key(order));
                let found = shape(processors, w, h).map(|(a, b)| {
                    let (along_x, along_y) = (u32::from(a), u32::from(b));
                    if w >= h {
                        (along_y, along_x)
                    } else {
                        (along_x, along_y)
                    }
                });
                assert_eq!(found, expected, "{processors} on {w} x {h}");
            }
        }
    }

    #[test]
    fn a_request_keeps_its_number_of_processors() {
        let machine = Machine::from(Mesh::new(16, 22).unwrap());
        let request = ShapeRule::NearSquare.request(13, machine).unwrap();
        assert_eq!(request, Request::submesh(3, 5).with_processors(13));
        // Larger than the machine: still a request, for the controller to refuse.
        let request = ShapeRule::NearSquare.request(400, machine).unwrap();
        assert_eq!(request, Request::submesh(20, 20));
        assert_eq!(ShapeRule::NearSquare.request(u32::MAX, machine), None);
    }

    #[test]
    fn rules_have_names() {
        for &rule in ShapeRule::ALL {
            assert_eq!(rule.name().parse(), Ok(rule));
        }
        let error = "round".parse::<ShapeRule>().unwrap_err().to_string();
        assert_eq!(error, "unknown shape rule \"round\": expected near-square");
    }
}
