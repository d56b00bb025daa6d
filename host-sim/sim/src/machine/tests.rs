//! Presets and files agree, and errors have their lines.

use std::fs;

use meshalloc::{Machine, Placement, Shape};

use super::*;
use crate::scenario::Setting;

fn of_file(name: &str, text: &str) -> Result<Description, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let source: MachineSource = path.to_str().unwrap().parse().unwrap();
    let place = format!("{}/", folder.path().display());
    source.read().map_err(|error| error.replace(&place, ""))
}

#[test]
fn a_preset_written_as_a_file_is_the_preset() {
    for name in Machine::PRESETS {
        let machine = Machine::preset(name).unwrap();
        let keys = MachineKeys::of(Some(name), &machine);
        let text = toml::to_string(&keys)
            .unwrap()
            .replace("chips_max", "chips-max");
        let read = of_file("any.toml", &text).unwrap();
        assert_eq!(read, Description::new(name, machine), "{text}");
        assert_eq!(read.machine.digest(), machine.digest());
    }
}

#[test]
fn the_help_of_the_setting_names_every_preset() {
    let help = Setting::of("machine").unwrap().help();
    for name in Machine::PRESETS {
        assert!(help.contains(name), "{name}: {help}");
    }
}

#[test]
fn every_key_has_its_part_of_the_machine() {
    let text = "name = 'mine'\nsides = [8, 4, 4]\nwraps = [true, false, true]\nrotate = false\n\
                cube = [2, 2, 2]\nshapes = ['1x1x2', '2X1x1']\nmultiple = [2, 2, 4]\n\
                align = [2, 1, 1]\nchips-max = 64\n\
                placements = [{ dims = [2, 2, 2] }, { dims = [2, 2, 1], seed = [1, 0, 0], spacing = [2, 0, 1] }]\n";
    let Description { name, machine } = of_file("x.toml", text).unwrap();
    assert_eq!(name, "mine");
    let grid = Grid::new(&[8, 4, 4], 0b101).unwrap();
    let shapes = [[1, 1, 2], [2, 1, 1]].map(|extents| Shape::new(&extents).unwrap());
    let placements = [
        Placement::new(&[2, 2, 2], &[], &[]),
        Placement::new(&[2, 2, 1], &[1, 0, 0], &[2, 2, 1]),
    ];
    let expected = Machine::new(grid)
        .and_then(|machine| machine.with_rotation(false).with_cube(&[2, 2, 2]))
        .and_then(|machine| machine.with_shapes(&shapes))
        .and_then(|machine| machine.with_multiple(&[2, 2, 4]))
        .and_then(|machine| machine.with_align(&[2, 1, 1]))
        .and_then(|machine| {
            let machine = machine.with_chips_max(64);
            machine.with_placements(&placements.map(Result::unwrap))
        });
    assert_eq!(machine, expected.unwrap());
    let written = toml::to_string(&MachineKeys::of(None, &machine)).unwrap();
    let written = written.replace("chips_max", "chips-max");
    assert_eq!(
        of_file("y.toml", &written).unwrap(),
        Description::new("y", machine)
    );
    // By default it is a mesh on which every shape is legal.
    let plain = of_file("plain.toml", "sides = [4, 3]").unwrap();
    let grid = Grid::mesh(&[4, 3]).unwrap();
    assert_eq!(
        plain,
        Description::new("plain", Machine::new(grid).unwrap())
    );
    assert!(!plain.has_rules());
}

#[test]
fn errors_of_toml_have_file_and_line() {
    for (text, expected) in [
        (
            "sides = [4, 4]\nwrap = [true]\n",
            "m.toml:2: unknown field `wrap`, expected one of",
        ),
        ("name = 'x'\n", "m.toml:1: missing field `sides`"),
        ("sides = [4, 4]\n\nsides = [4]\n", "m.toml:3: duplicate key"),
        (
            "sides = [4, -1]\n",
            "m.toml:1: sides: invalid value: integer `-1`, expected a whole number",
        ),
        (
            "\nsides = 8\n",
            "m.toml:2: sides: invalid type: integer `8`, expected a list",
        ),
        ("sides = []\n", "m.toml:1: sides: "),
        (
            "sides = [2, 2, 2, 2, 2]\n",
            "m.toml:1: sides: expected 1 to 4 numbers",
        ),
        (
            "sides = [4, 4]\nwraps = [true]\n",
            "m.toml:2: wraps: 1 value (expected 2, one for each side",
        ),
        (
            "# a cube\nsides = [4, 4]\n\ncube = [3, 4]\n",
            "m.toml:4: cube: a side of the machine is not a multiple",
        ),
        (
            "sides = [4, 4]\nshapes = [\n  '2x2', 'two'\n]\n",
            "m.toml:2: shapes: \"two\": ",
        ),
        (
            "sides = [4, 4]\nmultiple = [2]\n",
            "m.toml:2: multiple: expected 1 to 4 numbers",
        ),
        (
            "sides = [4, 4]\nalign = [0, 1]\n",
            "m.toml:2: align: a side is 0",
        ),
        (
            "sides = [4, 4]\nchips-max = 0\n",
            "m.toml:2: chips-max: 0 (expected at least 1)",
        ),
        (
            "sides = [4, 4]\nplacements = [{ dims = [5, 1] }]\n",
            "m.toml:2: placements: a placement is longer",
        ),
        (
            "sides = [4, 4]\nplacements = [{ dim = [2, 1] }]\n",
            "m.toml:2: placements: unknown field `dim`",
        ),
    ] {
        let error = of_file("m.toml", text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let missing: MachineSource = "missing/m.toml".parse().unwrap();
    let error = missing.read().unwrap_err();
    assert!(
        error.starts_with("missing/m.toml: cannot read the machine: "),
        "{error}"
    );
}

const TOPOLOGY: &str = "\
- topology: tree
  cluster_default: true
  tree:
    switches:
      - switch: s1
        nodes: node[0-3]
- topology: pods
  torus3d:
    toruses:
      - name: small
        dims: { x: 4, y: 4, z: 2 }
        nodes: node[0-31]
        placements:
          - dims: { x: 2, y: 2, z: 1 }
          - dims: { x: 2, y: 2, z: 2 }
            anchor_seed: { x: 1 }
            anchor_spacing: { x: 2, y: 0, z: 2 }
      - name: large
        dims:
          x: 8
          y: 8
          z: 8
        regions:
          - { begin: { x: 0, y: 0, z: 0 }, nodes: 'node[32-543]' }
";

#[test]
fn a_torus_of_slurm_is_a_machine() {
    let small = of_file("topology.yaml", TOPOLOGY).unwrap();
    let placements = [
        Placement::new(&[2, 2, 1], &[], &[]),
        Placement::new(&[2, 2, 2], &[1, 0, 0], &[2, 2, 2]),
    ];
    let expected = Machine::new(Grid::torus(&[4, 4, 2]).unwrap())
        .and_then(|machine| machine.with_placements(&placements.map(Result::unwrap)));
    assert_eq!(small, Description::new("small", expected.unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.yml");
    fs::write(&path, TOPOLOGY).unwrap();
    let named = |name: &str| format!("{}:{name}", path.display()).parse::<MachineSource>();
    let large = named("large").unwrap().read().unwrap();
    assert_eq!(*large.machine.grid(), Grid::torus(&[8, 8, 8]).unwrap());
    let error = named("other").unwrap().read().unwrap_err();
    assert!(error.contains("no torus of the name \"other\" (expected one of small, large)"));
    // A file with a single topology.
    let single = "torus3d:\n  toruses:\n    - {name: a, dims: {x: 2, y: 2, z: 2}}\n";
    assert_eq!(of_file("a.yaml", single).unwrap().name, "a");
}

#[test]
fn errors_of_yaml_have_file_and_line() {
    let change = |from: &str, to: &str| {
        assert!(TOPOLOGY.contains(from), "{from}");
        TOPOLOGY.replacen(from, to, 1)
    };
    for (text, expected) in [
        (change("x: 4,", "x: four,"), "t.yaml:11: "),
        (
            change("y: 2, z: 1 }", "y: 9, z: 1 }"),
            "t.yaml:14: torus \"small\": a placement",
        ),
        (
            change("{ x: 4, y: 4, z: 2 }", "{ x: 4, y: 0, z: 2 }"),
            "t.yaml:11: torus \"small\": ",
        ),
        (
            change("name: small", "nam: small"),
            "t.yaml:13: missing field `name`",
        ),
        (
            "- topology: a\n  tree: {}\n".to_owned(),
            "t.yaml: no torus (expected torus3d",
        ),
        ("- [\n".to_owned(), "t.yaml:"),
        (
            "5\n".to_owned(),
            "t.yaml: invalid type: integer `5`, expected a list",
        ),
        (String::new(), "t.yaml"),
    ] {
        let error = of_file("t.yaml", &text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    // Aliases that would grow without bound are refused.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..12 {
        let before = [at - 1; 10].map(|of| format!("*a{of}")).join(", ");
        bomb += &format!("a{at}: &a{at} [{before}]\n");
    }
    assert!(of_file("t.yaml", &bomb).is_err());
}
