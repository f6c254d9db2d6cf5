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
  char job[40];                /* that it is a part of, cut; "" for none */
} tessera_node_program;

typedef enum tessera_node_turn {
  TESSERA_NODE_TURN_NONE = 0, /* programs use the device at the same time, or this one does not need it now */
  TESSERA_NODE_TURN_HAS,      /* the device is this program's, until its time slice is over and another waits */
  TESSERA_NODE_TURN_WAITS     /* it waits for its turn */
} tessera_node_turn;

/* A program's share of a device that programs of the ledger share. */
typedef struct tessera_node_device_program {
  char device[40];        /* its UUID as 32 hexadecimal digits */
  int64_t pid;            /* in its own namespace */
  uint64_t pid_namespace; /* as above */
  char name[24];          /* of the program, cut */
  uint32_t weight;
  uint32_t active; /* 1: it has used the device in the last second, or waits for its turn; 0: it is idle */
  tessera_node_turn turn;
  uint32_t reserved;
  uint64_t total;        /* memory of the device */
  uint64_t budget;       /* what its programs may hold together; 0 where this one is alone */
  uint64_t held;         /* by this one */
  uint64_t wanted;       /* no less than held */
  uint64_t share;        /* what it may hold now, as it last found a quarter of a second ago at most */
  uint64_t limit;        /* what it may hold at most; 0 for a moment after its start */
  uint64_t turns;        /* that it has had */
  uint64_t turn_left_ns; /* of its time slice, where it has its turn */
  uint64_t waited_ns;    /* by calls, for its turns, added up over threads */
} tessera_node_device_program;

/* The living programs of the ledger `name`, in the order of their ids, and the budgets of all together (0: none is set;
 * of `writes`, what programs that have ended wrote is taken off). `count` is set to how many there are; up to
 * `capacity` are written, and `programs` may be NULL if that is 0. Errors: NOT_FOUND if there is no such ledger;
 * INVALID_ARGUMENT for an impossible name; BUSY, DATA_LOSS, IO. */
TESSERA_API tessera_result tessera_node_programs(const char* name, tessera_node_program* programs, size_t capacity,
                                                 size_t* count, tessera_node_amounts* budgets);
/* The living programs that share devices, device by device, with `count` and `capacity` as above. Errors: as above, but
 * OK and none if there is no ledger of a device. */
TESSERA_API tessera_result tessera_node_device_programs(const char* name, tessera_node_device_program* programs,
                                                        size_t capacity, size_t* count);
/* Sets the weight of a program, also for devices, which it takes over when it next looks, within a quarter of a second
 * if it shares anything. `pid` is in the caller's namespace. Errors: as above; NOT_FOUND also if the program has no
 * row; INVALID_ARGUMENT for a weight that is not 1 to 10000. */
TESSERA_API tessera_result tessera_node_set_weight(const char* name, int64_t pid, uint32_t weight);

/* Sets what a program may hold at most of the devices whose UUID begins with `device` ("": of all), from 32 MiB to what
 * the device has, or 0 for what it was started with. It takes it over within a quarter of a second, and evicts what is
 * above. `pid` as above. Errors: as above; NOT_FOUND also if it shares no such device; INVALID_ARGUMENT, also where one
 * device of several does not allow it: the limit may be set on the devices before it. */
TESSERA_API tessera_result tessera_node_set_device_limit(const char* name, int64_t pid, const char* device,
                                                         uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
