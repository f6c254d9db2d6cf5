"""Holds the include table of alloc/README.md: calls go down, and only through front headers."""

import re

import source_tree

ORDER = ["fuzz", "replay", "api", "simulate", "block", "page", "residency", "tier", "driver", "observe", "base"]
FRONTS = {
    "block": "block/block_cache.hpp",
    "page": "page/page_manager.hpp",
    "residency": "residency/residency.hpp",
    "tier": "tier/tier_stack.hpp",
    "driver": "driver/driver.hpp",
    "policy": "policy/policy.hpp",
    "plan": "plan/planner.hpp",
}
# Free to include: their headers are values and tools, not layers with a front.
OPEN = {"base", "observe"}
# The side rooms are pure: what they may see besides themselves and base.
SIDE = {"learn": set(), "policy": {"learn"}, "plan": {"policy"}}
# Allocations repeat as launches do, and share runs by plan.
BLOCK_LEARNS = {"learn/allocation_row.hpp", "learn/moved_block.hpp", "learn/period_place.hpp", "plan/planner.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


# These put a machine together: they see all headers of the rooms below, and fuzz no replay.
ASSEMBLERS = {"fuzz": 1, "replay": 1, "api": 2, "simulate": 3}


def layer_allows(layer, target, header):
    if target == layer or target == "base":
        return True
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
    if target in SIDE:
        return layer == "residency" or (layer == "block" and header in BLOCK_LEARNS)
    if layer not in ORDER or target not in ORDER:
        return False
    return ORDER.index(target) > ORDER.index(layer) and header == FRONTS[target]


def shim_allows(room, target, header):
    """A shim uses the public headers alone; softcuda is a device, so it stands on the driver."""
    return room == "softcuda" and target in ("driver", "base")


def layers(root):
    alloc = root / "alloc"
    return {entry.name for entry in alloc.iterdir() if entry.is_dir()} if alloc.is_dir() else set()


def check(root):
    findings, known = [], layers(root)
    for path in source_tree.files(root, ".hpp", ".cpp", ".h", under=("alloc", "shim")):
        parts = path.relative_to(root).parts
        where = source_tree.name(root, path)
        if parts[0] == "alloc" and (len(parts) < 3 or parts[1] not in set(ORDER) | set(SIDE)):
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
            elif parts[0] == "shim" and not shim_allows(parts[1], target, header):
                findings.append(f"{where}:{number}: shim/{parts[1]}/ may not include {header}")
    return findings


BAD = [
    {"alloc/tier/a.cpp": '#include "residency/residency.hpp"\n', "alloc/residency/residency.hpp": ""},
    {"alloc/page/a.cpp": '#include "tier/frame_pool.hpp"\n', "alloc/tier/frame_pool.hpp": ""},
    {"alloc/policy/a.cpp": '#include "driver/driver.hpp"\n', "alloc/driver/driver.hpp": ""},
    {"alloc/block/a.cpp": '#include "policy/policy.hpp"\n', "alloc/policy/policy.hpp": ""},
    {"shim/preload/a.cpp": '#include "base/status.hpp"\n', "alloc/base/status.hpp": ""},
    {"alloc/simulate/a.cpp": '#include "api/options.hpp"\n', "alloc/api/options.hpp": ""},
    {"alloc/stray/a.cpp": ""},
]
GOOD = [
    {"alloc/page/a.cpp": '#include "tier/tier_stack.hpp"\n', "alloc/tier/tier_stack.hpp": ""},
    {"alloc/residency/a.cpp": '#include "plan/planner.hpp"\n', "alloc/plan/planner.hpp": ""},
    {"alloc/simulate/a.cpp": '#include "driver/sim_driver.hpp"\n', "alloc/driver/sim_driver.hpp": ""},
    {"shim/softcuda/a.cpp": '#include "driver/sim_driver.hpp"\n', "alloc/driver/sim_driver.hpp": ""},
]

if __name__ == "__main__":
    source_tree.main(__name__)
