/* The page on which a running process shows its statistics to `tessera top`.
 *
 * It is a memory file named TESSERA_LIVE_NAME, which a reader of the same user finds as a link in
 * /proc/PID/fd and maps; so nothing is left when the process ends, however it ends. The process
 * writes only while somebody looks: a reader says until when it does.
 *
 * One writer. `sequence` is odd while it writes; a reader that finds it odd, or changed after it has
 * read, reads again. All words after `magic` and `pid` are read and written as atomics: words of
 * `text` with acquire and release, so that no fence is needed.
 *
 * Thread safety: as said above, also between processes.
 */
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
  int64_t pid;                /* the writer's: a child of fork has the file too */
  uint64_t sequence;
  uint64_t watched_until_ns;  /* CLOCK_MONOTONIC; the one word that readers write */
  uint64_t written_ns;        /* CLOCK_MONOTONIC of the newest text */
  uint64_t text_bytes;        /* 0 before the first; what tessera_stats_json gives */
  uint64_t text[TESSERA_LIVE_WORDS];
} tessera_live;

#ifdef __cplusplus
}
#endif

#endif
