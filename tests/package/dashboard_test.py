"""The dashboard of docs/examples is one that Grafana knows: its own types read it, and write all of it again.

Usage: dashboard_test.py BUILD_FOLDER. Needs Grafana's types from the package index; skipped (77) without.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from virtual_environment import python_with  # noqa: E402

PACKAGE, VERSION = "grafana-foundation-sdk", "1769699998!10.1.0"  # the types are made from Grafana's schemas
AGAIN = """
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
print(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(json.load(open(sys.argv[1])))))
"""


def lost(given, kept, path=""):
    """Where the second has not what the first has."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [place for name, value in given.items()
                for place in (lost(value, kept[name], f"{path}.{name}") if name in kept else [f"{path}.{name}"])]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [place for i, pair in enumerate(zip(given, kept)) for place in lost(*pair, f"{path}[{i}]")]
    return [] if given == kept else [path]


def unknown_in(python, path):
    done = subprocess.run([python, "-c", AGAIN, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return lost(json.loads(pathlib.Path(path).read_text(encoding="utf-8")), json.loads(done.stdout))


def main():
    python = python_with(pathlib.Path(sys.argv[1]).resolve(), PACKAGE, VERSION, name=PACKAGE)
    dashboard = ROOT / "docs/examples/grafana.json"
    assert not unknown_in(python, dashboard), unknown_in(python, dashboard)
    with tempfile.TemporaryDirectory() as folder:
        wrong = pathlib.Path(folder) / "wrong.json"
        wrong.write_text(dashboard.read_text(encoding="utf-8").replace('"gridPos"', '"gridpos"'), encoding="utf-8")
        assert ".panels[0].gridpos" in unknown_in(python, wrong)


if __name__ == "__main__":
    main()
