"""The wheel where the interpreter and glibc are the newest that Debian has: the tests of the Python package, and a program
under the command, in a minimal root of Debian's next release.

Usage: newest_python_test.py BUILD_FOLDER [WHEEL]. Without WHEEL it takes what wheel_test.py left. Skipped (77) without root,
debootstrap or a mirror.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from clean_root import NEWEST, USER, CleanRoot, given_wheel  # noqa: E402
from virtual_environment import Unavailable, skip  # noqa: E402

# The newest version that the package says it is for; Debian's testing has it or a later one.
OLDEST_OF_NEWEST = (3, 14)
ACTIVATE = ". environment/bin/activate\n"
# As tests/package/python_faces_test.py sets them.
SUITE = {"PYTHONPATH": "tests/python", "PYTHONDONTWRITEBYTECODE": "1", "TESSERA_DEVICE_MEMORY": "32MiB",
         "TESSERA_HOST_MEMORY": "64MiB", "TESSERA_LOG_LEVEL": "error"}
PROGRAM = "import worker_program\nworker_program.use_device(blocks=4)\nprint('used the device')\n"


def try_wheel(root, wheel):
    root.assert_no_compiler()
    root.add_user()
    home = pathlib.Path(root.path(f"home/{USER}"))
    shutil.copytree(ROOT / "tests/python", home / "tests/python", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/integration/worker_program.py", home)
    shutil.copy(wheel, home)
    (home / "program.py").write_text(PROGRAM, encoding="utf-8")
    root.must(f"python3 -m venv environment\n{ACTIVATE}pip install ./{wheel.name}", user=USER)

    versions = root.must(f"{ACTIVATE}python -c 'import platform; print(platform.python_version(), *platform.libc_ver())'",
                         user=USER)
    print(versions.strip())
    found = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", versions).groups())
    assert found >= OLDEST_OF_NEWEST, versions

    device = root.must(f"{ACTIVATE}python -c 'from tessera import _library; print(_library.folder())'", user=USER).strip()
    suite = root.run(f"{ACTIVATE}python -W error::DeprecationWarning -m unittest discover -s tests/python", user=USER,
                     variables=SUITE | {"LD_LIBRARY_PATH": f"{device}/softcuda"})
    assert suite.returncode == 0, suite.stdout + suite.stderr
    ran = re.search(r"^Ran (\d+) tests", suite.stderr, re.MULTILINE)
    assert ran and int(ran[1]) > 0, suite.stderr
    print(suite.stderr.strip().splitlines()[-3:])
    printed = root.must(f"{ACTIVATE}tessera run --software --device-memory 16MiB -- python program.py", user=USER)
    assert "used the device" in printed, printed


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    try:
        wheel = given_wheel(sys.argv[1:])
        with CleanRoot(build, NEWEST) as root:
            try_wheel(root, wheel)
    except Unavailable as why:
        skip(str(why))


if __name__ == "__main__":
    main()
