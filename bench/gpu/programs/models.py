"""Models of known shapes in plain PyTorch, with random weights and data: no download, no data set.

`tiny` keeps the structure and shrinks the sizes, so that a CPU runs the same code.
"""

import math

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A transformer block as in GPT-2: attention and feed-forward, each after a norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.before_feed = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(self.before_attention(x)).split(width, dim=2)
        query, key, value = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                             for part in parts)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.before_feed(x))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, length):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens, around=lambda block, x: block(x)):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = around(block, x)
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    """The block of ResNet-50: 1 x 1, 3 x 3, 1 x 1, and a skip connection."""

    def __init__(self, entering, inner, stride):
        super().__init__()
        leaving = 4 * inner
        self.path = nn.Sequential(
            nn.Conv2d(entering, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, leaving, 1, bias=False), nn.BatchNorm2d(leaving))
        same = entering == leaving and stride == 1
        self.around = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(entering, leaving, 1, stride, bias=False), nn.BatchNorm2d(leaving))

    def forward(self, x):
        return functional.relu(self.path(x) + self.around(x))


class ResNet(nn.Module):
    def __init__(self, counts, width, classes):
        super().__init__()
        self.start = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width),
                                   nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        entering, blocks = width, []
        for stage, count in enumerate(counts):
            inner = width << stage
            for index in range(count):
                blocks.append(Bottleneck(entering, inner, 2 if stage and not index else 1))
                entering = 4 * inner
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(entering, classes)

    def forward(self, images, around=lambda block, x: block(x)):
        x = self.start(images)
        for block in self.blocks:
            x = around(block, x)
        return self.head(x.mean(dim=(2, 3)))


class LlamaBlock(nn.Module):
    """Attention and gated feed-forward, each after a root-mean-square norm."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(self.norms[0](x)).split(width, dim=2)
        query, key, value = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                             for part in parts)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, length, width))
        seen = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(seen)) * self.up(seen))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, inner, vocabulary):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, inner) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.token(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def gpt2(tiny, device):
    """GPT-2 medium: 24 layers of width 1024; tokens in, the next token predicted."""
    sizes = (2, 64, 4, 211, 32) if tiny else (24, 1024, 16, 50257, 1024)
    batch, length, vocabulary = (2, 32, 211) if tiny else (4, 1024, 50257)
    model = Gpt(*sizes).to(device)

    def data(step):
        chosen = torch.Generator().manual_seed(step)
        tokens = torch.randint(vocabulary, (batch, length + 1), generator=chosen).to(device)
        return tokens[:, :-1], tokens[:, 1:]

    def loss(scores, wanted):
        return functional.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten())

    return model, data, loss


def resnet50(tiny, device):
    """ResNet-50 on images of 224 x 224."""
    counts, width, classes = ((1, 1), 8, 10) if tiny else ((3, 4, 6, 3), 64, 1000)
    batch, side = (2, 32) if tiny else (64, 224)
    model = ResNet(counts, width, classes).to(device)

    def data(step):
        chosen = torch.Generator().manual_seed(step)
        images = torch.randn(batch, 3, side, side, generator=chosen).to(device)
        return images, torch.randint(classes, (batch,), generator=chosen).to(device)

    return model, data, lambda scores, wanted: functional.cross_entropy(scores.float(), wanted)


def llama(tiny, device):
    """A Llama-like forward pass in bfloat16, with weights far larger than its activations."""
    layers, width, heads, inner, vocabulary = (2, 64, 4, 160, 211) if tiny else (16, 4096, 32, 11008, 32000)
    with torch.device(device):
        model = Llama(layers, width, heads, inner, vocabulary).to(torch.bfloat16)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=1 / math.sqrt(width))

    def data(step):
        chosen = torch.Generator().manual_seed(step)
        return torch.randint(vocabulary, (1, 16 if tiny else 512), generator=chosen).to(device), None

    return model, data, lambda scores, _: scores.float().square().mean()


MODELS = {"gpt2": gpt2, "resnet50": resnet50, "llama": llama}
