//! The place that each strategy takes.

use meshalloc::{CurveLine, StrategyKind};

use super::{Held, Strategy, Wanted, counts_processors, turns};
use crate::binary_tree::{self, Tree, parallel_layout};
use crate::curve;
use crate::grid::{Grid, Place, orders, padded};
use crate::nearest;
use crate::notation::{Notation, Symbol, notations};
use crate::pods;
use crate::scattered::sample;
use crate::shaped;
use crate::split;
use crate::submesh::{Rect, Scan};

impl Strategy {
    /// The model of each strategy. A strategy without an arm of its own takes the first place of
    /// [`Strategy::candidates`].
    pub(super) fn find(&self, wanted: &Wanted) -> Option<Held> {
        match self.kind {
            StrategyKind::Naive => {
                let nodes = self.machine.free_nodes().take(wanted.processors as usize);
                Some(Held::Nodes(nodes.collect()))
            }
            StrategyKind::MultipleBuddy => {
                let blocks = self.buddy.as_ref()?.place_multiple(wanted.processors)?;
                Some(Held::Boxes(blocks.into_iter().map(Place::from).collect()))
            }
            StrategyKind::LShape => {
                let parts = shaped::l_shape(&self.machine, wanted)?;
                Some(Held::Boxes(parts.into_iter().map(Place::from).collect()))
            }
            StrategyKind::Gabl | StrategyKind::PaldFf | StrategyKind::PaldBf => {
                let parts = split::place(&self.machine, self.kind, wanted)?;
                Some(Held::Boxes(parts.into_iter().map(Place::from).collect()))
            }
            StrategyKind::Neighbor => {
                let (nucleus, mut nodes) = shaped::neighbor(&self.machine, wanted)?;
                nodes.sort_unstable();
                Some(match nucleus {
                    Some(nucleus) => Held::Around(nucleus.into(), nodes),
                    None => Held::Nodes(nodes),
                })
            }
            StrategyKind::Random { .. } => {
                let mut generator = self.generator.borrow_mut();
                let nodes: Vec<u32> = self.machine.free_nodes().collect();
                let chosen = sample(generator.as_mut()?, &nodes, wanted.processors);
                Some(Held::Nodes(chosen))
            }
            StrategyKind::Paging { .. } => {
                let pages = self.pages.as_ref()?;
                let nodes = pages.first_free(&self.machine, wanted.processors)?;
                Some(Held::Nodes(nodes))
            }
            StrategyKind::GenAlg | StrategyKind::Mm | StrategyKind::Mc1x1 => {
                let nodes = nearest::place(&self.machine, self.kind, wanted.processors)?;
                Some(Held::Nodes(nodes))
            }
            StrategyKind::Partition | StrategyKind::WalltimeAware => {
                let partitions = self.partitions.as_ref()?;
                let place = partitions.place(&self.machine, wanted.processors)?;
                Some(Held::Box(place))
            }
            StrategyKind::Curve { fit, line }
                if line == CurveLine::Hilbert || self.grid().w_h().is_none() =>
            {
                let line = curve::hilbert_line(self.grid());
                let is_busy = |&node: &u32| self.machine.is_busy(node);
                let mut nodes = curve::place_on(&line, wanted.processors, fit, is_busy)?;
                nodes.sort_unstable();
                Some(Held::Nodes(nodes))
            }
            kind if counts_processors(kind) => {
                let (w, h) = self.grid().w_h()?;
                let busy = |x, y| self.machine.is_busy(y * w + x);
                let processors = wanted.processors;
                let places = match kind {
                    StrategyKind::ParallelLayout => parallel_layout(w, h, processors, busy),
                    StrategyKind::Curve { fit, .. } => curve::place(w, h, processors, fit, busy),
                    _ => {
                        let (choice, form) = binary_tree::form(kind)?;
                        Tree::new(w, h, busy).place(processors, choice, form)
                    }
                };
                let mut nodes: Vec<u32> = places?.into_iter().map(|(x, y)| y * w + x).collect();
                nodes.sort_unstable();
                Some(Held::Nodes(nodes))
            }
            StrategyKind::Buddy
            | StrategyKind::FreeSubmeshList
            | StrategyKind::FrameSliding
            | StrategyKind::BestFit
            | StrategyKind::BusyList
            | StrategyKind::LeastExpectedBlocking { .. }
            | StrategyKind::LebEstimates { .. } => {
                let place = match (&self.foresight, self.grid().w_h()) {
                    (Some(foresight), _) => foresight.place(&self.machine, wanted),
                    (None, Some(_)) if self.aligned.is_none() => {
                        self.find_submesh(wanted).map(Place::from)
                    }
                    (None, _) => self.find_box(wanted),
                };
                place.map(Held::Box)
            }
            _ => self.first_free(wanted).map(Held::Box),
        }
    }

    /// The first free place of [`Strategy::candidates`].
    fn first_free(&self, wanted: &Wanted) -> Option<Place> {
        let mut found = None;
        self.candidates(wanted, &mut |place| {
            let is_free = self.machine.is_free(place);
            found = is_free.then(|| place.clone());
            is_free
        });
        found
    }

    /// The place of a strategy that compares boxes by their surroundings, on any grid.
    fn find_box(&self, wanted: &Wanted) -> Option<Place> {
        let orders = self.shapes(wanted);
        let (machine, aligned) = (&self.machine, self.aligned.as_ref());
        let mut all = orders.iter();
        match self.kind {
            StrategyKind::BestFit => all.find_map(|order| machine.best_base(order, aligned)),
            StrategyKind::BusyList => all.find_map(|order| machine.best_boundary(order, aligned)),
            // As adaptive scan where no box of the list has room.
            _ => {
                let found = machine.free_submesh_list_place(&orders, aligned);
                found.or_else(|| self.first_free(wanted))
            }
        }
    }

    /// The place of a strategy that compares submeshes of a mesh by their surroundings.
    fn find_submesh(&self, wanted: &Wanted) -> Option<Rect> {
        let (a, b) = (wanted.extents[0] as i32, wanted.extents[1] as i32);
        let machine = &self.machine;
        match self.kind {
            StrategyKind::Buddy => self.buddy.as_ref()?.place(a, b),
            StrategyKind::FreeSubmeshList => {
                let list = self.dominant_free_submeshes();
                machine
                    .scan()
                    .free_submesh_list(list, a, b, wanted.may_rotate)
            }
            StrategyKind::FrameSliding => self.frame_sliding(a, b),
            StrategyKind::BestFit => {
                // The busy neighbours of the base node.
                let value = |s: Rect| machine.busy_beyond(Rect::new(0, 0, -1, -1), (s.x1, s.y1));
                best(&machine.scan(), a, b, value)
            }
            _ => {
                let scan = machine.scan();
                let mut shapes = self.shapes(wanted).into_iter();
                shapes.find_map(|shape| {
                    let (a, b) = (shape[0] as i32, shape[1] as i32);
                    best(&scan, a, b, |s| machine.boundary_value(s))
                })
            }
        }
    }

    /// From the first free node `<x0, y0>` on in strides of the request's sides; the first row of
    /// frames begins at `x0`, the later ones as far left as the strides allow.
    fn frame_sliding(&self, a: i32, b: i32) -> Option<Rect> {
        let whole = self.machine.whole();
        let scan = self.machine.scan();
        let first = scan.free(1, 1).next()?;
        let rows = (first.y1..whole.h()).step_by(b as usize);
        let mut frames = rows.flat_map(|y| {
            let from = if y == first.y1 {
                first.x1
            } else {
                first.x1 % a
            };
            let columns = (from..whole.w()).step_by(a as usize);
            columns.map(move |x| Rect::based_at(x, y, a, b))
        });
        frames.find(|&frame| scan.is_free(frame))
    }

    /// Offers every place that is tried to `accept`, in order, busy or not, up to the first that is
    /// accepted. Returns whether one is.
    pub fn candidates(&self, wanted: &Wanted, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        match self.kind {
            StrategyKind::TreeCollapsing
            | StrategyKind::TreeCollapsingPrinted
            | StrategyKind::FreeList
            | StrategyKind::Sniffing
            | StrategyKind::Partner => self.subnotations(wanted, accept),
            _ => {
                let mut shapes = self.shapes(wanted).into_iter();
                shapes.any(|shape| self.starts(shape, accept))
            }
        }
    }

    /// First fit: every start, by its number.
    fn starts(&self, extent: Vec<u32>, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        let grid = self.grid();
        let highest_first: Vec<usize> = (0..grid.dimensions()).rev().collect();
        let mut place = Place {
            start: vec![0; extent.len()],
            extent,
        };
        let is_allowed = |place: &Place| {
            let aligned = self.aligned.as_ref();
            aligned.is_none_or(|aligned| aligned.allows(place))
        };
        every_position(grid, &highest_first, &mut place, &mut |place| {
            grid.has(place) && is_allowed(place) && accept(place)
        })
    }

    /// The extents by dimension that a job of this request might hold, in the order in which they
    /// are looked for.
    pub(super) fn shapes(&self, wanted: &Wanted) -> Vec<Vec<u32>> {
        let sides = self.grid().sides();
        let Some(named) = padded(&self.rounded(&wanted.extents), sides.len()) else {
            return Vec::new();
        };
        let (a, b) = (named[0], named.get(1).copied().unwrap_or(1));
        let mut shapes = vec![named.clone()];
        match self.kind {
            StrategyKind::Folding => shapes = pods::folded(&named, wanted.may_rotate),
            kind if !wanted.may_rotate || !turns(kind) => (),
            StrategyKind::FixedOrientation => {
                // The longer side along the mesh's longer side, along x when both are the same.
                shapes = vec![if sides[0] >= sides[1] {
                    vec![a.max(b), a.min(b)]
                } else {
                    vec![a.min(b), a.max(b)]
                }];
            }
            StrategyKind::FlexFold => {
                shapes.push(vec![b, a]);
                if a.is_multiple_of(2) {
                    shapes.push(vec![a / 2, 2 * b]);
                }
                if b.is_multiple_of(2) {
                    shapes.push(vec![2 * a, b / 2]);
                }
            }
            StrategyKind::AllShapes => {
                let pairs = (1..=sides[0]).flat_map(|x| (1..=sides[1]).map(move |y| vec![x, y]));
                let mut pairs: Vec<_> = pairs.filter(|pair| pair[0] * pair[1] == a * b).collect();
                // Most square first, wider first.
                pairs.sort_by_key(|pair| (pair[0].abs_diff(pair[1]), pair[1]));
                shapes.push(vec![b, a]);
                shapes.extend(pairs);
            }
            _ => shapes.extend(orders(&named).into_iter().filter(|order| *order != named)),
        }
        shapes.retain(|shape| shape.iter().zip(sides).all(|(extent, side)| extent <= side));
        shapes
    }

    /// The extents that are given to a request for these.
    pub(super) fn rounded(&self, extents: &[u32]) -> Vec<u32> {
        let largest = extents.iter().copied().max().unwrap_or(1);
        let rounded = |&extent: &u32| match self.kind {
            StrategyKind::Buddy => largest.next_power_of_two(),
            StrategyKind::FreeList => extent.next_power_of_two(),
            StrategyKind::Sniffing if extent > 1 => largest,
            _ => extent,
        };
        extents.iter().map(rounded).collect()
    }

    /// The notations of algorithm G*, each with its orders of the extents, and each with its
    /// subnotations: start positions for the symbols `*`, then select digits for the symbols `□`,
    /// both in lexicographic order from the highest dimension down.
    fn subnotations(&self, wanted: &Wanted, accept: &mut dyn FnMut(&Place) -> bool) -> bool {
        let grid = self.grid();
        let mut extents = wanted.extents.clone();
        let is_laid_as_named = !wanted.may_rotate
            && grid.dimensions() == 2
            && !grid.is_cube()
            && !matches!(self.kind, StrategyKind::Sniffing | StrategyKind::Partner);
        if is_laid_as_named {
            extents.resize(2, 1);
        } else {
            extents.retain(|&extent| extent > 1);
        }
        // What is asked of a cube is read like an address; elsewhere x comes first.
        if !grid.is_cube() {
            extents.reverse();
        }
        let extents = self.rounded(&extents);
        if extents.len() > grid.dimensions() {
            return false;
        }
        let may_wrap = self.kind != StrategyKind::Sniffing;
        let orders = self.orders(&extents, wanted.may_rotate);
        self.notations(extents.len()).iter().any(|notation| {
            let (stars, selects) = dimensions_of(notation);
            orders.iter().any(|order| {
                let mut place = grid.unit(0);
                for (&d, &extent) in stars.iter().zip(order) {
                    place.extent[d] = extent;
                }
                every_position(grid, &stars, &mut place, &mut |place| {
                    let is_whole = |&d: &usize| place.start[d] + place.extent[d] <= grid.sides()[d];
                    grid.has(place)
                        && (may_wrap || stars.iter().all(is_whole))
                        && every_position(grid, &selects, place, &mut |place| accept(place))
                })
            })
        })
    }

    /// The orders in which the extents are laid along a notation: the one that is asked for, then
    /// the others around the circle of all of them.
    fn orders(&self, extents: &[u32], may_rotate: bool) -> Vec<Vec<u32>> {
        match self.kind {
            StrategyKind::TreeCollapsing | StrategyKind::FreeList if may_rotate => {
                let mut orders = orders(extents);
                let requested = orders.iter().position(|order| order == extents);
                orders.rotate_left(requested.expect("one of the orders"));
                orders
            }
            _ => vec![extents.to_vec()],
        }
    }

    /// The notations that are tried.
    fn notations(&self, m: usize) -> Vec<Notation> {
        let n = self.grid().dimensions();
        if self.kind != StrategyKind::Partner || m == 0 {
            return notations(n, m);
        }
        // The lowest m - 1 dimensions, and any one of the others.
        let with = |other: usize| {
            let symbols = (0..n).rev().map(|dimension| match dimension {
                _ if dimension < m - 1 || dimension == other => Symbol::DontCare,
                _ => Symbol::Select,
            });
            Notation(symbols.collect())
        };
        (m - 1..n).map(with).collect()
    }
}

/// The dimensions of the symbols `*` and those of the symbols `□`, the highest first.
fn dimensions_of(notation: &Notation) -> (Vec<usize>, Vec<usize>) {
    let dimensions = (0..notation.0.len()).rev().zip(&notation.0);
    let (stars, selects): (Vec<_>, Vec<_>) =
        dimensions.partition(|&(_, symbol)| *symbol == Symbol::DontCare);
    let numbers = |list: Vec<(usize, &Symbol)>| list.into_iter().map(|(d, _)| d).collect();
    (numbers(stars), numbers(selects))
}

/// Moves the place through all start positions in these dimensions, in lexicographic order, until
/// `accept`.
fn every_position(
    grid: &Grid,
    dimensions: &[usize],
    place: &mut Place,
    accept: &mut dyn FnMut(&mut Place) -> bool,
) -> bool {
    let Some((&d, others)) = dimensions.split_first() else {
        return accept(place);
    };
    (0..grid.sides()[d]).any(|at| {
        place.start[d] = at;
        every_position(grid, others, place, accept)
    })
}

/// Among all free `a x b` the first in row-major order with the highest value.
pub(crate) fn best(scan: &Scan, a: i32, b: i32, value: impl Fn(Rect) -> u32) -> Option<Rect> {
    let free: Vec<(u32, Rect)> = scan.free(a, b).map(|rect| (value(rect), rect)).collect();
    let highest = free.iter().map(|&(value, _)| value).max()?;
    let first = free.into_iter().find(|&(value, _)| value == highest)?;
    Some(first.1)
}
