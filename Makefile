# What a user and a developer type. The build itself is CMake's: see CMakePresets.json.
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
PYTHON ?= python3
FUZZ_SECONDS ?= 60
# Of the release build; those for developers always have it on.
WERROR ?= OFF
# Files of a folder together: half the time from nothing. Who edits and builds again and again is better off with UNITY=OFF.
UNITY ?= ON
SOURCES = $(shell git ls-files '*.cpp' '*.h')
# gcc's thread sanitizer does not start under some kernels' address space randomisation.
NO_ASLR := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: help deps needed configure build demo test test-long asan tsan fuzz bench bench-backbones bench-grammars wheel test-python format lint install clean

help:
	@echo 'make demo        install what is missing, build, train two models, turn their knobs'
	@echo 'make build       program and library; the program is build/release/bin/semfuse'
	@echo 'make test        the fast tests, as released'
	@echo 'make test-long   long tests, make asan, make tsan, $(FUZZ_SECONDS) s of each fuzz target'
	@echo 'make asan        all fast tests under address and undefined sanitizers'
	@echo 'make tsan        all fast tests under the thread sanitizer'
	@echo 'make fuzz        $(FUZZ_SECONDS) s of each fuzz target (FUZZ_SECONDS=600 for more)'
	@echo 'make bench       speeds beside PyTorch, and beside the stored baseline'
	@echo 'make wheel       the Python package as build/wheel/*.whl;  make test-python: its tests in a fresh environment'
	@echo 'make bench-backbones  imported models beside llama.cpp, which it builds'
	@echo 'make bench-grammars   masks of grammars beside XGrammar and llguidance, which it installs'
	@echo 'make deps        install the packages that the build needs'
	@echo 'make format      format the sources;  make lint: check format and clang-tidy'
	@echo 'make install     program, library and headers into PREFIX ($(PREFIX))'
	@echo 'make clean       remove build/'

deps:
	@scripts/install-deps

# Without apt the packages may have come by other means: CMake says what it lacks.
needed:
	@if command -v apt-get >/dev/null; then scripts/install-deps --check >/dev/null || scripts/install-deps; fi

needed-%:
	@if command -v apt-get >/dev/null; then scripts/install-deps --check $* >/dev/null || scripts/install-deps $*; fi

configure: needed
	@mkdir -p build
	@cmake --preset release -DSEMFUSE_WERROR=$(WERROR) -DSEMFUSE_UNITY=$(UNITY) >build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }

build: configure
	cmake --build build/release -j $(JOBS) -t semfuse semfuse_cli

# A model that is there already is not trained again; one that was interrupted goes on.
demo: build
	@build/release/bin/semfuse train $(if $(wildcard build/demo/config.toml),--resume,--out) build/demo
	build/release/bin/semfuse generate build/demo --n 3
	build/release/bin/semfuse generate build/demo --n 3 --knob polarity=0.1
	build/release/bin/semfuse generate build/demo --n 3 --knob polarity=0.9 --knob 'mark=!:1'
	build/release/bin/semfuse sweep build/demo --knob polarity --levels 5 --n 500
	@build/release/bin/semfuse train $(if $(wildcard build/everyday/config.toml),--resume,--preset everyday --set training.epochs=4 --set training.optimizer=muon --out) build/everyday
	build/release/bin/semfuse generate build/everyday --n 10 --knob length=5 --knob 'mark=?:1'
	build/release/bin/semfuse generate build/everyday --n 10 --knob length=11 --knob 'mark=.:1'
	build/release/bin/semfuse generate build/everyday --n 10 --knob length=4 --knob 'mark=!:1'
	@echo 'Play with both in a browser: build/release/bin/semfuse serve build/everyday build/demo'

# A second build, with sanitizers, takes longer than all of this: see asan. One test more than there are cores: some wait for a clock.
test: needed-test needed-python build
	cmake --build build/release -j $(JOBS) -t parity_check unit_tests gradient_tests property_tests e2e_tests
	ctest --test-dir build/release -E '^long' -LE long -j $$(($(JOBS) + 1)) --output-on-failure

test-long: needed-test build asan tsan fuzz
	cmake --build build/release -j $(JOBS) -t property_tests long_tests
	ctest --test-dir build/release -L long --output-on-failure

asan: needed-test
	@cmake --preset asan
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan -LE 'long|install' -j 2 --output-on-failure

tsan: needed-test
	@cmake --preset tsan
	$(NO_ASLR) cmake --build build/tsan -j $(JOBS)
	$(NO_ASLR) ctest --test-dir build/tsan -LE 'long|install' -j 2 --output-on-failure

fuzz: needed-fuzz
	@cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS)
	@ls build/fuzz/bin/*_fuzz | xargs -P $(JOBS) -n 1 scripts/fuzz_target $(FUZZ_SECONDS)

bench: needed-bench build
	cmake --build build/release -j $(JOBS) -t benchmarks
	bench/make_torch
	bench/run

# Linked with the library of the build; `pip wheel .` compiles it for itself.
wheel: needed-python configure
	cmake --build build/release -j $(JOBS) -t semfuse
	$(PYTHON) scripts/make_wheel
	@ls build/wheel

test-python: needed-python configure
	cmake --build build/release -j $(JOBS) -t semfuse
	$(PYTHON) tests/python/run --all

bench-backbones: needed-bench build
	cmake --build build/release -j $(JOBS) -t bench_backbones
	bench/backbones/run

bench-grammars: needed-bench build
	cmake --build build/release -j $(JOBS) -t bench_grammar_masks
	bench/grammars/run

format:
	clang-format -i $(SOURCES)

# clang-tidy reads no precompiled headers of gcc, so it has a configuration without any. Files of a folder together take it a fifth of the
# time (its analyser knows such files); that these include sources is then no fault.
lint: needed-lint needed-test
	clang-format --dry-run -Werror $(SOURCES)
	@mkdir -p build
	@cmake --preset release -B build/lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DSEMFUSE_UNITY=ON >build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	run-clang-tidy -quiet -p build/lint -j $(JOBS) -extra-arg=-Wno-unused-command-line-argument -checks=-bugprone-suspicious-include '$(CURDIR)/(src|apps|build/lint/(apps/)?CMakeFiles/semfuse[^/]*.dir)/'

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
