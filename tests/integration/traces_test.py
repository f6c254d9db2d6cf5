"""Generated traces: sizes match the published architectures, and every trace is well formed.

Usage: traces_test.py BUILD_FOLDER
"""

import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TRACES = pathlib.Path(__file__).resolve().parents[2] / "bench/traces"
sys.path.insert(0, str(TRACES))

import interleaved  # noqa: E402
import kernels_by_size  # noqa: E402
from generate import NAMES, generate  # noqa: E402

MIB = 1 << 20


def lines_of(name, **options):
    program, _ = generate(name, **options)
    return list(program.lines())


def walk(lines):
    """Yields (line, live blocks by id) before each op; fails on an invalid line."""
    live, written, freed = {}, set(), set()
    for line in lines:
        if line["t"] == "alloc":
            assert line["id"] not in live and line["id"] not in freed, f"allocated twice: {line}"
            assert line["bytes"] > 0, line
            live[line["id"]] = line
        elif line["t"] == "free":
            assert line["id"] in live, f"freed but not live: {line}"
            freed.add(line["id"])
            del live[line["id"]]
        elif line["t"] == "op":
            assert line["ns"] > 0, line
            assert all(block in live for block in line["r"] + line["w"]), f"not live: {line}"
            # A block that an op reads must have been written; one that it only writes need not.
            assert all(block in written or block in line["w"] for block in line["r"]), f"never written: {line}"
            written.update(line["w"])
            yield line, live
    assert all(block["tag"] in ("weight", "weight-gradient", "optimizer", "expert", "input", "workspace") for block in live.values()), "left over"


class WellFormed(unittest.TestCase):
    def test_every_trace_is_well_formed(self):
        for name in NAMES:
            with self.subTest(name):
                lines = lines_of(name, batch=1, iterations=1)
                self.assertEqual(lines[0]["t"], "header")
                self.assertGreater(sum(1 for _ in walk(lines)), 0)
                self.assertLessEqual({line["t"] for line in lines[1:]}, {"alloc", "op", "mark", "free"})

    def iterations_of(self, name, **options):
        """The lines of each iteration; the trace is well formed."""
        lines = lines_of(name, **options)
        self.assertGreater(sum(1 for _ in walk(lines)), 0)
        marks = [i for i, line in enumerate(lines) if line["t"] == "mark"]
        return [lines[a:b] for a, b in zip(marks, [*marks[1:], len(lines)], strict=True)]

    def sizes_of(self, iterations):
        return [tuple(line["bytes"] for line in lines if line["t"] == "alloc") for lines in iterations]

    def test_the_seed_draws_the_sizes(self):
        lines = lines_of("bert-base", batch=16, iterations=6, least_batch=4, seed=3)
        self.assertEqual(lines, lines_of("bert-base", batch=16, iterations=6, least_batch=4, seed=3))
        self.assertNotEqual(lines, lines_of("bert-base", batch=16, iterations=6, least_batch=4, seed=4))

    def test_sizes_that_are_drawn_change_nothing_else(self):
        """Each iteration does the same work, on activations of its own sizes."""
        for name, variation in (("bert-base", {"least_batch": 4}), ("bert-base", {"least_length": 64}),
                                ("resnet50", {"least_side": 64}), ("graphsage", {})):
            with self.subTest(name, **variation):
                iterations = self.iterations_of(name, batch=8, iterations=6, **variation)
                self.assertGreater(len(set(self.sizes_of(iterations))), 2)
                works = [[line["name"] for line in lines if line["t"] == "op"] for lines in iterations]
                self.assertTrue(all(each == works[0] for each in works))

    def test_buckets_leave_so_many_sizes(self):
        iterations = self.iterations_of("bert-base", batch=4, iterations=24, least_length=8, buckets=3)
        self.assertEqual(len(set(self.sizes_of(iterations))), 3)
        longest = self.iterations_of("bert-base", batch=4, iterations=1)
        self.assertIn(self.sizes_of(longest)[0], self.sizes_of(iterations))

    def test_an_evaluation_is_a_pass_forward_alone(self):
        iterations = self.iterations_of("t5-small", batch=2, iterations=4, evaluate_every=2)
        works = [[line["name"] for line in lines if line["t"] == "op"] for lines in iterations]
        self.assertEqual(len(iterations), 6)
        self.assertEqual([len(each) < len(works[0]) for each in works], [False, False, True, False, False, True])
        self.assertEqual(works[2], works[0][:len(works[2])])

    def test_a_variation_that_a_model_does_not_have_is_refused(self):
        for words, fault in ((("vgg16", "--least-side", "64"), "no side"), (("moe-64", "--buckets", "2"), "not a training"),
                             (("gpt2-small", "--least-length", "1025"), "not between 1 and 1024"),
                             (("gpt2-small", "--evaluate-every", "0"), "from 1 on")):
            with self.subTest(words):
                done = subprocess.run([sys.executable, "-B", TRACES / "generate.py", *words], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(fault, done.stderr)

    def test_kernels_are_chosen_by_size(self):
        """The same work on the same blocks, by other kernels at other sizes, and not always by as many."""
        plain = lines_of("bert-base", batch=32, iterations=6, least_length=32)
        chosen = list(kernels_by_size.by_size(plain))
        self.assertGreater(sum(1 for _ in walk(chosen)), sum(1 for _ in walk(plain)))
        workspace = next(line["id"] for line in chosen if line.get("tag") == "workspace")
        works = [line for line in chosen if line["t"] == "op"]
        second = [line for line in works if workspace in line["r"]]
        self.assertEqual([line["r"] for line in second], [[workspace]] * len(second))
        written = [line["w"] for line in works if line["w"] != [workspace]]
        self.assertEqual(written, [line["w"] for line in plain if line["t"] == "op"])
        counts, names = set(), {}
        for begin, end in itertools.pairwise([i for i, line in enumerate(chosen) if line["t"] == "mark"]):
            ops = [line for line in chosen[begin:end] if line["t"] == "op"]
            counts.add(len(ops))
            for line in ops:
                name, _, size = line["name"].rpartition(".")
                names.setdefault(name, set()).add(size)
        self.assertGreater(len(counts), 1)
        self.assertGreater(len(names["layer3.mlp.gelu"]), 1)
        self.assertEqual(len(names["adam.layer3.mlp.up.weight"]), 1)  # weights are always as large

    def test_training_iterations_are_equal_and_begin_with_a_mark(self):
        lines = lines_of("resnet50", batch=2, iterations=3)
        marks = [number for number, line in enumerate(lines) if line["t"] == "mark"]
        self.assertEqual([lines[number]["n"] for number in marks], [1, 2, 3])
        parts = [[(line["t"], line.get("name"), line.get("bytes")) for line in lines[begin + 1:end]]
                 for begin, end in zip(marks, [*marks[1:], len(lines)])]
        self.assertEqual(parts[0], parts[1])
        self.assertEqual(parts[1], parts[2])

    def test_the_same_arguments_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = []
            for number in range(2):
                path = pathlib.Path(folder) / f"{number}.jsonl"
                subprocess.run([sys.executable, "-B", TRACES / "generate.py", "moe-64", "--batch", "4",
                                "--iterations", "2", "-o", path], check=True)
                texts.append(path.read_text())
            self.assertEqual(texts[0], texts[1])
            self.assertEqual(json.loads(texts[0].splitlines()[0])["version"], 1)


class Interleaved(unittest.TestCase):
    """The schedule of a pipeline with several chunks per rank."""
    SHAPES = [(ranks, chunks, micro_batches) for ranks in (2, 4, 8) for chunks in (1, 2, 5) for micro_batches in (2 * ranks, 4 * ranks)]

    def test_each_pass_runs_once_with_the_expected_number_in_flight(self):
        for ranks, chunks, micro_batches in self.SHAPES:
            for rank in range(ranks):
                with self.subTest(ranks=ranks, chunks=chunks, micro_batches=micro_batches, rank=rank):
                    passes = list(interleaved.schedule(ranks, rank, chunks, micro_batches))
                    all_of_them = {(chunk, micro_batch) for chunk in range(chunks) for micro_batch in range(micro_batches)}
                    for way in (True, False):
                        self.assertEqual(sorted(what[1:] for what in passes if what[0] == way), sorted(all_of_them))
                    in_flight, most = set(), 0
                    for is_forward, *which in passes:
                        (in_flight.add if is_forward else in_flight.remove)(tuple(which))
                        most = max(most, len(in_flight))
                    self.assertEqual(most, 2 * (ranks - rank - 1) + (chunks - 1) * ranks + 1)

    def test_no_rank_deadlocks(self):
        """Forward needs the previous stage, backward the next one; each rank keeps its order."""
        for ranks, chunks, micro_batches in self.SHAPES:
            with self.subTest(ranks=ranks, chunks=chunks, micro_batches=micro_batches):
                waiting = [list(interleaved.schedule(ranks, rank, chunks, micro_batches)) for rank in range(ranks)]
                done, goes_on = set(), True
                while goes_on:
                    goes_on = False
                    for rank, passes in enumerate(waiting):
                        while passes:
                            is_forward, chunk, micro_batch = passes[0]
                            stage = chunk * ranks + rank
                            needs = stage - 1 if is_forward else stage + 1
                            if 0 <= needs < ranks * chunks and (is_forward, needs, micro_batch) not in done:
                                break
                            done.add((is_forward, stage, micro_batch))
                            passes.pop(0)
                            goes_on = True
                self.assertFalse(any(waiting))

    def test_the_first_rank_of_llama_65b_has_47_passes_in_flight(self):
        """47 of 2 layers, 4,096 words, and numbers of two bytes that two devices share: with h the width and f that of
        the gate, 8h + 4f, and 6h + 2f if outputs of norms and gates are made again."""
        for name, numbers in (("interleaved-llama-65b-rank0", 8 * 8192 + 4 * 22016),
                              ("interleaved-llama-65b-balanced-rank0", 6 * 8192 + 2 * 22016)):
            with self.subTest(name):
                held = [sum(block["bytes"] for block in live.values()
                            if block["tag"] == "activation" and block["bytes"] > MIB)
                        for line, live in walk(lines_of(name, batch=1, iterations=1)) if line["name"] == "receive.gradient"]
                self.assertEqual(max(held), 47 * 2 * 4096 * 2 * numbers // 2)


class PublishedBytes(unittest.TestCase):
    """The 19 values of `max_memory_allocated` in Kuaishou's artifact (kwai/Megatron-Kwai, examples/atc24/README.md), by
    the share that is offloaded, follow from the trace and from how the artifact moves a pass."""
    COUNTS = {
        "interleaved-llama-65b-rank0": {
            0.3: 72762730496, 0.4: 66951784960, 0.5: 61136119808, 0.6: 55733856256, 0.7: 50331592704, 0.8: 45824813056,
            0.9: 39527328256, 1.0: 34491172352},
        "interleaved-llama-65b-balanced-rank0": {
            0.0: 65330982400, 0.1: 62128631296, 0.2: 58907405824, 0.3: 55554059776, 0.4: 52089073152, 0.5: 48604098048,
            0.6: 45722611200, 0.7: 42832735744, 0.8: 38925740032, 0.9: 36144916480, 1.0: 32462145024},
    }

    @classmethod
    def setUpClass(cls):
        cls.persistent, cls.saved = {}, {}
        for name in cls.COUNTS:
            lines = lines_of(name, batch=1, iterations=1)
            freed = {line["id"] for line in lines if line["t"] == "free"}
            cls.persistent[name] = sum(line["bytes"] for line in lines if line["t"] == "alloc" and line["id"] not in freed)
            # What is live between the first pass and the second, but for statistics, which are smaller than 1 MiB.
            held = [sum(block["bytes"] for block in live.values()
                        if block["tag"] == "activation" and block["bytes"] > MIB)
                    for line, live in walk(lines) if line["name"] == "load"]
            cls.saved[name] = held[1]

    @staticmethod
    def most_of(saved, alpha):
        """The most bytes of passes at the end of a forward pass, when there are most. The copy of a pass begins when its
        forward pass ends, and its memory is free when the next one has ended. Two buffers of a share each are kept; the
        share of the backward pass that comes next is in one of them. Shares are rounded up to 1 MiB."""
        share = -(-math.ceil(alpha * saved) // MIB) * MIB if alpha else 0
        most, forward, backward = 0, [], []
        for is_forward, *which in interleaved.schedule(interleaved.RANKS, 0, interleaved.CHUNKS, 32):
            (forward if is_forward else backward).append(which)
            if is_forward:
                whole = min(2, len(forward))
                away = len(forward) - len(backward) - whole
                most = max(most, whole * saved + away * (saved - share) + 2 * share)
        return most

    def rests(self, name):
        """What the published counts have beyond that."""
        return {alpha: count - self.persistent[name] - self.most_of(self.saved[name], alpha)
                for alpha, count in self.COUNTS[name].items()}

    def test_a_pass_is_what_the_artifact_saves(self):
        self.assertEqual([self.saved[name] for name in self.COUNTS], [1200 * MIB, 728 * MIB])

    def test_weights_gradients_and_states(self):
        """2 and 4 bytes for each parameter, and a sixteenth of 12: of ten layers and a table, half of each."""
        parameters = (10 * (4 * 8192**2 + 3 * 8192 * 22016 + 2 * 8192) + 32256 * 8192) // 2
        for name in self.COUNTS:
            self.assertEqual(self.persistent[name], parameters * 6 + parameters * 12 // 16)

    def test_where_passes_leave_as_a_whole_or_not_at_all_the_rest_is_the_same(self):
        rests = [rest for name in self.COUNTS for alpha, rest in self.rests(name).items() if alpha in (0, 1)]
        self.assertEqual(len(rests), 3)
        self.assertGreater(min(rests), 1100 * MIB)
        self.assertLess(max(rests), 1200 * MIB)

    def test_all_counts_within_half_a_gigabyte(self):
        for name in self.COUNTS:
            for alpha, rest in self.rests(name).items():
                with self.subTest(name, alpha=alpha):
                    self.assertLess(abs(rest - 1200 * MIB), 0.5e9)

    def test_the_slope_is_that_of_43_passes(self):
        for name, counts in self.COUNTS.items():
            with self.subTest(name):
                slope, _ = statistics.linear_regression(counts.keys(), counts.values())
                self.assertAlmostEqual(slope / (-43 * self.saved[name]), 1, delta=0.005)


class Sizes(unittest.TestCase):
    def test_parameters_are_those_of_the_published_models(self):
        for name, millions in (("gpt2-small", 124.44), ("gpt2-xl", 1557.61), ("resnet50", 25.557),
                               ("resnet152", 60.193), ("vgg16", 138.358), ("alexnet", 60.965),
                               ("bert-base", 109.48), ("bert-large", 335.14), ("t5-small", 60.507),
                               ("t5-base", 222.90), ("vit-b16", 86.568), ("unet", 31.03),
                               ("llama2-7b", 6738.42), ("llama3-8b", 8030.26), ("llama3-1b", 1235.81)):
            with self.subTest(name):
                _, parameters = generate(name, batch=1, iterations=1)
                self.assertAlmostEqual(parameters / 1e6, millions, delta=0.001 * millions)

    def test_the_stages_of_a_pipeline_are_the_whole_model(self):
        parts = [generate(f"pipeline-gpt2-small-stage{stage}", batch=1, iterations=1)[1] for stage in range(4)]
        # The embedding table is on the first and the last stage.
        self.assertEqual(sum(parts), 124_439_808 + 50257 * 768)

    def test_the_ranks_of_an_interleaved_pipeline_are_the_whole_model(self):
        for names in (interleaved.NAMES[:interleaved.RANKS], interleaved.NAMES[interleaved.RANKS:]):
            parts = [generate(name, batch=1, iterations=1)[1] for name in names]
            self.assertEqual(sum(parts) * interleaved.TENSOR_SHARES, 65_285_660_672 + 2 * 256 * 8192)  # two tables

    def test_feature_maps_of_vgg16_at_256_images(self):
        """Outputs of convolutions and pools: 15.44 GB, the largest 3.06 GiB."""
        maps = [line["bytes"] for line in lines_of("vgg16", batch=256, iterations=1)
                if line["t"] == "alloc" and line["tag"] == "feature-map"]
        self.assertAlmostEqual(sum(maps) / 1e9, 15.44, places=2)
        self.assertAlmostEqual(max(maps) / (1 << 30), 3.06, places=2)

    def test_the_largest_step_of_alexnet_at_200_images(self):
        """The backward pass of the first cross-channel norm: four maps of 200 x 96 x 55 x 55."""
        steps = {line["name"]: sum(live[block]["bytes"] for block in set(line["r"] + line["w"]))
                 for line, live in walk(lines_of("alexnet", batch=200, iterations=1))}
        largest = max(steps, key=steps.get)
        self.assertEqual(largest, "norm1.backward")
        self.assertEqual(steps[largest], 4 * 200 * 96 * 55 * 55 * 4)
        self.assertAlmostEqual(steps[largest] / MIB, 886.23, places=2)

    def test_early_stages_of_a_pipeline_hold_more(self):
        """Stage s of 4 has 4 - s open passes."""
        peaks = []
        for stage in (1, 2):
            held = [sum(block["bytes"] for block in live.values() if block["tag"] in ("activation", "saved"))
                    for _, live in walk(lines_of(f"pipeline-gpt2-small-stage{stage}", batch=1, iterations=1))]
            peaks.append(max(held))
        self.assertGreater(peaks[0], 1.4 * peaks[1])
        self.assertLess(peaks[0], 1.6 * peaks[1])

    def test_a_kv_cache_grows_and_is_freed(self):
        held = [sum(block["bytes"] for block in live.values() if block["tag"] == "kv")
                for _, live in walk(lines_of("decode-llama3-1b", batch=1, iterations=1))]
        # 16 layers, 4 blocks of 256 positions, keys and values of 8 heads of 64 in two bytes.
        self.assertEqual(max(held), 16 * 4 * 256 * 2 * 8 * 64 * 2)
        self.assertEqual(held, sorted(held[:held.index(max(held))]) + held[held.index(max(held)):])

    def test_few_experts_get_most_tokens(self):
        uses = {}
        for line, live in walk(lines_of("moe-64", batch=4, iterations=30)):
            for block in line["r"]:
                if live[block]["tag"] == "expert":
                    uses[block] = uses.get(block, 0) + 1
        falling = sorted(uses.values(), reverse=True)
        self.assertGreater(sum(falling[:len(falling) // 4]), sum(falling) / 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
