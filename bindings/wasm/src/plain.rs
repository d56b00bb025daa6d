//! A controller in this process without what the page does not use: [`Plain`].

use meshalloc::message::Capacity;
use meshalloc::{Change, Controller, Error, Outcome, Request, Ticks};
use meshalloc_sim::backend::{Backend, BackendError, InProcess, OnEvent};

/// It answers no queries, saves no state and puts no job back into the queue: the code for these is
/// a tenth of the module.
pub(crate) struct Plain<'m>(pub(crate) InProcess<'m>);

impl Plain<'_> {
    pub(crate) fn controller(&self) -> &Controller<'_> {
        self.0.controller()
    }
}

impl Backend for Plain<'_> {
    fn call(
        &mut self,
        change: &Change,
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<Outcome, Error>, BackendError> {
        self.0.call(change, now, on_event)
    }

    fn fits(&mut self, request: &Request) -> bool {
        self.0.fits(request)
    }

    fn requested(&self, request: &Request) -> u32 {
        self.0.requested(request)
    }

    fn capacity(&self) -> Capacity {
        self.0.capacity()
    }

    fn is_in_order(&self) -> bool {
        self.0.is_in_order()
    }
}
