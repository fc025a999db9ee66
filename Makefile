# What a user and a developer type. The build itself is CMake's: see CMakePresets.json.
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOURCES = $(shell git ls-files '*.cpp' '*.h')
# gcc's thread sanitizer does not start under some kernels' address space randomisation.
NO_ASLR := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: help deps needed build demo test test-long asan tsan fuzz bench format lint install clean

help:
	@echo 'make demo        install what is missing, build, reproduce the paper with one seed'
	@echo 'make build       build the release into build/release, binaries in build/release/bin'
	@echo 'make test        the fast tests, and those of the library under the address and undefined sanitizers'
	@echo 'make test-long   the long tests, make asan, make tsan and $(FUZZ_SECONDS) s of each fuzz target'
	@echo 'make asan        all fast tests, the programs included, under the address and undefined sanitizers'
	@echo 'make tsan        the fast tests under the thread sanitizer'
	@echo 'make fuzz        $(FUZZ_SECONDS) s of each fuzz target (FUZZ_SECONDS=600 for more)'
	@echo 'make bench       the speed table, beside PyTorch on this machine'
	@echo 'make deps        install the packages that the build needs'
	@echo 'make format      format the sources;  make lint: check format and clang-tidy'
	@echo 'make install     install program, library and headers into PREFIX ($(PREFIX))'
	@echo 'make clean       remove build/'

deps:
	@scripts/install-deps

# Without apt the packages may have come by other means: CMake says what it lacks.
needed:
	@if command -v apt-get >/dev/null; then scripts/install-deps --check >/dev/null || scripts/install-deps; fi

needed-%:
	@if command -v apt-get >/dev/null; then scripts/install-deps --check $* >/dev/null || scripts/install-deps $*; fi

build: needed
	@mkdir -p build
	@cmake --preset release >build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	cmake --build build/release -j $(JOBS)

demo: build
	build/release/bin/semfuse reproduce --quick --out build/demo

test: build
	@cmake --preset asan >build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	cmake --build build/asan -j $(JOBS) -t unit_tests gradient_tests property_tests
	ctest --test-dir build/release -LE long -j $(JOBS) --output-on-failure
	ctest --test-dir build/asan -R '^(unit|gradient|property)[.]' -LE long -j 2 --output-on-failure

test-long: build asan tsan fuzz
	ctest --test-dir build/release -L long --output-on-failure

asan: needed
	@cmake --preset asan
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan -LE 'long|install' -j 2 --output-on-failure

tsan: needed
	@cmake --preset tsan
	$(NO_ASLR) cmake --build build/tsan -j $(JOBS)
	$(NO_ASLR) ctest --test-dir build/tsan -LE 'long|install' -j 2 --output-on-failure

fuzz: needed-fuzz
	@cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS)
	@for program in build/fuzz/bin/*_fuzz; do \
	  name=$$(basename $$program _fuzz); log=build/fuzz/$$name.log; mkdir -p build/fuzz/corpus/$$name build/fuzz/found; \
	  $$program -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -artifact_prefix=build/fuzz/found/$$name- \
	    build/fuzz/corpus/$$name tests/fuzz/corpus/$$name >$$log 2>&1 || { tail -60 $$log; exit 1; }; \
	  echo "$$name: nothing found in $$(sed -n 's/stat::number_of_executed_units: *//p' $$log) inputs"; \
	done

bench: needed-bench build
	cmake --build build/release -j $(JOBS) -t benchmarks
	bench/run

format:
	clang-format -i $(SOURCES)

lint: needed-lint build
	clang-format --dry-run -Werror $(SOURCES)
	run-clang-tidy -quiet -p build/release -j $(JOBS) '$(CURDIR)/(src|apps)/'

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
