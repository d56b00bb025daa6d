//! Pauses in long work: [`Pauses`], what a caller does in them, and [`Interrupts`], how it says so.
//!
//! An attempt to place a job may take long: a strategy tries many shapes, a scheduler supposes the departure of one job after the other. Work that
//! may take long says now and then how much of it there was; whoever has called may do something else then, such as to answer queries, with the
//! [`View`] of the controller as it is at that moment. The work goes on when that returns. So decisions are those of work without pauses.
//!
//! Strategies and schedulers whose attempts may take long turn on the feature `pauses`; without it there are none.

use core::fmt;
#[cfg(not(feature = "pauses"))]
use core::marker::PhantomData;

use crate::blocks::BlockPool;
use crate::controller::{Status, View};
use crate::jobs::JobTable;
use crate::occupancy::Occupancy;

/// What is done while work pauses.
pub trait Pauses {
    /// About so many instructions of a Cortex-M4 have gone by since the last call, or since the work began; as a rule some thousand. The controller looks
    /// as it does in the middle of a command: what has been decided is there, the job that tries waits.
    fn worked(&mut self, instructions: u32, view: &View<'_, '_>);
}

/// Whether work may be interrupted, and by whom.
#[derive(Default)]
pub struct Interrupts<'a> {
    #[cfg(feature = "pauses")]
    pauses: Option<&'a mut (dyn Pauses + 'a)>,
    #[cfg(not(feature = "pauses"))]
    none: PhantomData<&'a ()>,
}

impl fmt::Debug for Interrupts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupts")
    }
}

impl<'i> Interrupts<'i> {
    /// The work is done in one go.
    #[inline]
    pub fn never() -> Self {
        Self::default()
    }

    /// The work pauses now and then. Without the feature `pauses` it does not.
    #[inline]
    pub fn by(pauses: &'i mut (dyn Pauses + 'i)) -> Self {
        #[cfg(not(feature = "pauses"))]
        let _ = pauses;
        Interrupts {
            #[cfg(feature = "pauses")]
            pauses: Some(pauses),
            #[cfg(not(feature = "pauses"))]
            none: PhantomData,
        }
    }

    /// The same for a part of the work.
    #[inline]
    pub fn reborrow(&mut self) -> Interrupts<'_> {
        #[cfg(feature = "pauses")]
        if let Some(pauses) = &mut self.pauses {
            return Interrupts::by(&mut **pauses);
        }
        Interrupts::never()
    }

    /// The status, if it can be asked for.
    #[inline]
    pub(crate) fn status(&self, status: impl FnOnce() -> Status) -> Option<Status> {
        #[cfg(feature = "pauses")]
        if self.pauses.is_some() {
            let mut status = status();
            // The work itself is left.
            status.left = status.left.max(1);
            return Some(status);
        }
        let _ = status;
        None
    }

    /// What is shown beside the jobs.
    #[inline]
    pub(crate) fn showing<'a>(&'a mut self, status: Option<&'a Status>) -> Watch<'a> {
        #[cfg(feature = "pauses")]
        if let (Some(pauses), Some(status)) = (&mut self.pauses, status) {
            return Watch {
                inner: Some((&mut **pauses, status)),
            };
        }
        let _ = status;
        Watch::never()
    }
}

/// Who interrupts the work of a controller, with what does not change meanwhile.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    #[cfg(feature = "pauses")]
    inner: Option<(&'a mut (dyn Pauses + 'a), &'a Status)>,
    #[cfg(not(feature = "pauses"))]
    none: PhantomData<&'a ()>,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch<'_> {
    #[inline]
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// The same for a part of the work.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Watch<'_> {
        #[cfg(feature = "pauses")]
        if let Some((pauses, status)) = &mut self.inner {
            return Watch {
                inner: Some((&mut **pauses, status)),
            };
        }
        Watch::never()
    }

    /// About so many instructions have gone by.
    #[inline]
    pub(crate) fn worked(
        &mut self,
        instructions: u32,
        jobs: &JobTable<'_>,
        occupancy: &Occupancy<'_>,
        pool: &BlockPool<'_>,
    ) {
        #[cfg(feature = "pauses")]
        if let Some((pauses, status)) = &mut self.inner {
            let view = View::new(jobs, occupancy, pool, status);
            pauses.worked(instructions, &view);
        }
        #[cfg(not(feature = "pauses"))]
        let _ = (instructions, jobs, occupancy, pool);
    }
}

/// What is called about every some thousand instructions, with their number.
#[cfg_attr(
    not(any(feature = "least-expected-blocking", feature = "leb-estimates")),
    expect(dead_code, reason = "only searches of several parts hand it on")
)]
pub(crate) struct Worked<'a>(pub(crate) &'a mut dyn FnMut(u32));

impl fmt::Debug for Worked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worked")
    }
}

/// Who interrupts a search, with what does not change meanwhile.
#[derive(Default)]
pub(crate) struct Pausing<'a, 'm> {
    #[cfg(feature = "pauses")]
    inner: Option<(Watch<'a>, &'a JobTable<'m>, &'a Occupancy<'m>)>,
    #[cfg(not(feature = "pauses"))]
    none: PhantomData<(&'a (), &'m ())>,
}

impl fmt::Debug for Pausing<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pausing")
    }
}

impl<'a, 'm> Pausing<'a, 'm> {
    #[inline]
    pub(crate) fn new(
        watch: &'a mut Watch<'_>,
        jobs: &'a JobTable<'m>,
        occupancy: &'a Occupancy<'m>,
    ) -> Self {
        #[cfg(feature = "pauses")]
        if watch.inner.is_some() {
            return Pausing {
                inner: Some((watch.reborrow(), jobs, occupancy)),
            };
        }
        let _ = (watch, jobs, occupancy);
        Pausing::never()
    }

    #[inline]
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// The same for a part of the work.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Pausing<'_, 'm> {
        #[cfg(feature = "pauses")]
        if let Some((watch, jobs, occupancy)) = &mut self.inner {
            return Pausing {
                inner: Some((watch.reborrow(), jobs, occupancy)),
            };
        }
        Pausing::never()
    }

    /// About so many instructions have gone by.
    #[inline]
    pub(crate) fn worked(&mut self, instructions: u32, pool: &BlockPool<'_>) {
        #[cfg(feature = "pauses")]
        if let Some((watch, jobs, occupancy)) = &mut self.inner {
            watch.worked(instructions, jobs, occupancy, pool);
        }
        #[cfg(not(feature = "pauses"))]
        let _ = (instructions, pool);
    }
}
