/* A 16 x 16 mesh under two strategies, one after the other in the same static memory. */

#include "support.h"

#define ALLOCATIONS 32

/* The free submesh list needs more than first fit. */
static MESHALLOC_MEMORY(
    memory, MESHALLOC_MESH_ALLOCATOR_SIZE(FREE_SUBMESH_LIST, 16, 16, ALLOCATIONS));

static const meshalloc_machine machine = MESHALLOC_MESH(16, 16);
static const meshalloc_strategy strategies[] = {
    MESHALLOC_STRATEGY_FIRST_FIT, MESHALLOC_STRATEGY_FREE_SUBMESH_LIST};
static const char *const names[] = {"first fit:\n", "free submesh list:\n"};

static const meshalloc_request requests[] = {
    MESHALLOC_REQUEST(10, 6), MESHALLOC_REQUEST(4, 4), MESHALLOC_REQUEST(16, 10),
    MESHALLOC_REQUEST(2, 6), MESHALLOC_REQUEST(6, 2)};
enum { REQUESTS = sizeof requests / sizeof requests[0] };

int main(void) {
  size_t which;
  for (which = 0; which < sizeof strategies / sizeof strategies[0]; which++) {
    meshalloc_allocator *allocator;
    meshalloc_allocation held[REQUESTS];
    meshalloc_block fault = {{15, 15}, {1, 1}};
    size_t at;
    print(names[which]);
    must(meshalloc_allocator_init(
        memory, sizeof memory, &machine, &strategies[which], ALLOCATIONS, &allocator));
    must(meshalloc_allocator_mark_faulty(allocator, &fault));
    for (at = 0; at < REQUESTS; at++) {
      const int32_t processors =
          meshalloc_allocator_allocate(allocator, &requests[at], &held[at]);
      print("  ");
      print_number(requests[at].extents[0]);
      print("x");
      print_number(requests[at].extents[1]);
      print(": ");
      if (processors < 0) {
        print(meshalloc_error_text(processors));
      } else {
        meshalloc_block block;
        must(meshalloc_allocator_blocks(allocator, held[at], 0, &block, 1));
        print_block(&block);
      }
      print("\n");
    }
    must(meshalloc_allocator_release(allocator, held[0]));
    print("  free: ");
    print_number((uint32_t)must(meshalloc_allocator_free_processors(allocator)));
    print("\n");
    must(meshalloc_allocator_deinit(allocator));
  }
  finish(0);
}
