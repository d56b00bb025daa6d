//! Slurm's `topology.yaml`, of which the tori of the plugin `topology/torus3d` are read:
//!
//! ```yaml
//! - topology: pods
//!   torus3d:
//!     toruses:
//!       - name: pod1
//!         nodes: node[0-31]
//!         dims: { x: 4, y: 4, z: 2 }
//!         placements:
//!           - dims: { x: 2, y: 2, z: 1 }
//!           - dims: { x: 2, y: 2, z: 2 }
//!             anchor_seed: { x: 0, y: 0, z: 0 }
//!             anchor_spacing: { x: 2, y: 2, z: 2 }
//! ```
//!
//! What else is in the file belongs to other parts of Slurm, and is not read.

use std::fmt;

use meshalloc::{Grid, Machine, MachineError, Placement};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{RenderOptions, SnippetMode, Spanned};

use super::Wrong;

struct Topologies(Vec<Topology>);

#[derive(Deserialize)]
struct Topology {
    torus3d: Option<Torus3d>,
}

#[derive(Deserialize)]
struct Torus3d {
    toruses: Vec<Torus>,
}

#[derive(Deserialize)]
struct Torus {
    name: String,
    dims: Spanned<Numbers>,
    #[serde(default)]
    placements: Vec<Spanned<Places>>,
}

#[derive(Deserialize)]
struct Places {
    dims: Numbers,
    #[serde(default)]
    anchor_seed: Numbers,
    #[serde(default)]
    anchor_spacing: Numbers,
}

/// A number for each dimension; 0 where none is given.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Numbers {
    x: u16,
    y: u16,
    z: u16,
}

impl Numbers {
    const fn all(&self) -> [u16; 3] {
        [self.x, self.y, self.z]
    }
}

impl<'de> Deserialize<'de> for Topologies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Topologies;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of topologies")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Topologies, A::Error> {
                let mut all = Vec::new();
                while let Some(topology) = list.next_element()? {
                    all.push(topology);
                }
                Ok(Topologies(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Topologies, A::Error> {
                let only = Topology::deserialize(MapAccessDeserializer::new(map));
                Ok(Topologies(vec![only?]))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// The torus of this name, or the first one, with its name.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<(Option<String>, Machine), Wrong> {
    let topologies: Topologies = serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map(|at| at.line() as usize);
        let mut options = RenderOptions::default();
        options.snippets = SnippetMode::Off;
        let reason = error.render_with_options(options);
        // The place stands before it.
        let reason = reason.split(" at line ").next().unwrap_or_default();
        let reason = reason.replace('\n', ", ");
        Wrong { line, reason }
    })?;
    let of_plugin = topologies.0.into_iter().filter_map(|of| of.torus3d);
    let toruses: Vec<Torus> = of_plugin.flat_map(|of| of.toruses).collect();
    let names: Vec<_> = toruses.iter().map(|torus| torus.name.clone()).collect();
    let is_wanted = |torus: &Torus| name.is_none_or(|name| torus.name == name);
    let Some(torus) = toruses.into_iter().find(is_wanted) else {
        let reason = match (name, &*names.join(", ")) {
            (_, "") => "no torus (expected torus3d with a list of toruses)".to_owned(),
            (name, known) => {
                let name = name.unwrap_or_default();
                format!("no torus of the name {name:?} (expected one of {known})")
            }
        };
        return Err(Wrong { line: None, reason });
    };
    let name = torus.name.clone();
    let wrong = |line: u64, reason: &dyn fmt::Display| Wrong {
        line: usize::try_from(line).ok().filter(|&line| line > 0),
        reason: format!("torus {name:?}: {reason}"),
    };
    let line = torus.dims.referenced.line();
    let grid = Grid::torus(&torus.dims.value.all()).map_err(|error| wrong(line, &error))?;
    let mut machine = Machine::new(grid).map_err(|error| wrong(line, &error))?;
    let mut placements = Vec::new();
    for place in &torus.placements {
        let Places {
            dims,
            anchor_seed,
            anchor_spacing,
        } = &place.value;
        let placement = Placement::new(&dims.all(), &anchor_seed.all(), &anchor_spacing.all());
        placements.extend(placement);
        // One by one, so that the error has the line of the wrong one.
        let with = placement.and_then(|_| machine.with_placements(&placements));
        let line = place.referenced.line();
        machine = with.map_err(|error: MachineError| wrong(line, &error))?;
    }
    Ok((Some(torus.name), machine))
}
