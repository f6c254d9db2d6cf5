"""In a minimal Debian without compiler and toolkit: the first three commands of README.md, as a user types them, within
two minutes with all that is installed for them; and the Debian package, by apt and by dpkg.

Usage: clean_root_test.py BUILD_FOLDER [WHEEL]. Without WHEEL it takes what wheel_test.py left. Skipped (77) without root,
debootstrap or a mirror.
"""

import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from clean_root import USER, CleanRoot, given_wheel  # noqa: E402
from virtual_environment import Unavailable, skip  # noqa: E402

# What each of the commands has to print.
SHOWN = {"pip install": "Successfully installed tessera-cuda", "tessera demo": "are bit-identical", "tessera run": "trained"}
TRAIN = "import worker_program\nworker_program.use_device(blocks=4)\nprint('trained')\n"
LIMIT = 120  # seconds
# In place of a GPU.
DEVICE = {"TESSERA_SOFTWARE": "1", "TESSERA_SOFTWARE_MEMORY": "16GiB"}


def first_commands():
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)[1]
    commands = block.splitlines()[:len(SHOWN)]
    assert all(command.startswith(begin) for command, begin in zip(commands, SHOWN)), commands
    return commands


class Clock:
    """Prints what a step took. The limit is on the time of processors: a machine that does other things as well is not
    a slow installation."""

    def __init__(self):
        self.begin, self.first = self.now(), self.now()

    @staticmethod
    def now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), used.ru_utime + used.ru_stime

    def step(self, name):
        now = self.now()
        print(f"{now[0] - self.begin[0]:6.1f} s, {now[1] - self.begin[1]:6.1f} s of processors: {name}", flush=True)
        self.begin = now

    def end(self):
        self.begin = self.first
        self.step("all together")
        used = self.now()[1] - self.first[1]
        assert used < LIMIT, f"{used:.0f} s of processors, more than {LIMIT}"


def try_commands(build, wheel):
    commands = first_commands()
    with CleanRoot(build) as root:
        root.assert_no_compiler()
        root.add_user()
        home = pathlib.Path(root.path(f"home/{USER}"))
        (home / "build/dist").mkdir(parents=True)
        shutil.copy(wheel, home / "build/dist")
        shutil.copy(ROOT / "tests/integration/worker_program.py", home)
        (home / "train.py").write_text(TRAIN, encoding="utf-8")

        clock = Clock()
        root.install("python3-venv")
        clock.step("apt-get install python3-venv")
        root.must("python3 -m venv environment", user=USER)
        clock.step("python3 -m venv environment")
        for command, shown in zip(commands, SHOWN.values()):
            device = DEVICE if command.startswith("tessera run") else None
            printed = root.must(f". environment/bin/activate\n{command}", user=USER, variables=device)
            assert shown in printed, f"{command} printed\n{printed}"
            clock.step(command)
        clock.end()
        root.assert_no_compiler()


def try_package(build):
    """apt takes what the package needs, dpkg finds it there; both remove it without a trace."""
    with tempfile.TemporaryDirectory() as folder, CleanRoot(build) as root:
        subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=build, check=True, capture_output=True)
        [package] = pathlib.Path(folder).glob("*.deb")
        shutil.copy(package, root.folder)
        root.add_user()
        before = root.must("find / -xdev -path /var -prune -o -name '*tessera*' -print -o -path '*/proc' -prune")
        for install in (f"apt-get install -qy ./{package.name}", f"dpkg -i {package.name}"):
            root.must(install)
            programs = "/usr/lib/tessera"
            printed = root.must(f"tessera run --software --software-memory 64MiB --device-memory 16MiB -- {programs}/vector_add "
                                f"{programs}/vector_add_kernels.so", user=USER)
            print(f"{install}: {printed.strip().splitlines()[-1]}")
            assert root.must("dpkg --verify tessera-cuda") == ""
            root.must("dpkg --purge tessera-cuda")
            left = set(root.must("find / -xdev -path /var -prune -o -name '*tessera*' -print -o -path '*/proc' -prune").split())
            left = {path for path in left - set(before.split()) - {f"/{package.name}"} if not path.startswith(("/tmp/", "/dev/"))}
            assert not left, left
        root.assert_no_compiler()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    try:
        try_commands(build, given_wheel(sys.argv[1:]))
        try_package(build)
    except Unavailable as why:
        skip(str(why))


if __name__ == "__main__":
    main()
