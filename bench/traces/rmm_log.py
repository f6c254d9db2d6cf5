"""Writes a trace in the log format of RMM's logging adaptor: Thread,Time,Action,Pointer,Size,Stream.

Usage: zstd -dc TRACE.jsonl.zst | rmm_log.py | zstd -19 > LOG.csv.zst

Only what such a log contains remains: which blocks were allocated and freed, and when. A pointer is the block's
number times 512, so no two live blocks share one.
"""

import json
import sys

DAY = 24 * 3600 * 10**9


def clock(ns):
    """As RMM prints it: microseconds of the day."""
    micros = ns % DAY // 1000
    seconds = micros // 10**6
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros % 10**6:06}"


def rows(lines):
    """The log of a trace, line by line."""
    now, live = 0, {}
    yield "Thread,Time,Action,Pointer,Size,Stream"
    for line in lines:
        event = json.loads(line)
        kind = event["t"]
        if kind == "op":
            now += event["ns"]
        elif kind == "alloc":
            live[event["id"]] = event["bytes"], event["stream"]
            yield f"0,{clock(now)},allocate,{512 * event['id']:#x},{event['bytes']},{event['stream']:#x}"
        elif kind == "free":
            size, stream = live.pop(event["id"])
            yield f"0,{clock(now)},free,{512 * event['id']:#x},{size},{stream:#x}"


if __name__ == "__main__":
    for row in rows(sys.stdin):
        print(row)
