#include "support.h"

/* Semihosting: a breakpoint at which QEMU, or a debugger, does what r0 names. */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static void semihosting(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void print(const char *text) {
  semihosting(SYS_WRITE0, text);
}

void print_number(uint32_t number) {
  char digits[11];
  char *first = &digits[sizeof digits - 1];
  *first = 0;
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  print(first);
}

void print_block(const meshalloc_block *block) {
  print_number(block->extent[0]);
  print("x");
  print_number(block->extent[1]);
  print(" at (");
  print_number(block->start[0]);
  print(", ");
  print_number(block->start[1]);
  print(")");
}

int32_t must(int32_t result) {
  if (result < 0) {
    print("error: ");
    print(meshalloc_error_text(result));
    print("\n");
    finish(1);
  }
  return result;
}

/* startup.c has filled the stack with this. */
extern uint32_t stack_end[], stack_start[];

void finish(int code) {
  const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)code};
  const uint32_t *deepest = stack_end;
  while (deepest < stack_start && *deepest == 0xdeadbeefu) {
    deepest++;
  }
  print("stack: ");
  print_number((uint32_t)((uintptr_t)stack_start - (uintptr_t)deepest));
  print(" bytes\n");
  semihosting(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

/* The library has found a bug in itself. It must not be called again. */
void meshalloc_panic(const char *file, size_t length, uint32_t line) {
  (void)file;
  (void)length;
  print("meshalloc: bug in line ");
  print_number(line);
  print("\n");
  finish(2);
}
