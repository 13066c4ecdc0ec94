# Targets explain themselves: `make` lists them. Everything is set up on first use, in .venv and target/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv does not read pip's configuration: where that names an index, uv shall ask the same one.
UV = $(if $(UV_DEFAULT_INDEX),,$(addprefix UV_DEFAULT_INDEX=,$(or $(PIP_INDEX_URL),$(shell $(BIN)/python -m pip config get global.index-url 2>/dev/null))))
INSTALL = $(UV) $(BIN)/uv pip install --quiet --python $(BIN)/python

# After a failed installation. uv and pip name other causes, so that the last line says if no index can be reached.
ELSE_CHECK_INDEX = || { $(UV) $(PYTHON) setup/check_index.py; exit 1; }

EXTRAS := calibrate explore notebook report sweep
# The versions that all of this was tested with; `make lock` moves on to the newest.
LOCK := requirements.lock
export PIP_CONSTRAINT := $(LOCK)
export UV_CONSTRAINT := $(LOCK)
# uv leaves compiling to the first import, which must then keep what it compiled.
export PYTHONDONTWRITEBYTECODE :=

# Whatever tool chain is there will do: nothing is downloaded because it goes by another name than `rust-toolchain.toml` has.
ifneq ($(shell command -v rustup),)
ifeq ($(shell rustup toolchain list 2>/dev/null | grep -c '^stable'),0)
export RUSTUP_TOOLCHAIN ?= $(firstword $(shell cd / && rustup show active-toolchain))
endif
endif

# The published measurements are not part of the repository. Tests that need them look at PCIELAB_DATA.
ifeq ($(origin PCIELAB_DATA), undefined)
ifneq ($(wildcard ../shared/data/pcie-bench/README.md),)
export PCIELAB_DATA := $(abspath ../shared/data/pcie-bench)
endif
endif

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml $(wildcard Cargo.lock)

.PHONY: help
help: ## List the targets of daily work
	@$(call listed,$(firstword $(MAKEFILE_LIST)))

.PHONY: checks
checks: ## List the longer checks, what renews tables, pictures and profiles, and what makes a release
	@$(call listed,bench/checks.mk release/release.mk)

listed = grep -hE '^[a-z-]+:.*\#\#' $(1) | awk -F ':.*\#\# ' '{printf "  make %-20s %s\n", $$1, $$2}'

# Before anything is downloaded.
.PHONY: rust
rust:
	@setup/check_rust.sh

$(BIN)/uv: | rust
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pcielab needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { echo "hint: on Debian and Ubuntu, apt install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet 'uv>=0.9' $(ELSE_CHECK_INDEX)
	touch $@

$(VENV)/.installed: $(BIN)/uv pyproject.toml $(LOCK)
	$(INSTALL) 'maturin>=1.9,<2' $(ELSE_CHECK_INDEX)
	touch $@

$(VENV)/.dev-installed: $(VENV)/.installed pyproject.toml
	$(INSTALL) --group dev $(ELSE_CHECK_INDEX)
	touch $@

$(VENV)/.extras-installed: $(VENV)/.installed pyproject.toml
	$(INSTALL) --requirement pyproject.toml $(EXTRAS:%=--extra %) $(ELSE_CHECK_INDEX)
	touch $@

$(VENV)/.built: $(VENV)/.installed $(RUST_SOURCES) | rust $(VENV)/.extras-installed
	@$(APART) $(UV) VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/python setup/shown_build.py $(VENV)/build.log $(BIN)/maturin develop --release --uv --extras $(shell echo $(EXTRAS) | tr ' ' ,)
	touch $@

# For tests any build will do. Where none is, that of the Rust tests is the quickest: it shares their crates.
EXTENSION := $(if $(wildcard $(VENV)/.built),$(VENV)/.built,$(VENV)/.built-for-tests)
MODULE := python/pcielab/_core.abi3.so

$(VENV)/.built-for-tests: $(VENV)/.installed $(RUST_SOURCES) | rust $(VENV)/.extras-installed
	@$(MAKE) --no-print-directory rust-compiled
	cp target/debug/lib_core.so $(MODULE).new && mv $(MODULE).new $(MODULE)
	$(BIN)/python setup/adopt.py $(VENV)
	touch $@

.PHONY: extension
extension: $(EXTENSION) $(VENV)/.dev-installed

.PHONY: build
build: $(VENV)/.built $(VENV)/.dev-installed ## Build the optimised extension module; install pcielab and the development tools into .venv

.PHONY: dev
dev: $(VENV)/.dev-installed $(VENV)/.extras-installed | rust ## Build the extension module for development: incremental, without link-time optimisation
	@rm -f $(VENV)/.built
	$(UV) VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --quiet --uv --extras $(shell echo $(EXTRAS) | tr ' ' ,)

.PHONY: demo
demo: $(VENV)/.built ## Simulate a published system and write demo/report.html
	mkdir -p demo
	@echo "snb: the paper's figure 7 was measured on it, so that the effects of its caches are there to see"
	$(BIN)/pcielab run --profile snb --suite demo --overwrite -o demo/run.db
	$(BIN)/pcielab report demo/run.db --overwrite -o demo/report.html
	@echo "open demo/report.html in a browser"

# A test that hangs is named after ten minutes, and the others are run.
TIMEOUT := --timeout 600

# For what looks for another make's job server, which only a `make` in a recipe can reach.
APART := env -u MAKEFLAGS -u MFLAGS

.PHONY: test
# Two of them at a time, since none alone keeps two cores busy; the longest first. In a log, output comes when each has ended.
test: compiled ## Run every linter and every test
	$(MAKE) --no-print-directory --jobs=2 $(if $(MAKE_TERMOUT),,$(if $(filter output-sync,$(.FEATURES)),--output-sync)) pytest lint rust-test rtl-check

.PHONY: compiled
# Beforehand, so that no test waits for another's compiler. What links for a minute on one core leaves the other to its neighbour.
# Packages are installed beside the compiler.
# The extension comes after `rust-compiled`, which makes it: two at a time would build the same files.
compiled: rust
	$(MAKE) --no-print-directory --jobs=2 rust-compiled $(VENV)/.extras-installed target/rtl/pcielab-rtl
	$(MAKE) --no-print-directory --jobs=2 $(EXTENSION) $(PAGE_FOR_TESTS)

# Tests of the page without a server open it in this browser, as tests/browser.py has it, and are skipped where it is missing.
PAGE_FOR_TESTS := $(if $(wildcard /usr/bin/chromium),page-if-possible)

.PHONY: page-if-possible
page-if-possible: extension
	@$(MAKE) --no-print-directory page PAGE_PROFILE=page-for-tests || echo 'note: the page without a server was not built: its tests are skipped' >&2

.PHONY: rust-compiled
rust-compiled:
	$(APART) cargo test --workspace --no-run --quiet
	@# Built by itself, the C library would have other features, and the simulator and all below it a second compilation.
	ln -f target/debug/examples/libc_library.a target/debug/libpcie_port.a && touch target/debug/libpcie_port.a
	@# With the tests, whose dependencies they then share.
	$(APART) cargo build --workspace --tests --lib --bin pcielab-run --features pyo3/extension-module --quiet

.PHONY: rust-test
# The cases of property tests are the same in each run of `make test`; `cargo test` alone draws new ones.
rust-test: target/rtl/pcielab-rtl
	PROPTEST_RNG_SEED=$(or $(PROPTEST_RNG_SEED),1) $(APART) cargo test --workspace --quiet --no-fail-fast

.PHONY: python-test
# SHARD=1/2 runs one half of the test files, for a machine that has another beside it.
python-test: extension target/rtl/pcielab-rtl target/debug/libpcie_port.a $(PAGE_FOR_TESTS)
	@$(MAKE) --no-print-directory pytest

.PHONY: pytest
# Of what is built. Without prerequisites that run something: make would begin all other goals of `test` before this one.
pytest:
	files="$(if $(SHARD),$$($(BIN)/python setup/shard.py $(SHARD)))" && \
		$(APART) $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal $(TIMEOUT) $$files

$(VENV)/.rtl-installed: $(VENV)/.dev-installed pyproject.toml
	$(INSTALL) --group rtl $(ELSE_CHECK_INDEX)
	touch $@

RTL_SOURCES := $(wildcard rtl/src/*.sv rtl/native/*)

target/rtl/pcielab-rtl: $(VENV)/.rtl-installed $(RTL_SOURCES)
	$(BIN)/python rtl/native/build.py

.PHONY: rtl
rtl: target/rtl/pcielab-rtl ## Build pcielab-rtl, which simulates the FPGA core's RTL (needs g++)

# What the tests of the C library link, where `rust-compiled` has not made it: the development build.
target/debug/libpcie_port.a: $(RUST_SOURCES) | rust
	$(APART) cargo rustc -p pcie-port --lib --quiet --crate-type staticlib
	touch $@

.PHONY: port
port: ## Build the C library of a simulated host and its header in target/port
	cargo rustc -p pcie-port --lib --release --quiet --crate-type cdylib,staticlib
	mkdir -p target/port
	cp target/release/libpcie_port.a target/release/libpcie_port.so crates/pcie-port/include/pcielab.h target/port

.PHONY: rtl-check
rtl-check: $(VENV)/.rtl-installed
	PCIELAB_RTL_SEED=$(or $(PCIELAB_RTL_SEED),1) $(APART) $(BIN)/python -m pytest rtl/tb $(TIMEOUT)

.PHONY: vm-test
vm-test: build ## Test drivers on a real kernel in QEMU, killed KILLS=20 times (apt: qemu-system-x86 busybox-static cpio kmod xz-utils; 4 minutes)
	PCIELAB_VM=1 PCIELAB_VM_KILLS=$(or $(KILLS),20) PCIELAB_VM_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -n 0 tests/vm

.PHONY: lint
lint: extension ## Check formatting, lints, types, layers, stubs and generated files
	cargo fmt --all --check
	@! grep -rnE '\bunsafe (fn|impl|extern|\{)' crates --include='*.rs' | grep -vE '^crates/(pcie-host|pcie-vfio|pcie-port)/' || { echo 'unsafe code is for pcie-host, pcie-vfio and pcie-port alone' >&2; exit 1; }
	$(APART) cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check python tests bench examples generate page release rtl setup
	$(BIN)/ruff check python tests bench examples generate page release rtl setup
	$(BIN)/mypy
	# Without a cache: mypy would have to check everything again after it.
	MYPY_CACHE_DIR=/dev/null $(BIN)/python -m mypy.stubtest pcielab._core --mypy-config-file setup/stubtest.ini
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m generate --check --unsimulated

.PHONY: generate
generate: extension ## Renew generated files (Python models, reference pages, schemas), pcielab.h and the fixtures of the Rust tests
	$(BIN)/python -m generate
	UPDATE_HEADER=1 cargo test -p pcie-port --quiet --test header

.PHONY: format
format: $(VENV)/.dev-installed ## Format Rust and Python
	cargo fmt --all
	$(BIN)/ruff format python tests bench examples generate page release rtl setup
	$(BIN)/ruff check --fix python tests bench examples generate page release rtl setup

$(VENV)/.bench-installed: $(VENV)/.dev-installed pyproject.toml
	$(INSTALL) --group bench $(ELSE_CHECK_INDEX)
	touch $@

BENCHED := -p pcie-driver -p pcie-vfio -p pcie-wire -p pcie-time -p pcie-sim -p pcie-fabric -p pcie-bench

.PHONY: bench
bench: build $(VENV)/.bench-installed target/rtl/pcielab-rtl ## Measure speed as ratios against baselines of the same run (RECORD=bench/history.jsonl appends them)
	mkdir -p target && touch target/bench-started
	cargo bench $(BENCHED) --quiet -- --quiet
	$(BIN)/python bench/whole_commands.py --since target/bench-started $(if $(RECORD),--record $(RECORD))

$(VENV)/.docs-installed: $(VENV)/.dev-installed pyproject.toml
	$(INSTALL) --group docs $(ELSE_CHECK_INDEX)
	touch $@

.PHONY: docs
docs: extension $(VENV)/.docs-installed ## Build the documentation site in target/site
	$(BIN)/python -m generate --site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.PHONY: wheel
wheel: $(VENV)/.installed ## Build the wheel in target/wheels
	$(BIN)/maturin build --release --quiet

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf target $(VENV) demo closeness leave-one-out

include bench/checks.mk
include release/release.mk
