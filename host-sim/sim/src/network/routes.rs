//! The channels of a grid by number, and the routes over them. The links that leave a processor
//! have numbers from `node * ports` on: by dimension, upwards before downwards, virtual channel 0
//! before 1. Behind the links of all processors come the channels into the network, then those out
//! of it. A mesh has no links at its border, but they have numbers.

use meshalloc::{Grid, NodeId};

/// Whether links lead from the last position along a dimension to the first. Along a dimension of
/// two positions such links do not count, since they join the same two positions as the links
/// between neighbours.
fn has_links_around(grid: Grid, dimension: usize) -> bool {
    grid.wraps(dimension) && grid.side(dimension) > 2
}

#[derive(Clone, Copy, Debug)]
struct Dimension {
    number: u8,
    wraps: bool,
    side: u32,
    /// The difference between the numbers of neighbours.
    stride: u32,
    /// The first link of the dimension among those of a processor.
    port: u8,
}

impl Dimension {
    fn lanes(&self) -> u8 {
        if self.wraps { 2 } else { 1 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Routes {
    dimensions: Vec<Dimension>,
    nodes: u32,
    /// The number of links that leave a processor.
    ports: u32,
    /// The first channel into the network.
    inject: u32,
    /// The first channel out of the network.
    eject: u32,
}

/// The part of a message's route that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The end of the channel that was determined last.
    node: u32,
    destination: u32,
    /// The number that a hop adds to the number of a processor, modulo 2^32.
    step: u32,
    /// The number of hops before the one that leads from one end of the dimension to the other.
    until_wrap: u32,
    /// Hops left in this dimension.
    left: u16,
    /// The place of the next dimension.
    dimension: u8,
    /// The link, among those of a processor.
    port: u8,
}

impl Header {
    pub(super) fn new(source: u32, destination: u32) -> Header {
        Header {
            node: source,
            destination,
            step: 0,
            until_wrap: u32::MAX,
            left: 0,
            dimension: 0,
            port: 0,
        }
    }

    pub(super) fn destination(&self) -> u32 {
        self.destination
    }
}

impl Routes {
    pub(super) fn new(grid: Grid) -> Routes {
        let (mut stride, mut ports) = (1, 0);
        let mut dimensions = Vec::new();
        for (number, &side) in (0..).zip(grid.sides()) {
            let side = u32::from(side);
            if side > 1 {
                let wraps = has_links_around(grid, usize::from(number));
                let dimension = Dimension {
                    number,
                    wraps,
                    side,
                    stride,
                    port: ports,
                };
                ports += 2 * dimension.lanes();
                dimensions.push(dimension);
            }
            stride *= side;
        }
        let nodes = grid.nodes();
        let links = nodes * u32::from(ports);
        Routes {
            dimensions,
            nodes,
            ports: u32::from(ports),
            inject: links,
            eject: links + nodes,
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    pub(super) fn channels(&self) -> u32 {
        self.eject + self.nodes
    }

    /// The channel from a processor into the network.
    #[inline]
    pub(super) fn inject(&self, node: u32) -> u32 {
        self.inject + node
    }

    #[inline]
    pub(super) fn is_inject(&self, channel: u32) -> bool {
        (self.inject..self.eject).contains(&channel)
    }

    #[inline]
    pub(super) fn is_eject(&self, channel: u32) -> bool {
        channel >= self.eject
    }

    /// The next channel of a route; the header moves to its end.
    #[inline]
    pub(super) fn next(&self, header: &mut Header) -> u32 {
        while header.left == 0 {
            let Some(dimension) = self.dimensions.get(usize::from(header.dimension)) else {
                return self.eject + header.node;
            };
            header.dimension += 1;
            dimension.enter(header);
        }
        header.left -= 1;
        let wraps_around = header.until_wrap == 0;
        header.until_wrap = header.until_wrap.wrapping_sub(1);
        if wraps_around {
            header.port += 1;
        }
        let channel = header.node * self.ports + u32::from(header.port);
        header.node = header.node.wrapping_add(header.step);
        if wraps_around {
            let dimension = &self.dimensions[usize::from(header.dimension) - 1];
            let around = dimension.side.wrapping_mul(header.step);
            header.node = header.node.wrapping_sub(around);
        }
        channel
    }

    /// The links of the grid with the channels of each.
    pub(super) fn links(&self) -> impl Iterator<Item = (Link, std::ops::Range<u32>)> + '_ {
        (0..self.nodes).flat_map(move |node| {
            self.dimensions.iter().flat_map(move |dimension| {
                let at = node / dimension.stride % dimension.side;
                let lanes = dimension.lanes();
                let link = move |up: bool| {
                    let is_there = dimension.wraps || at != if up { dimension.side - 1 } else { 0 };
                    let link = Link {
                        from: NodeId(node),
                        dimension: dimension.number,
                        up,
                    };
                    let port = dimension.port + if up { 0 } else { lanes };
                    let first = node * self.ports + u32::from(port);
                    is_there.then_some((link, first..first + u32::from(lanes)))
                };
                [link(true), link(false)].into_iter().flatten()
            })
        })
    }
}

impl Dimension {
    /// Has the header cross this dimension next.
    fn enter(&self, header: &mut Header) {
        let coordinate = |node: u32| node / self.stride % self.side;
        let (from, to) = (coordinate(header.node), coordinate(header.destination));
        // The way upwards, around if need be.
        let above = if to >= from {
            to - from
        } else {
            to + self.side - from
        };
        let up = if self.wraps {
            2 * above <= self.side
        } else {
            to >= from
        };
        let hops = if up {
            above
        } else {
            (self.side - above) % self.side
        };
        let before_end = if up { self.side - 1 - from } else { from };
        // If `hops` equals `before_end`, the route ends just before the link around.
        let around = self.wraps && hops > before_end;
        header.left = hops as u16;
        header.until_wrap = if around { before_end } else { u32::MAX };
        header.step = if up {
            self.stride
        } else {
            self.stride.wrapping_neg()
        };
        header.port = self.port + if up { 0 } else { self.lanes() };
    }
}

/// A link from a processor to a neighbour, with all of its virtual channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Where it begins.
    pub from: NodeId,
    /// The dimension in which its ends are neighbours.
    pub dimension: u8,
    /// Whether it leads to the next higher coordinate, which is 0 behind the last on a ring.
    pub up: bool,
}
