//! The folder of the points that have been run: a file for each, named by a hash of what its
//! results depend on.
//!
//! ```text
//! points/3f0c5a9e71d2b846.json
//!        +- hash of the experiment, of the log's jobs, and of the program's sources
//! ```
//!
//! A file is put in place whole, so several processes may work in one folder. All write the same
//! bytes for one point. The values of each run are there to the last bit; means and intervals are
//! computed again. A damaged file is reported and its point is run again. A file ends with a CRC-64
//! (ECMA-182, as xz uses it), which finds every damage of up to 64 bits in a row, and all but one
//! in 2^64 of other damages.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crc::{CRC_64_XZ, Crc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Point;
use crate::file;
use crate::identity::{PROGRAM, SOURCES, hash};
use meshalloc_sim::experiment::{Stop, StrategyResult};
use meshalloc_sim::input::FILE_BYTES_MAX;
use meshalloc_sim::simulation::{Fnv1a, RunResult};
use meshalloc_sim::workload::{LogJob, Workload};

/// The most bytes of one run in a file. The rest of the file has at most [`FILE_BYTES_MAX`].
pub(super) const RUN_BYTES_MAX: usize = 1 << 13;

static CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// The text after the content of a file: this one, the checksum in 16 digits, and the end.
const BEFORE_SUM: &str = ",\"crc64\":\"";
const END: &str = "\"}\n";

/// Everything on which the results of a point depend. The path of a log is not a part of it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Identity {
    program: String,
    sources: String,
    experiment: Value,
    jobs: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    identity: Identity,
    /// The keys of the grid and their values, for people.
    label: BTreeMap<String, String>,
    strategies: Vec<Runs>,
}

#[derive(Serialize, Deserialize)]
struct Runs {
    strategy: String,
    runs: Vec<RunResult>,
}

pub(super) enum Known {
    Results(Vec<StrategyResult>),
    Damaged,
    Nothing,
}

pub(super) struct Store<'p> {
    points: &'p [Point],
    identities: Vec<Identity>,
    paths: Vec<PathBuf>,
}

impl<'p> Store<'p> {
    /// A list of jobs that points share is hashed once.
    pub(super) fn new(points: &'p [Point], folder: &Path) -> Self {
        let mut lists: HashMap<*const LogJob, String> = HashMap::new();
        let mut jobs_of = |workload: &Workload| match workload {
            Workload::Synthetic(_) => None,
            Workload::Log(log) => {
                let hash = lists.entry(log.jobs.as_ptr());
                Some(hash.or_insert_with(|| hash_of(&*log.jobs)).clone())
            }
        };
        let identity = |point: &Point| Identity {
            program: PROGRAM.to_owned(),
            sources: SOURCES.to_owned(),
            experiment: serde_json::to_value(&point.experiment)
                .expect("an experiment is made of numbers, texts and lists"),
            jobs: jobs_of(&point.experiment.workload),
        };
        let identities: Vec<_> = points.iter().map(identity).collect();
        let path = |identity| folder.join(format!("{}.json", hash_of(identity)));
        Store {
            points,
            paths: identities.iter().map(path).collect(),
            identities,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn path(&self, point: usize) -> &Path {
        &self.paths[point]
    }

    pub(super) fn read(&self, point: usize) -> io::Result<Known> {
        let file = match File::open(&self.paths[point]) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Known::Nothing),
            file => file?,
        };
        let experiment = &self.points[point].experiment;
        // An experiment that cannot be run has no file.
        let runs = experiment.replications_max().unwrap_or_default() as usize;
        let runs = runs.saturating_mul(experiment.strategies.len());
        let most = runs.saturating_mul(RUN_BYTES_MAX) + FILE_BYTES_MAX;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        let results = self.results(point, &bytes);
        Ok(results.map_or(Known::Damaged, Known::Results))
    }

    /// The results in a file of a point; `None` if it is damaged.
    fn results(&self, point: usize, bytes: &[u8]) -> Option<Vec<StrategyResult>> {
        let content: Content = serde_json::from_slice(&unsealed(bytes)?).ok()?;
        let experiment = &self.points[point].experiment;
        let strategies = experiment.strategies.iter().map(ToString::to_string);
        let is_of_point = content.identity == self.identities[point]
            && strategies.eq(content.strategies.iter().map(|runs| runs.strategy.clone()));
        if !is_of_point {
            return None;
        }
        let runs = content.strategies.into_iter().map(|runs| runs.runs);
        let results = experiment.summaries(runs.collect());
        let has_ended = results.iter().all(|result| result.stop != Stop::Incomplete);
        has_ended.then_some(results)
    }

    pub(super) fn write(&self, point: usize, results: &[StrategyResult]) -> io::Result<()> {
        let runs = results.iter().map(|result| Runs {
            strategy: result.strategy.to_string(),
            runs: result.runs.clone(),
        });
        let content = Content {
            identity: self.identities[point].clone(),
            label: self.points[point].label.iter().cloned().collect(),
            strategies: runs.collect(),
        };
        file::write(&self.paths[point], &sealed(&content)?)
    }

    pub(super) fn remove(&self, point: usize) -> io::Result<()> {
        match fs::remove_file(&self.paths[point]) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// A hash of a value's JSON, 16 digits.
fn hash_of(value: &(impl Serialize + ?Sized)) -> String {
    struct Sink(Fnv1a);
    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sink = Sink(Fnv1a::default());
    serde_json::to_writer(&mut sink, value).expect("the sink takes everything");
    hash(sink.0.0)
}

/// An object with members as JSON, the last of which is a checksum of the others.
pub(super) fn sealed(object: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec(object)?;
    // The closing brace comes after the checksum.
    json.pop();
    let sum = hash(CRC.checksum(&json));
    json.extend(format!("{BEFORE_SUM}{sum}{END}").bytes());
    Ok(json)
}

/// The JSON that was [`sealed`], without the checksum; `None` if it is damaged.
fn unsealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes = bytes.strip_suffix(END.as_bytes())?;
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    let content = bytes.strip_suffix(BEFORE_SUM.as_bytes())?;
    // The sums are compared as texts, since a sum has only one text form.
    let is_whole = hash(CRC.checksum(content)).as_bytes() == sum;
    is_whole.then(|| [content, b"}"].concat())
}
