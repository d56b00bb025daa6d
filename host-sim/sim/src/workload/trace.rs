//! Traces: logs as CSV files, from rows to jobs.
//!
//! The first line has the names of the columns, in any order, separated by commas, `|`, `;` or
//! tabs. There must be `submit` and `run`, times in seconds with decimals if need be, and `shape`
//! or `processors`; there may be `estimate`, a run time, `priority`, a head start in the queue,
//! `preemptible`, 1 if the job may be interrupted for one of a higher priority, `tolerate`, the
//! faulty processors that each slice may have, `rings`, as in a [mix](super::mix), the whole number
//! `id`, and `user` and `group`, which may be names. Others are not read. [`Columns`] gives the
//! names that they have in a file. The names of a
//! jobs file that a run writes are known too; such a file is read if its jobs are of one run.
//!
//! ```text
//! submit,run,shape,user
//! 0,3600,4x4x4,7
//! 5,3600,3x 4x4x4,8
//! 12.5,60,2x2x1,7
//! ```
//!
//! A job with a shape asks for it, and for all processors in it unless `processors` says otherwise;
//! a job without one is given a shape by the rule for its number of processors. `3x 4x4x4` is a
//! *gang*: three slices of the shape, all at once or none; `processors` then is the number in all
//! slices together. An empty cell is unknown; all other cells follow the rule of a log in the
//! [Standard Workload Format](super::swf), and so do the rows that are left out. Jobs without an
//! `id` are numbered by their rows, from 1. A blank line is not a row.
//!
//! Submit times may be dates, all with a time zone or all without one. Dates without one are taken
//! to be in UTC. The zero of such a log is the second of its earliest submit time, which is its
//! [`unix_start_time`](super::LogHeader::unix_start_time).

use std::io::Read;

use super::columns::{Column, Columns};
use super::csv::{CsvFile, Row};
use super::entry::Fields;
use super::text_file::bad;

/// A file's columns: the place of each column in a row, if the file has that column.
pub(super) struct Trace {
    places: [Option<usize>; Column::ALL.len()],
    /// The columns that say to which run a job belongs, in a file of jobs that a run wrote.
    run: [Option<usize>; 2],
}

impl Trace {
    /// The columns of a file; an error when a column is missing that is required or was named.
    pub(super) fn new<R: Read>(csv: &CsvFile<'_, R>, columns: &Columns) -> Result<Self, String> {
        // Other traces use some of these names with another meaning.
        let is_written =
            csv.place("submission_time")?.is_some() && csv.place("requested_extents")?.is_some();
        let mut places = [None; Column::ALL.len()];
        for column in Column::ALL {
            places[column as usize] = match columns.0.get(&column) {
                Some(name) if name.is_empty() => None,
                Some(name) => Some(csv.required(name)?),
                None => match (csv.place(column.name())?, column.written()) {
                    (None, Some(name)) if is_written => csv.place(name)?,
                    (place, _) => place,
                },
            };
        }
        let has = |column: Column| places[column as usize].is_some();
        // This is the program's name of the column; the file may name the column in another way.
        let missing = |column: Column, or: &str| {
            let name = column.name();
            let missing = csv.missing(&format!("{name}{or}"));
            format!("{missing}; --columns {name}=COLUMN says which column it is")
        };
        for column in [Column::Submit, Column::Run] {
            if !has(column) {
                return Err(missing(column, ""));
            }
        }
        if has(Column::Shape) || has(Column::Processors) {
            let run = [csv.place("strategy")?, csv.place("replication")?];
            let run = run.map(|place| place.filter(|_| is_written));
            return Ok(Trace { places, run });
        }
        Err(missing(Column::Processors, " or shape"))
    }

    /// The words that say of which run a row is, if the file has some.
    pub(super) fn run(&self, row: &Row) -> [Option<String>; 2] {
        self.run.map(|place| Some(row.cell(place?).to_owned()))
    }

    /// A row of the file.
    pub(super) const fn row<'r>(&'r self, row: &'r Row) -> Cells<'r> {
        Cells { trace: self, row }
    }
}

/// A row of a trace.
pub(super) struct Cells<'r> {
    trace: &'r Trace,
    row: &'r Row,
}

impl Fields for Cells<'_> {
    const UNKNOWN: &'static str = "nothing";
    const CAN_LEAVE_OUT: bool = true;

    fn word(&self, column: Column) -> &str {
        let place = self.trace.places[column as usize];
        place.map_or("", |place| self.row.cell(place))
    }

    fn bad(&self, column: Column, expected: &str) -> String {
        bad(column.name(), self.word(column), expected)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use meshalloc::{Flags, Grid, Mesh, Request, Shape, Slices, Tolerance};

    use super::super::{Log, LogJob, LogOptions, Owner, TIME_MAX, TimeUnit, Workload};
    use super::*;

    fn options(columns: &str) -> LogOptions {
        LogOptions {
            columns: match columns {
                "" => None,
                columns => Some(columns.parse().unwrap()),
            },
            ..LogOptions::default()
        }
    }

    fn read(text: &str, options: LogOptions) -> Result<Log, String> {
        let machine = Grid::from(Mesh::new(8, 8).unwrap());
        let log = Log::from_reader(text.as_bytes(), Path::new("a.csv"), options, machine);
        log.map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_jobs() {
        let text = "\u{feff}run,shape,submit,processors,estimate,id,user,group,priority,preemptible,queue\n\
                    3600,4x2,20.5,,60,17,1,2,3,yes,a\n\
                    \n\
                    10,,0,7,,,,,,0,\"b,c\"\n\
                    0.25,2X4,20.5,5,0,-4,9,,,,\n";
        let log = read(text, options("")).unwrap();
        let second = 1_000_000;
        let job = |number, arrival, processors, shape: Option<(u16, u16)>, run_time| LogJob {
            number,
            arrival,
            processors,
            shape: shape.map(|(w, h)| Shape::sides(w, h)),
            slices: Slices::ONE,
            flags: Flags::empty(),
            run_time,
            requested_time: None,
            priority: 0,
            is_preemptible: false,
            tolerance: Tolerance::NONE,
            owner: Owner::UNKNOWN,
        };
        let expected = [
            job(2, 0, 7, None, 10 * second),
            LogJob {
                requested_time: Some(60 * second),
                priority: 3 * second,
                is_preemptible: true,
                owner: Owner { user: 1, group: 2 },
                ..job(17, 20_500_000, 8, Some((4, 2)), 3600 * second)
            },
            LogJob {
                owner: Owner {
                    user: 9,
                    ..Owner::UNKNOWN
                },
                ..job(-4, 20_500_000, 5, Some((2, 4)), 250_000)
            },
        ];
        assert_eq!(*log.jobs, expected);
        let jobs = Workload::Log(log.clone());
        let requests = jobs.jobs(1, 0).unwrap().map(|job| job.request);
        let requests: Vec<_> = requests
            .map(|request| (request.shape, request.processors))
            .collect();
        // The rule gives 7 processors a shape.
        let shape = |w, h| Request::submesh(w, h).shape;
        assert_eq!(
            requests,
            [(shape(4, 2), 7), (shape(4, 2), 8), (shape(2, 4), 5)]
        );
        assert_eq!((log.owner(1).user, log.job_number(1)), (1, 17));
    }

    #[test]
    fn columns_can_have_other_names() {
        let text = "arrival,duration,gpus,id\n5,6,7,job-1\n";
        let options = |names| options(names);
        let log = read(
            text,
            options("submit=arrival,run=duration,processors=gpus,id="),
        )
        .unwrap();
        let job = log.jobs[0];
        assert_eq!(
            (job.number, job.arrival, job.run_time),
            (1, 5_000_000, 6_000_000)
        );
        for (names, expected) in [
            (
                "",
                "a.csv:1: no column is called submit (found \"arrival, duration, gpus, id\")",
            ),
            ("submit=arrival", "a.csv:1: no column is called run (found"),
            (
                "submit=arrival,run=duration",
                "a.csv:1: no column is called processors or shape (found",
            ),
            (
                "submit=arival",
                "a.csv:1: no column is called arival (found",
            ),
            (
                "submit=arrival,run=duration,processors=gpus",
                "a.csv:2: id is \"job-1\": expected a whole number; --columns id= leaves the \
                 column out; nothing if unknown",
            ),
        ] {
            let error = read(text, options(names)).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        for text in ["", "submit", "submit=a,submit=b", "walk=a"] {
            assert!(text.parse::<Columns>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_unknown_is_left_out_and_what_is_wrong_is_named() {
        let text = "submit,run,processors\n,1,1\n1,,1\n1,1,\n1,2,3\n9,1,1\n";
        let window = LogOptions {
            to: Some(9_000_000),
            ..options("")
        };
        let lines = read(text, window).unwrap().lines;
        let found = (
            lines.records,
            lines.no_submit_time,
            lines.no_run_time,
            lines.no_processors,
        );
        assert_eq!((found, lines.outside), ((5, 1, 1, 1), 1));
        for (row, expected) in [
            ("1,2", "2 cells (expected 3, as in the header)"),
            (
                "x,2,3",
                "submit is \"x\": expected seconds, 0 or more, or a date such as 2026-03-01T08",
            ),
            ("-2,2,3", "submit is \"-2\": expected seconds, 0 or more"),
            ("1,1h,3", "run is \"1h\": expected seconds, or D-HH:MM:SS"),
            ("1,2,2.5", "processors is \"2.5\": expected a whole number"),
        ] {
            let error = read(
                &format!("submit,run,processors\n1,1,1\n{row}\n"),
                options(""),
            );
            let error = error.unwrap_err();
            assert!(
                error.starts_with(&format!("a.csv:3: {expected}")),
                "{error}"
            );
        }
        for (row, expected) in [
            (
                "1,2,3,2x1",
                "processors is \"3\": expected at most the 2 of the shape",
            ),
            ("1,2,,2x", "shape is \"2x\": expected extents"),
        ] {
            let error = read(
                &format!("submit,run,processors,shape\n{row}\n"),
                options(""),
            );
            let error = error.unwrap_err();
            assert!(
                error.starts_with(&format!("a.csv:2: {expected}")),
                "{error}"
            );
        }
        let error = read("\n\n", options("")).unwrap_err();
        assert!(
            error.contains("the file is empty (expected a line with the names"),
            "{error}"
        );
    }

    #[test]
    fn a_job_is_a_gang() {
        let text = "submit,run,shape,processors\n0,1,3x 4x2,\n1,1,2X 4x4,30\n2,1,1x 4,\n";
        let log = read(text, options("")).unwrap();
        assert_eq!(log.jobs[0].processors, 24);
        let requests = log.jobs(1, 0).unwrap().map(|job| job.request);
        let requests: Vec<_> = requests
            .map(|request| (request.slices(), request.processors, request.total()))
            .collect();
        assert_eq!(requests, [(3, 8, 24), (2, 15, 30), (1, 4, 4)]);
        for (row, expected) in [
            (
                "2x 4x4,31",
                "processors is \"31\": expected as many for each of 2 slices",
            ),
            (
                "2x 4x4,34",
                "processors is \"34\": expected at most the 32 of the shape",
            ),
            ("0x 4x4,", "shape is \"0x 4x4\": expected 1 to 65536 slices"),
            ("2x 4x,", "shape is \"2x 4x\": expected extents"),
        ] {
            let text = format!("submit,run,shape,processors\n0,1,{row}\n");
            let error = read(&text, options("")).unwrap_err();
            assert!(
                error.starts_with(&format!("a.csv:2: {expected}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_priority_is_a_time() {
        let text = "submit,run,processors,priority\n0,1,1,\n1,1,1,90\n2,1,1,00:30:00\n3,1,1,-1\n\
                    4,1,1,4294901757\n";
        let log = read(text, options("")).unwrap();
        let requests = log.jobs(1, 0).unwrap().map(|job| job.request);
        let priorities: Vec<_> = requests.map(|request| request.class.priority()).collect();
        let second = TimeUnit::Second.ticks_each();
        assert_eq!(priorities, [0, 90 * second, 1800 * second, 0, TIME_MAX]);
        let error = read("submit,run,processors,priority\n0,1,1,high\n", options(""));
        let expected = "a.csv:2: priority is \"high\": expected seconds of a head start, or \
                        D-HH:MM:SS; --columns priority= leaves the column out; nothing if unknown";
        assert_eq!(error.unwrap_err(), expected);
    }

    #[test]
    fn a_job_tolerates_faulty_processors() {
        let text = "submit,run,processors,tolerate\n0,1,1,\n1,1,1,0\n2,1,1,2\n3,1,1,255\n";
        let log = read(text, options("")).unwrap();
        let requests = log.jobs(1, 0).unwrap().map(|job| job.request);
        let tolerated: Vec<_> = requests.map(|request| request.tolerance.get()).collect();
        assert_eq!(tolerated, [0, 0, 2, 255]);
        for word in ["256", "-1", "some"] {
            let text = format!("submit,run,processors,tolerate\n0,1,1,{word}\n");
            let error = read(&text, options("")).unwrap_err();
            let expected = format!(
                "a.csv:2: tolerate is \"{word}\": expected a number of faulty processors, 0 to 255"
            );
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_job_demands_rings() {
        let log = read(
            "submit,run,shape,rings\n0,1,4x4,all\n1,1,4x4,\n2,1,4x4,1\n",
            options(""),
        );
        let flags: Vec<_> = log
            .unwrap()
            .jobs(1, 0)
            .unwrap()
            .map(|job| job.request.flags)
            .collect();
        assert_eq!(flags, [Flags::RINGS, Flags::empty(), Flags::RING_1]);
    }

    #[test]
    fn processors_become_nodes() {
        let options = LogOptions {
            processors_per_node: std::num::NonZeroU32::new(8),
            ..options("")
        };
        let text = "submit,run,processors,shape\n0,1,1,\n1,1,8,\n2,1,9,\n3,1,,4x4\n4,1,17,4x4\n";
        let log = read(text, options.clone()).unwrap();
        let nodes: Vec<_> = log.jobs.iter().map(|job| job.processors).collect();
        assert_eq!(nodes, [1, 1, 2, 16, 3]);
        let swf = "; MaxProcs: 64\n1 0 -1 10 33 -1 -1 4 -1 -1 1 5 6 1 1 1 -1 -1\n";
        let machine = Grid::from(Mesh::new(8, 8).unwrap());
        let log = Log::from_reader(swf.as_bytes(), Path::new("a.log"), options, machine).unwrap();
        assert_eq!(log.jobs[0].processors, 5);
        assert_eq!((log.owner(0).user, log.owner(0).group), (5, 6));
        // 64 processors are 8 nodes.
        assert_eq!(log.fitting_mesh().unwrap().to_string(), "2x4");
    }
}
