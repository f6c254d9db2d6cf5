"""A Triton kernel, in a separate file because Triton reads the source."""

import torch
import triton
import triton.language as tl


@triton.jit
def _scaled_sum(out, left, right, count, size: tl.constexpr):
    at = tl.program_id(0) * size + tl.arange(0, size)
    inside = at < count
    tl.store(out + at, tl.load(left + at, mask=inside) * 2 + tl.load(right + at, mask=inside), mask=inside)


def scaled_sum(left, right):
    """2 * left + right."""
    out = torch.empty_like(left)
    _scaled_sum[(triton.cdiv(left.numel(), 1024),)](out, left, right, left.numel(), size=1024)
    return out
