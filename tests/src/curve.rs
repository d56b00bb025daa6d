//! Linear allocation along a curve (Leung and others 2002), on a list of all processors.

use meshalloc::CurveFit;

use crate::grid::Grid;

/// All processors `(x, y)` of a mesh in the order of the curve: Hilbert's if the mesh is a square
/// with a power of two as side, else boustrophedon.
pub fn curve(w: u32, h: u32) -> Vec<(u32, u32)> {
    if w == h && w.is_power_of_two() {
        return hilbert(w);
    }
    let row = |y: u32| {
        let row: Vec<_> = (0..w).map(|x| (x, y)).collect();
        match y % 2 {
            0 => row,
            _ => row.into_iter().rev().collect(),
        }
    };
    (0..h).flat_map(row).collect()
}

/// Four curves of half the side: the first is mirrored at the diagonal, the last at the other one.
fn hilbert(side: u32) -> Vec<(u32, u32)> {
    if side == 1 {
        return vec![(0, 0)];
    }
    let half = side / 2;
    let inner = hilbert(half);
    let part = |place: &dyn Fn(u32, u32) -> (u32, u32)| {
        let part: Vec<_> = inner.iter().map(|&(x, y)| place(x, y)).collect();
        part
    };
    [
        part(&|x, y| (y, x)),
        part(&|x, y| (x, half + y)),
        part(&|x, y| (half + x, half + y)),
        part(&|x, y| (side - 1 - y, half - 1 - x)),
    ]
    .concat()
}

/// All processors of a grid in the order of the Hilbert curve through the cube around it: sorted by
/// their index on the curve, as Slurm computes it (Skilling 2004, `AxestoTranspose`).
pub fn hilbert_line(grid: &Grid) -> Vec<u32> {
    let longest = grid.sides().iter().max().expect("a side");
    let bits = longest.next_power_of_two().trailing_zeros();
    let mut nodes: Vec<u32> = (0..grid.nodes()).collect();
    nodes.sort_by_cached_key(|&node| index(grid.position(node), bits));
    nodes
}

/// The index of a place on the curve.
fn index(mut x: Vec<u32>, bits: u32) -> u64 {
    let n = x.len();
    // Undoes the turns, from the largest part down.
    for level in (1..bits).rev() {
        let below = (1 << level) - 1;
        for i in 0..n {
            if x[i] >> level & 1 == 1 {
                x[0] ^= below;
            } else {
                let t = (x[0] ^ x[i]) & below;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
    }
    // Gray code.
    for i in 1..n {
        x[i] ^= x[i - 1];
    }
    let set = (1..bits).filter(|&level| x[n - 1] >> level & 1 == 1);
    let t = set.fold(0, |t, level| t ^ ((1 << level) - 1));
    x.iter_mut().for_each(|x| *x ^= t);
    // The highest bits of all axes, then the next ones.
    let digits = (0..bits)
        .rev()
        .flat_map(|bit| x.iter().map(move |x| x >> bit & 1));
    digits.fold(0, |index, digit| index << 1 | u64::from(digit))
}

/// The processors that a request for `count` gets.
pub fn place(
    w: u32,
    h: u32,
    processors: u32,
    fit: CurveFit,
    busy: impl Fn(u32, u32) -> bool,
) -> Option<Vec<(u32, u32)>> {
    place_on(&curve(w, h), processors, fit, |&(x, y)| busy(x, y))
}

/// The same on a line of any processors.
pub fn place_on<P: Copy>(
    line: &[P],
    processors: u32,
    fit: CurveFit,
    busy: impl Fn(&P) -> bool,
) -> Option<Vec<P>> {
    let n = processors as usize;
    let free: Vec<usize> = (0..line.len()).filter(|&i| !busy(&line[i])).collect();
    // Consecutive places together.
    let intervals: Vec<&[usize]> = free.chunk_by(|a, b| a + 1 == *b).collect();
    let lengths: Vec<usize> = intervals.iter().map(|interval| interval.len()).collect();
    let squares_after = |taken: usize| {
        let mut counts = vec![0_u64; line.len() + 1];
        for (i, &length) in lengths.iter().enumerate() {
            counts[if i == taken { length - n } else { length }] += 1;
        }
        counts[1..].iter().map(|count| count * count).sum::<u64>()
    };
    let sufficient: Vec<usize> = match fit {
        // Intervals do not count.
        CurveFit::SmallestRange => Vec::new(),
        _ => (0..intervals.len()).filter(|&i| lengths[i] >= n).collect(),
    };
    let mut taken = sufficient.first().copied();
    for &i in &sufficient {
        let is_better = match fit {
            CurveFit::FirstFit => false,
            CurveFit::BestFit => lengths[i] < lengths[taken?],
            CurveFit::SumOfSquares => squares_after(i) < squares_after(taken?),
            _ => panic!("no model of {fit:?}"),
        };
        if is_better {
            taken = Some(i);
        }
    }
    let places = match taken {
        Some(i) => &intervals[i][..n],
        None => {
            let span = |window: &[usize]| window[n - 1] - window[0];
            let mut windows = free.windows(n);
            let mut least = windows.next()?;
            for window in windows {
                if span(window) < span(least) {
                    least = window;
                }
            }
            least
        }
    };
    Some(places.iter().map(|&i| line[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In two dimensions the two definitions are the same.
    #[test]
    fn the_curve_of_any_dimensions_is_the_usual_one_on_a_square() {
        for side in [1, 2, 4, 8, 32] {
            let of_squares = hilbert(side).into_iter().map(|(x, y)| y * side + x);
            let line = hilbert_line(&Grid::torus(&[side, side]));
            assert!(of_squares.eq(line), "{side}");
        }
    }

    #[test]
    fn both_curves_visit_every_processor_once_and_step_to_neighbours() {
        for (w, h) in [
            (1, 1),
            (2, 2),
            (4, 4),
            (16, 16),
            (64, 64),
            (5, 3),
            (3, 5),
            (16, 8),
        ] {
            let line = curve(w, h);
            assert_eq!(line[0], (0, 0));
            let distance = |a: (u32, u32), b: (u32, u32)| a.0.abs_diff(b.0) + a.1.abs_diff(b.1);
            assert!(line.windows(2).all(|pair| distance(pair[0], pair[1]) == 1));
            let mut visited = line.clone();
            visited.sort_unstable();
            visited.dedup();
            assert_eq!(visited.len() as u32, w * h);
        }
    }
}
