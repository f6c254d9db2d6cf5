#!/bin/sh
# Installs what is missing from Debian's packages, and nothing when nothing is missing.
#   install_packages.sh SET...             sets: build check long bench
#   install_packages.sh --check SET...     installs nothing: fails if something is missing
set -eu
only_check=""
if [ "${1:-}" = --check ]; then only_check=1; shift; fi
build="build-essential cmake ninja-build python3 dpkg-dev bzip2 xz-utils libfmt-dev libcli11-dev
  nlohmann-json3-dev libxxhash-dev liburing-dev libzstd-dev zlib1g-dev libgtest-dev libgmock-dev libbenchmark-dev"
check="clang-14 clang-tidy-14 clang-format-14 lld pkg-config python3-venv valgrind chromium-headless-shell
  man-db mandoc fish zsh"
long="debootstrap"
bench="fio libmimalloc2.0 python3-venv"

missing=""
for set_name in "$@"; do
  eval "wanted=\$$set_name"
  for package in $wanted; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    case $state in "install ok installed"*) continue ;; esac
    missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0
if [ -n "$only_check" ]; then
  echo "missing Debian packages:$missing" >&2
  echo "this installs them: make deps" >&2
  exit 1
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  as_root=sudo
  if ! command -v sudo >/dev/null 2>&1; then
    echo "missing Debian packages, and neither root nor sudo to install them:$missing" >&2
    exit 1
  fi
fi
echo "installing from Debian:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q update
$as_root apt-get -q install -y --no-install-recommends $missing || {
  echo "could not install:$missing" >&2
  exit 1
}
