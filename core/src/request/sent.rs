//! The form of a request on the wire: [`Sent`]. A request of one slice has the bytes that it has
//! in a build without gangs.

use core::num::{NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize, Serializer};

use super::{Flags, Request};
use crate::grid::Shape;
use crate::slices::Slices;

/// A request as it is sent.
#[derive(Serialize, Deserialize)]
pub(super) struct Sent {
    shape: Shape,
    processors: u32,
    flags: Flags,
    estimate: Estimate,
}

/// An optional estimate, with the number of slices if there are several.
#[derive(Deserialize)]
enum Estimate {
    Unknown,
    Known(NonZeroU64),
    /// The slices after the first.
    OfGang(NonZeroU16, Option<NonZeroU64>),
}

impl Serialize for Estimate {
    /// The first two as an option.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Estimate::Unknown => serializer.serialize_none(),
            Estimate::Known(ticks) => serializer.serialize_some(ticks),
            Estimate::OfGang(further, ticks) => {
                let both = &(further, ticks);
                serializer.serialize_newtype_variant("Estimate", 2, "OfGang", both)
            }
        }
    }
}

impl From<Request> for Sent {
    fn from(request: Request) -> Sent {
        let further = NonZeroU16::new((request.slices() - 1) as u16);
        Sent {
            shape: request.shape,
            processors: request.processors,
            flags: request.flags,
            estimate: match (further, request.estimate) {
                (Some(further), estimate) => Estimate::OfGang(further, estimate),
                (None, Some(ticks)) => Estimate::Known(ticks),
                (None, None) => Estimate::Unknown,
            },
        }
    }
}

impl From<Sent> for Request {
    fn from(sent: Sent) -> Request {
        let (further, estimate) = match sent.estimate {
            Estimate::Unknown => (0, None),
            Estimate::Known(ticks) => (0, Some(ticks)),
            Estimate::OfGang(further, ticks) => (further.get(), ticks),
        };
        Request {
            shape: sent.shape,
            processors: sent.processors,
            flags: sent.flags,
            slices: Slices::new(u32::from(further) + 1).unwrap_or(Slices::ONE),
            estimate,
        }
    }
}
