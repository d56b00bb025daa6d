/* A thread that allocates on a 16 x 16 mesh. An allocator belongs to one thread at a time; a mutex
 * lets several use it. */

#include <meshalloc.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

void meshalloc_panic(const char *file, size_t length, uint32_t line) {
  printk("meshalloc: bug at %.*s:%u\n", (int)length, file, (unsigned)line);
  k_panic();
}

static MESHALLOC_MEMORY(memory, MESHALLOC_MESH_ALLOCATOR_SIZE(FIRST_FIT, 16, 16, 32));

int main(void) {
  static const meshalloc_machine machine = MESHALLOC_MESH(16, 16);
  static const meshalloc_strategy strategy = MESHALLOC_STRATEGY_FIRST_FIT;
  static const meshalloc_request request = MESHALLOC_REQUEST(5, 3);
  meshalloc_allocator *allocator;
  meshalloc_allocation allocation;
  int32_t result = meshalloc_allocator_init(
      memory, sizeof memory, &machine, &strategy, 32, &allocator);
  if (result == 0) {
    result = meshalloc_allocator_allocate(allocator, &request, &allocation);
  }
  if (result < 0) {
    printk("error: %s\n", meshalloc_error_text(result));
  } else {
    printk("allocated: %d processors\n", (int)result);
  }
  return 0;
}
