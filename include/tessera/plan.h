/* Offline plans: memory plans for blocks with known lifetimes, and splits of a graph over devices.
 *
 * In libtessera_lab. Needs no device and no allocator: records in, figures and offsets out. The conventions of
 * tessera.h hold; tessera_plan_last_error() describes failures.
 * `tessera plan` is the reference user.
 *
 * Thread safety: all functions may be called from any thread; none retains its arguments. */
#ifndef TESSERA_PLAN_H
#define TESSERA_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/export.h"
#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block: its bytes, and the first and last step that need it, both inclusive. Steps are any ascending numbers
 * below 2^63: ops, layers, times. The total of all bytes is below 2^63. */
typedef struct tessera_plan_record {
  uint64_t bytes;
  uint64_t first;
  uint64_t last;
} tessera_plan_record;

/* The bytes that each planner needs for the same records. */
typedef struct tessera_arena_figures {
  uint32_t size;
  uint64_t naive_bytes;        /* without any sharing */
  uint64_t offset_lower_bound; /* a bound for any plan with offsets in one arena */
  uint64_t offset_greedy_by_size;
  uint64_t offset_greedy_by_breadth;
  uint64_t offset_best_fit;
  uint64_t shared_lower_bound; /* a bound for any plan with objects reused as a whole */
  uint64_t shared_greedy_by_size;
  uint64_t shared_improved;
  uint64_t shared_by_breadth;
} tessera_arena_figures;

/* Runs every planner. The time is nearly linear in `count` while few records are live at once. Errors:
 * INVALID_ARGUMENT for a record that ends before it begins, or is too large. */
TESSERA_API tessera_result tessera_plan_arena(const tessera_plan_record* records, size_t count,
                                              tessera_arena_figures* figures);

/* Places the records in one arena with the offset planner that needs the least memory: `offsets` has room for
 * `count` entries, `total` receives the size of the arena. Errors: as tessera_plan_arena. */
TESSERA_API tessera_result tessera_plan_offsets(const tessera_plan_record* records, size_t count, uint64_t* offsets,
                                                uint64_t* total);

/* The calling thread's last error of this header's functions, "" if none; valid until its next call. */
TESSERA_API const char* tessera_plan_last_error(void);

/* ---- splits ---------------------------------------------------------------------------------- */

/* A unit of work. Times are in any unit, finite and not negative. */
typedef struct tessera_split_node {
  double accelerator_time;
  double cpu_time;
  double output_time; /* time to move its output between an accelerator and host memory */
  uint64_t bytes;     /* memory on an accelerator */
  uint64_t group;     /* nodes of one group stay together */
  int32_t backward;   /* not 0: part of the backward pass, placed with its group */
  int32_t cpu_only;   /* not 0: no accelerator can run it */
} tessera_split_node;

/* Node `to` reads the output of node `from`; both count from 0. */
typedef struct tessera_split_edge {
  size_t from;
  size_t to;
} tessera_split_edge;

typedef struct tessera_split_problem {
  const tessera_split_node* nodes;
  size_t node_count;
  const tessera_split_edge* edges;
  size_t edge_count;
  uint64_t accelerator_bytes; /* per accelerator */
  uint32_t accelerators;      /* up to 1024 */
  uint32_t cpus;              /* up to 1024 */
  int32_t linear;             /* not 0: consider only cuts along one order of the graph; fast */
} tessera_split_problem;

typedef struct tessera_split_part {
  double load;
  uint64_t bytes;
  uint64_t nodes; /* number of nodes */
} tessera_split_part;

/* Splits the graph over the devices so that the maximum load is minimal among contiguous splits. An
 * accelerator's load is the time of its nodes plus that of each output it sends and of each it receives; a
 * CPU's load is the time of its nodes. `part_of` has room for every node and receives its device, accelerators
 * first, then CPUs. `parts` has room for every device. May take seconds. Errors: INVALID_ARGUMENT;
 * NOT_SUPPORTED for a graph with more than 60000 cuts: set `linear`; OUT_OF_MEMORY if no split fits. */
TESSERA_API tessera_result tessera_plan_split(const tessera_split_problem* problem, uint32_t* part_of,
                                              tessera_split_part* parts, double* load);

#ifdef __cplusplus
}
#endif

#endif
