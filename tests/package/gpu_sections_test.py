"""What the sections about frameworks conclude from runs, on made-up runs: no framework is needed.

Usage: gpu_sections_test.py BUILD_FOLDER
"""

import contextlib
import io
import json
import pathlib
import py_compile
import sys
import tempfile
import unittest
from unittest import mock

BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
GPU = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"
sys.path.insert(0, str(GPU))

from sections import (backends, choices, evidence, first_light, frameworks, place, pytorch, record,  # noqa: E402
                      sanitizer, segments, smoke, speed, torch_runs)
import table  # noqa: E402

GIB = 1 << 30


def report(evictions=9, allocations=5):
    """Statistics as the library writes them, as far as evidence reads them."""
    groups = {}
    for group, name in evidence.FIGURES:
        groups.setdefault(group, {})[name] = 1
    groups["blocks"]["allocations"] = allocations
    groups["moves"]["evictions"] = evictions
    return {**groups, "exposed_bytes_by_reason": {}}


class MadeUpPlace(place.Place):
    """Every program gives these losses, and leaves `reports` by process; `answers` says otherwise for some commands."""

    PID = 77

    def __init__(self, answers=None, reports=None):
        super().__init__("/nowhere")
        self.answers = answers or {}
        self.reports = {self.PID: report()} if reports is None else reports
        self.commands = []

    def has(self, module):
        return True

    def run(self, command, limit, more=None):
        line = " ".join(command)
        self.commands.append(line)
        if "--stats" in command:
            name = command[command.index("--stats") + 1]
            for pid, body in self.reports.items():
                pathlib.Path(name.replace("%p", str(pid))).write_text(json.dumps(body))
        answer = next((answer for part, answer in self.answers.items() if part in line), {
            "losses": [1.0.hex(), 0.5.hex()], "step_seconds": [9.0, 9.0, 2.0, 2.0, 2.0], "peak_reserved": 8 * GIB,
            "peak_allocated": 8 * GIB, "peak_bytes": 8 * GIB, "pool_bytes": 8 * GIB, "digest": "d",
            "ways": {"attention": {"digest": "d", "seconds": 1.0}}, "backend": "cudaMallocAsync", "preloaded": True,
            "parts": {"matmul": {"losses": [1.0.hex()], "seconds": 1.0}}})
        return place.Outcome(0, json.dumps(answer), "", 1.0, self.PID)


def results_of(section, made_up, limit=100):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "section.json"
        written = record.Record(file, "section", {"gpu": "none"}, "run.sh", limit)
        with contextlib.redirect_stdout(io.StringIO()):
            section.run(made_up, written)
        written.finish()
        body = json.loads(file.read_text())
    return body, {result["name"]: result for result in body["results"]}


class Scripts(unittest.TestCase):
    def test_every_script_compiles(self):
        with tempfile.TemporaryDirectory() as folder:
            for script in GPU.rglob("*.py"):
                py_compile.compile(str(script), cfile=folder + "/compiled", doraise=True)

    def test_the_sections_together_take_less_than_nine_minutes(self):
        import run
        self.assertLess(sum(run.SECTIONS.values()), 9 * 60)

    def test_the_most_valuable_sections_come_first(self):
        import run
        self.assertEqual(list(run.SECTIONS)[:6], ["facts", "smoke", "probes", "backends", "contract", "speed"])

    def test_every_section_is_known_to_the_process_that_runs_it(self):
        import run
        import section
        self.assertEqual(list(run.SECTIONS), list(section.MODULES))


class Comparisons(unittest.TestCase):
    RUN = {"losses": [1.0.hex(), 0.5.hex()], "step_seconds": [9.0, 9.0, 1.0, 3.0, 2.0]}

    def test_the_first_steps_do_not_count_as_time(self):
        self.assertEqual(torch_runs.step_seconds(self.RUN), 2.0)
        self.assertIsNone(torch_runs.step_seconds({}))

    def test_equal_bits_are_equal(self):
        facts = torch_runs.compare(self.RUN, self.RUN)
        self.assertEqual((facts["answer"], facts["times_reference"]), ("yes", 1.0))

    def test_one_bit_is_a_difference(self):
        other = {**self.RUN, "losses": [1.0.hex(), 0.5000000000000001.hex()]}
        facts = torch_runs.compare(self.RUN, other)
        self.assertEqual((facts["answer"], facts["first_different_step"]), ("no", 1))
        self.assertGreater(facts["largest_relative_difference"], 0)

    def test_a_run_that_stopped_early_is_a_difference(self):
        facts = torch_runs.compare(self.RUN, {**self.RUN, "losses": [1.0.hex()]})
        self.assertEqual((facts["answer"], facts["first_different_step"]), ("no", 1))

    def test_the_steps_of_a_run_that_was_cut_off_are_kept(self):
        cut_off = {**self.RUN, "answer": torch_runs.OUT_OF_TIME, "losses": [1.0.hex()], "step_seconds": [8.0, 8.0, 4.0]}
        facts = torch_runs.compare(self.RUN, cut_off)
        self.assertEqual((facts["answer"], facts["step_seconds"], facts["times_reference"]), ("no time left", 4.0, 2.0))
        facts = torch_runs.compare(self.RUN, {"answer": torch_runs.OUT_OF_TIME})
        self.assertEqual((facts["answer"], facts["step_seconds"]), ("no time left", None))

    def test_a_run_without_losses_failed(self):
        facts = torch_runs.compare(self.RUN, {"failed": {"exit_code": 1}})
        self.assertEqual((facts["answer"], facts["failed"]), ("failed", {"exit_code": 1}))

    def test_budgets_leave_room_on_the_host_for_what_must_leave(self):
        self.assertEqual(torch_runs.budget(8 * GIB, None), [])
        options = dict(zip(*[iter(torch_runs.budget(8 * GIB, 0.25))] * 2))
        self.assertEqual(options["--device-memory"], "2048MiB")
        self.assertGreaterEqual(int(options["--host-memory"][:-3]), 6 * 1024)


class Evidence(unittest.TestCase):
    """Equal results show something only where Tessera was at work."""

    def seen(self, reports, evicts=False, before=()):
        made_up = MadeUpPlace(reports=reports)
        return evidence.run(made_up, ["program"], 10, evicts=evicts, before=before)[1]

    def test_statistics_of_the_program_itself_are_required(self):
        self.assertNotIn("missing", self.seen({MadeUpPlace.PID: report()}, evicts=True))
        self.assertIn("missing", self.seen({}))
        self.assertIn("missing", self.seen({MadeUpPlace.PID + 1: report()}))
        self.assertNotIn("missing", self.seen({MadeUpPlace.PID + 1: report()}, before=["compute-sanitizer"]))

    def test_a_partial_budget_requires_evictions(self):
        self.assertNotIn("missing", self.seen({MadeUpPlace.PID: report(evictions=0)}))
        self.assertIn("missing", self.seen({MadeUpPlace.PID: report(evictions=0)}, evicts=True))

    def test_memory_from_elsewhere_is_no_evidence(self):
        self.assertIn("missing", self.seen({MadeUpPlace.PID: report(allocations=0)}))

    def test_a_truncated_file_is_no_evidence(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "77.json").write_text('{"blocks": ')
            self.assertEqual(evidence.read(folder), {})

    def test_every_section_answers_no_without_tessera(self):
        for section in (smoke, backends, pytorch, segments, choices, frameworks):
            body, results = results_of(section, MadeUpPlace(reports={}))
            told = {name: result["answer"] for name, result in results.items() if "evidence" in result}
            self.assertTrue(told, section)
            self.assertEqual(set(told.values()), {"no"}, told)


# In place of the probes: one crashes, one never ends, one leaves a context that cannot be used.
ASKED = """#!/bin/sh
[ "$1" = --list ] && { echo "fine crashes hangs poisons last"; exit 0; }
shift 2
for name in "$@"; do
  [ "$name" = crashes ] && kill -SEGV $$
  [ "$name" = hangs ] && exec tail -f /dev/null
  echo "{\\"probe\\": \\"$name\\", \\"answer\\": \\"yes\\"}"
  [ "$name" = poisons ] && exit 3
done
"""


class Questions(unittest.TestCase):
    def test_a_question_that_crashes_hangs_or_breaks_the_context_stops_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bench" / "gpu" / "first_light"
            program.parent.mkdir(parents=True)
            program.write_text(ASKED)
            program.chmod(0o755)
            with mock.patch.object(first_light, "LONGEST", 5):
                body, results = results_of(first_light, place.Place(folder))
        self.assertEqual({name: result["answer"] for name, result in results.items()},
                         {"fine": "yes", "crashes": "failed", "hangs": "failed", "poisons": "yes",
                          "last": "yes"})
        self.assertEqual(results["crashes"]["failed"]["exit_code"], -11)
        self.assertTrue(body["complete"])


class Sanitizer(unittest.TestCase):
    def test_found_errors_and_failing_programs_are_distinguished(self):
        codes = {"launches": 0, "train": 99, "c_api_tessera_test": 1}

        class Checked(MadeUpPlace):
            def run(self, command, limit, more=None):
                done = super().run(command, limit, more)
                code = next((code for name, code in codes.items() if name in " ".join(command)), 0)
                return place.Outcome(code, "", "========= ERROR SUMMARY: 3 errors", 1.0, done.pid)

        made_up = Checked()
        with mock.patch.object(sanitizer, "tool", lambda: "compute-sanitizer"):
            body, results = results_of(sanitizer, made_up)
        self.assertEqual(results["launches under tessera run"]["answer"], "clean")
        self.assertEqual(results["train under tessera run"]["answer"], "errors found")
        self.assertEqual(results["C API"]["answer"], "failed")
        self.assertTrue(all(command.startswith("compute-sanitizer ") for command in made_up.commands))

    def test_a_machine_without_it_reports_that(self):
        with mock.patch.object(sanitizer, "tool", lambda: None):
            body, results = results_of(sanitizer, MadeUpPlace())
        self.assertEqual(results["memcheck"]["answer"], "not supported here")


def results_where_all_print(text, measure):
    """What `measure` records if each program that it starts prints this."""
    class Printing(MadeUpPlace):
        def run(self, command, limit, more=None):
            return place.Outcome(0, text, "", 1.0, super().run(command, limit, more).pid)

    with tempfile.TemporaryDirectory() as folder:
        written = record.Record(pathlib.Path(folder) / "a.json", "a", {"gpu": "none"}, "run.sh", 100)
        with contextlib.redirect_stdout(io.StringIO()):
            measure(Printing(), written)
        written.finish()
        return json.loads((pathlib.Path(folder) / "a.json").read_text())["results"]


class LaunchCosts(unittest.TestCase):
    def test_the_programs_own_lines_are_read(self):
        here = place.Place(BUILD, software=True)
        ran = here.run([here.program("launch_cost"), here.kernels("preload_kernels"), "16", "1"], 120)
        self.assertTrue(ran.well, ran.err)
        costs = speed.launch_costs(ran)
        self.assertEqual(list(costs), ["refused", "numbers", "queued"])
        self.assertTrue(all(cost > 0 for cost in costs.values()), costs)

    def test_any_other_output_is_none(self):
        for text in ("", "refused 1.0\nqueued 2.0\n", "refused 1.0\nnumbers\nqueued 2.0\n"):
            self.assertIsNone(speed.launch_costs(place.Outcome(0, text, "", 1.0)))

    def test_each_kind_of_launch_has_its_median_both_ways(self):
        results = results_where_all_print("refused 1.0\nnumbers 2.0\nqueued 3.0\n", speed.launch_cost)
        costs = {"refused": 1.0, "numbers": 2.0, "queued": 3.0}
        self.assertTrue(results)
        self.assertEqual([result["ns"] for result in results],
                         [{"alone": costs, "under tessera run": costs}] * len(results))


class FirstSteps(unittest.TestCase):
    def test_the_programs_own_number_is_read(self):
        here = place.Place(BUILD, software=True)
        ran = here.run([here.program("first_steps"), here.kernels("preload_kernels"), "4", "4096", "10", "2"], 120)
        self.assertTrue(ran.well, ran.err)
        self.assertGreater(speed.one_number(ran), 0)

    def test_any_other_output_is_none(self):
        for text in ("", "launch 1\n", "1\n2\n"):
            self.assertIsNone(speed.one_number(place.Outcome(0, text, "", 1.0)))

    def test_each_size_has_its_medians_both_ways(self):
        results = results_where_all_print("12\n", speed.first_steps)
        self.assertEqual([result["ns"] for result in results], 2 * [{"alone": 12.0, "under tessera run": 12.0}])


class StepCosts(unittest.TestCase):
    def test_the_programs_own_lines_are_read(self):
        here = place.Place(BUILD, software=True)
        ran = here.run([here.program("step_cost"), here.kernels("preload_kernels"), "3"], 120)
        self.assertTrue(ran.well, ran.err)
        costs = speed.step_costs(ran)
        self.assertLessEqual({"launch", "refused_launch_of_one_block", "allocate", "free"}, set(costs))
        self.assertTrue(all(cost["warm"] > 0 and cost["cold"] > 0 for cost in costs.values()), costs)

    def test_any_other_output_is_none(self):
        for text in ("", "launch 1\n", "launch 1 2\nfree 3\n"):
            self.assertIsNone(speed.step_costs(place.Outcome(0, text, "", 1.0)))

    def test_each_call_has_its_medians_both_ways(self):
        results = results_where_all_print("launch 1 2\nfree 3 4\n", speed.step_cost)
        costs = {"launch": {"warm": 1.0, "cold": 2.0}, "free": {"warm": 3.0, "cold": 4.0}}
        self.assertEqual([result["ns"] for result in results], [{"alone": costs, "under tessera run": costs}])


class Tables(unittest.TestCase):
    BODY = {"section": "speed", "gpu": "a GPU", "driver": "1", "commit": "c", "date": "d",
            "command": "run.sh", "complete": True, "results": [
                {"name": "pairs", "cost": {"median": 81.25, "least": 1.0}, "bytes": 2 << 20, "turns": [1, 2.5]},
                {"name": "asked", "question": "?", "answer": "failed", "error": "CUDA_ERROR_UNKNOWN"}]}

    def test_a_row_has_medians_and_the_last_of_lists_and_the_reason_of_a_failure(self):
        lines = list(table.table(self.BODY))
        self.assertIn("| pairs | measured | cost 81.2, bytes 2097 k, turns 2.5 |", lines)
        self.assertIn("| asked | failed | CUDA_ERROR_UNKNOWN |", lines)

    def test_a_result_without_its_machine_is_refused(self):
        with self.assertRaises(ValueError):
            list(table.table({**self.BODY, "gpu": ""}))


class Sections(unittest.TestCase):
    def test_pytorch_runs_alone_first_and_then_on_parts_of_that_peak(self):
        made_up = MadeUpPlace()
        body, results = results_of(pytorch, made_up)
        self.assertTrue(body["complete"])
        self.assertEqual({result.get("answer") for result in results.values()} - {None}, {"yes"})
        self.assertNotIn("tessera run", made_up.commands[0])
        self.assertIn("gpt2, 50%, auto", results)
        self.assertIn("--device-memory 4096MiB", " ".join(made_up.commands))

    def test_a_model_that_fails_alone_is_not_compared(self):
        body, results = results_of(pytorch, MadeUpPlace({"resnet50": {"failed": {"exit_code": 1}}}))
        self.assertEqual(results["resnet50, alone"]["answer"], "failed")
        self.assertEqual(results["gpt2, 50%, auto"]["answer"], "yes")

    def test_unreached_parts_are_reported(self):
        body, results = results_of(pytorch, MadeUpPlace(), limit=0)
        self.assertFalse(body["complete"])
        self.assertEqual({result.get("answer") for result in results.values()} - {None, "yes"},
                         {"no time left"})

    def test_segments_are_run_with_the_listener_and_without(self):
        made_up = MadeUpPlace()
        body, results = results_of(segments, made_up)
        self.assertTrue(body["complete"])
        self.assertEqual(len(results), 1 + len(segments.SETTINGS) * 3)
        self.assertEqual({result["answer"] for result in results.values()}, {"yes"})
        self.assertTrue(made_up.commands[0].endswith("-m tessera torch-listener"))
        listeners = [command.split("--torch-listeners ")[1].split()[0] for command in made_up.commands
                     if "--torch-listeners" in command]
        self.assertEqual(len(set(listeners)), 2)

    def test_segments_are_run_without_a_listener_that_cannot_be_built(self):
        class NoCompiler(MadeUpPlace):
            def run(self, command, limit, more=None):
                done = super().run(command, limit, more)
                return place.Outcome(1, "", "no compiler", 1.0) if command[-1] == "torch-listener" else done

        body, results = results_of(segments, NoCompiler())
        self.assertEqual(results["the listener is built"]["answer"], "no")
        self.assertEqual(results["the listener is built"]["message"], "no compiler")
        self.assertNotIn("gpt2, native, half, with the listener", results)
        self.assertEqual(results["gpt2, native, half, without"]["answer"], "yes")

    def test_ways_of_hiding_work_are_compared_by_digest(self):
        seen = {"evidence": {}}
        alone = {"ways": {"a": {"digest": "1", "seconds": 1}, "b": {"digest": "1", "seconds": 1},
                          "c": {"error": "none here"}, "d": {"digest": "1", "seconds": 1}}}
        found = {"ways": {"a": {"digest": "1", "seconds": 1, **seen}, "b": {"digest": "2", "seconds": 1, **seen},
                          "c": {"digest": "1", "seconds": 1, **seen}}}
        answers = {name: facts["answer"] for name, facts in pytorch.same_digests(alone, found)}
        self.assertEqual(answers, {"a": "yes", "b": "no", "c": "not supported here", "d": "failed"})

    def test_ways_left_by_a_broken_process_run_in_another(self):
        first = {"ways": {"a": {"digest": "1", "seconds": 1}, "b": {"error": "CUDA error"}}, "left": ["c"]}
        second = {"ways": {"c": {"digest": "3", "seconds": 1}}, "left": []}
        made_up = MadeUpPlace({"--only c": second, "features.py": first})
        with tempfile.TemporaryDirectory() as folder:
            written = record.Record(pathlib.Path(folder) / "a.json", "a", {}, "run.sh", 100)
            found = torch_runs.in_pieces(made_up, written, "features.py", "ways")
        self.assertEqual(set(found["ways"]), {"a", "b", "c"})
        self.assertEqual(len(made_up.commands), 2)

    def test_the_smoke_run_is_ample_first_and_then_half_of_the_peak(self):
        made_up = MadeUpPlace()
        body, results = results_of(smoke, made_up)
        self.assertTrue(body["complete"])
        self.assertEqual({result["answer"] for result in results.values()}, {"measured", "yes"})
        under = [command for command in made_up.commands if "tessera run" in command]
        self.assertEqual([("lru" in line, "--device-memory 4096MiB" in line) for line in under],
                         [(False, False), (True, True), (False, True)])

    def test_a_part_failing_alone_is_unavailable_and_one_failing_under_tessera_failed(self):
        well, broken = {"losses": ["a"], "seconds": 1}, {"error": "RuntimeError"}
        under = {**well, "evidence": {}}
        answers = [smoke.verdict(*pair)["answer"] for pair in ((broken, under), (well, {**broken, "evidence": {}}),
                                                              (well, {}), (well, {**under, "losses": ["b"]}))]
        self.assertEqual(answers, ["not supported here", "failed", "failed", "no"])

    def test_a_program_killed_with_its_section_is_not_at_fault(self):
        class CutOff(MadeUpPlace):
            def run(self, command, limit, more=None):
                done = super().run(command, limit, more)
                return place.Outcome(None, "", "", 1.0, done.pid) if "tessera run" in self.commands[-1] else done

        for section in (smoke, pytorch, backends):
            with mock.patch.object(record.Record, "left", lambda self, at_most=None: 0 if made_up.cut_off() else 10):
                made_up = CutOff()
                made_up.cut_off = lambda: any("tessera run" in line for line in made_up.commands)
                body, results = results_of(section, made_up)
            told = {result.get("answer") for result in results.values()}
            self.assertIn("no time left", told)
            self.assertFalse({"no", "failed"} & told, results)

    def test_presets_that_pytorch_ignored_are_reported(self):
        made_up = MadeUpPlace({"tessera run": {"parts": {}, "backend": "native", "preloaded": True}})
        self.assertEqual(results_of(smoke, made_up)[1]["presets, ample"]["answer"], "no")

    def test_allocators_are_compared_with_the_first_of_them(self):
        body, results = results_of(backends, MadeUpPlace())
        self.assertEqual([results[f"gpt2, {name}"]["times_reference"] for name, _, _ in backends.WAYS], [1.0] * 4)
        other = MadeUpPlace({"tessera run": {"losses": ["0x0p+0"], "step_seconds": [1, 1, 1]}})
        self.assertEqual(results_of(backends, other)[1]["gpt2, native, tessera run"]["answer"], "no")

    def test_choices_and_frameworks_compare_every_way_with_the_program_alone(self):
        for section, name in ((choices, "tessera run, 50% of keep, auto"), (frameworks, "CuPy, half")):
            body, results = results_of(section, MadeUpPlace())
            self.assertTrue(body["complete"])
            self.assertEqual(results[name]["answer"], "yes")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
