//! Which processors of a run are down, and the jobs that failures interrupt.

use std::collections::BTreeSet;

use meshalloc::{Block, Grid, NodeId, Request};

use crate::failures::{Checkpoint, Timeline};
use crate::processors::intervals;

mod events;

pub(super) struct Failing {
    machine: Grid,
    pub(super) timeline: Timeline,
    /// By processor, how many reasons there are not to give it to a job.
    reasons: Vec<u32>,
    /// Processors with a reason.
    faulty: u32,
    /// Those of them that are spares at first.
    kept: u32,
    /// Processors that have failed, where spares take places: then `faulty` counts places.
    failed: i64,
    /// Jobs that hold processors and wait until these work.
    stopped: BTreeSet<u32>,
    /// Events in a row while no job left and no measured one was to arrive.
    pub(super) futile: u32,
}

impl Failing {
    /// No processor has failed; absent ones never work, and are not among those that are down. If
    /// nothing fails, jobs may have checkpoints all the same.
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

    /// One more or one less reason not to give these processors to jobs; those whose state changes.
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
