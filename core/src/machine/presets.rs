//! Machines as their vendors publish them: [`Description::preset`].

use super::{Description, DescriptionError};
use crate::grid::{Grid, GridError, Shape, ShapeError};

/// A description that is made at compile time.
macro_rules! described {
    ($grid:expr $(, $method:ident($($argument:expr),*))*) => {{
        let Ok(description) = Description::new(known($grid)) else {
            panic!("a preset has few dimensions");
        };
        $(let description = built(description.$method($($argument),*));)*
        description
    }};
}

const fn known(grid: Result<Grid, GridError>) -> Grid {
    match grid {
        Ok(grid) => grid,
        Err(_) => panic!("a preset is a grid"),
    }
}

const fn built(description: Result<Description, DescriptionError>) -> Description {
    match description {
        Ok(description) => description,
        Err(_) => panic!("a preset is described correctly"),
    }
}

const fn shape(shape: Result<Shape, ShapeError>) -> Shape {
    match shape {
        Ok(shape) => shape,
        Err(_) => panic!("a preset has correct shapes"),
    }
}

/// The shapes `AxB`, `AxBxC`.
macro_rules! shapes {
    ($([$($extent:literal),*]),*) => { &[$(shape(Shape::new(&[$($extent),*]))),*] };
}

const TPU_V3: Description = described!(
    Grid::torus(&[32, 32]),
    // The sides are powers of two, at most one doubling apart.
    with_shapes(shapes!(
        [4, 4],
        [4, 8],
        [8, 8],
        [8, 16],
        [16, 16],
        [16, 32],
        [32, 32]
    ))
);

const TPU_V4: Description = described!(
    Grid::torus(&[16, 16, 16]),
    with_cube(&[4, 4, 4]),
    with_shapes(shapes!(
        [1, 1, 1],
        [1, 1, 2],
        [1, 2, 2],
        [2, 2, 2],
        [2, 2, 4],
        [2, 4, 4]
    )),
    with_multiple(&[4, 4, 4]),
    // Hosts.
    with_align(&[2, 2, 1])
);

const TPU_V5E: Description = described!(
    Grid::torus(&[16, 16]),
    with_shapes(shapes!(
        [1, 1],
        [2, 2],
        [2, 4],
        [4, 4],
        [4, 8],
        [8, 8],
        [8, 16],
        [16, 16]
    )),
    // Hosts.
    with_align(&[2, 4])
);

const TPU_V5P: Description = described!(
    Grid::torus(&[16, 20, 28]),
    with_cube(&[4, 4, 4]),
    with_shapes(shapes!([2, 2, 1], [2, 2, 2], [2, 2, 4], [2, 4, 4])),
    with_multiple(&[4, 4, 4]),
    // Hosts.
    with_align(&[2, 2, 1])
)
.with_chips_max(6144);

const TPU_V7X: Description = described!(
    Grid::torus(&[16, 24, 24]),
    with_cube(&[4, 4, 4]),
    with_shapes(shapes!([2, 2, 1], [2, 2, 2], [2, 2, 4], [2, 4, 4])),
    with_multiple(&[4, 4, 4]),
    // Smaller slices are partitions of a cube.
    with_align(&[4, 4, 4])
)
.with_rotation(false);

const TRN2_ULTRA: Description = described!(
    Grid::torus(&[4, 4, 4]),
    // Whole instances.
    with_multiple(&[4, 4, 1])
)
.with_rotation(false);

const GALAXY: Description = described!(Grid::mesh(&[8, 4]));

impl Description {
    /// The names of the presets.
    pub const PRESETS: [&str; 8] = [
        "tpu-v3",
        "tpu-v4",
        "tpu-v5e",
        "tpu-v6e",
        "tpu-v5p",
        "tpu-v7x",
        "trn2-ultra",
        "galaxy",
    ];

    /// The machine of this name, as its vendor publishes it (2023 to 2026). `None` if there is no
    /// such preset.
    ///
    /// | preset | machine | legal slices |
    /// |---|---|---|
    /// | `tpu-v3` | torus 32x32 | 4x4, 4x8, 8x8, .., 32x32 |
    /// | `tpu-v4` | torus 16x16x16, cubes of 4x4x4, hosts of 2x2x1 | 1x1x1 to 2x4x4, and multiples of 4x4x4 |
    /// | `tpu-v5e`, `tpu-v6e` | torus 16x16, hosts of 2x4 | 1x1, 2x2, 2x4, 4x4, .., 16x16 |
    /// | `tpu-v5p` | torus 16x20x28, cubes of 4x4x4, hosts of 2x2x1 | 2x2x1 to 2x4x4, 4i x 4j x 4k up to 6,144 |
    /// | `tpu-v7x` | torus 16x24x24, cubes of 4x4x4 | 2x2x1, 2x2x2, 2x2x4, 2x4x4, partitions of a cube; multiples of 4x4x4 |
    /// | `trn2-ultra` | torus 4x4x4 | 4x4x1, 4x4x2, 4x4x3, 4x4x4 |
    /// | `galaxy` | mesh 8x4 | any |
    pub const fn preset(name: &str) -> Option<Description> {
        match name.as_bytes() {
            b"tpu-v3" => Some(TPU_V3),
            b"tpu-v4" => Some(TPU_V4),
            b"tpu-v5e" | b"tpu-v6e" => Some(TPU_V5E),
            b"tpu-v5p" => Some(TPU_V5P),
            b"tpu-v7x" => Some(TPU_V7X),
            b"trn2-ultra" => Some(TRN2_ULTRA),
            b"galaxy" => Some(GALAXY),
            _ => None,
        }
    }
}
