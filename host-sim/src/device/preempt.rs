//! `device preempt`: running jobs of lower priority make room for a waiting job.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::{Answer, Change, Error, JobId, JobState, Query, Refusal, VICTIMS_MAX, Victims};
use serde_json::{Value, json};

use super::answers::readable;
use super::{Device, FOLLOW_EVERY, refused, unexpected};
use crate::failure::{self, Failure};
use crate::signals::is_interrupted;
use meshalloc_sim::situation::{Preemption, Situation, Victim, Waiting};
use meshalloc_sim::wording::counted;

/// How often victims are chosen anew if jobs come or go between the choice and the change.
const TRIES: u32 = 5;

/// The jobs that make room.
struct Choice {
    victims: Vec<Victim>,
    is_least: bool,
}

impl Device<'_> {
    /// Lets a waiting job take the processors of other jobs, `grace` milliseconds after these were
    /// named.
    pub(super) fn preempt(
        &mut self,
        job: JobId,
        grace: Option<NonZeroU64>,
        is_dry: bool,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        let mut named = self.choose(job, began)?;
        self.name(job, &named, grace)?;
        if is_dry {
            return Ok(());
        }
        if let Some(grace) = grace.filter(|_| !named.victims.is_empty()) {
            self.output.flush()?;
            if !self.waits_until(job, began + Duration::from_millis(grace.get()))? {
                let text = format!("job {job} does not wait any more: no job was preempted");
                return self.print(&text, &json!({"job": job.0, "preempted": []}));
            }
            self.choose_anew(job, &mut named, began)?;
        }
        for _ in 1..TRIES {
            let jobs: Vec<_> = named.victims.iter().map(|victim| victim.job).collect();
            let victims = Victims::new(&jobs).unwrap_or_default();
            match self.try_change(&Change::Preempt { job, victims })? {
                Ok(()) => return Ok(()),
                // Other jobs came or went since the choice.
                Err(Error::NoVictim { .. } | Error::Refused(_)) => {
                    self.choose_anew(job, &mut named, began)?;
                }
                Err(error) => return Err(refused(&error)),
            }
        }
        Err(format!("jobs come and go too fast to make room for job {job}").into())
    }

    fn choose_anew(
        &mut self,
        job: JobId,
        named: &mut Choice,
        began: Instant,
    ) -> Result<(), Failure> {
        let choice = self.choose(job, began)?;
        let jobs = |choice: &Choice| -> Vec<_> { choice.victims.iter().map(|it| it.job).collect() };
        if jobs(&choice) != jobs(named) {
            self.name(job, &choice, None)?;
        }
        *named = choice;
        Ok(())
    }

    /// The victims for a job, some time after the command began.
    fn choose(&mut self, job: JobId, began: Instant) -> Result<Choice, Failure> {
        let situation = self.line.situation()?;
        let waiting = situation.waiting.iter().find(|waiting| waiting.job == job);
        let waiting = *waiting.ok_or_else(|| {
            let runs = situation.running.iter().any(|running| running.job == job);
            refused(&if runs {
                Error::NotWaiting
            } else {
                Error::UnknownJob
            })
        })?;
        // A controller does not tell its clock, which counts milliseconds.
        let now = situation.latest() + began.elapsed().as_millis() as u64;
        match situation.victims(&waiting, now)? {
            Preemption::Of { victims, is_least } => Ok(Choice { victims, is_least }),
            Preemption::TooMany => Err(format!(
                "more than {} would have to make room for job {job}",
                counted(VICTIMS_MAX as u32, "job")
            )
            .into()),
            Preemption::Unknown => Err(Refusal::NotSearchedToTheEnd.to_string().into()),
            Preemption::Never => Err(nothing_helps(&situation, &waiting).into()),
        }
    }

    /// Prints which jobs make room.
    fn name(
        &mut self,
        job: JobId,
        choice: &Choice,
        grace: Option<NonZeroU64>,
    ) -> Result<(), Failure> {
        let victims = choice.victims.iter().map(|victim| {
            json!({
                "job": victim.job.0, "processors": victim.processors,
                "lost": seconds(victim.lost()),
            })
        });
        let lost: u128 = choice.victims.iter().map(Victim::lost).sum();
        let object = json!({
            "job": job.0, "victims": victims.collect::<Value>(), "lost": seconds(lost),
            "least": choice.is_least, "grace": grace.map(|grace| seconds(grace.get().into())),
        });
        if choice.victims.is_empty() {
            let text = format!("job {job} fits now: no job has to make room");
            return self.print(&text, &object);
        }
        let named = choice.victims.iter().map(|victim| {
            let held = counted(victim.processors, "processor");
            format!(
                "\n  job {}: {held} for at least {}",
                victim.job,
                readable(victim.ran)
            )
        });
        let when = grace.map_or_else(String::new, |grace| {
            format!(" in {}, unless it runs by then", readable(grace.get()))
        });
        let least = if choice.is_least {
            ""
        } else {
            " (others may have less work to lose: the search was not completed)"
        };
        let text = format!(
            "{} for job {job}{when}{least}:{}",
            match choice.victims.len() as u32 {
                1 => "1 job makes room".to_owned(),
                count => format!("{count} jobs make room"),
            },
            named.collect::<String>()
        );
        self.print(&text, &object)
    }

    /// Whether a job waits until this time.
    fn waits_until(&mut self, job: JobId, until: Instant) -> Result<bool, Failure> {
        loop {
            let state = match self.query(&Query::Job { job })? {
                Ok(Answer::Job(report)) => report.state,
                Ok(other) => return Err(unexpected(&other)),
                Err(_) => return Ok(false),
            };
            if !matches!(state, JobState::Waiting { .. }) {
                return Ok(false);
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Ok(true);
            };
            if is_interrupted() {
                return Err(Failure::Incomplete(failure::interrupted()));
            }
            thread::sleep(left.min(FOLLOW_EVERY));
        }
    }
}

/// Why no job can make room for this one.
fn nothing_helps(situation: &Situation<'_>, waiting: &Waiting) -> String {
    let mut running = situation.running.iter();
    let job = waiting.job;
    if running.any(|running| Situation::may_preempt(waiting, running)) {
        format!("job {job} does not fit when all jobs that it may preempt have made room")
    } else {
        format!(
            "job {job} may preempt no running job: each is not preemptible, or has no lower \
             priority"
        )
    }
}

/// The controller's clock counts milliseconds.
fn seconds(ticks: u128) -> f64 {
    ticks as f64 / 1e3
}
