# `make demo` and `make test` are all a fresh machine needs: python3 and cargo. Each makes .venv itself.
# Everything happens in this folder; nothing is installed outside it.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What the compiler is told of ordinary runs: only the very compiler that looked at them can use it.
COMPILER := $(shell $(or $(RUSTC),rustc) -vV 2>/dev/null | awk '/^commit-hash:/ { commit = substr($$2, 1, 9) } \
    /^host:/ { host = $$2 } /^release:/ { print $$2 "-" commit "-" host }')
COUNTS  := $(CURDIR)/target/profile/$(COMPILER).profdata
# What merges counts: the toolchain's own (`rustup component add llvm-tools`), or one that is installed (Debian: llvm-19).
PROFDATA := $(firstword $(wildcard $(shell $(or $(RUSTC),rustc) --print target-libdir 2>/dev/null)/../bin/llvm-profdata) \
    $(shell command -v llvm-profdata llvm-profdata-19) $(wildcard /usr/lib/llvm-19/bin/llvm-profdata))
SOURCES := $(shell find src crates/*/src -type f 2>/dev/null) $(wildcard crates/*/Cargo.toml) build.rs Cargo.toml Cargo.lock pyproject.toml
# Functions that have changed since are compiled without; nobody has to hear of each.
ifneq ($(PROFDATA),)
COUNTED := --config "build.rustflags=[\"-Cprofile-use=$(COUNTS)\", \"-Cllvm-args=-no-pgo-warn-mismatch\"]"
endif

# Settings of the shell that calls us must not point elsewhere.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH CONDA_PREFIX
# Tests start hundreds of processes; without the files of bytecode each compiles the package anew.
export PYTHONDONTWRITEBYTECODE =

# The property tests of `make` draw the same cases every time; `cargo nextest run` by itself draws new ones.
export PROPTEST_RNG_SEED ?= 20261122

# The tests of the package in two processes at once: each takes the next file that the other has not.
in_parts = share=$$(mktemp -d); SHARE=$$share $(BIN)/python -m pytest $(1) & first=$$!; SHARE=$$share $(BIN)/python -m pytest $(1); \
    second=$$?; wait $$first; first=$$?; rm -rf "$$share"; exit $$((first + second))

.PHONY: help demo test quick check freethreaded bench judges adapters evals scale wheel profile lint docs site clean

help:
	@echo "make demo    set up, then answer a question from this project's own docs: no key, no network"
	@echo "make test    set up, then run every test"
	@echo "make quick ROOM=guard   the tests of one room, and those of the package that speak of it"
	@echo "make check   everything that is not slow"
	@echo "make freethreaded PYTHON=python3.14t   the same tests of the package, on a Python without the global lock"
	@echo "make bench   agent loops side by side, in environments of their own"
	@echo "make judges  servers, clients and test suites of others, against this package; writes docs/judges.md"
	@echo "make scale   workers over a Postgres of their own, killed at random; what a turn costs there"
	@echo "make evals   evaluations at two versions of pydantic-evals and inspect-ai"
	@echo "make adapters  the tests of the adapters at two versions of each framework; writes docs/measurements/adapters.md"
	@echo "make wheel   build the package for others, into target/wheels"
	@echo "make profile let the compiler look at ordinary runs anew; what it sees goes into the next wheels"
	@echo "make lint    format, clippy, ruff, types, stubs"
	@echo "make docs    write what pages take from the tests, the source and Cargo's graph anew"
	@echo "make site    build the site of the docs into site/, links checked, in an environment of its own"
	@echo "make clean   remove .venv and target"

demo: $(VENV)/.built
	@echo "== loopwright ask, over docs/ of this project (offline-extractive: not an LLM)"
	$(BIN)/python -m loopwright ask "When does the circuit breaker open, and for how long?" --in docs --trace

test: $(VENV)/.built $(VENV)/.made
	@echo "== the rooms"
	cargo $(CARGO_TEST) $(ROOMS)
	@echo "== the examples in their pages"
	cargo test -q --doc $(ROOMS)
	@echo "== the Python package"
	$(call in_parts,)

# One room: its own tests beside the build of the module, then those of the package that speak of it.
quick: $(VENV)/.made
	@test -n "$(ROOM)" || { echo "which room? make quick ROOM=guard; the rooms: $(notdir $(wildcard crates/*))"; exit 2; }
	@test -d crates/$(ROOM) || { echo "there is no room $(ROOM); the rooms: $(notdir $(wildcard crates/*))"; exit 2; }
	@$(MAKE) $(VENV)/.built & built=$$!; cargo $(CARGO_TEST) -p loopwright-$(ROOM); tested=$$?; wait $$built && exit $$tested
	ROOM=$(ROOM) $(BIN)/python -m pytest -m "not slow" || [ $$? = 5 ]  # 5: no test of the package speaks of this room

check: $(VENV)/.built $(VENV)/.made
	@echo "== the rooms"
	cargo $(CARGO_TEST) $(ROOMS)
	@echo "== the Python package, without the slow tests"
	$(call in_parts,-m "not slow")

# A build and an environment of its own, beside those of the usual Python.
freethreaded: PYTHON := python3.14t
freethreaded: FREE := .venv-freethreaded
freethreaded:
	@$(PYTHON) -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info < (3, 14))' \
	    || { echo "$(PYTHON) is no free-threaded Python of version 3.14 or newer; name one: make freethreaded PYTHON=..."; exit 1; }
	CARGO_TARGET_DIR=target/freethreaded $(MAKE) VENV=$(FREE) PYTHON=$(PYTHON) $(FREE)/.built $(FREE)/.made
	@echo "== the Python package without the global lock, without the slow tests"
	env -u PYTHON_GIL $(FREE)/bin/python -m pytest -m "not slow"

bench:
	@echo "== agent loops side by side: CPU time for each turn, in environments of their own"
	$(PYTHON) benches/peers/run.py

judges: $(VENV)/.built
	@echo "== judges that nobody here wrote, in an environment of their own"
	$(PYTHON) benches/judges/run.py

scale: $(VENV)/.built
	@echo "== workers over a journal in Postgres, which is started as an ordinary user: killed, stopped, counted"
	$(BIN)/python -m pip install -q --disable-pip-version-check "psycopg[binary]>=3.2,<4"
	$(BIN)/python benches/durable/on_postgres.py

evals: $(VENV)/.built
	@echo "== evaluations at two versions of pydantic-evals and inspect-ai, in environments of their own"
	$(PYTHON) benches/evals/run.py

adapters: $(VENV)/.built
	@echo "== adapters for other frameworks, at two versions of each, in environments of their own"
	$(PYTHON) benches/adapters/run.py

wheel: $(VENV)/.tools $(if $(PROFDATA),$(subst $(CURDIR)/,,$(COUNTS)))
	@echo "== building the package into target/wheels$(if $(PROFDATA),,, without counts: there is no llvm-profdata)"
	rm -rf target/wheels
	LOOPWRIGHT_COMMIT="$$(git rev-parse HEAD 2>/dev/null)" \
	    $(BIN)/python -m maturin build --profile dist --quiet --out target/wheels $(COUNTED)

# Two builds and some thousand runs between them.
SEEN := $(CURDIR)/target/profile
profile:
	rm -f "$(COUNTS)"
	$(MAKE) $(subst $(CURDIR)/,,$(COUNTS))

$(subst $(CURDIR)/,,$(COUNTS)): $(VENV)/.tools benches/profile/train.py
	@test -n "$(PROFDATA)" || { echo "llvm-profdata is needed: rustup component add llvm-tools, or apt install llvm-19"; exit 1; }
	rm -rf "$(SEEN)/package" "$(SEEN)/raw" "$(SEEN)/wheels"
	@echo "== building what counts how often each part is passed"
	env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$(SEEN)" LLVM_PROFILE_FILE=/dev/null $(BIN)/python -m maturin build --profile dist --quiet --out "$(SEEN)/wheels" \
	    --config "build.rustflags=[\"-Cprofile-generate=$(SEEN)/raw\"]"
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --target "$(SEEN)/package" "$(SEEN)"/wheels/*.whl
	@echo "== ordinary runs"
	LLVM_PROFILE_FILE="$(SEEN)/raw/%p-%m.profraw" PYTHONPATH="$(SEEN)/package" $(BIN)/python benches/profile/train.py
	@test -d "$(SEEN)/raw" || { echo "nothing was counted: other flags of the compiler are in force (target.*.rustflags?)"; exit 1; }
	"$(PROFDATA)" merge --sparse -o "$(COUNTS)" "$(SEEN)/raw"

lint: $(VENV)/.built $(VENV)/.made
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p loopwright-drive --all-targets --no-default-features -- -D warnings
	$(BIN)/python tests/gates.py
	$(BIN)/python tests/rooms.py --check
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest loopwright._core --allowlist tests/stubtest-allowlist.txt

docs:
	$(PYTHON) tests/requirements.py
	$(PYTHON) tests/events.py
	$(PYTHON) tests/providers.py
	$(PYTHON) tests/rooms.py

site:
	@echo "== the site of the docs"
	$(PYTHON) tests/make_site.py

# cargo-nextest where it is installed; plain cargo test does the same, slower.
CARGO_TEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo nextest run || echo test -q --all-targets)

# The extension module has its tests in Python.
ROOMS := --workspace --exclude loopwright

# What builds and runs the package: all that the demo needs.
$(VENV)/.tools: pyproject.toml
	@echo "== making $(VENV) (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "$(PYTHON) is too old: 3.10 or newer is needed"; exit 1; }
	@cargo --version >/dev/null 2>&1 || { echo "cargo is needed, 1.89 or newer: https://rustup.rs"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "python3 has no ensurepip. On Debian: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q --disable-pip-version-check --group build
	@touch $@

# What tests and checks it.
$(VENV)/.made: $(VENV)/.tools
	$(BIN)/python -m pip install -q --disable-pip-version-check --group dev
	@touch $@

$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	@echo "== building the extension module (some minutes the first time)"
	VIRTUAL_ENV="$(abspath $(VENV))" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m maturin develop --profile fast --quiet
	@touch $@

clean:
	rm -rf $(VENV) .venv-freethreaded .venv-site site target
