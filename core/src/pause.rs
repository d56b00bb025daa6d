//! Who is called when work has gone on for a while: [`Pausable`].

use core::fmt;
#[cfg(not(feature = "pauses"))]
use core::marker::PhantomData;

/// Somebody who is called when work has gone on for a while, or nobody: always nobody without the feature `pauses`, and then it takes no room.
pub(crate) struct Pausable<T> {
    #[cfg(feature = "pauses")]
    who: Option<T>,
    #[cfg(not(feature = "pauses"))]
    who: PhantomData<T>,
}

impl<T> Pausable<T> {
    /// Nobody is called.
    #[inline]
    pub(crate) const fn never() -> Self {
        Pausable {
            #[cfg(feature = "pauses")]
            who: None,
            #[cfg(not(feature = "pauses"))]
            who: PhantomData,
        }
    }

    /// Nobody without the feature.
    #[inline]
    pub(crate) fn by(who: T) -> Self {
        #[cfg(feature = "pauses")]
        return Pausable { who: Some(who) };
        #[cfg(not(feature = "pauses"))]
        {
            drop(who);
            Pausable::never()
        }
    }

    /// Who is called.
    #[inline]
    pub(crate) fn who(&mut self) -> Option<&mut T> {
        #[cfg(feature = "pauses")]
        return self.who.as_mut();
        #[cfg(not(feature = "pauses"))]
        None
    }
}

impl<T> fmt::Debug for Pausable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pausable")
    }
}
