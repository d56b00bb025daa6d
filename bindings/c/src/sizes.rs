//! How much memory objects take: the functions ask core, and the macros of the header compute from
//! the numbers of [`Sizes`].

use core::mem::size_of;

use meshalloc::storage::Needs;

use crate::allocator::AllocatorHandle;
use crate::controller::ControllerHandle;

/// Sizes in bytes, for targets with pointers of one width. Those of allocators and controllers are
/// a little larger than they are with all strategies, and multiples of the alignment. A build with
/// some strategies needs less.
#[doc(hidden)]
#[derive(Debug)]
pub struct Sizes {
    pub word: usize,
    pub link: usize,
    pub block: usize,
    pub job: usize,
    pub allocator: usize,
    pub controller: usize,
}

#[doc(hidden)]
pub const SIZES_64: Sizes = Sizes {
    word: 8,
    link: 4,
    block: 12,
    job: 112,
    allocator: 1760,
    controller: 2624,
};

#[doc(hidden)]
pub const SIZES_32: Sizes = Sizes {
    word: 4,
    link: 2,
    block: 10,
    job: 96,
    allocator: 1576,
    controller: 2384,
};

/// What this build has.
const ACTUAL: Sizes = {
    const NOTHING: Needs = Needs {
        words: 0,
        scratch: 0,
        blocks: 0,
        list: 0,
    };
    // Eight of each, so that the padding to the alignment does not count.
    let words = Needs {
        scratch: 8,
        ..NOTHING
    };
    let blocks = Needs {
        blocks: 8,
        ..NOTHING
    };
    let index = if size_of::<usize>() == 8 { 4 } else { 2 };
    Sizes {
        word: words.bytes(0) / 8,
        link: index,
        block: blocks.bytes(0) / 8,
        job: NOTHING.bytes(8) / 8 - 3 * index,
        allocator: size_of::<AllocatorHandle>(),
        controller: size_of::<ControllerHandle>(),
    }
};

const _: () = {
    let bound = if size_of::<usize>() == 8 {
        SIZES_64
    } else {
        SIZES_32
    };
    assert!(ACTUAL.word <= bound.word && ACTUAL.block <= bound.block);
    assert!(ACTUAL.job <= bound.job, "sizes.rs: a job is larger");
    assert!(
        ACTUAL.allocator <= bound.allocator,
        "sizes.rs: an allocator is larger"
    );
    assert!(
        ACTUAL.controller <= bound.controller,
        "sizes.rs: a controller is larger"
    );
};
