//! A controller in this process without what the page does not use: [`Plain`].

use meshalloc::Controller;
use meshalloc_sim::backend::{Backend, InProcess};
use meshalloc_sim::forward_backend;

/// It answers no queries, saves no state and puts no job back into the queue: the code for these is
/// a tenth of the module.
pub(crate) struct Plain<'m>(pub(crate) InProcess<'m>);

impl Plain<'_> {
    pub(crate) fn controller(&self) -> &Controller<'_> {
        self.0.controller()
    }
}

impl Backend for Plain<'_> {
    forward_backend!(it => it.0; call, fits, requested, capacity, is_in_order);
}
