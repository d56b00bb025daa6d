//! Cells of a table that hold the shape of a request, or its rings.

use meshalloc::{Flags, Shape, Slices};

use super::text_file::bad;

/// Reads a shape, such as `4x4x8`, or a gang of them, such as `3x 4x4x8`.
pub(super) fn read_shape(cell: &str) -> Result<(Slices, Shape), String> {
    let text = cell.to_ascii_lowercase();
    let (slices, shape) = Slices::split(&text)
        .map_err(|_| bad("shape", cell, &format!("1 to {} slices", Slices::MOST)))?;
    let shape = shape.parse().ok();
    let shape = shape.filter(|shape: &Shape| shape.area() > 0);
    let shape = shape.ok_or_else(|| {
        let expected = "extents of 1 or more, such as 4x4x8, or a number of slices before them, \
                        such as 3x 4x4x8";
        bad("shape", cell, expected)
    });
    Ok((slices, shape?))
}

/// Reads which rings a job demands: none in an empty cell.
pub(super) fn read_rings(cell: &str) -> Result<Flags, String> {
    const RINGS: [Flags; 4] = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];
    let ring = |extent: &str| {
        let extent = extent.trim().parse().ok();
        extent.and_then(|extent: usize| RINGS.get(extent).copied())
    };
    let rings: Option<Flags> = match cell {
        "" => Some(Flags::empty()),
        "all" => Some(Flags::RINGS),
        extents => extents.split('+').map(ring).collect(),
    };
    rings.ok_or_else(|| {
        bad(
            "rings",
            cell,
            "all, extents from 0 to 3 such as 0+2, or nothing",
        )
    })
}
