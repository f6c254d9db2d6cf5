"""The examples of docs/examples: those that can run on the software device do, from an installation; others are checked.

Usage: examples_test.py BUILD_FOLDER
"""

import importlib.util
import json
import os
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"
sys.path.insert(0, str(ROOT / "tests/integration"))

from linted_files import CHECK_JSONSCHEMA, HADOLINT, read_yaml  # noqa: E402
from virtual_environment import Unavailable, environment_with  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
KUBERNETES_VALIDATE, KUBERNETES = "1.37.0", "1.35"
# Starts ranks as torchrun does: each with its number, until all have ended.
LAUNCHER = """#!/bin/sh
[ "$1" = --nproc-per-node ] || exit 2
ranks=$2; shift 2
for rank in $(seq "$ranks"); do RANK=$rank python "$@" & done
wait
"""
RANK = "import worker_program\nworker_program.use_device(blocks=24)\n"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        cls.prefix = cls.scratch / "tessera"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.bin = cls.scratch / "bin"
        cls.bin.mkdir()
        (cls.bin / "python").symlink_to(sys.executable)
        cls.variables = os.environ | {
            "PATH": f"{cls.prefix}/bin:{cls.bin}:{os.environ['PATH']}", "TESSERA_SOFTWARE": "1",
            "PKG_CONFIG_PATH": str(cls.prefix / "lib/pkgconfig"),
            "PYTHONPATH": f"{ROOT / 'shim/python'}:{ROOT / 'tests/integration'}"}

    def compile(self, compiler, source):
        program = self.scratch / f"{source.replace('.', '_')}"
        cuda = re.search(r"^TESSERA_CUDA_INCLUDE:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.M)[1]
        flags = run("pkg-config", "--cflags", "--libs", "tessera", env=self.variables).split()
        run(*compiler, "-Wall", "-Wextra", "-Werror", EXAMPLES / source, "-o", program, *flags, f"-I{cuda}",
            f"-L{self.prefix}/lib/softcuda", "-lcuda")
        return program

    def heap_runs(self, compiler, source):
        program = self.compile(compiler, source)
        libraries = {"LD_LIBRARY_PATH": f"{self.prefix}/lib:{self.prefix}/lib/softcuda"}
        shown = run(program, env=self.variables | libraries)
        self.assertRegex(shown, r"^16 blocks of 8 MiB, \d+ MiB of device memory at most, \d+ pages evicted: all values")
        self.assertNotIn(" 0 pages", shown)
        said = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        self.assertIn(re.sub(r"\d+ pages", "32 pages", shown.strip()), said)

    def test_c(self):
        self.heap_runs(["cc", "-std=c11"], "heap.c")

    def test_cpp(self):
        self.heap_runs(["c++", "-std=c++17"], "heap.cpp")

    def test_notebook(self):
        cells = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
        program = self.scratch / "notebook.py"
        program.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
        shown = run("tessera", "run", "--device-memory", "64MiB", "--host-memory", "1GiB", "--", "python", program,
                    env=self.variables)
        self.assertRegex(shown.splitlines()[0], r"device_bytes=0,")
        self.assertRegex(shown.splitlines()[1], r"device_bytes=8388608,")
        self.assertIn("evictions", shown)

    def test_two_programs(self):
        programs = self.prefix / "lib/tessera"
        shown = run(EXAMPLES / "two_programs.sh", programs / "train", "--kernels", programs / "train_kernels.so", "--steps",
                    "30", "--layers", "6", "--width", "512", "--batch", "64", cwd=self.scratch,
                    env=self.variables | {"EACH": "32MiB", "HOST_MEMORY": "512MiB"})
        self.assertTrue(shown.endswith("both programs ended\n"), shown)
        for name in ("first.json", "second.json"):
            self.assertTrue(json.loads((self.scratch / name).read_text(encoding="utf-8")), name)

    def test_torchrun(self):
        folder = self.scratch / "ranks"
        folder.mkdir()
        (folder / "train.py").write_text(RANK, encoding="utf-8")
        launcher = self.bin / "torchrun"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(0o755)
        run(EXAMPLES / "torchrun_ranks.sh", "train.py", cwd=folder, env=self.variables | {"HOST_MEMORY": "512MiB"})
        peaks = [int(re.search(r'"peak_live_bytes": ?(\d+)', path.read_text(encoding="utf-8"))[1])
                 for path in folder.glob("stats.*.json")]
        self.assertEqual(sum(peak >= 48 << 20 for peak in peaks), 8, peaks)

    def test_pytorch(self):
        if not importlib.util.find_spec("torch"):
            self.skipTest("no PyTorch")
        shown = run(sys.executable, EXAMPLES / "pytorch_training.py", "--device", "cpu", "--gib", "0.001", "--width", "64",
                    "--steps", "2")
        self.assertEqual(shown.count("loss"), 2)

    def test_jax(self):
        if not importlib.util.find_spec("jax"):
            self.skipTest("no JAX")
        shown = run(sys.executable, EXAMPLES / "jax_training.py", "--gib", "0.5", "--steps", "2",
                    env=os.environ | {"JAX_PLATFORMS": "cpu"})
        self.assertEqual(shown.count("loss"), 2)

    def test_python_programs_compile(self):
        for path in EXAMPLES.glob("*.py"):
            py_compile.compile(str(path), cfile=str(self.scratch / "compiled"), doraise=True)

    def test_options_of_scripts_exist(self):
        known = run("tessera", "run", "--help", env=self.variables)
        for path in [*EXAMPLES.glob("*.sh"), *EXAMPLES.glob("*.service"), *EXAMPLES.glob("*.yaml")]:
            text = path.read_text(encoding="utf-8").replace("\\\n", " ").replace(",", " ")
            for words in re.findall(r"tessera run((?: +(?!-- ).+?)*) -- ", re.sub(r"bin/tessera +run", "tessera run", text)):
                for option in re.findall(r"--[\w-]+", words):
                    self.assertIn(option, known, f"{path.name}: {option}")

    def test_shell_scripts(self):
        for path in EXAMPLES.glob("*.sh"):
            run("sh", "-n", path)
            if shutil.which("shellcheck"):
                run("shellcheck", path)

    def test_service(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        units = [self.scratch / path.name for path in sorted(EXAMPLES.glob("model*.*"))]
        for unit in units:
            text = (EXAMPLES / unit.name).read_text(encoding="utf-8")
            unit.write_text(text.replace("/opt/tessera", str(self.prefix)), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
        found = [line for line in done.stderr.splitlines() if "model" in line]
        self.assertFalse(found, done.stderr)

    def test_pod(self):
        try:
            python = environment_with(BUILD, "kubernetes-validate", KUBERNETES_VALIDATE)
        except Unavailable as why:
            self.skipTest(str(why))
        run(python.with_name("kubernetes-validate"), "--strict", "--kubernetes-version", KUBERNETES, EXAMPLES / "pod.yaml")
        wrong = self.scratch / "wrong.yaml"
        wrong.write_text((EXAMPLES / "pod.yaml").read_text(encoding="utf-8").replace("volumeMounts", "mounts"))
        with self.assertRaises(AssertionError):
            run(python.with_name("kubernetes-validate"), "--strict", "--kubernetes-version", KUBERNETES, wrong)

    def refused(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stdout + done.stderr

    def test_image(self):
        try:
            python = environment_with(BUILD, *HADOLINT)
        except Unavailable as why:
            self.skipTest(str(why))
        lint = python.with_name("hadolint")
        run(lint, EXAMPLES / "Dockerfile")
        wrong = self.scratch / "Dockerfile"
        wrong.write_text((EXAMPLES / "Dockerfile").read_text(encoding="utf-8").replace("debian:12-slim", "debian"))
        self.assertIn("DL3006", self.refused(lint, wrong))

    def test_compose(self):
        """The file by the Compose specification's schema, and that it names the image's Dockerfile and folder."""
        try:
            python = environment_with(BUILD, *CHECK_JSONSCHEMA)
        except Unavailable as why:
            self.skipTest(str(why))
        check = [python.with_name("check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]
        run(*check, EXAMPLES / "compose.yaml")
        wrong = self.scratch / "wrong_compose.yaml"
        wrong.write_text((EXAMPLES / "compose.yaml").read_text(encoding="utf-8").replace("depends_on", "depend_on"))
        self.assertIn("depend_on", self.refused(*check, wrong))
        services = read_yaml(python, EXAMPLES / "compose.yaml")["services"]
        built = services["installation"]["build"]
        context = EXAMPLES / built["context"]
        self.assertEqual(context.resolve(), (ROOT / "build/dist").resolve())
        self.assertEqual((EXAMPLES / "../../build/dist" / built["dockerfile"]).resolve(), (EXAMPLES / "Dockerfile").resolve())
        used = [services["train"]["command"][0], services["installation"]["entrypoint"][-1] + "/bin/tessera"]
        self.assertEqual(used[0], used[1])

    def test_the_steps_of_the_pod(self):
        """What the image's build and the init container do; then the command of the pod, from the copy."""
        run("cpack", "-G", "DEB", "-B", self.scratch / "dist", cwd=BUILD)
        [package] = (self.scratch / "dist").glob("tessera-cuda_*_amd64.deb")
        run("dpkg-deb", "--extract", package, self.scratch / "unpacked")
        (self.scratch / "installation").mkdir()
        run("cp", "--recursive", f"{self.scratch}/unpacked/usr/.", self.scratch / "installation")
        (self.scratch / "train.py").write_text(RANK, encoding="utf-8")
        run(self.scratch / "installation/bin/tessera", "run", "--file-dir", self.scratch, "--", "python", self.scratch / "train.py",
            env=self.variables)

    def test_each_file_is_in_the_table(self):
        said = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        files = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
        missing = {name for name in files if f"`{name}`" not in said}
        self.assertFalse(missing)


if __name__ == "__main__":
    unittest.main()
