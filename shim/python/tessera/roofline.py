"""The time of a kernel on a named GPU: the maximum of arithmetic time and traffic time, plus a launch cost.

Peaks are the vendors' published ones without sparsity; a kernel reaches a fraction of them. Recorded traces
(`tessera.record`) and generated ones (bench/traces) take their times from this one table.
"""

from dataclasses import dataclass

GB = 1_000_000_000
TERA = 1_000_000_000_000
ARITHMETIC_REACHED = 0.6
TRAFFIC_REACHED = 0.8
START_NS = 3_000


@dataclass(frozen=True)
class Gpu:
    name: str
    memory: int           # bytes
    bandwidth: float      # bytes per second
    full: float           # FLOP per second in fp32 (TF32 on GPUs with tensor cores)
    half: float           # FLOP per second in fp16 or bf16

    def nanoseconds(self, flops: float, moved: int, element_bytes: int) -> int:
        """The time of one kernel that moves `moved` bytes."""
        peak = self.half if element_bytes <= 2 else self.full
        seconds = max(flops / (peak * ARITHMETIC_REACHED), moved / (self.bandwidth * TRAFFIC_REACHED))
        return START_NS + round(seconds * 1e9)


GPUS = {gpu.name: gpu for gpu in (
    Gpu("A100-80G", 80 << 30, 2039 * GB, 156 * TERA, 312 * TERA),
    Gpu("A100-40G", 40 << 30, 1555 * GB, 156 * TERA, 312 * TERA),
    Gpu("H100", 80 << 30, 3350 * GB, 494.7 * TERA, 989.4 * TERA),
    Gpu("V100-16G", 16 << 30, 900 * GB, 15.7 * TERA, 125 * TERA),
    Gpu("T4", 16 << 30, 320 * GB, 8.1 * TERA, 65 * TERA),
    Gpu("RTX-4090", 24 << 30, 1008 * GB, 82.6 * TERA, 165.2 * TERA),
)}
