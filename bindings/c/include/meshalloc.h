/* meshalloc for C99 and C++17: processor allocation for mesh- and torus-connected machines.
 *
 * Made of the sources by `MESHALLOC_REFRESH_GOLDEN=1 cargo test -p meshalloc-c header`.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every function returns 0 or a positive number, or a negative MESHALLOC_ERROR_.. if it fails.
 * A failed call changes nothing unless the comment says otherwise.
 */

#ifndef MESHALLOC_H
#define MESHALLOC_H

#include <stddef.h>
#include <stdint.h>

/** The version of this header. */
#define MESHALLOC_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * You define this function. The library calls it where it has found a bug in itself, and never
 * after it has returned: it must not return. `file` has `length` bytes and no 0 at the end.
 */
void meshalloc_panic(const char *file, size_t length, uint32_t line);

#ifdef __cplusplus
}
#endif


/**
 * The most bytes of one part of a checkpoint.
 */
#define MESHALLOC_PART_MAX 232

/**
 * The alignment of the memory of every object, in bytes.
 */
#define MESHALLOC_ALIGNMENT 8

/**
 * The most dimensions of a machine and extents of a request.
 */
#define MESHALLOC_DIMENSIONS_MAX 16

/**
 * The most jobs in a meshalloc_job_list.
 */
#define MESHALLOC_JOB_LIST_MAX 16

/**
 * The most parameters of a strategy or scheduler.
 */
#define MESHALLOC_PARAMETERS_MAX 2

/**
 * Bit of meshalloc_request.flags: the job never waits. It is granted at once or refused.
 */
#define MESHALLOC_NO_WAIT 1

/**
 * Bit of meshalloc_request.flags: the extents keep their order along the dimensions.
 */
#define MESHALLOC_FIXED_ORIENTATION 2

/**
 * Bit of meshalloc_request.flags: the request has a number of processors and no shape. It is given
 * one of the shapes that the machine has for this number. Strategies whose jobs hold processors
 * anywhere take the number as it is; in more than four dimensions the others refuse it.
 */
#define MESHALLOC_CHIPS 4

/**
 * Bit of meshalloc_request.flags: the processors along the first extent form a ring. The bits for
 * the next three extents follow: twice, four and eight times this one.
 */
#define MESHALLOC_RING 8

/**
 * Bit of meshalloc_request.flags: the processors along every extent form a ring.
 */
#define MESHALLOC_RINGS 128

/**
 * Bit of a processor's state: it is held or faulty.
 */
#define MESHALLOC_PROCESSOR_BUSY 1

/**
 * Bit of a processor's state: it is faulty.
 */
#define MESHALLOC_PROCESSOR_FAULTY 2

/**
 * Kind of a meshalloc_event: the job was granted processors.
 */
#define MESHALLOC_EVENT_GRANTED 1

/**
 * Kind of a meshalloc_event: the lease of the job has ended, and the job was released.
 */
#define MESHALLOC_EVENT_LEASE_ENDED 2

/**
 * Kind of a meshalloc_event: another job took the processors of the job, which waits again.
 */
#define MESHALLOC_EVENT_PREEMPTED 3

/**
 * The most jobs that one job can preempt.
 */
#define MESHALLOC_VICTIMS_MAX 8

/**
 * The job runs, so there is no reason why it waits.
 */
#define MESHALLOC_REASON_NONE 0

/**
 * Reason: it would not fit an empty machine whose processors all work. Such a request is refused.
 */
#define MESHALLOC_REASON_NEVER_FITS 1

/**
 * Reason: it does not fit as long as the faulty processors do not work.
 */
#define MESHALLOC_REASON_FAULTS 2

/**
 * Reason: the scheduler tries other jobs first.
 */
#define MESHALLOC_REASON_NOT_ITS_TURN 3

/**
 * Reason: fewer processors are free than it needs.
 */
#define MESHALLOC_REASON_TOO_FEW_FREE 4

/**
 * Reason: it would fit if it did not demand rings.
 */
#define MESHALLOC_REASON_RING_NOT_FREE 5

/**
 * Reason: enough processors are free, and the strategy finds no place among them.
 */
#define MESHALLOC_REASON_FRAGMENTED 6

/**
 * Reason: it fits, and would delay a job ahead of it that has a reservation.
 */
#define MESHALLOC_REASON_BEHIND_RESERVATION 7

/**
 * Reason: it fits; the scheduler tries it at the next arrival or departure.
 */
#define MESHALLOC_REASON_UNTRIED 8

/**
 * Reason: there is no room for its blocks.
 */
#define MESHALLOC_REASON_TABLE_FULL 9

/**
 * Reason: slices of the gang have places, but not all of them at once.
 */
#define MESHALLOC_REASON_GANG_INCOMPLETE 10

/**
 * Reason: no place was found, and the search was not completed.
 */
#define MESHALLOC_REASON_NOT_SEARCHED_TO_THE_END 11

/**
 * The error numbers. Functions return 0 or a positive number if they succeed, and one of these if
 * they fail. A failed call changes nothing, unless its documentation says otherwise.
 *
 * The groups: temporary, the same call may succeed later (-1 to -99); permanent, the same call
 * fails again (-100 to -199); configuration, this machine, strategy, scheduler, build or memory
 * does not serve (-200 to -299); misuse, the caller breaks a rule of this interface (from -300).
 */
enum meshalloc_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Fewer processors are free than the job would hold.
   */
  MESHALLOC_ERROR_TOO_FEW_FREE = -1,
  /**
   * Enough processors are free, but the strategy finds no place for the request.
   */
  MESHALLOC_ERROR_FRAGMENTED = -2,
  /**
   * A job that never waits would have to wait, since others wait before it.
   */
  MESHALLOC_ERROR_QUEUE_NOT_EMPTY = -3,
  /**
   * There is no room for another job, allocation or block.
   */
  MESHALLOC_ERROR_TABLE_FULL = -4,
  /**
   * A job with this name waits or runs already.
   */
  MESHALLOC_ERROR_DUPLICATE_JOB = -5,
  /**
   * The request fits only into processors that are reserved for earlier jobs.
   */
  MESHALLOC_ERROR_RESERVED = -6,
  /**
   * Attempts that follow from an earlier call are left: call meshalloc_controller_advance until
   * it returns 0.
   */
  MESHALLOC_ERROR_BUSY = -7,
  /**
   * Enough processors are free, but no place has the rings that the request demands.
   */
  MESHALLOC_ERROR_RING_BUSY = -8,
  /**
   * A processor of a block is held or faulty, or lies in two of the blocks.
   */
  MESHALLOC_ERROR_NOT_FREE = -9,
  /**
   * Enough processors are free and slices of the gang have places, but not all of them at once.
   */
  MESHALLOC_ERROR_GANG_INCOMPLETE = -10,
  /**
   * Enough processors are free. The search found no place, or none for all slices of a gang, and
   * gave up before it had looked everywhere.
   */
  MESHALLOC_ERROR_NOT_SEARCHED_TO_THE_END = -11,
  /**
   * An extent, the number of extents, or the number of processors is zero.
   */
  MESHALLOC_ERROR_EMPTY_REQUEST = -100,
  /**
   * The request has more processors than its shape.
   */
  MESHALLOC_ERROR_MALFORMED_REQUEST = -101,
  /**
   * The strategy cannot serve this request even on an empty machine.
   */
  MESHALLOC_ERROR_NEVER_FITS = -102,
  /**
   * The request has more extents than the machine has dimensions.
   */
  MESHALLOC_ERROR_TOO_MANY_EXTENTS = -103,
  /**
   * An extent is smaller than the machine's side, and the strategy serves only whole sides.
   */
  MESHALLOC_ERROR_EXTENT_BELOW_SIDE = -104,
  /**
   * No job with this name waits or runs.
   */
  MESHALLOC_ERROR_UNKNOWN_JOB = -105,
  /**
   * The block is not within the machine.
   */
  MESHALLOC_ERROR_NO_SUCH_BLOCK = -106,
  /**
   * The machine has no processor with this number.
   */
  MESHALLOC_ERROR_NO_SUCH_PROCESSOR = -107,
  /**
   * The machine's description has no slice of this shape, or of this number of processors.
   */
  MESHALLOC_ERROR_NOT_LEGAL = -108,
  /**
   * No slice of this shape has the rings that the request demands.
   */
  MESHALLOC_ERROR_NO_RING = -109,
  /**
   * The strategy never gives such blocks, or so many to one request.
   */
  MESHALLOC_ERROR_NOT_OF_STRATEGY = -110,
  /**
   * The job holds no faulty processors.
   */
  MESHALLOC_ERROR_NOTHING_TO_REPLACE = -111,
  /**
   * The job that is to preempt others runs already.
   */
  MESHALLOC_ERROR_NOT_WAITING = -112,
  /**
   * A job cannot be preempted for this one: it does not run, may not be preempted, has no lower
   * priority, or is named twice.
   */
  MESHALLOC_ERROR_NO_VICTIM = -113,
  /**
   * The machine has no dimension or more than 16, a side of 0, a side of a two-dimensional mesh
   * above 1024, more than 2^20 processors, or wraps in a dimension that it lacks.
   */
  MESHALLOC_ERROR_NO_SUCH_MACHINE = -200,
  /**
   * There is no strategy of this kind with these parameters.
   */
  MESHALLOC_ERROR_NO_SUCH_STRATEGY = -201,
  /**
   * There is no scheduler of this kind with these parameters.
   */
  MESHALLOC_ERROR_NO_SUCH_SCHEDULER = -202,
  /**
   * The strategy does not serve this machine.
   */
  MESHALLOC_ERROR_MACHINE_UNSUITABLE = -203,
  /**
   * The strategy was left out of this build of the library.
   */
  MESHALLOC_ERROR_STRATEGY_NOT_BUILT = -204,
  /**
   * The scheduler was left out of this build of the library.
   */
  MESHALLOC_ERROR_SCHEDULER_NOT_BUILT = -205,
  /**
   * The memory is too small for this machine, strategy and capacity.
   */
  MESHALLOC_ERROR_MEMORY_TOO_SMALL = -206,
  /**
   * The number of jobs or allocations is 0, or more than this target can count.
   */
  MESHALLOC_ERROR_BAD_CAPACITY = -207,
  /**
   * The bytes do not begin a checkpoint of this version of the library.
   */
  MESHALLOC_ERROR_CHECKPOINT_FORMAT = -208,
  /**
   * An item of the checkpoint cannot be read.
   */
  MESHALLOC_ERROR_CHECKPOINT_MALFORMED = -209,
  /**
   * Parts of the checkpoint are missing, repeated or out of order.
   */
  MESHALLOC_ERROR_CHECKPOINT_INCOMPLETE = -210,
  /**
   * The checkpoint has more jobs or blocks than there is room for.
   */
  MESHALLOC_ERROR_CHECKPOINT_NO_ROOM = -211,
  /**
   * The checkpoint contradicts itself.
   */
  MESHALLOC_ERROR_CHECKPOINT_INCONSISTENT = -212,
  /**
   * This build of the library has no descriptions of machines.
   */
  MESHALLOC_ERROR_MACHINES_NOT_BUILT = -213,
  /**
   * The checksum of the checkpoint is wrong: its bytes have changed since it was saved.
   */
  MESHALLOC_ERROR_CHECKPOINT_DAMAGED = -214,
  /**
   * A pointer is NULL.
   */
  MESHALLOC_ERROR_NULL_POINTER = -300,
  /**
   * A pointer is not aligned.
   */
  MESHALLOC_ERROR_MISALIGNED = -301,
  /**
   * The pointer is not that of an initialised object of this type.
   */
  MESHALLOC_ERROR_NOT_INITIALIZED = -302,
  /**
   * Another allocator made this allocation.
   */
  MESHALLOC_ERROR_FOREIGN_ALLOCATION = -303,
  /**
   * This allocation was released before, or was never made.
   */
  MESHALLOC_ERROR_STALE_ALLOCATION = -304,
  /**
   * A callback has called a function with the object that called it.
   */
  MESHALLOC_ERROR_REENTERED = -305,
  /**
   * A callback has returned a number other than 0, or more bytes than there are.
   */
  MESHALLOC_ERROR_CALLBACK_FAILED = -306,
  /**
   * A number in a structure is out of its range: more than 16 dimensions, or an unknown flag.
   */
  MESHALLOC_ERROR_BAD_ARGUMENT = -307,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum meshalloc_error meshalloc_error;
#else
typedef int32_t meshalloc_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Gives processors of one machine away and takes them back. It lives in memory that the caller
 * provides. One thread or interrupt may use it at a time.
 */
typedef struct meshalloc_allocator meshalloc_allocator;

/**
 * Serves the processors of one machine to jobs: an allocator with a table of jobs, a queue and a
 * scheduler. It lives in memory that the caller provides. One thread or interrupt may use it at a
 * time.
 */
typedef struct meshalloc_controller meshalloc_controller;

/**
 * A machine: a grid of processors. MESHALLOC_MESH, MESHALLOC_MESH_3D and MESHALLOC_TORUS_3D are
 * initialisers; MESHALLOC_MACHINE_TPU_V4 and so on are those of machines whose slices follow
 * rules.
 *
 * The processor at (x, y, z) has the number `x + sides[0] * (y + sides[1] * z)`.
 */
typedef struct meshalloc_machine {
  /**
   * The number of processors along each dimension. Those beyond the dimensions do not matter.
   */
  uint16_t sides[MESHALLOC_DIMENSIONS_MAX];
  /**
   * The number of dimensions, 1 to 16.
   */
  uint16_t dimensions;
  /**
   * Bit d: dimension d wraps, as in a torus.
   */
  uint16_t wraps;
  /**
   * 0, or the number of a description: only the slices are given that it allows.
   */
  uint16_t description;
} meshalloc_machine;

/**
 * A strategy: where jobs are placed. MESHALLOC_STRATEGY_FIRST_FIT and so on are initialisers.
 */
typedef struct meshalloc_strategy {
  /**
   * Its number.
   */
  uint32_t kind;
  /**
   * Its parameters.
   */
  uint64_t parameters[MESHALLOC_PARAMETERS_MAX];
} meshalloc_strategy;

/**
 * A request for processors. MESHALLOC_REQUEST and MESHALLOC_REQUEST_3D are initialisers.
 */
typedef struct meshalloc_request {
  /**
   * How many processors it asks for along each dimension. Those beyond the dimensions do not
   * matter.
   */
  uint16_t extents[MESHALLOC_DIMENSIONS_MAX];
  /**
   * The number of extents, 1 to that of the machine's dimensions.
   */
  uint8_t dimensions;
  /**
   * MESHALLOC_NO_WAIT, MESHALLOC_FIXED_ORIENTATION, other flags, their sum, or 0.
   */
  uint8_t flags;
  /**
   * How many slices of these extents it asks for, all or none: a gang. 0 and 1 are one slice. A
   * build without the feature `gangs` serves no more: MESHALLOC_ERROR_BAD_ARGUMENT.
   */
  uint16_t slices;
  /**
   * The number of processors of a slice, if it is less than the product of the extents; else 0.
   */
  uint32_t processors;
  /**
   * The estimated time for which the job will hold its processors, in ticks; 0 for none.
   */
  uint64_t estimate;
  /**
   * The priority: a head start in the queue, in ticks. The job waits as if it had been submitted
   * that much earlier. An allocator has no queue. A build without the feature `priorities`
   * serves only 0: MESHALLOC_ERROR_BAD_ARGUMENT.
   */
  uint64_t priority;
  /**
   * 1 if the job may be interrupted for one of a higher priority, else 0. The same build serves
   * only 0.
   */
  uint8_t preemptible;
  /**
   * How many faulty processors each slice may have, if it has no other place. It holds them. A
   * build without the feature `tolerance` serves only 0: MESHALLOC_ERROR_BAD_ARGUMENT.
   */
  uint8_t tolerated;
} meshalloc_request;

/**
 * Processors that an allocator has given away. Keep it, and pass it to
 * meshalloc_allocator_release. An allocator recognises allocations that were released or that
 * another one made.
 */
typedef struct meshalloc_allocation {
  /**
   * Differs between allocators. Never 0 in an allocation.
   */
  uint32_t epoch;
  /**
   * Differs between allocations of one cell.
   */
  uint32_t generation;
  /**
   * Its cell in the allocator's table.
   */
  uint32_t cell;
} meshalloc_allocation;

/**
 * A box of processors: from `start`, `extent` along each dimension. It goes around where the
 * machine wraps.
 */
typedef struct meshalloc_block {
  /**
   * The coordinates of its first processor; 0 beyond the machine's dimensions.
   */
  uint16_t start[MESHALLOC_DIMENSIONS_MAX];
  /**
   * The number of processors along each dimension; 0 beyond the machine's dimensions.
   */
  uint16_t extent[MESHALLOC_DIMENSIONS_MAX];
} meshalloc_block;

/**
 * What could be placed now. `neighbor` names the rectangle with which its search begins.
 */
typedef struct meshalloc_largest {
  /**
   * The shape of the largest request that would be granted: as many extents as `dimensions`.
   */
  uint16_t extents[MESHALLOC_DIMENSIONS_MAX];
  /**
   * The number of extents; 0 if nothing could be placed, or the strategy gives processors
   * without a shape.
   */
  uint32_t dimensions;
  /**
   * The number of its processors; 0 if nothing could be placed. On a machine of more than four
   * dimensions also 0, unless the strategy gives processors without a shape.
   */
  uint32_t processors;
  /**
   * The largest box of free processors; all 0 if none is free, or the machine has more than four
   * dimensions.
   */
  struct meshalloc_block block;
} meshalloc_largest;

/**
 * Stores the next part of a checkpoint: 1 to MESHALLOC_PART_MAX bytes. Returns 0, or any other
 * number to give up.
 */
typedef int32_t (*meshalloc_write)(void *context, const uint8_t *bytes, size_t length);

/**
 * Reads the next part of a checkpoint, as it was stored, into `bytes`, which has room for
 * MESHALLOC_PART_MAX bytes, and writes its length to `length`; 0 after the last part. Returns 0,
 * or any other number to give up.
 */
typedef int32_t (*meshalloc_read)(void *context, uint8_t *bytes, size_t *length);

/**
 * A scheduler: which waiting job may try. MESHALLOC_SCHEDULER_FCFS and so on are initialisers.
 */
typedef struct meshalloc_scheduler {
  /**
   * Its number.
   */
  uint32_t kind;
  /**
   * Its parameters.
   */
  uint64_t parameters[MESHALLOC_PARAMETERS_MAX];
} meshalloc_scheduler;

/**
 * What a controller serves, and how.
 */
typedef struct meshalloc_configuration {
  /**
   * The machine.
   */
  struct meshalloc_machine machine;
  /**
   * Where jobs are placed.
   */
  struct meshalloc_strategy strategy;
  /**
   * Which waiting job may try.
   */
  struct meshalloc_scheduler scheduler;
} meshalloc_configuration;

/**
 * What the processors of a block were when their state was set.
 */
typedef struct meshalloc_faults {
  /**
   * The processors that were in the other state before.
   */
  uint32_t changed;
  /**
   * The jobs that held processors of the block, and keep running.
   */
  uint32_t jobs;
  /**
   * The one of these jobs that was granted first, if there are such jobs.
   */
  uint32_t first;
} meshalloc_faults;

/**
 * What has happened to a job.
 */
typedef struct meshalloc_event {
  /**
   * The number of the event, from 1 on.
   */
  uint64_t number;
  /**
   * When it happened, in ticks.
   */
  uint64_t at;
  /**
   * The job.
   */
  uint32_t job;
  /**
   * MESHALLOC_EVENT_GRANTED, MESHALLOC_EVENT_LEASE_ENDED or MESHALLOC_EVENT_PREEMPTED.
   */
  uint32_t kind;
  /**
   * The processors that the job holds from then on, or held until then.
   */
  uint32_t processors;
  /**
   * Granted: the number of attempts to place the job.
   */
  uint32_t attempts;
  /**
   * Granted: how many attempts failed although enough processors were free.
   */
  uint32_t misses;
  /**
   * Granted: the number of blocks that it holds.
   */
  uint32_t blocks;
  /**
   * Granted: the first of them.
   */
  struct meshalloc_block block;
  /**
   * Preempted: the other job.
   */
  uint32_t by;
} meshalloc_event;

/**
 * About one job.
 */
typedef struct meshalloc_job {
  /**
   * What it asked for; the number of processors is never 0.
   */
  struct meshalloc_request request;
  /**
   * When it was submitted, in ticks.
   */
  uint64_t submitted;
  /**
   * The processors that it holds; 0 while it waits.
   */
  uint32_t processors;
  /**
   * The blocks that it holds; 0 while it waits.
   */
  uint32_t blocks;
  /**
   * The jobs before it in the queue; 0 if it runs.
   */
  uint32_t ahead;
} meshalloc_job;

/**
 * Some of the jobs, in no particular order.
 */
typedef struct meshalloc_job_list {
  /**
   * Their names.
   */
  uint32_t jobs[MESHALLOC_JOB_LIST_MAX];
  /**
   * The processors that each holds; 0 while it waits.
   */
  uint32_t processors[MESHALLOC_JOB_LIST_MAX];
  /**
   * The number of jobs in the list.
   */
  uint32_t count;
  /**
   * Where the next list begins; 0 if this one is the last.
   */
  uint32_t next;
} meshalloc_job_list;

/**
 * What the reason is about for which a job waits.
 */
typedef struct meshalloc_why {
  /**
   * Jobs before it in the queue.
   */
  uint32_t ahead;
  /**
   * The free processors that it needs, at least; if it runs, those that it holds.
   */
  uint32_t needs;
  /**
   * Processors neither held nor faulty.
   */
  uint32_t free;
  /**
   * Faulty processors.
   */
  uint32_t faulty;
} meshalloc_why;

/**
 * The machine and its jobs in numbers.
 */
typedef struct meshalloc_statistics {
  /**
   * Jobs taken: granted at once, or left to wait.
   */
  uint64_t submitted;
  /**
   * Jobs granted.
   */
  uint64_t granted;
  /**
   * Jobs released, waiting ones included.
   */
  uint64_t released;
  /**
   * Submissions refused.
   */
  uint64_t refused;
  /**
   * Attempts to place a job.
   */
  uint64_t attempts;
  /**
   * Attempts with at least as many free processors as requested.
   */
  uint64_t valid_attempts;
  /**
   * Valid attempts that failed.
   */
  uint64_t misses;
  /**
   * Leases that have ended. Only the latest 16 are events.
   */
  uint64_t lease_ends;
  /**
   * Processors of the machine.
   */
  uint32_t processors;
  /**
   * Processors neither held nor faulty.
   */
  uint32_t free;
  /**
   * Faulty processors.
   */
  uint32_t faulty;
  /**
   * Jobs that wait.
   */
  uint32_t waiting;
  /**
   * Jobs that run.
   */
  uint32_t running;
} meshalloc_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Writes to `size` how many bytes of memory an allocator takes that holds up to `allocations`
 * allocations at a time. For static memory MESHALLOC_MESH_ALLOCATOR_SIZE and
 * MESHALLOC_GRID_ALLOCATOR_SIZE are constants. Returns 0 or an error.
 */
int32_t meshalloc_allocator_size(const struct meshalloc_machine *machine,
                                 const struct meshalloc_strategy *strategy,
                                 uint32_t allocations,
                                 size_t *size);

/**
 * Makes an allocator of a machine whose processors are all free, in `size` bytes of `memory`, and
 * writes a pointer to it to `allocator`. It holds up to `allocations` allocations at a time.
 * Returns 0 or an error.
 *
 * The memory is aligned to MESHALLOC_ALIGNMENT bytes. The allocator owns it until
 * meshalloc_allocator_deinit. Its first contents do not matter: an object that was left there is
 * gone.
 */
int32_t meshalloc_allocator_init(void *memory,
                                 size_t size,
                                 const struct meshalloc_machine *machine,
                                 const struct meshalloc_strategy *strategy,
                                 uint32_t allocations,
                                 struct meshalloc_allocator **allocator);

/**
 * Forgets the allocator. Its memory is the caller's again. Returns 0 or an error.
 */
int32_t meshalloc_allocator_deinit(struct meshalloc_allocator *allocator);

/**
 * Finds processors for a request, takes them and writes to `allocation` what names them. Returns
 * the number of processors, at least that of the request, or an error.
 */
int32_t meshalloc_allocator_allocate(struct meshalloc_allocator *allocator,
                                     const struct meshalloc_request *request,
                                     struct meshalloc_allocation *allocation);

/**
 * Takes the processors of `count` blocks, wherever the strategy would place a request: those of a
 * job that ran before a restart, or that someone else has placed. Writes to `allocation` what
 * names them. Returns their number, or an error: MESHALLOC_ERROR_NOT_FREE if a processor is held,
 * faulty or in two of the blocks, MESHALLOC_ERROR_NOT_OF_STRATEGY if the strategy never gives such
 * blocks or so many to one request. A contiguous strategy gives one.
 */
int32_t meshalloc_allocator_allocate_at(struct meshalloc_allocator *allocator,
                                        const struct meshalloc_block *blocks,
                                        uint32_t count,
                                        struct meshalloc_allocation *allocation);

/**
 * Whether processors would be found for a request now: 1, 0 or an error. Nothing changes.
 */
int32_t meshalloc_allocator_fits(struct meshalloc_allocator *allocator,
                                 const struct meshalloc_request *request);

/**
 * Writes to `largest` what could be placed now. Returns its number of processors, or an error:
 * MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `machine`. It may take as long
 * as an attempt for each size that is larger.
 */
int32_t meshalloc_allocator_largest(struct meshalloc_allocator *allocator,
                                    struct meshalloc_largest *largest);

/**
 * Takes processors back. Returns how many, or an error: an allocation that was released before, or
 * that another allocator made, changes nothing. It never needs room.
 */
int32_t meshalloc_allocator_release(struct meshalloc_allocator *allocator,
                                    struct meshalloc_allocation allocation);

/**
 * Returns the number of processors of an allocation, or an error.
 */
int32_t meshalloc_allocator_processors(const struct meshalloc_allocator *allocator,
                                       struct meshalloc_allocation allocation);

/**
 * Writes the blocks of an allocation to `blocks`: from the one of index `from` on, at most `room`.
 * Returns the number of all its blocks, or an error. An allocation of a contiguous strategy has
 * one block; of a gang one for each slice. `blocks` may be NULL if `room` is 0.
 */
int32_t meshalloc_allocator_blocks(const struct meshalloc_allocator *allocator,
                                   struct meshalloc_allocation allocation,
                                   uint32_t from,
                                   struct meshalloc_block *blocks,
                                   uint32_t room);

/**
 * Marks the processors of a block as faulty: they are not given away until they are marked as
 * working. Those that are held stay held. Returns how many were not faulty before, or an error.
 */
int32_t meshalloc_allocator_mark_faulty(struct meshalloc_allocator *allocator,
                                        const struct meshalloc_block *block);

/**
 * Marks the processors of a block as working. Returns how many were faulty before, or an error.
 */
int32_t meshalloc_allocator_clear_faulty(struct meshalloc_allocator *allocator,
                                         const struct meshalloc_block *block);

/**
 * Returns the number of processors that are neither held nor faulty, or an error.
 */
int32_t meshalloc_allocator_free_processors(const struct meshalloc_allocator *allocator);

/**
 * Returns the number of faulty processors, or an error.
 */
int32_t meshalloc_allocator_faulty_processors(const struct meshalloc_allocator *allocator);

/**
 * Returns the state of a processor, MESHALLOC_PROCESSOR_BUSY and MESHALLOC_PROCESSOR_FAULTY, or an
 * error.
 */
int32_t meshalloc_allocator_processor(const struct meshalloc_allocator *allocator,
                                      uint32_t processor);

/**
 * Passes all that later decisions and answers depend on to `write`, in parts, with `context` each
 * time. Returns 0 or an error; MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work.
 */
int32_t meshalloc_controller_save(struct meshalloc_controller *controller,
                                  meshalloc_write write,
                                  void *context);

/**
 * Restores the state that meshalloc_controller_save has passed on: asks `read` for the parts in
 * order. The controller has the configuration of the checkpoint afterwards, if its memory
 * suffices. Returns 0 or an error. After an error the controller has no jobs and no faults.
 */
int32_t meshalloc_controller_restore(struct meshalloc_controller *controller,
                                     meshalloc_read read,
                                     void *context);

/**
 * Passes all that later decisions depend on to `write`, in parts, with `context` each time.
 * Returns 0 or an error.
 */
int32_t meshalloc_allocator_save(struct meshalloc_allocator *allocator,
                                 meshalloc_write write,
                                 void *context);

/**
 * Restores the state that meshalloc_allocator_save has passed on: asks `read` for the parts in
 * order. The allocator has the machine and the strategy of the checkpoint afterwards, if its
 * memory suffices. Allocations made so far are foreign from then on; meshalloc_allocator_renew
 * renews those that were saved. Returns 0 or an error. After an error all processors are free.
 */
int32_t meshalloc_allocator_restore(struct meshalloc_allocator *allocator,
                                    meshalloc_read read,
                                    void *context);

/**
 * Writes to `allocation` what names the processors in a restored allocator that `was` named before
 * it was saved. Returns 0 or an error.
 */
int32_t meshalloc_allocator_renew(const struct meshalloc_allocator *allocator,
                                  struct meshalloc_allocation was,
                                  struct meshalloc_allocation *allocation);

/**
 * Writes to `size` how many bytes of memory a controller takes for up to `jobs` jobs that wait or
 * run. For static memory MESHALLOC_MESH_CONTROLLER_SIZE and MESHALLOC_GRID_CONTROLLER_SIZE are
 * constants. Returns 0 or an error.
 */
int32_t meshalloc_controller_size(const struct meshalloc_configuration *configuration,
                                  uint32_t jobs,
                                  size_t *size);

/**
 * Makes a controller without jobs and faults, in `size` bytes of `memory`, and writes a pointer to
 * it to `controller`. It has room for `jobs` jobs that wait or run. Returns 0 or an error.
 *
 * The memory is aligned to MESHALLOC_ALIGNMENT bytes. The controller owns it until
 * meshalloc_controller_deinit. Its first contents do not matter: an object that was left there is
 * gone.
 */
int32_t meshalloc_controller_init(void *memory,
                                  size_t size,
                                  const struct meshalloc_configuration *configuration,
                                  uint32_t jobs,
                                  struct meshalloc_controller **controller);

/**
 * Forgets the controller. Its memory is the caller's again. Returns 0 or an error.
 */
int32_t meshalloc_controller_deinit(struct meshalloc_controller *controller);

/**
 * Submits a job under a name that is unused at the moment. It joins the queue; calls of
 * meshalloc_controller_advance let it try, and an event reports the grant. A job with
 * MESHALLOC_NO_WAIT is granted or refused by this call. Returns 0 or an error.
 *
 * `lease` is the time in ticks after which the job is to be released unless its lease is renewed,
 * 0 for no lease. `now` is the time in ticks of any length; it does not go back, and a time before
 * the latest one counts as the latest.
 */
int32_t meshalloc_controller_submit(struct meshalloc_controller *controller,
                                    uint32_t job,
                                    const struct meshalloc_request *request,
                                    uint64_t lease,
                                    uint64_t now);

/**
 * Releases a job, or takes a waiting one out of the queue. Returns the processors that it held, 0
 * if it waited, or an error. Calls of meshalloc_controller_advance let others try.
 */
int32_t meshalloc_controller_release(struct meshalloc_controller *controller,
                                     uint32_t job,
                                     uint64_t now);

/**
 * Gives a job a lease of `ticks` from now on instead of the one it had; 0 for none. Returns 0 or
 * an error.
 */
int32_t meshalloc_controller_lease(struct meshalloc_controller *controller,
                                   uint32_t job,
                                   uint64_t ticks,
                                   uint64_t now);

/**
 * Ends the lease that has ended first by now, if there is one: its job is released, and an event
 * reports that. Returns 1 if there was one, 0 if not, or an error. Call it until it returns 0,
 * with meshalloc_controller_advance between the calls.
 */
int32_t meshalloc_controller_end_lease(struct meshalloc_controller *controller, uint64_t now);

/**
 * Marks the processors of a block as faulty, and writes to `faults` what they were, unless it is
 * NULL. Jobs that hold some keep running. Returns how many were not faulty before, or an error.
 */
int32_t meshalloc_controller_mark_faulty(struct meshalloc_controller *controller,
                                         const struct meshalloc_block *block,
                                         uint64_t now,
                                         struct meshalloc_faults *faults);

/**
 * Marks the processors of a block as working, and writes to `faults` what they were, unless it is
 * NULL. Calls of meshalloc_controller_advance let jobs try. Returns how many were faulty before,
 * or an error.
 */
int32_t meshalloc_controller_clear_faulty(struct meshalloc_controller *controller,
                                          const struct meshalloc_block *block,
                                          uint64_t now,
                                          struct meshalloc_faults *faults);

/**
 * Gives a running job that holds faulty processors other ones; an event reports them. If there is
 * no place, nothing changes. Calls of meshalloc_controller_advance let jobs try. Returns 0 or an
 * error: MESHALLOC_ERROR_NOTHING_TO_REPLACE if it holds none that is faulty,
 * MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `replace`.
 */
int32_t meshalloc_controller_replace(struct meshalloc_controller *controller,
                                     uint32_t job,
                                     uint64_t now);

/**
 * Grants a waiting job processors as if these running jobs, at most MESHALLOC_VICTIMS_MAX, held
 * none; `victims` may be NULL if there are none. They wait again, and events report them and the
 * grant. If there is no place, nothing changes. Calls of meshalloc_controller_advance let jobs
 * try. Returns 0 or an error: MESHALLOC_ERROR_NOT_WAITING if the job runs,
 * MESHALLOC_ERROR_NO_VICTIM if one of the others may not be preempted for it,
 * MESHALLOC_ERROR_BAD_ARGUMENT if there are too many, MESHALLOC_ERROR_MACHINES_NOT_BUILT in a
 * build without the feature `preemption`.
 */
int32_t meshalloc_controller_preempt(struct meshalloc_controller *controller,
                                     uint32_t job,
                                     const uint32_t *victims,
                                     size_t count,
                                     uint64_t now);

/**
 * Forgets all jobs, faults and statistics; the time begins anew. Returns 0 or an error.
 */
int32_t meshalloc_controller_reset(struct meshalloc_controller *controller, uint64_t now);

/**
 * Makes one attempt to place a job, if an earlier call has left some. Returns 1 if more are left,
 * 0 if not, or an error. No other change is possible until it returns 0.
 */
int32_t meshalloc_controller_advance(struct meshalloc_controller *controller);

/**
 * Writes to `event` the first event after the one of the number `after`, 0 for the first of all.
 * Returns 1 if there is one, 0 if not, or an error. A caller that passes the number of the latest
 * event it has read reads each event once. Grants of jobs that were released meanwhile are left
 * out.
 */
int32_t meshalloc_controller_event(const struct meshalloc_controller *controller,
                                   uint64_t after,
                                   struct meshalloc_event *event);

/**
 * Writes to `report` what is known about a job. Returns 1 if it runs, 0 if it waits, or an error.
 */
int32_t meshalloc_controller_job(const struct meshalloc_controller *controller,
                                 uint32_t job,
                                 struct meshalloc_job *report);

/**
 * Writes the blocks of a slice of a job to `blocks`: from the one of index `from` on, at most
 * `room`. The slices of a gang are numbered from 0; a job that is none is its slice 0. Returns the
 * number of all blocks of the slice, 0 while the job waits or if it has fewer slices, or an error.
 * `blocks` may be NULL if `room` is 0.
 *
 * Strategies whose jobs get any free processors give slices no shape: only
 * meshalloc_controller_blocks has the blocks of such a gang.
 */
int32_t meshalloc_controller_slice(const struct meshalloc_controller *controller,
                                   uint32_t job,
                                   uint32_t slice,
                                   uint32_t from,
                                   struct meshalloc_block *blocks,
                                   uint32_t room);

/**
 * Writes the blocks of a job to `blocks`: from the one of index `from` on, at most `room`. Returns
 * the number of all its blocks, 0 while it waits, or an error. `blocks` may be NULL if `room` is
 * 0.
 */
int32_t meshalloc_controller_blocks(const struct meshalloc_controller *controller,
                                    uint32_t job,
                                    uint32_t from,
                                    struct meshalloc_block *blocks,
                                    uint32_t room);

/**
 * Writes some of the jobs to `list`: all, or those that hold processors of the block `on`, if that
 * is not NULL. `from` is 0 at first, then the `next` of the last list. Returns the number of jobs
 * in the list, or an error.
 */
int32_t meshalloc_controller_jobs(const struct meshalloc_controller *controller,
                                  const struct meshalloc_block *on,
                                  uint32_t from,
                                  struct meshalloc_job_list *list);

/**
 * Writes to `largest` what could be placed now. Returns its number of processors, or an error:
 * MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature `machine`,
 * MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work. It may take as long as an
 * attempt for each size that is larger.
 */
int32_t meshalloc_controller_largest(struct meshalloc_controller *controller,
                                     struct meshalloc_largest *largest);

/**
 * Why a job waits: a MESHALLOC_REASON_.., of which `why` has the numbers, or an error:
 * MESHALLOC_ERROR_UNKNOWN_JOB, MESHALLOC_ERROR_MACHINES_NOT_BUILT in a build without the feature
 * `reasons`, MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work. Nothing changes. It
 * may take as long as three attempts.
 */
int32_t meshalloc_controller_why(struct meshalloc_controller *controller,
                                 uint32_t job,
                                 struct meshalloc_why *why);

/**
 * Writes the statistics to `statistics`. Returns 0 or an error.
 */
int32_t meshalloc_controller_statistics(const struct meshalloc_controller *controller,
                                        struct meshalloc_statistics *statistics);

/**
 * Returns the state of a processor, MESHALLOC_PROCESSOR_BUSY and MESHALLOC_PROCESSOR_FAULTY, or an
 * error.
 */
int32_t meshalloc_controller_processor(const struct meshalloc_controller *controller,
                                       uint32_t processor);

/**
 * The text of an error number; "success" for 0 and positive numbers, "no such error" for another
 * number. It lies in constant memory.
 */
const char *meshalloc_error_text(int32_t error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus


/** Initialiser of a meshalloc_machine: a mesh of `w` by `h` processors. */
#define MESHALLOC_MESH(w, h) { { (w), (h) }, 2, 0, 0 }
/** Initialiser of a meshalloc_machine: a mesh of three dimensions. */
#define MESHALLOC_MESH_3D(x, y, z) { { (x), (y), (z) }, 3, 0, 0 }
/** Initialiser of a meshalloc_machine: a torus of `w` by `h` processors. */
#define MESHALLOC_TORUS(w, h) { { (w), (h) }, 2, 3, 0 }
/** Initialiser of a meshalloc_machine: a torus of three dimensions. */
#define MESHALLOC_TORUS_3D(x, y, z) { { (x), (y), (z) }, 3, 7, 0 }
/** Initialiser of a meshalloc_request: `w` by `h` processors. */
#define MESHALLOC_REQUEST(w, h) { { (w), (h) }, 2, 0, 0, 0, 0, 0, 0, 0 }
/** Initialiser of a meshalloc_request: `x` by `y` by `z` processors. */
#define MESHALLOC_REQUEST_3D(x, y, z) { { (x), (y), (z) }, 3, 0, 0, 0, 0, 0, 0, 0 }
/** Initialiser of a meshalloc_request: `n` processors in any shape that the machine has. */
#define MESHALLOC_REQUEST_CHIPS(n) { { 1 }, 1, MESHALLOC_CHIPS, 0, (n), 0, 0, 0, 0 }

/** Whether the same call may succeed later. */
#define MESHALLOC_IS_TEMPORARY(error) ((error) < 0 && (error) > -100)
/** Whether the same call fails again. */
#define MESHALLOC_IS_PERMANENT(error) ((error) <= -100 && (error) > -200)
/** Whether machine, strategy, scheduler, build or memory does not serve. */
#define MESHALLOC_IS_CONFIGURATION(error) ((error) <= -200 && (error) > -300)
/** Whether the caller has broken a rule of this interface. */
#define MESHALLOC_IS_MISUSE(error) ((error) <= -300)

/* Initialisers of a meshalloc_machine whose slices follow rules. The memory comes
   from meshalloc_allocator_size() or meshalloc_controller_size(). */

/** tpu-v3: torus 32x32 */
#define MESHALLOC_MACHINE_TPU_V3 { { 32, 32 }, 2, 3, 1 }
/** tpu-v4: torus 16x16x16 */
#define MESHALLOC_MACHINE_TPU_V4 { { 16, 16, 16 }, 3, 7, 2 }
/** tpu-v5e: torus 16x16 */
#define MESHALLOC_MACHINE_TPU_V5E { { 16, 16 }, 2, 3, 3 }
/** tpu-v6e: torus 16x16 */
#define MESHALLOC_MACHINE_TPU_V6E { { 16, 16 }, 2, 3, 4 }
/** tpu-v5p: torus 16x20x28 */
#define MESHALLOC_MACHINE_TPU_V5P { { 16, 20, 28 }, 3, 7, 5 }
/** tpu-v7x: torus 16x24x24 */
#define MESHALLOC_MACHINE_TPU_V7X { { 16, 24, 24 }, 3, 7, 6 }
/** trn2-ultra: torus 4x4x4 */
#define MESHALLOC_MACHINE_TRN2_ULTRA { { 4, 4, 4 }, 3, 7, 7 }
/** galaxy: mesh 8x4 */
#define MESHALLOC_MACHINE_GALAXY { { 8, 4 }, 2, 0, 8 }

/* Initialisers of a meshalloc_strategy. */

/** Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J.
 * Parallel and Distributed Computing 16 */
#define MESHALLOC_STRATEGY_FIRST_FIT { 0u, { 0u, 0u } }
/** Ding and Bhuyan 1993, An Adaptive Submesh Allocation Strategy for Two-Dimensional Mesh
 * Connected Systems, Int. Conf. on Parallel Processing II */
#define MESHALLOC_STRATEGY_ADAPTIVE_SCAN { 1u, { 0u, 0u } }
/** Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers */
#define MESHALLOC_STRATEGY_FREE_SUBMESH_LIST { 2u, { 0u, 0u } }
/** Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for
 * Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7) */
#define MESHALLOC_STRATEGY_NAIVE { 3u, { 0u, 0u } }
/** Li and Cheng 1991, A Two-Dimensional Buddy System for Dynamic Resource Allocation in a
 * Partitionable Mesh Connected System, J. Parallel and Distributed Computing 12 */
#define MESHALLOC_STRATEGY_BUDDY { 4u, { 0u, 0u } }
/** Chuang and Tzeng 1991, An Efficient Submesh Allocation Strategy for Mesh Computer Systems,
 * Int. Conf. on Distributed Computing Systems */
#define MESHALLOC_STRATEGY_FRAME_SLIDING { 5u, { 0u, 0u } }
/** Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J.
 * Parallel and Distributed Computing 16 */
#define MESHALLOC_STRATEGY_BEST_FIT { 6u, { 0u, 0u } }
/** Sharma and Pradhan 1993, A Fast and Efficient Strategy for Submesh Allocation in
 * Mesh-Connected Parallel Computers, IEEE Symp. on Parallel and Distributed Processing */
#define MESHALLOC_STRATEGY_BUSY_LIST { 7u, { 0u, 0u } }
/** Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected
 * Multicomputer Systems */
#define MESHALLOC_STRATEGY_FIXED_ORIENTATION { 8u, { 0u, 0u } }
/** Gupta and Jayendran 1996, A Flexible Processor Allocation Strategy for Mesh Connected
 * Parallel Systems, Int. Conf. on Parallel Processing */
#define MESHALLOC_STRATEGY_FLEX_FOLD { 9u, { 0u, 0u } }
/** Ababneh, Bani-Mohammad and Ould-Khaoua 2010, All Shapes Contiguous Submesh Allocation for 2D
 * Mesh Multicomputers, Int. J. of Parallel, Emergent and Distributed Systems 25(5) */
#define MESHALLOC_STRATEGY_ALL_SHAPES { 10u, { 0u, 0u } }
/** Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors */
#define MESHALLOC_STRATEGY_TREE_COLLAPSING { 11u, { 0u, 0u } }
/** Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors */
#define MESHALLOC_STRATEGY_TREE_COLLAPSING_PRINTED { 12u, { 0u, 0u } }
/** Chen and King 1993, An Efficient Dynamic Processor Allocation Scheme for K-ary n-cube
 * Multicomputers, Int. Conf. on Parallel and Distributed Systems */
#define MESHALLOC_STRATEGY_FREE_LIST { 13u, { 0u, 0u } }
/** Gautam and Chaudhary 1993, Subcube Allocation Strategies in a K-ary N-cube, ISCA Int. Conf.
 * on Parallel and Distributed Computing Systems */
#define MESHALLOC_STRATEGY_SNIFFING { 14u, { 0u, 0u } }
/** Windisch, Lo and Bose 1995, Contiguous and Non-Contiguous Processor Allocation Algorithms for
 * K-ary n-cubes, Int. Conf. on Parallel Processing II */
#define MESHALLOC_STRATEGY_PARTNER { 15u, { 0u, 0u } }
/** Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for
 * Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7) */
#define MESHALLOC_STRATEGY_RANDOM { 16u, { 0u, 0u } }
/** random:seed=SEED, 1 to 18446744073709551615. */
#define MESHALLOC_STRATEGY_RANDOM_SEED(value) { 16u, { (value), 0u } }
/** Seo and Kim 2003, Improving System Performance in Contiguous Processor Allocation for
 * Mesh-Connected Parallel Systems, J. of Systems and Software 67(1) */
#define MESHALLOC_STRATEGY_L_SHAPE { 17u, { 0u, 0u } }
/** Alshdefat 2019, An Efficient Processor Allocation Algorithm for 2D Mesh Connected
 * Multicomputers, Master's thesis, Al al-Bayt University */
#define MESHALLOC_STRATEGY_NEIGHBOR { 18u, { 0u, 0u } }
/** Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for
 * Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7) */
#define MESHALLOC_STRATEGY_MULTIPLE_BUDDY { 19u, { 0u, 0u } }
/** Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for
 * Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7) */
#define MESHALLOC_STRATEGY_PAGING { 20u, { 0u, 0u } }
/** paging:snake */
#define MESHALLOC_STRATEGY_PAGING_SNAKE { 20u, { 1u, 0u } }
/** paging:snake=EXPONENT, 0 to 20. */
#define MESHALLOC_STRATEGY_PAGING_SNAKE_EXPONENT(value) { 20u, { 1u, (value) } }
/** paging:row-major=EXPONENT, 0 to 20. */
#define MESHALLOC_STRATEGY_PAGING_ROW_MAJOR(value) { 20u, { 0u, (value) } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_BINARY_TREE { 21u, { 0u, 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_STATIC_BINARY_TREE { 22u, { 256u, 0u } }
/** static-binary-tree:TOLERANCE, 0 to 1048576. */
#define MESHALLOC_STRATEGY_STATIC_BINARY_TREE_TOLERANCE(value) { 22u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_DYNAMIC_BINARY_TREE { 23u, { 500000u, 0u } }
/** dynamic-binary-tree:RATIO, 0 to 1000000. `value` counts parts of 1/1000000. */
#define MESHALLOC_STRATEGY_DYNAMIC_BINARY_TREE_RATIO(value) { 23u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_INDEPENDENT_BINARY_TREE { 24u, { 0u, 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_INDEPENDENT_STATIC_BINARY_TREE { 25u, { 256u, 0u } }
/** independent-static-binary-tree:TOLERANCE, 0 to 1048576. */
#define MESHALLOC_STRATEGY_INDEPENDENT_STATIC_BINARY_TREE_TOLERANCE(value) { 25u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_INDEPENDENT_DYNAMIC_BINARY_TREE { 26u, { 500000u, 0u } }
/** independent-dynamic-binary-tree:RATIO, 0 to 1000000. `value` counts parts of 1/1000000. */
#define MESHALLOC_STRATEGY_INDEPENDENT_DYNAMIC_BINARY_TREE_RATIO(value) { 26u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_DEPENDENT_BINARY_TREE { 27u, { 0u, 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_DEPENDENT_STATIC_BINARY_TREE { 28u, { 256u, 0u } }
/** dependent-static-binary-tree:TOLERANCE, 0 to 1048576. */
#define MESHALLOC_STRATEGY_DEPENDENT_STATIC_BINARY_TREE_TOLERANCE(value) { 28u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_DEPENDENT_DYNAMIC_BINARY_TREE { 29u, { 500000u, 0u } }
/** dependent-dynamic-binary-tree:RATIO, 0 to 1000000. `value` counts parts of 1/1000000. */
#define MESHALLOC_STRATEGY_DEPENDENT_DYNAMIC_BINARY_TREE_RATIO(value) { 29u, { (value), 0u } }
/** Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers */
#define MESHALLOC_STRATEGY_COMPACT_BINARY_TREE { 30u, { 0u, 0u } }
/** Mache, Lo, Livingston and Garg 1999, The Impact of Spatial Layout of Jobs on Parallel I/O
 * Performance, Workshop on I/O in Parallel and Distributed Systems */
#define MESHALLOC_STRATEGY_PARALLEL_LAYOUT { 31u, { 0u, 0u } }
/** Leung, Arkin, Bender, Bunde, Johnston, Lal, Mitchell, Phillips and Seiden 2002, Processor
 * Allocation on Cplant: Achieving General Processor Locality Using One-Dimensional Allocation
 * Strategies, IEEE Int. Conf. on Cluster Computing */
#define MESHALLOC_STRATEGY_CURVE { 32u, { 0u, 0u } }
/** curve:first-fit */
#define MESHALLOC_STRATEGY_CURVE_FIRST_FIT { 32u, { 0u, 0u } }
/** curve:best-fit */
#define MESHALLOC_STRATEGY_CURVE_BEST_FIT { 32u, { 1u, 0u } }
/** curve:sum-of-squares */
#define MESHALLOC_STRATEGY_CURVE_SUM_OF_SQUARES { 32u, { 2u, 0u } }
/** curve:smallest-range */
#define MESHALLOC_STRATEGY_CURVE_SMALLEST_RANGE { 32u, { 3u, 0u } }
/** curve:hilbert-first-fit */
#define MESHALLOC_STRATEGY_CURVE_HILBERT_FIRST_FIT { 32u, { 0u, 1u } }
/** curve:hilbert-best-fit */
#define MESHALLOC_STRATEGY_CURVE_HILBERT_BEST_FIT { 32u, { 1u, 1u } }
/** curve:hilbert-sum-of-squares */
#define MESHALLOC_STRATEGY_CURVE_HILBERT_SUM_OF_SQUARES { 32u, { 2u, 1u } }
/** curve:hilbert-smallest-range */
#define MESHALLOC_STRATEGY_CURVE_HILBERT_SMALLEST_RANGE { 32u, { 3u, 1u } }
/** this project */
#define MESHALLOC_STRATEGY_LEAST_EXPECTED_BLOCKING { 33u, { 64u, 0u } }
/** least-expected-blocking:BUDGET, 4 to 4096. */
#define MESHALLOC_STRATEGY_LEAST_EXPECTED_BLOCKING_BUDGET(value) { 33u, { (value), 0u } }
/** this project */
#define MESHALLOC_STRATEGY_LEB_ESTIMATES { 34u, { 64u, 0u } }
/** leb-estimates:BUDGET, 4 to 4096. */
#define MESHALLOC_STRATEGY_LEB_ESTIMATES_BUDGET(value) { 34u, { (value), 0u } }
/** Jouppi and others 2023, TPU v4: An Optically Reconfigurable Supercomputer for Machine
 * Learning with Hardware Support for Embeddings, Int. Symp. on Computer Architecture; for
 * folding Chen and others 2025, Toward Co-adapting Machine Learning Job Shape and Cluster
 * Topology */
#define MESHALLOC_STRATEGY_CUBES { 35u, { 0u, 0u } }
/** cubes:fold */
#define MESHALLOC_STRATEGY_CUBES_FOLD { 35u, { 1u, 0u } }
/** Chen and others 2025, Toward Co-adapting Machine Learning Job Shape and Cluster Topology,
 * arXiv:2510.03891 */
#define MESHALLOC_STRATEGY_FOLDING { 36u, { 0u, 0u } }
/** Slurm 26.05, plugin topology/torus3d */
#define MESHALLOC_STRATEGY_TORUS3D { 37u, { 0u, 0u } }
/** Krumke, Marathe, Noltemeier, Radhakrishnan, Ravi and Rosenkrantz 1997, Compact Location
 * Problems, Theoretical Computer Science 181(2); as in the Structural Simulation Toolkit */
#define MESHALLOC_STRATEGY_GEN_ALG { 38u, { 0u, 0u } }
/** Bender, Bunde, Demaine, Fekete, Leung, Meijer and Phillips 2008, Communication-Aware
 * Processor Allocation for Supercomputers: Finding Point Sets of Small Average Distance,
 * Algorithmica 50(2); as in the Structural Simulation Toolkit */
#define MESHALLOC_STRATEGY_MM { 39u, { 0u, 0u } }
/** Mache, Lo and Windisch 1997, Minimizing Message-Passing Contention in Fragmentation-Free
 * Processor Allocation, Int. Conf. on Parallel and Distributed Computing Systems; as in the
 * Structural Simulation Toolkit */
#define MESHALLOC_STRATEGY_MC1X1 { 40u, { 0u, 0u } }
/** Bani-Mohammad, Ould-Khaoua, Ababneh and Mackenzie 2006, Non-contiguous Processor Allocation
 * Strategy for 2D Mesh Connected Multicomputers Based on Sub-meshes Available for Allocation,
 * Int. Conf. on Parallel and Distributed Systems */
#define MESHALLOC_STRATEGY_GABL { 41u, { 0u, 0u } }
/** Bani-Ahmad 2010, Submesh Allocation in 2D-Mesh Multicomputers: Partitioning at the Longest
 * Dimension of Requests, Int. Conf. on Advanced Engineering Computing and Applications in
 * Sciences */
#define MESHALLOC_STRATEGY_PALD_FF { 42u, { 0u, 0u } }
/** Bani-Ahmad 2010, Submesh Allocation in 2D-Mesh Multicomputers: Partitioning at the Longest
 * Dimension of Requests, Int. Conf. on Advanced Engineering Computing and Applications in
 * Sciences */
#define MESHALLOC_STRATEGY_PALD_BF { 43u, { 0u, 0u } }
/** Tang, Lan, Desai, Buettner and Yu 2011, Reducing Fragmentation on Torus-Connected
 * Supercomputers, IEEE Int. Parallel and Distributed Processing Symposium; as in Cobalt */
#define MESHALLOC_STRATEGY_PARTITION { 44u, { 0u, 0u } }
/** Tang, Lan, Desai, Buettner and Yu 2011, Reducing Fragmentation on Torus-Connected
 * Supercomputers, IEEE Int. Parallel and Distributed Processing Symposium; as in Cobalt */
#define MESHALLOC_STRATEGY_WALLTIME_AWARE { 45u, { 0u, 0u } }

/* Initialisers of a meshalloc_scheduler. Times are in ticks. */

/* First come, first served: only the head of the queue may start. */
/** fcfs */
#define MESHALLOC_SCHEDULER_FCFS { 0u, { 0u, 0u } }

/* If the head of the queue does not fit, later jobs try in order until the head has waited too
 * long. The limit is: dynamic, the mean delay times the arrival rate, in seconds; count, this
 * number of bypassing jobs; static, SECONDS. */
/** modified-fcfs:dynamic; `value` is a second in ticks */
#define MESHALLOC_SCHEDULER_MODIFIED_FCFS_DYNAMIC(value) { 1u, { 1u, (value) } }
/** modified-fcfs:count */
#define MESHALLOC_SCHEDULER_MODIFIED_FCFS_COUNT { 1u, { 2u, 0u } }
/** modified-fcfs:static=SECONDS */
#define MESHALLOC_SCHEDULER_MODIFIED_FCFS_STATIC(value) { 1u, { 0u, (value) } }

/* After a departure all waiting jobs try in order. If the head has waited for SECONDS, only the
 * head tries. */
/** bypass-queue:SECONDS */
#define MESHALLOC_SCHEDULER_BYPASS_QUEUE(value) { 2u, { (value), 0u } }

/* The head of the queue, or the first COUNT jobs that do not fit, hold reservations. Later jobs
 * start if they delay none of these, by the estimates of run times. */
/** easy */
#define MESHALLOC_SCHEDULER_EASY { 3u, { 1u, 0u } }
/** easy:reservations=COUNT */
#define MESHALLOC_SCHEDULER_EASY_RESERVATIONS(value) { 3u, { (value), 0u } }

/* Every job that does not fit holds a reservation. Later jobs start if they delay none of these,
 * by the estimates of run times. */
/** conservative */
#define MESHALLOC_SCHEDULER_CONSERVATIVE { 4u, { 0u, 0u } }

/* Shortest job first, by the estimates of run times. Once the head of the queue has waited for
 * SECONDS, it goes first. */
/** sjf */
#define MESHALLOC_SCHEDULER_SJF { 5u, { 18446744073709551615u, 0u } }
/** sjf:SECONDS */
#define MESHALLOC_SCHEDULER_SJF_SECONDS(value) { 5u, { (value), 0u } }

#if UINTPTR_MAX > 0xffffffffu
#define MESHALLOC_WORD_ 8u
#define MESHALLOC_BLOCK_ 12u
#define MESHALLOC_JOB_ 124u
#define MESHALLOC_ALLOCATOR_ 1760u
#define MESHALLOC_CONTROLLER_ 2624u
#else
#define MESHALLOC_WORD_ 4u
#define MESHALLOC_BLOCK_ 10u
#define MESHALLOC_JOB_ 102u
#define MESHALLOC_ALLOCATOR_ 1576u
#define MESHALLOC_CONTROLLER_ 2384u
#endif

/* What strategies need, for the sizes below. */

#define MESHALLOC_BLOCKS_FIRST_FIT(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FIRST_FIT 0
#define MESHALLOC_MESH_SCRATCH_FIRST_FIT 1
#define MESHALLOC_GRID_SCRATCH_FIRST_FIT 2
#define MESHALLOC_BLOCKS_ADAPTIVE_SCAN(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_ADAPTIVE_SCAN 0
#define MESHALLOC_MESH_SCRATCH_ADAPTIVE_SCAN 1
#define MESHALLOC_GRID_SCRATCH_ADAPTIVE_SCAN 2
#define MESHALLOC_BLOCKS_FREE_SUBMESH_LIST(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FREE_SUBMESH_LIST 1
#define MESHALLOC_MESH_SCRATCH_FREE_SUBMESH_LIST 0
#define MESHALLOC_BLOCKS_NAIVE(processors, jobs) (processors)
#define MESHALLOC_LIST_NAIVE 0
#define MESHALLOC_MESH_SCRATCH_NAIVE 0
#define MESHALLOC_GRID_SCRATCH_NAIVE 0
#define MESHALLOC_BLOCKS_BUDDY(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_BUDDY 0
#define MESHALLOC_MESH_SCRATCH_BUDDY 1
#define MESHALLOC_BLOCKS_FRAME_SLIDING(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FRAME_SLIDING 0
#define MESHALLOC_MESH_SCRATCH_FRAME_SLIDING 0
#define MESHALLOC_BLOCKS_BEST_FIT(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_BEST_FIT 0
#define MESHALLOC_MESH_SCRATCH_BEST_FIT 1
#define MESHALLOC_GRID_SCRATCH_BEST_FIT 2
#define MESHALLOC_BLOCKS_BUSY_LIST(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_BUSY_LIST 0
#define MESHALLOC_MESH_SCRATCH_BUSY_LIST 1
#define MESHALLOC_GRID_SCRATCH_BUSY_LIST 2
#define MESHALLOC_BLOCKS_FIXED_ORIENTATION(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FIXED_ORIENTATION 0
#define MESHALLOC_MESH_SCRATCH_FIXED_ORIENTATION 1
#define MESHALLOC_BLOCKS_FLEX_FOLD(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FLEX_FOLD 0
#define MESHALLOC_MESH_SCRATCH_FLEX_FOLD 1
#define MESHALLOC_BLOCKS_ALL_SHAPES(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_ALL_SHAPES 0
#define MESHALLOC_MESH_SCRATCH_ALL_SHAPES 1
#define MESHALLOC_BLOCKS_TREE_COLLAPSING(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_TREE_COLLAPSING 0
#define MESHALLOC_MESH_SCRATCH_TREE_COLLAPSING 2
#define MESHALLOC_GRID_SCRATCH_TREE_COLLAPSING 2
#define MESHALLOC_BLOCKS_TREE_COLLAPSING_PRINTED(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_TREE_COLLAPSING_PRINTED 0
#define MESHALLOC_MESH_SCRATCH_TREE_COLLAPSING_PRINTED 2
#define MESHALLOC_GRID_SCRATCH_TREE_COLLAPSING_PRINTED 2
#define MESHALLOC_BLOCKS_FREE_LIST(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FREE_LIST 0
#define MESHALLOC_MESH_SCRATCH_FREE_LIST 2
#define MESHALLOC_GRID_SCRATCH_FREE_LIST 2
#define MESHALLOC_BLOCKS_SNIFFING(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_SNIFFING 0
#define MESHALLOC_MESH_SCRATCH_SNIFFING 2
#define MESHALLOC_GRID_SCRATCH_SNIFFING 2
#define MESHALLOC_BLOCKS_PARTNER(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_PARTNER 0
#define MESHALLOC_MESH_SCRATCH_PARTNER 2
#define MESHALLOC_GRID_SCRATCH_PARTNER 2
#define MESHALLOC_BLOCKS_RANDOM(processors, jobs) (processors)
#define MESHALLOC_LIST_RANDOM 0
#define MESHALLOC_MESH_SCRATCH_RANDOM 0
#define MESHALLOC_GRID_SCRATCH_RANDOM 0
#define MESHALLOC_BLOCKS_L_SHAPE(processors, jobs) MESHALLOC_LESS_(processors, 2 * (jobs))
#define MESHALLOC_LIST_L_SHAPE 0
#define MESHALLOC_MESH_SCRATCH_L_SHAPE 2
#define MESHALLOC_BLOCKS_NEIGHBOR(processors, jobs) (processors)
#define MESHALLOC_LIST_NEIGHBOR 0
#define MESHALLOC_MESH_SCRATCH_NEIGHBOR 2
#define MESHALLOC_BLOCKS_MULTIPLE_BUDDY(processors, jobs) (processors)
#define MESHALLOC_LIST_MULTIPLE_BUDDY 0
#define MESHALLOC_MESH_SCRATCH_MULTIPLE_BUDDY 2
#define MESHALLOC_BLOCKS_PAGING(processors, jobs) (processors)
#define MESHALLOC_LIST_PAGING 0
#define MESHALLOC_MESH_SCRATCH_PAGING 1
#define MESHALLOC_GRID_SCRATCH_PAGING 2
#define MESHALLOC_BLOCKS_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_BINARY_TREE 1
#define MESHALLOC_BLOCKS_STATIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_STATIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_STATIC_BINARY_TREE 1
#define MESHALLOC_BLOCKS_DYNAMIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_DYNAMIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_DYNAMIC_BINARY_TREE 1
#define MESHALLOC_BLOCKS_INDEPENDENT_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_INDEPENDENT_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_INDEPENDENT_BINARY_TREE 2
#define MESHALLOC_BLOCKS_INDEPENDENT_STATIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_INDEPENDENT_STATIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_INDEPENDENT_STATIC_BINARY_TREE 2
#define MESHALLOC_BLOCKS_INDEPENDENT_DYNAMIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_INDEPENDENT_DYNAMIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_INDEPENDENT_DYNAMIC_BINARY_TREE 2
#define MESHALLOC_BLOCKS_DEPENDENT_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_DEPENDENT_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_DEPENDENT_BINARY_TREE 2
#define MESHALLOC_BLOCKS_DEPENDENT_STATIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_DEPENDENT_STATIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_DEPENDENT_STATIC_BINARY_TREE 2
#define MESHALLOC_BLOCKS_DEPENDENT_DYNAMIC_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_DEPENDENT_DYNAMIC_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_DEPENDENT_DYNAMIC_BINARY_TREE 2
#define MESHALLOC_BLOCKS_COMPACT_BINARY_TREE(processors, jobs) (processors)
#define MESHALLOC_LIST_COMPACT_BINARY_TREE 0
#define MESHALLOC_MESH_SCRATCH_COMPACT_BINARY_TREE 1
#define MESHALLOC_BLOCKS_PARALLEL_LAYOUT(processors, jobs) (processors)
#define MESHALLOC_LIST_PARALLEL_LAYOUT 0
#define MESHALLOC_MESH_SCRATCH_PARALLEL_LAYOUT 1
#define MESHALLOC_BLOCKS_CUBES(processors, jobs) (processors)
#define MESHALLOC_LIST_CUBES 0
#define MESHALLOC_MESH_SCRATCH_CUBES 0
#define MESHALLOC_BLOCKS_FOLDING(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_FOLDING 0
#define MESHALLOC_MESH_SCRATCH_FOLDING 1
#define MESHALLOC_GRID_SCRATCH_FOLDING 2
#define MESHALLOC_BLOCKS_TORUS3D(processors, jobs) MESHALLOC_LESS_(processors, jobs)
#define MESHALLOC_LIST_TORUS3D 0
#define MESHALLOC_MESH_SCRATCH_TORUS3D 0
#define MESHALLOC_BLOCKS_GABL(processors, jobs) (processors)
#define MESHALLOC_LIST_GABL 0
#define MESHALLOC_MESH_SCRATCH_GABL 2
#define MESHALLOC_BLOCKS_PALD_FF(processors, jobs) (processors)
#define MESHALLOC_LIST_PALD_FF 0
#define MESHALLOC_MESH_SCRATCH_PALD_FF 2
#define MESHALLOC_BLOCKS_PALD_BF(processors, jobs) (processors)
#define MESHALLOC_LIST_PALD_BF 0
#define MESHALLOC_MESH_SCRATCH_PALD_BF 2
#define MESHALLOC_BLOCKS_PARTITION(processors, jobs) (processors)
#define MESHALLOC_LIST_PARTITION 0
#define MESHALLOC_MESH_SCRATCH_PARTITION 0
#define MESHALLOC_GRID_SCRATCH_PARTITION 0
#define MESHALLOC_BLOCKS_WALLTIME_AWARE(processors, jobs) (processors)
#define MESHALLOC_LIST_WALLTIME_AWARE 0
#define MESHALLOC_MESH_SCRATCH_WALLTIME_AWARE 0
#define MESHALLOC_GRID_SCRATCH_WALLTIME_AWARE 0
/* There is no constant for the following; ask meshalloc_allocator_size or
 * meshalloc_controller_size:
 *   FREE_SUBMESH_LIST, except on two-dimensional meshes
 *   CURVE
 *   LEAST_EXPECTED_BLOCKING
 *   LEB_ESTIMATES
 *   GEN_ALG
 *   MM
 *   MC1X1
 */

/* A number as a size_t, without a cast: compilers of C++ warn of those. */
#define MESHALLOC_SIZE_(n) (sizeof(char) * (n))
#define MESHALLOC_ROW_WORDS_(n) \
  ((MESHALLOC_SIZE_(n) + 8 * MESHALLOC_WORD_ - 1) / (8 * MESHALLOC_WORD_))
#define MESHALLOC_LESS_(a, b) \
  (MESHALLOC_SIZE_(a) < MESHALLOC_SIZE_(b) ? MESHALLOC_SIZE_(a) : MESHALLOC_SIZE_(b))
#define MESHALLOC_ROUND_(bytes) (((bytes) + 15) / 8 * 8)
#define MESHALLOC_PARTS_(words, scratch, blocks, block, list, processors) \
  ((words) * (3 + (scratch)) * MESHALLOC_WORD_ + MESHALLOC_SIZE_(blocks) * (block) \
   + MESHALLOC_SIZE_(processors) * 8 * (list))
#define MESHALLOC_ALLOCATOR_SIZE_(parts) MESHALLOC_ROUND_(MESHALLOC_ALLOCATOR_ + (parts))
#define MESHALLOC_CONTROLLER_SIZE_(parts, jobs) \
  MESHALLOC_ROUND_(MESHALLOC_CONTROLLER_ + (parts) + MESHALLOC_SIZE_(jobs) * MESHALLOC_JOB_)

/**
 * Bytes of the memory of an allocator on a two-dimensional mesh without wrapping. `strategy` is the
 * name behind MESHALLOC_STRATEGY_, for instance FIRST_FIT.
 */
#define MESHALLOC_MESH_ALLOCATOR_SIZE(strategy, w, h, allocations) \
  MESHALLOC_ALLOCATOR_SIZE_(MESHALLOC_PARTS_(MESHALLOC_SIZE_(h) * MESHALLOC_ROW_WORDS_(w), \
    MESHALLOC_MESH_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(MESHALLOC_SIZE_(w) * (h), allocations), MESHALLOC_BLOCK_ + 4, \
    MESHALLOC_LIST_##strategy, MESHALLOC_SIZE_(w) * (h)))
/** Bytes of the memory of an allocator on any other machine of this number of processors. */
#define MESHALLOC_GRID_ALLOCATOR_SIZE(strategy, processors, allocations) \
  MESHALLOC_ALLOCATOR_SIZE_(MESHALLOC_PARTS_(MESHALLOC_ROW_WORDS_(processors), \
    MESHALLOC_GRID_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(processors, allocations), MESHALLOC_BLOCK_ + 4, \
    MESHALLOC_LIST_##strategy, processors))
/** Bytes of the memory of a controller on a two-dimensional mesh without wrapping. */
#define MESHALLOC_MESH_CONTROLLER_SIZE(strategy, w, h, jobs) \
  MESHALLOC_CONTROLLER_SIZE_(MESHALLOC_PARTS_(MESHALLOC_SIZE_(h) * MESHALLOC_ROW_WORDS_(w), \
    MESHALLOC_MESH_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(MESHALLOC_SIZE_(w) * (h), jobs), MESHALLOC_BLOCK_, \
    MESHALLOC_LIST_##strategy, MESHALLOC_SIZE_(w) * (h)), jobs)
/** Bytes of the memory of a controller on any other machine of this number of processors. */
#define MESHALLOC_GRID_CONTROLLER_SIZE(strategy, processors, jobs) \
  MESHALLOC_CONTROLLER_SIZE_(MESHALLOC_PARTS_(MESHALLOC_ROW_WORDS_(processors), \
    MESHALLOC_GRID_SCRATCH_##strategy, \
    MESHALLOC_BLOCKS_##strategy(processors, jobs), MESHALLOC_BLOCK_, \
    MESHALLOC_LIST_##strategy, processors), jobs)

/**
 * Defines static memory of this size for an object, with its alignment:
 * `static MESHALLOC_MEMORY(name, MESHALLOC_MESH_ALLOCATOR_SIZE(FIRST_FIT, 16, 16, 32));`
 */
#define MESHALLOC_MEMORY(name, size) uint64_t name[((size) + 7) / 8]

#endif
