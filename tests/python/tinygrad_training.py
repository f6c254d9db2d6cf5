"""Trains a small ensemble with tinygrad and prints every loss to its last bit. It knows nothing of Tessera.

Usage: tinygrad_training.py MODEL MEMBERS            MODEL: mlp, conv, transformer

The members are trained in turn, as in any ensemble, so that a step of one leaves the others' memory unused: first with
tinygrad's caches of memory off, so that it allocates and frees all the time, then kernel by kernel, then by CUDA graphs.
"""

import sys

from tinygrad import Context, Device, Tensor, TinyJit, nn


class Mlp:
    def __init__(self):
        self.layers = [nn.Linear(512, 1024), nn.Linear(1024, 512)]
        self.head = nn.Linear(512, 10)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)

    def examples(self):
        return Tensor.randn(16, 512), Tensor.randint(16, high=10)


class ConvNet:
    def __init__(self):
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.wide = nn.Linear(16 * 16 * 16, 256)
        self.head = nn.Linear(256, 10)

    def __call__(self, x):
        x = self.second(self.first(x).relu().max_pool2d()).relu()
        return self.head(self.wide(x.flatten(1)).relu())

    def examples(self):
        return Tensor.randn(8, 3, 32, 32), Tensor.randint(8, high=10)


class Transformer:
    WIDTH, HEADS, WORDS, LENGTH = 256, 4, 2048, 8

    def __init__(self):
        self.embedding = nn.Embedding(self.WORDS, self.WIDTH)
        self.norm = nn.LayerNorm(self.WIDTH)
        self.query_key_value = nn.Linear(self.WIDTH, 3 * self.WIDTH)
        self.out = nn.Linear(self.WIDTH, self.WIDTH)
        self.up = nn.Linear(self.WIDTH, 4 * self.WIDTH)
        self.down = nn.Linear(4 * self.WIDTH, self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS)

    def attention(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(x).reshape(batch, length, 3, self.HEADS, width // self.HEADS)
        query, key, value = (parts[:, :, i].transpose(1, 2) for i in range(3))
        seen = query.scaled_dot_product_attention(key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))

    def __call__(self, words):
        x = self.embedding(words)
        x = x + self.attention(self.norm(x))
        x = x + self.down(self.up(x).gelu())
        return self.head(x).flatten(0, 1)

    def examples(self):
        words = Tensor.randint(4, self.LENGTH, high=self.WORDS).realize()
        return words, words.roll(-1, 1).flatten()


class Member:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer(nn.state.get_parameters(model), lr=1e-3)
        self.examples, self.answers = (tensor.contiguous().realize() for tensor in model.examples())
        self.train_by_graphs = TinyJit(self.train)

    def train(self):
        self.optimizer.zero_grad()
        loss = self.model(self.examples).sparse_categorical_crossentropy(self.answers).backward()
        return loss.realize(*self.optimizer.schedule_step())


def momentum(parameters, lr):
    return nn.optim.SGD(parameters, lr=10 * lr, momentum=0.9)


MODELS = {"mlp": (Mlp, nn.optim.Adam), "conv": (ConvNet, momentum), "transformer": (Transformer, momentum)}
# What each phase is called, its settings, how many steps; a graph is first launched in the second step.
PHASES = (("churn", {"LRU": 0, "NO_MEMORY_PLANNER": 1}, 1), ("eager", {}, 1), ("graphs", {}, 3))


def main(model, members):
    if Device.DEFAULT != "CUDA":
        sys.exit(f"the device is {Device.DEFAULT}, not CUDA")
    Tensor.manual_seed(1)
    network, optimizer = MODELS[model]
    ensemble = [Member(network(), optimizer) for _ in range(members)]
    for phase, settings, steps in PHASES:
        with Context(**settings):
            for _ in range(steps):
                losses = [(m.train_by_graphs if phase == "graphs" else m.train)().item().hex() for m in ensemble]
                print(phase, *losses, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
