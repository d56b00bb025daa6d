//! Linear allocation along a curve (Leung and others 2002), on a list of all processors.

use meshalloc::CurveFit;

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

/// The processors that a request for `count` gets.
pub fn place(
    w: u32,
    h: u32,
    processors: u32,
    fit: CurveFit,
    busy: impl Fn(u32, u32) -> bool,
) -> Option<Vec<(u32, u32)>> {
    let n = processors as usize;
    let line = curve(w, h);
    let free: Vec<usize> = (0..line.len())
        .filter(|&i| !busy(line[i].0, line[i].1))
        .collect();
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
    let sufficient: Vec<usize> = (0..intervals.len()).filter(|&i| lengths[i] >= n).collect();
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
