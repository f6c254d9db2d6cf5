#!/bin/sh
# ComfyUI with models that do not fit on the device together.
#   comfyui.sh FOLDER_OF_COMFYUI [options of main.py]
set -eu
cd "$1"
shift
# Without its own manager of weights, and with all models left on the device: docs/comfyui.md says why.
exec tessera run --host-memory 100GiB --file-dir /var/tmp --stats comfyui.json -- \
  python main.py --disable-dynamic-vram --highvram "$@"
