//! The form of a request on the wire: [`Sent`]. A request of one slice, of the default class and
//! without tolerance has the bytes that it has in a build without gangs, priorities and tolerance.

use core::num::{NonZeroU8, NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize, Serializer};

use super::{Flags, Request, Ticks};
use crate::class::Class;
use crate::grid::Shape;
use crate::slices::Slices;
use crate::tolerance::Tolerance;
use gang::{Further, further, slices};

/// A request as it is sent.
#[derive(Serialize, Deserialize)]
pub(super) struct Sent {
    shape: Shape,
    processors: u32,
    flags: Flags,
    estimate: Estimate,
}

/// An optional estimate, with the number of slices if there are several, with the class if it is
/// not the default, and with the tolerance if there is some.
#[derive(Deserialize)]
enum Estimate {
    Unknown,
    Known(NonZeroU64),
    OfGang(Further, Option<NonZeroU64>),
    #[cfg(feature = "priorities")]
    OfClass(Option<Further>, Option<NonZeroU64>, SentClass),
    #[cfg(feature = "tolerance")]
    Tolerant(
        Option<Further>,
        Option<NonZeroU64>,
        Option<SentClass>,
        NonZeroU8,
    ),
}

/// The number of slices after the first, which a gang has.
#[cfg(feature = "gangs")]
mod gang {
    use super::{NonZeroU16, Slices};

    pub(super) type Further = NonZeroU16;

    pub(super) const fn further(slices: Slices) -> Option<Further> {
        NonZeroU16::new((slices.get() - 1) as u16)
    }

    pub(super) fn slices(further: Option<Further>) -> Slices {
        let further = further.map_or(0, |further| u32::from(further.get()));
        Slices::new(further + 1).unwrap_or(Slices::ONE)
    }
}

/// The same in a build without gangs, where there is no such number.
#[cfg(not(feature = "gangs"))]
mod gang {
    use super::{Deserialize, Serialize, Slices};

    #[derive(Clone, Copy, Serialize, Deserialize)]
    pub(super) enum Further {}

    pub(super) const fn further(_slices: Slices) -> Option<Further> {
        None
    }

    pub(super) const fn slices(_further: Option<Further>) -> Slices {
        Slices::ONE
    }
}

/// A class that is not the default, with its priority.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum SentClass {
    NotPreemptible(NonZeroU64),
    Preemptible(Ticks),
}

impl SentClass {
    /// `None` for the default class.
    fn of(class: Class) -> Option<SentClass> {
        if class.is_preemptible() {
            Some(SentClass::Preemptible(class.priority()))
        } else {
            NonZeroU64::new(class.priority()).map(SentClass::NotPreemptible)
        }
    }

    fn class(self) -> Class {
        let class = match self {
            SentClass::NotPreemptible(priority) => Class::new(priority.get(), false),
            SentClass::Preemptible(priority) => Class::new(priority, true),
        };
        class.unwrap_or_default()
    }
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
            #[cfg(feature = "priorities")]
            Estimate::OfClass(further, ticks, class) => {
                let all = &(further, ticks, class);
                serializer.serialize_newtype_variant("Estimate", 3, "OfClass", all)
            }
            #[cfg(feature = "tolerance")]
            Estimate::Tolerant(further, ticks, class, tolerance) => {
                let all = &(further, ticks, class, tolerance);
                serializer.serialize_newtype_variant("Estimate", 4, "Tolerant", all)
            }
        }
    }
}

impl Estimate {
    fn of(request: &Request) -> Estimate {
        let (further, estimate) = (further(request.slices), request.estimate);
        #[cfg(feature = "tolerance")]
        if let Some(tolerance) = NonZeroU8::new(request.tolerance.get()) {
            let class = SentClass::of(request.class);
            return Estimate::Tolerant(further, estimate, class, tolerance);
        }
        #[cfg(feature = "priorities")]
        if let Some(class) = SentClass::of(request.class) {
            return Estimate::OfClass(further, estimate, class);
        }
        match (further, estimate) {
            (Some(further), estimate) => Estimate::OfGang(further, estimate),
            (None, Some(ticks)) => Estimate::Known(ticks),
            (None, None) => Estimate::Unknown,
        }
    }
}

impl From<Request> for Sent {
    fn from(request: Request) -> Sent {
        Sent {
            shape: request.shape,
            processors: request.processors,
            flags: request.flags,
            estimate: Estimate::of(&request),
        }
    }
}

impl From<Sent> for Request {
    fn from(sent: Sent) -> Request {
        let (class, tolerance) = (Class::DEFAULT, Tolerance::NONE);
        let (further, estimate, class, tolerance) = match sent.estimate {
            Estimate::Unknown => (None, None, class, tolerance),
            Estimate::Known(ticks) => (None, Some(ticks), class, tolerance),
            Estimate::OfGang(further, ticks) => (Some(further), ticks, class, tolerance),
            #[cfg(feature = "priorities")]
            Estimate::OfClass(further, ticks, class) => (further, ticks, class.class(), tolerance),
            #[cfg(feature = "tolerance")]
            Estimate::Tolerant(further, ticks, sent, faulty) => {
                let class = sent.map_or(class, SentClass::class);
                let tolerance = Tolerance::new(faulty.get()).unwrap_or(tolerance);
                (further, ticks, class, tolerance)
            }
        };
        Request {
            shape: sent.shape,
            processors: sent.processors,
            flags: sent.flags,
            slices: slices(further),
            class,
            tolerance,
            estimate,
        }
    }
}
