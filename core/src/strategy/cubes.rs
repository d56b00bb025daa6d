//! Cubes: a slice of a machine whose cubes are joined by optical switches, in any cubes that fit.
//!
//! # Source
//!
//! - N. Jouppi and others, "TPU v4: An Optically Reconfigurable Supercomputer for Machine Learning
//!   with Hardware Support for Embeddings", Proc. Int. Symp. on Computer Architecture, 2023,
//!   section 2: the machine, and slices of whole cubes.
//! - S. Chen and others, "Toward Co-adapting Machine Learning Job Shape and Cluster Topology",
//!   arXiv:2510.03891 (RFold), 2025: slices of any shape, and folding (`cubes:fold`).
//!
//! Switches join a face of any cube to the opposite face of any other one, processor by processor.
//! So the cubes of a slice need not be neighbours. A side s of a slice takes s div b whole cubes of
//! side b, and s mod b processors of a further cube. The parts of a slice in which the same sides
//! are cut take the same processors of their cubes. All parts begin at the same *offset* within
//! their cubes, so that the links meet: 0 or b - s mod b along a side that is cut and has whole
//! cubes, anything along a side shorter than a cube.
//!
//! The sides are laid along the dimensions in every order, in ascending lexicographic order. The
//! first order that has a place is taken. Among its offsets, the one whose cubes have the fewest
//! free processors left is taken; ties by order, x fastest. Each part takes the cubes with the
//! fewest free processors first, ties by number. A job holds a block for each part, in the order of
//! the sets of sides that are cut ([`Slice`](crate::Slice)).
//!
//! Where the description aligns slices, a part that is cut begins at multiples of its alignment.
//! With the sides of a cube these are multiples of the part's own sides: the cubes are divided into
//! *partitions*.
//!
//! `cubes:fold` tries the request and every box into which one of its sides folds, as
//! [`Folding`](crate::StrategyKind::Folding) does: by the number of cubes, then the longest side,
//! the sum of the sides, and lexicographic order.
//!
//! # Differences from the papers
//!
//! The simulator of RFold lets the parts of a slice have different offsets, although their links do
//! not meet then. It takes cubes in the order of their numbers.
//!
//! # Complexity and memory
//!
//! The machine is read once, O(words + processors / side of a cube), and the cubes are sorted by
//! their free processors. Then each offset of each order takes O(cubes) for each part. A cube of up
//! to 64 processors is one word, which is compared with a part at once. An order that needs more
//! free cubes than there are is not tried. A release takes nothing. Memory: a list with a bit for
//! each processor and two numbers for each cube.
//!
//! # Recognition
//!
//! Complete for slices within a cube and for slices of whole cubes. For mixed slices it is greedy:
//! a part may take the cube that another part needs.
//!
//! ```text
//!   y                  Four cubes of 2 x 2, # busy, and a request for 3 x 3: a whole cube (3), and
//!   3  # #  . .        at offset (0, 0) the parts 1 x 2, 2 x 1 and 1 x 1. 1 x 2 fits into cubes 0
//!   2  . #  . .        and 1 and takes cube 0, as both have three free processors. Then 2 x 1,
//!                      which fits into cube 0 only, finds no place. 1 x 2 in cube 1, 2 x 1 in
//!   1  . #  . .        cube 0 and 1 x 1 in cube 2 would do.
//!   0  . .  . #
//!      0 1  2 3  x
//! ```
//!
//! # Example
//!
//! ```
//! use meshalloc::storage::{HeapStorage, Needs};
//! use meshalloc::{Allocator, Description, Grid, Request, Shape, StrategyKind};
//! // Eight cubes of 2 x 2 x 2.
//! let machine = Description::new(Grid::torus(&[4, 4, 4])?)?.with_cube(&[2, 2, 2])?;
//! let cubes = StrategyKind::Cubes { fold: false };
//! let mut storage = HeapStorage::new(Needs::described(cubes, &machine, 8), 0);
//! let memory = storage.allocator_memory().describing(&machine);
//! let mut allocator = Allocator::new(memory, *machine.grid(), cubes)?;
//! // Sixteen in a row: longer than the machine.
//! let row = allocator.allocate(&Request::new(Shape::new(&[1, 2, 16])?))?;
//! assert_eq!(allocator.blocks(&row)?.count(), 8);
//! // What is left of the cubes is another row.
//! let other = allocator.allocate(&Request::new(Shape::new(&[1, 2, 16])?))?;
//! assert_eq!(allocator.occupancy().free(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::memory::cells_of_cube;
use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::Grid;
use crate::machine::parts::Part;
use crate::machine::{
    Cubes, DESCRIBED_MAX, Description, Extents, Layouts, SliceRule, parts, volume,
};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, bits_from, ones};

/// The demand: all processors of the request, if one of its slices needs no more cubes than there
/// are.
pub(super) fn slice(
    request: &Request,
    grid: &Grid,
    machine: Option<&Description>,
    fold: bool,
) -> Result<u32, Refusal> {
    let cubes = machine.and_then(Cubes::of).ok_or(Refusal::NeverFits)?;
    let rule = SliceRule::InCubes { fold };
    let mut trials = Layouts::new(rule, machine, grid).trials(request, request.shape);
    let fits = trials.any(|trial| cubes.suffice(&trial.sides));
    fits.then_some(request.shape.area())
        .ok_or(Refusal::NeverFits)
}

/// Takes cubes for the first slice that has a place.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    fold: bool,
) -> bool {
    let machine = workspace.machine();
    let Some(cubes) = machine.and_then(Cubes::of) else {
        return false;
    };
    let mut search = Search::new(site.occupancy, cubes, workspace.list, draft);
    let rule = SliceRule::InCubes { fold };
    for trial in Layouts::new(rule, machine, site.grid()).trials(request, request.shape) {
        draft.poll();
        let steps = machine.map_or([1; DESCRIBED_MAX], |of| of.steps(&trial.sides));
        let Some(offset) = search.best_offset(&trial.sides, &steps, draft) else {
            continue;
        };
        search.fit(&trial.sides, &offset, u32::MAX, draft, true);
        return true;
    }
    false
}

/// The cubes of an occupancy.
///
/// Cubes are numbered with x fastest, and the processors within a cube as well.
struct Search<'a> {
    cubes: Cubes<'a>,
    /// The sides of a cube.
    cube: &'a Extents,
    /// The cells of a cube in `free`.
    cells: usize,
    /// A bit for each processor of each cube, set if it is free.
    free: &'a mut [u64],
    /// The cubes in the order of their numbers of free processors. An entry has the number of free
    /// processors in the high half and the cube's own number in the low half.
    order: &'a mut [u64],
    /// The number of the search in which a cube was last taken.
    taken: &'a mut [u64],
    /// The number of the present search.
    number: u64,
    /// The bits of a part.
    pattern: &'a mut [u64],
}

impl<'a> Search<'a> {
    fn new(
        occupancy: &'a Occupancy<'_>,
        cubes: Cubes<'a>,
        list: &'a mut [u64],
        draft: &Draft<'_, '_>,
    ) -> Self {
        let (cells, count) = (cells_of_cube(cubes), cubes.count as usize);
        let (free, list) = list.split_at_mut(count * cells);
        let (order, list) = list.split_at_mut(count);
        let (taken, pattern) = list.split_at_mut(count);
        free.fill(0);
        taken.fill(0);
        read(occupancy, cubes.sides, cells, free);
        for (number, (entry, bits)) in (0..).zip(order.iter_mut().zip(free.chunks_exact(cells))) {
            let free: u32 = bits.iter().map(|bits| bits.count_ones()).sum();
            *entry = u64::from(free) << 32 | number;
        }
        order.sort_unstable();
        draft.poll();
        Search {
            cubes,
            cube: cubes.sides,
            cells,
            free,
            order,
            taken,
            number: 0,
            pattern: &mut pattern[..cells],
        }
    }

    /// The offset at which a slice of these sides leaves the fewest free processors in its cubes;
    /// ties: the first. `None` if the slice fits nowhere. Cut parts begin at multiples of the steps
    /// within their cubes, or of their own side where that is smaller.
    fn best_offset(
        &mut self,
        sides: &Extents,
        steps: &Extents,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Extents> {
        // Each part needs cubes with at least as many free processors as it has.
        for part in parts(sides, self.cube) {
            let enough = |&entry: &u64| (entry >> 32) as u32 >= volume(&part.extents);
            let from = self.order.partition_point(|entry| !enough(entry));
            if ((self.order.len() - from) as u32) < part.cubes {
                return None;
            }
        }
        let mut best: Option<(u32, Extents)> = None;
        let mut offset = [0; DESCRIBED_MAX];
        loop {
            let most = best.map_or(u32::MAX, |(most, _)| most);
            if let Some(left) = self.fit(sides, &offset, most, draft, false) {
                best = Some((left, offset));
            }
            // The next one, x fastest.
            let mut at = 0;
            loop {
                if at == DESCRIBED_MAX {
                    return best.map(|(_, offset)| offset);
                }
                let (whole, rest) = (sides[at] / self.cube[at], sides[at] % self.cube[at]);
                if rest > 0 {
                    let last = self.cube[at] - rest;
                    let own = steps[at].min(rest);
                    let step = if whole == 0 { own } else { last };
                    if step <= last - offset[at] && step.is_multiple_of(own) {
                        offset[at] += step;
                        break;
                    }
                }
                offset[at] = 0;
                at += 1;
            }
        }
    }

    /// The free processors in the cubes that a slice takes at this offset, if they are fewer than
    /// `most`. With `takes` the blocks are written into the draft.
    fn fit(
        &mut self,
        sides: &Extents,
        offset: &Extents,
        most: u32,
        draft: &mut Draft<'_, '_>,
        takes: bool,
    ) -> Option<u32> {
        self.number += 1;
        let mut sum = 0_u32;
        for part in parts(sides, self.cube) {
            self.draw(&part, offset);
            let wanted = u64::from(volume(&part.extents)) << 32;
            let from = self.order.partition_point(|&entry| entry < wanted);
            let mut missing = part.cubes;
            draft.poll();
            for at in from..self.order.len() {
                let entry = self.order[at];
                let cube = entry as u32 as usize;
                let bits = &self.free[cube * self.cells..][..self.cells];
                let mut both = bits.iter().zip(&*self.pattern);
                if self.taken[cube] == self.number || !both.all(|(free, of)| free & of == *of) {
                    continue;
                }
                self.taken[cube] = self.number;
                sum += (entry >> 32) as u32;
                if sum >= most {
                    return None;
                }
                if takes {
                    self.push(cube as u32, &part, offset, draft);
                }
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
            if missing > 0 {
                return None;
            }
        }
        Some(sum)
    }

    /// Where a part begins within its cubes.
    fn start(part: &Part, offset: &Extents, at: usize) -> u16 {
        match part.cut >> at & 1 {
            0 => 0,
            _ => offset[at],
        }
    }

    /// Sets the bits of a part.
    fn draw(&mut self, part: &Part, offset: &Extents) {
        self.pattern.fill(0);
        // Line by line along dimension 0.
        let [_, ys, zs, ws] = part.extents;
        let from = |at: usize| u32::from(Self::start(part, offset, at));
        let [bx, by, bz, _] = self.cube.map(u32::from);
        for w in 0..u32::from(ws) {
            for z in 0..u32::from(zs) {
                for y in 0..u32::from(ys) {
                    let line = ((from(3) + w) * bz + from(2) + z) * by + from(1) + y;
                    let bit = line * bx + from(0);
                    set_run(self.pattern, bit, part.extents[0].into());
                }
            }
        }
    }

    /// Writes the block of a part.
    fn push(&self, cube: u32, part: &Part, offset: &Extents, draft: &mut Draft<'_, '_>) {
        let start = |at| Self::start(part, offset, at);
        draft.push(self.cubes.block(cube, start, |at| part.extents[at]));
    }
}

/// Sets `len` bits from `bit` on.
fn set_run(cells: &mut [u64], mut bit: u32, mut len: u32) {
    while len > 0 {
        let (cell, at) = ((bit / u64::BITS) as usize, bit % u64::BITS);
        let count = len.min(u64::BITS - at);
        cells[cell] |= u64::MAX >> (u64::BITS - count) << at;
        bit += count;
        len -= count;
    }
}

/// Copies the free processors into the bits of their cubes, line by line.
///
/// ```text
///   a line along x     . . # .  # # . .  . . . .      in cubes of 4
///   goes to the cubes  0        1        2            each at the same place
/// ```
fn read(occupancy: &Occupancy<'_>, cube: &Extents, cells: usize, free: &mut [u64]) {
    let grid = occupancy.grid();
    let [bx, by, bz, bw] = cube.map(u32::from);
    let side = |at: usize| u32::from(grid.side(at));
    let [along_x, along_y, along_z] = [side(0) / bx, side(1) / by, side(2) / bz];
    let mut line = 0;
    for w in 0..side(3) {
        for z in 0..side(2) {
            for y in 0..side(1) {
                let (row, before) = occupancy.layout().line(line);
                let busy = occupancy.busy_row(row);
                let first = ((w / bw * along_z + z / bz) * along_y + y / by) * along_x;
                let place = ((w % bw * bz + z % bz) * by + y % by) * bx;
                for x in 0..along_x {
                    let to = &mut free[(first + x) as usize * cells..][..cells];
                    let mut done = 0;
                    while done < bx {
                        let (cell, at) = ((place + done) / u64::BITS, (place + done) % u64::BITS);
                        let len = (bx - done).min(WORD_BITS).min(u64::BITS - at);
                        let bits = !bits_from(busy, (before + x * bx + done) as i32) & ones(len);
                        #[allow(
                            clippy::useless_conversion,
                            reason = "words are shorter on the board"
                        )]
                        {
                            to[cell as usize] |= u64::from(bits) << at;
                        }
                        done += len;
                    }
                }
                line += 1;
            }
        }
    }
}
