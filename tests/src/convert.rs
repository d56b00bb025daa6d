//! The only place where grids, boxes and lists of extents meet the machines, blocks and shapes of the code under test.

use meshalloc::{
    Block, Capacity, Cube, Machine, Mesh, Radices, Refusal, Request, Shape, StrategyKind, Subcube,
    Submesh,
};

use crate::grid::{Grid, Place};
use crate::strategy::{Strategy, Wanted};

/// The machine that is this grid; `None` if the code under test knows no such machine.
pub fn machine(grid: &Grid) -> Option<Machine> {
    let short = |side: u32| u16::try_from(side).ok();
    if let Some((w, h)) = grid.w_h() {
        return Mesh::new(short(w)?, short(h)?).ok().map(Machine::from);
    }
    let n = u8::try_from(grid.dimensions()).ok()?;
    Cube::new(short(grid.k()?)?, n).ok().map(Machine::from)
}

/// The grid that is this machine.
pub fn grid(machine: Machine) -> Grid {
    match machine {
        Machine::Mesh(mesh) => Grid::mesh(&[mesh.sides().w.into(), mesh.sides().h.into()]),
        Machine::Cube(cube) => Grid::cube(cube.k().into(), cube.n().into()),
        other => unreachable!("no naive {other}"),
    }
}

/// The box that is this block.
pub fn place(block: Block) -> Place {
    // Digits have the highest dimension first.
    let reversed = |digits: &[u16]| digits.iter().rev().map(|&digit| digit.into()).collect();
    match block {
        Block::Submesh(Submesh { base, sides }) => Place {
            start: vec![base.x.into(), base.y.into()],
            extent: vec![sides.w.into(), sides.h.into()],
        },
        Block::Subcube(subcube) => Place {
            start: reversed(&subcube.start()),
            extent: reversed(&subcube.extents()),
        },
        other => unreachable!("no naive {other}"),
    }
}

/// The block that is this box of a machine.
///
/// # Panics
///
/// When it is none.
pub fn block(machine: Machine, place: &Place) -> Block {
    let short = |numbers: &[u32]| numbers.iter().map(|&n| n as u16).collect::<Vec<u16>>();
    let (mut start, mut extent) = (short(&place.start), short(&place.extent));
    match machine {
        Machine::Cube(cube) => {
            start.reverse();
            extent.reverse();
            let subcube = Subcube::new(cube, &start, &extent);
            subcube.expect("a box of the cube").into()
        }
        _ => Submesh::new(start[0], start[1], extent[0], extent[1]).into(),
    }
}

/// A request for these extents as they are named; `None` if no such request can be made of the machine.
pub fn request(machine: Machine, extents: &[u32]) -> Option<Request> {
    let short: Vec<u16> = extents.iter().map(|&extent| extent as u16).collect();
    match machine {
        Machine::Mesh(_) => match short[..] {
            [] => Some(Request::submesh(1, 1)),
            [a] => Some(Request::submesh(a, 1)),
            [a, b] => Some(Request::submesh(a, b)),
            _ => None,
        },
        _ => {
            let radices: Vec<u16> = short.into_iter().filter(|&radix| radix != 1).collect();
            Radices::new(&radices).ok().map(Request::subcube)
        }
    }
}

/// The extents of a shape as they are named.
fn extents(shape: Shape) -> Vec<u32> {
    match shape {
        Shape::Sides(sides) => vec![sides.w.into(), sides.h.into()],
        Shape::Radices(radices) => radices.digits().iter().map(|&digit| digit.into()).collect(),
        other => unreachable!("no naive {other}"),
    }
}

/// What is wanted of a grid.
///
/// # Errors
///
/// What every strategy answers to such a request, the first that applies.
pub fn wanted(grid: &Grid, request: &Request) -> Result<Wanted, Refusal> {
    let wanted = Wanted {
        extents: extents(request.shape),
        processors: request.processors,
        may_rotate: request.may_rotate(),
    };
    let is_cube = grid.w_h().is_none();
    if is_cube != request.radices().is_some() {
        return Err(Refusal::Malformed);
    }
    let above = |&extent: &u32| grid.k().is_some_and(|k| extent > k);
    let refusals = [
        (
            is_cube && wanted.area() > grid.nodes().into(),
            Refusal::NeverFits,
        ),
        (
            is_cube && wanted.extents.len() > grid.dimensions(),
            Refusal::DimensionAboveN,
        ),
        (
            is_cube && wanted.extents.iter().any(above),
            Refusal::RadixAboveK,
        ),
        (
            wanted.area() == 0 || wanted.processors == 0,
            Refusal::EmptyRequest,
        ),
        (
            u64::from(wanted.processors) > wanted.area(),
            Refusal::Malformed,
        ),
    ];
    let refusal = refusals.into_iter().find(|&(applies, _)| applies);
    refusal.map_or(Ok(wanted), |(_, refusal)| Err(refusal))
}

/// Whether the code under test serves the grid with this strategy.
pub fn is_served(kind: StrategyKind, grid: &Grid) -> bool {
    let kinds = machine(grid).is_some_and(|machine| machine.kind() == kind.info().machine);
    kinds && Strategy::serves(kind, grid)
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
