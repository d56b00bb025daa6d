//! Maps of links: how much each of them is used.
//!
//! Every processor is a cell with a square in the middle and a bar for each link that leaves it,
//! towards the neighbour: dimension 0 to the right and to the left, dimension 1 up and down,
//! further dimensions in turn beside these. So no links cover each other.

use meshalloc::{Grid, NodeId};
use plotters::prelude::*;

use super::place::Place;
use super::{Area, ColourScale, Content, Drawn, THIN, axes, stroke, units};
use meshalloc_sim::layout::{Plan, Rect};
use meshalloc_sim::names;
use meshalloc_sim::network::Link;

/// The part of a cell that the bars of all dimensions along one axis take together.
const BARS: f64 = 0.5;

/// The parts of a cell at the left and at the right of the bars in its middle.
const FREE: f64 = 0.5 - BARS / 2.0;

const PROCESSOR: RGBColor = RGBColor(150, 150, 150);

/// The colours of a link that is not used, half and most used, as red, green, blue.
const COLOURS: [[f64; 3]; 3] = [
    [236.0, 236.0, 236.0],
    [253.0, 141.0, 60.0],
    [128.0, 0.0, 38.0],
];

/// How much each link of a machine is used.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkMap {
    /// The machine.
    pub machine: Grid,
    /// The title.
    pub name: String,
    /// Up to three short lines for under it.
    pub caption: Vec<String>,
    /// For each link the flits that it carries in a cycle.
    pub links: Vec<(Link, f64)>,
}

const LINKS_NODES_MAX: u32 = 1 << 14;

impl LinkMap {
    /// An error when the machine has too many links to draw.
    pub fn check(machine: Grid) -> Result<(), String> {
        if machine.nodes() <= LINKS_NODES_MAX {
            return Ok(());
        }
        Err(format!(
            "--draw links draws machines of up to {LINKS_NODES_MAX} processors, not {}",
            machine.nodes()
        ))
    }
}

impl Content for LinkMap {
    const TITLE: &'static str = "How much the links are used";

    fn legend(maps: &[Self]) -> String {
        let Some(LinkMap { machine, .. }) = maps.first() else {
            return String::new();
        };
        // The dimensions in the order of their bars along an axis, without those that have no
        // links.
        let names = |axis: usize, then: &str| {
            let dimensions = (axis..machine.dimensions()).step_by(2);
            let dimensions = dimensions.filter(|&dimension| machine.side(dimension) > 1);
            let names = dimensions.map(|dimension| names::dimension(*machine, dimension));
            names.collect::<Vec<_>>().join(then)
        };
        let [across, up] = [names(0, ", above it "), names(1, ", right of it ")];
        let of = |where_to: &str, names: &str| match names {
            "" => String::new(),
            names => format!("; {where_to}: {names}"),
        };
        let (across, up) = (of("right and left", &across), of("up and down", &up));
        format!("square: a processor; bar: a link that leaves it{across}{up}")
    }

    /// The darkest colour stands for what the most used link of all maps carries.
    fn scale(maps: &[Self]) -> Option<ColourScale> {
        let links = maps.iter().flat_map(|map| &map.links);
        Some(ColourScale {
            most: links.map(|link| link.1).fold(0.0, f64::max),
            unit: "flits a cycle over a link",
            colour,
        })
    }

    fn plan(&self) -> Plan {
        self.machine.into()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn caption(&self) -> Vec<String> {
        self.caption.clone()
    }

    fn draw(&self, area: &Area<'_>, place: &Place, scale: Option<&ColourScale>) -> Drawn {
        let most = scale.map_or(0.0, |scale| scale.most);
        for node in (0..self.machine.nodes()).map(NodeId) {
            let (low, high) = (FREE, 1.0 - FREE);
            let corners = [
                (low, low),
                (high, low),
                (high, high),
                (low, high),
                (low, low),
            ];
            let corners = corners.map(|at| in_cell(place, node, at));
            // The outline of a rectangle of plotters has no width.
            let outline = stroke(PROCESSOR, (0.03 * place.scale).min(THIN));
            area.draw(&PathElement::new(corners, outline))?;
        }
        for &(
            Link {
                from,
                dimension,
                up,
            },
            flits,
        ) in &self.links
        {
            let (axis, lane) = (usize::from(dimension) % 2, f64::from(dimension / 2));
            // The dimensions along this axis share the width of the bars.
            let lanes = (self.machine.dimensions() + 1 - axis) / 2;
            let width = BARS / lanes as f64;
            let across = 0.5 - BARS / 2.0 + lane * width;
            // The middle is left free, where bars of different axes would cover each other.
            let length = FREE;
            let along = if up { 1.0 - length } else { 0.0 };
            let mut corners = [(along, across), (along + length, across + 0.9 * width)];
            if axis == 1 {
                corners = corners.map(|(along, across)| (across, along));
            }
            let corners = corners.map(|at| in_cell(place, from, at));
            let part = if most > 0.0 { flits / most } else { 0.0 };
            let filled = colour(part).filled();
            area.draw(&Rectangle::new(corners, filled))?;
        }
        axes::headings(area, place, |_| BLACK)
    }
}

/// A point of a processor's cell, in parts of the cell to the right and upwards.
fn in_cell(place: &Place, node: NodeId, (right, up): (f64, f64)) -> (i32, i32) {
    let (x, y) = place.layout.place(node);
    let (left, bottom) = place.pixels(&Rect::one(x, y), x as f64, y as f64);
    (
        units(left + right * place.scale),
        units(bottom - up * place.tall),
    )
}

fn colour(part: f64) -> RGBColor {
    let part = part.clamp(0.0, 1.0);
    let (from, part) = if part < 0.5 {
        (0, 2.0 * part)
    } else {
        (1, 2.0 * part - 1.0)
    };
    let mix = |at: usize| {
        let (from, to) = (COLOURS[from][at], COLOURS[from + 1][at]);
        (from + (to - from) * part).round() as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::super::svg;
    use super::*;

    #[test]
    fn every_link_is_a_bar_of_its_colour() {
        let machine = Grid::mesh(&[2, 2]).unwrap();
        let link = |from, dimension, up, flits| {
            let from = NodeId(from);
            (
                Link {
                    from,
                    dimension,
                    up,
                },
                flits,
            )
        };
        let map = LinkMap {
            machine,
            name: "rate 0.1".to_owned(),
            caption: vec!["a line".to_owned()],
            links: vec![
                link(0, 0, true, 0.4),
                link(0, 1, true, 0.2),
                link(3, 0, false, 0.0),
            ],
        };
        let drawn = svg(&[map], "a subtitle").unwrap();
        let texts = ["rate 0.1", "a line", "flits a cycle over a link"];
        let ends = ["\n0.2\n", "\n0.4\n"];
        for part in texts.into_iter().chain(ends) {
            assert_eq!(drawn.matches(part).count(), 1, "{part} in {drawn}");
        }
        let legend = "bar: a link that leaves it; right and left: x; up and down: y";
        assert!(drawn.contains(legend), "{drawn}");
        // 28 pixels a processor: the bar of the first link is 7 x 12.6 pixels, in tenths of a
        // pixel. The scale has its colour, too.
        let bars = |colour: &str, size: &str| {
            let lines = drawn.lines().filter(|line| line.contains(colour));
            let (bars, scale): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains(size));
            (bars.len(), scale.len())
        };
        let (along_x, along_y) = ("width=\"70\" height=\"126\"", "width=\"126\" height=\"70\"");
        assert_eq!(bars("#800026", along_x), (1, 1));
        assert_eq!(bars("#FD8D3C", along_y), (1, 0));
        assert_eq!(bars("#ECECEC", along_x), (1, 1));
        // A square for each processor.
        assert_eq!(drawn.matches("#969696").count(), 4);
    }
}
