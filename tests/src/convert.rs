//! Conversions between naive grids, boxes and lists of extents and the grids, blocks and shapes of
//! the code under test. No other module knows both.

use meshalloc::{Block, Capacity, Cube, Flags, Refusal, Request, Shape, StrategyKind, Submesh};

use crate::grid::{Grid, Place};
use crate::strategy::{Strategy, Wanted};
use crate::submesh::Rect;

/// Numbers as 16-bit numbers.
///
/// # Panics
///
/// When one is larger than 65,535.
fn short(numbers: &[u32]) -> Vec<u16> {
    let short = |&number: &u32| u16::try_from(number).expect("a number of 16 bits");
    numbers.iter().map(short).collect()
}

/// The machine that is this grid.
///
/// # Panics
///
/// When the code under test knows no such machine.
pub fn machine(grid: &Grid) -> meshalloc::Grid {
    if grid.is_cube() {
        let cube = Cube::new(grid.sides()[0] as u16, grid.dimensions() as u8);
        return cube.expect("a cube that is served").grid();
    }
    let wraps = (0..).zip(grid.wraps());
    let wraps = wraps.map(|(at, &wraps)| u16::from(wraps) << at).sum();
    meshalloc::Grid::new(&short(grid.sides()), wraps).expect("a grid that is served")
}

/// The naive grid that is this machine.
pub fn grid(machine: meshalloc::Grid) -> Grid {
    if machine.is_written_high_first() {
        return Grid::cube(machine.side(0).into(), machine.dimensions());
    }
    let sides: Vec<u32> = machine.sides().iter().map(|&side| side.into()).collect();
    let wraps: Vec<bool> = (0..sides.len()).map(|at| machine.wraps(at)).collect();
    Grid::new(&sides, &wraps)
}

/// The box that is this block.
pub fn place(machine: meshalloc::Grid, block: Block) -> Place {
    let long = |numbers: &[u16]| numbers.iter().map(|&number| number.into()).collect();
    Place {
        start: long(&machine.start(block)),
        extent: long(&machine.extent(block)),
    }
}

/// The box that this block names on a grid, read as `firmware/PROTOCOL.md` says, or the first
/// dimension in which it names none.
pub fn named(grid: &Grid, block: Block) -> Result<Place, usize> {
    let raw = block.into_raw();
    let (mut starts, mut extents) = (raw % (1 << 32), raw >> 32);
    let is_dense = grid.dimensions() > 2;
    let mut place = Place {
        start: Vec::new(),
        extent: Vec::new(),
    };
    for (dimension, (&side, &wraps)) in grid.sides().iter().zip(grid.wraps()).enumerate() {
        let values = if is_dense {
            u64::from(side).next_power_of_two()
        } else {
            1 << 16
        };
        let (start, extent) = (starts % values, extents % values + u64::from(is_dense));
        (starts, extents) = (starts / values, extents / values);
        let end_max = u64::from(side) * if wraps { 2 } else { 1 };
        let is_inside = start < side.into() && start + extent <= end_max;
        if !is_inside || extent == 0 || extent > side.into() {
            return Err(dimension);
        }
        place.start.push(start as u32);
        place.extent.push(extent as u32);
    }
    match (starts, extents) {
        (0, 0) => Ok(place),
        _ => Err(grid.dimensions()),
    }
}

/// The rectangle that is this submesh.
pub fn rect(submesh: Submesh) -> Rect {
    let Submesh { base, sides } = submesh;
    Rect::based_at(base.x.into(), base.y.into(), sides.w.into(), sides.h.into())
}

/// The block that is this box of a machine.
///
/// # Panics
///
/// When it is none.
pub fn block(machine: meshalloc::Grid, place: &Place) -> Block {
    let block = machine.block(&short(&place.start), &short(&place.extent));
    block.expect("a box of the machine")
}

/// A request for these extents as they are named.
///
/// # Panics
///
/// When no request can be made of them.
pub fn request(extents: &[u32]) -> Request {
    Request::new(Shape::new(&short(extents)).expect("extents of a request"))
}

/// What is wanted of a grid.
///
/// # Errors
///
/// The refusal that does not depend on the strategy; the first that applies.
pub fn wanted(grid: &Grid, request: &Request) -> Result<Wanted, Refusal> {
    let extents = request.shape.extents();
    let wanted = Wanted {
        extents: extents.iter().map(|&extent| extent.into()).collect(),
        processors: request.processors,
        may_rotate: request.may_rotate(),
    };
    if wanted.extents.len() > grid.dimensions() {
        Err(Refusal::TooManyExtents)
    } else if wanted.area() == 0 || wanted.processors == 0 {
        Err(Refusal::EmptyRequest)
    } else if u64::from(wanted.processors) > wanted.area() && !request.flags.contains(Flags::CHIPS)
    {
        Err(Refusal::Malformed)
    } else {
        Ok(wanted)
    }
}

/// Whether the code under test serves the grid with this strategy.
///
/// # Panics
///
/// When the naive strategy says otherwise.
pub fn is_served(kind: StrategyKind, grid: &Grid) -> bool {
    let served = kind.serves().includes(&machine(grid));
    assert_eq!(served, Strategy::serves(kind, grid), "{kind} on {grid}");
    served
}

/// Whether a controller of this capacity has room for the grid.
pub fn has_room(capacity: &Capacity, grid: &Grid) -> bool {
    let (rows, row_len) = match grid.w_h() {
        Some((w, h)) => (h, w),
        None => (1, grid.nodes()),
    };
    let words = rows * row_len.div_ceil(capacity.word_bits.into());
    words <= capacity.words && grid.nodes() <= capacity.blocks
}
