//! A naive form of backfilling, on one flag for each node: where a job is placed, and what is
//! reserved for a job that waits.

use meshalloc::{Refusal, Request, StrategyKind, Ticks};

use crate::foresight::Outlook;
use crate::strategy::{Held, Strategy, places_anywhere};
use crate::submesh::Rect;
use crate::tolerance;

/// A use of processors until a time: by a running job or a reservation.
#[derive(Clone, Debug)]
pub struct Use {
    /// When it begins.
    pub start: Ticks,
    /// When it is expected to end; `Ticks::MAX`: never.
    pub end: Ticks,
    /// The nodes; empty if a number of processors is reserved.
    pub nodes: Vec<u32>,
    /// The number of processors.
    pub processors: u32,
    /// The number of blocks that need room in the pool: at least two for a reservation, or none.
    pub blocks: usize,
}

/// Whether a reservation under this strategy names nodes, not only a number of processors.
pub fn reserves_nodes(kind: StrategyKind) -> bool {
    !places_anywhere(kind)
}

/// When a job that starts at a time is expected to end.
pub fn end_of(request: &Request, start: Ticks) -> Ticks {
    request
        .estimate
        .map_or(Ticks::MAX, |ticks| start.saturating_add(ticks.get()))
}

/// The machine with its running jobs and reservations.
#[derive(Debug)]
pub struct Situation<'a> {
    /// The strategy and the nodes that are busy.
    pub strategy: &'a Strategy,
    /// A flag for each node.
    pub faulty: &'a [bool],
    /// The present.
    pub now: Ticks,
    /// The running jobs; the end of one that exceeds its estimate is now.
    pub running: Vec<Use>,
    /// The reservations.
    pub reserved: Vec<Use>,
}

impl Situation<'_> {
    /// The machine as a job sees it that runs from a future time until another. A job that runs
    /// now is busy now, even if it exceeds its estimate.
    fn during(&self, from: Option<Ticks>, until: Ticks) -> Strategy {
        let mut busy = self.faulty.to_vec();
        let running = self.running.iter();
        let running = running.filter(|job| from.is_none_or(|from| job.end > from));
        let is_now = from.is_none();
        let from = from.unwrap_or(self.now);
        let reserved = self.reserved.iter();
        let reserved = reserved.filter(|other| other.start < until && other.end > from);
        for node in running.chain(reserved).flat_map(|held| &held.nodes) {
            busy[*node as usize] = true;
        }
        let mut strategy = self.strategy.where_busy(&busy);
        if !is_now {
            // Nothing is known of that time.
            strategy.look(Outlook::default());
        }
        strategy
    }

    /// The faulty nodes that no job holds, for a job that runs from a future time until another.
    fn unheld(&self, from: Option<Ticks>, until: Ticks) -> Vec<u32> {
        let running = self.running.iter();
        let running = running.filter(|job| from.is_none_or(|from| job.end > from));
        let from = from.unwrap_or(self.now);
        let reserved = self.reserved.iter();
        let reserved = reserved.filter(|other| other.start < until && other.end > from);
        let held: Vec<u32> = running
            .chain(reserved)
            .flat_map(|held| held.nodes.clone())
            .collect();
        let nodes = (0..).zip(self.faulty).filter(|&(_, &faulty)| faulty);
        nodes
            .map(|(node, _)| node)
            .filter(|node| !held.contains(node))
            .collect()
    }

    /// The faulty nodes that no job holds now.
    fn unheld_now(&self) -> Vec<u32> {
        self.unheld(None, self.now)
    }

    /// How many faulty nodes that no job holds now a job may have.
    fn usable(&self, request: &Request) -> u32 {
        tolerance::usable(&self.unheld_now(), request)
    }

    /// Places a job now, as if nothing were reserved.
    fn place_freely(&self, request: &Request) -> Result<Held, Refusal> {
        tolerance::place(self.strategy, &self.unheld_now(), request)
    }

    /// The number of processors that are neither used nor reserved at a time.
    fn free_at(&self, time: Ticks) -> i64 {
        let sum = |uses: &[Use], counts: &dyn Fn(&Use) -> bool| {
            let uses = uses.iter().filter(|held| counts(held));
            uses.map(|held| i64::from(held.processors)).sum::<i64>()
        };
        let ended = sum(&self.running, &|job| job.end <= time);
        let reserved = sum(&self.reserved, &|other| {
            other.start <= time && other.end > time
        });
        i64::from(self.strategy.machine().free()) + ended - reserved
    }

    /// Whether this number of processors is free during the whole period.
    fn has_free(&self, processors: u64, from: Ticks, until: Ticks) -> bool {
        let starts = self.reserved.iter().map(|other| other.start);
        let mut times = starts.filter(|start| (from..until).contains(start));
        times.all(|time| self.free_at(time) >= processors as i64)
    }

    /// Places a job now so that it delays no reservation.
    ///
    /// # Errors
    ///
    /// Why it has to wait.
    pub fn place(&self, request: &Request) -> Result<Held, Refusal> {
        let held = self.place_around(request)?;
        if self.has_room(self.strategy.blocks(&held)) {
            Ok(held)
        } else {
            Err(Refusal::Reserved)
        }
    }

    /// Whether the pool has room for this number of further blocks.
    pub fn has_room(&self, blocks: usize) -> bool {
        let uses = self.running.iter().chain(&self.reserved);
        uses.map(|held| held.blocks).sum::<usize>() + blocks <= self.strategy.room()
    }

    fn place_around(&self, request: &Request) -> Result<Held, Refusal> {
        let until = end_of(request, self.now);
        if self.reserved.iter().all(|other| other.start >= until) {
            return self.place_freely(request);
        }
        if reserves_nodes(self.strategy.kind()) {
            self.place_freely(request)?;
            let (then, unheld) = (self.during(None, until), self.unheld(None, until));
            return tolerance::place(&then, &unheld, request).map_err(|refusal| match refusal {
                Refusal::NotSearchedToTheEnd => refusal,
                _ => Refusal::Reserved,
            });
        }
        let processors = self.strategy.check(request)?.taken;
        if processors > (self.strategy.machine().free() + self.usable(request)).into() {
            return Err(Refusal::TooFewFree);
        }
        if self.has_free(processors, self.now, until) {
            return self.place_freely(request);
        }
        // On a copy, since a successful search may advance a random generator.
        Err(self.on_copy(|copy| match copy.place_freely(request) {
            Ok(_) => Refusal::Reserved,
            Err(refusal) => refusal,
        }))
    }

    /// Whether a job would find a place now so that it delays no reservation, if the pool had room.
    pub fn would_start(&self, request: &Request) -> bool {
        // On a copy, since a successful search may advance a random generator.
        self.on_copy(|copy| copy.place_around(request).is_ok())
    }

    fn on_copy<T>(&self, ask: impl FnOnce(&Situation<'_>) -> T) -> T {
        let strategy = self.strategy.clone();
        ask(&Situation {
            strategy: &strategy,
            running: self.running.clone(),
            reserved: self.reserved.clone(),
            ..*self
        })
    }

    /// The reservation for a job that has to wait. It begins at the first end of another job at
    /// which the job fits.
    pub fn reservation(&self, request: &Request) -> Option<Use> {
        let processors = self.strategy.check(request).ok()?.taken;
        let all = self.running.iter().chain(&self.reserved);
        let mut times: Vec<Ticks> = all.map(|held| held.end).collect();
        times.retain(|&time| time < Ticks::MAX);
        times.sort_unstable();
        times.into_iter().find_map(|start| {
            let end = end_of(request, start);
            let (nodes, blocks) = if reserves_nodes(self.strategy.kind()) {
                let then = self.during(Some(start), end);
                self.find(&then, &self.unheld(Some(start), end), request)?
            } else {
                let usable = self.free_at(start) + i64::from(self.usable(request));
                let suffices = usable >= processors as i64 && self.has_free(processors, start, end);
                suffices.then_some((Vec::new(), 0))?
            };
            Some(Use {
                start,
                end,
                nodes,
                processors: processors as u32,
                blocks,
            })
        })
    }

    /// The corner of a dominant free submesh of that time that withholds the fewest nodes now; else
    /// what the strategy chooses, and in how many blocks if they are several. If there is no room
    /// for them, all nodes.
    fn find(
        &self,
        then: &Strategy,
        unheld: &[u32],
        request: &Request,
    ) -> Option<(Vec<u32>, usize)> {
        let place = tolerance::place(then, unheld, request).ok()?;
        let grid = then.grid();
        let mut corners = Vec::new();
        for (w, h) in then.recognized(request) {
            for free in then.dominant_free_submeshes() {
                if w <= free.w() && h <= free.h() {
                    for x in [free.x1, free.x2 - w + 1] {
                        for y in [free.y1, free.y2 - h + 1] {
                            corners.push(Rect::based_at(x, y, w, h));
                        }
                    }
                }
            }
        }
        let machine = self.strategy.machine();
        let best = corners.into_iter().min_by_key(|corner| {
            let free = corner.nodes().filter(|&(x, y)| !machine.is_busy_at(x, y));
            (free.count(), corner.y1, corner.x1, corner.y2, corner.x2)
        });
        if let Some(corner) = best {
            return Some((Held::Box(corner.into()).nodes(grid), 0));
        }
        let blocks = then.blocks(&place);
        Some(if !self.has_room(blocks) {
            ((0..grid.nodes()).collect(), 0)
        } else if blocks == 1 {
            (then.kept_free(&place), 0)
        } else {
            (place.nodes(grid), blocks)
        })
    }
}
