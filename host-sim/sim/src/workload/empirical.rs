//! Times that were measured: a column of a CSV file or of a log, from which times are drawn with
//! replacement.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshalloc::Ticks;
use rand_distr::{Distribution, Uniform};
use serde::{Serialize, Serializer};

use super::csv::{CsvFile, Row};
use super::swf::line as swf;
use super::text_file::{TextFile, bad};
use super::value::{self, Value};
use super::{LogError, TimeUnit};

/// Times that were measured, each of which is equally likely. The file that they were read from is
/// not a part of their record.
///
/// ```
/// use meshalloc_sim::workload::Empirical;
/// let times = Empirical::of(vec![2_000_000, 4_000_000]);
/// assert_eq!(times.mean_seconds(), Some(3.0));
/// // Those of a file are read later.
/// let times = Empirical::unread("trace.csv:run").unwrap();
/// assert_eq!((times.to_string().as_str(), times.mean_seconds()), ("trace.csv:run", None));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Empirical {
    #[serde(skip)]
    path: PathBuf,
    column: String,
    #[serde(serialize_with = "slice")]
    values: Arc<[Ticks]>,
}

pub(crate) fn slice<T: Serialize, S: Serializer>(
    list: &Arc<[T]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    list[..].serialize(serializer)
}

/// The columns of a log in the Standard Workload Format, as CSV files name them.
const COLUMNS_OF_LOG: &str = "submit, wait, run or estimate";

impl Empirical {
    /// These times, in ticks.
    pub fn of(values: impl Into<Arc<[Ticks]>>) -> Self {
        Empirical {
            path: PathBuf::new(),
            column: String::new(),
            values: values.into(),
        }
    }

    /// The column of a file, which is not read yet: `FILE:COLUMN`, where the name of the file has a
    /// dot or a slash. `None` if the text is something else.
    pub fn unread(text: &str) -> Option<Self> {
        let (path, column) = text.rsplit_once(':')?;
        let is_file = is_file_name(path) && !column.is_empty();
        is_file.then(|| Empirical {
            path: path.into(),
            column: column.to_owned(),
            values: Arc::default(),
        })
    }

    /// The file; empty if the times come from no file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The times, in ticks; none before they are read.
    pub fn values(&self) -> &[Ticks] {
        &self.values
    }

    /// Their mean, in seconds; `None` without times.
    pub fn mean_seconds(&self) -> Option<f64> {
        let sum: u128 = self.values.iter().map(|&ticks| u128::from(ticks)).sum();
        let mean = sum as f64 / self.values.len() as f64;
        (!self.values.is_empty()).then(|| mean / TimeUnit::Second.ticks_each() as f64)
    }

    /// Reads the column as times, if its file was not read yet. Times that are unknown or not
    /// simulated are left out, as [in a log](super::swf). A file that ends in `.swf` or `.swf.gz`
    /// is a log in the Standard Workload Format, any other has CSV.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, has no such column, or has no times in it.
    pub fn read(&self) -> Result<Self, LogError> {
        self.filled(|times| times)
    }

    /// The same for times between arrivals: of the column `submit` the differences of successive
    /// submit times. Errors are those of [`Empirical::read`].
    pub fn read_gaps(&self) -> Result<Self, LogError> {
        self.filled(|mut times| {
            if self.column != "submit" {
                return times;
            }
            times.sort_unstable();
            times.windows(2).map(|pair| pair[1] - pair[0]).collect()
        })
    }

    fn filled(&self, of: impl FnOnce(Vec<Ticks>) -> Vec<Ticks>) -> Result<Self, LogError> {
        if !self.values.is_empty() || self.path.as_os_str().is_empty() {
            return Ok(self.clone());
        }
        let times = of(column(&self.path, &self.column)?);
        if times.is_empty() {
            return Err(LogError::NoTimes {
                path: self.path.clone(),
                column: self.column.clone(),
            });
        }
        Ok(Empirical {
            values: times.into(),
            ..self.clone()
        })
    }

    /// The times, ready to be drawn from; `None` without times.
    pub(super) fn sampler(&self) -> Option<impl Distribution<Ticks> + use<>> {
        let values = self.values.clone();
        let any = Uniform::new(0, values.len()).ok()?;
        Some(any.map(move |place| values[place]))
    }
}

/// Whether a name is that of a file: it has a dot or a slash, which no name of the program has.
pub(crate) fn is_file_name(name: &str) -> bool {
    name.contains(['.', '/', '\\'])
}

/// Whether a value that names a mix, a distribution, or a file and its column, names a file.
///
/// ```
/// use meshalloc_sim::workload::empirical::names_file;
/// assert!(names_file("mix.csv") && names_file("a.b/trace.csv:run"));
/// assert!(!names_file("tpu-v4") && !names_file("exponential:0.5"));
/// ```
pub fn names_file(value: &str) -> bool {
    is_file_name(value.rsplit_once(':').map_or(value, |(file, _)| file))
}

impl fmt::Display for Empirical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.path.display(), self.column))
    }
}

const TIMES: &str = "times";

/// The times in a column, in the order of the file.
fn column(path: &Path, column: &str) -> Result<Vec<Ticks>, LogError> {
    let mut file = TextFile::open(path)?;
    let mut times = Vec::new();
    if swf::is_name(path) {
        let unknown = format!("a log has no column {column:?} (expected {COLUMNS_OF_LOG})");
        let field = swf::field_of(column).ok_or_else(|| file.wrong(unknown))?;
        let mut line = String::new();
        while file.next_line(&mut line)? {
            if line.trim().is_empty() {
                continue;
            }
            let time = swf::time_in(line.trim(), field);
            if let Some(time) = time.map_err(|reason| file.wrong(reason))? {
                file.push(&mut times, time, TIMES)?;
            }
        }
        file.check_end()?;
    } else {
        let mut csv = CsvFile::new(file)?;
        let place = csv.required(column);
        let place = place.map_err(|reason| csv.wrong(reason))?;
        let mut row = Row::new();
        while csv.next_row(&mut row)? {
            let cell = row.cell(place);
            let time = value::span(cell);
            let expected = "seconds, or D-HH:MM:SS; nothing if unknown";
            let time = time.ok_or_else(|| csv.wrong(bad(column, cell, expected)))?;
            if let Value::Known(time) = time {
                csv.file().push(&mut times, time, TIMES)?;
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;

    const SECOND: Ticks = 1_000_000;

    fn read(folder: &Path, name: &str) -> Result<Vec<Ticks>, String> {
        let text = folder.join(name).display().to_string();
        let times = Empirical::unread(&text).expect("a file").read_gaps();
        let times = times.map(|times| times.values().to_vec());
        times.map_err(|error| error.to_string().replace(&folder.display().to_string(), ""))
    }

    #[test]
    fn columns_of_csv_and_of_logs_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let csv = "submit,\"run\",gap\n10,1.5,3\n7,,4\n\n9, 2 ,0\n11,nan,-1\n12,UNLIMITED,1e300\n";
        fs::write(folder.path().join("a.csv"), csv).unwrap();
        let line = |submit: u32, run: i32, estimate: i32| {
            format!("1 {submit} -1 {run} 4 -1 -1 4 {estimate} -1 1 1 1 1 1 1 -1 -1\n")
        };
        let log = format!("; Version: 2.2\n{}{}", line(5, 8, -1), line(3, -1, 60));
        fs::write(folder.path().join("a.swf"), log).unwrap();
        let read = |name| read(folder.path(), name);
        assert_eq!(read("a.csv:run"), Ok(vec![SECOND * 3 / 2, 2 * SECOND]));
        assert_eq!(read("a.csv:gap"), Ok(vec![3 * SECOND, 4 * SECOND, 0]));
        // Differences of submit times in their order.
        assert_eq!(
            read("a.csv:submit"),
            Ok(vec![2 * SECOND, SECOND, SECOND, SECOND])
        );
        assert_eq!(read("a.swf:submit"), Ok(vec![2 * SECOND]));
        assert_eq!(read("a.swf:run"), Ok(vec![8 * SECOND]));
        assert_eq!(read("a.swf:estimate"), Ok(vec![60 * SECOND]));
        for (name, expected) in [
            (
                "a.csv:walk",
                "/a.csv:1: no column is called walk (found \"submit, run, gap\")",
            ),
            (
                "a.swf:gap",
                "/a.swf:1: a log has no column \"gap\" (expected submit, wait, run or estimate)",
            ),
            (
                "a.swf:wait",
                "/a.swf: no time in the column wait (expected one at least)",
            ),
            (
                "b.csv:run",
                "/b.csv: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(read(name).unwrap_err(), expected);
        }
        for (line, expected) in [
            ("x", "run is \"x\": expected seconds, or D-HH:MM:SS"),
            ("1,2", "2 cells (expected 1, as in the header)"),
        ] {
            fs::write(folder.path().join("c.csv"), format!("run\n1\n{line}\n")).unwrap();
            let error = read("c.csv:run").unwrap_err();
            assert!(
                error.starts_with(&format!("/c.csv:3: {expected}")),
                "{error}"
            );
        }
    }

    #[test]
    fn each_time_is_equally_likely() {
        // Kolmogorov and Smirnov's distance to the steps of the values.
        let values: Vec<Ticks> = vec![5, 7, 7, 11, 30];
        let sampler = Empirical::of(values.clone()).sampler().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<_> = (0..100_000).map(|_| sampler.sample(&mut rng)).collect();
        for at in [4, 5, 7, 11, 29, 30] {
            let part = |of: &[Ticks]| {
                of.iter().filter(|&&value| value <= at).count() as f64 / of.len() as f64
            };
            assert!((part(&drawn) - part(&values)).abs() < 0.005, "{at}");
        }
        assert!(Empirical::of(vec![]).sampler().is_none());
        for text in ["gaussian:5", "trace.csv", "trace.csv:", "x"] {
            assert!(Empirical::unread(text).is_none(), "{text}");
        }
    }
}
