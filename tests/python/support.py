"""What the Python tests share: tensors without a framework, on the software device.

The runner sets the environment: a device budget of 32 MiB and the libraries of this build.
"""

import contextlib
import ctypes
import unittest

from tessera import _library

MIB = 1 << 20


def hooks():
    library = ctypes.CDLL(str(_library.folder() / "libtessera_torch.so"))
    library.tessera_torch_malloc.restype = ctypes.c_void_p
    library.tessera_torch_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.tessera_torch_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int,
                                           ctypes.c_void_p]
    library.tessera_torch_free.restype = None
    return library


class Tensor:
    """As much of a tensor as Tessera looks at."""

    is_cuda = True
    is_leaf = False
    requires_grad = False

    def __init__(self, size=4 * MIB):
        self.size = size
        self.address = hooks().tessera_torch_malloc(size, 0, None)

    def data_ptr(self):
        return self.address

    def numel(self):
        return self.size

    def element_size(self):
        return 1

    def free(self):
        hooks().tessera_torch_free(self.address, self.size, 0, None)


class DeviceTest(unittest.TestCase):
    """Frees the tensors a test made."""

    def tensor(self, *args, **options):
        made = Tensor(*args, **options)
        self.addCleanup(made.free)
        return made


@contextlib.contextmanager
def modules(**replaced):
    """sys.modules with these names replaced."""
    import sys
    before = {name: sys.modules.get(name) for name in replaced}
    sys.modules.update(replaced)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
