//! Serves the line while the controller is at work ([`Meanwhile`]) and while a checkpoint is
//! written ([`Saving`]).

use core::cell::RefCell;

use meshalloc::{Pauses, Ticks, View};

use super::Port;
use super::front::{Front, Order};
use crate::keeping::Meantime;
use crate::sessions::{Remembered, Sessions};

/// The front while the controller is at work.
pub(super) struct Meanwhile<'a, P: Port, const CLIENTS: usize> {
    front: &'a mut Front<CLIENTS>,
    port: &'a mut P,
    /// Milliseconds until an order that is under way is answered.
    slice: Ticks,
    /// When the work has begun, by the clock of the port.
    begun: Ticks,
    /// The order that is being carried out, with its outcome if that is known by now. It is kept
    /// until it is answered: after a slice, or before another frame is served.
    pub(super) unanswered: Option<(&'a Order<'a>, Remembered)>,
    pub(super) result: Result<(), P::Error>,
}

impl<'a, P: Port, const CLIENTS: usize> Meanwhile<'a, P, CLIENTS> {
    pub(super) fn new(
        front: &'a mut Front<CLIENTS>,
        port: &'a mut P,
        slice: Ticks,
        unanswered: Option<(&'a Order<'a>, Remembered)>,
    ) -> Self {
        Meanwhile {
            begun: port.now_ms(),
            front,
            port,
            slice,
            unanswered,
            result: Ok(()),
        }
    }

    /// Does a part of the work, and serves the port in its pauses.
    pub(super) fn during<T>(&mut self, work: impl FnOnce(&Pauses<'_>) -> T) -> T {
        let this = RefCell::new(self);
        // No pause begins within another one.
        let is_due = || {
            let this = this.try_borrow_mut();
            this.is_ok_and(|mut this| this.port.has_next() || this.is_late())
        };
        let on_pause = |view: &View<'_, '_>| {
            if let Ok(mut this) = this.try_borrow_mut() {
                this.pause(view);
            }
        };
        work(&Pauses::new(&is_due, &on_pause))
    }

    /// How many milliseconds the work has taken.
    pub(super) fn spent(&self) -> Ticks {
        self.port.now_ms().saturating_sub(self.begun)
    }

    /// Whether an order is to be answered before its outcome is known.
    fn is_late(&self) -> bool {
        self.unanswered.is_some() && self.spent() >= self.slice
    }

    #[inline(never)]
    fn pause(&mut self, view: &View<'_, '_>) {
        if self.is_late() {
            self.answer_early(view);
        }
        while let Some(byte) = self.port.next() {
            let Some(incoming) = self.front.push(byte) else {
                continue;
            };
            // The order under way is answered first, so a copy of it gets the same answer.
            self.answer_early(view);
            let message = self.front.message();
            self.note(
                |front, port| match front.serve(incoming, &message, view, port)? {
                    Some(order) => front.refuse(&order, view, port),
                    None => Ok(()),
                },
            );
            // A pause serves one frame.
            return;
        }
    }

    fn answer_early(&mut self, view: &View<'_, '_>) {
        if let Some((order, outcome)) = self.unanswered.take() {
            self.note(|front, port| front.settle(order, outcome, view, port));
        }
    }

    fn note(&mut self, serve: impl FnOnce(&mut Front<CLIENTS>, &mut P) -> Result<(), P::Error>) {
        let result = serve(self.front, self.port);
        if self.result.is_ok() {
            self.result = result;
        }
    }
}

/// The front while a checkpoint is written.
pub(super) struct Saving<'a, 'v, 'm, P: Port, const CLIENTS: usize> {
    pub(super) meanwhile: Meanwhile<'a, P, CLIENTS>,
    pub(super) view: &'v View<'v, 'm>,
}

impl<P: Port, const CLIENTS: usize> Meantime<CLIENTS> for Saving<'_, '_, '_, P, CLIENTS> {
    fn pause(&mut self) {
        self.meanwhile.pause(self.view);
    }

    fn sessions(&self) -> &Sessions<CLIENTS> {
        &self.meanwhile.front.sessions
    }
}
