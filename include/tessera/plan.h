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
  uint64_t shared_lower_bound;       /* no plan with objects handed over whole needs less */
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

/* ---- splits ---------------------------------------------------------------------------------- */

/* A piece of work. Times are of any unit, finite and not negative. */
typedef struct tessera_split_node {
  double accelerator_time;
  double cpu_time;
  double output_time;   /* to move its output between an accelerator and host memory */
  uint64_t bytes;       /* on an accelerator */
  uint64_t group;       /* nodes of one group stay together */
  int32_t backward;     /* not 0: of the backward pass, and goes where its group goes */
  int32_t cpu_only;     /* not 0: no accelerator can run it */
} tessera_split_node;

/* The node `to` needs the output of the node `from`; both count from 0. */
typedef struct tessera_split_edge {
  size_t from;
  size_t to;
} tessera_split_edge;

typedef struct tessera_split_problem {
  const tessera_split_node* nodes;
  size_t node_count;
  const tessera_split_edge* edges;
  size_t edge_count;
  uint64_t accelerator_bytes; /* of each accelerator */
  uint32_t accelerators;      /* up to 1024 */
  uint32_t cpus;              /* up to 1024 */
  int32_t linear;             /* not 0: cut only along one order of the graph: quick */
} tessera_split_problem;

typedef struct tessera_split_part {
  double load;
  uint64_t bytes;
  uint64_t nodes;   /* how many */
} tessera_split_part;

/* Splits the graph over the devices so that the largest load of one is the smallest possible with
 * contiguous parts. An accelerator's load is the time of its nodes, of each output that it sends,
 * and of each that it receives; a CPU's is the time of its nodes. `part_of` has room for every
 * node: its device, accelerators first, then CPUs. `parts` has room for every device. May take
 * seconds.
 * Errors: INVALID_ARGUMENT; NOT_SUPPORTED for a graph with more than 60000 cuts: set `linear`;
 * OUT_OF_MEMORY when no split fits. */
TESSERA_API tessera_result tessera_plan_split(const tessera_split_problem* problem,
                                              uint32_t* part_of, tessera_split_part* parts,
                                              double* load);

#ifdef __cplusplus
}
#endif

#endif
