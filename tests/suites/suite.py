"""What is known of a suite of another project: what PyPI has of it, where its tests are, which are left out and why.

One TOML file for each suite, beside this file:

    requirements = ["numba-cuda==0.30.4"]        # what pip installs, pinned; the first one names the environment
    package = "numba.cuda.tests"                 # where the tests lie: a package that was installed, or
    sdist = "test"                               # a folder in the source distribution of the first requirement, or
    folder = "cuda_core/tests"                   # a folder below --source, of tests that PyPI does not bring
    files = ["test_*.py"]                        # patterns below that
    quick = ["test_events.py"]                   # files of the choice for `make check`; also one test, as pytest names it
    arguments = ["--benchmark-disable"]          # for pytest
    seconds = 60                                 # for one test
    device_memory = "4MiB"                       # where memory is short
    [environment]                                # variables, with {build}, {suites}, {toolkit}, {PATH} and {kept}, a folder
                                                 # that the three ways share
    [install]                                    # the same, for pip
    [leave_out]                                  # "pattern of names" = "why"
    [leave_out_short]                            # the same, where memory is short: one block larger than the device
"""

import dataclasses
import os
import pathlib
import re
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    requirements: list
    package: str = ""
    sdist: str = ""
    folder: str = ""
    files: list = dataclasses.field(default_factory=lambda: ["test_*.py"])
    quick: list = dataclasses.field(default_factory=list)
    arguments: list = dataclasses.field(default_factory=list)
    seconds: int = 60
    device_memory: str = "12MiB"
    environment: dict = dataclasses.field(default_factory=dict)
    install: dict = dataclasses.field(default_factory=dict)
    leave_out: dict = dataclasses.field(default_factory=dict)
    leave_out_short: dict = dataclasses.field(default_factory=dict)


def names():
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def placed(suite, build):
    """The suite with its variables' places filled in."""
    entry = re.search("^TESSERA_CUDA_INCLUDE:.*=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    places = {"build": build, "suites": FOLDER, "toolkit": pathlib.Path(entry[1]).parent, "PATH": os.environ["PATH"],
              "kept": build / "suites" / suite.name / "kept"}
    return dataclasses.replace(suite, **{
        table: {name: value.format(**places) for name, value in getattr(suite, table).items()}
        for table in ("environment", "install")})


def read(name):
    """Raises TypeError for a key that is not one of the above."""
    return Suite(name=name, **tomllib.loads((FOLDER / f"{name}.toml").read_text()))
