/* Where a running process listens for `tessera sleep` and `tessera wake`.
 *
 * A socket in a folder of its user, named for the process: its number, the namespace of that number, and the time when it
 * started. So programs of containers that share a folder do not take each other's names, and a number that is used
 * again does not lead to another program.
 *
 * Thread safety: any thread.
 */
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
  int64_t pid;             /* as its own namespace counts */
  uint64_t pid_namespace;  /* inode of /proc/PID/ns/pid; 0 where that cannot be asked */
  uint64_t start_ticks;    /* field 22 of /proc/PID/stat, in clock ticks since the machine started */
} tessera_process_identity;

/* Of the process that this one knows as `pid`; 0 is this one. Errors: TESSERA_NOT_FOUND when /proc has no such process. */
TESSERA_API tessera_result tessera_process_identity_of(int64_t pid, tessera_process_identity* identity);

/* The name of its socket. REQUIRES: `name` has TESSERA_CONTROL_NAME_BYTES. */
TESSERA_API void tessera_control_name(const tessera_process_identity* identity, char* name);

#ifdef __cplusplus
}
#endif

#endif
