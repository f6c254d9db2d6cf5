"""The calls of NVIDIA's runtime library that cuda.core makes, by the driver's own.

That library asks the driver for interfaces that are not documented, which the software device does not have. Processes that
a test starts import this file too, as Python does wherever it lies on the path.
"""

import importlib.abc
import importlib.util
import sys

MODULE = "cuda.bindings.runtime"


def by_the_driver(runtime):
    from cuda.bindings import driver

    def result(error, *values):
        return (runtime.cudaError_t(int(error)), *values)

    runtime.cudaDeviceSynchronize = lambda: result(*driver.cuCtxSynchronize())
    runtime.cudaDeviceGetPCIBusId = lambda length, device: result(*driver.cuDeviceGetPCIBusId(length, device))
    runtime.cudaGetDeviceCount = lambda: result(*driver.cuDeviceGetCount())


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_replace(module):
            execute(module)
            by_the_driver(module)

        spec.loader.exec_module = execute_and_replace
        return spec


sys.meta_path.insert(0, Finder())
