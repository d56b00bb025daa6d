//! Errors and names have texts, and no two are the same. Those on the line are compared with the
//! golden frames.

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

use meshalloc::{
    ConfigureError, Coord, Cube, Grid, JobId, Mesh, NodeId, Refusal, Shape, Sides, StrategyKind,
    Submesh,
};
use meshalloc::{RestoreError, SaveError};

/// A sentence each, and no two are alike.
fn assert_apart<T: Display + Debug>(errors: impl IntoIterator<Item = T>) {
    let mut texts = BTreeSet::new();
    for error in errors {
        let text = error.to_string();
        assert!(text.contains(' '), "{error:?} says {text:?}");
        assert!(texts.insert(text), "{error:?} says what another one says");
    }
}

#[test]
fn every_error_says_what_is_wrong() {
    assert_apart(Refusal::ALL);
    // Names for tables and files, without spaces.
    let names: BTreeSet<&str> = Refusal::ALL.iter().map(|refusal| refusal.name()).collect();
    assert_eq!(names.len(), Refusal::ALL.len());
    assert!(
        names
            .iter()
            .all(|name| !name.is_empty() && !name.contains(' '))
    );
    assert_apart([
        RestoreError::Format,
        RestoreError::Malformed,
        RestoreError::Incomplete,
        RestoreError::Configure(ConfigureError::JobsPresent),
        RestoreError::NoRoom,
        RestoreError::Inconsistent,
    ]);
    assert_apart([SaveError::Scheduling, SaveError::Part("there was no room")]);
}

#[test]
fn machines_and_shapes_that_are_none_say_why() {
    let grids = [
        "",
        "mesh 0x4",
        "mesh 2000x2",
        "torus 70x70x70x70",
        "mesh 4x4 wrap 9",
        "mesh 4xx4",
    ];
    assert_apart(grids.map(|text| text.parse::<Grid>().expect_err(text)));
    let many = ["1"; 17].join("x");
    let shapes = ["4y2", &many, "65535x65535x65535x65535x65535"];
    assert_apart(shapes.map(|text| text.parse::<Shape>().expect_err(text)));
    assert_apart([Mesh::new(0, 4).expect_err("no columns")]);
    assert_apart([Cube::new(1, 3).expect_err("no ring")]);
    assert_apart(["best", "leb:x"].map(|text| text.parse::<StrategyKind>().expect_err(text)));
    // What strategies serve.
    let serves: BTreeSet<String> = StrategyKind::ALL
        .iter()
        .map(|kind| kind.serves().to_string())
        .collect();
    assert!(serves.len() > 4, "{serves:?}");
    assert!(serves.iter().all(|text| text.contains(' ')), "{serves:?}");
}

#[test]
fn places_and_names_are_written_as_the_field_does() {
    let texts = [
        (Coord::new(3, 2).to_string(), "<3, 2>"),
        (Sides::new(4, 2).to_string(), "4x2"),
        (Submesh::between(1, 1, 3, 2).to_string(), "(<1, 1>, <3, 2>)"),
        (Mesh::new(16, 22).expect("a mesh").to_string(), "16x22"),
        (Cube::new(4, 3).expect("a cube").to_string(), "4-ary 3-cube"),
        (JobId(12).to_string(), "12"),
        (NodeId(5).to_string(), "5"),
    ];
    for (text, expected) in texts {
        assert_eq!(text, expected);
    }
    let grid: Grid = "torus 8x8x16".parse().expect("a grid");
    let shape: Shape = "4x2x1".parse().expect("a shape");
    assert!(format!("{grid:?}").contains('8'));
    assert!(format!("{shape:?}").contains('4'));
}
