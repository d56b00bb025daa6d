//! A backend around another one.

use meshalloc::{Change, Outcome, Ticks};

use super::{Backend, Called, OnEvent};
use crate::forward_backend;

/// A backend whose changes go through a closure. All other calls go to the other backend.
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
    F: FnMut(&mut dyn Backend, &Change, Ticks, OnEvent<'_>) -> Called<Outcome>,
{
    /// A backend around `inner`. `call` carries changes out, as [`Backend::call`] does.
    pub fn new(inner: &'b mut dyn Backend, call: F) -> Self {
        Around { inner, call }
    }
}

impl<F> Backend for Around<'_, F>
where
    F: FnMut(&mut dyn Backend, &Change, Ticks, OnEvent<'_>) -> Called<Outcome>,
{
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called<Outcome> {
        (self.call)(self.inner, change, now, on_event)
    }

    forward_backend!(it => it.inner; requeue, fits, requested, query, capacity, is_in_order,
        served, make_room, latest_seconds);
}
