//! A backend around another one.

use meshalloc::message::Capacity;
use meshalloc::{Answer, Change, Error, JobId, Outcome, Query, Request, Ticks};

use super::{Backend, BackendError, OnEvent};

type Called = Result<Result<Outcome, Error>, BackendError>;

/// A backend whose changes go through a closure; all else is the other backend's.
///
/// ```
/// use meshalloc::{Change, Configuration, Grid, JobId, Request, SchedulerKind, StrategyKind};
/// use meshalloc_sim::backend::{Around, Backend, Backends, InProcessBackends};
///
/// let configuration = Configuration {
///     machine: Grid::mesh(&[4, 4]).unwrap(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let mut changes = 0;
/// InProcessBackends::default().with(configuration, None, &mut |backend| {
///     let mut counted = Around::new(backend, |inner, change, now, on_event| {
///         changes += 1;
///         inner.call(change, now, on_event)
///     });
///     let submit = Change::submit(JobId(1), Request::submesh(2, 2));
///     counted.call(&submit, 0, &mut |_, _| {}).unwrap().unwrap();
/// })?;
/// assert_eq!(changes, 1);
/// # Ok::<(), meshalloc_sim::backend::BackendError>(())
/// ```
pub struct Around<'b, F> {
    inner: &'b mut dyn Backend,
    call: F,
}

impl<'b, F> Around<'b, F>
where
    F: FnMut(&mut dyn Backend, &Change, Ticks, OnEvent<'_>) -> Called,
{
    /// A backend around `inner`. `call` carries changes out, as [`Backend::call`] does.
    pub fn new(inner: &'b mut dyn Backend, call: F) -> Self {
        Around { inner, call }
    }
}

impl<F> Backend for Around<'_, F>
where
    F: FnMut(&mut dyn Backend, &Change, Ticks, OnEvent<'_>) -> Called,
{
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called {
        (self.call)(self.inner, change, now, on_event)
    }

    fn requeue(
        &mut self,
        jobs: &[JobId],
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<(), Error>, BackendError> {
        self.inner.requeue(jobs, now, on_event)
    }

    fn fits(&mut self, request: &Request) -> bool {
        self.inner.fits(request)
    }

    fn requested(&self, request: &Request) -> u32 {
        self.inner.requested(request)
    }

    fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, BackendError> {
        self.inner.query(query)
    }

    fn capacity(&self) -> Capacity {
        self.inner.capacity()
    }

    fn is_in_order(&self) -> bool {
        self.inner.is_in_order()
    }

    fn is_as_configured(&self) -> bool {
        self.inner.is_as_configured()
    }

    fn make_room(&mut self) -> bool {
        self.inner.make_room()
    }

    fn latest_seconds(&self) -> Option<f64> {
        self.inner.latest_seconds()
    }
}
