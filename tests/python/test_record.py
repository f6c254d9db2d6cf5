"""What PyTorch does, as a trace: with sizes alone, and on tensors in host memory.

Skipped with one line where PyTorch is not installed; none of it needs a GPU.
"""

import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import tessera.record
from tessera.roofline import GPUS

try:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

GPU = GPUS["A100-80G"]


class RecordTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, program, name="trace.jsonl"):
        """The lines of what program(trace) does, without the header."""
        with tessera.record.trace(self.folder / name) as trace:
            program(trace)
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()][1:]


def operations(lines):
    return [(line["name"], line["r"], line["w"]) for line in lines if line["t"] == "op"]


def tags(lines):
    return [line.get("tag") for line in lines if line["t"] == "alloc"]


class Operators(RecordTest):
    def test_views_and_work_in_place_stay_in_one_block(self):
        def program(_):
            x = torch.ones(4, 4)
            x.t().reshape(2, 8)[0].add_(1)
        lines = self.record(program)
        # Transposed, it has to be copied to be seen as 2 x 8.
        self.assertEqual(operations(lines), [("ones", [], [1]), ("clone", [1], [2]), ("add_", [2], [2])])

    def test_a_fully_written_tensor_is_not_read(self):
        def program(_):
            x = torch.empty(4)
            x.fill_(1)
            x[:2].zero_()
            x.copy_(torch.ones(4))
        self.assertEqual(operations(self.record(program)),
                         [("fill_", [], [1]), ("zero_", [1], [1]), ("ones", [], [2]), ("copy_", [2], [1])])

    def test_a_block_ends_with_its_last_tensor(self):
        def program(_):
            x = torch.ones(4)
            y = x[1:]
            del x
            y.neg()
            del y
            torch.zeros(4)
        self.assertEqual([(line["t"], line.get("id", line.get("name"))) for line in self.record(program)],
                         [("alloc", 1), ("op", "ones"), ("alloc", 2), ("op", "neg"), ("free", 2), ("free", 1),
                          ("alloc", 3), ("op", "zeros"), ("free", 3)])

    def test_autograd_keeps_what_it_saves(self):
        def program(_):
            x = torch.ones(4, requires_grad=True)
            y = x.exp()          # saves its result
            z = y.sum()
            del y
            z.backward()
        lines = self.record(program)
        self.assertEqual([line.get("name") for line in lines if line["t"] in ("op", "free")][:5],
                         ["ones", "exp", "sum", "ones_like", "mul"])
        # The first gradient is made before the way back begins.
        self.assertEqual(tags(lines), ["input", "activation", "activation", "activation", "gradient"])

    def test_lists_are_recorded_element_by_element(self):
        def program(_):
            torch._foreach_add_([torch.ones(4), torch.ones(8)], [torch.ones(4), torch.ones(8)])
        lines = self.record(program)
        self.assertEqual(operations(lines)[-2:], [("_foreach_add_", [3, 1], [1]), ("_foreach_add_", [4, 2], [2])])
        times = [line["ns"] for line in lines if line.get("name") == "_foreach_add_"]
        self.assertGreater(times[0], 1000)   # the start of the kernel
        self.assertLess(times[1], 10)

    def test_times_are_the_roofline_s(self):
        def program(_):
            a = torch.ones(512, 256, dtype=torch.bfloat16)
            a @ a.t()
            torch.ones(1, 1024).expand(64, 1024).sum()
            torch.nn.functional.embedding(torch.tensor([1, 2]), torch.ones(10_000, 100))
        times = {line["name"]: line["ns"] for line in self.record(program) if line["t"] == "op"}
        self.assertEqual(times["mm"], GPU.nanoseconds(2 * 512 * 512 * 256, 2 * (2 * 512 * 256 + 512 * 512), 2))
        self.assertEqual(times["sum"], GPU.nanoseconds(0, 4 * 1024 + 4, 4))
        self.assertEqual(times["embedding"], GPU.nanoseconds(0, 2 * 800 + 16, 4))

    def test_earlier_tensors_are_loaded_from_outside(self):
        x = torch.ones(4)
        p = torch.nn.Parameter(torch.ones(4))
        lines = self.record(lambda _: x + p)
        self.assertEqual([name for name, _, _ in operations(lines)], ["load", "load", "add"])
        self.assertEqual(tags(lines), ["input", "weight", "activation"])


def training(trace):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for number in range(3):
        if number > 0:
            trace.iteration()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


class Training(RecordTest):
    def test_blocks_are_tagged_by_their_purpose(self):
        lines = self.record(training)
        size = 4 * (8 * 8 + 8 + 8 + 8 + 8 + 1)   # two layers and a norm
        buffers = 4 * (8 + 8) + 8
        for tag, expected in (("weight", size + buffers), ("weight-gradient", 3 * size),
                              ("optimizer", 2 * size + 6 * 4)):
            with self.subTest(tag):
                self.assertEqual(sum(line["bytes"] for line in lines
                                     if line["t"] == "alloc" and line.get("tag") == tag), expected)

    def test_iterations_are_equal(self):
        lines = self.record(training)
        marks = [place for place, line in enumerate(lines) if line["t"] == "mark"]
        parts = [[(line["t"], line.get("name"), line.get("bytes"), line.get("ns")) for line in lines[begin + 1:end]]
                 for begin, end in zip(marks, [*marks[1:], None])]
        self.assertEqual([line["n"] for line in lines if line["t"] == "mark"], [1, 2])
        # The end of the program frees its model as well.
        self.assertEqual(parts[0], parts[1][:len(parts[0])])

    def test_fake_tensors_give_the_same_trace(self):
        real = self.record(training)
        with FakeTensorMode():
            fake = self.record(training)
        self.assertEqual(fake, real)

    def test_fake_modules_of_another_type_are_made_in_it(self):
        def program(_):
            made = torch.nn.Linear(64, 64, dtype=torch.bfloat16)
            replaced = torch.nn.Linear(64, 64)
            for name, each in list(replaced.named_parameters()):
                setattr(replaced, name, torch.nn.Parameter(each.detach().to(torch.bfloat16)))
            replaced(made(torch.empty(4, 64, dtype=torch.bfloat16))).sum().backward()

        with FakeTensorMode():
            lines = self.record(program)
        weights = [line["bytes"] for line in lines if line["t"] == "alloc" and line.get("tag") == "weight"]
        self.assertEqual(weights.count(64 * 64 * 2), 2)

    def test_the_same_program_gives_the_same_bytes(self):
        with FakeTensorMode():
            self.record(training, "a.jsonl")
            self.record(training, "b.jsonl")
        texts = [(self.folder / name).read_text().splitlines()[1:] for name in ("a.jsonl", "b.jsonl")]
        self.assertEqual(texts[0], texts[1])


class Files(RecordTest):
    def test_a_file_may_be_compressed(self):
        try:
            import zstandard
        except ImportError:
            self.skipTest("zstandard is not installed")
        path = self.folder / "small.jsonl.zst"
        with tessera.record.trace(path, gpu="H100"):
            torch.ones(4)
        header = json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()).splitlines()[0])
        self.assertEqual(header["name"], "small")
        self.assertEqual(header["source"], f"PyTorch {torch.__version__}, times of H100")
        self.assertEqual(header["device_memory"], 80 << 30)

    def test_a_missing_compressor_is_an_error_before_the_work(self):
        with unittest.mock.patch.dict(sys.modules, {"zstandard": None}):
            with self.assertRaises(ImportError), tessera.record.trace(self.folder / "a.zst"):
                self.fail("the program ran")

    def test_an_unknown_gpu_is_refused_with_the_known_ones(self):
        with self.assertRaisesRegex(ValueError, "unknown GPU: B52; known: A100-80G"):
            with tessera.record.trace(self.folder / "a.jsonl", gpu="B52"):
                self.fail("the program ran")

    def test_a_failing_program_leaves_no_file_and_no_hooks(self):
        with self.assertRaises(RuntimeError):
            with tessera.record.trace(self.folder / "a.jsonl"):
                torch.ones(2, 3) @ torch.ones(2, 3)
        self.assertFalse((self.folder / "a.jsonl").exists())
        self.assertEqual(len(self.record(lambda _: torch.ones(4), "b.jsonl")), 3)
        self.assertFalse(torch.nn.modules.module._global_forward_pre_hooks)


if __name__ == "__main__":
    unittest.main()
