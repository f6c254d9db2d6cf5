#!/bin/sh
# Two programs on one GPU, one with twice the share of the host memory; then one sleeps, so that the other has the device.
#   two_programs.sh PROGRAM [arguments]      both run the same program
set -eu
export TESSERA_NODE="two-programs-$$" TESSERA_NODE_HOST_MEMORY="${HOST_MEMORY:-50%}"

tessera run --device-memory "${EACH:-45%}" --node-weight 200 --stats first.json -- "$@" & first=$!
tessera run --device-memory "${EACH:-45%}" --node-weight 100 --stats second.json -- "$@" & second=$!
# Each is listed as soon as it uses the device.
listed=0
while [ "$listed" -lt 2 ] && kill -0 $first && kill -0 $second; do
  table=$(tessera top --once)
  listed=$(echo "$table" | grep -c -e "^ *$first " -e "^ *$second " || true)
done 2>/dev/null
echo "${table:-}"
tessera sleep $first || true # it may have ended by now
tessera wake $first || true
wait $first
wait $second
echo "both programs ended"
