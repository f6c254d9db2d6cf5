#!/bin/sh
# Packs the release build for a GPU machine: one relocatable folder, build/tessera-gpu, and its tar.
# With nvcc at hand the kernels are compiled for the GPU too.
set -eu
jobs=${1:-2}
kernels=OFF
if command -v nvcc >/dev/null 2>&1 || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
  kernels=ON
fi
cmake --preset gpu -DTESSERA_GPU_KERNELS=$kernels
cmake --build --preset gpu -j"$jobs"

bundle=build/tessera-gpu
rm -rf "$bundle" "$bundle.tar.gz"
mkdir -p "$bundle"
for part in bin lib tests bench; do
  mkdir -p "$bundle/$part"
done
cp -a build/gpu/bin/. "$bundle/bin/"
cp -a build/gpu/lib/. "$bundle/lib/"
for part in tests bench; do
  find "build/gpu/$part" -maxdepth 1 -type f -perm -u+x -exec cp {} "$bundle/$part/" \;
done
# Every library of the build machine that a bare machine may lack, next to ours.
for program in "$bundle"/bin/* "$bundle"/lib/*.so "$bundle"/tests/* "$bundle"/bench/*; do
  ldd "$program" 2>/dev/null | sed -n 's/^[[:space:]]*[^ ]* => \([^ ]*\) .*/\1/p'
done | grep -E '/lib(stdc\+\+|gcc_s|uring|benchmark|gmock|gtest|fmt)[.-]' | sort -u |
  while read -r library; do cp -L "$library" "$bundle/lib/"; done
find "$bundle" -type f -perm -u+x -exec strip --strip-debug {} + 2>/dev/null || true
tar -czf "$bundle.tar.gz" -C build tessera-gpu
du -sh "$bundle" "$bundle.tar.gz"
