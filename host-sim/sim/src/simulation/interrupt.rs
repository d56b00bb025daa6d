//! Runs that are interrupted, to look at the controller as it is then.

use meshalloc::{Grid, Ticks};

use super::{Conditions, Execution, Measured, Run, SimulationError};
use crate::backend::Backend;
use crate::failures::Timeline;
use crate::workload::{JOBS_MAX, Job};

/// When a run is to be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At this time.
    Time(Ticks),
    /// When this number of jobs has been granted.
    Grants(u64),
}

/// How an interrupted run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The time. All events of this time have happened.
    pub at: Ticks,
    /// Jobs that run.
    pub running: u32,
    /// Jobs that wait, in the controller or here.
    pub waiting: u32,
}

/// Runs `jobs`, which come in order of arrival, through a controller without jobs, up to a moment,
/// with these failures, if any, and leaves the controller as it is then.
///
/// # Errors
///
/// When the controller is lost or answers nonsense, when the moment never comes, or when more than
/// [`JOBS_MAX`] jobs arrive before it.
pub fn run_until(
    execution: &mut dyn Execution,
    backend: &mut dyn Backend,
    machine: Grid,
    jobs: impl IntoIterator<Item = Job>,
    failures: Option<Timeline>,
    moment: Moment,
) -> Result<Interrupted, SimulationError> {
    let nothing = Conditions {
        failures,
        ..Measured::Arrivals { first: 0, end: 0 }.into()
    };
    let mut unobserved = ();
    let jobs = jobs.into_iter();
    let mut run = Run::new(execution, nothing, backend, machine, jobs, &mut unobserved)?;
    let at = match moment {
        Moment::Time(at) => at,
        Moment::Grants(grants) => {
            while run.state.decisions < grants {
                if !run.step(Ticks::MAX)? {
                    let granted = run.state.decisions;
                    return Err(SimulationError::TooFewGrants { granted });
                }
            }
            run.state.now
        }
    };
    while run.step(at)? {
        if run.state.arrived > JOBS_MAX {
            return Err(SimulationError::TooManyJobs);
        }
    }
    // Those that were put off wait, too.
    let (arrived, waiting, running) = (run.state.arrived, run.waiting(), run.state.running);
    let later = run.next.map(|(_, job)| job).into_iter().chain(run.jobs);
    let put_off = later.take_while(|job| job.arrival <= at);
    let put_off = put_off.take(JOBS_MAX as usize).count() as u32;
    if arrived + put_off > JOBS_MAX {
        return Err(SimulationError::TooManyJobs);
    }
    Ok(Interrupted {
        at,
        running,
        waiting: waiting + put_off,
    })
}
