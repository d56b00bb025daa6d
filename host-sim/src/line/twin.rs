//! A run on a controller at the end of a line, whose answers are checked: a controller in this
//! process gets the same changes, and its answers must be the same.
//!
//! Both run the same code with the same capacities, so they make the same decisions. Three things
//! may differ: a board has no room for a change if its journal is full, a board may be built
//! without leases, and if many leases end at once it reports only the latest.

use std::fmt::Debug;
use std::time::Instant;

use meshalloc::message::Capacity;
use meshalloc::storage::HeapStorage;
use meshalloc::{
    Answer, Block, Change, Configuration, Description, Error, Event, EventKind, JobId, Outcome,
    Query, Refusal, Statistics, Ticks,
};
use meshalloc_firmware::client::ClientError;
use meshalloc_firmware::protocol::ProtocolError;

use super::LineBackends;
use meshalloc_sim::backend::{Backend, BackendError, Called, InProcess, OnEvent, needs};
use meshalloc_sim::forward_backend;
use meshalloc_sim::statistics::Delays;

/// The most jobs, blocks and entries of a list for which memory is taken.
const ROOM_MAX: u32 = 1 << 20;

/// The most characters of an answer in an error.
const TEXT_MAX: usize = 500;

/// An event, with the blocks of a grant.
type Told = (Event, Vec<Block>);

/// Both controllers, for one run.
struct Twinned<'l, 'm> {
    line: &'l mut LineBackends,
    twin: InProcess<'m>,
}

/// Calls `body` with a controller that has just taken this configuration.
pub(super) fn with(
    line: &mut LineBackends,
    configuration: Configuration,
    description: Option<&Description>,
    body: &mut dyn FnMut(&mut dyn Backend),
) -> Result<(), BackendError> {
    let Configuration {
        machine, strategy, ..
    } = configuration;
    let Capacity {
        jobs, blocks, list, ..
    } = line.greeting().capacity;
    if let Some(most) = [jobs, blocks, list].into_iter().find(|&it| it > ROOM_MAX) {
        return Err(line.error(format!(
            "the controller answered Hello with room for {most} jobs, blocks or entries of a list \
             (expected at most {ROOM_MAX})"
        )));
    }
    let [jobs, blocks, list] = [jobs, blocks, list].map(|count| count as usize);
    let mut needs = needs(machine, description, strategy, jobs);
    (needs.blocks, needs.list) = (blocks, list);
    let mut storage = HeapStorage::new(needs, jobs);
    let memory = match description {
        None => storage.memory(),
        Some(description) => storage.memory().describing(description),
    };
    let twin = InProcess::new(memory, configuration).map_err(|error| {
        line.error(format!(
            "the controller has taken {strategy} on a {machine} (expected an error: {error})"
        ))
    })?;
    line.round_trips.push((strategy, Delays::default()));
    body(&mut Twinned { line, twin });
    Ok(())
}

impl Twinned<'_, '_> {
    fn untrue(&self, asked: &dyn Debug, said: &dyn Debug, expected: &dyn Debug) -> BackendError {
        let [asked, said, expected] = [asked, said, expected].map(|it| {
            let text = format!("{it:?}");
            match text.char_indices().nth(TEXT_MAX) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        });
        self.line.error(format!(
            "the controller answered {asked} with {said} (expected {expected})"
        ))
    }

    /// Whether the job is no longer there, so that an event about it may be missing.
    fn is_gone(&mut self, job: JobId) -> Result<bool, BackendError> {
        let answer = self.twin.query(&Query::Job { job })?;
        Ok(answer == Err(Error::UnknownJob))
    }

    /// Gives the change to the controller in this process as well, and compares.
    fn check(
        &mut self,
        change: &Change,
        now: Ticks,
        outcome: &Result<Outcome, Error>,
        told: &[Told],
    ) -> Result<(), BackendError> {
        let mut expected: Vec<Told> = Vec::new();
        let right = self.twin.call(change, now, &mut |event, blocks| {
            expected.push((*event, blocks.to_vec()));
        })?;
        let is_end = |told: &Told| matches!(told.0.what, EventKind::LeaseEnded);
        let latest_end = expected.iter().rposition(is_end);
        let mut told = told.iter().peekable();
        for (at, right) in expected.iter().enumerate() {
            // A board goes on numbering events from run to run.
            let is_it = |(event, blocks): &&Told| {
                let number = right.0.number;
                (Event { number, ..*event }, blocks) == (right.0, &right.1)
            };
            let may_miss = Some(at) != latest_end;
            if told.next_if(is_it).is_none() && !(may_miss && self.is_gone(right.0.job)?) {
                return Err(match told.peek() {
                    Some(said) => self.untrue(change, said, right),
                    None => self.untrue(change, outcome, right),
                });
            }
        }
        match told.next() {
            Some(said) => Err(self.untrue(change, said, &format_args!("no such event"))),
            None if *outcome != right => Err(self.untrue(change, outcome, &right)),
            None => Ok(()),
        }
    }
}

impl Backend for Twinned<'_, '_> {
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called<Outcome> {
        let sent = Instant::now();
        let mut told: Vec<Told> = Vec::new();
        let client = &mut self.line.client;
        let outcome = client.call(change, Some(now), &mut |event, blocks| {
            told.push((*event, blocks.to_vec()));
        });
        let outcome = outcome.map_err(|error| match (change, &error) {
            (
                Change::Preempt { .. },
                ClientError::Refused {
                    error: ProtocolError::BadMessage,
                    ..
                },
            ) => self.line.error(
                "`preemption` requires a controller that was built with the feature `preemption`"
                    .to_owned(),
            ),
            _ => self.line.failed(&error),
        })?;
        if let Some((_, run)) = self.line.round_trips.last_mut() {
            run.add(sent.elapsed().as_nanos() as u64);
        }
        let is_unable = match outcome {
            Err(Error::Refused(Refusal::TableFull)) => true,
            Err(Error::LeasesNotBuilt) => matches!(
                change,
                Change::Lease { .. } | Change::Submit { lease: Some(_), .. }
            ),
            _ => false,
        };
        if !is_unable || !told.is_empty() {
            self.check(change, now, &outcome, &told)?;
        }
        for (event, blocks) in &told {
            on_event(event, blocks);
        }
        Ok(outcome)
    }

    fn query(&mut self, query: &Query) -> Called<Answer> {
        let answer = self.line.client.query(query);
        let answer = answer.map_err(|error| self.line.failed(&error))?;
        let mut expected = self.twin.query(query)?;
        // A board goes on counting from run to run, and also counts the changes that it had no room
        // for.
        if let (Ok(Answer::Statistics(said)), Ok(Answer::Statistics(right))) =
            (&answer, &mut expected)
        {
            *right = Statistics {
                counts: said.counts,
                ..*right
            };
        }
        if answer == expected {
            Ok(answer)
        } else {
            Err(self.untrue(query, &answer, &expected))
        }
    }

    fn capacity(&self) -> Capacity {
        self.line.greeting().capacity
    }

    forward_backend!(it => it.twin; fits, requested, is_in_order, served);
}
