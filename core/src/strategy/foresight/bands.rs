//! Rows that are alike as one: [`Bands`].

use crate::layout::STRIDE_MAX;
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::search::rectangles::Step;
use crate::word::{Span, WORD_BITS, Word, next_bit};

/// The rows of a two-dimensional mesh, neighbours that are alike put together, with blocks that can become free for a while.
///
/// *In bands*, a submesh has bands in place of rows.
#[derive(Debug)]
pub(super) struct Bands<'a> {
    stride: usize,
    /// The columns of the mesh.
    columns: u32,
    /// The first row of each band, and the number of rows.
    starts: &'a [Word],
    /// The busy bits of each band.
    busy: &'a mut [Word],
    /// The bits of each band that never become free.
    fixed: &'a [Word],
}

impl<'a> Bands<'a> {
    /// The bands of an occupancy. `running` are busy blocks: a band begins wherever one of them begins or ends, so that they consist of whole
    /// bands. `fixed` are bits for all rows of the mesh; the bits of the bands are put in their place.
    ///
    /// # Time complexity
    ///
    /// O(words + blocks).
    pub(super) fn new(
        occupancy: &Occupancy<'_>,
        running: impl Iterator<Item = Submesh>,
        starts: &'a mut [Word],
        busy: &'a mut [Word],
        fixed: &'a mut [Word],
    ) -> Self {
        // One more than rows: a block may end at the top.
        let mut edges: [Word; STRIDE_MAX + 1] = [0; _];
        let mut mark = |row: u16| {
            let row = u32::from(row);
            edges[(row / WORD_BITS) as usize] |= 1 << (row % WORD_BITS);
        };
        for block in running {
            mark(block.base.y);
            mark(block.base.y + block.sides.h);
        }
        let rows = occupancy.busy_rows();
        let stride = occupancy.stride();
        // With a length that is known, rows of one word are compared in registers.
        let len = match stride {
            1 => gather(1, rows, &edges, starts, busy, fixed),
            stride => gather(stride, rows, &edges, starts, busy, fixed),
        };
        Bands {
            stride,
            columns: occupancy.grid().row_len(),
            starts: &starts[..=len],
            busy: &mut busy[..len * stride],
            fixed: &fixed[..len * stride],
        }
    }

    /// The number of bands.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn start(&self, band: usize) -> u16 {
        self.starts[band] as u16
    }

    /// The band of a row, or the number of bands above the mesh.
    fn band(&self, row: u16) -> usize {
        self.starts.partition_point(|&start| start <= row.into()) - 1
    }

    /// A submesh that consists of whole bands, in bands.
    pub(super) fn in_bands(&self, block: Submesh) -> Submesh {
        let Submesh { base, sides } = block;
        let (first, end) = (self.band(base.y), self.band(base.y + sides.h));
        Submesh::new(base.x, first as u16, sides.w, (end - first) as u16)
    }

    /// The number of processors of a submesh that is in bands.
    pub(super) fn area(&self, block: Submesh) -> u32 {
        let Submesh { base, sides } = block;
        let rows = self.start((base.y + sides.h).into()) - self.start(base.y.into());
        u32::from(rows) * u32::from(sides.w)
    }

    #[inline]
    fn busy(&self, band: usize) -> &[Word] {
        &self.busy[band * self.stride..][..self.stride]
    }

    /// One of the running blocks, in bands, becomes free.
    pub(super) fn release(&mut self, block: Submesh) {
        self.change(block, |busy, fixed, bits| *busy &= !(bits & !fixed));
    }

    /// It is busy again.
    pub(super) fn take(&mut self, block: Submesh) {
        self.change(block, |busy, _, bits| *busy |= bits);
    }

    fn change(&mut self, block: Submesh, change: impl Fn(&mut Word, Word, Word)) {
        let Submesh { base, sides } = block;
        let span = Span::new(base.x.into(), sides.w.into());
        let bands = usize::from(base.y)..usize::from(base.y + sides.h);
        for band in bands {
            for word in span.first..=span.last {
                let at = band * self.stride + word;
                change(&mut self.busy[at], self.fixed[at], span.mask(word));
            }
        }
    }

    /// Calls `visit` for every maximal free submesh that meets each of these blocks, which are in bands: each once, if it is free, and for the work in between.
    ///
    /// # Time complexity
    ///
    /// O(bands^2 * words in a row).
    pub(super) fn for_each_maximal_meeting(&self, blocks: &[Submesh], mut visit: impl FnMut(Step)) {
        // With a length that is known, what is done with rows of one word is done in registers.
        match self.stride {
            1 => self.search(1, blocks, &mut visit),
            stride => self.search(stride, blocks, &mut visit),
        }
    }

    /// For each bottom and top band, the runs of the AND of the bands between are as wide as can be; such a run is maximal
    /// if something busy stops it both below and above. The further away the bottom and the top are from the blocks, the less of
    /// their columns is free, and the search ends where nothing is.
    #[inline(always)]
    fn search(&self, stride: usize, blocks: &[Submesh], visit: &mut impl FnMut(Step)) {
        let count = self.len();
        // A submesh that meets all blocks begins not above this band, and ends not below that.
        let begins = blocks.iter().map(|block| block.base.y + block.sides.h - 1);
        let begins = begins.map(usize::from).min().unwrap_or(count - 1);
        let ends = blocks.iter().map(|block| usize::from(block.base.y)).max();
        let ends = ends.unwrap_or(0);
        let whole = Span::new(0, self.columns);
        let mut spans = [whole; 3];
        for (span, block) in spans.iter_mut().zip(blocks) {
            *span = Span::new(block.base.x.into(), block.sides.w.into());
        }
        let spans = &spans[..blocks.len().max(1)];
        let meets = |row: &[Word]| spans.iter().all(|span| span.any(row));

        let and_free = |row: &mut [Word], band: usize| {
            for (free, busy) in row.iter_mut().zip(&self.busy[band * stride..][..stride]) {
                *free &= !busy;
            }
        };
        // Whether any bit is busy in the band; outside the mesh all are.
        let is_stopped = |row: &[Word], band: Option<usize>| match band {
            Some(band) if band < count => {
                let busy = &self.busy[band * stride..][..stride];
                row.iter().zip(busy).any(|(row, busy)| row & busy != 0)
            }
            _ => true,
        };
        let is_run_stopped = |run: Span, band: Option<usize>| match band {
            Some(band) if band < count => run.any(&self.busy[band * stride..][..stride]),
            _ => true,
        };

        // The AND of the bands from the bottom on to the one before `ends`.
        let mut below_ends = [Word::MAX; STRIDE_MAX];
        let below_ends = &mut below_ends[..stride];
        for band in begins + 1..ends {
            and_free(below_ends, band);
        }
        let mut free = [0; STRIDE_MAX];
        let free = &mut free[..stride];
        for bottom in (0..=begins).rev() {
            if bottom < ends {
                and_free(below_ends, bottom);
                if !meets(below_ends) {
                    break;
                }
            }
            free.copy_from_slice(below_ends);
            let below = bottom.checked_sub(1);
            let mut instructions = 200;
            for top in bottom.max(ends)..count {
                instructions += 100 * (1 + stride as u32);
                and_free(free, top);
                if !meets(free) || !is_stopped(free, below) {
                    break;
                }
                if !is_stopped(free, Some(top + 1)) {
                    continue;
                }
                let y = self.start(bottom);
                let h = self.start(top + 1) - y;
                for_each_run_meeting(free, spans, |x, w| {
                    let run = Span::new(x, w);
                    if is_run_stopped(run, below) && is_run_stopped(run, Some(top + 1)) {
                        visit(Step::Found(Submesh::new(x as u16, y, w as u16, h)));
                    }
                });
            }
            visit(Step::Worked(instructions));
        }
    }

    /// The number of processors beside a free submesh that are busy, counted once for each neighbour in it; all beyond the border of the mesh are.
    /// That is the boundary value of the busy list.
    pub(super) fn contact(&self, place: Submesh) -> u32 {
        let Submesh { base, sides } = place;
        let (x, w) = (u32::from(base.x), u32::from(sides.w));
        let span = Span::new(x, w);
        let in_row = |row: Option<u16>| {
            let band = row.map(|row| self.band(row)).filter(|&at| at < self.len());
            band.map_or(w, |band| span.count(self.busy(band)))
        };
        let top = base.y + sides.h;
        let mut contact = in_row(base.y.checked_sub(1)) + in_row(Some(top));
        let is_busy = |bits: &[Word], x: Option<u32>| {
            let x = x.filter(|&x| x < self.columns);
            x.is_none_or(|x| bits[(x / WORD_BITS) as usize] >> (x % WORD_BITS) & 1 == 1)
        };
        let mut band = self.band(base.y);
        let mut row = base.y;
        while row < top {
            let end = self.start(band + 1).min(top);
            let bits = self.busy(band);
            let sides = [is_busy(bits, x.checked_sub(1)), is_busy(bits, Some(x + w))];
            contact += u32::from(end - row) * sides.map(u32::from).iter().sum::<u32>();
            (band, row) = (band + 1, end);
        }
        contact
    }
}

/// Gathers rows that are alike and between which there is no edge in bands; returns how many.
#[inline(always)]
fn gather(
    stride: usize,
    rows: &[Word],
    edges: &[Word],
    starts: &mut [Word],
    busy: &mut [Word],
    fixed: &mut [Word],
) -> usize {
    let mut len = 0;
    for (row, bits) in rows.chunks_exact(stride).enumerate() {
        let fixed_start = row * stride;
        let is_edge = edges[row / WORD_BITS as usize] >> (row % WORD_BITS as usize) & 1 == 1;
        // The bits of the band before are those of the row before.
        let is_alike = len > 0 && !is_edge && {
            let before = (len - 1) * stride;
            (0..stride).all(|word| {
                busy[before + word] == bits[word]
                    && fixed[before + word] == fixed[fixed_start + word]
            })
        };
        if !is_alike {
            starts[len] = row as Word;
            for word in 0..stride {
                busy[len * stride + word] = bits[word];
                fixed[len * stride + word] = fixed[fixed_start + word];
            }
            len += 1;
        }
    }
    starts[len] = (rows.len() / stride) as Word;
    len
}

/// Calls `visit` with start and length of each run of ones that meets all the spans.
#[inline(always)]
fn for_each_run_meeting(row: &[Word], spans: &[Span], mut visit: impl FnMut(u32, u32)) {
    let [first, others @ ..] = spans else {
        return;
    };
    let bits = row.len() as u32 * WORD_BITS;
    let (mut at, end) = (first.start(), first.end());
    while let Some(inside) = next_bit(row, at, true).filter(|&inside| inside < end) {
        let start = match inside == at {
            true => run_start(row, inside),
            false => inside,
        };
        at = next_bit(row, inside, false).unwrap_or(bits);
        let meets = |other: &Span| start < other.end() && other.start() < at;
        if others.iter().all(meets) {
            visit(start, at - start);
        }
    }
}

/// The first bit of the run of ones that a set bit belongs to.
#[inline]
fn run_start(row: &[Word], bit: u32) -> u32 {
    let mut word = (bit / WORD_BITS) as usize;
    // The zeros below the bit.
    let mut zeros = !row[word] & !(Word::MAX << (bit % WORD_BITS));
    while zeros == 0 {
        if word == 0 {
            return 0;
        }
        word -= 1;
        zeros = !row[word];
    }
    word as u32 * WORD_BITS + zeros.ilog2() + 1
}
