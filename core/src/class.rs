//! How urgent a job is: [`Class`].

/// How urgent a job is, and whether it may be interrupted for a more urgent one.
///
/// The priority is a head start: a waiting job stands in the queue as if it had been submitted that
/// much earlier. All jobs become more urgent at the same rate while they wait. So no job starves:
/// a job goes ahead only of jobs that were submitted at most its priority before it.
///
/// A build without the feature `priorities` knows only the default class: no head start, and not
/// preemptible.
///
/// ```
/// use meshalloc::{Class, Request};
/// let request = Request::submesh(4, 3).with_priority(1_800_000);
/// assert_eq!(request.class.priority(), 1_800_000);
/// assert_eq!(Request::submesh(4, 3).class, Class::DEFAULT);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Class([Fields; Class::BUILT as usize]);

/// The fields of a class. Without alignment they fit into the padding of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Fields {
    priority: [u8; 8],
    is_preemptible: bool,
}

impl Class {
    /// Whether jobs may have another class than the default in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "priorities");

    /// No head start, and not preemptible.
    pub const DEFAULT: Class = Class(
        [Fields {
            priority: [0; 8],
            is_preemptible: false,
        }; Class::BUILT as usize],
    );

    /// The class of this priority in ticks. `None` if the build does not know it.
    pub const fn new(priority: u64, is_preemptible: bool) -> Option<Class> {
        let mut class = Class::DEFAULT;
        match class.0.first_mut() {
            Some(fields) => {
                fields.priority = priority.to_le_bytes();
                fields.is_preemptible = is_preemptible;
                Some(class)
            }
            None if priority == 0 && !is_preemptible => Some(class),
            None => None,
        }
    }

    /// The head start in ticks.
    #[inline]
    pub const fn priority(self) -> u64 {
        match self.0.first() {
            Some(fields) => u64::from_le_bytes(fields.priority),
            None => 0,
        }
    }

    /// The time from which a job that was submitted at this time counts as waiting. The job is
    /// before all jobs with a later time.
    ///
    /// ```
    /// use meshalloc::Class;
    /// let urgent = Class::new(30, false).expect("this build has priorities");
    /// assert!(urgent.since(70) < Class::DEFAULT.since(50));
    /// assert_eq!(urgent.since(70), Class::DEFAULT.since(40));
    /// ```
    #[inline]
    pub fn since(self, submitted: u64) -> i128 {
        i128::from(submitted) - i128::from(self.priority())
    }

    /// Whether the job may be interrupted for a job of a higher priority.
    #[inline]
    pub const fn is_preemptible(self) -> bool {
        match self.0.first() {
            Some(fields) => fields.is_preemptible,
            None => false,
        }
    }
}

impl Default for Class {
    fn default() -> Self {
        Class::DEFAULT
    }
}
