//! Controllers as on a board, and their twins in process.

use meshalloc::{
    Block, Change, Configuration, Controller, Cube, Error, Event, EventKind, Grid, JobId, Mesh,
    Outcome, Request, SchedulerKind, Shape, Storage, StrategyKind, Victims,
};

use crate::line::Random;

/// The jobs a [`Board`] has room for.
pub(crate) const JOBS: usize = 24;

/// The memory of a small board: a mesh of up to 16 x 16, or any other grid of 256 processors, with
/// words of 32 or 64 bits.
pub(crate) type Board = Storage<16, JOBS, 32, 256, 256>;

pub(crate) fn on(machine: Grid, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

pub(crate) fn configuration(w: u16, h: u16, strategy: StrategyKind) -> Configuration {
    on(Mesh::new(w, h).expect("sides in range").grid(), strategy)
}

pub(crate) fn on_cube(k: u16, n: u8, strategy: StrategyKind) -> Configuration {
    on(Cube::new(k, n).expect("a cube").grid(), strategy)
}

/// The grid of this text.
pub(crate) fn grid(text: &str) -> Grid {
    text.parse().expect(text)
}

/// Its configuration after a reset.
pub(crate) fn at_reset(board: &mut Board) -> Controller<'_> {
    let configuration = configuration(16, 16, StrategyKind::FirstFit);
    Controller::new(board.memory(), configuration).expect("16 x 16 fits")
}

pub(crate) fn submit(job: u32, w: u16, h: u16) -> Change {
    Change::submit(JobId(job), Request::submesh(w, h))
}

pub(crate) fn request(extents: &[u16]) -> Request {
    Request::new(Shape::new(extents).expect("extents of some machine"))
}

pub(crate) fn submit_shape(job: u32, extents: &[u16]) -> Change {
    Change::submit(JobId(job), request(extents))
}

pub(crate) fn release(job: u32) -> Change {
    Change::Release { job: JobId(job) }
}

/// A job is to preempt up to two others.
pub(crate) fn preempt(random: &mut Random) -> Change {
    let [job, victim, other] = [(); 3].map(|()| JobId(random.below(12) as u32));
    let victims = [victim, other];
    let victims = Victims::new(&victims[..random.below(3)]).expect("at most 2");
    Change::Preempt { job, victims }
}

/// What a change led to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Led {
    /// The events, each with the blocks of a grant.
    pub(crate) events: Vec<(Event, Vec<Block>)>,
    pub(crate) outcome: Result<Outcome, Error>,
}

impl Led {
    /// The jobs that were granted, each with its blocks.
    pub(crate) fn grants(&self) -> Vec<(JobId, &[Block])> {
        let grants = self.events.iter();
        let grants = grants.filter(|(event, _)| matches!(event.what, EventKind::Granted { .. }));
        grants
            .map(|(event, blocks)| (event.job, &blocks[..]))
            .collect()
    }
}

/// Has a change carried out in process.
pub(crate) fn handle(controller: &mut Controller<'_>, change: &Change, now: u64) -> Led {
    let known = controller.events();
    let outcome = controller.handle(change, now);
    let view = controller.view();
    let events = view.events_since(known).map(|event| {
        let blocks = match event.what {
            EventKind::Granted { .. } => view.blocks(event.job).collect(),
            _ => Vec::new(),
        };
        (event, blocks)
    });
    let events = events.collect();
    Led { events, outcome }
}
