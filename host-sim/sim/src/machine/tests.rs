//! Presets and files agree, and errors have their lines.

use std::fs;

use meshalloc::{Description, Placement, Shape};

use super::*;
use crate::scenario::Setting;

fn of_file(name: &str, text: &str) -> Result<Described, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let source: MachineSource = path.to_str().unwrap().parse().unwrap();
    let place = format!("{}/", folder.path().display());
    let described = source.read().map_err(|error| error.replace(&place, ""));
    Ok(described?.1.unwrap())
}

#[test]
fn a_preset_written_as_a_file_is_the_preset() {
    for name in Description::PRESETS {
        let machine = Description::preset(name).unwrap();
        let keys = MachineKeys::of(Some(name), &machine);
        let text = toml::to_string(&keys)
            .unwrap()
            .replace("chips_max", "chips-max");
        let read = of_file("any.toml", &text).unwrap();
        assert_eq!(read, Described::new(name, machine), "{text}");
        assert_eq!(read.description.digest(), machine.digest());
    }
}

#[test]
fn the_help_of_the_setting_names_every_preset() {
    let help = Setting::of("machine").unwrap().help();
    for name in Description::PRESETS {
        assert!(help.contains(name), "{name}: {help}");
    }
}

#[test]
fn every_key_has_its_part_of_the_machine() {
    let text = "name = 'mine'\nsides = [8, 4, 4]\nwraps = [true, false, true]\nrotate = false\n\
                cube = [2, 2, 2]\nshapes = ['1x1x2', '2X1x1']\nmultiple = [2, 2, 4]\n\
                align = [2, 1, 1]\nchips-max = 64\n\
                placements = [{ dims = [2, 2, 2] }, { dims = [2, 2, 1], seed = [1, 0, 0], spacing = [2, 0, 1] }]\n";
    let Described { name, description } = of_file("x.toml", text).unwrap();
    assert_eq!(name, "mine");
    let grid = Grid::new(&[8, 4, 4], 0b101).unwrap();
    let shapes = [[1, 1, 2], [2, 1, 1]].map(|extents| Shape::new(&extents).unwrap());
    let placements = [
        Placement::new(&[2, 2, 2], &[], &[]),
        Placement::new(&[2, 2, 1], &[1, 0, 0], &[2, 2, 1]),
    ];
    let expected = Description::new(grid)
        .and_then(|machine| machine.with_rotation(false).with_cube(&[2, 2, 2]))
        .and_then(|machine| machine.with_shapes(&shapes))
        .and_then(|machine| machine.with_multiple(&[2, 2, 4]))
        .and_then(|machine| machine.with_align(&[2, 1, 1]))
        .and_then(|machine| {
            let machine = machine.with_chips_max(64);
            machine.with_placements(&placements.map(Result::unwrap))
        });
    assert_eq!(description, expected.unwrap());
    let written = toml::to_string(&MachineKeys::of(None, &description)).unwrap();
    let written = written.replace("chips_max", "chips-max");
    assert_eq!(
        of_file("y.toml", &written).unwrap(),
        Described::new("y", description)
    );
    let text = "sides = [4, 3]\nabsent = [{ start = [0, 0], sides = [2, 1] }, { start = [3, 2] }]";
    let lacking = of_file("lacking.toml", text).unwrap();
    assert_eq!(lacking.description.processors(), 9);
    assert!(lacking.to_string().ends_with(", without 3 processors"));
    let keys = MachineKeys::of(None, &lacking.description);
    let written = toml::to_string(&keys).unwrap();
    assert_eq!(of_file("lacking.toml", &written).unwrap(), lacking);
    // By default it is a mesh on which every shape is legal.
    let plain = of_file("plain.toml", "sides = [4, 3]").unwrap();
    let grid = Grid::mesh(&[4, 3]).unwrap();
    assert_eq!(
        plain,
        Described::new("plain", Description::new(grid).unwrap())
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
            "sides = [4, 4]\nabsent = [{ start = [3, 3], sides = [1, 2] }]\n",
            "m.toml:2: absent: a box is not within the machine, or overlaps another",
        ),
        (
            "sides = [4, 4]\nabsent = [{ start = [3] }]\n",
            "m.toml:2: absent: expected 1 to 4 numbers, and as many",
        ),
        (
            "sides = [2, 2]\nabsent = [{ start = [0, 0], sides = [2, 2] }]\n",
            "m.toml:2: absent: a box is not within the machine, or overlaps another, or no",
        ),
        (
            "sides = [4, 4]\nplacements = [{ dims = [5, 1] }]\n",
            "m.toml:2: placements: a placement or its spacing is longer",
        ),
        (
            "sides = [4, 4]\nwraps = [true, true]\n\
             placements = [{ dims = [2, 1], spacing = [5, 1] }]\n",
            "m.toml:3: placements: a placement or its spacing is longer",
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
            anchor_spacing: { x: 2, y: 2, z: 2 }
      - name: large
        dims:
          x: 8
          y: 8
          z: 8
        regions:
          - { anchor: { x: 0, y: 0, z: 0 }, dims: { x: 8, y: 8, z: 4 }, nodes: 'node[32-287]' }
          - { anchor: { z: 4 }, dims: { x: 8, y: 8, z: 4 }, nodes: 'rack[0-3]n[00-63]' }
";

#[test]
fn a_torus_of_slurm_is_a_machine() {
    let small = of_file("topology.yaml", TOPOLOGY).unwrap();
    let placements = [
        Placement::new(&[2, 2, 1], &[], &[]),
        Placement::new(&[2, 2, 2], &[1, 0, 0], &[2, 2, 2]),
    ];
    let expected = Description::new(Grid::torus(&[4, 4, 2]).unwrap())
        .and_then(|machine| machine.with_placements(&placements.map(Result::unwrap)));
    assert_eq!(small, Described::new("small", expected.unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.yml");
    fs::write(&path, TOPOLOGY).unwrap();
    let named = |name: &str| format!("{}:{name}", path.display()).parse::<MachineSource>();
    let (large, _) = named("large").unwrap().read().unwrap();
    assert_eq!(large, Grid::torus(&[8, 8, 8]).unwrap());
    let error = named("other").unwrap().read().unwrap_err();
    assert!(error.contains("no torus of the name \"other\" (expected one of small, large)"));
    // The machine lacks the places that no region has.
    let regions = "\
torus3d:
  toruses:
    - name: a
      dims: { x: 4, y: 4, z: 2 }
      regions:
        - { dims: { x: 4, y: 4, z: 1 }, nodes: 'n[0-15]' }
        - { anchor: { x: 1, y: 1, z: 1 }, dims: { x: 3, y: 2, z: 1 }, nodes: 'n[16-21]' }
";
    let lacking = of_file("a.yaml", regions).unwrap().description;
    assert_eq!(lacking.processors(), 22);
    let holes = [
        ([0, 0, 1], [4, 1, 1]),
        ([0, 1, 1], [1, 3, 1]),
        ([1, 3, 1], [3, 1, 1]),
    ];
    let holes = holes.map(|(start, sides)| Hole::new(&start, &sides).unwrap());
    assert_eq!(lacking.absent(), holes);
    // A file with a single topology.
    let single =
        "torus3d:\n  toruses:\n    - {name: a, nodes: 'n[0-7]', dims: {x: 2, y: 2, z: 2}}\n";
    assert_eq!(of_file("a.yaml", single).unwrap().name, "a");
}

#[test]
fn errors_of_yaml_have_file_and_line() {
    let change = |from: &str, to: &str| {
        assert!(TOPOLOGY.contains(from), "{from}");
        TOPOLOGY.replacen(from, to, 1)
    };
    for (text, expected) in [
        (
            change("x: 4,", "x: four,"),
            "t.yaml:11: torus \"small\": x: \"four\" (expected a number from 0 to 65535)",
        ),
        (
            change("x: 4,", "x: 65536,"),
            "t.yaml:11: torus \"small\": x: \"65536\" (expected a number",
        ),
        (
            change("x: 4,", "x: 010,"),
            "t.yaml:11: torus \"small\": x: \"010\" (expected a number",
        ),
        (
            change("x: 4,", "x: 4, 'x': 4,"),
            "t.yaml:11: the key \"x\" is there twice",
        ),
        (
            change("{ x: 4, y: 4, z: 2 }", "[4, 4, 2]"),
            "t.yaml:11: torus \"small\": dims: a list (expected a map)",
        ),
        (
            change("        dims: { x: 4, y: 4, z: 2 }\n", ""),
            "t.yaml:10: torus \"small\": no dims",
        ),
        (
            change("y: 2, z: 1 }", "y: 9, z: 1 }"),
            "t.yaml:14: torus \"small\": placements: dims 2x9x1 (expected at most",
        ),
        (
            change("{ x: 4, y: 4, z: 2 }", "{ x: 4, y: 0, z: 2 }"),
            "t.yaml:11: torus \"small\": dims: ",
        ),
        (
            change("name: small", "nam: small"),
            "t.yaml:10: unknown key \"nam\" (expected one of name, dims, nodes, regions, ",
        ),
        (
            change("seed: { x: 1 }", "seed: { x: 4 }"),
            "t.yaml:15: torus \"small\": placements: anchor_seed 4x0x0 (expected a place in",
        ),
        (
            change("y: 2, z: 2 }\n      - name", "y: 0, z: 2 }\n      - name"),
            "t.yaml:15: torus \"small\": placements: anchor_spacing 2x0x2 (expected none,",
        ),
        (
            change(
                "{ x: 2, y: 2, z: 2 }\n      - name",
                "{ x: 5, y: 2, z: 2 }\n      - name",
            ),
            "t.yaml:15: torus \"small\": placements: anchor_spacing 5x2x2 (expected none,",
        ),
        (
            change("anchor_spacing", "anchor_space"),
            "t.yaml:17: torus \"small\": unknown key \"anchor_space\" (expected one of dims, ",
        ),
        (
            change("nodes: node[0-31]", "nodes: node[0-29]"),
            "t.yaml:12: torus \"small\": nodes: \"node[0-29]\": 30 nodes (expected 32, one for",
        ),
        (
            change("nodes: node[0-31]", "nodes: node[0-30],node7"),
            "t.yaml:12: torus \"small\": nodes: node node7 is at two places",
        ),
        (
            change("nodes: node[0-31]", "nodes: node[0-"),
            "t.yaml:12: torus \"small\": nodes: \"node[0-\": brackets",
        ),
        (
            change("        nodes: node[0-31]\n", ""),
            "t.yaml:10: torus \"small\": no place has a node (expected `nodes` or `regions`)",
        ),
        // What is wrong with another torus counts as well, as Slurm reads all of them.
        (
            change("node[32-287]", "node[31-286]"),
            "t.yaml:24: torus \"large\": nodes: node node31 is at two places",
        ),
        (
            change("name: large", "name: small"),
            "t.yaml:18: two toruses have the name \"small\"",
        ),
        (
            change("        regions:\n", "        nodes: a\n        regions:\n"),
            "t.yaml:23: torus \"large\": nodes: regions as well (expected one of them)",
        ),
        (
            change("{ z: 4 }", "{ z: 3 }"),
            "t.yaml:25: torus \"large\": regions: 8x8x4 at 0x0x3 overlaps another region",
        ),
        (
            change("{ z: 4 }", "{ z: 5 }"),
            "t.yaml:25: torus \"large\": regions: 8x8x4 at 0x0x5 (expected a box within",
        ),
        (
            "- topology: a\n  tree: {}\n".to_owned(),
            "t.yaml: no torus (expected torus3d",
        ),
        ("- [\n".to_owned(), "t.yaml:2: "),
        ("a: b\na: *c\n".to_owned(), "t.yaml:2: "),
        (
            format!("{TOPOLOGY}---\n{TOPOLOGY}"),
            "t.yaml:26: a second document (expected one)",
        ),
        ("5\n".to_owned(), "t.yaml:1: \"5\" (expected a list)"),
        (String::new(), "t.yaml:1: nothing (expected a list)"),
    ] {
        let error = of_file("t.yaml", &text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    // As many placements as there are boxes of few sides.
    let places = |count: u16| {
        let place = |at| {
            let [x, y, z] = [at % 8, at / 8 % 8, at / 64].map(|at| 1 + at);
            format!("          - dims: {{ x: {x}, y: {y}, z: {z} }}\n")
        };
        let all: String = (0..count).map(place).collect();
        let all = format!("        placements:\n{all}        regions:");
        TOPOLOGY.replace("        regions:", &all)
    };
    let small = of_file("t.yaml", &places(256)).unwrap();
    assert_eq!(small.description.placements().len(), 2);
    let error = of_file("t.yaml", &places(257)).unwrap_err();
    assert!(
        error.contains("torus \"large\": placements: more than 256"),
        "{error}"
    );
}

#[test]
fn yaml_has_no_aliases_and_few_levels() {
    let dims = |dims: &str| {
        let text = TOPOLOGY.replacen("{ x: 4, y: 4, z: 2 }", dims, 1);
        of_file("t.yaml", &text).unwrap()
    };
    assert_eq!(
        dims("&all { x: +4, y: 0x4, z: '2' }"),
        dims("{ x: 4, y: 4, z: 2 }")
    );
    for (text, expected) in [
        (
            "- &a []\n- *a\n".to_owned(),
            ":2: an alias (Slurm reads none)",
        ),
        ("- &a [*a]\n".to_owned(), ":1: an alias"),
        ("- ".repeat(100_000), ":1: more than 64 levels"),
        ("? ".repeat(100_000), ":1: more than 64 levels"),
        ("[".repeat(100_000), ":1: "),
        ("{a: ".repeat(100_000), ":1: "),
    ] {
        let error = of_file("t.yaml", &text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let deep = |levels| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        of_file("t.yaml", &format!("- tree: {open}{close}\n{TOPOLOGY}"))
    };
    assert_eq!(deep(63).unwrap().name, "small");
    assert!(
        deep(64)
            .unwrap_err()
            .contains("t.yaml:1: more than 64 levels")
    );
}
