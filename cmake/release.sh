#!/bin/sh
# Builds all that a release has from a tag of this repository, and prints the checksums.
#   release.sh TAG TARGET     leaves the files and SHA256SUMS in TARGET
#   release.sh --check TAG    only checks that the tag may be released
# The tag is v and the version in include/tessera/version.h, and CHANGELOG.md has a section with a date for it. Files that are
# not committed do not get in: everything is built from a checkout of the tag.
set -eu
umask 022
source=$(cd "$(dirname "$0")/.." && pwd)
only_check=""
if [ "${1:-}" = --check ]; then only_check=1; shift; fi
tag=${1:?usage: release.sh [--check] TAG [TARGET]}
target=${2:-}
[ -n "$only_check$target" ] || { echo "usage: release.sh TAG TARGET" >&2; exit 2; }
# As seen from here: everything after is done in a folder that goes away.
case $target in /*) ;; *) target=$PWD/$target ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "release.sh: $*" >&2; exit 1; }
commit=$(git -C "$source" rev-parse --verify --quiet "refs/tags/$tag^{commit}") || fail "there is no tag $tag"
git -C "$source" archive --prefix=source/ "$commit" | tar -x -C "$work"
cd "$work/source"
version=$(sed -n 's/.*TESSERA_VERSION_STRING "\(.*\)"/\1/p' include/tessera/version.h)
[ "$tag" = "v$version" ] || fail "the tag is $tag, and the version in include/tessera/version.h is $version"
grep -q "^## \[$version\] - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\$" CHANGELOG.md ||
  fail "CHANGELOG.md has no section \"## [$version] - DATE\""
[ -z "$only_check" ] || exit 0

mkdir -p "$target"
# Times in the files are those of the commit.
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
git -C "$source" archive --prefix="tessera-$version/" --format=tar "$commit" | gzip -n >"$target/tessera-$version.tar.gz"
sh cmake/wheel.sh . "$target"
cmake --preset release -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_BENCH=OFF
cmake --build --preset release --target demo_files
(cd build/release && cpack -G DEB -B "$target")
rm -rf "$target/_CPack_Packages"
sh docs/site/build.sh "$work/docs-tools" "$work/tessera-docs-$version"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -c "tessera-docs-$version" |
  gzip -n >"$target/tessera-docs-$version.tar.gz"
cd "$target"
sha256sum "tessera-$version.tar.gz" "tessera-docs-$version.tar.gz" tessera_cuda-"$version"* tessera-cuda*_"$version"* |
  tee SHA256SUMS
