//! Maps of links: how much each of them is used.
//!
//! Every processor is a cell with a bar for each link that leaves it, between the middle and the side at which the neighbour
//! is: dimension 0 to the right and to the left, dimension 1 up and down, further dimensions in turn beside these. So the
//! two directions of a link, and links that lead around, never cover each other.

use meshalloc::Grid;
use plotters::prelude::*;

use super::super::layout::Rect;
use super::place::Place;
use super::{Area, Content, Drawn, units};
use crate::network::Link;

/// The part of a cell that the bars of all dimensions along one axis take together.
const BARS: f64 = 0.5;

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
    /// What the darkest colour stands for: the same in all maps of a picture.
    pub most: f64,
}

/// The most processors of a picture of links.
const LINKS_NODES_MAX: u32 = 1 << 14;

impl LinkMap {
    /// Whether the links of this machine can be drawn.
    ///
    /// # Errors
    ///
    /// When there are too many.
    pub fn check(machine: Grid) -> Result<(), String> {
        if machine.nodes() <= LINKS_NODES_MAX {
            return Ok(());
        }
        Err(format!(
            "--plot links draws machines of up to {LINKS_NODES_MAX} processors, not {}",
            machine.nodes()
        ))
    }
}

/// Gives all maps of a picture the colour of what the most used of their links carries.
pub fn same_scale(maps: &mut [LinkMap]) {
    let links = maps.iter().flat_map(|map| &map.links);
    let most = links.map(|link| link.1).fold(0.0, f64::max);
    maps.iter_mut().for_each(|map| map.most = most);
}

impl Content for LinkMap {
    const TITLE: &'static str = "How much the links are used";

    fn legend(maps: &[Self]) -> String {
        let most = maps.first().map_or(0.0, |map| map.most);
        format!("flits a cycle that leave a processor over each link: grey 0, darkest {most:.3}")
    }

    fn machine(&self) -> Grid {
        self.machine
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn caption(&self) -> Vec<String> {
        self.caption.clone()
    }

    fn draw(&self, area: &Area<'_>, place: &Place) -> Drawn {
        for &(
            Link {
                from,
                dimension,
                up,
            },
            flits,
        ) in &self.links
        {
            let (x, y) = place.layout.place(from);
            let cell = Rect {
                x: x..x + 1,
                y: y..y + 1,
            };
            let (axis, lane) = (usize::from(dimension) % 2, f64::from(dimension / 2));
            // The dimensions along this axis share the width of the bars.
            let lanes = (self.machine.dimensions() + 1 - axis) / 2;
            let width = BARS / lanes as f64;
            let across = 0.5 - BARS / 2.0 + lane * width;
            // The middle is left free, where bars of different axes would cover each other.
            let length = 0.5 - BARS / 2.0;
            let along = if up { 1.0 - length } else { 0.0 };
            let mut corners = [(along, across), (along + length, across + 0.9 * width)];
            if axis == 1 {
                corners = corners.map(|(along, across)| (across, along));
            }
            let corners = corners.map(|(right, up)| {
                let (left, bottom) = place.pixels(&cell, x as f64, y as f64);
                let right = left + right * place.scale;
                (units(right), units(bottom - up * place.scale))
            });
            let filled = self.colour(flits).filled();
            area.draw(&Rectangle::new(corners, filled))?;
        }
        Ok(())
    }
}

impl LinkMap {
    fn colour(&self, flits: f64) -> RGBColor {
        let part = if self.most > 0.0 {
            (flits / self.most).clamp(0.0, 1.0)
        } else {
            0.0
        };
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
}

#[cfg(test)]
mod tests {
    use meshalloc::NodeId;

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
            most: 0.4,
        };
        let drawn = svg(&[map], "a subtitle").unwrap();
        for part in [
            "#800026",
            "#FD8D3C",
            "#ECECEC",
            "rate 0.1",
            "a line",
            "darkest 0.400",
        ] {
            assert_eq!(drawn.matches(part).count(), 1, "{part} in {drawn}");
        }
        // 28 pixels a processor: the bar of the first link is 7 x 12.6 pixels, in tenths of a pixel.
        let bar = drawn.lines().find(|line| line.contains("#800026")).unwrap();
        assert!(bar.contains("width=\"70\" height=\"126\""), "{bar}");
    }
}
