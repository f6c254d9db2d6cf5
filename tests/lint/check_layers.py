"""Holds the include table of alloc/README.md: calls go down, and only through front headers."""

import re

import source_tree

ORDER = ["lab", "api", "sim", "block", "page", "residency", "tier", "driver", "node", "observe",
         "base"]
FRONTS = {
    "block": "block/block_cache.hpp",
    "page": "page/page_manager.hpp",
    "residency": "residency/residency.hpp",
    "tier": "tier/tier_stack.hpp",
    "driver": "driver/driver.hpp",
    "policy": "policy/policy.hpp",
}
# Free to include: their headers are values and tools, not layers with a front.
OPEN = {"base", "observe"}
# Pure: what they may see besides themselves and base.
SIDE = {"planning": set(), "policy": {"planning"}}
# Allocations repeat as launches do, and share runs by plan.
BLOCK_PLANS = {f"planning/{name}.hpp" for name in ("allocation_row", "moved_block", "period_place", "shared_runs")}
# These put a machine together: they see all headers of the layers below.
ASSEMBLERS = {"lab": 0, "api": 1, "sim": 2}
# The rooms of the laboratory, and those of each that another may include: fuzz includes no replay.
LAB_ROOMS = {"arena", "fuzz", "published", "replay"}
# Inside residency/, top to bottom; the files of the folder itself are the front and share one rank.
RESIDENCY_ROOMS = ["", "iteration", "eviction", "pages", "streams"]
# Headers of the front that are values, which the rooms below include too.
RESIDENCY_VALUES = {"residency/engine.hpp", "residency/residency_options.hpp", "residency/residency_stats.hpp",
                    "residency/held_uses.hpp", "residency/use.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The folder below the layer, or nothing."""
    parts = path.split("/")
    return parts[1] if len(parts) == 3 else ""


def room_allows(layer, source, header):
    own, other = room_of(source), room_of(header)
    if own == other:
        return True
    if layer == "lab":
        return False
    if layer == "residency":
        return RESIDENCY_ROOMS.index(other) > RESIDENCY_ROOMS.index(own) or header in RESIDENCY_VALUES
    return True


def has_room(parts):
    """parts: of the path, from alloc/ on."""
    rooms = {"lab": LAB_ROOMS, "residency": set(RESIDENCY_ROOMS) - {""}}.get(parts[1], set())
    return (len(parts) == 4 and parts[2] in rooms) or (len(parts) == 3 and parts[1] != "lab")


def layer_allows(layer, target, header):
    if target == layer or target == "base":
        return True
    if target == "node":
        return layer in ("api", "lab")
    if layer in ASSEMBLERS and (target not in ORDER or ORDER.index(target) > ASSEMBLERS[layer]):
        return True
    if layer == "base":
        return False
    if layer == "observe":
        return False
    if layer in SIDE:
        return target in SIDE[layer]
    if target in OPEN:
        return True
    if layer == "node":
        return False
    if target in SIDE:
        return layer == "residency" or (layer == "block" and header in BLOCK_PLANS)
    if layer not in ORDER or target not in ORDER:
        return False
    return ORDER.index(target) > ORDER.index(layer) and header == FRONTS.get(target)


def shim_allows(room, target, header):
    """A shim uses the public headers alone; softcuda is a device, so it is built on the simulated one.
    Its processes are known as the ledger knows them."""
    return room == "softcuda" and (target in ("sim", "driver", "base") or header == "node/process.hpp")


def layers(root):
    alloc = root / "alloc"
    return {entry.name for entry in alloc.iterdir() if entry.is_dir()} if alloc.is_dir() else set()


def check(root):
    findings, known = [], layers(root)
    for path in source_tree.files(root, ".hpp", ".cpp", ".h", under=("alloc", "shim")):
        parts = path.relative_to(root).parts
        where = source_tree.name(root, path)
        if parts[0] == "alloc" and (len(parts) < 3 or parts[1] not in set(ORDER) | set(SIDE) or not has_room(parts)):
            findings.append(f"{where}: not in a layer of the include table")
            continue
        for number, line in enumerate(source_tree.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(2)
            target = header.split("/")[0]
            if header.startswith("alloc/"):
                findings.append(f"{where}:{number}: write {header[6:]}, the layer is the first word")
            elif target not in known or "/" not in header:
                continue
            elif parts[0] == "alloc" and not layer_allows(parts[1], target, header):
                findings.append(f"{where}:{number}: {parts[1]}/ may not include {header}")
            elif parts[0] == "alloc" and target == parts[1] and not room_allows(target, where[6:], header):
                findings.append(f"{where}:{number}: {'/'.join(parts[1:-1])}/ may not include {header}")
            elif parts[0] == "shim" and not shim_allows(parts[1], target, header):
                findings.append(f"{where}:{number}: shim/{parts[1]}/ may not include {header}")
    return findings


BAD = [
    {"alloc/tier/a.cpp": '#include "residency/residency.hpp"\n', "alloc/residency/residency.hpp": ""},
    {"alloc/page/a.cpp": '#include "tier/frame_pool.hpp"\n', "alloc/tier/frame_pool.hpp": ""},
    {"alloc/policy/a.cpp": '#include "driver/driver.hpp"\n', "alloc/driver/driver.hpp": ""},
    {"alloc/block/a.cpp": '#include "policy/policy.hpp"\n', "alloc/policy/policy.hpp": ""},
    {"shim/preload/a.cpp": '#include "base/status.hpp"\n', "alloc/base/status.hpp": ""},
    {"alloc/sim/a.cpp": '#include "api/options.hpp"\n', "alloc/api/options.hpp": ""},
    {"alloc/api/a.cpp": '#include "lab/replay/trace.hpp"\n', "alloc/lab/replay/trace.hpp": ""},
    {"alloc/lab/fuzz/a.cpp": '#include "lab/replay/trace.hpp"\n', "alloc/lab/replay/trace.hpp": ""},
    {"alloc/residency/pages/a.cpp": '#include "residency/eviction/transfers.hpp"\n',
     "alloc/residency/eviction/transfers.hpp": ""},
    {"alloc/residency/streams/a.cpp": '#include "residency/residency.hpp"\n', "alloc/residency/residency.hpp": ""},
    {"alloc/tier/a.cpp": '#include "node/ledger.hpp"\n', "alloc/node/ledger.hpp": ""},
    {"alloc/node/a.cpp": '#include "driver/driver.hpp"\n', "alloc/driver/driver.hpp": ""},
    {"alloc/stray/a.cpp": ""},
    {"alloc/lab/a.cpp": ""},
    {"alloc/tier/room/a.cpp": ""},
]
GOOD = [
    {"alloc/page/a.cpp": '#include "tier/tier_stack.hpp"\n', "alloc/tier/tier_stack.hpp": ""},
    {"alloc/lab/replay/a.cpp": '#include "api/options.hpp"\n', "alloc/api/options.hpp": ""},
    {"alloc/residency/eviction/a.cpp": '#include "residency/pages/page_mover.hpp"\n#include "residency/engine.hpp"\n',
     "alloc/residency/pages/page_mover.hpp": "", "alloc/residency/engine.hpp": ""},
    {"alloc/sim/a.cpp": '#include "sim/sim_driver.hpp"\n', "alloc/sim/sim_driver.hpp": ""},
    {"alloc/api/a.cpp": '#include "node/ledger.hpp"\n#include "base/clock.hpp"\n', "alloc/node/ledger.hpp": "",
     "alloc/base/clock.hpp": ""},
    {"alloc/lab/replay/a.cpp": '#include "node/ledger_file.hpp"\n', "alloc/node/ledger_file.hpp": ""},
    {"alloc/node/a.cpp": '#include "base/clock.hpp"\n', "alloc/base/clock.hpp": ""},
    {"shim/softcuda/a.cpp": '#include "sim/sim_driver.hpp"\n', "alloc/sim/sim_driver.hpp": ""},
]

if __name__ == "__main__":
    source_tree.main(__name__)
