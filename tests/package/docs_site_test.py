"""The documents build as a site without a warning, all of them are in it, and its drawings show their texts.

Usage: docs_site_test.py BUILD_FOLDER. Needs mkdocs-material from the package index; skipped (77) without.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"
sys.path[:0] = [str(ROOT / "tests/integration"), str(SITE)]

import badges  # noqa: E402
import drawings  # noqa: E402
from header_page import header_page  # noqa: E402
from virtual_environment import python_with  # noqa: E402


def build(python, config, site):
    return subprocess.run([python, "-B", "-m", "mkdocs", "build", "--config-file", config, "--site-dir", site],
                          capture_output=True, text=True, timeout=250, check=False,
                          env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})


def check_drawings():
    sources = sorted((ROOT / "docs/drawings").glob("*.txt"))
    assert {path.stem for path in sources} == {path.stem for path in (ROOT / "docs/drawings").glob("*.svg")}
    for path in sources:
        drawn = drawings.draw(path.read_text(encoding="utf-8"))
        assert path.with_suffix(".svg").read_text(encoding="utf-8") == drawn, f"docs/site/drawings.py was not run: {path}"


def check_badges():
    """Each is drawn from what it is about."""
    drawn = {f"{name}.svg": badges.draw(*words) for name, words in badges.badges().items()}
    there = {path.name: path.read_text(encoding="utf-8") for path in badges.FOLDER.iterdir()}
    assert there == drawn, "docs/site/badges.py was not run"


def check_header_page():
    page = header_page("a.h", "/* What it is. */\n#define TESSERA_A_H\n\n/* ---- parts ---- */\n\n/* Does it. */\n"
                              "TESSERA_API int tessera_a(int one,\n                          int two);\n")
    assert page == ("# a.h\n\n`#include \"tessera/a.h\"`, as it is in the header.\n\nWhat it is.\n\n## Parts\n\nDoes it.\n\n"
                    "```c\nint tessera_a(int one,\n              int two);\n```\n"), page


def main():
    check_drawings()
    check_badges()
    check_header_page()
    [requirement] = (SITE / "requirements.txt").read_text(encoding="utf-8").split()
    python = python_with(pathlib.Path(sys.argv[1]).resolve(), *requirement.split("=="))
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        done = build(python, ROOT / ".mkdocs.yml", site)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        for path in (ROOT / "docs").rglob("*.md"):
            page = site / path.relative_to(ROOT / "docs").with_suffix(".html")
            names = [page, page.with_name("index.html")] if path.name == "README.md" else [page]
            assert any(name.exists() for name in names), f"{path} is not in the site"
        assert "tessera_use_begin" in (site / "reference/tessera.h.html").read_text(encoding="utf-8")

        # A site with a wrong link does not build.
        wrong = pathlib.Path(folder) / "wrong.yml"
        text = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
        docs = pathlib.Path(folder) / "docs"
        docs.mkdir()
        (docs / "index.md").write_text("# One\n\n[two](#three)\n", encoding="utf-8")
        text = text.replace("docs_dir: docs", f"docs_dir: {docs}").replace("hooks: [docs/site/hooks.py]", "")
        wrong.write_text(text[:text.index("nav:\n")], encoding="utf-8")
        assert "three" in build(python, wrong, pathlib.Path(folder) / "nothing").stderr


if __name__ == "__main__":
    main()
