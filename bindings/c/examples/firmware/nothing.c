/* A program without objects of the library, to see what the others add. */

#include "support.h"

int main(void) {
  must(0);
  finish(0);
}
