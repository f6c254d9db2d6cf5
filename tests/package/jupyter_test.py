"""A notebook's kernel under `tessera run`, on the software device: installed, started by Jupyter's client, and asked.

Usage: jupyter_test.py BUILD_FOLDER. Needs ipykernel from the package index; skipped (77) without.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from virtual_environment import python_with  # noqa: E402

IPYKERNEL = "7.4.0"
# Runs in the environment that has Jupyter's client. Each cell prints what is looked for.
CELLS = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="tessera", startup_timeout=120)
try:
    for cell in sys.argv[1:]:
        told = []
        reply = client.execute_interactive(cell, timeout=120, output_hook=lambda message: told.append(
            message["content"].get("text") or message["content"].get("evalue", "")))
        print(repr((reply["content"]["status"], "".join(told))))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""
ALLOCATE = """
import worker_program
worker_program.use_device(blocks=24)
"""


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    python = python_with(build, "ipykernel", IPYKERNEL)
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | {
            "JUPYTER_DATA_DIR": f"{folder}/data", "JUPYTER_RUNTIME_DIR": f"{folder}/runtime", "IPYTHONDIR": f"{folder}/ipython",
            "PYTHONPATH": f"{ROOT / 'shim/python'}:{ROOT / 'tests/integration'}", "PYTHONDONTWRITEBYTECODE": "1",
            "TESSERA_LIBRARY_DIR": str(build / "lib"), "TESSERA_SOFTWARE": "1"}

        def run(*words):
            done = subprocess.run([python, *words], env=variables, cwd=folder, capture_output=True, text=True, timeout=280,
                                  check=False)
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
            return done.stdout

        shown = run("-m", "tessera", "jupyter", "install", "--", "--device-memory", "32MiB", "--host-memory", "64MiB")
        assert "Python 3 (Tessera)" in shown, shown
        spec = json.loads(pathlib.Path(folder, "data/kernels/tessera/kernel.json").read_text(encoding="utf-8"))
        assert spec["argv"][:6] == [str(python), "-m", "tessera", "run", "--device-memory", "32MiB"], spec
        cells = ["%load_ext tessera", "%tessera", "%%tessera_profile\n" + ALLOCATE, "%tessera", "%tessera sleep", "%tessera nap",
                 "%%tessera_profile\n1 / 0"]
        told = [eval(line) for line in run("-c", CELLS, *cells).splitlines()]
        assert [status for status, _ in told] == ["ok"] * 6 + ["error"], told
        _, early, grown, state, slept, wrong, _ = (text for _, text in told)
        assert "when a CUDA context is current" in early, early
        assert "evictions" in grown and "live_blocks" in grown, grown
        assert "device_capacity" in state and "32.0 MiB" in state, state
        assert slept.startswith("Moved(moved_bytes="), slept
        assert wrong.startswith("usage: %tessera"), wrong


if __name__ == "__main__":
    main()
