//! Files of single jobs: the request, the processors and the times of each measured job of a run.
//!
//! As a table (CSV) the file has all strategies and replications, in their order, and in each the
//! measured jobs in order of arrival. Its columns are those of a `jobs.csv` of Batsim (Dutot et al.
//! 2016, Batsim: a realistic language-independent resources and jobs management systems simulator,
//! JSSPP), which evalys reads, and some more. As a log in the Standard Workload Format the file has
//! the jobs of a single run.
//!
//! A run writes its jobs into a file of its own while it goes on: a job waits in memory only for
//! earlier ones that have not left. When it ends, its part joins those of other runs in one file.
//! The parts are put in order when all runs have ended.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use meshalloc::{StrategyKind, Ticks};

use crate::file::{self, Output, Product, ReplaceArgs};
use meshalloc_sim::experiment::{Experiment, Measure, Replications, StrategyResult};
use meshalloc_sim::simulation::{JobRecord, Observer, Seen};
use meshalloc_sim::workload::{Owner, TimeUnit, Workload};

mod log;
pub mod table;

/// The form of a file of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Log,
}

pub(crate) struct JobsFile<'e> {
    file: Output,
    form: Form,
    experiment: &'e Experiment,
    parts: Mutex<Parts>,
}

/// The runs that have ended.
#[derive(Default)]
struct Parts {
    /// The parts of all runs, one after another.
    file: Option<File>,
    bytes: u64,
    /// The part of each run, by the place of the strategy and by replication.
    of_runs: BTreeMap<(usize, u32), io::Result<Part>>,
}

/// The place of a run among all parts.
struct Part {
    from: u64,
    bytes: u64,
    jobs: u64,
}

impl<'e> JobsFile<'e> {
    /// Looks at the path before the runs begin; makes the folder if need be.
    pub(crate) fn open(
        path: &Path,
        form: Form,
        replace: ReplaceArgs,
        experiment: &'e Experiment,
    ) -> Result<Self, String> {
        let is_one_run = experiment.strategies.len() == 1
            && (!experiment.workload.is_replicated()
                || experiment.replications == Replications::Fixed(1));
        if form == Form::Log && !is_one_run {
            let path = path.display();
            return Err(format!(
                "--output {path}: a log has the jobs of one run (expected one --strategy and \
                 --replications 1, or a table, with the ending .csv)"
            ));
        }
        Ok(JobsFile {
            file: Output::open(path, Product::Jobs, replace)?,
            form,
            experiment,
            parts: Mutex::default(),
        })
    }

    /// The line about the file, with what another run from it would lack.
    pub(crate) fn line(&self) -> String {
        let Experiment {
            measure, workload, ..
        } = self.experiment;
        let mut lacks = Vec::new();
        if matches!(measure, Measure::Arrivals { warmup_fraction } if *warmup_fraction > 0.0) {
            lacks.push("the jobs before measuring begins, which --warmup 0 adds");
        }
        if self.form == Form::Log && workload.log().is_none() {
            lacks.push("shapes, which a .csv has");
        }
        let without = if lacks.is_empty() {
            String::new()
        } else {
            format!(" (without {})", lacks.join(", and "))
        };
        self.file.line("jobs") + &without
    }

    pub(crate) fn recorder(&self, strategy: StrategyKind, replication: u32) -> Recorder<'_> {
        let mut place = self.experiment.strategies.iter();
        Recorder {
            file: self,
            run: RunOf {
                experiment: self.experiment,
                strategy,
                replication,
            },
            place: place.position(|&other| other == strategy).unwrap_or(0),
            writer: Some(file::part(&self.file.path).map(BufWriter::new)),
            jobs: 0,
            first: 0,
            ahead: VecDeque::new(),
        }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a run that has ended to the others.
    fn keep(&self, run: BufWriter<File>, jobs: u64) -> io::Result<Part> {
        let mut run = run.into_inner().map_err(IntoInnerError::into_error)?;
        run.rewind()?;
        let parts = &mut *self.parts();
        let file = match &mut parts.file {
            Some(file) => file,
            none => none.insert(file::part(&self.file.path)?),
        };
        let from = parts.bytes;
        file.seek(SeekFrom::Start(from))?;
        let bytes = io::copy(&mut run, file)?;
        parts.bytes += bytes;
        Ok(Part { from, bytes, jobs })
    }

    /// Joins the runs that the results are about.
    pub(crate) fn finish(&self, results: &[StrategyResult]) -> Result<(), String> {
        let mut parts = std::mem::take(&mut *self.parts());
        let mut needed = Vec::new();
        for (place, result) in results.iter().enumerate() {
            for replication in 0..result.runs.len() as u32 {
                let part = parts.of_runs.remove(&(place, replication));
                let part = part.expect("a run that ended has a part");
                needed.push(part.map_err(|error| self.file.failed(&error))?);
            }
        }
        let jobs = needed.iter().map(|part| part.jobs).sum();
        let written = file::write_with(&self.file.path, |output| {
            match self.form {
                Form::Table => output.write_all(&table::header())?,
                Form::Log => output.write_all(log::header(self.experiment, jobs).as_bytes())?,
            }
            for part in &needed {
                if let Some(file) = &mut parts.file {
                    file.seek(SeekFrom::Start(part.from))?;
                    io::copy(&mut file.take(part.bytes), output)?;
                }
            }
            Ok(())
        });
        written.map_err(|error| self.file.failed(&error))
    }
}

#[derive(Clone, Copy)]
struct RunOf<'e> {
    experiment: &'e Experiment,
    strategy: StrategyKind,
    replication: u32,
}

impl RunOf<'_> {
    /// The number of a job: its number in the log, or else its place in the order of arrival, from
    /// 1.
    fn job_number(&self, number: u32) -> i64 {
        match &self.experiment.workload {
            Workload::Log(log) => log.job_number(number),
            Workload::Synthetic(_) => i64::from(number) + 1,
        }
    }

    fn owner(&self, number: u32) -> Owner {
        match &self.experiment.workload {
            Workload::Log(log) => log.owner(number),
            Workload::Synthetic(_) => Owner::UNKNOWN,
        }
    }

    fn unit(&self) -> TimeUnit {
        self.experiment.workload.time_unit()
    }
}

pub(crate) struct Recorder<'f> {
    file: &'f JobsFile<'f>,
    run: RunOf<'f>,
    place: usize,
    /// The file of the run; `None` when the run has ended.
    writer: Option<io::Result<BufWriter<File>>>,
    jobs: u64,
    /// The first job that has not left; `ahead[0]` is its place.
    first: u32,
    /// Lines of later jobs that have left already. Jobs that are not measured have empty lines.
    ahead: VecDeque<Option<Box<[u8]>>>,
}

impl Recorder<'_> {
    /// Moves on after the first job's line was written.
    fn advance(&mut self) {
        self.ahead.pop_front();
        self.first += 1;
    }

    fn write(&mut self, line: &[u8]) {
        self.jobs += u64::from(!line.is_empty());
        if let Some(Ok(writer)) = &mut self.writer
            && let Err(error) = writer.write_all(line)
        {
            self.writer = Some(Err(error));
        }
    }
}

impl Observer for Recorder<'_> {
    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Job(record) => self.job(record),
            Seen::End(_) => self.end(),
            _ => {}
        }
    }
}

impl Recorder<'_> {
    fn job(&mut self, record: &JobRecord<'_>) {
        let line = match (record.is_measured, self.file.form) {
            (false, _) => Vec::new(),
            (true, Form::Table) => table::row(&self.run, record),
            (true, Form::Log) => log::line(&self.run, record).into_bytes(),
        };
        let place = (record.number - self.first) as usize;
        if place >= self.ahead.len() {
            self.ahead.resize(place + 1, None);
        }
        if place > 0 {
            // The line may stay for long, so it is in memory of its own size. A buffer that is
            // shrunk would leave gaps that no other line fits in.
            self.ahead[place] = Some(line.as_slice().into());
            return;
        }
        self.write(&line);
        self.advance();
        while let Some(Some(line)) = self.ahead.front_mut().map(Option::take) {
            self.write(&line);
            self.advance();
        }
    }

    fn end(&mut self) {
        if let Some(writer) = self.writer.take() {
            let place = (self.place, self.run.replication);
            let part = writer.and_then(|writer| self.file.keep(writer, self.jobs));
            self.file.parts().of_runs.insert(place, part);
        }
    }
}

/// A time as a decimal number in the unit of the workload, exactly.
fn decimal(ticks: Ticks, unit: TimeUnit) -> String {
    let each = unit.ticks_each();
    match ticks % each {
        0 => (ticks / each).to_string(),
        rest => {
            let digits = each.ilog10() as usize;
            let text = format!("{}.{rest:0digits$}", ticks / each);
            text.trim_end_matches('0').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use meshalloc_sim::backend::InProcessBackends;
    use meshalloc_sim::experiment::{self, Progress};
    use meshalloc_sim::scenario::{Foreign, Study};
    use meshalloc_sim::workload::SharedLogs;

    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (ticks, text) in [
            (0, "0"),
            (1, "0.000001"),
            (1_500_000, "1.5"),
            (2_000_000, "2"),
            (10_000_010, "10.00001"),
        ] {
            assert_eq!(decimal(ticks, TimeUnit::Second), text);
        }
        assert_eq!(decimal(1_500_000, TimeUnit::Cycle), "1500000");
    }

    struct Recording<'e>(JobsFile<'e>);

    impl Progress for Recording<'_> {
        fn recorder(&self, strategy: StrategyKind, replication: u32) -> Box<dyn Observer + '_> {
            Box::new(self.0.recorder(strategy, replication))
        }
    }

    #[test]
    fn parts_of_runs_have_no_names_that_a_killed_command_would_leave() {
        let text = "mesh = \"8x8\"\nstrategy = \"naive\"\njobs = 20\nreplications = 2\n";
        let study = Study::of_text(text, Path::new("s.toml"), Foreign::default()).unwrap();
        let (scenario, _) = study.scenario("a test").unwrap();
        let experiment = scenario
            .resolve()
            .unwrap()
            .experiment(&SharedLogs::default());
        let experiment = experiment.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let jobs = JobsFile::open(
            &folder.path().join("jobs.csv"),
            Form::Table,
            ReplaceArgs::default(),
            &experiment,
        )
        .unwrap();
        let jobs = Recording(jobs);
        let results = experiment::run(&experiment, &mut InProcessBackends::default(), &jobs);
        let mut results = results.unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files(), 0);
        results[0].runs.truncate(1);
        jobs.0.finish(&results).unwrap();
        assert_eq!(files(), 1);
    }
}
