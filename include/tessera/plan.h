/* Offline plans: the least memory for blocks whose lives are known, and splits of a graph.
 *
 * Needs no device and no allocator: records in, figures and places out. The conventions of
 * tessera.h hold. `tessera plan` is the model user.
 *
 * Thread safety: every call may be made from any thread; none keeps what it was given.
 */
#ifndef TESSERA_PLAN_H
#define TESSERA_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block: its bytes, and the first and last step that need it, both included. Steps are any rising
 * numbers below 2^63: ops, layers, times. All bytes together are below 2^63. */
typedef struct tessera_plan_record {
  uint64_t bytes;
  uint64_t first;
  uint64_t last;
} tessera_plan_record;

/* What each planner needs for the same records, in bytes. */
typedef struct tessera_arena_figures {
  uint32_t size;
  uint64_t naive_bytes;              /* without any sharing */
  uint64_t offset_lower_bound;       /* no plan with offsets in one arena needs less */
  uint64_t offset_greedy_by_size;
  uint64_t offset_greedy_by_breadth;
  uint64_t offset_best_fit;
  uint64_t shared_lower_bound;       /* no plan with objects that are handed over whole needs less */
  uint64_t shared_greedy_by_size;
  uint64_t shared_improved;
  uint64_t shared_by_breadth;
} tessera_arena_figures;

/* Runs every planner. Costs time that grows little faster than `count` while few records are live
 * together. Errors: INVALID_ARGUMENT for a record that ends before it begins, or is too large. */
TESSERA_API tessera_result tessera_plan_arena(const tessera_plan_record* records, size_t count,
                                              tessera_arena_figures* figures);

/* Places the records in one arena by the offset planner that needs the least here: `offsets` has
 * room for `count`, `total` is the size of the arena. Errors: as tessera_plan_arena. */
TESSERA_API tessera_result tessera_plan_offsets(const tessera_plan_record* records, size_t count,
                                                uint64_t* offsets, uint64_t* total);

#ifdef __cplusplus
}
#endif

#endif
