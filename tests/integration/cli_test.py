"""The tessera command from outside, on the software device.

Usage: cli_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TESSERA = BUILD / "bin/tessera"
PROGRAMS = BUILD / "lib/tessera"
SMALL = ["--steps", "2", "--layers", "3", "--width", "128", "--batch", "32"]
# Programs that are not ours cannot load a library that needs a sanitizer's runtime.
SANITIZED = any(name in (BUILD / "lib/libtessera.so").read_bytes() for name in (b"__asan_init", b"__tsan_init"))
foreign = unittest.skipIf(SANITIZED, "a foreign program cannot load a sanitized library")


def tessera(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return subprocess.run([TESSERA, *map(str, words)], env=environment | variables, capture_output=True,
                          text=True, timeout=250)


def refused_io_uring(*words):
    """The same on a system that refuses io_uring, as containers do."""
    refuse = [PROGRAMS / "refuse", "EPERM", "io_uring_setup", "--"]
    if subprocess.run([*refuse, "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("no filters of system calls on this machine")
    return subprocess.run([*refuse, TESSERA, *words], capture_output=True, text=True, timeout=250,
                          env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib/softcuda")})


def has_gpu():
    return json.loads(tessera("doctor", "--json").stdout)["gpu"]


class Words(unittest.TestCase):
    def test_version_is_one_line(self):
        result = tessera("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^tessera \d+\.\d+\.\d+\n$")

    def test_no_arguments_print_the_help(self):
        result = tessera()
        self.assertEqual(result.returncode, 2)
        self.assertIn("doctor", result.stdout)

    def test_invalid_arguments_are_one_line_and_exit_code_two(self):
        for words in (["bogus"], ["run"], ["run", "--bogus", "1", "p"], ["demo", "--steps", "0"],
                      ["doctor", "--bogus"], ["run", "--device-memory"]):
            result = tessera(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, r"^tessera: [^\n]+\n$", words)

    def test_a_misspelt_word_is_named_with_the_nearest(self):
        for words, said in (
                (["runn", "--", "true"], "unknown command 'runn'; did you mean run? `tessera --help` lists them"),
                (["run", "--device-memroy", "1GiB", "--", "true"],
                 "unknown option '--device-memroy'; did you mean --device-memory? `tessera run --help` lists them"),
                (["doctor", "now"], "'now' is one argument too many; `tessera doctor --help` says what it takes")):
            self.assertEqual(tessera(*words).stderr, f"tessera: {said}\n")

    def test_errors_name_what_helps(self):
        for words, helps in (
                (["sleep"], "PID is required; `tessera sleep --help` says what it takes"),
                (["sleep", "abc"], "'abc' is not a process id; `tessera top` lists"),
                (["share", "--weight", "5"], "; `tessera share --help` says what it takes"),
                (["share", "1"], "neither --weight nor --device-limit; without it all are listed"),
                (["share", "1", "--weight", "5", "--node", "none-of-this-name"], "; `tessera share` lists the programs"),
                (["plan"], "; `tessera plan --help` says what it takes"),
                (["run", "--device-memory"], "; `tessera run --help` says what it takes"),
                (["stats", "/no/such"], "; `tessera run --stats FILE` writes"),
                (["recover", "/no/such"], "; `tessera run --stats FILE` writes"),
                (["report", "/no/such"], "; `tessera run --history FILE` writes"),
                (["replay", "/no/such"], "; `tessera run --trace FILE` records a trace"),
                (["replay", SOURCE / "LICENSE"], "neither a trace of `tessera run --trace FILE` nor an RMM log"),
                (["replay", "--policy", "best", "t"], "--policy: unknown policy 'best'; available: auto, "),
                (["metrics", "--serve", "9400"], "not ADDRESS:PORT, such as 127.0.0.1:9400")):
            result = tessera(*words)
            self.assertIn(result.returncode, (1, 2), words)
            self.assertRegex(result.stderr, r"^tessera: [^\n]*" + re.escape(helps) + r"[^\n]*\n$", words)

    def test_an_old_command_names_the_new_one(self):
        for old, new in (("torture", "fuzz"), ("league", "policy-bench")):
            result = tessera(old, "--seeds", "1")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr, f"tessera: `tessera {old}` is now `tessera {new}`\n")

    def test_help_names_every_option_and_its_variable(self):
        text = tessera("run", "--help").stdout
        table = re.findall(r'^    \{"([a-z-]+)", k[BPD]', (SOURCE / "alloc/api/options.cpp").read_text(), re.MULTILINE)
        self.assertGreater(len(table), 15)
        # A program that Tessera should leave alone is not started by it.
        for option in sorted({*table, "software", "software-memory", "torch", "no-presets"} - {"off"}):
            self.assertRegex(text, rf"--{option}\b[^\n]*TESSERA_{option.upper().replace('-', '_')}\b")


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, *options, program=(), **variables):
        return tessera("run", "--software", *options, "--", PROGRAMS / "train", "--kernels",
                       PROGRAMS / "train_kernels.so", *SMALL, *program, **variables)

    def refused(self, code, pattern, *words, **variables):
        result = tessera("run", *words, **variables)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"^tessera: [^\n]*" + pattern + r"[^\n]*\n$")

    def test_a_program_runs_and_its_success_is_returned(self):
        result = self.train()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("live peak", result.stdout)

    def test_the_programs_failure_is_returned(self):
        result = self.train("--software-memory", "32MiB", program=["--occupy", str(1 << 40)])
        self.assertEqual(result.returncode, 1)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", result.stderr)

    @foreign
    def test_exit_codes_and_signals_pass_through(self):
        for code in (0, 1, 77, 255):
            self.assertEqual(tessera("run", "--software", "--", "sh", "-c", f"exit {code}").returncode, code)
        self.assertEqual(tessera("run", "--software", "sh", "-c", "kill -TERM $$").returncode, -15)

    @foreign
    def test_a_folder_for_the_socket_can_be_chosen(self):
        for words, folder in ((["--control-dir", "own"], str(pathlib.Path.cwd() / "own")),
                              (["--control-dir", "own", "--no-control"], None)):
            result = tessera("run", "--software", *words, "env")
            found = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
            self.assertEqual(found.get("TESSERA_CONTROL_DIR"), folder)

    @foreign
    def test_the_environment_of_the_program(self):
        stats = os.path.relpath(self.folder / "s.json")
        result = tessera("run", "--software", "--device-memory", "96MiB", "--stats", stats,
                         "--software-memory=128MiB", "env", LD_LIBRARY_PATH="/elsewhere")
        found = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.assertEqual(found["TESSERA_DEVICE_MEMORY"], "96MiB")
        self.assertEqual(found["TESSERA_SOFTWARE_MEMORY"], "128MiB")
        self.assertEqual(os.path.normpath(found["TESSERA_STATS"]), str(self.folder / "s.json"))
        self.assertTrue(os.path.isabs(found["TESSERA_STATS"]))
        self.assertTrue(found["LD_PRELOAD"].startswith(str(BUILD / "lib/libtessera_preload.so")))
        self.assertEqual(found["LD_LIBRARY_PATH"], f"{BUILD}/lib/softcuda:/elsewhere")

    def environment(self, *words, **variables):
        """What a program finds that `tessera run` was told `words` for, and the lines about it."""
        plain = {name: "" for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "TF_GPU_ALLOCATOR",
                                       "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_PREALLOCATE",
                                       "TF_FORCE_UNIFIED_MEMORY")}
        result = tessera("run", "--software", *words, **plain | variables)
        return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line), result.stderr

    @foreign
    def test_frameworks_are_set_to_allocate_by_tensor_and_one_line_says_so(self):
        found, lines = self.environment("env", "python=3")
        self.assertEqual(found["PYTORCH_ALLOC_CONF"], "backend:cudaMallocAsync")
        self.assertEqual(found["PYTORCH_CUDA_ALLOC_CONF"], "backend:cudaMallocAsync")
        self.assertEqual(found["XLA_PYTHON_CLIENT_ALLOCATOR"], "cuda_async")
        self.assertEqual(found["TF_GPU_ALLOCATOR"], "cuda_malloc_async")
        self.assertRegex(lines, r"^tessera: set for frameworks: [^\n]*PYTORCH_ALLOC_CONF=[^\n]*--no-presets[^\n]*\n$")
        self.assertEqual(self.environment("--log-level", "error", "env", "python=3")[1], "")
        found, lines = self.environment("env")
        self.assertEqual(found["PYTORCH_ALLOC_CONF"], "backend:cudaMallocAsync")
        self.assertEqual(lines, "", "a compiled program without a script")

    @foreign
    def test_presets_can_be_left_out_and_never_replace_a_setting(self):
        for words, variables in ((["--no-presets"], {}), ([], {"TESSERA_NO_PRESETS": "1"}), ([], {"TESSERA_OFF": "1"})):
            found, lines = self.environment(*words, "env", "python=3", **variables)
            self.assertEqual((found["PYTORCH_ALLOC_CONF"], lines), ("", ""), (words, variables))
        found, lines = self.environment("env", "python=3", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        self.assertEqual((found["PYTORCH_CUDA_ALLOC_CONF"], found["PYTORCH_ALLOC_CONF"]),
                         ("expandable_segments:True", ""))
        self.assertIn("tessera: PyTorch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is left as it is", lines)
        for words, variables in ((["--torch", "native"], {}), ([], {"TESSERA_TORCH": "native"})):
            found, _ = self.environment(*words, "env", **variables)
            self.assertEqual(found["PYTORCH_ALLOC_CONF"], "max_split_size_mb:21")
        self.refused(2, "--torch: 'other'", "--software", "--torch", "other", "--", "true")

    def on_a_terminal(self, *options, **variables):
        """What standard error shows if it is a terminal."""
        reader, writer = os.openpty()
        with os.fdopen(reader, "rb") as shown:
            with os.fdopen(writer, "wb") as terminal:
                environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
                subprocess.run([TESSERA, "run", "--software", "--no-presets", "--device-memory", "8MiB", *options, "--",
                                PROGRAMS / "train", "--kernels", PROGRAMS / "train_kernels.so", *SMALL],
                               env=environment | variables, stdout=subprocess.DEVNULL, stderr=terminal, timeout=250, check=True)
                return os.read(shown.fileno(), 4096).decode() if select.select([shown], [], [], 0)[0] else ""

    def test_a_terminal_is_shown_what_the_heap_has_and_did(self):
        self.assertRegex(self.on_a_terminal(), r"^tessera: device 0: the heap has 8.00 MiB of device memory, [^\n]*--file-dir"
                         r"[^\n]*\r\ntessera: at the end: [^\n]* of blocks at most, [^\n]*\r\n$")
        for quiet in (("--summary", "off"), ("--log-level", "error")):
            self.assertEqual(self.on_a_terminal(*quiet), "", quiet)
        self.assertEqual(self.train("--no-presets").stderr, "")
        self.assertEqual(self.on_a_terminal(RANK="1", WORLD_SIZE="8"), "")
        lines = self.on_a_terminal(RANK="0", WORLD_SIZE="8").splitlines()
        self.assertEqual([line[:16] for line in lines], ["tessera: rank 0:"] * 2)
        self.assertIn("tessera: at the end: ", self.train("--no-presets", "--summary", "on").stderr)

    def test_a_missing_program(self):
        self.refused(127, "No such file[^\n]*; check the path", "--software", "--", "/no/such/program")
        self.refused(127, "no folder of PATH has it", "--software", "--", "no-such-program")
        self.refused(126, "ermission denied; `chmod \\+x`", "--software", "--", str(BUILD / "CMakeCache.txt"))
        self.refused(126, "; it is a folder", "--software", "--", str(BUILD))
        script = self.folder / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.refused(127, "not the interpreter that it names", "--software", "--no-presets", "--", str(script))

    def test_invalid_values_are_named(self):
        self.refused(2, "--device-memory: 'lots'", "--device-memory", "lots", "--", "true")
        self.refused(2, "--policy", "--policy=best", "--", "true")
        self.refused(2, "--software-memory", "--software", "--software-memory", "0", "--", "true")
        self.refused(2, "TESSERA_LOW_WATERMARK", "--", "true", TESSERA_LOW_WATERMARK="x")
        self.refused(2, "TESSERA_HOST_MEMORY", "--", "true", TESSERA_HOST_MEMORY="1XB")

    def test_conflicting_values_are_named(self):
        self.refused(2, "--device-memory must not be 0", "--software", "--device-memory", "0", "--", "true")
        self.refused(2, "--unhinted-access host-backed", "--software", "--unhinted-access", "host-backed",
                     "--file-memory", "1GiB", "--", "true")

    def test_an_invalid_folder_is_named(self):
        self.refused(2, "--file-dir: /no/such", "--software", "--file-dir", "/no/such", "--", "true")
        self.refused(2, "not a directory", "--software", "--file-dir", str(TESSERA), "--", "true")
        self.refused(2, "--file-dir: /no/such", "--software", "--file-dir", "/tmp:/no/such", "--", "true")

    def test_without_a_gpu_gives_advice(self):
        if has_gpu():
            self.skipTest("there is a GPU here")
        self.refused(1, "--software", "--", "true")

    @foreign
    def test_a_driver_that_is_too_old_is_named_and_serves_the_program(self):
        driver = (BUILD / "lib/softcuda/libcuda.so.1").read_bytes()
        older = driver.replace(b"cuFuncGetParamInfo", b"cuFuncGetParamLost")
        self.assertNotEqual(older, driver)
        (self.folder / "libcuda.so.1").write_bytes(older)
        result = tessera("run", "--no-presets", "--", PROGRAMS / "train", "--kernels", PROGRAMS / "train_kernels.so", *SMALL,
                         LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("live peak", result.stdout)
        self.assertRegex(result.stderr, r"^tessera: not in use: the driver is older than CUDA 12\.4[^\n]*`tessera doctor`[^\n]*\n$")
        report = tessera("doctor", "--json", LD_LIBRARY_PATH=str(self.folder))
        [found] = [one for one in json.loads(report.stdout)["findings"] if one["name"] == "kernel parameters"]
        self.assertEqual(found["state"], "missing")
        self.assertIn("12.4", found["fix"])

    def test_statistics_timeline_and_trace_are_written(self):
        stats, timeline, trace = (self.folder / name for name in ("s.json", "t.json", "t.jsonl"))
        result = self.train("--stats", stats, "--timeline", timeline, "--trace", trace,
                            program=["--losses", self.folder / "losses"])
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = json.loads(stats.read_text())
        blocks = figures["blocks"]
        self.assertEqual(blocks["live_blocks"], blocks["allocations"] - blocks["frees"])
        self.assertEqual(sum(figures["live_bytes_by_tag"].values()), blocks["live_bytes"])
        self.assertGreater(figures["uses"]["launches"], 0)
        self.assertIn("traceEvents", json.loads(timeline.read_text()))
        lines = [json.loads(line) for line in trace.read_text().splitlines()]
        self.assertEqual(lines[0]["t"], "header")
        kinds = [line["t"] for line in lines]
        self.assertEqual(kinds.count("alloc"), blocks["allocations"])
        self.assertEqual(kinds.count("free"), blocks["frees"])
        self.assertGreater(kinds.count("op"), 0)
        timed = [line for line in lines if line["t"] == "time"]
        self.assertGreater(len(timed), 8)
        self.assertLessEqual({line["name"] for line in timed}, {line["name"] for line in lines if line["t"] == "op"})
        replayed = subprocess.run([TESSERA, "replay", trace, "--json"], capture_output=True, text=True, check=True)
        self.assertGreater(json.loads(replayed.stdout)["compute_ns"], min(line["ns"] for line in timed))
        for path in (stats, timeline, trace):
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_statistics_on_standard_error_are_a_table(self):
        self.assertRegex(self.train("--stats", "-").stderr, r"(?m)^  peak live bytes +\d")

    def test_a_report_that_cannot_be_written_is_an_error_before_the_program_runs(self):
        self.refused(2, "--stats /no/such/folder/s.json: /no/such/folder is not a directory; create it",
                     "--software", "--stats", "/no/such/folder/s.json", "--", "true")
        self.refused(2, "is a folder; name a file in it", "--software", "--history", str(self.folder), "--", "true")
        for option in ("stats", "trace", "timeline", "history"):
            self.refused(2, f"--{option} /sys/file: [^\n]+; name a file in a folder that you may write",
                         "--software", f"--{option}", "/sys/file", "--", "true")

    def test_an_unavailable_file_tier_is_one_line_and_the_program_runs(self):
        for options, line in ((["--file-dir", "/proc", "--file-memory", "1GiB"], "spill file disabled: [^\n]*only 0 B free in /proc"),
                              (["--file-memory", "100000TiB"], "exceeds the free space in /var/tmp")):
            result = self.train("--no-presets", *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, rf"^tessera: [^\n]*{line}[^\n]*\n$")

    def test_the_last_of_two_values_counts(self):
        result = self.train("--stats", "/no/such/folder/s", "--stats", "-")
        self.assertIn("live blocks", result.stderr)
        self.assertNotIn("/no/such/folder", result.stderr)

    def test_ample_and_scarce_memory_give_the_same_bits(self):
        results = []
        for options in ([], ["--device-memory", "8MiB", "--host-memory", "4MiB", "--file-memory", "256MiB"],
                        ["--device-memory", "8MiB", "--host-memory", "0", "--file-memory", "256MiB"],
                        ["--policy", "lru", "--device-memory", "8MiB"]):
            losses = self.folder / "losses"
            result = self.train(*options, program=["--losses", losses])
            self.assertEqual(result.returncode, 0, result.stderr)
            results.append(losses.read_text())
        self.assertEqual(set(results), {results[0]})
        self.assertIn("0x", results[0])


class Doctor(unittest.TestCase):
    def test_every_problem_has_a_fix(self):
        report = json.loads(tessera("doctor", "--json", "--file-dir", "/no/such/folder").stdout)
        states = {finding["name"]: finding["state"] for finding in report["findings"]}
        self.assertEqual(states["file folder"], "missing")
        for finding in report["findings"]:
            self.assertEqual(finding["state"] == "ok", finding["fix"] == "", finding)

    def test_each_of_several_folders_is_checked(self):
        report = json.loads(tessera("doctor", "--json", TESSERA_FILE_DIR="/no/such:/tmp").stdout)
        found = [finding for finding in report["findings"] if finding["name"] == "file folder"]
        self.assertEqual([finding["value"].split(",")[0] for finding in found],
                         ["/no/such: No such file or directory", "/tmp"])
        self.assertNotEqual(found[1]["state"], "missing")

    def test_it_reports_what_eviction_relies_on(self):
        for frames, word in (("1", "yes: access to an evicted block that launches do not show is slow"), ("0", "eviction relies on tracking alone")):
            report = json.loads(tessera("doctor", "--software", "--json", TESSERA_SOFTWARE_HOST_FRAMES=frames).stdout)
            details = [finding["value"] for finding in report["findings"] if "host-backed" in finding["name"]]
            self.assertEqual(len(details), 1, report)
            self.assertIn(word, details[0])

    def test_it_lists_what_is_set_for_frameworks(self):
        plain = {"PYTORCH_ALLOC_CONF": "", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "TF_GPU_ALLOCATOR": "",
                 "TF_FORCE_UNIFIED_MEMORY": ""}
        report = json.loads(tessera("doctor", "--software", "--json", **plain).stdout)
        found = {finding["name"]: finding for finding in report["findings"]}
        self.assertEqual(found["preset PyTorch"]["state"], "limited")
        self.assertIn("expandable_segments:True is yours", found["preset PyTorch"]["value"])
        self.assertEqual(found["preset TensorFlow"]["state"], "ok")
        self.assertIn("TF_GPU_ALLOCATOR=cuda_malloc_async", found["preset TensorFlow"]["value"])

    def test_the_software_device_passes(self):
        result = tessera("doctor", "--software")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("Tessera software device", result.stdout)
        self.assertIn("tessera run --software", result.stdout)


class Demo(unittest.TestCase):
    def test_an_invalid_folder_is_named_and_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            result = tessera("demo", "--software", "--file-dir", "/tmp:/no/such", TMPDIR=folder)
            self.assertEqual((result.returncode, result.stderr), (2, "tessera: /no/such: No such file or directory; --file-dir names another folder\n"))
            self.assertEqual(os.listdir(folder), [])

    def test_doctor_names_the_io_uring_refusal_and_the_fallback(self):
        result = refused_io_uring("doctor", "--software", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        finding = next(f for f in json.loads(result.stdout)["findings"] if f["name"] == "io_uring")
        self.assertEqual(finding["state"], "limited")
        self.assertRegex(finding["value"], "io_uring_setup: Operation not permitted: a seccomp filter .*using threads")

    def test_the_demo_holds_what_it_claims(self):
        self.check_demo(tessera("demo", "--software", "--steps", "2", "--json", "--file-dir", "/tmp:/var/tmp"))

    def test_the_demo_holds_it_where_io_uring_is_refused(self):
        self.check_demo(refused_io_uring("demo", "--software", "--steps", "2", "--json"))

    def check_demo(self, result):
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0, report["faults"])
        self.assertTrue(report["losses_equal"])
        self.assertEqual(len(report["c"]["losses"]), 2)
        self.assertEqual(report["b"]["outcome"], "CUDA_ERROR_OUT_OF_MEMORY")
        self.assertLessEqual(report["c"]["device_peak"], report["small"])
        self.assertGreater(report["c"]["bytes_file_read"], 0)
        timeline = pathlib.Path(report["timeline"])
        self.assertIn("traceEvents", json.loads(timeline.read_text()))
        self.assertIn("</html>", pathlib.Path(report["report"]).read_text())
        for path in timeline.parent.iterdir():
            path.unlink()
        timeline.parent.rmdir()


if __name__ == "__main__":
    unittest.main()
