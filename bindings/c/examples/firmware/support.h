/* What the programs share: text for the debugger, and the end. */

#ifndef SUPPORT_H
#define SUPPORT_H

#include <meshalloc.h>

void print(const char *text);
void print_number(uint32_t number);
void print_block(const meshalloc_block *block);

/* The result of a call that cannot fail here; prints the error and ends otherwise. */
int32_t must(int32_t result);

/* Prints how deep the stack was, and ends the program. */
_Noreturn void finish(int code);

#endif
