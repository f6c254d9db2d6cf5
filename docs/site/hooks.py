"""What mkdocs does not do by itself: pages that lie elsewhere in the tree or are made of headers, and links between them.

A link in a document is a path in the tree, as on GitHub; in the site it leads to the page that is made of that file.
"""

import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from header_page import header_page  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s#]+)?(#[^)\s]*)?(\))")
# Page -> file of the tree. The first screen is the one that visitors of the repository see.
ELSEWHERE = {"index.md": "README.md", "documents.md": "docs/README.md", "contributing.md": "CONTRIBUTING.md",
             "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md", "alloc.md": "alloc/README.md",
             "shim-code.md": "shim/README.md", "softcuda.md": "shim/softcuda/README.md",
             "softnvrtc.md": "shim/softnvrtc/README.md"}
# Folders of pages, by their titles in the navigation.
FOLDERS = {"Decisions": "decisions", "Experiments": "experiments"}
PICTURES = "bench/results/oversubscription"
HEADERS = ("tessera.h", "host.h", "extents.h", "profile.h", "interpose.h", "plan.h", "status.h", "tessera.hpp",
           "memory_resource.hpp", "cuda_mr.hpp", "error.hpp")

origins = {}  # page or picture of the site -> file of the tree


def title_of(path):
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def index_of(folder):
    """Its own first page, or one that is made."""
    return f"{folder}/README.md" if (ROOT / "docs" / folder / "README.md").exists() else f"{folder}/index.md"


def contents_of(folder):
    """A page that lists those of a folder, for links to the folder."""
    pages = [path for path in sorted((ROOT / "docs" / folder).glob("*.md")) if path.name != "README.md"]
    return f"# {folder.capitalize()}\n\n" + "".join(f"- [{title_of(path)}]({path.name})\n" for path in pages)


def on_config(config):
    for title, folder in FOLDERS.items():
        pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / folder).glob("*.md"))
        config.nav[-1]["Design"].append({title: [index_of(folder), *(page for page in pages if "README" not in page)]})
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    reference.append({"C and C++": [{name: f"reference/{name}.md"} for name in HEADERS]})
    return config


def on_files(files, config):
    from mkdocs.structure.files import File

    def add(page, **source):
        if old := files.get_file_from_path(page):
            files.remove(old)
        files.append(File.generated(config, page, **source))

    origins.clear()
    files.remove(files.get_file_from_path("README.md"))
    for file in files.documentation_pages():
        origins[file.src_uri] = f"docs/{file.src_uri}"
    for page, path in ELSEWHERE.items():
        add(page, content=(ROOT / path).read_text(encoding="utf-8"))
        origins[page] = path
    for picture in sorted((ROOT / PICTURES).glob("*.svg")):
        name = picture.relative_to(ROOT).as_posix()
        add(name, abs_src_path=str(picture))
        origins[name] = name
    for folder in FOLDERS.values():
        page = index_of(folder)
        if page.endswith("/index.md"):
            add(page, content=contents_of(folder))
            origins[page] = f"docs/{page}"
    for name in HEADERS:
        add(f"reference/{name}.md", content=header_page(name, (ROOT / "include/tessera" / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links as the site has them."""
    origin = origins.get(page.file.src_uri)
    if origin is None:
        return markdown
    pages = {path: uri for uri, path in origins.items()}
    pages |= {f"docs/{folder}": index_of(folder) for folder in FOLDERS.values()}

    def moved(match):
        before, target, anchor, after = match.groups()
        if not target or "://" in target:
            return match.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        uri = pages.get(path, path.removeprefix("docs/"))
        return f"{before}{posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or '.')}{anchor or ''}{after}"

    lines, in_block = [], False
    for line in markdown.split("\n"):
        in_block ^= line.lstrip().startswith("```")
        lines.append(line if in_block else LINK.sub(moved, line))
    return "\n".join(lines)
