//! Which processors of a run are down, and the jobs that failures interrupt.

use std::collections::BTreeSet;

use meshalloc::{Block, Grid, NodeId, Request};

use crate::failures::{Checkpoint, Timeline};
use crate::processors::intervals;

mod events;

pub(super) struct Failing {
    machine: Grid,
    pub(super) timeline: Timeline,
    /// For each processor, the number of reasons not to give it to a job.
    reasons: Vec<u32>,
    /// The number of processors with at least one reason.
    faulty: u32,
    /// The faulty processors that are spares when the run begins.
    kept: u32,
    /// The number of processors that have failed, if spares replace failed cubes. In that case
    /// `faulty` counts the processors of places.
    failed: i64,
    /// Interrupted jobs that keep their processors and wait until the processors work again.
    stopped: BTreeSet<u32>,
    /// Failures and repairs in a row during which no job left and no measured job was still to
    /// arrive.
    pub(super) futile: u32,
}

impl Failing {
    /// The state in which no processor has failed. Absent processors never work, and do not count
    /// as down. Jobs may have checkpoints even if nothing fails.
    pub(super) fn new(
        machine: Grid,
        absent: &[Block],
        timeline: Option<Timeline>,
        checkpoint: Option<Checkpoint>,
    ) -> Self {
        let mut reasons = vec![0; machine.nodes() as usize];
        for (first, last) in intervals(machine, absent) {
            reasons[first as usize..=last as usize].fill(1);
        }
        Failing {
            machine,
            timeline: timeline.unwrap_or_else(|| Timeline::empty(machine, checkpoint)),
            reasons,
            faulty: 0,
            kept: 0,
            failed: 0,
            stopped: BTreeSet::new(),
            futile: 0,
        }
    }

    /// Processors that have failed.
    pub(super) fn down(&self) -> u32 {
        if self.timeline.has_spares() {
            self.failed as u32
        } else {
            self.faulty
        }
    }

    /// Processors that are not given to jobs, absent ones too.
    pub(super) fn faulty(&self) -> Vec<NodeId> {
        let nodes = (0..).zip(&self.reasons);
        let faulty = nodes.filter(|&(_, &reasons)| reasons > 0);
        faulty.map(|(node, _)| NodeId(node)).collect()
    }

    /// Processors of these blocks that are down.
    #[inline]
    pub(super) fn faulty_in(&self, blocks: &[Block]) -> u32 {
        if self.faulty == 0 {
            return 0;
        }
        let rows = intervals(self.machine, blocks);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        nodes
            .filter(|&node| self.reasons[node as usize] > 0)
            .count() as u32
    }

    /// Whether a job that holds these blocks can run: none of its slices has more faulty processors
    /// than it tolerates.
    fn lets_run(&self, request: &Request, blocks: &[Block]) -> bool {
        let mut slices = 0..request.slices();
        self.faulty == 0
            || slices.all(|number| {
                let blocks = blocks.iter().copied();
                let slice = request.slices.blocks_of(&self.machine, blocks, number);
                let slice: Vec<Block> = slice.collect();
                self.faulty_in(&slice) <= request.tolerated()
            })
    }

    /// Adds or removes a reason not to give the processors of a block to jobs. Returns the
    /// processors whose state changes.
    fn mark(&mut self, block: Block, is_down: bool) -> Vec<NodeId> {
        let rows = intervals(self.machine, &[block]);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        let mut changed = Vec::new();
        for node in nodes {
            let reasons = &mut self.reasons[node as usize];
            let before = *reasons;
            *reasons = if is_down { before + 1 } else { before - 1 };
            if before.min(*reasons) == 0 {
                changed.push(NodeId(node));
            }
        }
        if is_down {
            self.faulty += changed.len() as u32;
        } else {
            self.faulty -= changed.len() as u32;
        }
        changed
    }
}
