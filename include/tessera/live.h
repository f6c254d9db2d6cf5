/* The page on which a running process publishes its statistics for `tessera top`.
 *
 * It is a memory file named TESSERA_LIVE_NAME, which a reader of the same user finds as a link in /proc/PID/fd
 * and maps. So nothing is left when the process ends, however it ends. The process writes only while there is a
 * reader: a reader sets the time until which it is watching.
 *
 * There is one writer. `sequence` is odd while it writes; a reader that finds it odd, or changed after reading,
 * reads again. All words after `magic` and `pid` are accessed as atomics, words of `text` with acquire and
 * release, so that no fence is needed.
 *
 * Thread safety: as described above, also between processes. */
#ifndef TESSERA_LIVE_H
#define TESSERA_LIVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_LIVE_NAME "tessera-live"
#define TESSERA_LIVE_MAGIC 0x314556494c534554ull /* "TESLIVE1" */
#define TESSERA_LIVE_WORDS 8186

typedef struct tessera_live {
  uint64_t magic;
  int64_t pid; /* of the writer: a child of fork has the file too */
  uint64_t sequence;
  uint64_t watched_until_ns; /* CLOCK_MONOTONIC; the only word that readers write */
  uint64_t written_ns;       /* CLOCK_MONOTONIC time of the latest text */
  uint64_t text_bytes;       /* 0 before the first; the output of tessera_stats_json */
  uint64_t text[TESSERA_LIVE_WORDS];
} tessera_live;

#ifdef __cplusplus
}
#endif

#endif
