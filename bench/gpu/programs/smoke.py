"""What nearly every PyTorch program does, a few steps each, with losses that must be bit-identical in every run.

After each part a line of JSON is printed: the losses of all parts so far, which parts are left, and whether the
preload library is in this process. Between the steps a ballast is touched, so that with too little device memory
everything else is evicted. An error that corrupts the context ends the process; the caller runs the remaining parts
in a new one.
"""

import argparse
import json
import os
import tempfile
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# The process group has one process: no network is needed, and a bare machine has none.
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")

import torch
from torch import nn
from torch.nn import functional

STEPS = 3
PARTS = {}


def part(function):
    PARTS[function.__name__] = function
    return function


class Bench:
    """Sizes, the device, and random numbers that are the same in every run."""

    def __init__(self, device, tiny):
        self.device, self.cuda = device, device == "cuda"
        self.side = 32 if tiny else 2048
        self.ballast = [torch.zeros(1 << 12 if tiny else 1 << 27, device=device) for _ in range(3)]

    def numbers(self, *shape, seed=1, kind=torch.float32):
        chosen = torch.Generator().manual_seed(seed)
        return torch.randn(*shape, generator=chosen).to(self.device, kind)

    def touch_ballast(self):
        for piece in self.ballast:
            piece.add_(1)


def train(bench, model, inputs, optimizer):
    """The loss of each step, as a tensor on the device."""
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = model(inputs(step)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        bench.touch_ballast()
    return losses


def layers(bench, count):
    torch.manual_seed(2)
    parts = [part for _ in range(count) for part in (nn.Linear(bench.side, bench.side), nn.GELU())]
    return nn.Sequential(*parts).to(bench.device)


@part
def matmul(bench):
    """Products of large matrices, forward only."""
    weights = [bench.numbers(bench.side, bench.side, seed=i) / bench.side ** 0.5 for i in range(8)]
    losses = []
    for step in range(STEPS):
        x = bench.numbers(bench.side, bench.side, seed=50 + step)
        for weight in weights:
            x = torch.relu(x @ weight)
        losses.append(x.square().mean())
        bench.touch_ballast()
    return losses


@part
def convolution(bench):
    """cuDNN, with its own workspaces, forward and backward."""
    torch.manual_seed(3)
    width, size = (4, 16) if bench.side < 64 else (64, 64)
    model = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                          nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 8, 1)).to(bench.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return train(bench, model, lambda step: bench.numbers(16, 3, size, size, seed=60 + step), optimizer)


@part
def foreach_adamw(bench):
    """One kernel's parameters hold a struct with the addresses of many tensors."""
    model = layers(bench, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    return train(bench, model, lambda step: bench.numbers(64, bench.side, seed=70 + step), optimizer)


@part
def cuda_graph(bench):
    """One graph, replayed with new inputs after its blocks were evicted."""
    if not bench.cuda:
        raise NotImplementedError("graphs need a GPU")
    model = layers(bench, 2)
    entry = bench.numbers(64, bench.side, seed=80)
    losses = []
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(entry)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(entry).square().mean()
        for step in range(STEPS):
            bench.touch_ballast()
            entry.copy_(bench.numbers(64, bench.side, seed=81 + step))
            graph.replay()
            losses.append(out.clone())
    return losses


@part
def grouped_products(bench):
    """Products of different sizes in one kernel, whose addresses another kernel wrote just before."""
    groups, inner, width = 4, 256, 128
    rows = bench.numbers(groups * bench.side, inner, kind=torch.bfloat16)
    experts = bench.numbers(groups, inner, width, seed=4, kind=torch.bfloat16)
    losses = []
    for turn in range(16):
        first = bench.side // 2 + 16 * (turn % 4)
        ends = torch.tensor([first, 2 * bench.side, 3 * bench.side, 4 * bench.side], dtype=torch.int32, device=bench.device)
        losses.append(torch._grouped_mm(rows, experts, offs=ends).float().square().mean())
        if turn % 4 == 0:
            bench.touch_ballast()
    return losses


@part
def data_parallel(bench):
    """DistributedDataParallel over NCCL, with one process."""
    from torch import distributed
    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("nccl" if bench.cuda else "gloo", init_method=f"file://{folder}/meeting",
                                       rank=0, world_size=1)
        try:
            model = nn.parallel.DistributedDataParallel(layers(bench, 2), device_ids=[0] if bench.cuda else None)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
            losses = train(bench, model, lambda step: bench.numbers(64, bench.side, seed=90 + step), optimizer)
            return [loss.clone() for loss in losses]
        finally:
            distributed.destroy_process_group()


def deterministic():
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Otherwise PyTorch fills every new tensor, which no real program does.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False


def preloaded():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any("libtessera_preload.so" in line for line in maps)


def about(device):
    facts = {"torch": torch.__version__, "preloaded": preloaded()}
    if device == "cuda":
        facts |= {"backend": torch.cuda.get_allocator_backend(), "peak_allocated": torch.cuda.max_memory_allocated(),
                  "free_and_total": torch.cuda.mem_get_info()}
    return facts


def spoiled(error):
    """Whether the error makes the process unusable."""
    return "CUDA error" in str(error) or "NCCL" in str(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    deterministic()
    bench = Bench(options.device, options.tiny)
    found, left = {}, options.only.split(",")
    while left:
        name = left.pop(0)
        start = time.perf_counter()
        end = False
        try:
            bench.touch_ballast()
            facts = {"losses": [loss.item().hex() for loss in PARTS[name](bench)]}
        except Exception as error:  # a failing part must not prevent the others
            facts = {"error": f"{type(error).__name__}: {error}"[:1000]}
            end = spoiled(error)
        found[name] = {**facts, "seconds": round(time.perf_counter() - start, 4)}
        print(json.dumps({"parts": found, "left": left, **({} if end else about(options.device))}), flush=True)
        if end:
            # The context is lost: a regular exit could hang in it.
            os._exit(0)


if __name__ == "__main__":
    main()
