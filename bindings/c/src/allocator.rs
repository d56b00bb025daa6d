//! The functions of an allocator.

use core::ffi::c_void;

use meshalloc::storage::Needs;
use meshalloc::{Grid, NodeId, Occupancy, StrategyKind};

use crate::error::Error;
use crate::handle::{Handle, Outcome, Place, Rest, array, count, number, reading, writing};
use crate::types::{
    Allocation, Block, Largest, Machine, PROCESSOR_BUSY, PROCESSOR_FAULTY, Request, Strategy,
};

pub(crate) type CoreAllocator = meshalloc::Allocator<'static>;
pub(crate) type AllocatorHandle = Handle<CoreAllocator>;

/// Gives processors of one machine away and takes them back. It lives in memory that the caller
/// provides. One thread or interrupt may use it at a time.
#[derive(Debug)]
pub struct Allocator(());

/// Asks the allocator.
///
/// # Safety
///
/// As for [`Handle::with`].
unsafe fn with(
    allocator: *const Allocator,
    call: impl FnOnce(&mut CoreAllocator) -> Outcome,
) -> i32 {
    // SAFETY: the caller promises it.
    number(unsafe { Handle::with(allocator.cast_mut().cast(), call) })
}

/// Machine, strategy, what they need, and the bytes of the allocator.
///
/// # Safety
///
/// As for [`reading`].
unsafe fn plan(
    machine: *const Machine,
    strategy: *const Strategy,
    allocations: u32,
) -> Result<(Machine, StrategyKind, Needs, usize), Error> {
    // SAFETY: the caller promises it.
    let (machine, strategy) = unsafe { (reading(machine)?, reading(strategy)?.kind()?) };
    let needs = needs(&machine, strategy, allocations)?;
    let size = size_of::<AllocatorHandle>().checked_add(needs.allocator_bytes());
    Ok((machine, strategy, needs, size.ok_or(Error::BadCapacity)?))
}

/// What a machine and a strategy need for this number of jobs or allocations.
pub(crate) fn needs(machine: &Machine, strategy: StrategyKind, jobs: u32) -> Result<Needs, Error> {
    // A link of two bytes counts to 65,534, one of four bytes further than memory goes.
    let most = if size_of::<usize>() == 8 {
        1 << 24
    } else {
        0xfffe
    };
    if jobs == 0 || jobs > most {
        return Err(Error::BadCapacity);
    }
    if !strategy.is_built() {
        return Err(Error::StrategyNotBuilt);
    }
    let needs = needs_of(machine, strategy, jobs as usize)?;
    if needs.blocks <= most as usize {
        Ok(needs)
    } else {
        Err(Error::BadCapacity)
    }
}

/// The same for any number.
#[cfg(feature = "machine")]
fn needs_of(machine: &Machine, strategy: StrategyKind, jobs: usize) -> Result<Needs, Error> {
    let (is_served, needs) = match machine.described()? {
        (grid, None) => (
            strategy.serves().includes(&grid),
            Needs::of(strategy, &grid, jobs),
        ),
        (_, Some(description)) => (
            strategy.serves_described(description),
            Needs::described(strategy, description, jobs),
        ),
    };
    is_served.then_some(needs).ok_or(Error::MachineUnsuitable)
}

#[cfg(not(feature = "machine"))]
fn needs_of(machine: &Machine, strategy: StrategyKind, jobs: usize) -> Result<Needs, Error> {
    let grid = machine.grid()?;
    if machine.description != 0 {
        return Err(Error::MachinesNotBuilt);
    }
    let is_served = strategy.serves().includes(&grid);
    is_served
        .then(|| Needs::of(strategy, &grid, jobs))
        .ok_or(Error::MachineUnsuitable)
}

/// Writes into `places` the blocks from index `from` on; returns how many there are in all.
pub(crate) fn write_blocks(
    grid: &Grid,
    blocks: impl Iterator<Item = meshalloc::Block>,
    from: u32,
    places: impl Iterator<Item = Place<Block>>,
) -> Outcome {
    let mut places = places;
    let mut total = 0;
    for block in blocks {
        if total >= from
            && let Some(place) = places.next()
        {
            place.write(Block::of_core(grid, block));
        }
        total += 1;
    }
    count(total)
}

/// The state of a processor, in bits.
pub(crate) fn state(occupancy: &Occupancy<'_>, processor: u32) -> Outcome {
    let node = NodeId(processor);
    if processor >= occupancy.grid().nodes() {
        return Err(Error::NoSuchProcessor);
    }
    let busy = i32::from(occupancy.is_busy(node)) * PROCESSOR_BUSY;
    let faulty = i32::from(occupancy.is_faulty(node)) * PROCESSOR_FAULTY;
    Ok(busy | faulty)
}

/// Writes to `size` how many bytes of memory an allocator takes that holds up to `allocations`
/// allocations at a time. For static memory MESHALLOC_MESH_ALLOCATOR_SIZE and
/// MESHALLOC_GRID_ALLOCATOR_SIZE are constants. Returns 0 or an error.
///
/// # Safety
///
/// `machine` and `strategy` may be read, `size` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_size(
    machine: *const Machine,
    strategy: *const Strategy,
    allocations: u32,
    size: *mut usize,
) -> i32 {
    let write = || {
        // SAFETY: the caller promises it.
        let (place, plan) = unsafe { (writing(size)?, plan(machine, strategy, allocations)?) };
        place.write(plan.3);
        Ok(0)
    };
    number(write())
}

/// Makes an allocator of a machine whose processors are all free, in `size` bytes of `memory`, and
/// writes a pointer to it to `allocator`. It holds up to `allocations` allocations at a time.
/// Returns 0 or an error.
///
/// The memory is aligned to MESHALLOC_ALIGNMENT bytes. The allocator owns it until
/// meshalloc_allocator_deinit. Its first contents do not matter: an object that was left there is
/// gone.
///
/// # Safety
///
/// `memory` is `size` bytes that only the library uses until the allocator is deinitialised;
/// `machine` and `strategy` may be read, `allocator` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_init(
    memory: *mut c_void,
    size: usize,
    machine: *const Machine,
    strategy: *const Strategy,
    allocations: u32,
    allocator: *mut *mut Allocator,
) -> i32 {
    let make = |rest: &mut Rest| {
        // SAFETY: the caller promises it.
        let (machine, strategy, needs, _) = unsafe { plan(machine, strategy, allocations)? };
        let memory = needs.allocator_memory(rest).ok_or(Error::MemoryTooSmall)?;
        #[cfg(feature = "machine")]
        let memory = match machine.described()? {
            (_, Some(description)) => memory.describing(description),
            _ => memory,
        };
        Ok(CoreAllocator::new(memory, machine.grid()?, strategy)?)
    };
    // SAFETY: the caller promises it.
    unsafe { AllocatorHandle::init(memory, size, allocator, make) }
}

/// Forgets the allocator. Its memory is the caller's again. Returns 0 or an error.
///
/// # Safety
///
/// `allocator` is memory that may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_deinit(allocator: *mut Allocator) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { AllocatorHandle::deinit(allocator.cast()) }
}

/// Finds processors for a request, takes them and writes to `allocation` what names them. Returns
/// the number of processors, at least that of the request, or an error.
///
/// # Safety
///
/// `allocator` may be read and written, `request` may be read, `allocation` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_allocate(
    allocator: *mut Allocator,
    request: *const Request,
    allocation: *mut Allocation,
) -> i32 {
    let allocate = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let (place, request) = unsafe { (writing(allocation)?, reading(request)?.core()?) };
        let held = allocator.allocate(&request)?;
        let processors = allocator.processors(&held)?;
        place.write(Allocation::of_core(held));
        count(processors)
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, allocate) }
}

/// Takes the processors of `count` blocks, wherever the strategy would place a request: those of a
/// job that ran before a restart, or that someone else has placed. Writes to `allocation` what
/// names them. Returns their number, or an error: MESHALLOC_ERROR_NOT_FREE if a processor is held,
/// faulty or in two of the blocks, MESHALLOC_ERROR_NOT_OF_STRATEGY if the strategy never gives such
/// blocks or so many to one request. A contiguous strategy gives one.
///
/// # Safety
///
/// `allocator` may be read and written, `count` blocks from `blocks` on may be read, `allocation`
/// may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_allocate_at(
    allocator: *mut Allocator,
    blocks: *const Block,
    count: u32,
    allocation: *mut Allocation,
) -> i32 {
    let allocate = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(allocation)? };
        let grid = *allocator.occupancy().grid();
        // SAFETY: `at` is below `count`, and the caller promises the rest.
        let block = |at: u32| unsafe { reading(blocks.add(at as usize))?.on(&grid) };
        (0..count).try_for_each(|at| block(at).map(drop))?;
        let held = allocator.allocate_blocks((0..count).filter_map(|at| block(at).ok()))?;
        let processors = allocator.processors(&held)?;
        place.write(Allocation::of_core(held));
        self::count(processors)
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, allocate) }
}

/// Whether processors would be found for a request now: 1, 0 or an error. Nothing changes.
///
/// # Safety
///
/// `allocator` may be read and written, `request` may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_fits(
    allocator: *mut Allocator,
    request: *const Request,
) -> i32 {
    let fits = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let request = unsafe { reading(request)?.core()? };
        Ok(i32::from(allocator.fits(&request)))
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, fits) }
}

/// Writes to `largest` what could be placed now. Returns its number of processors, or an error:
/// MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `machine`. It may take as long
/// as an attempt for each size that is larger.
///
/// # Safety
///
/// `allocator` may be read and written, `largest` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_largest(
    allocator: *mut Allocator,
    largest: *mut Largest,
) -> i32 {
    let write = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(largest)? };
        #[cfg(feature = "machine")]
        {
            let report = allocator.largest();
            place.write(Largest::of_core(allocator.occupancy().grid(), &report));
            count(report.processors)
        }
        #[cfg(not(feature = "machine"))]
        {
            let _ = (allocator, place);
            Err(Error::MachinesNotBuilt)
        }
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, write) }
}

/// Takes processors back. Returns how many, or an error: an allocation that was released before, or
/// that another allocator made, changes nothing. It never needs room.
///
/// # Safety
///
/// `allocator` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_release(
    allocator: *mut Allocator,
    allocation: Allocation,
) -> i32 {
    let release = |allocator: &mut CoreAllocator| {
        let released = allocator.release(allocation.core());
        count(released.map_err(|error| error.reason)?)
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, release) }
}

/// Returns the number of processors of an allocation, or an error.
///
/// # Safety
///
/// `allocator` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_processors(
    allocator: *const Allocator,
    allocation: Allocation,
) -> i32 {
    let processors =
        |allocator: &mut CoreAllocator| count(allocator.processors(&allocation.core())?);
    // SAFETY: the caller promises it.
    unsafe { with(allocator, processors) }
}

/// Writes the blocks of an allocation to `blocks`: from the one of index `from` on, at most `room`.
/// Returns the number of all its blocks, or an error. An allocation of a contiguous strategy has
/// one block; of a gang one for each slice. `blocks` may be NULL if `room` is 0.
///
/// # Safety
///
/// `allocator` may be read and written, `room` blocks from `blocks` on may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_blocks(
    allocator: *const Allocator,
    allocation: Allocation,
    from: u32,
    blocks: *mut Block,
    room: u32,
) -> i32 {
    let write = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let places = unsafe { array(blocks, room)? };
        let held = allocator.blocks(&allocation.core())?;
        write_blocks(allocator.occupancy().grid(), held, from, places)
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, write) }
}

/// Marks the processors of a block.
///
/// # Safety
///
/// As for [`with`] and [`reading`].
unsafe fn set_faulty(
    allocator: *mut Allocator,
    block: *const Block,
    set: impl FnOnce(&mut CoreAllocator, meshalloc::Block) -> u32,
) -> i32 {
    let mark = |allocator: &mut CoreAllocator| {
        // SAFETY: the caller promises it.
        let block = unsafe { reading(block)?.on(allocator.occupancy().grid())? };
        count(set(allocator, block))
    };
    // SAFETY: the caller promises it.
    unsafe { with(allocator, mark) }
}

/// Marks the processors of a block as faulty: they are not given away until they are marked as
/// working. Those that are held stay held. Returns how many were not faulty before, or an error.
///
/// # Safety
///
/// `allocator` may be read and written, `block` may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_mark_faulty(
    allocator: *mut Allocator,
    block: *const Block,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { set_faulty(allocator, block, CoreAllocator::mark_faulty) }
}

/// Marks the processors of a block as working. Returns how many were faulty before, or an error.
///
/// # Safety
///
/// `allocator` may be read and written, `block` may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_clear_faulty(
    allocator: *mut Allocator,
    block: *const Block,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { set_faulty(allocator, block, CoreAllocator::clear_faulty) }
}

/// Returns the number of processors that are neither held nor faulty, or an error.
///
/// # Safety
///
/// `allocator` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_free_processors(allocator: *const Allocator) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { with(allocator, |allocator| count(allocator.occupancy().free())) }
}

/// Returns the number of faulty processors, or an error.
///
/// # Safety
///
/// `allocator` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_faulty_processors(allocator: *const Allocator) -> i32 {
    // SAFETY: the caller promises it.
    unsafe {
        with(allocator, |allocator| {
            count(allocator.occupancy().faulty_count())
        })
    }
}

/// Returns the state of a processor, MESHALLOC_PROCESSOR_BUSY and MESHALLOC_PROCESSOR_FAULTY, or an
/// error.
///
/// # Safety
///
/// `allocator` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_processor(
    allocator: *const Allocator,
    processor: u32,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe {
        with(allocator, |allocator| {
            state(allocator.occupancy(), processor)
        })
    }
}
