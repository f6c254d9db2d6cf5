#!/bin/sh
# Asks a GPU machine everything that matters here, in under nine minutes; docs/hardware.md explains.
# It needs python3, and for the sections about frameworks the frameworks.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
exec "${PYTHON:-python3}" -u -B "$here/run.py" "$@"
