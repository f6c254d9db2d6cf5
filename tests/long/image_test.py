"""The steps of docs/examples/Dockerfile in minimal Debians in place of the images it begins with, then what compose.yaml does
with the image: one service copies the installation, the other runs a program from the copy.

Usage: image_test.py BUILD_FOLDER. Skipped (77) without root, debootstrap, a mirror or the package index.
"""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/package")]

from clean_root import CleanRoot  # noqa: E402
from linted_files import CHECK_JSONSCHEMA, read_yaml  # noqa: E402
from virtual_environment import Unavailable, environment_with, skip  # noqa: E402

BASE = "debian:12"
TRAIN = "import worker_program\nworker_program.use_device(blocks=24)\n"
DEVICE = {"TESSERA_SOFTWARE": "1", "TESSERA_SOFTWARE_MEMORY": "64MiB", "TESSERA_DEVICE_MEMORY": "32MiB"}


def instructions(text):
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


class Image:
    """Carries out the instructions of a Dockerfile, and no others than it knows."""

    def __init__(self, build, context, keep):
        self.build, self.context, self.keep = build, context, keep
        self.stages, self.root, self.entry, self.command = {}, None, [], []

    def make(self, text):
        for instruction, rest in instructions(text):
            getattr(self, f"do_{instruction.lower()}")(rest)
        return self

    def do_from(self, rest):
        base, *name = rest.split(" AS ")
        assert base.startswith(BASE), f"the test stands in for {BASE}, not for {base}"
        self.root = self.keep(CleanRoot(self.build))
        self.stages[name[0] if name else ""] = self.root

    def do_copy(self, rest):
        *sources, target = rest.split()
        inside = pathlib.Path(self.root.path(target))
        if sources[0].startswith("--from="):
            stage = self.stages[sources.pop(0).removeprefix("--from=")]
            for source in sources:
                shutil.copytree(stage.path(source), inside, symlinks=True, dirs_exist_ok=True)
            return
        for pattern in sources:
            found = list(self.context.glob(pattern))
            assert found, f"nothing in the context is {pattern}"
            for path in found:
                shutil.copy(path, inside)

    def do_run(self, rest):
        self.root.must(rest, shell="sh")

    def do_entrypoint(self, rest):
        self.entry = json.loads(rest)

    def do_cmd(self, rest):
        self.command = json.loads(rest)


def run_services(python, image, train):
    """As `docker compose up` does: volumes are empty folders at first, and what a service leaves is in them for the next."""
    services = read_yaml(python, EXAMPLES / "compose.yaml")["services"]
    first, second = services["installation"], services["train"]
    assert second["depends_on"] == {"installation": {"condition": "service_completed_successfully"}}
    [volume] = first["volumes"]
    name, place = volume.split(":")
    pathlib.Path(image.root.path(place)).mkdir()
    image.root.must(shlex.join(first["entrypoint"] + first["command"]))

    for volume in second["volumes"]:
        source, where, *_ = volume.split(":")
        if source == name:
            shutil.copytree(image.root.path(place), train.path(where), symlinks=True)
        else:
            pathlib.Path(train.path(where)).mkdir()
    train.install("python3")
    for file in (ROOT / "tests/integration/worker_program.py",):
        shutil.copy(file, train.folder)
    pathlib.Path(train.path("train.py")).write_text(TRAIN, encoding="utf-8")
    train.must(shlex.join(second["command"]), variables=second["environment"] | DEVICE)
    stats = json.loads(pathlib.Path(train.path("spill/stats.json")).read_text(encoding="utf-8"))
    assert stats["moves"]["evictions"] > 0, stats["moves"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    try:
        python = environment_with(build, *CHECK_JSONSCHEMA)
        with tempfile.TemporaryDirectory() as folder:
            roots = []

            def keep(root):
                roots.append(root)
                return root

            try:
                subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=build, check=True, capture_output=True)
                image = Image(build, pathlib.Path(folder), keep).make((EXAMPLES / "Dockerfile").read_text(encoding="utf-8"))
                shown = image.root.must(shlex.join(image.entry + image.command))
                assert "Subcommands:" in shown, shown
                run_services(python, image, keep(CleanRoot(build)))
            finally:
                for root in roots:
                    root.__exit__()
    except Unavailable as why:
        skip(str(why))


if __name__ == "__main__":
    main()
