#!/bin/sh
# Fetches one Debian source package, checked against the archive's signatures, as an ordinary user.
#   fetch_debian_source.sh PACKAGE VERSION TARGET
# The machine's own mirrors are used, with deb-src lines in a private copy of the source lists:
# nothing under /etc changes, and apt's own lists stay as they are.
set -eu
package=$1 version=$2 target=$3

private=$(mktemp -d)
trap 'rm -rf "$private"' EXIT
mkdir -p "$private/lists/partial" "$private/cache/archives/partial" "$private/parts" "$private/fetched"

for file in /etc/apt/sources.list.d/*.sources; do
  [ -f "$file" ] || continue
  sed 's/^Types:.*/Types: deb-src/' "$file" >"$private/parts/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -f "$file" ] || continue
  sed -n 's/^deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file" | sort -u \
    >"$private/parts/$(basename "$file" .list).list"
done

apt() {
  apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$private/parts" \
    -o Dir::State::Lists="$private/lists" -o Dir::Cache="$private/cache" -o APT::Sandbox::User= "$@"
}
cd "$private/fetched"
# A third-party list without sources makes update complain; what counts is whether the package comes.
apt update || true
apt --download-only source "$package" || {
  echo "cannot fetch the Debian source package $package: is the network reachable?" >&2
  exit 1
}

archive=$(ls "${package}_${version}".orig.tar.*)
mkdir -p "$target"
tar -xf "$archive" -C "$target" --strip-components=1
