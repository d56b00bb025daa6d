//! Logs of real machines in the Standard Workload Format (Feitelson, Tsafrir and Krakov 2014,
//! Experience with using the Parallel Workloads Archive, J. Parallel and Distributed Computing
//! 74(10)): from lines to jobs.
//!
//! Submit times and run times become ticks, exactly where they are whole seconds, as in the
//! archive. Jobs are put in the order of their submit times, equal ones in the order of the file.
//! One rule gives the meaning of a value, for lines in this format and for rows of a [trace in
//! CSV](super::trace). -1 means unknown in every field; so do NaN and words such as `Unknown`, and
//! any other negative number where a run time, a requested time or processors are meant.
//! `UNLIMITED` and times from [`TIME_MAX`](super::TIME_MAX) on are no limit: as a requested time
//! they count as `TIME_MAX`, and as a submit time or a run time they are unknown. Times may also be
//! written `MM:SS`, `HH:MM:SS` or `D-HH:MM:SS`, and whole numbers with decimals that are 0. Any
//! other word is an error that names its line.
//!
//! A line is left out, and counted under the first of these reasons that applies:
//!
//! - It is a partial execution: its status is 2, 3 or 4, and the header has `Preemption: Double`,
//!   so another line has the whole job. Without that header the status decides nothing.
//! - It belongs to another partition than the one asked for.
//! - Its submit time is unknown, or outside the window.
//! - Its processors are unknown: those that it was allocated, else those that it requested.
//! - Its run time is unknown. A job that ran for 0 seconds is kept; it leaves in the moment it is
//!   granted.
//! - The jobs asked for have been read. Such lines are counted but not read.
//!
//! With `LogOptions::strict` a line whose submit time, processors or run time are unknown is an
//! error.
//!
//! A job with more processors than the machine is kept: it never fits, and runs count it as
//! refused. Larger numbers of processors than 4294967295 count as 4294967295. The requested time
//! (field 9), where it is over 0, is the estimate of the run time and ends no job. Users and groups
//! may be names; see `Owner`.
//!
//! A file has one log: a second `UnixStartTime` after jobs is an error; in a log without a
//! `UnixStartTime`, a second `Version` is.
//!
//! Reading takes memory for the jobs, at most [`JOBS_MAX`](super::JOBS_MAX), and for one line.
//! Lines have at most 65536 bytes, a log has at most 2^32 bytes when it is unpacked and at most
//! 1000 lines of acknowledgements.

use std::mem;

use super::log::{LogHeader, leading};

pub(super) mod line;

pub(super) use line::Record;

const ACKNOWLEDGEMENTS_MAX: usize = 1000;

/// Which fields with which a header begins have been read.
#[derive(Default)]
pub(super) struct Begun {
    version: bool,
    unix_start_time: bool,
}

impl Begun {
    /// An error when a second log begins with this line of a header, after this number of jobs.
    pub(super) fn check(&mut self, comment: &str, jobs: u64) -> Result<(), String> {
        let key = comment.split_once(':').map_or("", |(key, _)| key.trim());
        let is_second = match key {
            "UnixStartTime" => mem::replace(&mut self.unix_start_time, true),
            // If a log has a UnixStartTime, this field marks its beginning.
            "Version" => mem::replace(&mut self.version, true) && !self.unix_start_time,
            _ => false,
        };
        if is_second && jobs > 0 {
            return Err(format!(
                "a second {key} behind jobs (expected one log in a file; the times of the two are \
                 counted from different zeros)"
            ));
        }
        Ok(())
    }
}

impl LogHeader {
    pub(super) fn line(&mut self, comment: &str) -> Result<(), String> {
        let Some((key, value)) = comment.split_once(':') else {
            return Ok(());
        };
        let value = value.trim().to_string();
        match key.trim() {
            "Computer" => self.computer = Some(value),
            "Installation" => self.installation = Some(value),
            "Acknowledge" if self.acknowledge.len() == ACKNOWLEDGEMENTS_MAX => {
                return Err(format!(
                    "more than {ACKNOWLEDGEMENTS_MAX} lines of acknowledgements (expected at most \
                     that)"
                ));
            }
            "Acknowledge" => self.acknowledge.push(value),
            "MaxProcs" => self.max_procs = Some(value),
            "MaxNodes" => self.max_nodes = Some(value),
            "Preemption" => self.is_double = value.eq_ignore_ascii_case("double"),
            // Other logs than those of machines have 0 or -1.
            "UnixStartTime" => self.unix_start_time = leading(&value),
            "TimeZoneString" => self.time_zone = Some(value),
            _ => {}
        }
        Ok(())
    }
}
