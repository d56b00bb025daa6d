//! Each pattern against its definition, written down once more over coordinates, and against counts
//! in closed form.

use std::collections::BTreeMap;

use meshalloc::Shape;

use super::*;

/// To whom each process sends, in order, in iteration 0.
fn sent(pattern: Pattern, request: &Request, draw: u32) -> Vec<Vec<u32>> {
    let steps = Steps::new(pattern, request, draw);
    let of = |p| {
        let steps = (0..steps.count(p)).filter_map(|step| steps.destination(p, step, 0));
        steps.collect()
    };
    (0..request.processors).map(of).collect()
}

/// Requests of one, two and three dimensions, full and with empty places.
fn requests() -> Vec<Request> {
    let shapes: [&[u16]; 12] = [
        &[1],
        &[7],
        &[1, 1],
        &[2, 1],
        &[4, 1],
        &[4, 4],
        &[8, 3],
        &[3, 8],
        &[5, 6],
        &[3, 4, 5],
        &[2, 1, 6],
        &[16, 16],
    ];
    let full = shapes.map(|extents| Request::new(Shape::new(extents).unwrap()));
    let partly = [(4, 2, 7), (5, 3, 13), (6, 6, 31)];
    let partly = partly.map(|(w, h, n)| Request::submesh(w, h).with_processors(n));
    full.into_iter().chain(partly).collect()
}

/// The coordinates of a process, by division, and back.
fn coordinates(request: &Request, mut p: u32) -> Vec<i64> {
    let extents = request.shape.extents();
    let digit = |&extent: &u16| {
        let digit = p % u32::from(extent);
        p /= u32::from(extent);
        i64::from(digit)
    };
    extents.iter().map(digit).collect()
}

/// The process at these coordinates, if there is one.
fn at(request: &Request, coordinates: &[i64]) -> Option<u32> {
    (0..request.processors).find(|&p| self::coordinates(request, p) == coordinates)
}

/// The definition, slowly.
fn defined(pattern: Pattern, request: &Request, root: u32) -> Vec<Vec<u32>> {
    let n = request.processors;
    let others = |p: u32, all: Vec<u32>| -> Vec<u32> {
        let others = all.into_iter().filter(|&to| to != p && to < n);
        others.collect()
    };
    let neighbors = |p: u32, distance: i64| -> Vec<u32> {
        let own = coordinates(request, p);
        let mut found = Vec::new();
        for dimension in 0..own.len() {
            for sign in [1, -1] {
                let mut moved = own.clone();
                moved[dimension] += sign * distance;
                found.extend(at(request, &moved));
            }
        }
        found
    };
    let of = |p: u32| -> Vec<u32> {
        if n == 1 {
            return Vec::new();
        }
        match pattern {
            Pattern::OneToAll if p == root => others(p, (0..n).collect()),
            Pattern::OneToAll => Vec::new(),
            Pattern::AllToAll => (1..n).map(|k| (p + k) % n).collect(),
            Pattern::AllToOne => others(p, vec![root]),
            Pattern::Ring => vec![(p + 1) % n],
            Pattern::NearestNeighbor => neighbors(p, 1),
            Pattern::NBody => {
                let mut all = vec![(p + 1) % n; n as usize / 2];
                all.push((p + n / 2) % n);
                all
            }
            Pattern::Fft => {
                let mut all = Vec::new();
                let mut bit = 1;
                while bit < n {
                    // The sum with the bit, or the difference without it.
                    all.push(if (p / bit).is_multiple_of(2) {
                        p + bit
                    } else {
                        p - bit
                    });
                    bit *= 2;
                }
                others(p, all)
            }
            Pattern::Transpose => {
                let place: Vec<i64> = coordinates(request, p).into_iter().rev().collect();
                let turned: Vec<u16> = request.shape.extents().iter().rev().copied().collect();
                let turned = Request::new(Shape::new(&turned).unwrap());
                others(p, at(&turned, &place).into_iter().collect())
            }
            Pattern::Multigrid => {
                let longest = request.shape.extents().iter().copied().max().unwrap();
                let up: Vec<i64> = (0..16)
                    .map(|l| 1 << l)
                    .take_while(|&d| d < i64::from(longest))
                    .collect();
                let down = up.iter().rev().skip(1);
                let mut all = Vec::new();
                for &distance in up.iter().chain(down) {
                    if coordinates(request, p).iter().all(|c| c % distance == 0) {
                        all.extend(neighbors(p, distance));
                    }
                }
                all
            }
            Pattern::Random => unreachable!("it is drawn"),
        }
    };
    (0..n).map(of).collect()
}

#[test]
fn each_pattern_is_its_definition() {
    for request in requests() {
        let n = request.processors;
        for pattern in Pattern::ALL {
            if pattern == Pattern::Random {
                continue;
            }
            for draw in [0, 1 << 31, u32::MAX] {
                let root = match draw {
                    0 => 0,
                    u32::MAX => n - 1,
                    _ => n / 2,
                };
                let found = sent(pattern, &request, draw);
                assert_eq!(
                    found,
                    defined(pattern, &request, root),
                    "{pattern} {request:?}"
                );
            }
        }
    }
}

#[test]
fn messages_are_as_many_as_closed_forms_say() {
    let count = |pattern, w, h| -> usize {
        sent(pattern, &Request::submesh(w, h), 0)
            .iter()
            .map(Vec::len)
            .sum()
    };
    for (w, h) in [(2, 2), (4, 4), (8, 8), (16, 16)] {
        let n = usize::from(w) * usize::from(h);
        let log = n.ilog2() as usize;
        assert_eq!(count(Pattern::OneToAll, w, h), n - 1);
        assert_eq!(count(Pattern::AllToOne, w, h), n - 1);
        assert_eq!(count(Pattern::AllToAll, w, h), n * (n - 1));
        assert_eq!(
            count(Pattern::NearestNeighbor, w, h),
            4 * (n - usize::from(w))
        );
        assert_eq!(count(Pattern::Ring, w, h), n);
        assert_eq!(count(Pattern::Transpose, w, h), n - usize::from(w));
        assert_eq!(count(Pattern::NBody, w, h), n * (n / 2 + 1));
        assert_eq!(count(Pattern::Fft, w, h), n * log);
        assert_eq!(count(Pattern::Random, w, h), n);
        // A V-cycle of near neighbours on grids of sides w, w/2, .., 2, ..: 4 s (s - 1) messages at
        // side s.
        let sides = (1..=w.ilog2()).map(|l| 1 << l);
        let each = |side: usize| 4 * side * (side - 1);
        let cycle: usize = sides.map(each).sum::<usize>() * 2 - each(2);
        assert_eq!(count(Pattern::Multigrid, w, h), cycle);
    }
    for pattern in Pattern::ALL {
        assert_eq!(count(pattern, 1, 1), 0, "{pattern}");
    }
}

#[test]
fn roots_are_drawn_evenly() {
    // Numbers at even distances give each root as often as any other.
    let request = Request::submesh(5, 2);
    let mut roots = BTreeMap::new();
    for k in 0..1000_u32 {
        let steps = Steps::new(Pattern::OneToAll, &request, k * 4_294_967);
        let root = (0..10).find(|&p| steps.count(p) > 0).unwrap();
        *roots.entry(root).or_insert(0) += 1;
    }
    assert_eq!(roots.len(), 10);
    assert!(
        roots.values().all(|count| (99..=101).contains(count)),
        "{roots:?}"
    );
}

#[test]
fn random_destinations_are_others_evenly_and_anew_in_each_iteration() {
    let request = Request::submesh(5, 2);
    let mut counts = BTreeMap::new();
    for draw in 0..100 {
        let steps = Steps::new(Pattern::Random, &request, draw);
        for p in 0..10 {
            for iteration in 0..90 {
                let to = steps.destination(p, 0, iteration).unwrap();
                assert_eq!(steps.destination(p, 0, iteration), Some(to));
                *counts.entry((p, to)).or_insert(0_u32) += 1;
            }
        }
    }
    // 9,000 draws for each process, 1,000 for each destination: a standard deviation of 30.
    assert_eq!(counts.len(), 90);
    assert!(
        counts
            .iter()
            .all(|(&(p, to), count)| p != to && count.abs_diff(1000) < 130)
    );
    let square: f64 = counts
        .values()
        .map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0)
        .sum();
    // Chi square with 80 degrees of freedom: above 125 once in a thousand times.
    assert!(square < 125.0, "{square}");
}

#[test]
fn patterns_are_read_as_they_are_written() {
    for pattern in Pattern::ALL {
        assert_eq!(pattern.name().parse(), Ok(pattern));
    }
    let error = "near-neighbour".parse::<Pattern>().unwrap_err().to_string();
    assert!(
        error.contains("did you mean \"nearest-neighbor\"?"),
        "{error}"
    );
    for wrong in ["", "ring+", "ring,fft"] {
        assert!(wrong.parse::<Patterns>().is_err(), "{wrong}");
    }
    let long = ["ring"; PATTERNS_MAX + 1].join("+");
    let error = long.parse::<Patterns>().unwrap_err().to_string();
    assert!(error.contains("17: expected at most 16"), "{error}");
    let patterns: Patterns = "ring+fft+n-body".parse().unwrap();
    let taken: Vec<_> = (0..4).map(|job| patterns.of(job)).collect();
    assert_eq!(
        taken,
        [Pattern::Ring, Pattern::Fft, Pattern::NBody, Pattern::Ring]
    );
}

#[test]
fn the_steps_of_a_job_have_the_size_that_is_documented() {
    let bytes = size_of::<Steps>();
    assert!((140..=160).contains(&bytes), "{bytes}");
}
