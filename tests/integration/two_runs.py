"""A program unaware of Tessera, run alone on the software device and then under `tessera run`."""

import json
import os
import pathlib
import subprocess
import tempfile


def run(*words, **variables):
    """Its output. Fails unless it succeeds, and the software device supported every call that it made."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    done = subprocess.run(list(map(str, words)), env=kept | {"TESSERA_SOFTWARE_VERBOSE": "1"} | variables,
                          capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    assert "not supported" not in done.stderr, done.stderr
    return done.stdout


def on_less_memory(build, program, heap, outside=0):
    """(output, Tessera's figures). Alone it has ample memory, under Tessera `heap` bytes and `outside` beside them.
    Fails unless both runs print the same, and the heap stayed within its bytes."""
    alone = run(*program, LD_LIBRARY_PATH=str(build / "lib/softcuda"))
    with tempfile.TemporaryDirectory() as scratch:
        stats = pathlib.Path(scratch) / "stats.json"
        tight = run(build / "bin/tessera", "run", "--software", "--software-memory", heap + outside,
                    "--device-memory", heap, "--stats", stats, "--", *program)
        figures = json.loads(stats.read_text())
    assert alone == tight, f"alone\n{alone}under Tessera\n{tight}"
    assert figures["device"]["device_peak"] <= heap, figures["device"]
    return alone, figures
