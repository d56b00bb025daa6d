//! Checks whether an answer of a controller can be true. Each check returns what was expected
//! instead.

use std::borrow::ToOwned;
use std::format;
use std::mem::discriminant;
use std::string::String;

use meshalloc::grid::NODES_MAX;
use meshalloc::message::{BlockList, JobReport, OCCUPANCY_BYTES_MAX, OccupancyChunk, WhyReport};
use meshalloc::storage::Needs;
use meshalloc::{
    Answer, Capacity, Change, Configuration, Error, Event, EventKind, FaultReport, JobState,
    Outcome, Query, Refusal, Serves, Statistics, StrategyKind,
};

use crate::frame::{CRC_LEN, HEADER_LEN};
use crate::protocol::{Events, Greeting, PROTOCOL_VERSION};

/// The length of the shortest frame, that of Hello: COBS and the delimiters add three bytes.
const HELLO_FRAME_LEN: usize = HEADER_LEN + 1 + CRC_LEN + 3;

/// The result of a check. The error says what was expected.
pub(super) type Check = Result<(), String>;

fn expect(holds: bool, expected: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(expected()) }
}

/// Checks the greeting of a controller.
pub(super) fn greeting(greeting: &Greeting) -> Check {
    let Greeting {
        protocol,
        session,
        capacity,
        configuration,
        description,
        ref strategies,
        ref schedulers,
        frame_bytes_max,
        ..
    } = *greeting;
    expect(protocol == PROTOCOL_VERSION, || {
        format!("protocol {PROTOCOL_VERSION}, as in the frame")
    })?;
    expect(session.number > 0, || "a session from 1 on".to_owned())?;
    expect(usize::from(frame_bytes_max) >= HELLO_FRAME_LEN, || {
        format!("room for frames of {HELLO_FRAME_LEN} bytes, such as Hello")
    })?;
    let Configuration {
        machine,
        strategy,
        scheduler,
    } = configuration;
    let ascend = strategies.is_sorted_by(|one, next| one < next);
    expect(ascend, || "strategies in ascending order".to_owned())?;
    let number = StrategyKind::ALL
        .iter()
        .position(|kind| discriminant(kind) == discriminant(&strategy));
    let has = |number| strategies.iter().any(|&has| usize::from(has) == number);
    expect(number.is_some_and(has), || {
        format!("the strategy {strategy} among those of its build")
    })?;
    let has = schedulers
        .iter()
        .any(|has| discriminant(has) == discriminant(&scheduler));
    expect(has, || {
        format!(
            "the scheduler {} among those of its build",
            scheduler.name()
        )
    })?;
    let serves = strategy.serves();
    let may_serve = match serves {
        // The cubes and placements come from the description.
        Serves::Cubes | Serves::Placements => description.is_some(),
        _ => serves.includes(&machine),
    };
    expect(may_serve, || {
        format!("a machine that {strategy} serves: {serves}")
    })?;
    let Capacity {
        words,
        word_bits,
        jobs,
        blocks,
        list,
    } = capacity;
    expect(
        word_bits.is_power_of_two() && (8..=128).contains(&word_bits),
        || "words of 8 to 128 bits".to_owned(),
    )?;
    let (bits, nodes) = (u32::from(word_bits), machine.nodes());
    let words_needed = if machine.is_plane() {
        u32::from(machine.side(1)) * u32::from(machine.side(0)).div_ceil(bits)
    } else {
        nodes.div_ceil(bits)
    };
    expect(words >= words_needed, || {
        format!("the {words_needed} words that a {machine} takes")
    })?;
    let needs = Needs::of(strategy, &machine, jobs as usize);
    expect(
        blocks as usize >= needs.blocks && list as usize >= needs.list,
        || {
            let Needs { blocks, list, .. } = needs;
            format!(
                "room for {blocks} blocks and {list} entries of a list, \
                 which {strategy} takes there"
            )
        },
    )
}

/// Checks the events after event number `since`, from a controller with this capacity.
pub(super) fn events(events: &Events, since: u64, capacity: &Capacity) -> Check {
    let Events { list, latest, left } = events;
    expect(*latest >= since, || {
        format!("the number of the latest event from {since} on")
    })?;
    let mut before = since;
    for event in list {
        let number = event.number;
        expect((before + 1..=*latest).contains(&number), || {
            format!("events in ascending order from {} to {latest}", before + 1)
        })?;
        before = number;
        self::event(event)?;
    }
    let most = capacity.jobs.max(1);
    expect(*left <= most, || format!("at most {most} attempts left"))
}

fn event(event: &Event) -> Check {
    let &Event {
        job,
        processors,
        what,
        ..
    } = event;
    expect(processors <= NODES_MAX, || {
        format!("at most {NODES_MAX} processors of job {job}")
    })?;
    match what {
        EventKind::Granted {
            attempts,
            misses,
            blocks_total,
            ..
        } => {
            expect((1..=processors).contains(&blocks_total), || {
                format!("a block of job {job}, and no more than its {processors} processors")
            })?;
            expect(misses < attempts, || {
                format!("fewer misses of job {job} than its {attempts} attempts")
            })
        }
        EventKind::Preempted { by } => expect(by != job && processors > 0, || {
            format!("another job that took processors of job {job}")
        }),
        EventKind::LeaseEnded => Ok(()),
    }
}

/// Checks the outcome of a change; `None` stands for a change of the clock.
pub(super) fn outcome(change: Option<&Change>, outcome: &Result<Outcome, Error>) -> Check {
    let expected = |text: &str| Err(text.to_owned());
    match (change, outcome) {
        (_, Err(Error::Busy { .. })) | (None, Ok(Outcome::Done)) => Ok(()),
        (None, _) => expected("Done"),
        (Some(change), Err(error)) => expect(may_be_refused(change, *error), || {
            "an error of a change".to_owned()
        }),
        (Some(change), Ok(outcome)) => match (change, outcome) {
            (
                Change::Release { .. } | Change::EndLease { .. },
                Outcome::Released { processors },
            ) => expect(*processors <= NODES_MAX, || {
                format!("at most {NODES_MAX} processors")
            }),
            (Change::Release { .. } | Change::EndLease { .. }, _) => expected("Released"),
            (
                Change::MarkFaulty { .. } | Change::ClearFaulty { .. },
                Outcome::Faults(FaultReport {
                    changed,
                    jobs,
                    first,
                }),
            ) => expect(
                *changed <= NODES_MAX && (*jobs > 0) == first.is_some(),
                || format!("at most {NODES_MAX} processors, and a job if there are some"),
            ),
            (Change::MarkFaulty { .. } | Change::ClearFaulty { .. }, _) => expected("Faults"),
            (_, Outcome::Done) => Ok(()),
            _ => expected("Done"),
        },
    }
}

/// Whether a change may be answered with this error, which is not `Busy`.
const fn may_be_refused(change: &Change, error: Error) -> bool {
    match change {
        Change::Submit { .. } => matches!(
            error,
            Error::Refused(_) | Error::NotLegal { .. } | Error::LeasesNotBuilt
        ),
        Change::Release { .. } => matches!(error, Error::UnknownJob),
        Change::EndLease { .. } => matches!(
            error,
            Error::UnknownJob | Error::LeaseRuns | Error::LeasesNotBuilt
        ),
        Change::Lease { .. } => matches!(
            error,
            Error::UnknownJob | Error::Refused(Refusal::TableFull) | Error::LeasesNotBuilt
        ),
        Change::MarkFaulty { .. } | Change::ClearFaulty { .. } => matches!(
            error,
            Error::NoSuchBlock { .. } | Error::Refused(Refusal::TableFull)
        ),
        Change::Configure(_) => matches!(error, Error::Configure(_)),
        Change::Replace { .. } => matches!(
            error,
            Error::UnknownJob | Error::NothingToReplace | Error::Refused(_)
        ),
        Change::Preempt { .. } => matches!(
            error,
            Error::UnknownJob | Error::NotWaiting | Error::NoVictim { .. } | Error::Refused(_)
        ),
        // `Reset`.
        _ => false,
    }
}

/// Whether a query may be answered with this error.
const fn may_fail(query: &Query, error: Error) -> bool {
    match query {
        Query::Job { .. } => matches!(error, Error::UnknownJob),
        Query::Blocks { .. } => matches!(error, Error::UnknownJob | Error::NoBlock { .. }),
        Query::Jobs { .. } => matches!(error, Error::NoSuchBlock { .. }),
        Query::Occupancy { .. } => matches!(error, Error::UnknownNode(_)),
        Query::Slice { .. } => matches!(
            error,
            Error::UnknownJob | Error::NoSlice | Error::MachinesNotBuilt
        ),
        Query::Largest => matches!(error, Error::Busy { .. } | Error::MachinesNotBuilt),
        Query::Why { .. } => matches!(error, Error::Busy { .. } | Error::UnknownJob),
        // `Statistics`.
        _ => false,
    }
}

/// Checks the answer to a query, from a controller with this capacity.
pub(super) fn answer(query: &Query, answer: &Result<Answer, Error>, capacity: &Capacity) -> Check {
    let expected = |text: &str| Err(text.to_owned());
    match (*query, answer) {
        (_, Err(error)) => expect(may_fail(query, *error), || "an error of a query".to_owned()),
        (Query::Job { job }, Ok(Answer::Job(report))) => {
            let JobReport {
                job: of,
                state,
                blocks,
                ..
            } = *report;
            let holds = match state {
                JobState::Waiting { .. } => blocks == 0,
                JobState::Running { processors } => {
                    (1..=processors).contains(&blocks) && processors <= NODES_MAX
                }
            };
            expect(of == job && holds, || {
                format!("job {job}, a block if it runs, and no more than its processors")
            })
        }
        (Query::Job { .. }, _) => expected("Job"),
        (Query::Blocks { job, from }, Ok(Answer::Blocks(list))) => {
            let BlockList {
                job: of,
                total,
                first,
                ref blocks,
                ..
            } = *list;
            let end = first.saturating_add(blocks.len() as u32);
            let holds = !blocks.is_empty() && end <= total && total <= NODES_MAX;
            expect(of == job && first == from && holds, || {
                format!("blocks of job {job} from the one of index {from} on")
            })
        }
        (Query::Blocks { .. }, _) => expected("Blocks"),
        (Query::Jobs { from, .. }, Ok(Answer::Jobs(list))) => {
            let goes_on = list
                .next
                .is_none_or(|next| next > from && next <= capacity.jobs && !list.jobs.is_empty());
            expect(goes_on, || {
                let most = capacity.jobs;
                format!("some jobs, and a list that goes on behind {from}, up to {most}")
            })?;
            let most = list.jobs.iter().all(|job| job.1 <= NODES_MAX);
            expect(most, || format!("jobs of at most {NODES_MAX} processors"))
        }
        (Query::Jobs { .. }, _) => expected("Jobs"),
        (Query::Occupancy { from }, Ok(Answer::Occupancy(chunk))) => occupancy(from.0, chunk),
        (Query::Occupancy { .. }, _) => expected("Occupancy"),
        (Query::Statistics, Ok(Answer::Statistics(statistics))) => {
            self::statistics(statistics, capacity)
        }
        (Query::Statistics, _) => expected("Statistics"),
        (Query::Slice { job }, Ok(Answer::Slice(slice))) => {
            let extents = slice.shape.len();
            let holds = slice.job == job
                && usize::from(slice.folded.unwrap_or(0)) < extents.max(1)
                && u32::from(slice.rings)
                    .checked_shr(extents as u32)
                    .unwrap_or(0)
                    == 0
                && (1..=NODES_MAX).contains(&slice.sides.area());
            expect(holds, || {
                format!("the slice of job {job}, with rings along extents of its shape")
            })
        }
        (Query::Slice { .. }, _) => expected("Slice"),
        (Query::Largest, Ok(Answer::Largest(largest))) => {
            let holds = largest.processors <= NODES_MAX
                && largest
                    .shape
                    .is_none_or(|shape| shape.area() == largest.processors);
            expect(holds, || {
                format!("at most {NODES_MAX} processors, and a shape of as many")
            })
        }
        (Query::Largest, _) => expected("Largest"),
        (Query::Why { job }, Ok(Answer::Why(report))) => {
            let WhyReport {
                job: of,
                ahead,
                needs,
                free,
                faulty,
                ..
            } = *report;
            let counts = [needs, free, free.saturating_add(faulty)];
            let holds = of == job
                && ahead < capacity.jobs
                && counts.iter().all(|&count| count <= NODES_MAX);
            expect(holds, || {
                format!("why job {job} waits, and at most {NODES_MAX} processors")
            })
        }
        (Query::Why { .. }, _) => expected("Why"),
        _ => expected("an answer to a query that this client knows"),
    }
}

fn occupancy(from: u32, chunk: &OccupancyChunk) -> Check {
    let OccupancyChunk {
        from: begin,
        nodes,
        busy,
        faulty,
    } = chunk;
    expect((1..=NODES_MAX).contains(nodes) && from < *nodes, || {
        format!("a machine of at most {NODES_MAX} processors, of which {from} is one")
    })?;
    let left = nodes - from / 8 * 8;
    let bytes = left.div_ceil(8).min(OCCUPANCY_BYTES_MAX as u32) as usize;
    let is_whole = begin.0 == from / 8 * 8 && busy.len() == bytes && faulty.len() == bytes;
    expect(is_whole, || {
        format!("{bytes} bytes each from processor {} on", from / 8 * 8)
    })?;
    let beyond = (bytes * 8).saturating_sub(left as usize).min(7);
    let padding = 0xff_u8.checked_shl(8 - beyond as u32).unwrap_or(0);
    let is_clear = busy.last().is_none_or(|last| last & padding == 0);
    expect(is_clear, || "no processor beyond the last".to_owned())?;
    let are_busy = busy
        .iter()
        .zip(faulty)
        .all(|(busy, faulty)| faulty & !busy == 0);
    expect(are_busy, || "faulty processors that are busy".to_owned())
}

fn statistics(statistics: &Statistics, capacity: &Capacity) -> Check {
    let Statistics {
        nodes,
        free,
        faulty,
        waiting,
        running,
        counts,
    } = *statistics;
    let held = nodes.checked_sub(free);
    expect(
        (1..=NODES_MAX).contains(&nodes) && held.is_some_and(|held| held >= faulty),
        || {
            format!(
                "at most {NODES_MAX} processors, free and faulty ones together no more than all"
            )
        },
    )?;
    let present = u64::from(waiting) + u64::from(running);
    expect(
        present <= capacity.jobs.into() && held >= Some(running),
        || {
            format!(
                "at most {} jobs, and a processor for each that runs",
                capacity.jobs
            )
        },
    )?;
    // Jobs that come or go at this moment may be counted in only one of the two.
    let gone = counts.submitted.checked_sub(counts.released);
    let holds = gone.is_some_and(|gone| gone.abs_diff(present) <= 1);
    expect(holds, || {
        "as many jobs as were submitted and not released".to_owned()
    })?;
    let holds = counts.granted <= counts.valid_attempts
        && counts.valid_attempts <= counts.attempts
        && counts.misses <= counts.valid_attempts;
    expect(holds, || {
        "grants and misses among the attempts that were valid".to_owned()
    })?;
    expect(counts.lease_ends <= counts.released, || {
        "ends of leases among the releases".to_owned()
    })
}

/// The number of processors of the machine, if the answer has it.
pub(super) const fn nodes(answer: &Result<Answer, Error>) -> Option<u32> {
    match answer {
        Ok(Answer::Statistics(statistics)) => Some(statistics.nodes),
        Ok(Answer::Occupancy(chunk)) => Some(chunk.nodes),
        _ => None,
    }
}
