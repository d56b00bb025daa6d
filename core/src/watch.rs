//! How long work comes to say how much of it there was, so that its caller can do something else: from the controller ([`Watcher`]) through the
//! allocator ([`Watch`]) to a search ([`Pausing`]), each adding what it has of the machine's state.

use core::fmt;

use crate::blocks::{BlockPool, OnWork, Pausing, TOLD_TOGETHER};
use crate::grid::Block;
use crate::jobs::JobTable;
use crate::occupancy::Occupancy;
use crate::pause::Pausable;

/// What is called when work has gone on for a while, with the state as it is then.
pub(crate) trait OnPause {
    /// About so many instructions of a Cortex-M4 have gone by since the last call, or since the work began.
    fn worked(
        &mut self,
        instructions: u32,
        jobs: &JobTable<'_>,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    );
}

/// Who is called when work has gone on for a while.
pub(crate) type Watcher<'a> = Pausable<&'a mut (dyn OnPause + 'a)>;

impl Watcher<'_> {
    /// The same, with the jobs, for a part of the work that changes none of them.
    #[inline]
    pub(crate) fn beside<'a, 'm>(&'a mut self, jobs: &'a JobTable<'m>) -> Watch<'a, 'm> {
        match self.who() {
            Some(who) => Watch::by(Beside {
                who: &mut **who,
                jobs,
            }),
            None => Watch::never(),
        }
    }
}

/// Who is called when an allocator has worked for a while.
pub(crate) type Watch<'a, 'm> = Pausable<Beside<'a, 'm>>;

/// Somebody who is called, and the jobs.
pub(crate) struct Beside<'a, 'm> {
    who: &'a mut (dyn OnPause + 'a),
    jobs: &'a JobTable<'m>,
}

impl<'m> Watch<'_, 'm> {
    /// About so many instructions have gone by.
    #[inline]
    pub(crate) fn worked(
        &mut self,
        instructions: u32,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) {
        if let Some(Beside { who, jobs }) = self.who() {
            who.worked(instructions, jobs, occupancy, pool);
        }
    }

    /// The words of a block have been visited.
    #[inline]
    pub(crate) fn visited(
        &mut self,
        block: Block,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) {
        if let Some(Beside { who, jobs }) = self.who() {
            let instructions = occupancy.layout().instructions(block);
            who.worked(instructions, jobs, occupancy, pool);
        }
    }

    /// The words of one of several blocks have been visited. Work is told of together; who calls tells of what is `untold` behind the last block.
    #[inline]
    pub(crate) fn visited_one(
        &mut self,
        block: Block,
        untold: &mut u32,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) {
        if self.who().is_some() {
            let instructions = occupancy.layout().instructions(block);
            if *untold >= TOLD_TOGETHER {
                self.worked(core::mem::take(untold), occupancy, pool);
            }
            *untold += instructions;
        }
    }

    /// Whether two blocks overlap.
    #[inline]
    pub(crate) fn overlap(
        &mut self,
        one: Block,
        other: Block,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) -> bool {
        let grid = occupancy.grid();
        self.worked(100 + 20 * grid.dimensions() as u32, occupancy, pool);
        grid.overlap(one, other)
    }

    /// The same, with the occupancy, for a search.
    #[inline]
    pub(crate) fn over<'a>(&'a mut self, occupancy: &'a Occupancy<'m>) -> Over<'a, 'm> {
        Over(match self.who() {
            Some(Beside { who, jobs }) => Pausable::by((
                Beside {
                    who: &mut **who,
                    jobs,
                },
                occupancy,
            )),
            None => Pausable::never(),
        })
    }
}

/// Somebody who is called when a search has gone on for a while, with jobs and occupancy.
pub(crate) struct Over<'a, 'm>(Pausable<(Beside<'a, 'm>, &'a Occupancy<'m>)>);

impl Over<'_, '_> {
    /// What the search calls.
    #[inline]
    pub(crate) fn pausing(&mut self) -> Pausing<'_> {
        match self.0.who() {
            Some(over) => Pausing::by(over),
            None => Pausing::never(),
        }
    }
}

impl OnWork for (Beside<'_, '_>, &Occupancy<'_>) {
    fn worked(&mut self, instructions: u32, pool: &BlockPool<'_>) {
        let (Beside { who, jobs }, occupancy) = self;
        who.worked(instructions, jobs, occupancy, pool);
    }
}

impl fmt::Debug for Over<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Over")
    }
}
