use std::collections::{BTreeMap, HashMap};
use std::fs;

use rand_core::SeedableRng;

use meshalloc::Flags;

use super::*;

const TPU_V4: MixSource = MixSource::BuiltIn(BuiltInMix::TpuV4, None);

fn torus() -> Grid {
    Grid::torus(&[16, 16, 16]).unwrap()
}

fn fits(request: &Request) -> bool {
    fits_turned(torus(), request.shape)
}

fn mix(source: MixSource, drop: bool) -> Result<Mix, String> {
    let mix = Mix::unread(torus(), source, drop);
    mix.read(fits).map_err(|error| error.to_string())
}

#[test]
fn shapes_that_the_machine_never_gives_are_listed_or_left_out_and_counted() {
    let error = mix(TPU_V4, false).unwrap_err();
    assert_eq!(
        error,
        "tpu-v4: 6 shapes can never be placed (4x4x32, 4x4x64, 4x8x32, 4x4x96, 8x8x24, 4x4x192)"
    );
    let dropped = mix(TPU_V4, true).unwrap();
    assert_eq!((dropped.entries.len(), dropped.dropped.len()), (20, 6));
    // 1.4 of the 97.5 percent of the table.
    assert!((dropped.dropped_share() - 1.4 / 97.5).abs() < 1e-12);
    // The same without a word: the name says it.
    let short = mix("tpu-v4:16".parse().unwrap(), false).unwrap();
    assert!(short.dropped_share().is_sign_positive());
    assert_eq!((&short.entries, short.dropped.len()), (&dropped.entries, 0));
    let nothing = Mix::unread(torus(), TPU_V4, true).read(|_| false);
    let error = nothing.unwrap_err().to_string();
    assert_eq!(
        error,
        "tpu-v4: none of its 26 shapes can be placed, or their weights are 0"
    );
}

#[test]
fn shapes_are_drawn_by_their_weights() {
    let mix = mix(TPU_V4, true).unwrap();
    let sampler = mix.sampler().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut drawn: HashMap<Shape, u32> = HashMap::new();
    for _ in 0..200_000 {
        *drawn.entry(sampler(&mut rng).shape).or_default() += 1;
    }
    let all: f64 = mix.entries.iter().map(|entry| entry.weight).sum();
    for entry in &*mix.entries {
        let found = f64::from(drawn[&entry.request.shape]) / 200_000.0;
        assert!(
            (found - entry.weight / all).abs() < 0.004,
            "{entry:?}: {found}"
        );
    }
    let chips = drawn
        .iter()
        .map(|(shape, &count)| f64::from(shape.area()) * f64::from(count));
    let mean = chips.sum::<f64>() / 200_000.0;
    assert!((mean / mix.mean_processors() - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn a_file_has_shapes_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        let path = folder.path().join("mix.csv");
        fs::write(&path, text).unwrap();
        let mix = mix(MixSource::File(path), false);
        mix.map_err(|error| error.replace(&folder.path().display().to_string(), ""))
    };
    let mix = read("weight,shape,note\n3,4X4,a\n1,2x2x2,b\n\n0,1,c\n").unwrap();
    assert_eq!(mix.mean_processors(), (3.0 * 16.0 + 8.0) / 4.0);
    let flags = |text| read(text).unwrap().entries[0].request.flags;
    assert_eq!(flags("shape,weight,rings\n4x4,1,all\n"), Flags::RINGS);
    let two = Flags::RING_0 | Flags::RING_2;
    assert_eq!(flags("rings,shape,weight\n0+2,4x4x4,1\n"), two);
    assert_eq!(flags("rings,shape,weight\n,4x4x4,1\n"), Flags::empty());
    let error = read("rings,shape,weight\n4,4x4x4,1\n").unwrap_err();
    assert!(
        error.contains("rings is \"4\": expected all, extents from 0 to 3"),
        "{error}"
    );
    let priority = |text| read(text).unwrap().entries[0].request.class.priority();
    assert_eq!(priority("shape,weight,priority\n4x4,1,0:30\n"), 30_000_000);
    assert_eq!(priority("shape,weight,priority\n4x4,1,\n"), 0);
    let error = read("shape,weight,priority\n4x4,1,high\n").unwrap_err();
    let expected = "priority is \"high\": expected seconds of a head start, or D-HH:MM:SS";
    assert!(error.contains(expected), "{error}");
    let is_preemptible = |text| {
        read(text).unwrap().entries[0]
            .request
            .class
            .is_preemptible()
    };
    assert!(is_preemptible("shape,weight,preemptible\n4x4,1,Yes\n"));
    assert!(is_preemptible("shape,weight,preemptible\n4x4,1,1\n"));
    assert!(!is_preemptible("shape,weight,preemptible\n4x4,1,0\n"));
    assert!(!is_preemptible("shape,weight,preemptible\n4x4,1,\n"));
    let error = read("shape,weight,preemptible\n4x4,1,2\n").unwrap_err();
    let expected = "preemptible is \"2\": expected 1, true or yes, or 0, false or no";
    assert!(error.contains(expected), "{error}");
    let tolerated = |text| read(text).unwrap().entries[0].request.tolerance.get();
    assert_eq!(tolerated("tolerate,shape,weight\n2,4x4,1\n"), 2);
    assert_eq!(tolerated("shape,weight,tolerate\n4x4,1,\n"), 0);
    let error = read("shape,weight,tolerate\n4x4,1,256\n").unwrap_err();
    let expected = "tolerate is \"256\": expected a number of faulty processors, 0 to 255";
    assert!(error.contains(expected), "{error}");
    let sampler = mix.sampler().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let drawn = (0..1000).map(|_| sampler(&mut rng).processors);
    assert!(drawn.into_iter().all(|processors| processors > 1));
    for (text, expected) in [
        ("", "/mix.csv:1: the file is empty"),
        (
            "shape,wait\n",
            "/mix.csv:1: no column is called weight (found \"shape, wait\")",
        ),
        (
            "shape,weight,shape\n",
            "/mix.csv:1: two columns are called \"shape\"",
        ),
        (
            "shape,weight\n4x4,-1\n",
            "/mix.csv:2: weight is \"-1\": expected a number, 0 or more",
        ),
        (
            "shape,weight\n4x0,1\n",
            "/mix.csv:2: shape is \"4x0\": expected extents of 1 or more",
        ),
        (
            "shape,weight\n4x4\n",
            "/mix.csv:2: 1 cell (expected 2, as in the header)",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = read("shape,weight\n4x4,0\n").unwrap_err();
    assert!(
        error.ends_with("none of its 1 shapes can be placed, or their weights are 0"),
        "{error}"
    );
    for wrong in ["tpu-v4:", "tpu-v4:0", "tpu-v4:16x16", "rfold:65536"] {
        assert!(wrong.parse::<MixSource>().is_err(), "{wrong}");
    }
    let error = "tpu".parse::<MixSource>().unwrap_err().to_string();
    assert!(error.ends_with("did you mean \"tpu-v4\"?"), "{error}");
}

/// Shapes of a size by trying all factors, in the words of the definition.
fn naive_shapes(chips: u32) -> Vec<(usize, [u32; 3])> {
    let mut found = Vec::new();
    let is_side = |side: u32| side == 1 || side.is_multiple_of(2);
    for a in (1..=chips).filter(|a| chips.is_multiple_of(*a)) {
        for b in (a..=chips / a).filter(|b| (chips / a).is_multiple_of(*b)) {
            let c = chips / a / b;
            let sides = [a, b, c];
            let cubes: u32 = sides.iter().map(|side| side.div_ceil(4)).product();
            if c >= b && sides.iter().all(|&side| is_side(side)) && cubes <= 64 {
                let dimensions = sides.iter().filter(|&&side| side > 1).count();
                found.push((dimensions.max(1), sides));
            }
        }
    }
    found
}

#[test]
fn the_mix_of_rfold_is_its_definition() {
    let sizes: Vec<_> = std::iter::once(1)
        .chain((2..=4096).step_by(2))
        .map(|chips| (chips, naive_shapes(chips)))
        .filter(|(_, shapes)| !shapes.is_empty())
        .collect();
    // All even numbers up to 256 are sizes, since a line of that length is a shape.
    assert_eq!(sizes[128].0, 256);
    assert_eq!(sizes.last().unwrap().0, 4096);
    let mut expected: BTreeMap<[u32; 3], f64> = BTreeMap::new();
    let step = 4.0 / sizes.len() as f64;
    let weights: Vec<f64> = (0..sizes.len())
        .map(|at| (-step * at as f64).exp())
        .collect();
    let all: f64 = weights.iter().sum();
    for ((chips, shapes), weight) in sizes.iter().zip(weights) {
        let of = |dimension| shapes.iter().filter(move |shape| shape.0 == dimension);
        let (wanted, other) = match chips {
            ..=256 => ((1, 0.8), 2),
            257..=1024 => ((2, 0.8), 3),
            _ => ((3, 0.8), 2),
        };
        for (dimension, part, else_) in [
            (wanted.0, wanted.1, other),
            (other, 1.0 - wanted.1, wanted.0),
        ] {
            let part = if of(else_).count() == 0 { 1.0 } else { part };
            for (_, shape) in of(dimension) {
                let count = of(dimension).count() as f64;
                expected.insert(*shape, weight / all * part / count);
            }
        }
    }
    let found = rfold();
    assert_eq!(found.len(), expected.len());
    let mut sum = 0.0;
    for entry in &found {
        let extents: Vec<u32> = entry
            .request
            .shape
            .extents()
            .iter()
            .map(|&it| it.into())
            .collect();
        let expected = expected[&[extents[0], extents[1], extents[2]]];
        assert!(
            (entry.weight / expected - 1.0).abs() < 1e-9,
            "{entry:?}: {expected}"
        );
        sum += entry.weight;
    }
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}
