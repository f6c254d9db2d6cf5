#!/usr/bin/env python3
"""Writes softcuda's table of documented entry points from the CUDA toolkit's own headers.

Why generated: the driver API has some 600 exported names, and a program may ask for any of them by
name and version. Read from cuda.h and cudaTypedefs.h, none can be missing and none is typed wrong.

The device is one of a driver that is newer than the toolkit: what that adds is read from newer_cuda.h, which
declares it, and from newer_names.txt, which only names it.

Usage: generate_entry_points.py INCLUDE_FOLDER NEWER_HEADER NEWER_NAMES OUTPUT_FOLDER, which gets
  entry_points_table.cpp   every exported name with its (base name, version, stream variant), and a
                           weak definition that counts the call and answers CUDA_ERROR_NOT_SUPPORTED;
                           a definition in this folder is strong and wins when linked
  stream_variants.cpp      _ptds and _ptsz names: the plain function, with stream 0 as per-thread
  error_names.inc          one line per CUresult
"""
import pathlib
import re
import sys
from collections import defaultdict

TYPEDEF = re.compile(
    r"typedef\s+CUresult\s*\(CUDAAPI\s*\*\s*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)\(([^;]*)\);")
PROTOTYPE = re.compile(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(")
RENAMING = re.compile(r"^\s*#define\s+(cu[A-Z]\w*)\s+(\S.*)$", re.M)
ERROR = re.compile(r"^\s+(CUDA_\w+)\s*=\s*(\d+)", re.M)


def newer_entry_points(header, names):
    """Like TYPEDEF.findall(), for entry points that the toolkit may be too old for."""
    text = header.read_text()
    with_variant = set(re.findall(r"\b(cu[A-Z]\w*?)(?:_v\d+)?_ptsz\b", text))
    for base, version, _, parameters in TYPEDEF.findall(text):
        yield base, version, "", parameters
        if base in with_variant:
            yield base, version, "_ptsz", parameters
    for word in re.sub(r"#.*", "", names.read_text()).split():
        base, version, variant = re.fullmatch(r"(cu\w+)@(\d+)(\+?)", word).groups()
        yield base, version, "", ""
        if variant:
            yield base, version, "_ptsz", ""


def read_entry_points(include, newer, names):
    """All of (exported name, base name, version, variant, parameters)."""
    found = defaultdict(dict)
    typedefs = list(newer_entry_points(newer, names))
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        typedefs += TYPEDEF.findall((include / header).read_text())
    for base, version, variant, parameters in typedefs:
        found[base].setdefault(variant, {})[int(version)] = parameters
    entries = []
    for base, variants in found.items():
        plain = sorted(variants.get("", {}))
        for variant, versions in variants.items():
            for place, version in enumerate(reversed(sorted(versions))):
                # The ABI suffix is the index among the plain versions: cuMemAlloc, cuMemAlloc_v2.
                number = max(len(plain), len(versions)) - place
                abi = base + (f"_v{number}" if number > 1 else "")
                entries.append((abi + variant, base, version, variant, versions[version]))
    known = {entry[1] for entry in entries}
    header = (include / "cuda.h").read_text()
    for name in sorted(set(PROTOTYPE.findall(header))):
        if re.sub(r"(_v\d+)?(_ptds|_ptsz)?$", "", name) not in known:
            entries.append((name, name, 0, "", ""))
    return sorted(entries)


def table_source(entries):
    lines = ['#include "entry_points.hpp"', "", "namespace tessera::softcuda {", "namespace {",
             f"std::atomic<std::uint64_t> calls[{len(entries)}];",
             "int unsupported(std::size_t index) {",
             "  calls[index].fetch_add(1, std::memory_order_relaxed);",
             "  return 801;  // CUDA_ERROR_NOT_SUPPORTED",
             "}", "}  // namespace", "}  // namespace tessera::softcuda", "",
             'extern "C" {']
    for index, entry in enumerate(entries):
        lines.append(f'[[gnu::weak, gnu::visibility("default")]] int {entry[0]}() '
                     f"{{ return tessera::softcuda::unsupported({index}); }}")
    lines += ["}", "", "namespace tessera::softcuda {", "namespace {", "const EntryPoint table[] = {"]
    for index, (name, base, version, variant, _) in enumerate(entries):
        kind = "true" if variant else "false"
        lines.append(f'    {{"{name}", "{base}", {version}, {kind}, reinterpret_cast<void*>(&{name}), '
                     f"&calls[{index}]}},")
    lines += ["};", "}  // namespace",
              "std::span<const EntryPoint> entry_points() { return table; }",
              "}  // namespace tessera::softcuda", ""]
    return "\n".join(lines)


def parameter_names(parameters):
    if parameters.strip() in ("", "void"):
        return []
    return [re.search(r"(\w+)\s*(\[\d*\])?$", part.strip()).group(1) for part in parameters.split(",")]


def declared_names(header):
    """The functions that a C++ file including cuda.h can call, by exported name."""
    public = header.split("CUDA API versioning support")[0]
    renaming = {name: re.findall(r"cu[A-Z]\w*", target)[-1]
                for name, target in RENAMING.findall(public) if "cu" in target}
    return {renaming.get(name, name) for name in PROTOTYPE.findall(public)}


def declared_newer(text):
    """The same for newer_cuda.h: if a form with a suffix is declared, so is the one without."""
    return {name.removesuffix("_ptsz") for name in re.findall(r"\bcu[A-Z]\w*_ptsz\b", text)}


def variants_source(entries, declared):
    lines = ['#include "default_stream.hpp"', "", 'extern "C" {']
    for name, _, _, variant, parameters in entries:
        plain = name.removesuffix(variant)
        if not variant or plain not in declared:  # an ABI that cuda.h no longer declares
            continue
        lines += [f'[[gnu::visibility("default")]] CUresult {name}({parameters}) {{',
                  "  const tessera::softcuda::PerThreadDefaultStream scope;",
                  f"  return {plain}({', '.join(parameter_names(parameters))});", "}"]
    return "\n".join(lines + ["}", ""])


def main():
    include, newer, names, output = map(pathlib.Path, sys.argv[1:5])
    output.mkdir(parents=True, exist_ok=True)
    entries = read_entry_points(include, newer, names)
    header = (include / "cuda.h").read_text()
    errors = sorted({(int(code), name) for name, code in ERROR.findall(
        re.search(r"typedef enum cudaError_enum \{(.*?)\} CUresult;",
                  header, re.S).group(1))})
    (output / "entry_points_table.cpp").write_text(table_source(entries))
    (output / "stream_variants.cpp").write_text(
        variants_source(entries, declared_names(header) | declared_newer(newer.read_text())))
    (output / "error_names.inc").write_text(
        "".join(f'{{{code}, "{name}"}},\n' for code, name in errors))


if __name__ == "__main__":
    main()
