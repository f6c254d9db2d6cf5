"""Some steps of one model, timed; prints one JSON object with losses that can be compared bit by bit.

What autograd saves for backward is handled in one of several ways: `keep` leaves it on the device, `save_on_cpu` and
`offload` copy it to pinned memory (`offload` on separate streams), `checkpoint` recomputes it.
"""

import argparse
import contextlib
import json
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from torch.utils.checkpoint import checkpoint

import models
import offload


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=list(models.MODELS))
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--way", choices=["keep", "save_on_cpu", "checkpoint", "offload"], default="keep")
    parser.add_argument("--allocator", choices=["native", "tessera"], default="native")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def deterministic(model):
    torch.manual_seed(1)
    # With warnings only, flash attention stays as it is: the same run twice is not the same. ResNet-50 has an operation
    # without a deterministic variant.
    torch.use_deterministic_algorithms(True, warn_only=model == "resnet50")
    # Otherwise PyTorch fills every new tensor, which no real program does.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    # Flash attention is deterministic, these two are not.
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


def kept(way):
    """The context in which a forward pass runs."""
    if way == "save_on_cpu":
        return torch.autograd.graph.save_on_cpu(pin_memory=torch.cuda.is_available())
    if way == "offload":
        return offload.OwnStreams()
    return contextlib.nullcontext()


def around(way):
    if way == "checkpoint":
        return lambda block, x: checkpoint(block, x, use_reentrant=False)
    return lambda block, x: block(x)


class Steps:
    def __init__(self, options):
        self.options = options
        self.model, self.data, self.loss = models.MODELS[options.model](options.tiny, options.device)
        self.trains = options.model != "llama"
        self.forward = torch.compile(self.model) if options.compile else self.model
        if self.trains:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)

    def wait(self):
        if self.options.device == "cuda":
            torch.cuda.synchronize()

    def one(self, inputs, wanted):
        if not self.trains:
            with torch.no_grad():
                return self.loss(self.forward(inputs), wanted)
        self.optimizer.zero_grad(set_to_none=True)
        half = torch.autocast(self.options.device, dtype=torch.bfloat16)
        with half, kept(self.options.way):
            loss = self.loss(self.forward(inputs, around(self.options.way)), wanted)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def all(self):
        """Yields the losses and seconds so far after each step: a run that is cut off has shown these."""
        losses, seconds = [], []
        for step in range(self.options.steps):
            inputs, wanted = self.data(step)
            self.wait()
            start = time.perf_counter()
            loss = self.one(inputs, wanted)
            self.wait()
            seconds.append(round(time.perf_counter() - start, 6))
            losses.append(loss.item().hex())
            yield losses, seconds


def peaks(options):
    """Bytes as PyTorch's own allocator counts them; other allocators do not report them."""
    if options.device != "cuda" or options.allocator != "native":
        return {}
    return {"peak_allocated": torch.cuda.max_memory_allocated(),
            "peak_reserved": torch.cuda.max_memory_reserved()}


def main():
    options = parse()
    deterministic(options.model)
    if options.allocator == "tessera":
        import tessera.torch
        tessera.torch.enable()
    found = {"model": options.model, "way": options.way, "allocator": options.allocator, "torch": torch.__version__}
    for losses, seconds in Steps(options).all():
        found |= {"losses": losses, "step_seconds": seconds}
        print(json.dumps(found), flush=True)
    found |= peaks(options)
    if options.device == "cuda":
        found["free_and_total"] = torch.cuda.mem_get_info()
    if options.allocator == "tessera":
        import tessera
        found["stats"] = tessera.stats()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
