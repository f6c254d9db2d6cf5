"""Training steps of a small network in JAX; prints losses and the peak of JAX's own count, as JSON.

JAX's allocator is chosen by JAX's own environment variables.
"""

import argparse
import json
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    import jax
    import jax.numpy as jnp
    layers, width, batch = (3, 64, 32) if options.tiny else (24, 2048, 4096)
    keys = jax.random.split(jax.random.PRNGKey(1), layers)
    weights = [jax.random.normal(key, (width, width)) / width ** 0.5 for key in keys]

    def loss(weights, x):
        for weight in weights:
            x = x + jax.nn.gelu(x @ weight) / layers
        return jnp.mean(x ** 2)

    @jax.jit
    def step(weights, moments, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        moments = [0.9 * moment + gradient for moment, gradient in zip(moments, gradients)]
        return value, [weight - 0.001 * moment for weight, moment in zip(weights, moments)], moments

    moments = [jnp.zeros_like(weight) for weight in weights]
    losses, seconds = [], []
    for number in range(options.steps):
        x = jax.random.normal(jax.random.PRNGKey(100 + number), (batch, width))
        start = time.perf_counter()
        value, weights, moments = step(weights, moments, x)
        losses.append(float(value).hex())
        seconds.append(round(time.perf_counter() - start, 6))
    device = jax.devices()[0]
    counted = device.memory_stats() or {}
    print(json.dumps({"device": device.device_kind, "losses": losses, "step_seconds": seconds,
                      "peak_bytes": counted.get("peak_bytes_in_use"), "jax": jax.__version__}))


if __name__ == "__main__":
    main()
