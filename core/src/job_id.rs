//! The name of a job: [`JobId`].

use core::fmt;

use crate::wire::wire;

wire! {
    /// The name that a client gives its job. The client may use it again after the job was
    /// released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct JobId(pub u32);
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
