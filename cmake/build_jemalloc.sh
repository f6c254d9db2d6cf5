#!/bin/sh
# Builds jemalloc as a static library that does not replace malloc.
#   build_jemalloc.sh VERSION ROOT COMPILER
# Leaves ROOT/include and ROOT/lib/libjemalloc_pic.a; returns at once when they are there.
# Several build folders may call it together: the first one builds, the others wait.
set -eu
version=$1 root=$2 compiler=$3

mkdir -p "$root"
exec 9>"$root.lock"
flock 9
[ -f "$root/lib/libjemalloc_pic.a" ] && exit 0

work=$(mktemp -d "$root.XXXXXX")
trap 'rm -rf "$work"' EXIT
sh "$(dirname "$0")/fetch_debian_source.sh" jemalloc "$version" "$work/source"

cd "$work/source"
# je_ prefix, no exports, no C++ operators: the host program keeps its own allocator.
# No cache-oblivious padding: a 2 MiB frame takes 2 MiB of its budget, not a page more.
# No initial-exec TLS: the library must load by dlopen into a program that is already running.
CC=$compiler EXTRA_CFLAGS=-g0 ./configure --prefix="$root" --with-jemalloc-prefix=je_ \
  --disable-initial-exec-tls --disable-cache-oblivious --without-export --disable-cxx --with-pic \
  --disable-doc --enable-static --disable-shared
# The archive that we link, and not the other one, which has all files compiled without -fPIC.
make -j"$(nproc)" lib/libjemalloc_pic.a
make install_include
mkdir -p "$root/lib"
# Copied under another name first: a build that is cut off leaves no half library behind.
cp lib/libjemalloc_pic.a "$root/lib/incomplete.a"
mv "$root/lib/incomplete.a" "$root/lib/libjemalloc_pic.a"
