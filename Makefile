# `make demo` and `make test` are all a fresh machine needs: python3 and cargo. Each makes .venv itself.
# Everything happens in this folder; nothing is installed outside it.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What the compiler is told of ordinary runs, if it is the very compiler that looked at them (`make profile`).
COMPILER := $(shell $(or $(RUSTC),rustc) -vV 2>/dev/null | awk '/^commit-hash:/ { commit = substr($$2, 1, 9) } \
    /^host:/ { host = $$2 } /^release:/ { print $$2 "-" commit "-" host }')
COUNTS  := $(wildcard benches/profile/$(COMPILER).profdata)
SOURCES := $(shell find src -type f 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml
# Functions that have changed since are compiled without; nobody has to hear of each.
ifneq ($(COUNTS),)
COUNTED := --config "build.rustflags=[\"-Cprofile-use=$(abspath $(COUNTS))\", \"-Cllvm-args=-no-pgo-warn-mismatch\"]"
endif

# Settings of the shell that calls us must not point elsewhere.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH CONDA_PREFIX

# The property tests of `make` draw the same cases every time; `cargo nextest run` by itself draws new ones.
export PROPTEST_RNG_SEED ?= 20261122

# The tests of the package in two processes at once, each with one part of the files.
in_parts = PART=1/2 $(BIN)/python -m pytest $(1) & first=$$!; PART=2/2 $(BIN)/python -m pytest $(1); second=$$?; \
    wait $$first && exit $$second

.PHONY: help demo test quick freethreaded bench wheel profile lint docs clean

help:
	@echo "make demo    set up, then answer a question from this project's own docs: no key, no network"
	@echo "make test    set up, then run every test"
	@echo "make quick   the tests that take seconds, for the inner loop"
	@echo "make freethreaded PYTHON=python3.14t   the same tests of the package, on a Python without the global lock"
	@echo "make bench   agent loops side by side, in environments of their own"
	@echo "make wheel   build the package for others, into target/wheels"
	@echo "make profile let the compiler look at ordinary runs; what it sees goes into the next builds"
	@echo "make lint    format, clippy, ruff, types, stubs"
	@echo "make docs    write docs/requirements.md and docs/events.md anew from the tests and the source"
	@echo "make clean   remove .venv and target"

demo: $(VENV)/.built
	@echo "== loopwright ask, over docs/ of this project (offline-extractive: not an LLM)"
	$(BIN)/python -m loopwright ask "When does the circuit breaker open, and for how long?" --in docs --trace

test: $(VENV)/.built
	@echo "== the core and its drivers"
	cargo $(CARGO_TEST)
	@echo "== the Python package"
	$(call in_parts,)

quick: $(VENV)/.built
	@echo "== the core and its drivers"
	cargo $(CARGO_TEST)
	@echo "== the Python package, without the slow tests"
	$(call in_parts,-m "not slow")

# A build and an environment of its own, beside those of the usual Python.
freethreaded: PYTHON := python3.14t
freethreaded: FREE := .venv-freethreaded
freethreaded:
	@$(PYTHON) -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info < (3, 14))' \
	    || { echo "$(PYTHON) is no free-threaded Python of version 3.14 or newer; name one: make freethreaded PYTHON=..."; exit 1; }
	CARGO_TARGET_DIR=target/freethreaded $(MAKE) VENV=$(FREE) PYTHON=$(PYTHON) $(FREE)/.built
	@echo "== the Python package without the global lock, without the slow tests"
	env -u PYTHON_GIL $(FREE)/bin/python -m pytest -m "not slow"

bench:
	@echo "== agent loops side by side: CPU time for each turn, in environments of their own"
	$(PYTHON) benches/peers/run.py

wheel: $(VENV)/.made
	@echo "== building the package into target/wheels"
	rm -rf target/wheels
	$(BIN)/python -m maturin build --release --quiet --out target/wheels $(COUNTED)

# Two builds and some thousand runs between them. Only the compiler that looked can use what it saw.
SEEN := $(CURDIR)/target/profile
profile: $(VENV)/.made
	rustup component add llvm-tools
	rm -rf "$(SEEN)/package" "$(SEEN)/raw" "$(SEEN)/wheels"
	@echo "== building what counts how often each part is passed"
	env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$(SEEN)" LLVM_PROFILE_FILE=/dev/null $(BIN)/python -m maturin build --release --quiet --out "$(SEEN)/wheels" \
	    --config "build.rustflags=[\"-Cprofile-generate=$(SEEN)/raw\"]"
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --target "$(SEEN)/package" "$(SEEN)"/wheels/*.whl
	@echo "== ordinary runs"
	LLVM_PROFILE_FILE="$(SEEN)/raw/%p-%m.profraw" PYTHONPATH="$(SEEN)/package" $(BIN)/python benches/profile/train.py
	@test -d "$(SEEN)/raw" || { echo "nothing was counted: other flags of the compiler are in force (target.*.rustflags?)"; exit 1; }
	"$$($(or $(RUSTC),rustc) --print target-libdir)/../bin/llvm-profdata" merge --sparse -o "$(SEEN)/merged" "$(SEEN)/raw"
	rm -f benches/profile/*.profdata
	mv "$(SEEN)/merged" benches/profile/$(COMPILER).profdata
	ls -l benches/profile

lint: $(VENV)/.built
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --no-default-features -- -D warnings
	cargo clippy --features python --lib -- -D warnings
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest loopwright._core --allowlist tests/stubtest-allowlist.txt

docs:
	$(PYTHON) tests/requirements.py
	$(PYTHON) tests/events.py

# cargo-nextest where it is installed; plain cargo test does the same, slower.
CARGO_TEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo nextest run || echo test -q)

$(VENV)/.made: pyproject.toml
	@echo "== making $(VENV) (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "$(PYTHON) is too old: 3.10 or newer is needed"; exit 1; }
	@cargo --version >/dev/null 2>&1 || { echo "cargo is needed, 1.89 or newer: https://rustup.rs"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "python3 has no ensurepip. On Debian: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q --disable-pip-version-check --group dev
	@touch $@

$(VENV)/.built: $(VENV)/.made $(SOURCES)
	@echo "== building the extension module (some minutes the first time)"
	VIRTUAL_ENV="$(abspath $(VENV))" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m maturin develop --profile fast --quiet
	@touch $@

clean:
	rm -rf $(VENV) .venv-freethreaded target
