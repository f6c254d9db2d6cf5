/* Random calls whose results are printed, to be compared line by line between two runs with the same seed.
 *
 * Thread safety: none; one thread draws.
 */
#ifndef TESSERA_TESTS_RANDOM_CALLS_H
#define TESSERA_TESTS_RANDOM_CALLS_H

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t state; /* set it to the seed */

static inline unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

/* Ends the line of a call by its result. */
static inline void say(CUresult result) {
  const char* name = "unknown error";
  cuGetErrorName(result, &name);
  printf(": %s\n", name);
  fflush(stdout); /* a driver may not survive the next call */
}

#endif
