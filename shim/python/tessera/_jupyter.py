"""Notebooks: a kernel that starts under `tessera run`, and the magics of `%load_ext tessera`."""

import argparse
import html
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional

from . import _library

LARGEST_PAGE = 1 << 20  # characters; it is stored in the notebook
FLAT = ("blocks", "device", "host", "file", "moves", "stalls")


def kernel_spec(options: List[str], display_name: str) -> Dict[str, Any]:
    """What Jupyter starts: this Python under `tessera run` with these options."""
    return {"argv": [sys.executable, "-m", "tessera", "run", *options, "--", sys.executable, "-m", "ipykernel_launcher",
                     "-f", "{connection_file}"],
            "display_name": display_name, "language": "python", "metadata": {"debugger": True}}


def kernels_folder(prefix: Optional[str]) -> pathlib.Path:
    """Where Jupyter looks for kernels: below a prefix, or the user's own."""
    if prefix:
        return pathlib.Path(prefix) / "share" / "jupyter" / "kernels"
    data = os.environ.get("JUPYTER_DATA_DIR")
    if data:
        return pathlib.Path(data) / "kernels"
    share = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(share) / "jupyter" / "kernels"


def main(words: List[str]) -> int:
    """`tessera jupyter install`. What follows -- are options of `tessera run`."""
    options: List[str] = []
    if "--" in words:
        place = words.index("--")
        words, options = words[:place], words[place + 1:]
    parser = argparse.ArgumentParser("tessera jupyter", epilog="After -- options of `tessera run`: -- --device-memory 8GiB")
    commands = parser.add_subparsers(dest="command", required=True)
    install = commands.add_parser("install", help="install a kernel that starts under `tessera run`")
    install.add_argument("--name", default="tessera", help="folder of the kernel (tessera)")
    install.add_argument("--display-name", default="Python 3 (Tessera)", help="what Jupyter shows")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--prefix", help="install below this folder, for all of its users")
    where.add_argument("--sys-prefix", action="store_const", const=sys.prefix, dest="prefix",
                       help="install into this Python's environment")
    chosen = parser.parse_args(words)
    folder = kernels_folder(chosen.prefix) / chosen.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(kernel_spec(options, chosen.display_name), indent=1)
        (folder / "kernel.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"tessera: {error}", file=sys.stderr)
        return 1
    print(f"installed the kernel \"{chosen.display_name}\" in {folder}")
    return 0


def _growth(before: Dict[str, Any], after: Dict[str, Any]) -> Dict[str, Dict[str, int]]:
    """Figures that differ, by group."""
    found: Dict[str, Dict[str, int]] = {}
    for group in FLAT:
        grown = {name: value - before.get(group, {}).get(name, 0) for name, value in after.get(group, {}).items()
                 if isinstance(value, int) and not isinstance(value, bool)}
        found[group] = {name: value for name, value in grown.items() if value}
    return {group: values for group, values in found.items() if values}


def _page_of(history: pathlib.Path) -> str:
    """What `tessera report` draws of it."""
    page = history.with_suffix(".html")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([str(_library.program()), "report", str(history), "--out", str(page)], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"`tessera report` ended with {done.returncode}")
    return page.read_text(encoding="utf-8")


def _output(history: pathlib.Path, table: str) -> Dict[str, str]:
    """The report for notebooks, in a frame since it has a style of its own; the table for consoles."""
    try:
        page = _page_of(history)
    except (OSError, ImportError) as error:
        return {"text/plain": f"{table}\n\nno report: {error}"}
    if len(page) > LARGEST_PAGE:
        return {"text/plain": f"{table}\n\nno report: it has {len(page):,} characters, too many for a notebook; "
                              "tessera.profile(FILE) writes its history"}
    frame = (f'<iframe title="Tessera: report of the cell" srcdoc="{html.escape(page)}" sandbox '
             'style="width:100%;height:48rem;border:0"></iframe>')
    return {"text/html": frame, "text/plain": table}


def load(shell: Any) -> None:
    """Registers `%tessera` and `%%tessera_profile` with an IPython shell."""
    import tessera

    def figures() -> Dict[str, Any]:
        """None before the program has a context: Tessera starts with it."""
        try:
            return tessera.stats()
        except tessera.TesseraError:
            return {}

    def state(line: str) -> None:
        """%tessera: the figures. %tessera sleep [TAG], %tessera wake [TAG]: moves blocks."""
        words = line.split()
        try:
            if not words:
                print(tessera.report())
            elif words[0] in ("sleep", "wake") and len(words) <= 2:
                print(getattr(tessera, words[0])(*words[1:]))
            else:
                print("usage: %tessera, %tessera sleep [TAG] or %tessera wake [TAG]")
        except tessera.TesseraError as error:
            print(error)

    def profile(line: str, cell: str) -> None:
        """%%tessera_profile: runs the cell, and shows the report of what it did."""
        before = figures()
        with tempfile.TemporaryDirectory() as folder:
            history = pathlib.Path(folder, "cell.json")
            result = None
            try:
                with tessera.profile(history):
                    result = shell.run_cell(cell)
                    result.raise_error()
            except tessera.TesseraError as error:
                if result is None or not result.success:
                    raise
                print(f"no report: {error}")  # nothing in the cell has used a device
                return
            grown = tessera._table(_growth(before, figures())) or "no figure has changed"
            shell.display_pub.publish(_output(history, grown))

    shell.register_magic_function(state, "line", "tessera")
    shell.register_magic_function(profile, "cell", "tessera_profile")
