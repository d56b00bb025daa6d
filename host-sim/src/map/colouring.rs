//! Colours for jobs: two jobs that touch, along an edge or at a corner, differ.
//!
//! Greedy: job by job, the first colour that no neighbour has yet. Each job begins with a colour
//! that depends on its name alone and continues cyclically, so that a job usually has the same
//! colour in the maps of several strategies, and all colours are used.

use std::collections::BTreeSet;

use super::snapshot::{Owner, Snapshot};
use meshalloc_sim::layout::{Layout, ONE_ROW};

/// Colours that people with any colour vision can tell apart (M. Okabe and K. Ito, Color Universal
/// Design, 2008), but black and white, which stand for something else here.
const BASE: [[u8; 3]; 7] = [
    [86, 180, 233],
    [230, 159, 0],
    [0, 158, 115],
    [240, 228, 66],
    [204, 121, 167],
    [213, 94, 0],
    [0, 114, 178],
];

/// The colours of a terminal (out of its 256) next to [`BASE`], then those next to its light and
/// dark variants.
const TERMINAL: [u8; 21] = [
    74, 178, 36, 227, 175, 166, 25, 153, 223, 115, 230, 225, 216, 110, 31, 136, 22, 142, 96, 94, 18,
];

/// The number of colours that are used as long as no job has that many neighbours.
pub const PALETTE: usize = BASE.len();

/// A colour by its number, as red, green, blue; lighter or darker from [`PALETTE`] on.
pub fn rgb(colour: usize) -> [u8; 3] {
    let base = BASE[colour % PALETTE];
    let (towards, part) = match colour / PALETTE {
        0 => (0, 0.0),
        1 => (255, 0.6),
        2 => (0, 0.4),
        more => (0, 1.0 - 1.5 / more as f64),
    };
    base.map(|light| {
        let light = f64::from(light);
        (light + (f64::from(towards) - light) * part).round() as u8
    })
}

/// A colour by its number, of a terminal's 256. There are 21; beyond that they repeat.
pub fn terminal(colour: usize) -> u8 {
    TERMINAL[colour % TERMINAL.len()]
}

/// Whether black is easier to read on this colour than white.
pub fn is_light([red, green, blue]: [u8; 3]) -> bool {
    let [red, green, blue] = [red, green, blue].map(f64::from);
    0.299 * red + 0.587 * green + 0.114 * blue > 130.0
}

/// A colour for each job, in the order of the jobs: below `palette` as far as that many colours are
/// enough.
pub fn colours(snapshot: &Snapshot, palette: usize) -> Vec<usize> {
    let neighbours = neighbours(snapshot);
    let mut colours: Vec<Option<usize>> = vec![None; snapshot.jobs.len()];
    let jobs = snapshot.jobs.iter().zip(&neighbours);
    for (place, (job, neighbours)) in jobs.enumerate() {
        let used: BTreeSet<usize> = neighbours
            .iter()
            .filter_map(|&other| colours[other])
            .collect();
        let first = job.id.0 as usize % palette;
        let round = (0..palette).map(|step| (first + step) % palette);
        let mut candidates = round.chain(palette..);
        colours[place] = candidates.find(|colour| !used.contains(colour));
    }
    colours.into_iter().flatten().collect()
}

/// For each job the places of those that touch it.
pub fn neighbours(snapshot: &Snapshot) -> Vec<BTreeSet<usize>> {
    let owners = snapshot.owners(&Layout::new(snapshot.plan, ONE_ROW, 1));
    let mut neighbours = vec![BTreeSet::new(); snapshot.jobs.len()];
    let mut note = |a: Option<Owner>, b: Option<Owner>| {
        if let (Some(Owner::Job(a)), Some(Owner::Job(b))) = (a, b)
            && a != b
        {
            neighbours[a].insert(b);
            neighbours[b].insert(a);
        }
    };
    for y in 0..owners.height() {
        for x in 0..owners.width() {
            let here = owners.get(x, y);
            note(here, owners.get(x + 1, y));
            note(here, owners.get(x, y + 1));
            note(here, owners.get(x + 1, y + 1));
            note(owners.get(x + 1, y), owners.get(x, y + 1));
        }
    }
    neighbours
}
