"""Bytes that leave when nothing has changed them: inference over layers that do not fit, with and without
fingerprints.

Usage: unchanged.py BUILD [--smoke] [--json]

The program of bench/oversubscription runs under `tessera run` on the software device. Its link is made slow compared
with the processors that simulate its memory, as a GPU's link is. Its weights are evicted to host memory, or further
to a spill file, and fetched again, batch after batch. No kernel writes them, but that is not visible from outside.
The figures per batch are the bytes that N additional batches move, divided by N, because the first batches write the
weights. Victims are chosen by `lru`, which does not depend on the device's progress, so that both configurations
move the same pages. Both must output bit-identical results to the program alone.
"""

import argparse
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "oversubscription"))

from machine import Machine, Outcome  # noqa: E402

MIB = 1 << 20
LINK = 400_000_000        # bytes per second, each way
SMOKE_LINK = 200_000_000  # enough for fingerprints to pay, which is measured: tests share their processors
WEIGHT = 4 * MIB    # of a layer of width 1024


class Case:
    def __init__(self, name, device, host, file):
        self.name, self.device, self.host, self.file = name, device, host, file

    def options(self, folder, fingerprints):
        sizes = {"device-memory": self.device, "host-memory": self.host, "file-memory": self.file}
        words = [word for name, size in sizes.items() for word in (f"--{name}", size)]
        return [*words, "--file-dir", folder, "--policy", "lru", "--fingerprints", fingerprints]


def run(machine, words, folder, case, fingerprints, link):
    stats = pathlib.Path(folder) / "stats.json"
    outcome = Outcome(machine.output([machine.tessera, "run", "--software", *case.options(folder, fingerprints), "--stats",
                                      stats, "--", *words], TESSERA_SOFTWARE_BANDWIDTH=str(link)))
    return outcome, json.loads(stats.read_text())


def rows_of(machine, folder, layers, batches, link):
    def words(count):
        return [str(machine.programs / "infer"), "--kernels", str(machine.programs / "train_kernels.so"), "--layers",
                str(layers), "--width", "1024", "--batch", "32", "--steps", str(count)]

    alone = Outcome(machine.output(words(2 * batches), LD_LIBRARY_PATH=str(machine.build / "lib" / "softcuda")))
    weights = layers * WEIGHT
    half, quarter = weights // 2, weights // 4
    for case in (Case("host memory", half, 2 * weights, 0), Case("spill file", half, quarter, 4 * weights)):
        for fingerprints in ("off", "on"):
            _, before = run(machine, words(batches), folder, case, fingerprints, link)
            outcome, after = run(machine, words(2 * batches), folder, case, fingerprints, link)
            if outcome.results != alone.results:
                raise RuntimeError(f"{case.name}, fingerprints {fingerprints}: computed a different result than alone")
            row = {"weights go to": case.name, "fingerprints": fingerprints}
            for name in ("bytes_in", "bytes_out", "bytes_file_written"):
                row[f"{name.replace('bytes_', '').replace('_', ' ')}, MiB a batch"] = round(
                    (after["moves"][name] - before["moves"][name]) / batches / MIB, 1)
            checks = after["unchanged"]
            yield row | {"pages asked": checks["checks"], "of them changed": checks["checks_changed"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--smoke", action="store_true", help="small: a smoke test")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    layers, batches, link = (8, 3, SMOKE_LINK) if chosen.smoke else (24, 8, LINK)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(chosen.build, folder, chosen.smoke)
        rows = list(rows_of(machine, folder, layers, batches, link))
        body = {"environment": machine.environment, "smoke": chosen.smoke, "results": rows}
    if chosen.json:
        print(json.dumps(body, indent=1))
        return
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
