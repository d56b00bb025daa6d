//! The checks of what C passes: pointers to structures ([`reading`], [`writing`], [`array`]) and to
//! objects in the caller's memory ([`Handle`]).

use core::ffi::c_void;
use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};
use core::slice;

use meshalloc::storage::{Element, Needs, Provider};

use crate::error::Error;
use crate::types::ALIGNMENT;

/// 0 or a positive number, or an error.
pub(crate) type Outcome = Result<i32, Error>;

/// What C gets.
pub(crate) fn number(outcome: Outcome) -> i32 {
    match outcome {
        Ok(number) => number,
        Err(error) => error as i32,
    }
}

/// A count for C: a machine has at most 2^20 processors, so it is never too large.
pub(crate) fn count(count: u32) -> Outcome {
    Ok(i32::try_from(count).unwrap_or(i32::MAX))
}

fn check<T>(pointer: *const T) -> Result<(), Error> {
    match pointer {
        _ if pointer.is_null() => Err(Error::NullPointer),
        _ if pointer.is_aligned() => Ok(()),
        _ => Err(Error::Misaligned),
    }
}

/// The structure that C has filled in, as a copy.
///
/// # Safety
///
/// Unless it is null, the pointer is that of a `T` which may be read.
pub(crate) unsafe fn reading<T: Copy>(pointer: *const T) -> Result<T, Error> {
    check(pointer)?;
    // SAFETY: it is neither null nor misaligned, and the caller promises the rest.
    Ok(unsafe { pointer.read() })
}

/// The place where a result goes, which is written at the end and never read.
#[derive(Clone, Copy)]
pub(crate) struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    /// # Safety
    ///
    /// The pointer is that of a `T` which may be written during this call of C.
    unsafe fn new(pointer: NonNull<T>) -> Self {
        Place(pointer)
    }

    pub(crate) fn write(self, value: T) {
        // SAFETY: whoever made it promised that.
        unsafe { self.0.write(value) };
    }
}

/// The place that C names for a result.
///
/// # Safety
///
/// Unless it is null, the pointer is that of a `T` which may be written during this call.
pub(crate) unsafe fn writing<T>(pointer: *mut T) -> Result<Place<T>, Error> {
    check(pointer)?;
    let pointer = NonNull::new(pointer).ok_or(Error::NullPointer)?;
    // SAFETY: the caller promises the rest.
    Ok(unsafe { Place::new(pointer) })
}

/// The places of an array that C names for results; none if there is room for none.
///
/// # Safety
///
/// Unless it is null or `room` is 0, the pointer is that of `room` values `T` which may be written
/// during this call.
pub(crate) unsafe fn array<T>(
    pointer: *mut T,
    room: u32,
) -> Result<impl Iterator<Item = Place<T>>, Error> {
    if room > 0 {
        check(pointer)?;
    }
    // SAFETY: `at` is below `room`, so the element is one of the caller's array.
    let place = move |at: u32| unsafe { writing(pointer.add(at as usize)) };
    Ok((0..room).map_while(move |at| place(at).ok()))
}

/// An object in the caller's memory, with the marks by which it is recognised.
#[repr(C)]
pub(crate) struct Handle<T> {
    /// [`Object::MARK`] and the address, so that neither other objects nor copies have it.
    mark: usize,
    /// Whether a callback of the object is running.
    is_in_use: bool,
    object: T,
}

/// What handles can hold.
pub(crate) trait Object {
    /// No other type has it.
    const MARK: usize;
}

impl Object for meshalloc::Allocator<'static> {
    const MARK: usize = 0xa110_ca70;
}

impl Object for meshalloc::Controller<'static> {
    const MARK: usize = 0xc047_7011;
}

impl<T: Object> Handle<T> {
    fn mark(handle: *const Self) -> usize {
        T::MARK ^ handle.addr().rotate_left(7)
    }

    /// Makes an object at the start of the caller's memory, and writes a pointer to it to `object`;
    /// `make` gets the rest of the memory.
    ///
    /// # Safety
    ///
    /// As for [`Handle::place`] and [`writing`].
    pub(crate) unsafe fn init<C>(
        memory: *mut c_void,
        size: usize,
        object: *mut *mut C,
        make: impl FnOnce(&mut Rest) -> Result<T, Error>,
    ) -> i32 {
        let init = || {
            // SAFETY: the caller promises it.
            let (place, handle) =
                unsafe { (writing(object)?, Self::place(memory.cast(), size, make)?) };
            place.write(handle.cast());
            Ok(0)
        };
        number(init())
    }

    /// # Safety
    ///
    /// Unless it is null, `memory` is that of `size` bytes which may be read and written, by this
    /// library alone until the object is deinitialised.
    unsafe fn place(
        memory: *mut u8,
        size: usize,
        make: impl FnOnce(&mut Rest) -> Result<T, Error>,
    ) -> Result<*mut Self, Error> {
        const { assert!(align_of::<Self>() <= ALIGNMENT && Needs::ALIGN <= ALIGNMENT) };
        if memory.is_null() {
            return Err(Error::NullPointer);
        }
        if !memory.addr().is_multiple_of(ALIGNMENT) {
            return Err(Error::Misaligned);
        }
        let room = size.checked_sub(size_of::<Self>());
        let room = room.ok_or(Error::MemoryTooSmall)?;
        let handle = memory.cast::<Self>();
        // If a handle was left here, it is none from now on.
        // SAFETY: the memory is aligned and long enough.
        unsafe { (&raw mut (*handle).mark).write(0) };
        // SAFETY: `room` bytes follow the handle within the memory.
        let mut rest = unsafe { Rest::new(memory.add(size_of::<Self>()), room) };
        let object = make(&mut rest)?;
        // Field by field, so that no whole handle is copied.
        // SAFETY: the memory is aligned and long enough, and `rest` has given none of it away.
        unsafe {
            (&raw mut (*handle).object).write(object);
            (&raw mut (*handle).is_in_use).write(false);
            (&raw mut (*handle).mark).write(Self::mark(handle));
        }
        Ok(handle)
    }

    /// # Safety
    ///
    /// Unless it is null, the pointer is that of memory which may be read.
    unsafe fn check(handle: *mut Self) -> Result<(), Error> {
        check(handle)?;
        // SAFETY: it is neither null nor misaligned, and the caller promises that it may be read.
        if unsafe { (&raw const (*handle).mark).read() } != Self::mark(handle) {
            return Err(Error::NotInitialized);
        }
        // SAFETY: with the mark it is an object, so this field has a value.
        let is_in_use = unsafe { (&raw const (*handle).is_in_use).read() };
        if is_in_use {
            Err(Error::Reentered)
        } else {
            Ok(())
        }
    }

    /// Passes the object on.
    ///
    /// # Safety
    ///
    /// Unless it is null, the pointer is that of memory which may be read. If that holds an object,
    /// no other thread and no interrupt uses it during this call.
    pub(crate) unsafe fn with<R>(
        handle: *mut Self,
        call: impl FnOnce(&mut T) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the caller promises it.
        unsafe { Self::check(handle)? };
        // SAFETY: it is an object, and nothing else uses it: a callback is recognised by
        // `is_in_use`, and the caller promises the rest.
        call(unsafe { &mut (*handle).object })
    }

    /// Passes the object on to something that calls back into C.
    ///
    /// # Safety
    ///
    /// As for [`Handle::with`].
    #[cfg(feature = "save")]
    pub(crate) unsafe fn with_callbacks<R>(
        handle: *mut Self,
        call: impl FnOnce(&mut T) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the caller promises it.
        unsafe { Self::check(handle)? };
        // SAFETY: it is an object, and no reference to this field is ever made.
        unsafe { (&raw mut (*handle).is_in_use).write(true) };
        // SAFETY: as in `with`; a callback that passes this object finds it in use.
        let result = call(unsafe { &mut (*handle).object });
        // SAFETY: as above.
        unsafe { (&raw mut (*handle).is_in_use).write(false) };
        result
    }

    /// Forgets the object. The memory is the caller's again.
    ///
    /// # Safety
    ///
    /// As for [`Handle::with`].
    pub(crate) unsafe fn deinit(handle: *mut Self) -> i32 {
        // SAFETY: the caller promises it.
        let checked = unsafe { Self::check(handle) };
        number(checked.map(|()| {
            // SAFETY: it is an object, and no reference to this field is ever made. Nothing is
            // dropped: what these objects own is memory of the caller.
            unsafe { (&raw mut (*handle).mark).write(0) };
            0
        }))
    }
}

/// The memory behind a handle, as far as it was not given away.
pub(crate) struct Rest {
    next: *mut u8,
    room: usize,
}

impl Rest {
    /// # Safety
    ///
    /// `room` bytes from here on may be read and written, by the slices that are provided alone and
    /// for as long as these are used.
    unsafe fn new(next: *mut u8, room: usize) -> Self {
        Rest { next, room }
    }
}

/// The object that uses the slices lies in front of them, so it does not outlive them.
impl Provider<'static> for Rest {
    fn provide<T: Element>(&mut self, len: usize) -> Option<&'static mut [T]> {
        let gap = self.next.align_offset(align_of::<T>());
        let bytes = len.checked_mul(size_of::<T>())?.checked_add(gap)?;
        self.room = self.room.checked_sub(bytes)?;
        // SAFETY: gap and slice lie within the room, which has bytes for them.
        let start = unsafe { self.next.add(gap) }.cast::<T>();
        // SAFETY: the same.
        self.next = unsafe { self.next.add(bytes) };
        for at in 0..len {
            // SAFETY: aligned by the gap, within the room, and given away only once.
            unsafe { ptr::write(start.add(at), T::EMPTY) };
        }
        // SAFETY: aligned, `len` elements were written, and nothing else refers to them.
        Some(unsafe { slice::from_raw_parts_mut(start, len) })
    }
}
