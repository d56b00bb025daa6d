//! The functions of a controller.

use core::ffi::c_void;
use core::num::NonZeroU64;

#[cfg(feature = "preemption")]
use meshalloc::Victims;
use meshalloc::storage::Needs;
#[cfg(feature = "machine")]
use meshalloc::{Answer, Query};
use meshalloc::{Change, Configuration as CoreConfiguration, JobId, Outcome as EventKind};

use crate::allocator::{needs, state, write_blocks};
use crate::error::Error;
use crate::handle::{Handle, Outcome, Rest, array, count, number, reading, writing};
#[cfg(feature = "preemption")]
use crate::types::VICTIMS_MAX;
use crate::types::{
    Block, Configuration, Event, Faults, Job, JobList, Largest, Machine, Request, Statistics, Why,
};

pub(crate) type CoreController = meshalloc::Controller<'static>;
pub(crate) type ControllerHandle = Handle<CoreController>;

/// Serves the processors of one machine to jobs: an allocator with a table of jobs, a queue and a
/// scheduler. It lives in memory that the caller provides. One thread or interrupt may use it at a
/// time.
#[derive(Debug)]
pub struct Controller(());

/// Asks the controller.
///
/// # Safety
///
/// As for [`Handle::with`].
pub(crate) unsafe fn with(
    controller: *const Controller,
    call: impl FnOnce(&mut CoreController) -> Outcome,
) -> i32 {
    // SAFETY: the caller promises it.
    number(unsafe { Handle::with(controller.cast_mut().cast(), call) })
}

/// Carries a change out.
///
/// # Safety
///
/// As for [`Handle::with`].
unsafe fn change(controller: *mut Controller, change: Change, now: u64) -> i32 {
    let begin =
        |controller: &mut CoreController| match controller.begin(&change, now, None, None)? {
            EventKind::Released { processors } => count(processors),
            _ => Ok(0),
        };
    // SAFETY: the caller promises it.
    unsafe { with(controller, begin) }
}

/// Machine, configuration, what it needs, and the bytes of the controller.
///
/// # Safety
///
/// As for [`reading`].
unsafe fn plan(
    configuration: *const Configuration,
    jobs: u32,
) -> Result<(Machine, CoreConfiguration, Needs, usize), Error> {
    // SAFETY: the caller promises it.
    let configuration = unsafe { reading(configuration)? };
    let (machine, configuration) = (configuration.machine, configuration.core()?);
    if !configuration.scheduler.is_built() {
        return Err(Error::SchedulerNotBuilt);
    }
    let needs = needs(&machine, configuration.strategy, jobs)?;
    let size = size_of::<ControllerHandle>().checked_add(needs.bytes(jobs as usize));
    let size = size.ok_or(Error::BadCapacity)?;
    Ok((machine, configuration, needs, size))
}

/// Writes to `size` how many bytes of memory a controller takes for up to `jobs` jobs that wait or
/// run. For static memory MESHALLOC_MESH_CONTROLLER_SIZE and MESHALLOC_GRID_CONTROLLER_SIZE are
/// constants. Returns 0 or an error.
///
/// # Safety
///
/// `configuration` may be read, `size` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_size(
    configuration: *const Configuration,
    jobs: u32,
    size: *mut usize,
) -> i32 {
    let write = || {
        // SAFETY: the caller promises it.
        let (place, (.., bytes)) = unsafe { (writing(size)?, plan(configuration, jobs)?) };
        place.write(bytes);
        Ok(0)
    };
    number(write())
}

/// Makes a controller without jobs and faults, in `size` bytes of `memory`, and writes a pointer to
/// it to `controller`. It has room for `jobs` jobs that wait or run. Returns 0 or an error.
///
/// The memory is aligned to MESHALLOC_ALIGNMENT bytes. The controller owns it until
/// meshalloc_controller_deinit. Its first contents do not matter: an object that was left there is
/// gone.
///
/// # Safety
///
/// `memory` is `size` bytes that only the library uses until the controller is deinitialised;
/// `configuration` may be read, `controller` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_init(
    memory: *mut c_void,
    size: usize,
    configuration: *const Configuration,
    jobs: u32,
    controller: *mut *mut Controller,
) -> i32 {
    let make = |rest: &mut Rest| {
        // SAFETY: the caller promises it.
        let (machine, configuration, needs, _) = unsafe { plan(configuration, jobs)? };
        let memory = needs.memory(jobs as usize, rest);
        let memory = memory.ok_or(Error::MemoryTooSmall)?;
        #[cfg(feature = "machine")]
        let memory = match machine.described()? {
            (_, Some(description)) => memory.describing(description),
            _ => memory,
        };
        #[cfg(not(feature = "machine"))]
        let _ = machine;
        Ok(CoreController::new(memory, configuration)?)
    };
    // SAFETY: the caller promises it.
    unsafe { ControllerHandle::init(memory, size, controller, make) }
}

/// Forgets the controller. Its memory is the caller's again. Returns 0 or an error.
///
/// # Safety
///
/// `controller` is memory that may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_deinit(controller: *mut Controller) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { ControllerHandle::deinit(controller.cast()) }
}

/// Submits a job under a name that is unused at the moment. It joins the queue; calls of
/// meshalloc_controller_advance let it try, and an event reports the grant. A job with
/// MESHALLOC_NO_WAIT is granted or refused by this call. Returns 0 or an error.
///
/// `lease` is the time in ticks after which the job is to be released unless its lease is renewed,
/// 0 for no lease. `now` is the time in ticks of any length; it does not go back, and a time before
/// the latest one counts as the latest.
///
/// # Safety
///
/// `controller` may be read and written, `request` may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_submit(
    controller: *mut Controller,
    job: u32,
    request: *const Request,
    lease: u64,
    now: u64,
) -> i32 {
    // SAFETY: the caller promises it.
    let request = unsafe { reading(request) };
    let request = match request.and_then(|request| request.core()) {
        Ok(request) => request,
        Err(error) => return error as i32,
    };
    let submit = Change::Submit {
        job: JobId(job),
        request,
        lease: NonZeroU64::new(lease),
    };
    // SAFETY: the caller promises it.
    unsafe { change(controller, submit, now) }
}

/// Releases a job, or takes a waiting one out of the queue. Returns the processors that it held, 0
/// if it waited, or an error. Calls of meshalloc_controller_advance let others try.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_release(
    controller: *mut Controller,
    job: u32,
    now: u64,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { change(controller, Change::Release { job: JobId(job) }, now) }
}

/// Gives a job a lease of `ticks` from now on instead of the one it had; 0 for none. Returns 0 or
/// an error.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_lease(
    controller: *mut Controller,
    job: u32,
    ticks: u64,
    now: u64,
) -> i32 {
    let lease = Change::Lease {
        job: JobId(job),
        ticks: NonZeroU64::new(ticks),
    };
    // SAFETY: the caller promises it.
    unsafe { change(controller, lease, now) }
}

/// Ends the lease that has ended first by now, if there is one: its job is released, and an event
/// reports that. Returns 1 if there was one, 0 if not, or an error. Call it until it returns 0,
/// with meshalloc_controller_advance between the calls.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_end_lease(
    controller: *mut Controller,
    now: u64,
) -> i32 {
    let end = |controller: &mut CoreController| {
        let Some((ends, job)) = controller.lease_ended(now) else {
            return Ok(0);
        };
        controller.begin(&Change::EndLease { job }, ends, None, None)?;
        Ok(1)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, end) }
}

/// Marks the processors of a block as faulty, and writes to `faults` what they were, unless it is
/// NULL. Jobs that hold some keep running. Returns how many were not faulty before, or an error.
///
/// # Safety
///
/// `controller` may be read and written, `block` may be read, `faults` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_mark_faulty(
    controller: *mut Controller,
    block: *const Block,
    now: u64,
    faults: *mut Faults,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { set_faulty(controller, block, true, now, faults) }
}

/// Marks the processors of a block as working, and writes to `faults` what they were, unless it is
/// NULL. Calls of meshalloc_controller_advance let jobs try. Returns how many were faulty before,
/// or an error.
///
/// # Safety
///
/// `controller` may be read and written, `block` may be read, `faults` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_clear_faulty(
    controller: *mut Controller,
    block: *const Block,
    now: u64,
    faults: *mut Faults,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { set_faulty(controller, block, false, now, faults) }
}

/// # Safety
///
/// As for the functions above.
unsafe fn set_faulty(
    controller: *mut Controller,
    block: *const Block,
    is_faulty: bool,
    now: u64,
    faults: *mut Faults,
) -> i32 {
    let set = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = match faults.is_null() {
            true => None,
            // SAFETY: the caller promises it.
            false => Some(unsafe { writing(faults)? }),
        };
        // SAFETY: the caller promises it.
        let block = unsafe { reading(block)?.on(controller.machine())? };
        let change = if is_faulty {
            Change::MarkFaulty { block }
        } else {
            Change::ClearFaulty { block }
        };
        let EventKind::Faults(report) = controller.begin(&change, now, None, None)? else {
            return Ok(0);
        };
        if let Some(place) = place {
            place.write(Faults::of_core(report));
        }
        count(report.changed)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, set) }
}

/// Gives a running job that holds faulty processors other ones; an event reports them. If there is
/// no place, nothing changes. Calls of meshalloc_controller_advance let jobs try. Returns 0 or an
/// error: MESHALLOC_ERROR_NOTHING_TO_REPLACE if it holds none that is faulty,
/// MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `replace`.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_replace(
    controller: *mut Controller,
    job: u32,
    now: u64,
) -> i32 {
    #[cfg(feature = "replace")]
    {
        // SAFETY: the caller promises it.
        unsafe { change(controller, Change::Replace { job: JobId(job) }, now) }
    }
    #[cfg(not(feature = "replace"))]
    {
        let _ = (job, now);
        // SAFETY: the caller promises it.
        unsafe { with(controller, |_| Err(Error::MachinesNotBuilt)) }
    }
}

/// Grants a waiting job processors as if these running jobs, at most MESHALLOC_VICTIMS_MAX, held
/// none; `victims` may be NULL if there are none. They wait again, and events report them and the
/// grant. If there is no place, nothing changes. Calls of meshalloc_controller_advance let jobs
/// try. Returns 0 or an error: MESHALLOC_ERROR_NOT_WAITING if the job runs,
/// MESHALLOC_ERROR_NO_VICTIM if one of the others may not be preempted for it,
/// MESHALLOC_ERROR_BAD_ARGUMENT if there are too many, MESHALLOC_ERROR_MACHINES_NOT_BUILT in a
/// build without the feature `preemption`.
///
/// # Safety
///
/// `controller` may be read and written, `count` numbers at `victims` may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_preempt(
    controller: *mut Controller,
    job: u32,
    victims: *const u32,
    count: usize,
    now: u64,
) -> i32 {
    #[cfg(feature = "preemption")]
    {
        let preempt = |controller: &mut CoreController| {
            if count > VICTIMS_MAX {
                return Err(Error::BadArgument);
            }
            let mut jobs = [JobId(0); VICTIMS_MAX];
            for (at, job) in jobs.iter_mut().enumerate().take(count) {
                // SAFETY: the caller promises it; NULL is an error.
                *job = JobId(unsafe { reading(victims.wrapping_add(at))? });
            }
            let victims = Victims::new(&jobs[..count]).unwrap_or_default();
            let job = JobId(job);
            controller.begin(&Change::Preempt { job, victims }, now, None, None)?;
            Ok(0)
        };
        // SAFETY: the caller promises it.
        unsafe { with(controller, preempt) }
    }
    #[cfg(not(feature = "preemption"))]
    {
        let _ = (job, victims, count, now);
        // SAFETY: the caller promises it.
        unsafe { with(controller, |_| Err(Error::MachinesNotBuilt)) }
    }
}

/// Forgets all jobs, faults and statistics; the time begins anew. Returns 0 or an error.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_reset(controller: *mut Controller, now: u64) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { change(controller, Change::Reset, now) }
}

/// Makes one attempt to place a job, if an earlier call has left some. Returns 1 if more are left,
/// 0 if not, or an error. No other change is possible until it returns 0.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_advance(controller: *mut Controller) -> i32 {
    let advance = |controller: &mut CoreController| Ok(i32::from(controller.advance(None)));
    // SAFETY: the caller promises it.
    unsafe { with(controller, advance) }
}

/// Writes to `event` the first event after the one of the number `after`, 0 for the first of all.
/// Returns 1 if there is one, 0 if not, or an error. A caller that passes the number of the latest
/// event it has read reads each event once. Grants of jobs that were released meanwhile are left
/// out.
///
/// # Safety
///
/// `controller` may be read and written, `event` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_event(
    controller: *const Controller,
    after: u64,
    event: *mut Event,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(event)? };
        let next = controller.view().events_since(after).next();
        if let Some(event) = next {
            place.write(Event::of_core(controller.machine(), event));
        }
        Ok(i32::from(next.is_some()))
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes to `report` what is known about a job. Returns 1 if it runs, 0 if it waits, or an error.
///
/// # Safety
///
/// `controller` may be read and written, `report` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_job(
    controller: *const Controller,
    job: u32,
    report: *mut Job,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(report)? };
        let report = Job::of_core(&controller.view().job(JobId(job))?);
        place.write(report);
        Ok(i32::from(report.processors > 0))
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes the blocks of a slice of a job to `blocks`: from the one of index `from` on, at most
/// `room`. The slices of a gang are numbered from 0; a job that is none is its slice 0. Returns the
/// number of all blocks of the slice, 0 while the job waits or if it has fewer slices, or an error.
/// `blocks` may be NULL if `room` is 0.
///
/// Strategies whose jobs get any free processors give slices no shape: only
/// meshalloc_controller_blocks has the blocks of such a gang.
///
/// # Safety
///
/// `controller` may be read and written, `room` blocks from `blocks` on may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_slice(
    controller: *const Controller,
    job: u32,
    slice: u32,
    from: u32,
    blocks: *mut Block,
    room: u32,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let places = unsafe { array(blocks, room)? };
        let view = controller.view();
        view.job(JobId(job))?;
        let held = view.blocks_of_slice(JobId(job), slice);
        write_blocks(controller.machine(), held, from, places)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes the blocks of a job to `blocks`: from the one of index `from` on, at most `room`. Returns
/// the number of all its blocks, 0 while it waits, or an error. `blocks` may be NULL if `room` is
/// 0.
///
/// # Safety
///
/// `controller` may be read and written, `room` blocks from `blocks` on may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_blocks(
    controller: *const Controller,
    job: u32,
    from: u32,
    blocks: *mut Block,
    room: u32,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let places = unsafe { array(blocks, room)? };
        let view = controller.view();
        view.job(JobId(job))?;
        write_blocks(controller.machine(), view.blocks(JobId(job)), from, places)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes some of the jobs to `list`: all, or those that hold processors of the block `on`, if that
/// is not NULL. `from` is 0 at first, then the `next` of the last list. Returns the number of jobs
/// in the list, or an error.
///
/// # Safety
///
/// `controller` may be read and written, `on` may be read, `list` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_jobs(
    controller: *const Controller,
    on: *const Block,
    from: u32,
    list: *mut JobList,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(list)? };
        let on = match on.is_null() {
            true => None,
            // SAFETY: the caller promises it.
            false => Some(unsafe { reading(on)?.on(controller.machine())? }),
        };
        let list = JobList::of_core(&controller.view().job_list(on, from)?);
        place.write(list);
        count(list.count)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes to `largest` what could be placed now. Returns its number of processors, or an error:
/// MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `machine`,
/// MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work. It may take as long as an
/// attempt for each size that is larger.
///
/// # Safety
///
/// `controller` may be read and written, `largest` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_largest(
    controller: *mut Controller,
    largest: *mut Largest,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(largest)? };
        #[cfg(feature = "machine")]
        {
            let Answer::Largest(report) = controller.answer(&Query::Largest, None)? else {
                return Ok(0);
            };
            place.write(Largest::of_core(controller.machine(), &report));
            count(report.processors)
        }
        #[cfg(not(feature = "machine"))]
        {
            let _ = (controller, place);
            Err(Error::MachinesNotBuilt)
        }
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Why a job waits: a MESHALLOC_REASON_.., of which `why` has the numbers, or an error:
/// MESHALLOC_ERROR_UNKNOWN_JOB, MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature
/// `reasons`, MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work. Nothing changes. It
/// may take as long as three attempts.
///
/// # Safety
///
/// `controller` may be read and written, `why` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_why(
    controller: *mut Controller,
    job: u32,
    why: *mut Why,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(why)? };
        #[cfg(feature = "reasons")]
        {
            let report = controller.why(JobId(job), None)?;
            place.write(Why {
                ahead: report.ahead,
                needs: report.needs,
                free: report.free,
                faulty: report.faulty,
            });
            Ok(crate::types::reason(report.reason))
        }
        #[cfg(not(feature = "reasons"))]
        {
            let _ = (controller, job, place);
            Err(Error::MachinesNotBuilt)
        }
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Writes the statistics to `statistics`. Returns 0 or an error.
///
/// # Safety
///
/// `controller` may be read and written, `statistics` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_statistics(
    controller: *const Controller,
    statistics: *mut Statistics,
) -> i32 {
    let write = |controller: &mut CoreController| {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(statistics)? };
        place.write(Statistics::of_core(&controller.statistics()));
        Ok(0)
    };
    // SAFETY: the caller promises it.
    unsafe { with(controller, write) }
}

/// Returns the state of a processor, MESHALLOC_PROCESSOR_BUSY and MESHALLOC_PROCESSOR_FAULTY, or an
/// error.
///
/// # Safety
///
/// `controller` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_processor(
    controller: *const Controller,
    processor: u32,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe {
        with(controller, |controller| {
            state(controller.occupancy(), processor)
        })
    }
}
