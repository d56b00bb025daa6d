//! Requests for processors: [`Request`], [`JobId`], [`Flags`], and the unit of time.

use core::fmt;
use core::num::NonZeroU64;

use crate::class::Class;
use crate::error::Refusal;
use crate::grid::Shape;
use crate::mesh::Sides;
use crate::slices::Slices;
use crate::tolerance::Tolerance;
use crate::wire::wire;

#[cfg(all(feature = "serde", feature = "request-options"))]
mod sent;

/// A point in time or a duration, in ticks. The caller chooses the length of a tick: the simulator
/// uses microseconds of virtual time, the firmware milliseconds since its reset.
pub type Ticks = u64;

bitflags::bitflags! {
    /// How a request may be served.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// The job never waits: it is granted at once or refused.
        const NO_WAIT = 1;
        /// The extents keep their order: `(a, b)` never gets `b x a`.
        const FIXED_ORIENTATION = 1 << 1;
        /// The request names a number of processors and no shape. The job gets one of the shapes
        /// that the machine has for this number: the most compact shape that has a place.
        /// Strategies whose jobs hold processors anywhere take the number as it is.
        ///
        /// On a machine of more than four dimensions there are no shapes for a number, and
        /// strategies that need one refuse the request
        /// ([`Refusal::NotLegal`](crate::Refusal::NotLegal)).
        const CHIPS = 1 << 2;
        /// The processors along the first extent form a ring.
        const RING_0 = 1 << 3;
        /// The processors along the second extent form a ring.
        const RING_1 = 1 << 4;
        /// The processors along the third extent form a ring.
        const RING_2 = 1 << 5;
        /// The processors along the fourth extent form a ring.
        const RING_3 = 1 << 6;
        /// The processors along every extent form a ring.
        const RINGS = 1 << 7;
    }
}

impl Flags {
    /// The flags that demand rings.
    pub const ALL_RINGS: Flags = Flags::RING_0
        .union(Flags::RING_1)
        .union(Flags::RING_2)
        .union(Flags::RING_3)
        .union(Flags::RINGS);
}

#[cfg(feature = "serde")]
impl serde::Serialize for Flags {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.bits())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Flags {
    /// An unknown bit is an error, so that this version does not silently ignore a flag that it
    /// does not know.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = u8::deserialize(deserializer)?;
        Flags::from_bits(bits).ok_or_else(|| serde::de::Error::custom("unknown flag"))
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Flags {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Flags({=u8:#x})", self.bits());
    }
}

wire! {
    /// A request for processors.
    ///
    /// A request has a shape and the exact number of processors. [`Contiguity`](crate::Contiguity)
    /// says whether a strategy gives a job exactly this number or the whole shape. A *gang* asks
    /// for several slices of this shape and number.
    // With the feature `request-options` a request travels as `Sent`, which has the fields that
    // are skipped here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(
        all(feature = "serde", feature = "request-options"),
        serde(into = "sent::Sent", from = "sent::Sent")
    )]
    pub struct Request {
        /// The extents.
        pub shape: Shape,
        /// The number of processors of a slice: 1 to the shape's area, or any number with
        /// [`Flags::CHIPS`].
        pub processors: u32,
        /// How the request may be served.
        pub flags: Flags,
        /// How many slices the request asks for, all or none; [`Slices::ONE`] unless it is a gang.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub slices: Slices,
        /// How urgent the job is; [`Class::DEFAULT`] unless it has a priority or is preemptible.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub class: Class,
        /// How many faulty processors each of its slices may have; [`Tolerance::NONE`] unless it
        /// tolerates some.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub tolerance: Tolerance,
        /// The estimated time for which the job will hold its processors, in ticks. A job without
        /// an estimate counts as one that never ends. A job that runs longer than its estimate
        /// keeps its processors.
        pub estimate: Option<NonZeroU64>,
    }
}

impl Request {
    /// Makes a request for all processors of this shape.
    ///
    /// ```
    /// use meshalloc::{Flags, Request, Shape};
    /// let request = Request::new(Shape::new(&[4, 3, 2])?);
    /// assert_eq!(request.processors, 24);
    /// assert_eq!(request.with_processors(23).with_flags(Flags::NO_WAIT).processors, 23);
    /// # Ok::<(), meshalloc::ShapeError>(())
    /// ```
    pub const fn new(shape: Shape) -> Self {
        Request {
            shape,
            processors: shape.area(),
            flags: Flags::empty(),
            slices: Slices::ONE,
            class: Class::DEFAULT,
            tolerance: Tolerance::NONE,
            estimate: None,
        }
    }

    /// Makes a request for a number of processors, without a shape: [`Flags::CHIPS`].
    pub const fn chips(processors: u32) -> Self {
        Request {
            processors,
            flags: Flags::CHIPS,
            ..Request::new(Shape::SINGLE)
        }
    }

    /// Makes a request for a whole submesh of `w` by `h` processors.
    ///
    /// ```
    /// use meshalloc::Request;
    /// assert_eq!(Request::submesh(4, 3).processors, 12);
    /// ```
    pub const fn submesh(w: u16, h: u16) -> Self {
        Request::new(Shape::sides(w, h))
    }

    /// The request for fewer processors than the shape has.
    #[must_use]
    pub const fn with_processors(mut self, processors: u32) -> Self {
        self.processors = processors;
        self
    }

    /// The same request with these flags.
    #[must_use]
    pub const fn with_flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// The same request, which demands a ring along every extent: [`Flags::RINGS`].
    #[must_use]
    pub const fn with_rings(mut self) -> Self {
        self.flags = self.flags.union(Flags::RINGS);
        self
    }

    /// The same request with an estimate of its run time, at least one tick.
    #[must_use]
    pub const fn with_estimate(mut self, ticks: Ticks) -> Self {
        self.estimate = NonZeroU64::new(if ticks == 0 { 1 } else { ticks });
        self
    }

    /// The same request for this many slices, all or none.
    ///
    /// ```
    /// use meshalloc::{Request, Slices};
    /// let gang = Request::submesh(4, 3).with_slices(Slices::new(3).unwrap());
    /// assert_eq!((gang.slices(), gang.processors, gang.total()), (3, 12, 36));
    /// ```
    #[must_use]
    pub const fn with_slices(mut self, slices: Slices) -> Self {
        self.slices = slices;
        self
    }

    /// The same request of this class.
    #[must_use]
    pub const fn with_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// The same request with this head start in the queue, in ticks.
    #[cfg(feature = "priorities")]
    #[must_use]
    pub const fn with_priority(mut self, ticks: Ticks) -> Self {
        if let Some(class) = Class::new(ticks, self.class.is_preemptible()) {
            self.class = class;
        }
        self
    }

    /// The same request, each of whose slices may have this many faulty processors.
    #[must_use]
    pub const fn with_tolerance(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// How many faulty processors each of its slices may have: as many as its tolerance says, but
    /// at least one processor works.
    #[inline]
    pub const fn tolerated(&self) -> u32 {
        let (tolerated, others) = (
            self.tolerance.get() as u32,
            self.processors.saturating_sub(1),
        );
        if tolerated < others {
            tolerated
        } else {
            others
        }
    }

    /// Whether its slices may have faulty processors.
    #[inline]
    pub(crate) const fn is_tolerant(&self) -> bool {
        Tolerance::BUILT && self.tolerated() > 0
    }

    /// The number of slices, at least 1.
    #[inline]
    pub const fn slices(&self) -> u32 {
        self.slices.get()
    }

    /// Whether the request asks for several slices.
    #[inline]
    pub(crate) const fn is_gang(&self) -> bool {
        Slices::BUILT && self.slices() > 1
    }

    /// The request for one slice of a gang.
    pub(crate) const fn one_slice(&self) -> Self {
        self.with_slices(Slices::ONE)
    }

    /// The number of processors of all slices together, at most `u32::MAX`.
    #[inline]
    pub const fn total(&self) -> u32 {
        self.processors.saturating_mul(self.slices())
    }

    /// The side lengths on a two-dimensional mesh, or 1 for a missing one. Meaningless for a shape
    /// of more than two extents.
    #[inline]
    pub const fn sides(&self) -> Sides {
        let (w, h) = self.shape.first_two();
        Sides::new(w, h)
    }

    /// The refusal of the request if a search ended with this one. In a build without descriptions
    /// of machines no request for rings comes here: `demand_on` refuses it.
    #[inline(always)]
    pub(crate) const fn refusal_of(&self, refusal: Refusal) -> Refusal {
        let demands_rings = cfg!(feature = "machine") && self.flags.intersects(Flags::ALL_RINGS);
        match refusal {
            Refusal::Fragmented if demands_rings => Refusal::RingBusy,
            other => other,
        }
    }

    /// Whether the strategy may lay the extents along the dimensions in another order.
    pub const fn may_rotate(&self) -> bool {
        !self.flags.contains(Flags::FIXED_ORIENTATION)
    }

    /// The side lengths that may be granted on a two-dimensional mesh: as requested, then rotated
    /// if rotation is allowed and makes a difference.
    pub fn orientations(&self) -> impl Iterator<Item = Sides> + use<> {
        let sides = self.sides();
        let rotates = self.may_rotate() && !sides.is_square();
        let rotated = rotates.then(|| sides.rotated());
        core::iter::once(sides).chain(rotated)
    }

    /// Whether a submesh of exactly these sides may be granted on a two-dimensional mesh.
    pub fn allows(&self, sides: Sides) -> bool {
        self.orientations().any(|oriented| oriented == sides)
    }

    /// Whether the request fits into a free submesh of these sides, in an allowed orientation.
    pub fn fits_in(&self, sides: Sides) -> bool {
        self.orientations().any(|oriented| oriented.fits_in(sides))
    }
}

/// Writes what it asks for: `4x4x8`, `3x 4x4x8` for a gang, or `chips=16` without a shape.
///
/// ```
/// use meshalloc::{Request, Slices};
/// let three = Slices::new(3).unwrap();
/// assert_eq!(Request::submesh(4, 3).with_slices(three).to_string(), "3x 4x3");
/// assert_eq!(Request::chips(16).with_slices(three).to_string(), "3x chips=16");
/// ```
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slices.fmt(f)?;
        if self.flags.contains(Flags::CHIPS) {
            write!(f, "chips={}", self.processors)
        } else {
            self.shape.fmt(f)
        }
    }
}

impl From<Sides> for Request {
    fn from(sides: Sides) -> Request {
        Request::submesh(sides.w, sides.h)
    }
}
