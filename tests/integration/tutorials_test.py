"""The commands and programs of the tutorials work as they are written there: each is run here, on the software device, or
by the test that is named.

Usage: tutorials_test.py BUILD_FOLDER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = BUILD / "lib/tessera"
MIB = 1 << 20
# A word without which the named file would not be about the command.
ELSEWHERE = {
    "make deps": (".ci/run", "make check"),  # which is also asked for the packages of a build
    "make": (".ci/run", "make check"),
    "make wheel": ("tests/long/wheel_test.py", "cmake/wheel.sh"),
    "make install PREFIX=DIR": ("tests/package/install_test.py", "--install"),
    "export PATH=$PWD/build/release/bin:$PATH": ("tests/integration/readme_commands_test.py", "PATH"),
    "source <(tessera completion bash)": ("tests/integration/completion_test.py", "completion"),
    "python -m tessera jupyter install -- --device-memory 20GiB --file-dir /var/tmp":
        ("tests/package/jupyter_test.py", "jupyter"),
    "tessera demo": ("tests/integration/readme_commands_test.py", "tessera demo"),
    "pip install build/dist/tessera_cuda-*.whl": ("tests/long/clean_root_test.py", "first_commands"),
}
# Needs the compiler of the CUDA toolkit.
NOWHERE = "make gpu-bundle"
COMMANDS = ("make", "tessera", "export", "pip", "python")
# In place of a user's program.
TRAIN = "import worker_program\nworker_program.use_device(blocks=24)\n"


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks(name, language=""):
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.S | re.M)


def commands(name):
    """Each line of its blocks of commands."""
    lines = [line for block in blocks(name) for line in block.splitlines()]
    return [line for line in lines if line.split()[:1] and line.split()[0] in COMMANDS]


def spans(name):
    """Each code span that is a command."""
    text = re.sub(r"^```.*?^```$", "", page(name), flags=re.S | re.M)
    return [" ".join(span.split()) for span in re.findall(r"`((?:make|tessera|source) [^`]+)`", text)]


class Tutorial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "python").symlink_to(sys.executable)
        (self.folder / "train.py").write_text(TRAIN, encoding="utf-8")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        self.environment |= {"PATH": f"{BUILD / 'bin'}:{tools}:{os.environ['PATH']}", "TESSERA_SOFTWARE": "1",
                             "TESSERA_NO_PRESETS": "1", "TESSERA_DEVICE_MEMORY": "32MiB", "XDG_RUNTIME_DIR": str(self.folder),
                             "PYTHONPATH": f"{ROOT / 'shim/python'}:{ROOT / 'tests/integration'}"}
        self.left = []

    def must_run(self, found):
        """These have to be run from here on, but for those that other tests run."""
        self.assertNotEqual(found, [])
        for command in (command for command in found if command in ELSEWHERE):
            test, word = ELSEWHERE[command]
            self.assertIn(word, (ROOT / test).read_text(encoding="utf-8"), f"{test} does not run {command}")
        self.left = [command for command in dict.fromkeys(found) if command not in (*ELSEWHERE, NOWHERE)]

    def run_command(self, command, **words):
        """A command of the page, with what it leaves to the reader replaced; returns what it prints."""
        self.assertIn(command, self.left)
        self.left.remove(command)
        for placeholder, word in words.items():
            self.assertIn(placeholder, command)
            command = re.sub(rf"\b{placeholder}\b", str(word), command)
        done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=250, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def all_were_run(self):
        self.assertEqual(self.left, [])


class Quickstart(Tutorial):
    def test_its_commands(self):
        self.must_run(commands("quickstart.md") + spans("quickstart.md"))
        self.assertIn("software device", self.run_command("tessera doctor"))
        (self.folder / "program").write_text(f"#!/bin/sh\nexec {PROGRAMS}/train --kernels {PROGRAMS}/train_kernels.so --steps 2 "
                                             "--layers 3 --width 128 --batch 32\n", encoding="utf-8")
        (self.folder / "program").chmod(0o755)
        shown = self.run_command("tessera run --file-dir /var/tmp --stats - -- ./program its arguments", **{
            "its arguments": ""})
        self.assertRegex(shown, r"(?m)^  peak live bytes +\d")
        self.steer_a_program()
        self.all_were_run()

    def steer_a_program(self):
        """While it runs, and at its end."""
        program = subprocess.Popen(["tessera", "run", "--history", "history.json", "--", PROGRAMS / "watched"],
                                   cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        pid = program.stdout.readline().strip()
        self.left.remove("tessera top")  # it goes on until it is ended
        top = subprocess.Popen(["tessera", "top"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        shown = next(line for line in top.stdout if line.split()[:1] == [pid])
        top.kill()
        top.communicate()
        self.assertIn("watched", shown)
        self.assertIn("16.0 MiB evicted from device memory", self.run_command("tessera sleep PID", PID=pid))
        self.assertIn("16.0 MiB fetched to device memory", self.run_command("tessera wake PID", PID=pid))
        self.assertEqual(program.communicate("go on\n", timeout=250)[0], "ok\n")
        self.run_command("tessera report FILE", FILE="history.json")
        self.assertIn("</html>", (self.folder / "history.html").read_text(encoding="utf-8"))


class Report(Tutorial):
    def test_its_commands(self):
        self.must_run(commands("report.md"))
        self.run_command("tessera run --history run.json -- python train.py")
        self.run_command("tessera report run.json")
        self.assertIn("</html>", (self.folder / "run.html").read_text(encoding="utf-8"))
        for name in ("before.json", "after.json"):
            shutil.copy(self.folder / "run.json", self.folder / name)
        self.run_command("tessera report before.json after.json")
        self.all_were_run()


class Replay(Tutorial):
    def test_its_commands(self):
        self.must_run(commands("replay.md"))
        subprocess.run(["tessera", "run", "--trace", "trace.jsonl", "--", "python", "train.py"], cwd=self.folder,
                       env=self.environment, check=True, capture_output=True, timeout=250)
        for name in ("a.jsonl", "b.jsonl"):
            shutil.copy(self.folder / "trace.jsonl", self.folder / name)
        for command in list(self.left):
            self.assertNotEqual(self.run_command(command), "", command)
        self.all_were_run()


class Python(Tutorial):
    def test_its_commands(self):
        self.must_run(commands("python.md"))
        shown = self.run_command("python -m tessera run --device-memory 20GiB train.py")
        self.assertEqual(shown, "")
        self.all_were_run()

    def test_its_calls(self):
        [calls] = [block for block in blocks("python.md") if block.startswith("import tessera\n\ntessera.prefetch")]
        (self.folder / "calls.py").write_text(
            "import tessera, worker_program\n"
            "worker_program.use_device(blocks=1)\n"
            f"weights, bias, activations, table = (tessera.malloc({4 * MIB}) for _ in range(4))\n"
            f"arena = tessera.malloc({256 * MIB})\n"
            f"allocate_cache = lambda: tessera.malloc({4 * MIB})\n"
            f"step = lambda: tessera.free(tessera.malloc({4 * MIB}))\n" + calls +
            "print('all calls were made')\n", encoding="utf-8")
        done = subprocess.run(["tessera", "run", "--host-memory", "512MiB", "--", "python", "calls.py"], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=250, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all calls were made", done.stdout)
        self.assertGreater((self.folder / "part.json").stat().st_size, 0)


class Cpp(Tutorial):
    def test_its_program(self):
        source = self.folder / "program.cpp"
        source.write_text(blocks("cpp.md", "cpp")[0], encoding="utf-8")
        subprocess.run(["c++", "-std=c++17", "-Wall", "-Werror", source, "-o", self.folder / "program", f"-I{ROOT}/include",
                        f"-L{BUILD}/lib", "-ltessera"], check=True, capture_output=True, text=True)
        libraries = {"LD_LIBRARY_PATH": f"{BUILD}/lib:{BUILD}/lib/softcuda"}
        subprocess.run([self.folder / "program"], env=self.environment | libraries, check=True, timeout=250)


if __name__ == "__main__":
    unittest.main()
