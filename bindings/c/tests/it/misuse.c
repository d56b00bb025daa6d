/* What a caller may do wrong: each mistake gets its number and changes nothing. C99 and C++17. */

#include <meshalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(expected, call) expect((expected), (call), #call, __LINE__)

static int failures;
static int hook_is_expected;

static void expect(int32_t expected, int32_t result, const char *call, int line) {
  if (result != expected) {
    fprintf(stderr, "line %d: %s: %s, expected: %s\n", line, call, meshalloc_error_text(result),
            meshalloc_error_text(expected));
    failures++;
  }
}

void meshalloc_panic(const char *file, size_t length, uint32_t line) {
  printf("hook: %.*s:%u\n", (int)length, file, (unsigned)line);
  exit(hook_is_expected && failures == 0 && length > 0 && line > 0 ? 0 : 1);
}

static const meshalloc_machine machine = MESHALLOC_MESH(8, 8);
static const meshalloc_strategy first_fit = MESHALLOC_STRATEGY_FIRST_FIT;
static const meshalloc_request request = MESHALLOC_REQUEST(3, 2);
static MESHALLOC_MEMORY(memory, MESHALLOC_MESH_ALLOCATOR_SIZE(FIRST_FIT, 8, 8, 4));
static MESHALLOC_MEMORY(other, MESHALLOC_MESH_ALLOCATOR_SIZE(FIRST_FIT, 8, 8, 4));
static MESHALLOC_MEMORY(third, MESHALLOC_MESH_CONTROLLER_SIZE(FIRST_FIT, 8, 8, 4));

static void memory_of_objects(void) {
  meshalloc_allocator *allocator = NULL;
  size_t size = 0;
  char *bytes = (char *)memory;
  EXPECT(0, meshalloc_allocator_size(&machine, &first_fit, 4, &size));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_size(NULL, &first_fit, 4, &size));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_size(&machine, NULL, 4, &size));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_size(&machine, &first_fit, 4, NULL));
  EXPECT(MESHALLOC_ERROR_BAD_CAPACITY, meshalloc_allocator_size(&machine, &first_fit, 0, &size));
  EXPECT(MESHALLOC_ERROR_BAD_CAPACITY,
         meshalloc_allocator_size(&machine, &first_fit, UINT32_MAX, &size));

  EXPECT(MESHALLOC_ERROR_NULL_POINTER,
         meshalloc_allocator_init(NULL, size, &machine, &first_fit, 4, &allocator));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER,
         meshalloc_allocator_init(memory, size, &machine, &first_fit, 4, NULL));
  EXPECT(MESHALLOC_ERROR_MISALIGNED,
         meshalloc_allocator_init(bytes + 4, size, &machine, &first_fit, 4, &allocator));
  EXPECT(MESHALLOC_ERROR_MEMORY_TOO_SMALL,
         meshalloc_allocator_init(memory, 16, &machine, &first_fit, 4, &allocator));
  EXPECT(MESHALLOC_ERROR_MEMORY_TOO_SMALL,
         meshalloc_allocator_init(memory, size - 16, &machine, &first_fit, 4, &allocator));
  EXPECT(0, meshalloc_allocator_init(memory, size, &machine, &first_fit, 4, &allocator));
  EXPECT(64, meshalloc_allocator_free_processors(allocator));
  EXPECT(0, meshalloc_allocator_deinit(allocator));
  EXPECT(MESHALLOC_ERROR_NOT_INITIALIZED, meshalloc_allocator_deinit(allocator));
  EXPECT(MESHALLOC_ERROR_NOT_INITIALIZED, meshalloc_allocator_free_processors(allocator));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_free_processors(NULL));
  EXPECT(MESHALLOC_ERROR_MISALIGNED,
         meshalloc_allocator_free_processors((meshalloc_allocator *)(void *)(bytes + 1)));
}

/* Memory that was freed, or left as it was by a warm reset, may hold what is still an object. */
static void memory_that_was_left(void) {
  meshalloc_allocator *allocator = NULL;
  meshalloc_controller *controller = NULL;
  meshalloc_allocation allocation;
  const meshalloc_configuration configuration = {
      MESHALLOC_MESH(8, 8), MESHALLOC_STRATEGY_FIRST_FIT, MESHALLOC_SCHEDULER_FCFS};
  size_t size = 0;
  int round;
  EXPECT(0, meshalloc_allocator_size(&machine, &first_fit, 4, &size));
  for (round = 0; round < 3; round++) {
    void *heap = malloc(size);
    EXPECT(0, meshalloc_allocator_init(heap, size, &machine, &first_fit, 4, &allocator));
    EXPECT(6, meshalloc_allocator_allocate(allocator, &request, &allocation));
    free(heap);
  }
  for (round = 0; round < 3; round++) {
    EXPECT(0, meshalloc_allocator_init(third, sizeof third, &machine, &first_fit, 4, &allocator));
    EXPECT(6, meshalloc_allocator_allocate(allocator, &request, &allocation));
    EXPECT(0, meshalloc_controller_init(third, sizeof third, &configuration, 4, &controller));
    EXPECT(MESHALLOC_ERROR_NOT_INITIALIZED, meshalloc_allocator_free_processors(allocator));
    EXPECT(0, meshalloc_controller_submit(controller, 1, &request, 0, 0));
  }
  /* If the new object cannot be made, the old one is gone too. */
  EXPECT(MESHALLOC_ERROR_MEMORY_TOO_SMALL,
         meshalloc_allocator_init(third, size - 16, &machine, &first_fit, 4, &allocator));
  EXPECT(MESHALLOC_ERROR_NOT_INITIALIZED, meshalloc_controller_deinit(controller));
}

static void configurations(void) {
  const meshalloc_machine none = {{0}, 0, 0, 0}, wide = MESHALLOC_MESH(1025, 1),
                          empty = MESHALLOC_MESH(8, 0), wraps = {{8, 8}, 2, 4, 0},
                          many = {{1}, 17, 0, 0}, torus = MESHALLOC_TORUS_3D(4, 4, 4),
                          unknown_rules = {{8, 4}, 2, 0, 99}, other_rules = {{8, 8}, 2, 0, 7},
                          galaxy = MESHALLOC_MACHINE_GALAXY, tpu_v4 = MESHALLOC_MACHINE_TPU_V4;
  const meshalloc_machine *const wrong[] = {&none,  &wide, &empty,         &wraps,
                                            &many, &unknown_rules, &other_rules};
  const meshalloc_strategy unknown = {4000, {0, 0}}, buddy = MESHALLOC_STRATEGY_BUDDY,
                           page = {20, {7, 0}}, cubes = MESHALLOC_STRATEGY_CUBES,
                           small = MESHALLOC_STRATEGY_LEAST_EXPECTED_BLOCKING_BUDGET(3),
                           ratio = MESHALLOC_STRATEGY_DYNAMIC_BINARY_TREE_RATIO(5000000);
  const meshalloc_scheduler no_reservation = MESHALLOC_SCHEDULER_EASY_RESERVATIONS(0);
  meshalloc_configuration configuration = {
      MESHALLOC_MESH(8, 8), MESHALLOC_STRATEGY_FIRST_FIT, MESHALLOC_SCHEDULER_FCFS};
  size_t size, at;
  for (at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
    EXPECT(MESHALLOC_ERROR_NO_SUCH_MACHINE,
           meshalloc_allocator_size(wrong[at], &first_fit, 4, &size));
  }
  EXPECT(MESHALLOC_ERROR_NO_SUCH_STRATEGY, meshalloc_allocator_size(&machine, &unknown, 4, &size));
  EXPECT(MESHALLOC_ERROR_NO_SUCH_STRATEGY, meshalloc_allocator_size(&machine, &page, 4, &size));
  EXPECT(MESHALLOC_ERROR_NO_SUCH_STRATEGY, meshalloc_allocator_size(&machine, &small, 4, &size));
  EXPECT(MESHALLOC_ERROR_NO_SUCH_STRATEGY, meshalloc_allocator_size(&machine, &ratio, 4, &size));
  EXPECT(MESHALLOC_ERROR_MACHINE_UNSUITABLE, meshalloc_allocator_size(&torus, &buddy, 4, &size));
  EXPECT(MESHALLOC_ERROR_MACHINE_UNSUITABLE, meshalloc_allocator_size(&galaxy, &cubes, 4, &size));
  EXPECT(MESHALLOC_ERROR_MACHINE_UNSUITABLE, meshalloc_allocator_size(&torus, &cubes, 4, &size));
  EXPECT(0, meshalloc_allocator_size(&tpu_v4, &cubes, 4, &size));
  EXPECT(0, meshalloc_controller_size(&configuration, 4, &size));
  configuration.scheduler = no_reservation;
  EXPECT(MESHALLOC_ERROR_NO_SUCH_SCHEDULER, meshalloc_controller_size(&configuration, 4, &size));
  configuration.scheduler.kind = 99;
  EXPECT(MESHALLOC_ERROR_NO_SUCH_SCHEDULER, meshalloc_controller_size(&configuration, 4, &size));
}

static void requests(meshalloc_allocator *allocator) {
  meshalloc_request wrong = MESHALLOC_REQUEST(3, 2);
  const meshalloc_request empty = MESHALLOC_REQUEST(0, 2), deep = MESHALLOC_REQUEST_3D(2, 2, 2),
                          wide = MESHALLOC_REQUEST(9, 1), cleared = {{0}, 0, 0, 0, 0, 0, 0, 0, 0};
  const meshalloc_block outside = {{7, 7}, {2, 1}};
  meshalloc_allocation allocation = {0, 0, 0};
  EXPECT(MESHALLOC_ERROR_EMPTY_REQUEST,
         meshalloc_allocator_allocate(allocator, &empty, &allocation));
  EXPECT(MESHALLOC_ERROR_EMPTY_REQUEST,
         meshalloc_allocator_allocate(allocator, &cleared, &allocation));
  EXPECT(MESHALLOC_ERROR_TOO_MANY_EXTENTS,
         meshalloc_allocator_allocate(allocator, &deep, &allocation));
  EXPECT(MESHALLOC_ERROR_NEVER_FITS, meshalloc_allocator_allocate(allocator, &wide, &allocation));
  wrong.processors = 7;
  EXPECT(MESHALLOC_ERROR_MALFORMED_REQUEST,
         meshalloc_allocator_allocate(allocator, &wrong, &allocation));
  wrong.processors = 0;
  wrong.preemptible = 2;
  EXPECT(MESHALLOC_ERROR_BAD_ARGUMENT,
         meshalloc_allocator_allocate(allocator, &wrong, &allocation));
  wrong.preemptible = 0;
  wrong.dimensions = 17;
  EXPECT(MESHALLOC_ERROR_BAD_ARGUMENT,
         meshalloc_allocator_allocate(allocator, &wrong, &allocation));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_allocate(allocator, NULL, &allocation));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_allocate(allocator, &request, NULL));
  EXPECT(MESHALLOC_ERROR_NO_SUCH_BLOCK, meshalloc_allocator_mark_faulty(allocator, &outside));
  EXPECT(MESHALLOC_ERROR_NO_SUCH_PROCESSOR, meshalloc_allocator_processor(allocator, 64));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_largest(allocator, NULL));
  /* None of these has taken anything. */
  EXPECT(64, meshalloc_allocator_free_processors(allocator));
}

static void allocations(meshalloc_allocator *allocator, meshalloc_allocator *another) {
  const meshalloc_request unit = MESHALLOC_REQUEST(1, 1);
  const meshalloc_allocation never = {0, 0, 0}, guess = {1, 1, UINT32_MAX};
  meshalloc_allocation first, second, many[4];
  meshalloc_block block;
  size_t at;
  EXPECT(6, meshalloc_allocator_allocate(allocator, &request, &first));
  EXPECT(1, meshalloc_allocator_blocks(allocator, first, 0, &block, 1));
  EXPECT(1, meshalloc_allocator_blocks(allocator, first, 0, NULL, 0));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_allocator_blocks(allocator, first, 0, NULL, 1));
  EXPECT(MESHALLOC_ERROR_FOREIGN_ALLOCATION, meshalloc_allocator_release(another, first));
  EXPECT(MESHALLOC_ERROR_FOREIGN_ALLOCATION, meshalloc_allocator_release(allocator, never));
  EXPECT(MESHALLOC_ERROR_FOREIGN_ALLOCATION, meshalloc_allocator_release(another, guess));
  EXPECT(6, meshalloc_allocator_release(allocator, first));
  EXPECT(MESHALLOC_ERROR_STALE_ALLOCATION, meshalloc_allocator_release(allocator, first));
  /* The same cell, another allocation. */
  EXPECT(6, meshalloc_allocator_allocate(allocator, &request, &second));
  EXPECT(MESHALLOC_ERROR_STALE_ALLOCATION, meshalloc_allocator_processors(allocator, first));
  EXPECT(6, meshalloc_allocator_processors(allocator, second));
  EXPECT(6, meshalloc_allocator_release(allocator, second));
  for (at = 0; at < 4; at++) {
    EXPECT(1, meshalloc_allocator_allocate(allocator, &unit, &many[at]));
  }
  EXPECT(MESHALLOC_ERROR_TABLE_FULL, meshalloc_allocator_allocate(allocator, &unit, &first));
}

/* A callback that uses the controller which calls it. */
static int32_t write_and_reenter(void *context, const uint8_t *bytes, size_t length) {
  meshalloc_controller *controller = (meshalloc_controller *)context;
  (void)bytes;
  EXPECT(1, length > 0 && length <= MESHALLOC_PART_MAX);
  EXPECT(MESHALLOC_ERROR_REENTERED, meshalloc_controller_advance(controller));
  EXPECT(MESHALLOC_ERROR_REENTERED, meshalloc_controller_deinit(controller));
  return 0;
}

static int32_t refuse_to_write(void *context, const uint8_t *bytes, size_t length) {
  (void)context;
  (void)bytes;
  (void)length;
  return 5;
}

static int32_t read_nonsense(void *context, uint8_t *bytes, size_t *length) {
  (void)context;
  memset(bytes, 0x55, MESHALLOC_PART_MAX);
  *length = MESHALLOC_PART_MAX;
  return 0;
}

static int32_t read_too_much(void *context, uint8_t *bytes, size_t *length) {
  (void)context;
  (void)bytes;
  *length = MESHALLOC_PART_MAX + 1;
  return 0;
}

static int32_t read_nothing(void *context, uint8_t *bytes, size_t *length) {
  (void)context;
  (void)bytes;
  *length = 0;
  return 0;
}

static void controllers(void) {
  const meshalloc_configuration configuration = {
      MESHALLOC_MESH(8, 8), MESHALLOC_STRATEGY_FIRST_FIT, MESHALLOC_SCHEDULER_FCFS};
  meshalloc_controller *controller = NULL;
  meshalloc_allocator *mistaken;
  EXPECT(0, meshalloc_controller_init(third, sizeof third, &configuration, 4, &controller));
  /* The object is of another type. */
  mistaken = (meshalloc_allocator *)(void *)controller;
  EXPECT(MESHALLOC_ERROR_NOT_INITIALIZED, meshalloc_allocator_free_processors(mistaken));
  EXPECT(0, meshalloc_controller_submit(controller, 1, &request, 0, 0));
  EXPECT(MESHALLOC_ERROR_BUSY, meshalloc_controller_submit(controller, 2, &request, 0, 0));
  EXPECT(MESHALLOC_ERROR_BUSY,
         meshalloc_controller_save(controller, write_and_reenter, controller));
  EXPECT(0, meshalloc_controller_advance(controller));
  EXPECT(MESHALLOC_ERROR_DUPLICATE_JOB, meshalloc_controller_submit(controller, 1, &request, 0, 0));
  EXPECT(MESHALLOC_ERROR_UNKNOWN_JOB, meshalloc_controller_release(controller, 2, 0));
  EXPECT(MESHALLOC_ERROR_UNKNOWN_JOB, meshalloc_controller_blocks(controller, 2, 0, NULL, 0));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_controller_submit(controller, 2, NULL, 0, 0));
  EXPECT(MESHALLOC_ERROR_NULL_POINTER, meshalloc_controller_save(controller, NULL, NULL));
  EXPECT(MESHALLOC_ERROR_CALLBACK_FAILED,
         meshalloc_controller_save(controller, refuse_to_write, NULL));
  EXPECT(0, meshalloc_controller_save(controller, write_and_reenter, controller));
  EXPECT(MESHALLOC_ERROR_CHECKPOINT_FORMAT,
         meshalloc_controller_restore(controller, read_nonsense, NULL));
  EXPECT(MESHALLOC_ERROR_CALLBACK_FAILED,
         meshalloc_controller_restore(controller, read_too_much, NULL));
  EXPECT(MESHALLOC_ERROR_CHECKPOINT_INCOMPLETE,
         meshalloc_controller_restore(controller, read_nothing, NULL));
  /* Without jobs, and usable. */
  EXPECT(0, meshalloc_controller_submit(controller, 1, &request, 0, 0));
  EXPECT(0, meshalloc_controller_deinit(controller));
  /* Now the memory is free for an object of the other type. */
  EXPECT(0, meshalloc_allocator_init(third, sizeof third, &machine, &first_fit, 4, &mistaken));
  EXPECT(64, meshalloc_allocator_free_processors(mistaken));
  EXPECT(0, meshalloc_allocator_deinit(mistaken));
}

/* The only mistake that the library cannot see in time: its memory is overwritten. */
static void overwritten(meshalloc_allocator *allocator) {
  meshalloc_allocation allocation;
  size_t size = 0;
  char *end;
  EXPECT(0, meshalloc_allocator_size(&machine, &first_fit, 4, &size));
  EXPECT(6, meshalloc_allocator_allocate(allocator, &request, &allocation));
  /* The four blocks lie at the end, with 12 bytes each. */
  end = (char *)other + size;
  memset(end - 48, 0x7f, 48);
  hook_is_expected = 1;
  meshalloc_allocator_release(allocator, allocation);
  fprintf(stderr, "the hook was not called\n");
  failures++;
}

int main(void) {
  meshalloc_allocator *allocator = NULL, *another = NULL;
  memory_of_objects();
  memory_that_was_left();
  configurations();
  EXPECT(0, meshalloc_allocator_init(memory, sizeof memory, &machine, &first_fit, 4, &allocator));
  EXPECT(0, meshalloc_allocator_init(other, sizeof other, &machine, &first_fit, 4, &another));
  requests(allocator);
  allocations(allocator, another);
  controllers();
  if (failures == 0) {
    overwritten(another);
  }
  return 1;
}
