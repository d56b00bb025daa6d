/* Carries out the operations that differential.rs writes, one a line, and prints a line for each:
 * the result and what else there is, or the text of the error. */

#include <meshalloc.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 8

static char line[1024];
static char *rest;

static meshalloc_allocator *allocators[2];
static meshalloc_controller *controller;
static meshalloc_configuration configuration;
static uint32_t capacity;
static void *memory[4];
static size_t controller_size;
static meshalloc_allocation *held;
static size_t held_count, held_room;

static struct {
  uint8_t bytes[1 << 20];
  size_t length, read;
} saved;

void meshalloc_panic(const char *file, size_t length, uint32_t at) {
  fprintf(stderr, "bug at %.*s:%" PRIu32 "\n", (int)length, file, at);
  abort();
}

static uint64_t next(void) {
  return strtoull(rest, &rest, 10);
}

static uint32_t next32(void) {
  return (uint32_t)next();
}

static int32_t must(int32_t result) {
  if (result < 0) {
    fprintf(stderr, "%s\n", meshalloc_error_text(result));
    abort();
  }
  return result;
}

/* The number of values, then the values. */
static uint8_t numbers(uint16_t *values) {
  const uint8_t count = (uint8_t)next();
  uint8_t at;
  for (at = 0; at < count; at++) {
    values[at < 16 ? at : 15] = (uint16_t)next();
  }
  return count;
}

static meshalloc_request request(void) {
  meshalloc_request read = {{0}, 0, 0, 0, 0, 0, 0, 0, 0};
  read.dimensions = numbers(read.extents);
  read.flags = (uint8_t)next();
  read.slices = (uint16_t)next();
  read.processors = next32();
  read.estimate = next();
  read.priority = next();
  read.preemptible = (uint8_t)next();
  read.tolerated = (uint8_t)next();
  return read;
}

static meshalloc_block block(void) {
  meshalloc_block read = {{0}, {0}};
  numbers(read.start);
  numbers(read.extent);
  return read;
}

/* Prints the result; returns whether there may be more. */
static int print(int32_t result) {
  if (result < 0) {
    printf("%s", meshalloc_error_text(result));
  } else {
    printf("%" PRId32, result);
  }
  return result >= 0;
}

static void print_block(const meshalloc_block *block) {
  uint16_t at;
  for (at = 0; at < configuration.machine.dimensions; at++) {
    printf(" %u+%u", (unsigned)block->start[at], (unsigned)block->extent[at]);
  }
  for (; at < MESHALLOC_DIMENSIONS_MAX; at++) {
    if (block->start[at] != 0 || block->extent[at] != 0) {
      printf(" not zero");
    }
  }
}

static void print_blocks(int32_t total, uint32_t from, uint32_t room,
                         const meshalloc_block *blocks) {
  uint32_t at;
  if (print(total)) {
    for (at = 0; at < room && from + at < (uint32_t)total; at++) {
      print_block(&blocks[at]);
    }
  }
}

static int32_t write_part(void *context, const uint8_t *bytes, size_t length) {
  (void)context;
  saved.bytes[saved.length] = (uint8_t)length;
  memcpy(&saved.bytes[saved.length + 1], bytes, length);
  saved.length += length + 1;
  return 0;
}

static int32_t read_part(void *context, uint8_t *bytes, size_t *length) {
  (void)context;
  *length = saved.read < saved.length ? saved.bytes[saved.read] : 0;
  memcpy(bytes, &saved.bytes[saved.read + 1], *length);
  saved.read += *length + 1;
  return 0;
}

/* FNV-1a of what was saved. */
static uint64_t hash(void) {
  uint64_t hash = 0xcbf29ce484222325u;
  size_t at;
  for (at = 0; at < saved.length; at++) {
    hash = (hash ^ saved.bytes[at]) * 0x100000001b3u;
  }
  return hash;
}

/* Memory of exactly this size, filled with something. */
static void *obtain(size_t size, size_t at) {
  free(memory[at]);
  memory[at] = malloc(size);
  if (memory[at] == NULL) {
    abort();
  }
  memset(memory[at], 0xa5, size);
  return memory[at];
}

/* A machine, a strategy, a scheduler and a capacity. */
static void begin(void) {
  size_t size, at;
  memset(&configuration, 0, sizeof configuration);
  configuration.machine.dimensions = numbers(configuration.machine.sides);
  configuration.machine.wraps = (uint16_t)next();
  configuration.machine.description = (uint16_t)next();
  configuration.strategy.kind = next32();
  configuration.strategy.parameters[0] = next();
  configuration.strategy.parameters[1] = next();
  configuration.scheduler.kind = next32();
  configuration.scheduler.parameters[0] = next();
  configuration.scheduler.parameters[1] = next();
  capacity = next32();
  must(meshalloc_allocator_size(&configuration.machine, &configuration.strategy, capacity, &size));
  for (at = 0; at < 2; at++) {
    must(meshalloc_allocator_init(obtain(size, at), size, &configuration.machine,
                                  &configuration.strategy, capacity, &allocators[at]));
  }
  must(meshalloc_controller_size(&configuration, capacity, &controller_size));
  must(meshalloc_controller_init(obtain(controller_size, 2), controller_size, &configuration,
                                 capacity, &controller));
  held_count = 0;
  print(0);
}

/* Saves the controller, forgets it and restores it in other memory. */
static void move(void) {
  int32_t result;
  saved.length = saved.read = 0;
  result = meshalloc_controller_save(controller, write_part, NULL);
  if (print(result)) {
    printf(" %zu %" PRIu64, saved.length, hash());
    must(meshalloc_controller_deinit(controller));
    memory[3] = memory[2];
    memory[2] = NULL;
    must(meshalloc_controller_init(obtain(controller_size, 2), controller_size, &configuration,
                                   capacity, &controller));
    must(meshalloc_controller_restore(controller, read_part, NULL));
    free(memory[3]);
    memory[3] = NULL;
  }
}

static void allocate(meshalloc_allocator *allocator) {
  const meshalloc_request wanted = request();
  if (held_count == held_room) {
    held_room = 2 * held_room + 64;
    held = realloc(held, held_room * sizeof *held);
    if (held == NULL) {
      abort();
    }
  }
  if (print(meshalloc_allocator_allocate(allocator, &wanted, &held[held_count]))) {
    held_count++;
  }
}

static void print_event(void) {
  meshalloc_event event;
  const int32_t result = meshalloc_controller_event(controller, next(), &event);
  if (print(result) && result > 0) {
    printf(" %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
           " %" PRIu32 " %" PRIu32,
           event.number, event.at, event.job, event.kind, event.processors, event.attempts,
           event.misses, event.blocks, event.by);
    print_block(&event.block);
  }
}

static void print_job(void) {
  meshalloc_job job;
  uint8_t at;
  if (print(meshalloc_controller_job(controller, next32(), &job))) {
    printf(" %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %u %u %" PRIu32 " %" PRIu64
           " %" PRIu64 " %u %u",
           job.submitted, job.processors, job.blocks, job.ahead, (unsigned)job.request.flags,
           (unsigned)job.request.slices, job.request.processors, job.request.estimate,
           job.request.priority, (unsigned)job.request.preemptible,
           (unsigned)job.request.tolerated);
    for (at = 0; at < job.request.dimensions; at++) {
      printf(" %u", (unsigned)job.request.extents[at]);
    }
  }
}

static void print_jobs(void) {
  meshalloc_job_list list;
  meshalloc_block on;
  const int is_on = (int)next();
  const uint32_t from = next32();
  uint32_t at;
  if (is_on) {
    on = block();
  }
  if (print(meshalloc_controller_jobs(controller, is_on ? &on : NULL, from, &list))) {
    printf(" %" PRIu32, list.next);
    for (at = 0; at < list.count; at++) {
      printf(" %" PRIu32 ":%" PRIu32, list.jobs[at], list.processors[at]);
    }
  }
}

static void print_statistics(void) {
  meshalloc_statistics s;
  if (print(meshalloc_controller_statistics(controller, &s))) {
    printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32,
           s.submitted, s.granted, s.released, s.refused, s.attempts, s.valid_attempts, s.misses,
           s.lease_ends, s.processors, s.free, s.faulty, s.waiting, s.running);
  }
}

static void print_largest(int32_t result, const meshalloc_largest *largest) {
  uint32_t at;
  if (print(result)) {
    for (at = 0; at < largest->dimensions; at++) {
      printf(" %u", (unsigned)largest->extents[at]);
    }
    print_block(&largest->block);
  }
}

static void set_faulty(int is_faulty) {
  const meshalloc_block named = block();
  const uint64_t now = next();
  meshalloc_faults faults;
  const int32_t changed =
      is_faulty ? meshalloc_controller_mark_faulty(controller, &named, now, &faults)
                : meshalloc_controller_clear_faulty(controller, &named, now, &faults);
  if (print(changed)) {
    printf(" %" PRIu32 " %" PRIu32 " %" PRIu32, faults.changed, faults.jobs, faults.first);
  }
}

static void carry_out(char operation) {
  meshalloc_block blocks[ROOM];
  meshalloc_block named;
  meshalloc_request wanted;
  meshalloc_largest largest;
  meshalloc_why why;
  uint32_t job, slice, from, room;
  uint64_t lease;
  uint32_t victims[MESHALLOC_VICTIMS_MAX];
  size_t index, count;
  meshalloc_allocator *allocator = NULL;
  if (operation >= 'a' && operation <= 'z') {
    allocator = allocators[next() % 2];
  }
  switch (operation) {
  case 'a':
    allocate(allocator);
    break;
  case 'r':
    index = (size_t)next();
    print(meshalloc_allocator_release(allocator, held[index]));
    break;
  case 'p':
    index = (size_t)next();
    print(meshalloc_allocator_processors(allocator, held[index]));
    break;
  case 'b':
    index = (size_t)next();
    from = next32();
    room = next32();
    print_blocks(meshalloc_allocator_blocks(allocator, held[index], from, blocks, room), from,
                 room, blocks);
    break;
  case 'f':
    wanted = request();
    print(meshalloc_allocator_fits(allocator, &wanted));
    break;
  case 'm':
    named = block();
    print(meshalloc_allocator_mark_faulty(allocator, &named));
    break;
  case 'c':
    named = block();
    print(meshalloc_allocator_clear_faulty(allocator, &named));
    break;
  case 'q':
    if (print(meshalloc_allocator_processor(allocator, next32()))) {
      printf(" %" PRId32 " %" PRId32, meshalloc_allocator_free_processors(allocator),
             meshalloc_allocator_faulty_processors(allocator));
    }
    break;
  case 'l':
    print_largest(meshalloc_allocator_largest(allocator, &largest), &largest);
    break;
  case 'G':
    begin();
    break;
  case 'S':
    job = next32();
    wanted = request();
    lease = next();
    print(meshalloc_controller_submit(controller, job, &wanted, lease, next()));
    break;
  case 'R':
    job = next32();
    print(meshalloc_controller_release(controller, job, next()));
    break;
  case 'Q':
    job = next32();
    print(meshalloc_controller_replace(controller, job, next()));
    break;
  case 'H':
    job = next32();
    count = (size_t)next();
    for (index = 0; index < count; index++) {
      victims[index] = next32();
    }
    print(meshalloc_controller_preempt(controller, job, victims, count, next()));
    break;
  case 'L':
    job = next32();
    lease = next();
    print(meshalloc_controller_lease(controller, job, lease, next()));
    break;
  case 'E':
    print(meshalloc_controller_end_lease(controller, next()));
    break;
  case 'M':
    set_faulty(1);
    break;
  case 'C':
    set_faulty(0);
    break;
  case 'A':
    print(meshalloc_controller_advance(controller));
    break;
  case 'V':
    print_event();
    break;
  case 'J':
    print_job();
    break;
  case 'B':
    job = next32();
    from = next32();
    room = next32();
    print_blocks(meshalloc_controller_blocks(controller, job, from, blocks, room), from, room,
                 blocks);
    break;
  case 'U':
    job = next32();
    slice = next32();
    from = next32();
    room = next32();
    print_blocks(meshalloc_controller_slice(controller, job, slice, from, blocks, room), from, room,
                 blocks);
    break;
  case 'K':
    print_jobs();
    break;
  case 'P':
    print(meshalloc_controller_processor(controller, next32()));
    break;
  case 'T':
    print_statistics();
    break;
  case 'Y':
    print_largest(meshalloc_controller_largest(controller, &largest), &largest);
    break;
  case 'W':
    job = (uint32_t)next();
    if (print(meshalloc_controller_why(controller, job, &why))) {
      printf(" %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, why.ahead, why.needs, why.free,
             why.faulty);
    }
    break;
  case 'X':
    move();
    break;
  case 'Z':
    print(meshalloc_controller_reset(controller, next()));
    break;
  default:
    fprintf(stderr, "no such operation: %c\n", operation);
    abort();
  }
  printf("\n");
}

int main(void) {
  while (fgets(line, sizeof line, stdin) != NULL) {
    rest = &line[1];
    carry_out(line[0]);
  }
  return 0;
}
