# The front door. CMake does the work; these are the commands a newcomer needs.
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
CONFIGURE = cmake --preset
COMPILE = cmake --build -j$(JOBS) --preset
# The thread sanitizer of older compilers cannot start under strong address randomisation.
FIXED_ADDRESSES := $(shell setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R)
# Tests wait for timers and children for half of their time: twice as many fill the processors.
TEST_JOBS := $(shell expr $(JOBS) \* 2)
TEST = $(FIXED_ADDRESSES) ctest -j$(TEST_JOBS) --output-on-failure --no-tests=error --output-junit results.xml --test-dir
# What a sanitizer run leaves out: lints and packaging read files and do not run our code.
NO_USE_SANITIZED = lint|package
UNDER_SANITIZER = -LE '$(NO_USE_SANITIZED)|long'

.PHONY: build deps demo check check-long test lint asan tsan tidy bench policy-bench policy-benches format install wheel deb docs recordings release gpu-bundle packages check-packages long-packages bench-packages build-packages clean

# Debian's packages, as root or by sudo. The demo and the checks install what they lack, so that they are one command on a
# fresh machine; a build installs nothing, and says what it lacks.
deps: packages
packages: ; @sh cmake/install_packages.sh build
check-packages: ; @sh cmake/install_packages.sh build check
long-packages: ; @sh cmake/install_packages.sh build check long
bench-packages: ; @sh cmake/install_packages.sh bench
build-packages: ; @sh cmake/install_packages.sh --check build

build: build-packages
	$(CONFIGURE) release
	$(COMPILE) release

demo: packages
	@$(CONFIGURE) release >/dev/null
	@$(COMPILE) release --target demo_files
	build/release/bin/tessera demo

# Every suite runs even when an earlier one failed, so that one run shows all that is wrong. The release build leaves out
# the unit tests and contracts that `asan` runs.
check: check-packages
	$(MAKE) -k test asan tsan tidy APART=ON

APART ?= OFF
test: packages
	$(CONFIGURE) release -DTESSERA_SANITIZED_APART=$(APART)
	$(COMPILE) release
	$(TEST) build/release -LE long

# What takes minutes each: whole searches, cells of the policy benchmark, hundreds of seeds, suites of other projects; the
# benchmarks, and what runs on a GPU, for a moment each; and all tests that a sanitizer can be used with, of which
# `make check` runs a part. Every night, and before an issue is closed.
check-long: long-packages
	$(CONFIGURE) release -DTESSERA_BUILD_BENCH=ON -DTESSERA_LONG_TESTS=ON
	$(COMPILE) release
	$(TEST) build/release -L 'long|bench|fault|fuzz|unit|contract'
	$(CONFIGURE) asan -DTESSERA_LONG_TESTS=ON
	$(COMPILE) asan
	$(TEST) build/asan -LE '$(NO_USE_SANITIZED)'
	$(CONFIGURE) tsan -DTESSERA_LONG_TESTS=ON
	$(COMPILE) tsan
	$(TEST) build/tsan -LE '$(NO_USE_SANITIZED)'

lint: packages
	$(CONFIGURE) release
	ctest --output-on-failure --test-dir build/release -L lint

asan: check-packages
	$(CONFIGURE) asan
	$(COMPILE) asan
	$(TEST) build/asan $(UNDER_SANITIZER)

tsan: packages
	$(CONFIGURE) tsan
	$(COMPILE) tsan
	$(TEST) build/tsan $(UNDER_SANITIZER)

# Clang reads the library and the shim with the options of the release build: its warnings, the analysis of
# thread safety and the names are errors.
TIDY_UNITS = (tessera_objects|sim_objects|lab_objects|softcuda|softnvrtc|tessera_preload|tessera_torch|tessera_commands|tessera_cli)
tidy: check-packages
	$(CONFIGURE) tidy
	$(COMPILE) tidy
	run-clang-tidy-14 -quiet -j$(JOBS) -p build/tidy \
	  '(/$(TIDY_UNITS)\.dir/Unity/unity_.*_cxx\.cxx|/(alloc|shim)/.*\.cpp)$$' >build/tidy/tidy.log 2>&1 \
	  || { grep -A3 error: build/tidy/tidy.log; exit 1; }

# Every table and plot of docs/benchmarks.md, in some thirteen minutes on two processors with nothing else to do.
bench: bench-packages packages
	$(CONFIGURE) release -DTESSERA_BUILD_BENCH=ON -DTESSERA_OPTIMISED_BENCH=ON
	$(COMPILE) release
	python3 bench/run.py build/release

# Every policy on the traces of twelve families; docs/policy-benchmark.md reads the result. `policy benchmarks` goes on with a short host, a
# device that lends, recorded models, and iterations that differ.
policy-bench policy-benches: packages
	$(CONFIGURE) release
	$(COMPILE) release --target tessera_cli
	sh bench/policy_bench.sh build/release bench/results $(if $(filter policy-benches,$@),all)

format: check-packages
	@find alloc shim include tests bench \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cu' \) -print0 \
	  | xargs -0 clang-format-14 -i

install: build
	cmake --install build/release --prefix "$(PREFIX)"

# For `pip install build/dist/*.whl`, and for `apt install ./build/dist/*.deb`.
wheel: check-packages
	sh cmake/wheel.sh . build/dist

deb: build
	cd build/release && cpack -G DEB -B ../dist

# The documents as a site, to be read from build/docs/index.html.
docs: check-packages
	sh docs/site/build.sh build/docs-tools build/docs

# What docs/examples shows of its programs: recorded anew, as text and as pictures.
recordings: build
	PYTHONDONTWRITEBYTECODE=1 python3 docs/site/recordings.py build/release

# Everything that a release has, from a tag: `make release TAG=vX.Y.Z`. Prints the checksums.
release: check-packages
	sh cmake/release.sh $(TAG) build/dist/$(TAG)

gpu-bundle: packages
	sh cmake/gpu_bundle.sh $(JOBS)

clean:
	rm -rf build
