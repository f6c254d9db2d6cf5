#!/bin/sh
# Eight ranks, each with a device, a heap and statistics of its own, that share the machine's pinned host memory.
#   torchrun_ranks.sh SCRIPT [arguments]
set -eu
exec tessera run --node "torchrun-$$" --node-host-memory "${HOST_MEMORY:-50%}" --stats 'stats.%p.json' -- \
  torchrun --nproc-per-node "${RANKS:-8}" "$@"
