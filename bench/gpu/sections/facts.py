"""The machine, the report of `tessera doctor`, and whether one small program runs under Tessera at all."""

import importlib.metadata
import os
import pathlib
import platform
import resource

from sections import evidence
from sections.place import last_json

PACKAGES = ["torch", "triton", "nvidia-cuda-runtime", "nvidia-nccl-cu13", "nvidia-nccl-cu12", "jax", "cupy-cuda13x", "cuda-bindings"]
FILES = {"huge pages": "/sys/kernel/mm/transparent_hugepage/enabled",
         "memory limit": "/sys/fs/cgroup/memory.max", "process limit": "/sys/fs/cgroup/pids.max",
         "io_uring disabled": "/proc/sys/kernel/io_uring_disabled", "driver": "/proc/driver/nvidia/version"}
GPU_FACTS = "name,driver_version,vbios_version,pci.bus_id,memory.total,memory.used,mig.mode.current,compute_mode," \
            "persistence_mode,ecc.mode.current,pcie.link.gen.current,pcie.link.width.current,power.limit,clocks.max.sm"


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def text_of(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def lines_with(path, *words):
    return [line for line in (text_of(path) or "").splitlines() if line.startswith(words)]


def machine():
    folders = {folder: os.statvfs(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm") if os.path.isdir(folder)}
    return {"system": platform.platform(), "python": platform.python_version(), "c_library": " ".join(platform.libc_ver()),
            "processors": len(os.sched_getaffinity(0)),
            "memory": lines_with("/proc/meminfo", "MemTotal", "MemAvailable"),
            "locked_memory": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
            "seccomp": lines_with("/proc/self/status", "Seccomp"),
            "free_bytes": {folder: about.f_bavail * about.f_frsize for folder, about in folders.items()},
            "packages": {name: found for name in PACKAGES if (found := version(name))},
            "tessera_variables": {name: value for name, value in os.environ.items() if name.startswith("TESSERA_")},
            **{name: (text_of(path) or "")[:400] or None for name, path in FILES.items()}}


def gpu(place, record):
    if place.software:
        record.not_here("nvidia-smi", "the software device")
        return
    told = place.run(["nvidia-smi", f"--query-gpu={GPU_FACTS}", "--format=csv"], record.left(10))
    rows = [line.split(", ") for line in told.out.strip().splitlines()]
    if not told.well or len(rows) < 2:
        record.add("nvidia-smi", answer="failed", failed=told.failure())
        return
    record.add("nvidia-smi", devices=[dict(zip(rows[0], row)) for row in rows[1:]])


def doctor(place, record):
    told = place.run([place.tessera(), "doctor", "--json", *(["--software"] if place.software else [])], record.left(15))
    report = last_json("".join(told.out.splitlines()))
    if report is None:
        record.add("tessera doctor", answer="failed", failed=told.failure())
        return
    able = report["software" if place.software else "gpu"]
    record.add("tessera doctor", answer="yes" if able and told.well else "no", verdict=report["verdict"],
               findings=report["findings"], **told.told())


def first_program(place, record):
    """The smallest program with a kernel: before anything else, does Tessera start here?"""
    outcome, seen = evidence.run(place, [place.program("vector_add"), place.kernels("vector_add_kernels")], record.left(15))
    record.add("a program under tessera run", answer=evidence.answer(outcome.well, seen), evidence=seen,
               **(outcome.told() if outcome.well else {"failed": outcome.failure()}))


def run(place, record):
    record.add("machine", **machine())
    gpu(place, record)
    doctor(place, record)
    first_program(place, record)
