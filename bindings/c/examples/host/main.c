/* A day at a 16 x 16 mesh: an allocator alone, then a controller whose state is saved and restored.
 * It prints what it does, and ends with 1 if a call fails that must not. */

#include <meshalloc.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 32

/* The library has found a bug in itself. It must not be called again. */
void meshalloc_panic(const char *file, size_t length, uint32_t line) {
  fprintf(stderr, "meshalloc: bug at %.*s:%" PRIu32 "\n", (int)length, file, line);
  abort();
}

/* The result of a call that cannot fail here. */
static int32_t must(int32_t result) {
  if (result < 0) {
    fprintf(stderr, "error %" PRId32 ": %s\n", result, meshalloc_error_text(result));
    exit(EXIT_FAILURE);
  }
  return result;
}

static void print_block(const meshalloc_block *block) {
  printf("%ux%u at (%u, %u)", (unsigned)block->extent[0], (unsigned)block->extent[1],
         (unsigned)block->start[0], (unsigned)block->start[1]);
}

/* The allocator alone: requests in, processors out. Memory of a size that is a constant. */
static void allocate(void) {
  static MESHALLOC_MEMORY(memory, MESHALLOC_MESH_ALLOCATOR_SIZE(ADAPTIVE_SCAN, 16, 16, JOBS));
  const meshalloc_machine machine = MESHALLOC_MESH(16, 16);
  const meshalloc_strategy strategy = MESHALLOC_STRATEGY_ADAPTIVE_SCAN;
  const meshalloc_request requests[] = {
      MESHALLOC_REQUEST(10, 6), MESHALLOC_REQUEST(16, 10), MESHALLOC_REQUEST(6, 12),
      MESHALLOC_REQUEST(17, 1)};
  const size_t count = sizeof requests / sizeof requests[0];
  meshalloc_allocator *allocator;
  meshalloc_allocation allocations[4];
  size_t at;

  must(meshalloc_allocator_init(memory, sizeof memory, &machine, &strategy, JOBS, &allocator));
  for (at = 0; at < count; at++) {
    const unsigned w = requests[at].extents[0], h = requests[at].extents[1];
    const int32_t held = meshalloc_allocator_allocate(allocator, &requests[at], &allocations[at]);
    printf("%ux%u: ", w, h);
    if (held >= 0) {
      meshalloc_block block;
      must(meshalloc_allocator_blocks(allocator, allocations[at], 0, &block, 1));
      print_block(&block);
      printf("\n");
    } else {
      printf("%s (%s)\n", meshalloc_error_text(held),
             MESHALLOC_IS_TEMPORARY(held) ? "temporary" : "permanent");
    }
  }
  printf("released: %" PRId32 "\n", must(meshalloc_allocator_release(allocator, allocations[0])));
  printf("again: %s\n",
         meshalloc_error_text(meshalloc_allocator_release(allocator, allocations[0])));
  printf("free: %" PRId32 "\n", must(meshalloc_allocator_free_processors(allocator)));
  must(meshalloc_allocator_deinit(allocator));
}

/* A checkpoint in memory: each part with its length in front. */
struct checkpoint {
  unsigned char bytes[8192];
  size_t length;
  size_t read;
};

static int32_t write_part(void *context, const uint8_t *bytes, size_t length) {
  struct checkpoint *checkpoint = context;
  if (sizeof checkpoint->bytes - checkpoint->length < length + 1) {
    return -1;
  }
  checkpoint->bytes[checkpoint->length] = (unsigned char)length;
  memcpy(&checkpoint->bytes[checkpoint->length + 1], bytes, length);
  checkpoint->length += length + 1;
  return 0;
}

static int32_t read_part(void *context, uint8_t *bytes, size_t *length) {
  struct checkpoint *checkpoint = context;
  if (checkpoint->read == checkpoint->length) {
    *length = 0;
    return 0;
  }
  *length = checkpoint->bytes[checkpoint->read];
  memcpy(bytes, &checkpoint->bytes[checkpoint->read + 1], *length);
  checkpoint->read += *length + 1;
  return 0;
}

/* Makes the attempts that follow from a change, and prints the events after `number`. */
static uint64_t follow(meshalloc_controller *controller, uint64_t number) {
  meshalloc_event event;
  while (must(meshalloc_controller_advance(controller)) > 0) {
  }
  while (must(meshalloc_controller_event(controller, number, &event)) > 0) {
    number = event.number;
    printf("t=%" PRIu64 ": job %" PRIu32 " ", event.at, event.job);
    if (event.kind == MESHALLOC_EVENT_GRANTED) {
      print_block(&event.block);
      printf(", attempts: %" PRIu32 "\n", event.attempts);
    } else {
      printf("has lost its lease\n");
    }
  }
  return number;
}

/* The controller: jobs with names wait in a queue. Memory of a size that is computed. */
static void control(void) {
  const meshalloc_configuration configuration = {
      MESHALLOC_MESH(16, 16), MESHALLOC_STRATEGY_FREE_SUBMESH_LIST, MESHALLOC_SCHEDULER_FCFS};
  const meshalloc_request half = MESHALLOC_REQUEST(16, 8);
  static struct checkpoint checkpoint;
  meshalloc_controller *controller;
  meshalloc_statistics statistics;
  size_t size;
  void *memory;
  uint64_t known = 0;
  uint32_t job;

  must(meshalloc_controller_size(&configuration, JOBS, &size));
  memory = malloc(size);
  if (memory == NULL) {
    exit(EXIT_FAILURE);
  }
  must(meshalloc_controller_init(memory, size, &configuration, JOBS, &controller));
  for (job = 1; job <= 3; job++) {
    must(meshalloc_controller_submit(controller, job, &half, 0, 0));
    known = follow(controller, known);
  }
  must(meshalloc_controller_save(controller, write_part, &checkpoint));
  must(meshalloc_controller_deinit(controller));
  printf("saved\n");

  /* After a reset, or in another program. */
  must(meshalloc_controller_init(memory, size, &configuration, JOBS, &controller));
  must(meshalloc_controller_restore(controller, read_part, &checkpoint));
  must(meshalloc_controller_release(controller, 1, 100));
  follow(controller, known);
  must(meshalloc_controller_statistics(controller, &statistics));
  printf("granted: %" PRIu64 ", running: %" PRIu32 "\n", statistics.granted, statistics.running);
  free(memory);
}

int main(void) {
  allocate();
  control();
  return EXIT_SUCCESS;
}
