"""A model whose training takes more memory than the device has. Nothing in it knows of Tessera.

Usage: pytorch_training.py [--gib SIZE] [--steps N] [--device cuda|cpu]

Weights, gradients and the two moments of Adam take SIZE GiB together; activations come on top.
"""

import argparse
import time

import torch

WIDTH = 4096


def model_of(gib, width):
    """Layers until weights, gradients and moments, four bytes each, fill the size."""
    layers = max(1, int(gib * 2**30 / (16 * width * width)))
    blocks = [module for _ in range(layers) for module in (torch.nn.Linear(width, width, bias=False), torch.nn.Tanh())]
    return torch.nn.Sequential(*blocks)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--gib", type=float, default=24)
    options.add_argument("--steps", type=int, default=8)
    options.add_argument("--width", type=int, default=WIDTH)
    options.add_argument("--device", default="cuda")
    words = options.parse_args()
    torch.manual_seed(0)
    model = model_of(words.gib, words.width).to(words.device)
    # One parameter after the other: the default makes temporary copies of all of them.
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
    data = torch.randn(256, words.width, device=words.device)
    for step in range(words.steps):
        begin = time.perf_counter()
        loss = (model(data) - data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.6f}, {time.perf_counter() - begin:.2f} s", flush=True)


if __name__ == "__main__":
    main()
