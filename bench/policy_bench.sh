#!/bin/sh
# Re-creates the policy benchmark: the traces of the twelve families, every policy, four budgets.
#
# Usage: policy_bench.sh BUILD_FOLDER [OUT_FOLDER [all]]     (a release build; OUT_FOLDER is bench/results)
# With `all` the other policy benchmarks and what docs/policy-benchmark.md tells beside them follow.
# docs/policy-benchmark.md explains what comes out. It takes both cores of a small machine for a quarter of an hour, or for
# some hours.
set -eu

build=$(realpath "$1")
tessera=$build/bin/tessera
traces=$build/policy_bench
out=${2:-$(dirname "$0")/results}
which=${3:-first}
generate="${PYTHON:-python3} $(dirname "$0")/traces/generate.py"
mkdir -p "$traces" "$out"

# One family a line: batches that fill a good part of an A100, one iteration that is played again and
# again. Experts route every batch otherwise, so two of these make a pass.
while read -r model batch iterations; do
  $generate "$model" --batch "$batch" --iterations "$iterations" --gpu A100-80G -o "$traces/$model-b$batch.jsonl"
  set -- "$@" "$traces/$model-b$batch.jsonl"
done <<END
gpt2-medium 16 1
llama3-1b 8 1
bert-base 64 1
t5-small 64 1
vit-b16 256 1
resnet50 256 1
vgg16 256 1
alexnet 512 1
unet 16 1
pipeline-gpt2-small-stage0 16 1
moe-8x7b 64 2
decode-llama3-1b 64 1
END
[ $# -gt 12 ] && shift $(($# - 12))

"$tessera" policy-bench "$@" --budgets 90,70,50,35 --policies all --host-memory 128GiB --iterations 10 \
  --out "$out"
[ "$which" = all ] || exit 0
# What is written to a disk when the host is short as well: a quarter of what is live.
echo
"$tessera" policy-bench "$@" --budgets 50 --policies all --host-budget 25 --file-memory 1TiB --iterations 10 \
  --out "$out/short-host"
# What a device with less to do can lend: a quarter of what is live, over a link of its own.
echo
"$tessera" policy-bench "$@" --budgets 50 --policies all --peer-budget 25 --host-memory 128GiB --iterations 10 \
  --out "$out/peer"
# Steps that PyTorch made (traces/recorded/).
echo
"$tessera" policy-bench "$(dirname "$0")"/traces/recorded/*.jsonl.zst --budgets 90,70,50,35 --policies all --host-memory 128GiB \
  --iterations 10 --out "$out/recorded"
# What `auto` loses when an iteration is not like the others.
echo
${PYTHON:-python3} "$(dirname "$0")/breaks.py" "$build" -o "$out/breaks.json"
# Whether that holds where no two iterations take the same time.
echo
${PYTHON:-python3} "$(dirname "$0")/noise.py" "$build" -o "$out/noise.json"
# Programs whose iterations differ, once each: lengths of sentences that are drawn, or fall into buckets; sizes of
# images; batches; graphs that are sampled; a pass of evaluation after every tenth iteration.
while read -r model batch name variation; do
  # shellcheck disable=SC2086 # several words
  $generate "$model" --batch "$batch" --iterations 40 --gpu A100-80G $variation -o "$traces/$name.jsonl"
  set -- "$@" "$traces/$name.jsonl"
done <<END
bert-base 32 bert-base-lengths --least-length 32
bert-base 32 bert-base-buckets --least-length 32 --buckets 4
resnet50 128 resnet50-sides --least-side 96
gpt2-medium 16 gpt2-medium-batches --least-batch 4
graphsage 8192 graphsage-samples
t5-small 64 t5-small-phases --evaluate-every 10
END
shift $(($# - 6))
echo
"$tessera" policy-bench "$@" --budgets 90,70,50,35 --policies all --host-memory 128GiB --iterations 1 \
  --cpu-seconds 600 --out "$out/varying"
echo
${PYTHON:-python3} "$(dirname "$0")/bounds/sizes_alone.py" "$build" "$@" -o "$out/sizes_alone.json"
# The same as libraries run them: with other kernels at other sizes.
for name in bert-base-lengths gpt2-medium-batches resnet50-sides; do
  ${PYTHON:-python3} "$(dirname "$0")/traces/kernels_by_size.py" "$traces/$name.jsonl" -o "$traces/$name-kernels.jsonl"
  set -- "$@" "$traces/$name-kernels.jsonl"
done
shift $(($# - 3))
echo
"$tessera" policy-bench "$@" --budgets 90,70,50,35 --policies all --host-memory 128GiB --iterations 1 \
  --cpu-seconds 600 --out "$out/chosen-kernels"
# What docs/policy-benchmark.md says of `auto`.
echo
${PYTHON:-python3} "$(dirname "$0")/policy_bench_figures.py" "$out"
