"""PyTorch's memory snapshot as a trace: python -m tessera.snapshot SNAPSHOT.pickle TRACE.jsonl

The input is the output of `torch.cuda.memory._dump_snapshot(file)` after `_record_memory_history()`. Such a
snapshot records allocations and frees with their times, but no uses. So each of them becomes an operation as well,
with the time since the previous one: it writes the allocated block, or reads the freed one. `tessera replay
TRACE.jsonl` replays the result.
"""

import argparse
import gzip
import io
import itertools
import json
import pickle
import sys
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

Line = Dict[str, Any]

_HOW_TO_RECORD = ("call torch.cuda.memory._record_memory_history(max_entries=10**7) before the part of interest, and "
                  "torch.cuda.memory._dump_snapshot(FILE) after it")


class _PlainUnpickler(pickle.Unpickler):
    """A snapshot contains only lists, dicts, strings and numbers: a pickle that requests code is rejected."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"not a snapshot: it refers to {module_name}.{global_name}")


def read_snapshot(file: BinaryIO) -> Dict[str, Any]:
    """Raises pickle.UnpicklingError for anything else, and executes nothing from it."""
    try:
        snapshot = _PlainUnpickler(io.BytesIO(_unpacked(file.read()))).load()
    except (EOFError, IndexError, KeyError, UnicodeDecodeError, ValueError) as error:
        raise pickle.UnpicklingError(f"not a snapshot, or truncated ({error})") from error
    if isinstance(snapshot, dict) and "segments" in snapshot and "device_traces" not in snapshot:
        raise pickle.UnpicklingError(f"a snapshot without allocation history; {_HOW_TO_RECORD}")
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("device_traces"), list):
        raise pickle.UnpicklingError("not a snapshot: it has no device_traces")
    return snapshot


def _unpacked(data: bytes) -> bytes:
    """Snapshots are large, so they are often compressed."""
    if data.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(data)
        except (EOFError, OSError) as error:
            raise pickle.UnpicklingError(f"the compressed file is damaged: {error}") from error
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            import zstandard
        except ImportError as error:
            raise pickle.UnpicklingError("compressed with zstd; unpack it first: zstd -d") from error
        try:
            return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(data))
        except zstandard.ZstdError as error:
            raise pickle.UnpicklingError(f"the compressed file is damaged: {error}") from error
    return data


def missing_from(snapshot: Dict[str, Any]) -> Optional[str]:
    """What the replay will lack, as a line for the user; None if nothing. Raises pickle.UnpicklingError without any
    event."""
    entries = _entries(snapshot)
    if not entries:
        raise pickle.UnpicklingError(f"it has no allocations or frees; {_HOW_TO_RECORD}")
    if not any(entry.get("time_us") for _, entry in entries):
        return "its events have no times (PyTorch before 2.1 recorded none), so operations take no time in a replay"
    return None


def _entries(snapshot: Dict[str, Any]) -> List[Tuple[int, Dict[str, Any]]]:
    """Allocations and frees of all devices, with their device, in order of time."""
    found = [(device, entry) for device, entries in enumerate(snapshot["device_traces"]) for entry in entries
             if entry.get("action") in ("alloc", "free_requested") and entry.get("size", 0) > 0]
    return sorted(found, key=lambda one: one[1].get("time_us", 0))


def _from_before(snapshot: Dict[str, Any], entries: List[Tuple[int, Dict[str, Any]]]) -> Dict[Tuple[int, int], int]:
    """(device, address) -> bytes of the blocks that existed when recording began."""
    before: Dict[Tuple[int, int], int] = {}
    seen = set()
    for device, entry in entries:
        key = (device, entry["addr"])
        if key not in seen and entry["action"] == "free_requested":
            before[key] = entry["size"]
        seen.add(key)
    for segment in snapshot.get("segments", []):
        address = segment["address"]
        for block in segment.get("blocks", []):
            key = (segment.get("device", 0), address)
            if block.get("state") == "active_allocated" and key not in seen:
                before[key] = block["size"]
            address += block["size"]
    return before


def trace_lines(snapshot: Dict[str, Any], name: str = "torch") -> Iterator[Line]:
    """The lines of the trace, as in docs/traces.md."""
    entries = _entries(snapshot)
    numbers = itertools.count(1)
    live: Dict[Tuple[int, int], int] = {}
    yield {"t": "header", "version": 1, "name": name, "source": "torch memory snapshot"}
    for (device, address), size in _from_before(snapshot, entries).items():
        live[device, address] = next(numbers)
        yield {"t": "alloc", "id": live[device, address], "bytes": size, "device": device, "tag": "before"}
        yield {"t": "op", "name": "before", "device": device, "w": [live[device, address]]}
    last: Optional[int] = None
    for device, entry in entries:
        key = (device, entry["addr"])
        now = int(entry.get("time_us", 0))
        place: Line = {"stream": entry.get("stream", 0), "device": device}
        op: Line = {"t": "op", "name": entry["action"], "ns": 1000 * max(0, now - (now if last is None else last))}
        last = now
        if entry["action"] == "alloc":
            live[key] = next(numbers)
            yield {"t": "alloc", "id": live[key], "bytes": entry["size"], **place}
            yield {**op, **place, "w": [live[key]]}
        else:
            yield {**op, **place, "r": [live[key]]}
            yield {"t": "free", "id": live.pop(key)}


def main(words: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tessera.snapshot", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("snapshot", help="file written by torch.cuda.memory._dump_snapshot")
    parser.add_argument("trace", help="output file")
    given = parser.parse_args(words)
    try:
        with open(given.snapshot, "rb") as file:
            snapshot = read_snapshot(file)
        note = missing_from(snapshot)
        if note is not None:
            print(f"tessera: {given.snapshot}: {note}", file=sys.stderr)
        with open(given.trace, "w", encoding="utf-8") as trace:
            for line in trace_lines(snapshot):
                trace.write(json.dumps(line, separators=(",", ":")) + "\n")
    except (OSError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        print(f"tessera: {given.snapshot}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
