# Targets explain themselves: `make` lists them. Everything is set up on first use, in .venv and target/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

EXTRAS := calibrate explore notebook report sweep
# The versions that all of this was tested with; `make lock` moves on to the newest.
LOCK := requirements.lock
export PIP_CONSTRAINT := $(LOCK)

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
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-20s %s\n", $$1, $$2}'

$(VENV)/.installed: pyproject.toml $(LOCK)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pcielab needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { echo "hint: on Debian and Ubuntu, apt install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

$(VENV)/.built: $(VENV)/.installed $(RUST_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --extras $(shell echo $(EXTRAS) | tr ' ' ,) >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log; exit 1; }
	touch $@

.PHONY: build
build: $(VENV)/.built ## Build the extension module and install pcielab into .venv

.PHONY: demo
demo: build ## Run the main job: simulate a published system and write demo/report.html
	mkdir -p demo
	@echo "snb: the paper's figure 7 was measured on it, so that the effects of its caches are there to see"
	$(BIN)/pcielab run --profile snb --suite demo --overwrite -o demo/run.db
	$(BIN)/pcielab report demo/run.db --overwrite -o demo/report.html
	@echo "open demo/report.html in a browser"

.PHONY: test
test: lint rust-test python-test rtl-check ## Run the linters and every test

.PHONY: rust-test
# The cases of property tests are the same in each run of `make test`; `cargo test` alone draws new ones.
rust-test: target/rtl/pcielab-rtl
	PROPTEST_RNG_SEED=$(or $(PROPTEST_RNG_SEED),1) cargo test --workspace --quiet --no-fail-fast

.PHONY: python-test
python-test: build target/rtl/pcielab-rtl
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

$(VENV)/.rtl-installed: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group rtl
	touch $@

RTL_SOURCES := $(wildcard rtl/src/*.sv rtl/native/*)

target/rtl/pcielab-rtl: $(VENV)/.rtl-installed $(RTL_SOURCES)
	$(BIN)/python rtl/native/build.py

.PHONY: rtl
rtl: target/rtl/pcielab-rtl ## Build pcielab-rtl, the FPGA core as a process (needs g++)

.PHONY: rtl-check
rtl-check: $(VENV)/.rtl-installed
	PCIELAB_RTL_SEED=$(or $(PCIELAB_RTL_SEED),1) $(BIN)/python -m pytest rtl/tb

.PHONY: rtl-test
rtl-test: build target/rtl/pcielab-rtl ## Run every bench of the FPGA core, in all its sizes (minutes)
	PCIELAB_RTL_TESTS=60 $(BIN)/python -m pytest rtl/tb -m ''

.PHONY: rtl-mutants
rtl-mutants: $(VENV)/.rtl-installed ## Break the FPGA core in one line at a time: its benches have to notice (minutes)
	$(BIN)/python rtl/tb/mutants.py

.PHONY: rtl-synthesis
rtl-synthesis: $(VENV)/.rtl-installed ## Synthesize the FPGA core with Yosys, and write what it takes into rtl/README.md (minutes)
	$(BIN)/python rtl/synthesize.py

.PHONY: rtl-figure
rtl-figure: build target/rtl/pcielab-rtl ## Draw figure 4 of the paper with the FPGA core in it, for rtl/README.md
	$(BIN)/python bench/rtl_figure.py

.PHONY: rtl-registers
rtl-registers: $(VENV)/.rtl-installed ## Write what is made from rtl/registers.rdl: constants, C header, reference page
	$(BIN)/python rtl/generate_registers.py

.PHONY: vm-test
vm-test: build ## Measure emulated devices in a guest with a real kernel, and kill it KILLS=20 times (apt: qemu-system-x86 busybox-static cpio kmod xz-utils; two minutes)
	PCIELAB_VM=1 PCIELAB_VM_KILLS=$(or $(KILLS),20) PCIELAB_VM_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -n 0 tests/vm

.PHONY: macos-check
macos-check: ## Type-check for macOS what is Linux's own, and what stands above it (rustup target add x86_64-apple-darwin; no C compiler for it)
	CC_x86_64_apple_darwin=true AR_x86_64_apple_darwin=true PYO3_NO_PYTHON=1 RUSTFLAGS='-D warnings' \
		cargo check --quiet --target x86_64-apple-darwin -p pcie-host -p pcie-vfio -p pcielab-run -p pcie-python

.PHONY: test-slow
test-slow: build ## Run the published suite, whole, against the published measurements (needs PCIELAB_DATA; minutes)
	$(BIN)/python -m pytest -m slow

.PHONY: faults
faults: build ## Kill commands, and fail their writes, at every call by which they change files (CALLS=20: so many faults of each command; half a second of a core each)
	PCIELAB_FAULTS=$(or $(CALLS),all) $(BIN)/python -m pytest tests/test_faults.py

.PHONY: kill-loop
kill-loop: build ## Kill runs of every kind at KILLS=100 moments each, and go on with them (twelve minutes)
	PCIELAB_KILLS=$(or $(KILLS),100) $(BIN)/python -m pytest tests/test_killed_commands.py tests/test_cpu_runs.py

.PHONY: damage
damage: build ## Truncate, flip and zero a store in 560 ways (ONE_IN=4: every fourth), and have commands read it (three minutes)
	PCIELAB_DAMAGE_ONE_IN=$(or $(ONE_IN),1) $(BIN)/python -m pytest tests/test_damaged_stores.py
	cargo test -p pcie-store --quiet damage_tests

.PHONY: sweep-kills
sweep-kills: build ## Sweep 10,032 points on Dask workers that are killed now and then, and compare with a serial sweep (minutes)
	PCIELAB_THOROUGH=1 $(BIN)/python -m pytest tests/test_sweep_command.py -k killed

.PHONY: hostile-text
hostile-text: build ## Open pages with hostile text in every field in a browser (needs Chromium; 15 s of a core)
	$(BIN)/python -m pytest tests/report/test_hostile_text.py

.PHONY: trust-tables
trust-tables: build ## Look whether bounds, sampling and intervals hold on random systems, and write docs/concepts/trust.md (an hour)
	PYTHONPATH=tests $(BIN)/python bench/trust_tables.py

FUZZED := target/fuzz/python

.PHONY: fuzz
fuzz: build ## Change inputs of every kind and look whether all are accepted or refused (COUNT=1000000, MINUTES=60; builds for two to three minutes)
	cargo build -p pcie-python --profile fuzz --features pyo3/extension-module --quiet
	rm -rf $(FUZZED) && mkdir -p $(FUZZED) && cp -RL python/pcielab $(FUZZED)/
	cp target/fuzz/lib_core.so $(FUZZED)/pcielab/_core.abi3.so
	PYTHONPATH=$(FUZZED) $(BIN)/python tests/mutations/fuzz.py --count $(or $(COUNT),1000000) --minutes $(or $(MINUTES),60)

NIGHTLY ?= nightly
# gcc and rustc mark globals in different ways, which is no violation of anything (detect_odr_violation).
SANITIZED := x86_64-unknown-linux-gnu
# What Miri can carry out: it knows neither mappings nor instructions of one processor alone.
MIRI_VFIO := iova:: kernel:: tables::

.PHONY: sanitize
sanitize: ## Run unsafe code, and SQLite below the store, under Miri and the address and thread sanitizers (rustup toolchain install nightly --component miri rust-src; half an hour)
	@cargo +$(NIGHTLY) miri --version >/dev/null 2>&1 || { echo 'miri is missing: rustup toolchain install $(NIGHTLY) --component miri rust-src' >&2; exit 1; }
	MIRIFLAGS='-Zmiri-strict-provenance' CARGO_TARGET_DIR=target/miri cargo +$(NIGHTLY) miri test --quiet -p pcie-host --lib shared::
	MIRIFLAGS='-Zmiri-strict-provenance' CARGO_TARGET_DIR=target/miri cargo +$(NIGHTLY) miri test --quiet -p pcie-vfio --lib -- $(MIRI_VFIO)
	ASAN_OPTIONS='detect_odr_violation=0' RUSTFLAGS='-Zsanitizer=address' CFLAGS='-fsanitize=address -fno-omit-frame-pointer' CARGO_TARGET_DIR=target/address \
		cargo +$(NIGHTLY) test --quiet --target $(SANITIZED) --lib --tests -p pcie-host -p pcie-vfio -p pcie-store
	RUSTFLAGS='-Zsanitizer=thread' TSAN_OPTIONS='halt_on_error=1' CARGO_TARGET_DIR=target/thread \
		cargo +$(NIGHTLY) test --quiet -Zbuild-std --target $(SANITIZED) --lib --tests -p pcie-host -p pcie-vfio

.PHONY: hostile-stores
hostile-stores: build ## Open COUNT=10000 stores with wrong values under sound digests, and stores that use SQLite's tricks (a quarter of an hour)
	PCIELAB_SEALED_STORES=$(or $(COUNT),10000) $(BIN)/python -m pytest tests/mutations/test_mutated_inputs.py -k sealed-stores
	$(BIN)/python -m pytest tests/test_foreign_stores.py

.PHONY: hostile
hostile: build ## Try 50,000 inputs, 10,000 stores, 2,000 faults, 200 names and pages, and write docs/concepts/what-is-trusted.md (SHARE=0.05: a part, nothing is written; needs Chromium; half an hour)
	$(BIN)/python bench/hostile.py --share $(or $(SHARE),1)

.PHONY: lint
lint: build ## Formatting, clippy, ruff, types, layers, and that stubs and generated files are current
	cargo fmt --all --check
	@! grep -rnE '\bunsafe (fn|impl|extern|\{)' crates --include='*.rs' | grep -vE '^crates/(pcie-host|pcie-vfio|pcie-port)/' || { echo 'unsafe code is for pcie-host, pcie-vfio and pcie-port alone' >&2; exit 1; }
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check python tests bench examples generate rtl
	$(BIN)/ruff check python tests bench examples generate rtl
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest pcielab._core
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m generate --check

.PHONY: generate
generate: build ## Write the files that are made from code: reference pages, schemas
	$(BIN)/python -m generate

.PHONY: lock
lock: $(VENV)/.installed ## Write requirements.lock anew, with the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet --group lock
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 $(EXTRAS:%=--extra %) --extra cuda13 \
		--group dev --group bench --group docs --group lock --group rtl \
		--upgrade --no-annotate --custom-compile-command "make lock" --output-file $(LOCK) --quiet

.PHONY: format
format: $(VENV)/.installed ## Format Rust and Python
	cargo fmt --all
	$(BIN)/ruff format python tests bench examples generate rtl
	$(BIN)/ruff check --fix python tests bench examples generate rtl

$(VENV)/.bench-installed: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

.PHONY: gpu
gpu: build ## Measure with this machine's NVIDIA GPU, and hold it against what it should reach (half an hour)
	$(BIN)/python bench/gpu_figures.py

BENCHED := -p pcie-driver -p pcie-vfio -p pcie-wire -p pcie-time -p pcie-sim -p pcie-fabric -p pcie-bench

.PHONY: bench
bench: build $(VENV)/.bench-installed target/rtl/pcielab-rtl ## Measure speed: ratios against named baselines taken in the same run
	mkdir -p target && touch target/bench-started
	cargo bench $(BENCHED) --quiet -- --quiet
	$(BIN)/python bench/whole_commands.py --since target/bench-started $(if $(RECORD),--record $(RECORD))

.PHONY: bench-record
bench-record: ## The same, and append the results with the commit to bench/history.jsonl
	$(MAKE) bench RECORD=bench/history.jsonl

.PHONY: doctor-mutations
doctor-mutations: build ## Have the doctor read 100,000 changed texts and trees of machines (minutes)
	$(BIN)/python tests/mutations/fuzz.py --count 100000 --kind doctor-texts --kind doctor-trees --kind doctor-saved

.PHONY: paper-numbers
paper-numbers: build ## Set every number of the paper's text beside ours, and write docs/reference/paper.md (a minute)
	$(BIN)/python bench/paper_numbers.py

.PHONY: closeness
closeness: build ## Compare the simulated systems with the measured ones (needs PCIELAB_DATA; a quarter of an hour)
	rm -rf closeness
	$(BIN)/python bench/closeness.py
	$(BIN)/python bench/paper_closeness.py

.PHONY: leave-one-out
leave-one-out: build ## Predict each measured machine without it in the card's constants (needs PCIELAB_DATA; an hour)
	$(BIN)/python bench/leave_one_out.py --fresh

.PHONY: calibrated-profiles
calibrated-profiles: build ## Calibrate the shipped systems of measured machines anew, card included (needs PCIELAB_DATA)
	$(BIN)/python bench/shipped_profiles.py --card

$(VENV)/.docs-installed: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

.PHONY: docs
docs: $(VENV)/.docs-installed ## Build the documentation as a site, in target/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.PHONY: rustdoc
rustdoc: ## Build the documentation of the crates, in target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

.PHONY: wheel
wheel: $(VENV)/.installed ## Build the wheel, in target/wheels
	$(BIN)/maturin build --release --quiet

.PHONY: audit
audit: ## Look for unused, unlicensed and vulnerable dependencies (needs cargo-machete and cargo-deny)
	cargo machete
	cargo deny --all-features check

.PHONY: clean
clean: ## Remove what the build made
	rm -rf target $(VENV) demo closeness leave-one-out
