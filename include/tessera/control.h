/* The socket on which a running process accepts `tessera sleep` and `tessera wake`.
 *
 * It is in a folder of its user and is named for the process: its number, the namespace of that number, and its
 * start time. So programs in containers that share a folder do not collide, and a reused process number does
 * not address another program.
 *
 * Thread safety: any thread. */
#ifndef TESSERA_CONTROL_H
#define TESSERA_CONTROL_H

#include <stdint.h>

#include "tessera/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_CONTROL_END ".sock"
#define TESSERA_CONTROL_NAME_BYTES 64

typedef struct tessera_process_identity {
  int64_t pid;            /* in its own namespace */
  uint64_t pid_namespace; /* inode of /proc/PID/ns/pid; 0 if unknown */
  uint64_t start_ticks;   /* field 22 of /proc/PID/stat, in clock ticks since boot */
} tessera_process_identity;

/* The identity of the process that this one knows as `pid`; 0 is this one. Errors: TESSERA_NOT_FOUND if /proc
 * has no such process. */
TESSERA_API tessera_result tessera_process_identity_of(int64_t pid, tessera_process_identity* identity);

/* Writes the name of its socket. REQUIRES: `name` has TESSERA_CONTROL_NAME_BYTES bytes. */
TESSERA_API void tessera_control_name(const tessera_process_identity* identity, char* name);

#ifdef __cplusplus
}
#endif

#endif
