//! `device`: a controller at the end of a line, one command at a time: its state, its jobs, its
//! faults. Jobs and configuration stay when the command ends.

use std::io::Write;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use meshalloc::{
    Answer, Block, Change, Class, Configuration, Error, Event, EventKind, JobId, JobState, Outcome,
    Query, Request, Ticks, Tolerance,
};
use meshalloc_firmware::client::ClientError;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::line::command_failure;
use crate::replay;
use crate::signals::{self, is_interrupted};
use meshalloc_sim::names;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::TimeUnit;

mod answers;
mod connection;
mod preempt;

pub(crate) use connection::{Connection, PlaceArgs};

/// The pause between two questions for events.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Print each result as one JSON object on a line
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// What the controller is, what it serves, and how much of it is in use
    Info,
    /// Set the machine that the controller serves; not while a job waits or runs
    Configure {
        /// The machine, such as 16x16, a mesh, or "torus 8x8x8"
        machine: String,
        /// The strategy [default: the present one]
        #[arg(long, value_name = "NAME")]
        strategy: Option<String>,
        /// The scheduler [default: the present one]
        #[arg(long, value_name = "NAME")]
        scheduler: Option<String>,
    },
    /// Submit a job: it is granted processors or waits
    ///
    /// For example: submit 7 4x3, submit 8 chips=16, submit 9 4x4 --estimate 1h --lease 90m,
    /// submit 10 3x 4x4, a gang of three slices, which get their processors together,
    /// submit 11 4x4 --priority 30m, before jobs that were submitted in the last 30 minutes,
    /// submit 12 4x4 --tolerate 1, which runs on though one of its processors may be faulty
    Submit {
        /// The name of the job, a number that no other job has
        job: u32,
        /// The shape, or chips=N for N processors in any legal shape; after 3x for three slices
        #[arg(required = true, num_args = 1..=2)]
        shape: Vec<String>,
        /// The estimated run time, seconds or with a unit such as 90m
        #[arg(long, value_name = "TIME", value_parser = milliseconds)]
        estimate: Option<NonZeroU64>,
        /// A head start in the queue: the job waits as if it had been submitted this much earlier
        #[arg(long, value_name = "TIME", value_parser = milliseconds)]
        priority: Option<NonZeroU64>,
        /// Jobs of a higher priority may take its processors
        #[arg(long)]
        preemptible: bool,
        /// The time after which the job is released by itself
        #[arg(long, value_name = "TIME", value_parser = milliseconds)]
        lease: Option<NonZeroU64>,
        /// The faulty processors that each slice of the job may have, if the job has no other place
        #[arg(long, value_name = "N", default_value_t, hide_default_value = true)]
        tolerate: u8,
    },
    /// Renew the lease of a job, or give it one: it is released this long from now
    ///
    /// For example: lease 9 90m. With 0 the job has no lease any more.
    Lease {
        /// The name of the job
        job: u32,
        /// The time, seconds or with a unit such as 90m
        #[arg(value_parser = milliseconds_or_none)]
        time: Ticks,
    },
    /// Release a running job, or withdraw one that waits
    Release {
        /// The name of the job
        job: u32,
    },
    /// List the jobs
    Jobs,
    /// Draw who holds which processors
    Map,
    /// List the faulty processors
    Faults,
    /// Mark processors as faulty: a coordinate, A..B or * for each dimension
    Fail {
        /// The coordinates
        #[arg(required = true, value_name = "X")]
        at: Vec<String>,
    },
    /// Mark processors as working again
    Repair {
        /// The coordinates
        #[arg(required = true, value_name = "X")]
        at: Vec<String>,
    },
    /// Give a running job other processors in place of faulty ones
    Replace {
        /// The name of the job
        job: u32,
    },
    /// Make room for a job that waits: running jobs of lower priority wait again
    ///
    /// The command preempts jobs that may be preempted. It chooses those that leave enough room for
    /// the waiting job and have done the least work so far.
    Preempt {
        /// The name of the job
        job: u32,
        /// Name these jobs, and preempt them only after this time, if the job still waits then
        #[arg(long, value_name = "TIME", value_parser = milliseconds)]
        grace: Option<NonZeroU64>,
        /// Only name these jobs
        #[arg(long)]
        dry_run: bool,
    },
    /// Say why a job waits, and which jobs have to end before it fits
    Why {
        /// The name of the job [default: all jobs that wait]
        job: Option<u32>,
    },
    /// Say how many jobs of a shape fit now, in how many places, and the largest that fits
    Fits {
        /// The shape, or chips=N; after 3x for three slices [default: each legal shape, if the
        /// machine lists them]
        #[arg(num_args = ..=2)]
        shape: Vec<String>,
    },
    /// Print grants, ended leases and preempted jobs as they happen, until Ctrl-C
    Events {
        /// End after this many seconds
        #[arg(long, value_name = "COUNT")]
        seconds: Option<u32>,
    },
    /// Forget all jobs and faults
    Reset,
}

struct Device<'o> {
    line: Connection,
    json: bool,
    output: &'o mut dyn Write,
}

/// Carries out one command on a controller.
pub(crate) fn device(args: &DeviceArgs, output: &mut dyn Write) -> Result<(), Failure> {
    signals::handle()?;
    let mut device = Device {
        line: Connection::open(&args.place)?,
        json: args.json,
        output,
    };
    device.carry_out(&args.command)
}

impl Device<'_> {
    fn carry_out(&mut self, command: &Command) -> Result<(), Failure> {
        match command {
            Command::Info => self.info(),
            Command::Configure {
                machine,
                strategy,
                scheduler,
            } => self.configure(machine, strategy.as_deref(), scheduler.as_deref()),
            Command::Submit {
                job,
                shape,
                estimate,
                priority,
                preemptible,
                lease,
                tolerate,
            } => {
                let priority = priority.map_or(0, NonZeroU64::get);
                let class = Class::new(priority, *preemptible).unwrap_or_default();
                let tolerance = Tolerance::new(*tolerate).expect("this build has tolerance");
                let mut request = self
                    .request(shape)?
                    .with_class(class)
                    .with_tolerance(tolerance);
                if let Some(estimate) = estimate {
                    request = request.with_estimate(estimate.get());
                }
                self.change(&Change::Submit {
                    job: JobId(*job),
                    request,
                    lease: *lease,
                })
            }
            Command::Lease { job, time } => self.change(&Change::Lease {
                job: JobId(*job),
                ticks: NonZeroU64::new(*time),
            }),
            Command::Release { job } => self.change(&Change::Release { job: JobId(*job) }),
            Command::Fail { at } => {
                let change = self.parsed("fault", at);
                let change = change.map_err(|reason| reason.replace("`fault ", "`fail "))?;
                self.change(&change)
            }
            Command::Repair { at } => {
                let change = self.parsed("repair", at)?;
                self.change(&change)
            }
            Command::Replace { job } => self.replace(JobId(*job)),
            Command::Preempt {
                job,
                grace,
                dry_run,
            } => self.preempt(JobId(*job), *grace, *dry_run),
            Command::Reset => self.change(&Change::Reset),
            Command::Jobs => self.jobs(),
            Command::Map => self.map(),
            Command::Faults => self.faults(),
            Command::Why { job } => self.why(job.map(JobId)),
            Command::Fits { shape } => self.fits(shape),
            Command::Events { seconds } => self.events(*seconds),
        }
    }

    /// The change that these words stand for, which are an operation of `replay`.
    fn parsed(&self, operation: &str, words: &[String]) -> Result<Change, String> {
        let line = format!("{operation} {}", words.join(" "));
        let parsed = replay::parse(line.as_bytes(), self.line.configuration.machine)?;
        parsed.ok_or_else(|| "no operation".to_owned())
    }

    fn request(&self, shape: &[String]) -> Result<Request, Failure> {
        const EXPECTED: &str = "(expected 4x3, 3x 4x3 or chips=N)";
        let is_option = |word: &&String| word.contains('=') && !word.starts_with("chips=");
        if let Some(word) = shape.iter().find(is_option) {
            return Err(format!("{word:?} is no shape {EXPECTED}").into());
        }
        // The operation of `replay` has an ID and options besides the shape.
        let in_short = |reason: String| match reason.split_once(" (expected `alloc") {
            Some((what, _)) => format!("{what} {EXPECTED}"),
            None => reason,
        };
        match self.parsed("alloc 0", shape).map_err(in_short)? {
            Change::Submit { request, .. } => Ok(request),
            _ => Err("no shape".to_owned().into()),
        }
    }

    fn print(&mut self, text: &str, object: &Value) -> Result<(), Failure> {
        if self.json {
            writeln!(self.output, "{object}")?;
        } else {
            writeln!(self.output, "{text}")?;
        }
        Ok(())
    }

    fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, Failure> {
        let answer = self.line.client.query(query);
        answer.map_err(|error| command_failure(&self.line.endpoint, &error))
    }

    fn ask(&mut self, query: &Query) -> Result<Answer, Failure> {
        self.query(query)?.map_err(|error| refused(&error))
    }

    fn configure(
        &mut self,
        machine: &str,
        strategy: Option<&str>,
        scheduler: Option<&str>,
    ) -> Result<(), Failure> {
        let is_mesh = machine.starts_with(|first: char| first.is_ascii_digit());
        let text = if is_mesh {
            format!("mesh {machine}")
        } else {
            machine.to_owned()
        };
        let grid = text.parse();
        let grid = grid.map_err(|error| format!("{machine:?}: {error}"))?;
        let present = self.line.configuration;
        let strategy = strategy.map(names::strategy).transpose()?;
        if let Some(text) = scheduler.filter(|text| names::has_unit(text)) {
            let expected = "times are milliseconds (expected a number without a unit)";
            return Err(format!("the scheduler is {text}, but {expected}").into());
        }
        let scheduler = scheduler.map(names::scheduler).transpose()?;
        // The scheduler's times are milliseconds, the ticks of the controller's clock.
        let scheduler = scheduler.map(|kind| names::scheduler_in(kind, TimeUnit::Cycle));
        self.line.configuration = Configuration {
            machine: grid,
            strategy: strategy.unwrap_or(present.strategy),
            scheduler: scheduler.unwrap_or(present.scheduler),
        };
        self.change(&Change::Configure(self.line.configuration))
    }

    /// Has a change carried out, and prints its outcome and the grants that follow from it.
    fn change(&mut self, change: &Change) -> Result<(), Failure> {
        let of = match *change {
            Change::Submit { job, .. }
            | Change::Lease { job, .. }
            | Change::Release { job }
            | Change::Replace { job }
            | Change::Preempt { job, .. } => format!("job {}: ", job.0),
            _ => String::new(),
        };
        let outcome = self.try_change(change)?;
        outcome.map_err(|error| format!("{of}{error}").into())
    }

    /// Has a change carried out, and prints what follows from it, but no error of the controller.
    fn try_change(&mut self, change: &Change) -> Result<Result<(), Error>, Failure> {
        let mut happened = Vec::new();
        let outcome = self.line.client.call(change, None, &mut |event, blocks| {
            // Grants of other jobs in the meantime do not answer a submission.
            if !matches!(*change, Change::Submit { job, .. } if job != event.job) {
                happened.push((*event, blocks.to_vec()));
            }
        });
        let outcome = outcome.map_err(|error| command_failure(&self.line.endpoint, &error))?;
        match (change, outcome) {
            // The event says more.
            (Change::Submit { .. }, Ok(Outcome::Done)) if !happened.is_empty() => {}
            (Change::Submit { job, .. }, Ok(Outcome::Done)) => self.waits(*job)?,
            (Change::Release { job }, Ok(Outcome::Released { processors })) => {
                let text = match processors {
                    0 => format!("job {} was withdrawn", job.0),
                    _ => format!(
                        "job {} gave back {}",
                        job.0,
                        counted(processors, "processor")
                    ),
                };
                let object = json!({"job": job.0, "released": processors});
                self.print(&text, &object)?;
            }
            (_, Ok(Outcome::Faults(report))) => {
                let processors = counted(report.changed, "processor");
                let mut text = if matches!(change, Change::MarkFaulty { .. }) {
                    format!("{processors} became faulty")
                } else {
                    format!("{processors} repaired")
                };
                if report.jobs > 0 {
                    let jobs = counted(report.jobs, "job");
                    text += &format!("; {jobs} on the block, still running");
                }
                let object = json!({"changed": report.changed, "jobs": report.jobs});
                self.print(&text, &object)?;
            }
            // The event says more.
            (Change::Replace { .. } | Change::Preempt { .. }, Ok(_)) => {}
            (_, Ok(_)) => self.print("done", &json!({"done": true}))?,
            (_, Err(error)) => return Ok(Err(error)),
        }
        for (event, blocks) in happened {
            self.event(&event, &blocks)?;
        }
        Ok(Ok(()))
    }

    /// Gives a job other processors, and prints which new ones replace which old ones.
    fn replace(&mut self, job: JobId) -> Result<(), Failure> {
        let old = self.blocks(job)?;
        self.change(&Change::Replace { job })?;
        let new = self.blocks(job)?;
        let machine = self.line.configuration.machine;
        let part = |blocks: &[Block], at| blocks.get(at).map(|&block| machine.place(block));
        for at in 0..old.len().max(new.len()) {
            if old.get(at) == new.get(at) {
                continue;
            }
            let (old, new) = (part(&old, at), part(&new, at));
            let [from, to] = [&old, &new].map(|place| match place {
                Some(place) => place.to_string(),
                None => "none".to_owned(),
            });
            let text = format!("  part {at}: {to} instead of {from}");
            let object = json!({"job": job.0, "part": at, "old": old, "new": new});
            self.print(&text, &object)?;
        }
        Ok(())
    }

    /// The blocks of a job; none while it waits.
    fn blocks(&mut self, job: JobId) -> Result<Vec<Block>, Failure> {
        let mut blocks = Vec::new();
        loop {
            let from = blocks.len() as u32;
            match self.query(&Query::Blocks { job, from })? {
                Ok(Answer::Blocks(list)) => blocks.extend_from_slice(&list.blocks),
                Err(Error::NoBlock { .. }) => return Ok(blocks),
                Err(error) => return Err(refused(&error)),
                Ok(other) => return Err(unexpected(&other)),
            }
        }
    }

    fn waits(&mut self, job: JobId) -> Result<(), Failure> {
        let report = match self.ask(&Query::Job { job })? {
            Answer::Job(report) => report,
            other => return Err(unexpected(&other)),
        };
        let JobState::Waiting { ahead } = report.state else {
            return self.print(&format!("job {} runs", job.0), &json!({"job": job.0}));
        };
        let text = format!("job {} waits, {} ahead of it", job.0, counted(ahead, "job"));
        self.print(&text, &json!({"job": job.0, "ahead": ahead}))
    }

    fn event(&mut self, event: &Event, blocks: &[Block]) -> Result<(), Failure> {
        let (job, at, processors) = (event.job.0, event.at, event.processors);
        let machine = self.line.configuration.machine;
        let places: Vec<_> = blocks.iter().map(|&block| machine.place(block)).collect();
        let (text, what) = match event.what {
            EventKind::Granted { .. } => {
                let places: Vec<_> = places.iter().map(ToString::to_string).collect();
                let held = counted(processors, "processor");
                (
                    format!("job {job} runs on {held}: {}", places.join(" ")),
                    "granted",
                )
            }
            EventKind::LeaseEnded => (format!("the lease of job {job} has ended"), "lease-ended"),
            EventKind::Preempted { by } => (
                format!("job {job} waits again: its processors are for job {by}"),
                "preempted",
            ),
        };
        let mut object = json!({
            "job": job, "event": what, "number": event.number, "at": at,
            "processors": processors, "blocks": places,
        });
        if let EventKind::Preempted { by } = event.what {
            object["by"] = by.0.into();
        }
        self.print(&text, &object)
    }

    fn events(&mut self, seconds: Option<u32>) -> Result<(), Failure> {
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
        while !is_interrupted() && until.is_none_or(|until| Instant::now() < until) {
            let mut happened = Vec::new();
            let taken = self.line.client.events(&mut |event, blocks| {
                happened.push((*event, blocks.to_vec()));
            });
            match taken {
                Err(ClientError::Interrupted) => break,
                taken => taken.map_err(|error| command_failure(&self.line.endpoint, &error))?,
            }
            for (event, blocks) in happened {
                self.event(&event, &blocks)?;
            }
            self.output.flush()?;
            thread::sleep(FOLLOW_EVERY);
        }
        Ok(())
    }
}

/// A time as the controller's clock counts it.
fn milliseconds(text: &str) -> Result<NonZeroU64, String> {
    let time = names::time(text)? * 1e3;
    let time = NonZeroU64::new(time.round() as u64);
    time.ok_or_else(|| "expected at least a millisecond".to_owned())
}

/// A time as [`milliseconds`] reads it, or 0.
fn milliseconds_or_none(text: &str) -> Result<Ticks, String> {
    match text {
        "0" => Ok(0),
        text => milliseconds(text)
            .map(NonZeroU64::get)
            .map_err(|expected| format!("{expected}, or 0 for no lease")),
    }
}

fn refused(error: &Error) -> Failure {
    error.to_string().into()
}

fn unexpected(answer: &Answer) -> Failure {
    format!("the controller gave an answer of another kind: {answer:?}").into()
}
