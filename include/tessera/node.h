/* What the programs of a ledger hold of the machine: for tools that show it and change weights.
 *
 * The ledger is a file of this user (docs/several-programs.md). These calls join it as no program, and need no
 * allocator.
 *
 * Thread safety: any thread. */
#ifndef TESSERA_NODE_H
#define TESSERA_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of one resource: of a program, or the budget of all of them. */
typedef struct tessera_node_amounts {
  uint64_t host;   /* pinned host memory */
  uint64_t file;   /* spill files */
  uint64_t writes; /* written to spill files */
} tessera_node_amounts;

typedef struct tessera_node_program {
  int64_t pid;            /* in its own namespace */
  uint64_t pid_namespace; /* inode of /proc/PID/ns/pid; 0 if unknown */
  char name[24];          /* of the program, cut */
  uint32_t weight;
  uint32_t reserved;
  tessera_node_amounts held;   /* granted to it, in pieces ahead of need */
  tessera_node_amounts wanted; /* no less than held */
  tessera_node_amounts share;  /* what it may hold now */
} tessera_node_program;

/* The living programs of the ledger `name`, in the order of their ids, and the budgets of all together (0: none is set;
 * of `writes`, what programs that have ended wrote is taken off). `count` is set to how many there are; up to
 * `capacity` are written, and `programs` may be NULL if that is 0. Errors: NOT_FOUND if there is no such ledger;
 * INVALID_ARGUMENT for an impossible name; BUSY, DATA_LOSS, IO. */
TESSERA_API tessera_result tessera_node_programs(const char* name, tessera_node_program* programs, size_t capacity,
                                                 size_t* count, tessera_node_amounts* budgets);
/* Sets the weight of a program, which it takes over when it next looks, within a quarter of a second if it shares
 * anything. `pid` is in the caller's namespace. Errors: as above; NOT_FOUND also if the program has no row;
 * INVALID_ARGUMENT for a weight that is not 1 to 10000. */
TESSERA_API tessera_result tessera_node_set_weight(const char* name, int64_t pid, uint32_t weight);

#ifdef __cplusplus
}
#endif

#endif
