//! Machines of today: [`Description`] has the grid and the rules of a machine that gives only
//! certain slices, and [`Slice`] is the slice that a job was given.
//!
//! A grid says which processors are neighbours. The description adds the operator's rules: which
//! shapes are legal, where a slice may begin, and how optical switches join cubes of processors. An
//! allocator that was lent a description ([`Memory::describing`](crate::Memory::describing))
//! refuses every other request.
//!
//! # Source
//!
//! N. Jouppi and others, "TPU v4: An Optically Reconfigurable Supercomputer for Machine Learning
//! with Hardware Support for Embeddings", ISCA 2023, section 2, for cubes and rings; the vendors'
//! configuration pages (2023 to 2026) for the legal shapes of [`Description::preset`].

mod cubes;
mod forms;
mod hole;
mod largest;
mod legal;
pub(crate) mod parts;
mod placement;
mod presets;
mod ranks;
mod rule;
mod slice;

pub(crate) use cubes::Cubes;
pub(crate) use forms::{Layouts, demanded_rings, may_turn};
pub use hole::{HOLES_MAX, Hole};
pub(crate) use largest::largest_box;
pub(crate) use parts::{parts, touched};
pub use placement::{PLACEMENTS_MAX, Placement};
pub use ranks::Ranks;
pub use rule::SliceRule;
pub use slice::Slice;

use core::fmt;

pub use crate::grid::DESCRIBED_MAX;
use crate::grid::{Block, Grid, Shape, any_order};
use crate::texts::texts;

/// The most shapes in [`Description::shapes`].
pub const SHAPES_MAX: usize = 16;
/// The most entries in a list of places or holes: few in a build without the feature `alloc`,
/// where descriptions are in the flash of a board.
const ENTRIES_MAX: usize = if cfg!(feature = "alloc") { 256 } else { 16 };
/// A number for each dimension, with ones behind the last dimension.
pub(crate) type Extents = [u16; DESCRIBED_MAX];

/// The number of processors of a box, which is at most that of a shape.
pub(crate) const fn volume(extents: &Extents) -> u32 {
    let [a, b, c, d] = *extents;
    let volume = (a as u32).saturating_mul(b as u32);
    volume.saturating_mul(c as u32).saturating_mul(d as u32)
}

/// The numbers, and 1 in every further dimension.
pub(crate) fn padded(numbers: &[u16]) -> Extents {
    let mut padded = [1; DESCRIBED_MAX];
    for (entry, &number) in padded.iter_mut().zip(numbers) {
        *entry = number;
    }
    padded
}

/// The description of a machine: its grid, and the rules for its slices.
///
/// ```
/// use meshalloc::{Description, Flags, Request, Refusal, Shape, StrategyKind};
/// let machine = Description::preset("tpu-v4").expect("a preset");
/// let cubes = StrategyKind::Cubes { fold: false };
/// let request = |extents: &[u16]| Request::new(Shape::new(extents).expect("a shape"));
/// assert_eq!(machine.check(cubes, &request(&[4, 8, 4])), Ok(()));
/// assert_eq!(machine.check(cubes, &request(&[3, 3, 3])), Err(Refusal::NotLegal));
/// let nearest = machine.nearest(&request(&[3, 3, 3])).map(|shape| shape.map(|s| s.to_string()));
/// assert_eq!(nearest, [Some("2x4x4".into()), Some("4x4x4".into())]);
/// // A number of chips, without a shape.
/// assert_eq!(machine.check(cubes, &Request::chips(192)), Ok(()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Description {
    grid: Grid,
    /// Whether a request may be turned.
    rotate: bool,
    /// The sides of a cube, if switches join cubes.
    cube: Option<Extents>,
    /// The only legal shapes that are not multiples.
    shapes: [Shape; SHAPES_MAX],
    shapes_len: u8,
    /// A legal shape that is not in the list has sides that are multiples of this.
    multiple: Option<Extents>,
    /// A slice begins at multiples of these numbers, or of its own side where that is smaller;
    /// [`Description::steps`].
    align: Extents,
    /// The most processors of a slice.
    chips_max: u32,
    placements: [Placement; PLACEMENTS_MAX],
    placements_len: u16,
    holes: [Hole; HOLES_MAX],
    holes_len: u16,
    /// Invariant: the number of processors in the holes.
    absent: u32,
}

/// Why there is no such description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptionError {
    /// The machine has more dimensions than [`DESCRIBED_MAX`], or a part of the description has
    /// another number of dimensions than the machine.
    Dimensions,
    /// A side is 0.
    NoSide,
    /// There are more shapes than [`SHAPES_MAX`].
    TooManyShapes,
    /// There are more placements than [`PLACEMENTS_MAX`].
    TooManyPlacements,
    /// There are more holes than [`HOLES_MAX`].
    TooManyHoles,
    /// A side of the machine is not a multiple of the cube's.
    CubeSide,
    /// A placement or its spacing is longer than a side of the machine, its seed is outside the
    /// machine, or it wraps around where the machine does not.
    Placement,
    /// A hole is not within the machine, a hole overlaps another hole, or no processor is left.
    Hole,
}

texts! { DescriptionError: {
    DescriptionError::Dimensions =>
        "expected 1 to 4 numbers, and as many as the machine has dimensions";
    DescriptionError::NoSide => "a side is 0, expected at least 1";
    DescriptionError::TooManyShapes => "more than 16 shapes";
    DescriptionError::TooManyPlacements => "more than 256 placements, or 16 without `alloc`";
    DescriptionError::TooManyHoles => "more than 256 boxes, or 16 without `alloc`";
    DescriptionError::CubeSide => "a side of the machine is not a multiple of the cube's side";
    DescriptionError::Placement =>
        "a placement or its spacing is longer than a side of the machine, its seed is outside, or \
         it wraps around where the machine does not";
    DescriptionError::Hole =>
        "a box is not within the machine, or overlaps another, or no processor is left";
} }

/// Evaluates a `Result` in a constant function: gives the value, or returns the error.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}

impl Description {
    /// Whether controllers of this build keep the rules of descriptions.
    pub(crate) const BUILT: bool = cfg!(feature = "machine");

    /// A machine without rules: every shape is legal and may be turned.
    ///
    /// # Errors
    ///
    /// `Dimensions` if the grid has more dimensions than [`DESCRIBED_MAX`].
    pub const fn new(grid: Grid) -> Result<Description, DescriptionError> {
        if grid.dimensions() > DESCRIBED_MAX {
            return Err(DescriptionError::Dimensions);
        }
        Ok(Description {
            grid,
            rotate: true,
            cube: None,
            shapes: [Shape::UNUSED; SHAPES_MAX],
            shapes_len: 0,
            multiple: None,
            align: [1; DESCRIBED_MAX],
            chips_max: grid.nodes(),
            placements: [Placement::UNUSED; PLACEMENTS_MAX],
            placements_len: 0,
            holes: [Hole::UNUSED; HOLES_MAX],
            holes_len: 0,
            absent: 0,
        })
    }

    /// A number for each dimension, each at least 1.
    const fn sides_of(&self, numbers: &[u16]) -> Result<Extents, DescriptionError> {
        if numbers.len() != self.grid.dimensions() {
            return Err(DescriptionError::Dimensions);
        }
        let mut sides = [1; DESCRIBED_MAX];
        let mut at = 0;
        while at < numbers.len() {
            if numbers[at] == 0 {
                return Err(DescriptionError::NoSide);
            }
            sides[at] = numbers[at];
            at += 1;
        }
        Ok(sides)
    }

    /// The same machine, whose requests are turned only if `rotate` is true, as it is by default.
    #[must_use]
    pub const fn with_rotation(mut self, rotate: bool) -> Description {
        self.rotate = rotate;
        self
    }

    /// The same machine, cut into cubes of these sides that switches join.
    ///
    /// # Errors
    ///
    /// `Dimensions`, `NoSide`, `CubeSide`.
    pub const fn with_cube(mut self, cube: &[u16]) -> Result<Description, DescriptionError> {
        let cube = attempt!(self.sides_of(cube));
        let mut at = 0;
        while at < DESCRIBED_MAX {
            if !self.grid.side(at).is_multiple_of(cube[at]) {
                return Err(DescriptionError::CubeSide);
            }
            at += 1;
        }
        self.cube = Some(cube);
        Ok(self)
    }

    /// The same machine, in which these shapes are legal. With [`Description::with_multiple`] these
    /// are the only legal shapes that are not multiples. Without it they are the only legal shapes.
    ///
    /// # Errors
    ///
    /// `TooManyShapes`; `Dimensions` if a shape has more extents than the machine has dimensions;
    /// `NoSide`.
    pub const fn with_shapes(mut self, shapes: &[Shape]) -> Result<Description, DescriptionError> {
        if shapes.len() > SHAPES_MAX {
            return Err(DescriptionError::TooManyShapes);
        }
        // This clears an earlier list, so that equal descriptions have equal fields.
        self.shapes = [Shape::UNUSED; SHAPES_MAX];
        let mut at = 0;
        while at < shapes.len() {
            if shapes[at].len() > self.grid.dimensions() {
                return Err(DescriptionError::Dimensions);
            }
            if shapes[at].area() == 0 {
                return Err(DescriptionError::NoSide);
            }
            self.shapes[at] = shapes[at];
            at += 1;
        }
        self.shapes_len = shapes.len() as u8;
        Ok(self)
    }

    /// The same machine, in which shapes are legal whose sides are multiples of these.
    ///
    /// # Errors
    ///
    /// `Dimensions`, `NoSide`.
    pub const fn with_multiple(
        mut self,
        multiple: &[u16],
    ) -> Result<Description, DescriptionError> {
        self.multiple = Some(attempt!(self.sides_of(multiple)));
        Ok(self)
    }

    /// The same machine, whose slices begin at multiples of these numbers, or of their own side
    /// where that is smaller. With the sides of a host, no two slices share a host without need.
    ///
    /// A slice of 4 x 2 neither lies in a host of 2 x 4 nor consists of such hosts. Where requests
    /// may be turned, the host is turned for it: among the orders of the numbers, in ascending
    /// lexicographic order, the first is taken in which the slice lies in a host or consists of
    /// hosts. If there is no such order, the host stays as it is. In cubes, multiples count within
    /// the cube.
    ///
    /// # Errors
    ///
    /// `Dimensions`, `NoSide`.
    pub const fn with_align(mut self, align: &[u16]) -> Result<Description, DescriptionError> {
        self.align = attempt!(self.sides_of(align));
        Ok(self)
    }

    /// The same machine, whose slices have at most this number of processors.
    #[must_use]
    pub const fn with_chips_max(mut self, chips: u32) -> Description {
        let nodes = self.grid.nodes();
        self.chips_max = if chips < nodes { chips } else { nodes };
        self
    }

    /// The same machine with these places, for
    /// [`StrategyKind::Torus3d`](crate::StrategyKind::Torus3d). The places are sorted by the number
    /// of processors; places with the same number keep their order.
    ///
    /// # Errors
    ///
    /// `TooManyPlacements`, `Placement`.
    pub const fn with_placements(
        mut self,
        placements: &[Placement],
    ) -> Result<Description, DescriptionError> {
        if placements.len() > PLACEMENTS_MAX {
            return Err(DescriptionError::TooManyPlacements);
        }
        self.placements = [Placement::UNUSED; PLACEMENTS_MAX];
        let mut len = 0;
        while len < placements.len() {
            let placement = placements[len];
            let mut dimension = 0;
            while dimension < DESCRIBED_MAX {
                let (side, dims) = (self.grid.side(dimension), placement.dims[dimension]);
                let (seed, spacing) = (placement.seed[dimension], placement.spacing[dimension]);
                // Without wrapping, the anchors are the positions from 0 on that leave room for the
                // placement.
                let is_whole = self.grid.wraps(dimension)
                    || seed.is_multiple_of(spacing)
                        && side.is_multiple_of(spacing)
                        && dims <= spacing
                    || dims == side && spacing == side && seed == 0;
                if dims > side || seed >= side || spacing > side || !is_whole {
                    return Err(DescriptionError::Placement);
                }
                dimension += 1;
            }
            // Insertion keeps the order of placements of the same volume.
            let mut at = len;
            while at > 0 && self.placements[at - 1].volume() > placement.volume() {
                self.placements[at] = self.placements[at - 1];
                at -= 1;
            }
            self.placements[at] = placement;
            len += 1;
        }
        self.placements_len = len as u16;
        Ok(self)
    }

    /// The same machine without the processors in these boxes. These processors are busy for ever:
    /// a request that would need one of them on an otherwise empty machine can never be granted
    /// ([`Refusal::NeverFits`](crate::Refusal::NeverFits)). They are not counted as faulty, and
    /// they cannot be repaired.
    ///
    /// # Errors
    ///
    /// `TooManyHoles`, `Hole`.
    ///
    /// ```
    /// use meshalloc::{
    ///     Allocator, AllocatorStorage, Description, Grid, Hole, Refusal, Request, StrategyKind,
    ///     storage,
    /// };
    ///
    /// let grid = Grid::mesh(&[8, 8])?;
    /// let machine = Description::new(grid)?.with_absent(&[Hole::new(&[3, 3], &[2, 2])?])?;
    /// assert_eq!(machine.processors(), 60);
    ///
    /// let mut storage: storage!(mesh 8 x 8, strategies [FirstFit], allocations 10) =
    ///     AllocatorStorage::new();
    /// let memory = storage.memory().describing(&machine);
    /// let mut allocator = Allocator::new(memory, grid, StrategyKind::FirstFit)?;
    /// assert_eq!(allocator.occupancy().free(), 60);
    /// assert_eq!(allocator.allocate(&Request::submesh(4, 4)).unwrap_err(), Refusal::NeverFits);
    /// assert!(allocator.allocate(&Request::submesh(8, 3)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_absent(mut self, holes: &[Hole]) -> Result<Description, DescriptionError> {
        if holes.len() > HOLES_MAX {
            return Err(DescriptionError::TooManyHoles);
        }
        self.holes = [Hole::UNUSED; HOLES_MAX];
        self.absent = 0;
        let mut at = 0;
        while at < holes.len() {
            if !holes[at].is_within(&self.grid) {
                return Err(DescriptionError::Hole);
            }
            let mut other = 0;
            while other < at {
                if holes[at].overlaps(&holes[other]) {
                    return Err(DescriptionError::Hole);
                }
                other += 1;
            }
            self.holes[at] = holes[at];
            self.absent += holes[at].processors();
            at += 1;
        }
        if self.absent == self.grid.nodes() {
            return Err(DescriptionError::Hole);
        }
        self.holes_len = holes.len() as u16;
        Ok(self)
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Whether a request may be turned.
    pub const fn rotates(&self) -> bool {
        self.rotate
    }

    /// The sides of a cube by dimension, if switches join cubes.
    pub fn cube(&self) -> Option<&[u16]> {
        let cube = self.cube.as_ref()?;
        Some(&cube[..self.grid.dimensions()])
    }

    /// The legal shapes that need not be multiples.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes[..usize::from(self.shapes_len)]
    }

    /// The numbers, by dimension, whose multiples are the sides of all other legal shapes.
    pub fn multiple(&self) -> Option<&[u16]> {
        let multiple = self.multiple.as_ref()?;
        Some(&multiple[..self.grid.dimensions()])
    }

    /// The numbers, by dimension, at whose multiples a slice begins.
    pub fn align(&self) -> &[u16] {
        &self.align[..self.grid.dimensions()]
    }

    /// The most processors of a slice.
    pub const fn chips_max(&self) -> u32 {
        self.chips_max
    }

    /// The boxes in which there are no processors.
    pub fn absent(&self) -> &[Hole] {
        &self.holes[..usize::from(self.holes_len)]
    }

    /// The boxes without processors, as blocks of the grid.
    pub fn absent_blocks(&self) -> impl Iterator<Item = Block> + use<'_> {
        self.absent()
            .iter()
            .filter_map(|hole| hole.block(&self.grid))
    }

    /// The number of processors in these boxes.
    pub const fn absent_processors(&self) -> u32 {
        self.absent
    }

    /// The number of processors that are not absent.
    pub const fn processors(&self) -> u32 {
        self.grid.nodes() - self.absent
    }

    /// The places for [`StrategyKind::Torus3d`](crate::StrategyKind::Torus3d); places with the
    /// fewest processors come first.
    pub fn placements(&self) -> &[Placement] {
        &self.placements[..usize::from(self.placements_len)]
    }

    pub(crate) const fn cube_extents(&self) -> Option<&Extents> {
        self.cube.as_ref()
    }

    /// The numbers, by dimension, at whose multiples a slice of these sides begins:
    /// [`Description::with_align`].
    pub(crate) fn steps(&self, sides: &[u16]) -> Extents {
        let sides = padded(sides);
        let is_apt = |host: &Extents| {
            let both = || sides.iter().zip(host);
            both().all(|(side, of)| side <= of) || both().all(|(side, of)| side.is_multiple_of(*of))
        };
        let mut align = self.align;
        if self.rotate && !is_apt(&align) {
            let mut order = align;
            any_order(&mut order[..self.grid.dimensions()], &mut |host| {
                let host = padded(host);
                let is_found = is_apt(&host);
                if is_found {
                    align = host;
                }
                is_found
            });
        }
        core::array::from_fn(|at| align[at].min(sides[at]))
    }

    pub(crate) const fn has_placements(&self) -> bool {
        self.placements_len > 0
    }

    /// Whether slices may begin anywhere.
    pub(crate) const fn is_unaligned(&self) -> bool {
        let [a, b, c, d] = self.align;
        a == 1 && b == 1 && c == 1 && d == 1
    }

    /// A hash of the description: FNV-1a of 32 bits. Different descriptions very likely have
    /// different numbers. Never 0.
    pub fn digest(&self) -> u32 {
        let mut hash = 0x811c_9dc5_u32;
        let mut add = |number: u32| {
            for byte in number.to_le_bytes() {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        };
        // The length comes before each list, so that the numbers of the next list cannot be taken
        // for a part of it.
        add(self.grid.dimensions() as u32);
        for at in 0..self.grid.dimensions() {
            add(u32::from(self.grid.side(at)) << 1 | u32::from(self.grid.wraps(at)));
        }
        add(u32::from(self.rotate));
        for sides in [
            self.cube.as_ref(),
            self.multiple.as_ref(),
            Some(&self.align),
        ] {
            add(sides.is_some().into());
            sides
                .into_iter()
                .flatten()
                .for_each(|&side| add(side.into()));
        }
        add(self.shapes_len.into());
        for shape in self.shapes() {
            add(shape.len() as u32);
            shape
                .extents()
                .iter()
                .for_each(|&extent| add(extent.into()));
        }
        add(self.chips_max);
        add(self.placements_len.into());
        for placement in self.placements() {
            let Placement {
                dims,
                seed,
                spacing,
            } = placement;
            let numbers = dims.iter().chain(seed).chain(spacing);
            numbers.for_each(|&number| add(number.into()));
        }
        for hole in self.absent() {
            let numbers = hole.start().iter().chain(hole.sides());
            numbers.for_each(|&number| add(number.into()));
        }
        hash.max(1)
    }
}

/// Shows only the used entries.
impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Description");
        fields
            .field("grid", &self.grid)
            .field("rotate", &self.rotate);
        fields.field("cube", &self.cube());
        fields.field("shapes", &self.shapes());
        fields.field("multiple", &self.multiple());
        fields.field("align", &self.align());
        fields.field("chips_max", &self.chips_max);
        fields.field("placements", &self.placements());
        fields.field("absent", &self.absent()).finish()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
