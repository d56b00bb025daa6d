//! The functions as C calls them, in one program with them, so that Miri can watch the pointers.

extern crate std;

use core::ffi::c_void;
use core::ptr;
use std::vec;
use std::vec::Vec;

use meshalloc::StrategyKind;

use crate::*;

fn strategy(text: &str) -> Strategy {
    let kind: StrategyKind = text.parse().unwrap();
    let (kind, parameters) = numbers_of(&kind).unwrap();
    Strategy { kind, parameters }
}

fn machine() -> Machine {
    let mut machine = Machine {
        sides: [0; DIMENSIONS_MAX],
        dimensions: 2,
        wraps: 0,
        description: 0,
    };
    machine.sides[..2].copy_from_slice(&[8, 4]);
    machine
}

fn request(w: u16, h: u16) -> Request {
    let mut request = Request {
        extents: [0; DIMENSIONS_MAX],
        dimensions: 2,
        flags: 0,
        slices: 0,
        processors: 0,
        estimate: 0,
        priority: 0,
        preemptible: 0,
        tolerated: 0,
    };
    request.extents[..2].copy_from_slice(&[w, h]);
    request
}

const NO_BLOCK: Block = Block {
    start: [0; DIMENSIONS_MAX],
    extent: [0; DIMENSIONS_MAX],
};

#[test]
fn an_allocator_lives_in_memory_of_exactly_its_size() {
    for name in ["first-fit", "free-submesh-list", "naive", "leb-estimates:4"] {
        let (machine, strategy) = (machine(), strategy(name));
        let mut size = 0;
        let mut allocator = ptr::null_mut();
        let mut held = [Allocation::default(); 2];
        let mut blocks = [NO_BLOCK; 3];
        // SAFETY: all pointers are those of values of this function; `memory` outlives the
        // allocator, and is used by it alone.
        unsafe {
            assert_eq!(
                meshalloc_allocator_size(&machine, &strategy, 5, &mut size),
                0
            );
            let mut memory = vec![u64::MAX; size.div_ceil(8)];
            let start = memory.as_mut_ptr().cast::<c_void>();
            let init = |size, allocator: &mut *mut Allocator| {
                meshalloc_allocator_init(start, size, &machine, &strategy, 5, allocator)
            };
            // Some bytes of the size may be padding.
            assert_eq!(
                init(size - 16, &mut allocator),
                Error::MemoryTooSmall as i32
            );
            assert_eq!(init(size, &mut allocator), 0);
            let fits = meshalloc_allocator_fits(allocator, &request(8, 4));
            assert_eq!(fits, 1, "{name}");
            for (sides, held) in [(3, 2), (5, 4)].into_iter().zip(&mut held) {
                let request = request(sides.0, sides.1);
                let processors = meshalloc_allocator_allocate(allocator, &request, held);
                assert_eq!(processors, i32::from(sides.0 * sides.1), "{name}");
                let total = meshalloc_allocator_blocks(allocator, *held, 0, blocks.as_mut_ptr(), 3);
                assert!(total >= 1 && blocks[0].extent[0] >= 1);
            }
            assert!(meshalloc_allocator_mark_faulty(allocator, &blocks[0]) > 0);
            assert_eq!(meshalloc_allocator_release(allocator, held[0]), 6);
            let again = meshalloc_allocator_release(allocator, held[0]);
            assert_eq!(again, Error::StaleAllocation as i32);
            for is_left in [true, false] {
                if !is_left {
                    assert_eq!(meshalloc_allocator_deinit(allocator), 0);
                }
                assert_eq!(init(size, &mut allocator), 0);
                assert_eq!(meshalloc_allocator_free_processors(allocator), 32);
            }
        }
    }
}

/// A checkpoint, and the controller that is saved or restored, if it is one.
#[cfg(feature = "save")]
struct Parts {
    parts: Vec<Vec<u8>>,
    next: usize,
    controller: *mut Controller,
}

/// # Safety
///
/// The context is [`Parts`], and there are `length` bytes.
#[cfg(feature = "save")]
unsafe extern "C" fn write(context: *mut c_void, bytes: *const u8, length: usize) -> i32 {
    // SAFETY: the caller promises it.
    let (saved, part) = unsafe {
        (
            &mut *context.cast::<Parts>(),
            core::slice::from_raw_parts(bytes, length),
        )
    };
    if !saved.controller.is_null() {
        // SAFETY: the pointer is that of a controller.
        let result = unsafe { meshalloc_controller_advance(saved.controller) };
        assert_eq!(result, Error::Reentered as i32);
    }
    saved.parts.push(part.to_vec());
    0
}

/// # Safety
///
/// The context is [`Parts`], and there is room for a part.
#[cfg(feature = "save")]
unsafe extern "C" fn read(context: *mut c_void, bytes: *mut u8, length: *mut usize) -> i32 {
    // SAFETY: the caller promises it.
    let saved = unsafe { &mut *context.cast::<Parts>() };
    let part = saved.parts.get(saved.next).map_or(&[][..], Vec::as_slice);
    saved.next += 1;
    // SAFETY: the caller promises it.
    unsafe {
        ptr::copy_nonoverlapping(part.as_ptr(), bytes, part.len());
        length.write(part.len());
    }
    0
}

#[cfg(feature = "save")]
#[test]
fn a_controller_is_saved_and_restored_in_other_memory() {
    let configuration = Configuration {
        machine: machine(),
        strategy: strategy("free-submesh-list"),
        scheduler: Scheduler {
            kind: 0,
            parameters: [0; 2],
        },
    };
    let mut size = 0;
    // SAFETY: as above.
    unsafe {
        assert_eq!(meshalloc_controller_size(&configuration, 6, &mut size), 0);
        let mut memories = [(); 2].map(|()| vec![u64::MAX; size.div_ceil(8)]);
        let [one, other] = &mut memories;
        let new = |memory: &mut [u64]| {
            let (mut controller, start) = (ptr::null_mut(), memory.as_mut_ptr().cast());
            let init = meshalloc_controller_init(start, size, &configuration, 6, &mut controller);
            assert_eq!(init, 0);
            controller
        };
        let (saved, restored) = (new(one), new(other));
        for job in 1..=3 {
            let submitted = meshalloc_controller_submit(saved, job, &request(4, 4), 10, 0);
            assert_eq!(submitted, 0);
            assert_eq!(meshalloc_controller_advance(saved), 0);
        }
        let mut parts = Parts {
            parts: Vec::new(),
            next: 0,
            controller: saved,
        };
        let context = (&raw mut parts).cast();
        assert_eq!(meshalloc_controller_save(saved, Some(write), context), 0);
        assert_eq!(meshalloc_controller_deinit(saved), 0);
        assert_eq!(
            meshalloc_controller_restore(restored, Some(read), context),
            0
        );
        let mut list = JobList::of_core(&meshalloc::message::JobList {
            jobs: meshalloc::heapless::Vec::new(),
            next: None,
        });
        let jobs = meshalloc_controller_jobs(restored, ptr::null(), 0, &mut list);
        assert_eq!((jobs, list.count, list.next), (3, 3, 0));
        assert_eq!(meshalloc_controller_end_lease(restored, 10), 1);
        while meshalloc_controller_advance(restored) > 0 {}
        assert_eq!(meshalloc_controller_release(restored, 3, 10), 16);
    }
}

/// An allocator with blocks that were named is saved and restored in other memory. A bit for each
/// processor is the model.
#[cfg(feature = "save")]
#[test]
fn an_allocator_takes_given_blocks_and_is_restored_in_other_memory() {
    let block = |x: u16, y: u16, w: u16, h: u16| {
        let mut block = NO_BLOCK;
        block.start[..2].copy_from_slice(&[x, y]);
        block.extent = [1; DIMENSIONS_MAX];
        block.extent[..2].copy_from_slice(&[w, h]);
        block
    };
    for name in ["first-fit", "free-submesh-list", "buddy", "naive"] {
        let (machine, strategy) = (machine(), strategy(name));
        let mut size = 0;
        // SAFETY: as above.
        unsafe {
            let sized = meshalloc_allocator_size(&machine, &strategy, 9, &mut size);
            if sized == Error::MachineUnsuitable as i32 {
                continue;
            }
            assert_eq!(sized, 0);
            let mut memories = [(); 2].map(|()| vec![u64::MAX; size.div_ceil(8)]);
            let [one, other] = &mut memories;
            let new = |memory: &mut [u64]| {
                let (mut allocator, start) = (ptr::null_mut(), memory.as_mut_ptr().cast());
                let init =
                    meshalloc_allocator_init(start, size, &machine, &strategy, 9, &mut allocator);
                assert_eq!(init, 0);
                allocator
            };
            let (saved, restored) = (new(one), new(other));
            let (mut busy, mut held) = (0_u32, Vec::new());
            for (x, y, side) in [
                (0, 0, 2),
                (1, 1, 2),
                (4, 2, 2),
                (6, 0, 1),
                (7, 3, 2),
                (6, 0, 2),
            ] {
                let (given, mut allocation) = (block(x, y, side, side), Allocation::default());
                let result = meshalloc_allocator_allocate_at(saved, &given, 1, &mut allocation);
                let is_inside = x + side <= 8 && y + side <= 4;
                let bits = (y..y + side).flat_map(|y| (x..x + side).map(move |x| 8 * y + x));
                let bits = bits.fold(0_u32, |bits, at| {
                    bits | 1_u32.checked_shl(at.into()).unwrap_or(0)
                });
                let expected = if !is_inside {
                    Error::NoSuchBlock as i32
                } else if busy & bits != 0 {
                    Error::NotFree as i32
                } else {
                    busy |= bits;
                    held.push((allocation, i32::from(side * side)));
                    i32::from(side * side)
                };
                assert_eq!(result, expected, "{name}: {x}, {y}, {side}");
                for processor in 0..32 {
                    let state = meshalloc_allocator_processor(saved, processor);
                    assert_eq!(state, (busy >> processor & 1) as i32 * PROCESSOR_BUSY);
                }
            }
            let (mut allocation, two) = (
                Allocation::default(),
                [block(0, 2, 1, 1), block(1, 3, 1, 1)],
            );
            let several = meshalloc_allocator_allocate_at(saved, two.as_ptr(), 2, &mut allocation);
            if name == "naive" {
                held.push((allocation, 2));
                assert_eq!(several, 2);
            } else {
                assert_eq!(several, Error::NotOfStrategy as i32);
            }
            let none = meshalloc_allocator_allocate_at(saved, ptr::null(), 0, &mut allocation);
            assert_eq!(none, Error::BadArgument as i32);

            let mut parts = Parts {
                parts: Vec::new(),
                next: 0,
                controller: ptr::null_mut(),
            };
            let context = (&raw mut parts).cast();
            assert_eq!(meshalloc_allocator_save(saved, Some(write), context), 0);
            let free = meshalloc_allocator_free_processors(saved);
            assert_eq!(meshalloc_allocator_deinit(saved), 0);
            assert_eq!(
                meshalloc_allocator_restore(restored, Some(read), context),
                0
            );
            assert_eq!(meshalloc_allocator_free_processors(restored), free);
            for (was, processors) in held {
                let foreign = meshalloc_allocator_release(restored, was);
                assert_eq!(foreign, Error::ForeignAllocation as i32);
                assert_eq!(meshalloc_allocator_renew(restored, was, &mut allocation), 0);
                let released = meshalloc_allocator_release(restored, allocation);
                assert_eq!(released, processors, "{name}");
                let again = meshalloc_allocator_renew(restored, was, &mut allocation);
                assert_eq!(again, Error::StaleAllocation as i32);
            }
            assert_eq!(meshalloc_allocator_free_processors(restored), 32, "{name}");
            parts.parts[0][3] ^= 1;
            parts.next = 0;
            let context = (&raw mut parts).cast();
            assert!(meshalloc_allocator_restore(restored, Some(read), context) < 0);
        }
    }
}
