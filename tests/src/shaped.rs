//! Naive forms of LSSA and NAS, whose allocations are no rectangles, on sets of nodes `(x, y)`:
//! from the thesis of Alshdefat 2019 and this project's tie-breaks.

use std::collections::BTreeSet;

use crate::grid::NaiveMachine;
use crate::strategy::Wanted;
use crate::submesh::Rect;

type Nodes = BTreeSet<(i32, i32)>;

/// The first free rectangle of these sides in row-major order.
fn first_fit(machine: &NaiveMachine, w: i32, h: i32) -> Option<Rect> {
    (w > 0 && h > 0).then(|| machine.scan().free(w, h).next())?
}

fn sides(wanted: &Wanted) -> (i32, i32) {
    let side = |at| wanted.extents.get(at).map_or(1, |&side| side as i32);
    (side(0), side(1))
}

/// The shapes of LSSA that are rectangles, the requested one first.
fn rectangles(a: i32, b: i32) -> Vec<(i32, i32)> {
    let mut shapes = vec![(a, b), (b, a)];
    if a % 2 == 0 {
        shapes.extend([(a / 2, 2 * b), (2 * b, a / 2)]);
    }
    if b % 2 == 0 && a != b {
        shapes.extend([(b / 2, 2 * a), (2 * a, b / 2)]);
    }
    shapes
}

/// `LS(c, d, e, f)` of a request whose longer side is `a`.
fn l_shapes(a: i32, b: i32) -> Vec<[i32; 4]> {
    let mut shapes = Vec::new();
    if b < 2 {
        return shapes;
    }
    let (m, c) = (a / 2, (a + 1) / 2);
    if a % 2 == 0 {
        let mut k = 1;
        while k <= (b - 2).max(1) {
            shapes.push([a / 2, b + k, a / 2, b - k]);
            k += if k < 4 { 1 } else { (b / 4).max(1) };
        }
    } else if b - 1 - c == -1 {
        shapes.push([c - 1, b + m + 1, m + 1, b - c + 1]);
    } else {
        let ks = 0..=b - 1 - c;
        shapes.extend(ks.map(|k| [c + k, b + m - k, m - k, b - c - k]));
    }
    shapes
}

/// Exchanges x and y.
fn mirrored(rect: Rect) -> Rect {
    Rect::new(rect.y1, rect.x1, rect.y2, rect.x2)
}

/// The four L shapes in a box with the lower left corner `<0, 0>`, the taller part first.
fn ells([c, d, e, f]: [i32; 4]) -> [[Rect; 2]; 4] {
    let at = Rect::based_at;
    [
        [at(0, 0, c, d), at(c, 0, e, f)],
        [at(0, 0, c, d), at(c, d - f, e, f)],
        [at(e, 0, c, d), at(0, 0, e, f)],
        [at(e, 0, c, d), at(0, d - f, e, f)],
    ]
}

/// What LSSA allocates: a rectangle or the two parts of an L.
pub fn l_shape(machine: &NaiveMachine, wanted: &Wanted) -> Option<Vec<Rect>> {
    let (a, b) = sides(wanted);
    if !wanted.may_rotate {
        return Some(vec![first_fit(machine, a, b)?]);
    }
    let whole = machine.whole();
    if wanted.area() > whole.size() as u64 {
        return None;
    }
    for (w, h) in rectangles(a, b) {
        if let Some(rect) = first_fit(machine, w, h) {
            return Some(vec![rect]);
        }
    }
    let scan = machine.scan();
    let mut orientations = vec![a >= b];
    if a != b {
        orientations.push(a < b);
    }
    for is_upright in orientations {
        for shape in l_shapes(a.max(b), a.min(b)) {
            for parts in ells(shape) {
                let parts = if is_upright {
                    parts
                } else {
                    parts.map(mirrored)
                };
                for (x, y) in whole.nodes() {
                    let moved = parts.map(|p| Rect::new(p.x1 + x, p.y1 + y, p.x2 + x, p.y2 + y));
                    if moved.iter().all(|&part| scan.is_free(part)) {
                        return Some(moved.to_vec());
                    }
                }
            }
        }
    }
    None
}

/// The nuclei of NAS but for the last one.
fn nuclei(a: i32, b: i32) -> Vec<(i32, i32)> {
    if b < 2 {
        return Vec::new();
    }
    let (m, c) = (a / 2, (a + 1) / 2);
    let begins_lower = b - 1 - c == -1;
    let mut nuclei = Vec::new();
    if a % 2 == 0 {
        let first = if begins_lower { -1 } else { 1 };
        nuclei.extend((first..b).map(|k| (a / 2, b + k)));
    } else {
        let mut k = if begins_lower { -1 } else { 0 };
        while b + m - k >= 1 {
            nuclei.push((c + k, b + m - k));
            k += 1;
        }
    }
    nuclei
}

/// The rectangles of `n` nodes, most square first, wider first.
fn factor_pairs(n: i32, whole: Rect) -> Vec<(i32, i32)> {
    let mut pairs: Vec<_> = (1..=whole.w())
        .filter(|w| n % w == 0 && n / w <= whole.h())
        .map(|w| (w, n / w))
        .collect();
    pairs.sort_by_key(|&(w, h)| ((w - h).abs(), h));
    pairs
}

fn neighbours((x, y): (i32, i32)) -> [(i32, i32); 4] {
    [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
}

/// Adds free neighbours in passes over the mesh until there are `n`.
fn grow(machine: &NaiveMachine, nucleus: Rect, n: usize) -> Option<Nodes> {
    let mut set: Nodes = nucleus.nodes().collect();
    while set.len() < n {
        let before = set.clone();
        for (x, y) in machine.whole().nodes() {
            let is_neighbour = neighbours((x, y)).iter().any(|node| before.contains(node));
            if set.len() < n && is_neighbour && !machine.is_busy_at(x, y) {
                set.insert((x, y));
            }
        }
        if set.len() == before.len() {
            return None;
        }
    }
    Some(set)
}

/// The connected components of the free nodes, in the order of their first nodes.
pub fn components(machine: &NaiveMachine) -> Vec<BTreeSet<u32>> {
    let mut components: Vec<BTreeSet<u32>> = Vec::new();
    for node in machine.whole().nodes() {
        let number = machine.node(node.0, node.1);
        if machine.is_busy(number) || components.iter().any(|set| set.contains(&number)) {
            continue;
        }
        let mut found = BTreeSet::new();
        let mut open = vec![node];
        while let Some((x, y)) = open.pop() {
            if !machine.is_busy_at(x, y) && found.insert(machine.node(x, y)) {
                open.extend(neighbours((x, y)));
            }
        }
        components.push(found);
    }
    components
}

/// What NAS allocates: the nucleus, if it is grown from one, and all other nodes.
pub fn neighbor(machine: &NaiveMachine, wanted: &Wanted) -> Option<(Option<Rect>, Vec<u32>)> {
    let (a, b) = sides(wanted);
    let n = wanted.processors as usize;
    let number = |(x, y): (i32, i32)| machine.node(x, y);
    let whole = machine.whole();
    let mut shapes = vec![(a, b)];
    if wanted.may_rotate {
        shapes.push((b, a));
        if let Ok(area) = i32::try_from(wanted.area()) {
            shapes.extend(factor_pairs(area, whole));
        }
    }
    for (w, h) in shapes {
        if let Some(rect) = first_fit(machine, w, h) {
            return Some((None, rect.nodes().take(n).map(number).collect()));
        }
    }
    if !wanted.may_rotate {
        return None;
    }
    let grown = |nucleus: Rect| {
        let mut set = grow(machine, nucleus, n)?;
        nucleus.nodes().for_each(|node| assert!(set.remove(&node)));
        Some((Some(nucleus), set.into_iter().map(number).collect()))
    };
    for (w, h) in nuclei(a.max(b), a.min(b)) {
        // The search would find none.
        if w > whole.w() || h > whole.h() || (w * h) as usize > n {
            continue;
        }
        let nucleus = first_fit(machine, w, h);
        if let Some(grown) = nucleus.and_then(&grown) {
            return Some(grown);
        }
    }
    components(machine).iter().find_map(|component| {
        let first = *component.first()? as i32;
        let (x, y) = (first % whole.w(), first / whole.w());
        grown(Rect::based_at(x, y, 1, 1))
    })
}
