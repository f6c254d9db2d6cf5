"""Records the traces in this folder: real models of three libraries, without weights, bytes or a GPU.

Usage: record_models.py [NAME...]    (default: all; the traces are written next to this file)

Needs torch, torchvision, transformers, diffusers and zstandard from PyPI; a trace names the PyTorch version that
made it. A step before the first mark creates the optimizer's states; one iteration follows.
"""

import contextlib
import pathlib
import sys

import diffusers
import torch
import torchvision
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "shim/python"))

import tessera.record  # noqa: E402


def classify(model, batch):
    images, classes = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
    return torch.nn.functional.cross_entropy(model(images), classes)


def predict_words(model, batch):
    words = torch.randint(0, model.config.vocab_size, (batch, model.config.n_positions))
    return model(input_ids=words, labels=words, use_cache=False).loss


def gpt2():
    """Without drop-out, like all models here: PyTorch's CPU drop-out saves other masks than its GPU drop-out, and
    prevents fused attention."""
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))


def bert():
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0))


def classify_texts(model, batch):
    length = model.config.max_position_embeddings
    words = torch.randint(0, model.config.vocab_size, (batch, length))
    return model(input_ids=words, labels=torch.randint(0, 2, (batch,))).loss


def diffusion_unet():
    """The denoiser of the first diffusion models at 64 x 64."""
    return diffusers.UNet2DModel(sample_size=64, block_out_channels=(128, 256, 384, 512))


def denoise(model, batch):
    images, times = torch.randn(batch, 3, 64, 64), torch.randint(0, 1000, (batch,))
    return torch.nn.functional.mse_loss(model(images, times).sample, images)


# Name -> model, loss, batch, and whether activations are 16-bit.
MODELS = {
    "resnet50-b32": (torchvision.models.resnet50, classify, 32, False),
    "gpt2-small-b8": (gpt2, predict_words, 8, False),
    "bert-base-b16": (bert, classify_texts, 16, True),
    "unet2d-b16": (diffusion_unet, denoise, 16, False),
}


def record(name):
    make, loss_of, batch, half = MODELS[name]
    torch.manual_seed(1)
    precision = torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext()
    with FakeTensorMode(), tessera.record.trace(HERE / f"{name}.jsonl.zst", gpu="A100-80G") as trace:
        model = make()
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        for number in range(2):
            if number > 0:
                trace.iteration()
            with precision:
                loss = loss_of(model, batch)
            loss.backward()
            del loss
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    for wanted in sys.argv[1:] or MODELS:
        record(wanted)
