"""The minimum memory of a rank of an interleaved pipeline under `atc24` decreases by the offloaded share of the
bytes in flight, as in Kuaishou's table (USENIX ATC 2024) for Llama 65B.

Usage: interleaved_pipeline_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATE = pathlib.Path(__file__).resolve().parents[2] / "bench/traces/generate.py"
TESSERA = pathlib.Path(sys.argv.pop(1)).resolve() / "bin" / "tessera"
IN_FLIGHT, PASSES = 47, 80
# Two layers of 4,096 words; so many numbers of two widths are saved, split over two devices.
SAVED = {"interleaved-llama-65b-rank0": 2 * 4096 * 2 * (8 * 8192 + 4 * 22016) // 2,
         "interleaved-llama-65b-balanced-rank0": 2 * 4096 * 2 * (6 * 8192 + 2 * 22016) // 2}


class InterleavedPipeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.traces = {name: pathlib.Path(folder.name) / f"{name}.jsonl" for name in SAVED}
        for name, trace in cls.traces.items():
            subprocess.run([sys.executable, GENERATE, name, "--batch", "1", "--iterations", "1", "-o", trace], check=True)

    def replay(self, name, memory, alpha):
        done = subprocess.run([TESSERA, "replay", self.traces[name], "--device-memory", str(memory),
                               "--host-memory", "512GiB",
                               "--mapping-time", "0", "--copy-turn", "0", "--frame-time", "0",  # the table counts bytes
                               "--h2d", "50e9", "--d2h", "50e9",  # PCI Express 5.0
                               "--policy", f"atc24:{alpha}", "--iterations", "5", "--json"], capture_output=True, text=True,
                              timeout=100, check=True)
        return json.loads(done.stdout)

    def is_enough(self, name, memory, alpha):
        """Nothing stalls, and only bytes of the share are fetched. Of 32 MiB pages whole ones move."""
        last = self.replay(name, memory, alpha)["last_pass"]
        return last["ns"] <= 1.01 * last["compute_ns"] and last["bytes_h2d"] <= 1.02 * alpha * PASSES * SAVED[name]

    def test_the_least_memory_is_linear_with_the_bytes_in_flight_as_its_slope(self):
        for name, saved in SAVED.items():
            whole = self.replay(name, 256 << 30, 0)["peak_device_bytes"]
            for alpha in (0, 0.3, 0.5, 1):
                with self.subTest(name, alpha=alpha):
                    line = int(whole - alpha * IN_FLIGHT * saved)
                    self.assertTrue(self.is_enough(name, line + saved // 2, alpha))
                    self.assertFalse(self.is_enough(name, line - saved, alpha))


if __name__ == "__main__":
    unittest.main()
