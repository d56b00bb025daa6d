//! Strategies that divide a request into submeshes (`gabl`, `pald-ff`, `pald-bf`), from their
//! definitions: each part is marked in a copy of the machine, and the next one is looked for there.

use std::cmp::Reverse;

use meshalloc::StrategyKind;

use crate::grid::NaiveMachine;
use crate::strategy::{Wanted, best};
use crate::submesh::Rect;

/// The parts of a job; `None` if too few processors are free.
pub fn place(machine: &NaiveMachine, kind: StrategyKind, wanted: &Wanted) -> Option<Vec<Rect>> {
    if wanted.area() > machine.free().into() {
        return None;
    }
    let mut division = Division {
        machine: machine.clone(),
        kind,
        may_rotate: wanted.may_rotate,
        parts: Vec::new(),
    };
    let side = |d| wanted.extents.get(d).map_or(1, |&extent| extent as i32);
    match kind {
        StrategyKind::Gabl => division.greedy(side(0), side(1)),
        _ => division.split(side(0), side(1)),
    }
    Some(division.parts)
}

struct Division {
    machine: NaiveMachine,
    kind: StrategyKind,
    may_rotate: bool,
    parts: Vec<Rect>,
}

impl Division {
    fn take(&mut self, part: Rect) {
        for (x, y) in part.nodes() {
            self.machine.set(self.machine.node(x, y), true);
        }
        self.parts.push(part);
    }

    fn first(&self, w: i32, h: i32) -> Option<Rect> {
        self.machine.scan().free(w, h).next()
    }

    /// PALD: the whole or both parts, each likewise.
    fn split(&mut self, w: i32, h: i32) {
        let found = match self.kind {
            StrategyKind::PaldFf => |of: &Division, w, h| of.first(w, h),
            _ => |of: &Division, w, h| {
                let machine = &of.machine;
                let value = |at: Rect| machine.busy_beyond(Rect::new(0, 0, -1, -1), (at.x1, at.y1));
                best(&machine.scan(), w, h, value)
            },
        };
        let part = found(self, w, h);
        let turned = |of: &Division| found(of, h, w).filter(|_| of.may_rotate);
        if let Some(part) = part.or_else(|| turned(self)) {
            return self.take(part);
        }
        if h >= w {
            self.split(w, h - 1);
            self.split(w, 1);
        } else {
            self.split(w - 1, h);
            self.split(1, h);
        }
    }

    /// GABL: of all sides within those of the part before that have a free place the largest, again
    /// and again.
    fn greedy(&mut self, a: i32, b: i32) {
        let (mut limit, mut missing) = ((a, b), a * b);
        while missing > 0 {
            let (most_w, most_h) = limit;
            let longest = most_w.max(most_h);
            let pairs = (1..=longest).flat_map(|w| (1..=longest).map(move |h| (w, h)));
            let is_within = |&(w, h): &(i32, i32)| {
                let as_it_is = w <= most_w && h <= most_h;
                let turned = self.may_rotate && w <= most_h && h <= most_w;
                w * h <= missing && (as_it_is || turned)
            };
            let mut sides: Vec<_> = pairs.filter(is_within).collect();
            sides.sort_by_key(|&(w, h)| (Reverse(w * h), w.abs_diff(h), (w >= h) != (a >= b)));
            let part = sides.iter().find_map(|&(w, h)| self.first(w, h));
            let part = part.expect("a processor is free");
            missing -= part.size();
            limit = (part.w(), part.h());
            self.take(part);
        }
    }
}
