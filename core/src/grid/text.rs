//! The forms of grids and blocks: text, JSON, and the encoding on the wire.

use core::fmt;
use core::str::FromStr;

use super::block::Block;
use super::limits::DIMENSIONS_MAX;
use super::shape::{ShapeError, read_number, write_sides};
use super::topology::{Grid, GridError};
use super::tuple::Tuple;
use crate::texts::texts;

/// `mesh 16x22`, `torus 8x8x16`, `mesh 8x8x16 wrap 0,2`, `4-ary 3-cube`.
impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.dimensions();
        if self.high_first {
            return write!(f, "{}-ary {n}-cube", self.side(0));
        }
        let is_torus = (0..n).all(|at| self.wraps(at));
        f.write_str(if is_torus { "torus " } else { "mesh " })?;
        write_sides(f, self.sides())?;
        if is_torus || self.wraps == 0 {
            return Ok(());
        }
        let mut before = " wrap ";
        for at in (0..n).filter(|&at| self.wraps(at)) {
            write!(f, "{before}{at}")?;
            before = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grid({self})")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Grid {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Grid({=[?]}, wraps {=u16:b})", self.sides(), self.wraps);
    }
}

/// Reads the form that `Display` writes.
impl FromStr for Grid {
    type Err = GridTextError;

    fn from_str(text: &str) -> Result<Grid, GridTextError> {
        let unknown = GridTextError::Unknown;
        let mut words = text.split_ascii_whitespace();
        let mut next = || words.next().ok_or(unknown);
        let (first, second) = (next()?, next()?);
        let grid = if let Some(k) = first.strip_suffix("-ary") {
            let n = second.strip_suffix("-cube").ok_or(unknown)?;
            let k = read_number(k).ok_or(unknown)?;
            let n = read_number(n).ok_or(unknown)?;
            if n > DIMENSIONS_MAX {
                return Err(GridError::Dimensions { dimensions: n }.into());
            }
            let cube = Grid::torus(&Tuple::new(n, |_| k))?;
            cube.radix().ok_or(unknown)?;
            cube.written_high_first()
        } else {
            let sides: Tuple = second.parse()?;
            match (first, words.next()) {
                ("torus", None) => Grid::torus(&sides)?,
                ("mesh", None) => Grid::mesh(&sides)?,
                ("mesh", Some("wrap")) => {
                    let list = words.next().ok_or(unknown)?;
                    let wraps = list.split(',').try_fold(0, |wraps, at| {
                        let bit = read_number(at).and_then(|at| 1_u16.checked_shl(at));
                        bit.map(|bit| wraps | bit)
                    });
                    Grid::new(&sides, wraps.ok_or(unknown)?)?
                }
                _ => return Err(unknown),
            }
        };
        match words.next() {
            None => Ok(grid),
            Some(_) => Err(unknown),
        }
    }
}

/// Why a text is not a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridTextError {
    /// The text has no known form.
    Unknown,
    /// The sides are not numbers with an `x` between them.
    Sides(ShapeError),
    /// The sides, dimensions or wraps are out of range.
    Grid(GridError),
}

texts! { GridTextError: {
    GridTextError::Unknown =>
        "expected a machine as in \"mesh 16x22\", \"torus 8x8x16\", \"mesh 8x8x16 wrap 2\" \
         or \"4-ary 3-cube\"";
    GridTextError::Sides(error) => "{error}";
    GridTextError::Grid(error) => "{error}";
} }

impl From<ShapeError> for GridTextError {
    fn from(error: ShapeError) -> Self {
        GridTextError::Sides(error)
    }
}

impl From<GridError> for GridTextError {
    fn from(error: GridError) -> Self {
        GridTextError::Grid(error)
    }
}

/// A block with its grid, ready to be written as text or JSON: [`Grid::place`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FormattedBlock<'g> {
    grid: &'g Grid,
    block: Block,
}

impl Grid {
    /// The block for display, or as JSON.
    ///
    /// On a two-dimensional mesh the text names the lower left and the upper right node:
    /// `(<1, 1>, <3, 2>)`. The JSON has `x`, `y`, `w` and `h`. On any other grid the text is
    /// `start+extent`, `(1, 1, 0)+(3, 2, 1)`, and the JSON has the arrays `start` and `extent`.
    /// Both use the order in which the grid writes coordinates.
    pub const fn place(&self, block: Block) -> FormattedBlock<'_> {
        FormattedBlock { grid: self, block }
    }
}

impl fmt::Display for FormattedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FormattedBlock { grid, block } = *self;
        if grid.is_plane() {
            let [x, y, w, h] = block.rectangle();
            return write!(
                f,
                "(<{x}, {y}>, <{}, {}>)",
                x.wrapping_add(w).wrapping_sub(1),
                y.wrapping_add(h).wrapping_sub(1)
            );
        }
        let (start, extent) = (grid.start(block), grid.extent(block));
        write!(f, "{}+{}", grid.written(start), grid.written(extent))
    }
}

impl fmt::Debug for FormattedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
mod with_serde {
    use core::fmt;

    use serde::de::{Error, Visitor};
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{DIMENSIONS_MAX, FormattedBlock, Grid};

    impl Serialize for FormattedBlock<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let FormattedBlock { grid, block } = *self;
            let mut map = serializer.serialize_map(None)?;
            if grid.is_plane() {
                for (key, number) in ["x", "y", "w", "h"].into_iter().zip(block.rectangle()) {
                    map.serialize_entry(key, &number)?;
                }
            } else {
                map.serialize_entry("start", &grid.written(grid.start(block)))?;
                map.serialize_entry("extent", &grid.written(grid.extent(block)))?;
            }
            map.end()
        }
    }

    /// The form on the wire: the sides, dimension 0 first; a mask whose bit d is set if dimension d
    /// wraps; whether coordinates are written with the highest dimension first.
    type Wire = (heapless::Vec<u16, DIMENSIONS_MAX>, u16, bool);

    /// Text in a human-readable format, `Wire` in a binary one.
    impl Serialize for Grid {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                return serializer.collect_str(self);
            }
            let sides = self.sides().iter().copied().collect();
            let wire: Wire = (sides, self.wraps, self.high_first);
            wire.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Grid {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Grid, D::Error> {
            if deserializer.is_human_readable() {
                return deserializer.deserialize_str(Text);
            }
            let (sides, wraps, high_first) = Wire::deserialize(deserializer)?;
            let grid = Grid::new(&sides, wraps).map_err(D::Error::custom)?;
            match (high_first, grid.radix()) {
                (false, _) => Ok(grid),
                (true, Some(_)) => Ok(grid.written_high_first()),
                (true, None) => Err(D::Error::custom(
                    "only a k-ary n-cube is written with the highest dimension first",
                )),
            }
        }
    }

    struct Text;

    impl Visitor<'_> for Text {
        type Value = Grid;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a machine, as in \"torus 8x8x16\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Grid, E> {
            text.parse().map_err(E::custom)
        }
    }
}
