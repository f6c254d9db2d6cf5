"""A least-squares fit whose arrays take more memory than the device has. Nothing in it knows of Tessera.

Usage: jax_training.py [--gib SIZE] [--steps N]

Each part of the data is an array of 256 MiB, and a compiled step uses one of them: only that has to be on the device.
"""

import argparse

import jax
import jax.numpy as jnp

ROWS, COLUMNS = 16384, 4096  # 256 MiB


@jax.jit
def step(weights, part):
    residual = part @ weights
    return weights - 1e-6 * (part.T @ residual), jnp.mean(residual**2)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--gib", type=float, default=24)
    options.add_argument("--steps", type=int, default=4)
    words = options.parse_args()
    keys = jax.random.split(jax.random.key(0), max(1, int(words.gib * 4)))
    parts = [jax.random.normal(key, (ROWS, COLUMNS)) for key in keys]
    weights = jnp.ones((COLUMNS, 1))
    for number in range(words.steps):
        for part in parts:
            weights, loss = step(weights, part)
        print(f"pass {number}: loss {loss:.6f}", flush=True)


if __name__ == "__main__":
    main()
