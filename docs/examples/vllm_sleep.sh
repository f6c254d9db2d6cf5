#!/bin/sh
# Two vLLM servers on one GPU: one sleeps in host memory while the other serves.
#   vllm_sleep.sh MODEL OTHER_MODEL
set -eu
first=$1 second=$2

serve() { tessera run --host-memory 100GiB -- vllm serve "$1" --port "$2" --gpu-memory-utilization 0.9; }
wait_for() { until curl --silent --fail "http://127.0.0.1:$1/health" >/dev/null; do sleep 2; done; }
ask() {
  curl --silent "http://127.0.0.1:$2/v1/completions" --header 'Content-Type: application/json' \
    --data "{\"model\": \"$1\", \"prompt\": \"A tessera is\", \"max_tokens\": 16}"
  echo
}

serve "$first" 8000 & first_pid=$!
trap 'kill $first_pid ${second_pid:-}' EXIT
wait_for 8000
ask "$first" 8000
# The programs of vLLM are children of the one that was started: `tessera top` lists which of them hold device memory.
for pid in $first_pid $(pgrep --parent $first_pid); do tessera sleep "$pid" || true; done

serve "$second" 8001 & second_pid=$!
wait_for 8001
ask "$second" 8001
for pid in $second_pid $(pgrep --parent $second_pid); do tessera sleep "$pid" || true; done

# A request fetches what it needs; `tessera wake` fetches all of it at once, at the speed of the link.
ask "$first" 8000
