/* Jobs on a 16 x 16 mesh: a queue, leases, and a state that survives a reset. */

#include "support.h"

#include <string.h>

#define JOBS 32

static MESHALLOC_MEMORY(memory, MESHALLOC_MESH_CONTROLLER_SIZE(FREE_SUBMESH_LIST, 16, 16, JOBS));

static const meshalloc_configuration configuration = {
    MESHALLOC_MESH(16, 16), MESHALLOC_STRATEGY_FREE_SUBMESH_LIST, MESHALLOC_SCHEDULER_FCFS};

/* In a product this is flash: each part with its length in front. */
static uint8_t flash[2048];
static size_t written, taken;

static int32_t write_part(void *context, const uint8_t *bytes, size_t length) {
  (void)context;
  if (sizeof flash - written < length + 1) {
    return -1;
  }
  flash[written] = (uint8_t)length;
  memcpy(&flash[written + 1], bytes, length);
  written += length + 1;
  return 0;
}

static int32_t read_part(void *context, uint8_t *bytes, size_t *length) {
  (void)context;
  *length = taken < written ? flash[taken] : 0;
  memcpy(bytes, &flash[taken + 1], *length);
  taken += *length + 1;
  return 0;
}

/* Makes the attempts that follow from a change, and prints the events after `number`. */
static uint64_t follow(meshalloc_controller *controller, uint64_t number) {
  meshalloc_event event;
  /* A main loop with other work makes one attempt in each round. */
  while (must(meshalloc_controller_advance(controller)) > 0) {
  }
  while (must(meshalloc_controller_event(controller, number, &event)) > 0) {
    number = event.number;
    print("  job ");
    print_number(event.job);
    print(event.kind == MESHALLOC_EVENT_GRANTED ? " runs: " : " has lost its lease");
    if (event.kind == MESHALLOC_EVENT_GRANTED) {
      print_block(&event.block);
    }
    print("\n");
  }
  return number;
}

int main(void) {
  static const meshalloc_request wide = MESHALLOC_REQUEST(16, 8);
  static const meshalloc_request small = MESHALLOC_REQUEST(5, 3);
  meshalloc_controller *controller;
  uint64_t known = 0;
  uint64_t now = 0;

  must(meshalloc_controller_init(memory, sizeof memory, &configuration, JOBS, &controller));
  must(meshalloc_controller_submit(controller, 1, &wide, 0, now));
  known = follow(controller, known);
  /* A lease of 1000 ticks. */
  must(meshalloc_controller_submit(controller, 2, &wide, 1000, now));
  known = follow(controller, known);
  must(meshalloc_controller_submit(controller, 3, &small, 0, now));
  known = follow(controller, known);

  print("save\n");
  must(meshalloc_controller_save(controller, write_part, NULL));
  must(meshalloc_controller_deinit(controller));
  print("restore\n");
  must(meshalloc_controller_init(memory, sizeof memory, &configuration, JOBS, &controller));
  must(meshalloc_controller_restore(controller, read_part, NULL));

  now = 1000;
  while (must(meshalloc_controller_end_lease(controller, now)) > 0) {
    known = follow(controller, known);
  }
  finish(0);
}
