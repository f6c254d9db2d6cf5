"""What tinygrad's tests import from beside them, and its source distribution does not bring."""

import sys
import types

import tinygrad.runtime.autogen.nvrtc  # the stand-in, before PyTorch loads NVIDIA's library of the same name
from tinygrad import Device
from tinygrad.engine.jit import GraphRunner


def assert_jit_cache_len(function, expected):
    items = function.captured.jit_cache if function.captured else []
    counted = sum(len(item.prg.jit_cache) if isinstance(item.prg, GraphRunner) else 1 for item in items)
    assert counted == expected, f"{counted} kernels were captured, not {expected}"


def module(name, **contents):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(contents)


module("test")
module("test.helpers", REAL_DEV=Device.DEFAULT, not_support_multi_device=lambda: False,
       assert_jit_cache_len=assert_jit_cache_len)
module("extra")
module("extra.models")
module("extra.models.unet", ResBlock=None)  # of a test for other devices
