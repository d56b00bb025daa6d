//! The end of leases: between frames the server ends those whose ends its clock has reached.

use meshalloc::Command;

use super::{Meanwhile, Port, Server};
use crate::keeping::{Keep, NO_SESSION, Record};

impl<K: Keep> Server<'_, K> {
    /// Whether there may be a lease to end. If not there is none.
    pub(super) fn may_lease_have_ended(&self) -> bool {
        self.controller.may_lease_have_ended(self.time())
    }

    /// Ends the lease that has ended first, if there is one, but for the scheduling that follows from it.
    pub(super) fn end_lease<P: Port>(&mut self, port: &mut P) -> Result<(), P::Error> {
        let Some((at, job)) = self.controller.lease_ended(self.time()) else {
            return Ok(());
        };
        let command = Command::EndLease { job };
        let record = Record {
            client: 0,
            session: NO_SESSION,
            seq: 0,
            at: self.time_in_record(&command, at),
            command,
        };
        self.has_no_lease_end = self.keep(&record).is_err();
        if self.has_no_lease_end {
            return Ok(());
        }
        let mut meanwhile = Meanwhile::new(&mut self.front, port, self.slice, None);
        meanwhile.during(|pauses| self.controller.begin(&command, at, Some(pauses)));
        self.keep.worked(meanwhile.spent);
        meanwhile.result
    }
}
