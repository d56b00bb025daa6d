//! How many faulty processors a slice may have: [`Tolerance`].

/// How many faulty processors each slice of a request may have: it runs on with the others.
///
/// The strategy is asked for a place without faulty processors first. Only if it finds none, it is
/// asked again as if one of the faulty processors that no job holds worked, then two of them, up to
/// this number. So a slice has as few faulty processors as its place allows, and always one that
/// works. The job holds all of its blocks: a faulty processor in them is held, stays faulty, and
/// counts among the processors of the job.
///
/// A build without the feature `tolerance` knows only slices all of whose processors work.
///
/// ```
/// use meshalloc::storage::{HeapStorage, Needs};
/// use meshalloc::{Allocator, Mesh, Refusal, Request, StrategyKind, Submesh, Tolerance};
///
/// let (machine, strategy) = (Mesh::new(4, 4)?.into(), StrategyKind::FirstFit);
/// let mut storage = HeapStorage::new(Needs::of(strategy, &machine, 4), 0);
/// let mut allocator = Allocator::new(storage.allocator_memory(), machine, strategy)?;
/// allocator.mark_faulty(Submesh::new(1, 2, 1, 1).into());
/// let whole = Request::submesh(4, 4);
/// assert_eq!(allocator.allocate(&whole), Err(Refusal::TooFewFree));
/// let one = Tolerance::new(1).expect("this build has tolerance");
/// let held = allocator.allocate(&whole.with_tolerance(one))?;
/// assert_eq!(allocator.processors(&held)?, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tolerance([u8; Tolerance::BUILT as usize]);

impl Tolerance {
    /// Whether slices may have faulty processors in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "tolerance");

    /// All processors work.
    pub const NONE: Tolerance = Tolerance([0; Tolerance::BUILT as usize]);

    /// This number of faulty processors. `None` if the build does not know it.
    pub const fn new(faulty: u8) -> Option<Tolerance> {
        let mut tolerance = Tolerance::NONE;
        match tolerance.0.first_mut() {
            Some(number) => *number = faulty,
            None if faulty > 0 => return None,
            None => {}
        }
        Some(tolerance)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u8 {
        match self.0.first() {
            Some(&number) => number,
            None => 0,
        }
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance::NONE
    }
}
