//! Why jobs wait on a controller, and what would let them in: [`Situation`].
//!
//! A situation is read from a controller by queries, so it serves a board as it is. What a strategy
//! would do is asked of an [allocator](meshalloc::Allocator) in this process that serves the same
//! machine: processors that jobs hold are marked as faulty there, and those of jobs that leave are
//! cleared. The controller does not change.

use meshalloc::{
    Answer, Block, Configuration, Description, Grid, JobId, JobState, NodeId, Query, Request, Ticks,
};

use crate::backend::{BackendError, Called};

mod boxes;
mod cheapest;
mod departures;
mod places;
mod reason;
mod twin;
mod victims;

pub use cheapest::TRIES_MAX;
pub use departures::{Departures, Earliest};
pub use places::Room;
pub(crate) use reason::may_fit;
pub use reason::{Cause, Reason};
pub use victims::{Preemption, Victim};

/// Asks a controller, wherever it runs: [`Backend::query`](crate::backend::Backend::query), or a
/// client of a board.
pub type Ask<'a> = &'a mut dyn FnMut(&Query) -> Called<Answer>;

/// A job that holds processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its name.
    pub job: JobId,
    /// What it asked for.
    pub request: Request,
    /// What it holds, in the order in which the strategy named them.
    pub blocks: Vec<Block>,
    /// When it was granted.
    pub granted_at: Ticks,
}

/// A job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub job: JobId,
    /// What it asks for.
    pub request: Request,
    /// When it was submitted.
    pub submitted: Ticks,
}

/// The jobs of a controller and the state of its processors, at one moment.
#[derive(Clone, Debug)]
pub struct Situation<'d> {
    /// What is served, and how.
    pub configuration: Configuration,
    /// The rules of the machine, if it has some.
    pub description: Option<&'d Description>,
    /// The jobs that hold processors, by name.
    pub running: Vec<Running>,
    /// The jobs that wait, in the order of the queue.
    pub waiting: Vec<Waiting>,
    /// The faulty processors and those that the machine lacks, by number. A job may hold some of
    /// the faulty ones still.
    pub faulty: Vec<NodeId>,
}

impl<'d> Situation<'d> {
    /// No job is there, and no processor faulty.
    pub const fn idle(configuration: Configuration, description: Option<&'d Description>) -> Self {
        Situation {
            configuration,
            description,
            running: Vec::new(),
            waiting: Vec::new(),
            faulty: Vec::new(),
        }
    }

    /// Reads the situation from a controller that serves this configuration, and changes nothing
    /// there.
    ///
    /// # Errors
    ///
    /// When the controller cannot be reached, or its answers contradict each other: another client
    /// may have changed something meanwhile.
    pub fn read(
        ask: Ask<'_>,
        configuration: Configuration,
        description: Option<&'d Description>,
    ) -> Result<Self, BackendError> {
        let mut situation = Situation::idle(configuration, description);
        situation.faulty = faulty(ask, &configuration.machine)?;
        let mut places = Vec::new();
        for (job, _) in jobs(ask)? {
            let query = Query::Job { job };
            let Answer::Job(report) = answered(ask, &query)? else {
                return Err(odd(&query, "another kind of answer"));
            };
            let request = report.request;
            match report.state {
                JobState::Waiting { ahead } => places.push((
                    ahead,
                    Waiting {
                        job,
                        request,
                        submitted: report.submitted,
                    },
                )),
                JobState::Running { .. } => {
                    let (blocks, granted_at) = blocks(ask, &configuration.machine, job)?;
                    situation.running.push(Running {
                        job,
                        request,
                        blocks,
                        granted_at,
                    });
                }
            }
        }
        situation.running.sort_by_key(|running| running.job);
        places.sort_by_key(|&(ahead, _)| ahead);
        situation.waiting = places.into_iter().map(|(_, waiting)| waiting).collect();
        Ok(situation)
    }
}

fn answered(ask: Ask<'_>, query: &Query) -> Result<Answer, BackendError> {
    ask(query)?.map_err(|error| odd(query, &error.to_string()))
}

fn odd(query: &Query, reply: &str) -> BackendError {
    BackendError::UnexpectedReply {
        command: format!("{query:?}"),
        reply: reply.to_owned(),
    }
}

/// All jobs of a controller, each with the number of processors that it holds.
fn jobs(ask: Ask<'_>) -> Result<Vec<(JobId, u32)>, BackendError> {
    let mut all = Vec::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let query = Query::Jobs { on: None, from };
        let Answer::Jobs(list) = answered(ask, &query)? else {
            return Err(odd(&query, "another kind of answer"));
        };
        all.extend(list.jobs);
        next = list.next;
        if next.is_some_and(|next| next <= from) {
            return Err(odd(&query, "a list that does not end"));
        }
    }
    Ok(all)
}

/// The blocks of a running job, in the order in which the strategy named them, and when it was
/// granted.
fn blocks(ask: Ask<'_>, machine: &Grid, job: JobId) -> Result<(Vec<Block>, Ticks), BackendError> {
    let mut blocks = Vec::new();
    loop {
        let from = blocks.len() as u32;
        let query = Query::Blocks { job, from };
        let Answer::Blocks(list) = answered(ask, &query)? else {
            return Err(odd(&query, "another kind of answer"));
        };
        if let Some(block) = list.blocks.iter().find(|&&block| !machine.contains(block)) {
            let answer = format!("{}, which the machine has not", machine.place(*block));
            return Err(odd(&query, &answer));
        }
        blocks.extend(&list.blocks);
        if blocks.len() >= list.total as usize {
            return Ok((blocks, list.granted_at));
        }
        if list.blocks.is_empty() {
            return Err(odd(&query, "an empty list"));
        }
    }
}

/// The faulty processors, by number. A job may hold some of them still.
fn faulty(ask: Ask<'_>, machine: &Grid) -> Result<Vec<NodeId>, BackendError> {
    let mut faulty = Vec::new();
    let mut from = 0;
    while from < machine.nodes() {
        let query = Query::Occupancy { from: NodeId(from) };
        let Answer::Occupancy(chunk) = answered(ask, &query)? else {
            return Err(odd(&query, "another kind of answer"));
        };
        if chunk.faulty.is_empty() {
            return Err(odd(&query, "an empty chunk"));
        }
        let bits = chunk
            .faulty
            .iter()
            .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
        let nodes = (from..machine.nodes()).zip(bits);
        faulty.extend(
            nodes
                .filter(|&(_, bit)| bit == 1)
                .map(|(node, _)| NodeId(node)),
        );
        from += 8 * chunk.faulty.len() as u32;
    }
    Ok(faulty)
}
