/* Vectors and start of a Cortex-M4. Your chip's package has both. */

#include <stddef.h>
#include <stdint.h>

extern uint32_t stack_end[], stack_start[];
extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];

int main(void);
void reset(void);
void fault(void);

/* The coprocessor access register: the FPU is off after a reset. */
#define CPACR (*(volatile uint32_t *)0xe000ed88u)

void reset(void) {
  uint32_t *to;
  const uint32_t *from = data_load;
  register uint32_t *stack __asm__("sp");
  for (to = data_start; to < data_end; to++) {
    *to = *from++;
  }
  for (to = bss_start; to < bss_end; to++) {
    *to = 0;
  }
  /* What is used of the stack is overwritten. */
  for (to = stack_end; to < stack; to++) {
    *to = 0xdeadbeefu;
  }
  CPACR |= 0xfu << 20;
  __asm__ volatile("dsb\nisb");
  (void)main();
  for (;;) {
  }
}

void fault(void) {
  for (;;) {
  }
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  vector handlers[15];
} vectors = {stack_start,
             {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault}};
