"""What only PyTorch itself can tell, on tensors in host memory that are taken for device memory.

Skipped with one line where PyTorch is not installed; none of it needs a GPU.
"""

import subprocess
import sys
import unittest
from unittest import mock

import tessera
import tessera.torch
from tessera import _tensors

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")


def every_tensor(value):
    return isinstance(value, torch.Tensor)


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64),
                               torch.nn.Softmax(dim=1), torch.nn.Linear(64, 1))


def gradients(model, around):
    data = torch.randn(32, 64, generator=torch.Generator().manual_seed(2))
    with around():
        loss = model(data).square().sum()
        loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


class Same(unittest.TestCase):
    def assert_same(self, one, other):
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(one, other)) and len(one) == len(other))

    def setUp(self):
        import contextlib
        self.expected = gradients(network(), contextlib.nullcontext)


class Track(Same):
    def test_every_operator_of_forward_and_backward_is_bracketed(self):
        seen = []

        def begin(function, args, kwargs):
            seen.append((str(function), _tensors.operands(function, args, kwargs)))

        with mock.patch("tessera._tensors.on_device", every_tensor), \
             mock.patch("tessera.torch._begin", begin), \
             mock.patch("tessera.torch._end", lambda stream: seen.append("end")):
            self.assert_same(gradients(network(), tessera.torch.track), self.expected)
        names = [each[0] for each in seen if each != "end"]
        self.assertEqual(seen.count("end"), len(names))
        for operator in ("aten.addmm.default", "aten.gelu_backward.default", "aten.mm.default"):
            self.assertIn(operator, names)

    def test_an_in_place_operator_writes_its_first_operand(self):
        a, b = torch.ones(4), torch.ones(4)
        with mock.patch("tessera._tensors.on_device", every_tensor):
            found = _tensors.operands(torch.ops.aten.add_.Tensor, (a, b), {})
            self.assertEqual(found, ([a.data_ptr(), b.data_ptr()], 1))
            found = _tensors.operands(torch.ops.aten.add.out, (a, b), {"out": b})
            self.assertEqual(found, ([b.data_ptr(), a.data_ptr()], 1))

    def test_foreign_memory_goes_through_the_real_library_unharmed(self):
        with mock.patch("tessera._tensors.on_device", every_tensor):
            self.assert_same(gradients(network(), tessera.torch.track), self.expected)
        self.assertFalse(tessera.torch.watched())

    def test_a_failing_operator_leaves_no_open_bracket(self):
        with tessera.torch.track():
            with self.assertRaises(RuntimeError):
                torch.ones(2, 3) @ torch.ones(2, 3)
        with self.assertRaises(tessera.TesseraError):
            tessera.torch._end(0)


class Offload(Same):
    def test_gradients_are_the_same_and_no_parameter_is_offloaded(self):
        model, left = network(), []
        parameters = {parameter.data_ptr() for parameter in model.parameters()}

        def evict(name, addresses):
            left.append((name, addresses[0]))

        with mock.patch("tessera._tensors.on_device", every_tensor), \
             mock.patch("tessera._offload.on_device", every_tensor), \
             mock.patch("tessera.torch.watched", lambda: True), \
             mock.patch("tessera._api.call_with_addresses", evict):
            found = gradients(model, lambda: tessera.torch.offload_activations(1, lag=0))
        self.assert_same(found, self.expected)
        evicted = {address for name, address in left if name == "tessera_evict"}
        self.assertGreaterEqual(len(evicted), 3)
        self.assertFalse(evicted & parameters)
        self.assertTrue(any(name == "tessera_prefetch" for name, _ in left))

    def test_the_saved_tensor_is_the_same_memory(self):
        saved, packed = [], []
        x = torch.ones(8, requires_grad=True)

        def pack(tensor):
            packed.append(tensor.data_ptr())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: saved.append(t.data_ptr()) or t):
            y = (x * 2).exp()
            memory = y.data_ptr()
            y.sum().backward()
        self.assertIn(memory, packed)
        self.assertIn(memory, saved)


class Enable(unittest.TestCase):
    def test_pytorch_takes_the_allocator_and_its_hooks(self):
        script = ("import torch, tessera.torch\n"
                  "tessera.torch.enable(log_level='quiet')\n"
                  "print(type(torch.cuda.memory._get_current_allocator()).__name__)\n")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "_CUDAAllocator"), done.stderr)


if __name__ == "__main__":
    unittest.main()
