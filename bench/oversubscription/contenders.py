"""The time that two other approaches need for the same program: explicit offload, and demand paging.

Both are computed from a timed trace. Both models are optimistic, so that an advantage of Tessera over them is not an
artefact:

Explicit offload is the program itself with --offload. It waits for the device before each of its own copies and for
the copy itself, as pause and resume of torch_memory_saver do. It does not pay for allocations or for pinning.

Demand paging moves pages of 2 MiB, in LRU order and one after the other, when an operation touches a page that is
not resident: a fault, the eviction of the victims, the fetch. A fault costs 55 us, the time that Mosaic (MICRO'17)
reports for a page of 4 KiB, whose transfer time is negligible; for 2 MiB it reports 318 us in all, more than is
charged here. The first touch of a block does not fault, freed blocks leave without a copy, and a page is never
partly resident.
"""

from collections import OrderedDict, defaultdict

from timed_trace import LINK, WAITED_COPY, copy_ns

PAGE = 2 << 20
FAULT_NS = 55_000


def offload_ns(trace):
    """Time of the steps of a program that was recorded with --offload, and bytes (in, out).

    The copies that it waits for are its offload. A copy to a block that was used before counts as in, a copy to a
    new block as out.
    """
    sizes = {line["id"]: line["bytes"] for line in (*trace.before, *trace.steps) if line["t"] == "alloc"}
    used = {block for line in trace.before if line["t"] == "op" for block in line["w"]}
    streams, host, moved = defaultdict(int), 0, [0, 0]
    for line in trace.steps:
        if line["t"] != "op":
            continue
        if line["name"] == WAITED_COPY:
            block = line["w"][0]
            host = max([host, *streams.values()]) + copy_ns(sizes[block])
            moved[block in used] += sizes[block]
        else:
            start = max(host, streams[line["stream"]])
            streams[line["stream"]] = start + line["ns"]
        used.update(line["w"])
    return max([host, *streams.values()]), *moved


class Paging:
    """A device that holds `capacity` bytes of pages, and a single fault handler."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.used = 0
        self.resident = OrderedDict()  # (block, page) -> bytes, in LRU order
        self.away = {}                 # (block, page) -> bytes, pages in host memory
        self.sizes = {}
        self.streams = defaultdict(int)
        self.handler = 0               # time at which the handler is free
        self.faults, self.bytes_in, self.bytes_out = 0, 0, 0

    def pages(self, block):
        size = self.sizes[block]
        return [((block, at), min(PAGE, size - at)) for at in range(0, size, PAGE)]

    def touch(self, key, size):
        """Nanoseconds until the page is resident."""
        if key in self.resident:
            self.resident.move_to_end(key)
            return 0
        ns = 0
        while self.used + size > self.capacity and self.resident:
            victim, leaving = self.resident.popitem(last=False)
            self.used -= leaving
            self.away[victim] = leaving
            self.bytes_out += leaving
            ns += leaving * 1e9 / LINK
        if key in self.away:
            del self.away[key]
            self.faults += 1
            self.bytes_in += size
            ns += FAULT_NS + size * 1e9 / LINK
        self.resident[key] = size
        self.used += size
        return ns

    def play(self, lines):
        for line in lines:
            if line["t"] == "alloc":
                self.sizes[line["id"]] = line["bytes"]
            elif line["t"] == "free":
                for key, _ in self.pages(line["id"]):
                    self.used -= self.resident.pop(key, 0)
                    self.away.pop(key, None)
            elif line["t"] == "op":
                self.run(line)

    def run(self, line):
        stall = sum(self.touch(key, size) for block in dict.fromkeys(line["r"] + line["w"])
                    for key, size in self.pages(block))
        start = self.streams[line["stream"]]
        if stall:
            start = self.handler = max(start, self.handler) + stall
        self.streams[line["stream"]] = start + line["ns"]

    def now(self):
        return max(self.streams.values(), default=0)


def paging(trace, capacity, passes):
    """Of the last pass: time in ns, faults, bytes in, bytes out."""
    device = Paging(capacity)
    device.play(trace.before)
    for number in range(passes):
        before = (device.now(), device.faults, device.bytes_in, device.bytes_out)
        device.play(trace.steps)
    after = (device.now(), device.faults, device.bytes_in, device.bytes_out)
    return {key: round(now - then) for key, now, then in zip(("ns", "faults", "in", "out"), after, before)}
