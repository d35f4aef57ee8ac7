# Thin front of CMake and tools/: installs what is missing, then calls them.
#
# Presets (CMakePresets.json) build into build/<preset>: dev, release, asan-ubsan, tsan, fuzz.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
BENCH_FLAGS ?=

TUTTI := build/release/tutti
# The system's Python has the packages that tools/install-packages installs; another one that is
# first on PATH may not.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)

export JOBS FUZZ_SECONDS PYTHON

.PHONY: help release demo demo-ssh test packages-of-tests test-unit test-lives test-integration test-asan \
        test-tsan test-fuzz bench lint docs install uninstall clean
.NOTPARALLEL:

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

release:  ## build build/release/tutti
	@tools/install-packages build
	@tools/build release tutti

demo: release  ## a private daemon, a batch, a chain, an array, a retry; under a minute
	@tools/demo $(TUTTI)

demo-ssh: release  ## two throw-away SSH servers, jobs and batches there, one cut off; ten seconds
	@tools/install-packages ssh
	@tools/demo-ssh $(TUTTI)

test: export BUILD_AHEAD := yes
test: packages-of-tests test-lives test-integration test-asan test-tsan test-fuzz  ## every test, also under sanitizers
	@tools/run-tests summary

# All at once: what a later stage needs is built while an earlier one waits.
packages-of-tests:
	@tools/install-packages build test ssh containers clang

test-unit:  ## unit tests, for daily work (preset dev); make test runs them under sanitizers
	@tools/install-packages build test ssh
	@tools/run-tests unit

test-lives:  ## what must hold in thousands of simulated lives (preset release)
	@tools/install-packages build test
	@tools/run-tests lives

test-integration:  ## a real daemon, every verb (preset release)
	@tools/install-packages build test ssh containers
	@tools/run-tests integration

test-asan:  ## unit and integration tests with address and undefined-behaviour sanitizers
	@tools/install-packages build test ssh containers clang
	@tools/run-tests asan-ubsan

test-tsan:  ## unit and integration tests with the thread sanitizer
	@tools/install-packages build test ssh containers
	@tools/run-tests tsan

test-fuzz:  ## FUZZ_SECONDS (60) of fuzzing, shared by all targets
	@tools/install-packages build clang
	@tools/run-tests fuzz

bench:  ## the numbers of the README, measured here (BENCH_FLAGS=--quick)
	@tools/install-packages build bench
	@tools/build release
	@$(PYTHON) bench/bench.py $(BENCH_FLAGS)

lint:  ## form, pitfalls, layers, purity, headers, shell scripts
	@tools/install-packages build test lint
	@tools/lint

docs: release  ## write docs/cli.md from the command table
	@$(TUTTI) help --markdown > docs/cli.md.new
	@mv docs/cli.md.new docs/cli.md

install: $(TUTTI)  ## binary, completions and man page into PREFIX (/usr/local); honours DESTDIR
	@tools/install-files $(TUTTI) "$(DESTDIR)$(PREFIX)"

uninstall:  ## remove what install put there
	@tools/install-files --remove "$(DESTDIR)$(PREFIX)"

# Only when there is none: `make release && sudo make install` installs what was built.
$(TUTTI):
	@$(MAKE) --no-print-directory release

clean:  ## remove build/
	@rm -rf build
