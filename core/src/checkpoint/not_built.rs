//! [`Writer`] and [`Reader`] in a build without the feature `restore`. They have no values, so
//! nothing calls the methods of strategies and schedulers that save and restore, and these methods
//! need no gates.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::RestoreError;

/// The writer of a build without checkpoints, which has no values.
#[derive(Debug)]
pub struct Writer<'a>(Infallible, PhantomData<&'a ()>);

impl Writer<'_> {
    /// Is never called.
    pub const fn put<T>(&mut self, _item: &T) {
        match self.0 {}
    }
}

/// The reader of a build without checkpoints, which has no values.
#[derive(Debug)]
pub struct Reader<'a>(Infallible, PhantomData<&'a ()>);

impl Reader<'_> {
    /// Is never called.
    pub const fn take<T>(&mut self) -> Result<T, RestoreError> {
        match self.0 {}
    }
}
