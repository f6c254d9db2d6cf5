"""A minimal Debian without compiler in a folder, and commands that run in it as on a machine of its own.

debootstrap makes it once, in the build's cache; each test works on a copy. Needs root and Debian's mirror.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from virtual_environment import Unavailable, alone

RELEASE = "bookworm"
NEWEST = "testing"
# What a root has beside Debian's least. A mirror may lag behind testing, whose index apt then refuses as expired.
PACKAGES = {RELEASE: "ca-certificates", NEWEST: "ca-certificates,python3,python3-venv"}
USER = "visitor"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "nvcc", "ld", "as", "make", "cmake")
# Of the machine's variables a root sees those alone that say how the network is reached.
NETWORK = ("http_proxy", "https_proxy", "no_proxy")


def given_wheel(words):
    """That of a test with the arguments BUILD_FOLDER [WHEEL]."""
    wheels = [pathlib.Path(words[1])] if len(words) > 1 else list(pathlib.Path(words[0], "dist").glob("*.whl"))
    if not wheels:
        raise Unavailable("there is no wheel: tests/long/wheel_test.py makes it")
    return wheels[0]


def mirror():
    """Where the machine's own packages come from; it has the other releases as well."""
    if not shutil.which("apt-get"):
        raise Unavailable("this is no Debian")
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)",
                             "Created-By: Packages"], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        origin, codename, component, uri = line.split("|")
        if (origin, codename, component) == ("Debian", RELEASE, "main"):
            return uri
    raise Unavailable(f"apt has no source with main of Debian's {RELEASE}")


def base_root(build, release):
    """The root that is copied. Raises Unavailable."""
    if os.geteuid() != 0:
        raise Unavailable("only root can change the root")
    if not shutil.which("debootstrap"):
        raise Unavailable("no debootstrap")
    folder = build / "cache" / f"root-{release}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_suffix(".lock")):
        complete = folder.with_suffix(".complete")
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            done = subprocess.run(["unshare", "--mount", "debootstrap", "--variant=minbase", f"--include={PACKAGES[release]}",
                                   release, folder, mirror()], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Unavailable(f"debootstrap: {(done.stdout + done.stderr).strip().splitlines()[-1:]}")
            complete.touch()
    return folder


class CleanRoot:
    """A copy of the base root, which ends with the object."""

    def __init__(self, build, release=RELEASE):
        base = base_root(build, release)
        self._scratch = tempfile.TemporaryDirectory(prefix="tessera-root-")
        self.folder = os.path.join(self._scratch.name, "root")
        subprocess.run(["cp", "--archive", "--reflink=auto", base, self.folder], check=True)

    def path(self, inside):
        return os.path.join(self.folder, inside.lstrip("/"))

    def run(self, script, user="", shell="bash", variables=None):
        """Runs a script, as root or as the user, in namespaces of its own: what it starts and mounts ends with it.
        Returns the completed process."""
        home = os.path.join("/home", user) if user else "/"
        words = [f"{name}={os.environ[name]}" for name in NETWORK if name in os.environ]
        words += [f"{name}={value}" for name, value in ({"PATH": PATH, "HOME": home} | (variables or {})).items()]
        enter = ["chroot", *([f"--userspec={user}:{user}"] if user else []), self.folder, "/usr/bin/env", "-i", *words,
                 shell, "-ec", f"cd {home}\n{script}"]
        inside = f"mount -t proc proc {shlex.quote(self.path('proc'))} && exec {shlex.join(enter)}"
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1200, check=False)

    def must(self, script, **how):
        """What the script printed; the test ends if it failed."""
        done = self.run(script, **how)
        if done.returncode != 0:
            raise AssertionError(f"{script}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def add_user(self):
        self.must(f"useradd --create-home {USER}")

    def install(self, *packages):
        """Debian's packages, without what they only recommend."""
        self.must("apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "
                  + shlex.join(packages))

    def assert_no_compiler(self):
        found = self.run("for name in " + shlex.join(COMPILERS) + '; do command -v "$name" || true; done').stdout.split()
        assert not found, f"the root has {found}"
        assert not os.path.exists(self.path("usr/local/cuda"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._scratch.cleanup()
