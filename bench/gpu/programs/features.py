"""PyTorch features that hide work from a library that hooks launches, each computed once.

After each feature a line of JSON is printed: for all features so far a digest of the result or the error, and which
features are left. The digests must be the same alone and under Tessera. Between the features a ballast is touched,
so that everything else is evicted when there is too little device memory. An error that corrupts the context ends
the process; the caller runs the remaining features in a new one.
"""

import argparse
import hashlib
import json
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from torch.nn import functional

WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


class Bench:
    """Sizes, the device, and random numbers that are the same in every run."""

    def __init__(self, device, tiny):
        self.device = device
        self.side = 32 if tiny else 1024
        self.ballast = [torch.zeros(1 << 16 if tiny else 1 << 27, device=device) for _ in range(3)]

    def numbers(self, *shape, seed=1, kind=torch.float32):
        chosen = torch.Generator().manual_seed(seed)
        return torch.randn(*shape, generator=chosen).to(self.device, kind)

    def touch_ballast(self):
        for part in self.ballast:
            part.add_(1)


def digest(*tensors):
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()[:16]


def adam(bench, **options):
    parameters = [torch.nn.Parameter(bench.numbers(bench.side, bench.side // 4, seed=i)) for i in range(24)]
    optimizer = torch.optim.AdamW(parameters, lr=0.01, **options)
    for step in range(3):
        for i, parameter in enumerate(parameters):
            parameter.grad = bench.numbers(*parameter.shape, seed=100 * step + i)
        optimizer.step()
    return parameters


@way
def adam_over_lists_of_tensors(bench):
    """One kernel's parameters hold a struct with the addresses of many tensors."""
    return adam(bench, foreach=True)


@way
def adam_fused(bench):
    return adam(bench, fused=True)


@way
def batched_products(bench):
    """cuBLAS gets strided batches, or a table of addresses in device memory."""
    left, right = bench.numbers(16, bench.side, 64), bench.numbers(16, 64, bench.side, seed=2)
    return [torch.bmm(left, right), torch.einsum("bij,bjk->bik", left, right)]


@way
def batched_solves(bench):
    """cuBLAS and cuSOLVER routines that read tables of addresses made by PyTorch."""
    matrices = bench.numbers(64, 24, 24) + 24 * torch.eye(24, device=bench.device)
    factors, pivots = torch.linalg.lu_factor(matrices)
    triangle = torch.linalg.solve_triangular(matrices.triu(), bench.numbers(64, 24, 8, seed=3), upper=True)
    return [factors, pivots, triangle, torch.linalg.inv(matrices)]


@way
def grouped_product(bench):
    """Products of different sizes in one kernel, as in mixtures of experts."""
    rows = bench.numbers(4 * bench.side, 256, kind=torch.bfloat16)
    experts = bench.numbers(4, 256, 128, kind=torch.bfloat16, seed=4)
    ends = torch.tensor([bench.side // 2, bench.side, 3 * bench.side, 4 * bench.side],
                        dtype=torch.int32, device=bench.device)
    return [torch._grouped_mm(rows, experts, offs=ends)]


@way
def attention(bench):
    parts = [bench.numbers(2, 8, bench.side, 64, kind=torch.bfloat16, seed=i) for i in range(3)]
    return [functional.scaled_dot_product_attention(*parts, is_causal=True)]


@way
def joined_and_sorted(bench):
    """Kernels that take lists of tensors, and libraries with scratch memory of their own."""
    parts = [bench.numbers(bench.side, 64 + i, seed=i) for i in range(40)]
    joined = torch.cat(parts, dim=1)
    values, order = joined.sort(dim=1, stable=True)
    return [values, order, joined.cumsum(0), joined[:, torch.arange(0, 64, 3, device=bench.device)]]


@way
def convolution(bench):
    images, kernels = bench.numbers(4, 16, 64, 64), bench.numbers(32, 16, 3, 3, seed=5)
    return [functional.conv2d(images, kernels, padding=1)]


@way
def two_streams(bench):
    """A tensor created on one stream and used on another, freed while both may still be working."""
    if bench.device != "cuda":
        raise NotImplementedError("streams need a GPU")
    other = torch.cuda.Stream()
    results = []
    for step in range(8):
        made = bench.numbers(bench.side, bench.side, seed=step)
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            results.append((made * 2).sum(dim=0))
            made.record_stream(other)
        del made
    torch.cuda.current_stream().wait_stream(other)
    return results


@way
def captured_graph(bench):
    """One graph, replayed with new inputs after everything was evicted in between."""
    if bench.device != "cuda":
        raise NotImplementedError("graphs need a GPU")
    layer = torch.nn.Linear(bench.side, bench.side).to(bench.device)
    with torch.no_grad():
        layer.weight.copy_(bench.numbers(bench.side, bench.side))
        layer.bias.zero_()
        entry = bench.numbers(64, bench.side, seed=6)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            layer(entry).relu()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = layer(entry).relu()
        results = []
        for step in range(4):
            bench.touch_ballast()
            entry.copy_(bench.numbers(64, bench.side, seed=10 + step))
            graph.replay()
            results.append(out.clone())
    return results


@way
def triton_kernel(bench):
    """A user-written kernel."""
    if bench.device != "cuda":
        raise NotImplementedError("Triton needs a GPU")
    import triton_kernels
    return [triton_kernels.scaled_sum(bench.numbers(bench.side * 64), bench.numbers(bench.side * 64, seed=8))]


@way
def pinned_copies(bench):
    """Asynchronous copies from and to pinned memory."""
    if bench.device != "cuda":
        raise NotImplementedError("pinned memory needs a GPU")
    host = torch.randn(bench.side, bench.side, generator=torch.Generator().manual_seed(9)).pin_memory()
    there = host.to(bench.device, non_blocking=True)
    back = torch.empty_like(host).pin_memory()
    back.copy_(there * 3, non_blocking=True)
    torch.cuda.synchronize()
    return [back]


@way
def compiled(bench):
    """torch.compile: Triton kernels, and generated code that plans its own memory."""
    def body(x, y):
        return (torch.nn.functional.gelu(x @ y) * 2 + x.sum(dim=1, keepdim=True)).softmax(dim=1)
    x, y = bench.numbers(bench.side, bench.side), bench.numbers(bench.side, bench.side, seed=7)
    function = torch.compile(body)
    return [function(x, y), function(y, x)]


@way
def compiled_with_graphs(bench):
    """torch.compile with its own CUDA graphs."""
    if bench.device != "cuda":
        raise NotImplementedError("graphs need a GPU")
    function = torch.compile(lambda x: (x.sin() @ x).relu(), mode="reduce-overhead")
    results = []
    for step in range(4):
        results.append(function(bench.numbers(bench.side, bench.side, seed=step)).clone())
        bench.touch_ballast()
    return results


def spoiled(error):
    """Whether the error makes the process unusable."""
    return "CUDA error" in str(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    bench = Bench(options.device, options.tiny)
    found, left = {}, options.only.split(",")
    while left:
        name = left.pop(0)
        start = time.perf_counter()
        end = False
        try:
            bench.touch_ballast()
            facts = {"digest": digest(*WAYS[name](bench))}
        except Exception as error:  # a failing feature must not prevent the others
            facts = {"error": f"{type(error).__name__}: {error}"[:400]}
            end = spoiled(error)
        found[name] = {**facts, "seconds": round(time.perf_counter() - start, 4)}
        print(json.dumps({"ways": found, "left": left, "torch": torch.__version__}), flush=True)
        if end:
            # The context is lost: a regular exit could hang in it.
            os._exit(0)


if __name__ == "__main__":
    main()
