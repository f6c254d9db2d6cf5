#!/bin/sh
# Strips the programs and libraries below a folder, and keeps their debug symbols apart, by build id, as gdb looks for
# them: (gdb) set debug-file-directory TARGET
#   split_debug.sh FOLDER TARGET     leaves TARGET/.build-id/xx/yyyy.debug
set -eu
folder=$1 target=$2

find "$folder" -type f | LC_ALL=C sort | while read -r file; do
  id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: *//p')
  [ -n "$id" ] || continue
  # Kernels that were compiled without have none.
  if readelf -S --wide "$file" | grep -q '\.debug_info'; then
    rest=${id#??}
    apart="$target/.build-id/${id%"$rest"}"
    mkdir -p "$apart"
    objcopy --only-keep-debug "$file" "$apart/$rest.debug"
  fi
  strip "$file"
done
