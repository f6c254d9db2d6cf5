#!/bin/sh
# Packs what a GPU machine needs into one relocatable folder, build/tessera-gpu, and its tar: the
# release programs, the tests that ask a driver, and bench/gpu with its probes and scripts.
# With nvcc at hand the kernels are compiled for the GPU too.
set -eu
jobs=${1:-2}
largest=60  # MiB
kernels=OFF
if command -v nvcc >/dev/null 2>&1 || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
  kernels=ON
fi
cmake --preset gpu -DTESSERA_GPU_KERNELS=$kernels
cmake --build --preset gpu -j"$jobs" --target gpu_bundle_files

bundle=build/tessera-gpu
rm -rf "$bundle" "$bundle.tar.gz"
mkdir -p "$bundle/tests" "$bundle/bench/gpu" "$bundle/bench/traces" "$bundle/python"
cp -a build/gpu/bin build/gpu/lib "$bundle/"
# Test programs that stand in for a library of the GPU machine, or that a sanitizer was linked into.
(cd "$bundle/lib/tessera" && rm -rf nccl nccl_* cublaslt thin checked)
for test in contract_cuda_driver_contract_test c_api_tessera_test c_api_readme_example; do
  cp "build/gpu/tests/$test" "$bundle/tests/"
done
find build/gpu/bench/gpu -maxdepth 1 -type f \( -perm -u+x -o -name '*.fatbin' -o -name '*.ptx' -o -name '*.so' \) \
  -exec cp {} "$bundle/bench/gpu/" \;
cp -R bench/gpu/run.sh bench/gpu/*.py bench/gpu/sections bench/gpu/programs "$bundle/bench/gpu/"
cp bench/traces/*.py "$bundle/bench/traces/"
cp -R shim/python/tessera "$bundle/python/"
cp -R include "$bundle/"  # for the listener of PyTorch's allocator, which is compiled there
find "$bundle" -name __pycache__ -prune -exec rm -rf {} +
git describe --always --dirty >"$bundle/COMMIT" 2>/dev/null || echo unknown >"$bundle/COMMIT"

# Libraries of the build machine that a bare machine may lack lie next to ours. The C++ runtime does
# not: it is inside each file, and a program whose Python is newer than ours must find its own.
programs=$(find "$bundle" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh')
for program in $programs; do
  ldd "$program" 2>/dev/null | sed -n 's/^[[:space:]]*[^ ]* => \(\/[^ ]*\) .*/\1/p'
done | grep -vE "$bundle|/(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda)|ld-linux[^/]*)\.so" | sort -u |
  while read -r library; do cp -L "$library" "$bundle/lib/"; done
for program in $programs; do strip --strip-debug "$program" 2>/dev/null || true; done

# Moved, it must still run, and ask only for what every Linux machine with a driver has.
moved=$(mktemp -d)
trap 'rm -rf "$moved"' EXIT
cp -a "$bundle" "$moved/"
missing=$(for program in $(find "$moved" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh'); do
  ldd "$program" 2>/dev/null | grep 'not found' | grep -v libcuda.so.1 || true
done)
shared_runtime=$(for program in $(find "$moved" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh'); do
  readelf --dynamic "$program" 2>/dev/null | grep -qE 'NEEDED.*lib(stdc\+\+|gcc_s)' && echo "$program" || true
done)
if [ -n "$shared_runtime" ]; then
  echo "gpu_bundle.sh: these need the system's C++ runtime: $shared_runtime" >&2
  exit 1
fi
if [ -n "$missing" ]; then
  echo "gpu_bundle.sh: libraries are missing: $missing" >&2
  exit 1
fi
"$moved/tessera-gpu/bin/tessera" run --software -- "$moved/tessera-gpu/lib/tessera/vector_add" \
  "$moved/tessera-gpu/lib/tessera/vector_add_kernels.so"
sh "$moved/tessera-gpu/bench/gpu/run.sh" --software --only facts,probes,contract --out "$moved/out" |
  tail -6

size=$(du -sm "$bundle" | cut -f1)
if [ "$size" -ge "$largest" ]; then
  echo "gpu_bundle.sh: $bundle has $size MiB; it must stay under $largest" >&2
  exit 1
fi
tar -czf "$bundle.tar.gz" -C build tessera-gpu
du -sh "$bundle" "$bundle.tar.gz"
