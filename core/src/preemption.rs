//! The jobs that make room for another one: [`Victims`].

use crate::job_id::JobId;
use crate::wire::wire;

/// The maximum number of jobs that one job can preempt. With it, the message is no longer than that
/// of the longest submission.
pub const VICTIMS_MAX: usize = 8;

wire! {
    /// The jobs whose processors another job takes (`Change::Preempt`), at most [`VICTIMS_MAX`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Victims([Option<JobId>; VICTIMS_MAX]);
}

impl Victims {
    /// Whether jobs may be preempted in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "preemption");

    /// Makes victims of these jobs; `None` for more than [`VICTIMS_MAX`] jobs.
    ///
    /// ```
    /// use meshalloc::{JobId, Victims};
    /// let victims = Victims::new(&[JobId(3), JobId(5)]).expect("at most 8");
    /// assert!(victims.iter().eq([JobId(3), JobId(5)]));
    /// assert_eq!(Victims::new(&[JobId(0); 9]), None);
    /// ```
    pub fn new(jobs: &[JobId]) -> Option<Victims> {
        let mut victims = Victims::default();
        victims.0.get_mut(..jobs.len())?.fill_with({
            let mut jobs = jobs.iter().copied();
            move || jobs.next()
        });
        Some(victims)
    }

    /// The jobs.
    pub fn iter(&self) -> impl Iterator<Item = JobId> + Clone + '_ {
        self.0.iter().copied().flatten()
    }
}
