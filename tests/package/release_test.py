"""What a release says of itself: one version, a changelog in its form, a licence for each file; a wrong tag is refused.

Usage: release_test.py BUILD_FOLDER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from virtual_environment import Unavailable, environment_with  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
REUSE = "6.2.0"
HEADER = (ROOT / "include/tessera/version.h").read_text(encoding="utf-8")
VERSION = re.search(r'TESSERA_VERSION_STRING "([^"]+)"', HEADER)[1]
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


class Release(unittest.TestCase):
    def test_the_version_is_one(self):
        numbers = [re.search(rf"TESSERA_VERSION_{part} (\d+)", HEADER)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(numbers), VERSION)
        shown = subprocess.run([BUILD / "bin/tessera", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown.split()[-1], VERSION)
        # Whatever else has the number would have to be changed with it.
        for name in ("pyproject.toml", "CITATION.cff", "CMakeLists.txt", "cmake/version.cmake", "README.md"):
            self.assertNotIn(VERSION, (ROOT / name).read_text(encoding="utf-8"), name)

    def test_the_changelog_keeps_its_form(self):
        headings = re.findall(r"^(##+) (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
        versions = [title for marks, title in headings if marks == "##"]
        self.assertEqual(versions[0], "[Unreleased]")
        self.assertRegex(versions[1], rf"^\[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d$")
        version, sections = "", set()
        for marks, title in headings:
            if marks == "##":
                version, sections = title, set()
                continue
            self.assertIn(title, SECTIONS)
            self.assertNotIn(title, sections, version)
            sections.add(title)

    def test_each_file_has_a_licence(self):
        if not shutil.which("git") or subprocess.run(["git", "rev-parse"], cwd=ROOT, capture_output=True, check=False).returncode:
            self.skipTest("this is no checkout")
        try:
            python = environment_with(BUILD, "reuse", REUSE)
        except Unavailable as why:
            self.skipTest(str(why))
        done = subprocess.run([python.with_name("reuse"), "--root", ROOT, "lint", "--quiet"], check=False)
        self.assertEqual(done.returncode, 0, "see `reuse lint`")

    def repository(self, stand_ins=()):
        """With what the script reads, and the tag of the version: the project's own has no such tags."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        copy = pathlib.Path(folder.name) / "repository"
        for name in ("cmake/release.sh", "include/tessera/version.h", "CHANGELOG.md"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        for name, text in stand_ins:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(text, encoding="utf-8")
        self.git(copy, "init")
        self.commit(copy)
        return copy

    def git(self, repository, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words], cwd=repository, check=True,
                       capture_output=True)

    def commit(self, repository):
        self.git(repository, "add", ".")
        self.git(repository, "commit", "-m", "a")
        self.git(repository, "tag", "-f", f"v{VERSION}")

    def test_only_the_tag_of_the_version_is_released(self):
        copy = self.repository()

        def refused(tag):
            done = subprocess.run(["sh", copy / "cmake/release.sh", "--check", tag], capture_output=True, text=True,
                                  check=False)
            return done.stderr if done.returncode else ""

        self.git(copy, "tag", "v99.0.0")
        self.assertEqual(refused(f"v{VERSION}"), "")
        self.assertIn(f"the version in include/tessera/version.h is {VERSION}", refused("v99.0.0"))
        self.assertIn("there is no tag", refused("v98.0.0"))
        text = (copy / "CHANGELOG.md").read_text(encoding="utf-8")
        (copy / "CHANGELOG.md").write_text(text.replace(f"[{VERSION}] - ", "[0.0.1] - "), encoding="utf-8")
        self.commit(copy)
        self.assertIn("CHANGELOG.md has no section", refused(f"v{VERSION}"))

    def test_the_files_are_where_the_caller_wants_them_with_their_checksums(self):
        # In place of the steps that build, which take half an hour.
        wheel, package = f"tessera_cuda-{VERSION}-py3.whl", f"tessera-cuda_{VERSION}_amd64.deb"
        copy = self.repository([("cmake/wheel.sh", f'echo wheel >"$2/{wheel}"\n'),
                                ("docs/site/build.sh", 'mkdir -p "$2" && echo page >"$2/index.html"\n')])
        tools = copy.parent / "tools"
        tools.mkdir()
        for name, text in (("cmake", "mkdir -p build/release"),
                           ("cpack", f'mkdir "$4/_CPack_Packages" && echo package >"$4/{package}"')):
            (tools / name).write_text(f"#!/bin/sh -e\n{text}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        for target in ("made here", copy.parent / "made elsewhere"):
            subprocess.run(["sh", copy / "cmake/release.sh", f"v{VERSION}", target], cwd=copy.parent, check=True,
                           capture_output=True, env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})
            made = copy.parent / target
            self.assertEqual({path.name for path in made.iterdir()},
                             {f"tessera-{VERSION}.tar.gz", f"tessera-docs-{VERSION}.tar.gz", wheel, package, "SHA256SUMS"})
            checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=made, check=True, capture_output=True, text=True)
            self.assertEqual(checked.stdout.count(": OK"), 4)


if __name__ == "__main__":
    unittest.main()
