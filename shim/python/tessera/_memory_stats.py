"""Tessera's figures by the names of torch.cuda.memory_stats(), where the meaning is the same."""

from typing import Any, Dict

# PyTorch's name -> Tessera's group and figure. "all" is of both sizes of blocks, which only PyTorch divides.
SAME = {
    "requested_bytes.all.current": ("blocks", "live_bytes"),
    "requested_bytes.all.peak": ("blocks", "peak_live_bytes"),
    "allocation.all.current": ("blocks", "live_blocks"),
    "allocation.all.allocated": ("blocks", "allocations"),
    "allocation.all.freed": ("blocks", "frees"),
}


def memory_stats(stats: Dict[str, Dict[str, Any]]) -> Dict[str, int]:
    """From the groups of tessera.stats()."""
    found = {name: int(stats[group][figure]) for name, (group, figure) in SAME.items()}
    # Device memory that is taken from the driver: frames with pages, and spare ones.
    found["reserved_bytes.all.current"] = int(stats["device"]["device_used"]) + int(stats["device"]["device_spare"])
    return dict(sorted(found.items()))
