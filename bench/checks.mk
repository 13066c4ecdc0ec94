# Longer checks, and scripts that renew tables, pictures and profiles: `make checks` lists them, bench/README.md explains.

.PHONY: rtl-test
rtl-test: build target/rtl/pcielab-rtl ## Run every bench of the FPGA core in all its sizes (minutes)
	PCIELAB_RTL_TESTS=60 $(BIN)/python -m pytest rtl/tb -m ''

.PHONY: rtl-mutants
rtl-mutants: $(VENV)/.rtl-installed ## Break the FPGA core one line at a time; its benches must notice (minutes)
	$(BIN)/python rtl/tb/mutants.py

.PHONY: rtl-synthesis
rtl-synthesis: $(VENV)/.rtl-installed ## Synthesize the FPGA core with Yosys, limit its levels of logic and renew the table in rtl/README.md (minutes)
	$(BIN)/python rtl/synthesize.py

.PHONY: rtl-throughput
rtl-throughput: $(VENV)/.rtl-installed ## Measure the FPGA core without a link and renew the table in rtl/README.md (minutes)
	$(BIN)/python rtl/tb/throughput.py

.PHONY: rtl-figure
rtl-figure: build target/rtl/pcielab-rtl ## Draw figure 4 of the paper with the FPGA core for rtl/README.md
	$(BIN)/python bench/rtl_figure.py

.PHONY: rtl-registers
rtl-registers: $(VENV)/.rtl-installed ## Renew constants, C header and reference page from rtl/registers.rdl
	$(BIN)/python rtl/generate_registers.py

.PHONY: port-malformed
port-malformed: ## Try 100,000 malformed TLPs and headers on the C library, and as many messages on the brick, again under the address sanitizer if there is a nightly tool chain (half an hour)
	PCIELAB_MALFORMED=100000 cargo test -p pcie-port --quiet --test malformed --test simbricks
	rustup run nightly true && RUSTFLAGS=-Zsanitizer=address PCIELAB_MALFORMED=100000 cargo +nightly test -p pcie-port --quiet \
		--target $$(rustc -vV | sed -n 's/host: //p') --target-dir target/sanitized --test malformed --test simbricks

.PHONY: port-contract
port-contract: build target/debug/libpcie_port.a $(VENV)/.rtl-installed ## Hold every way into the simulated host to its contract, on four hosts and from 64 B to 4 KiB (minutes)
	$(BIN)/python -m pytest tests/test_port_contract.py tests/test_port_rules.py tests/test_port_engines.py tests/test_port_machines.py rtl/tb/test_read_dma.py -m ''
	cargo test -p pcie-port --quiet --test simbricks

.PHONY: tlp-round-trips
tlp-round-trips: ## Write 200 simulated tests as captures of every format, and hold what is read back to the tests (4 minutes)
	PCIELAB_ROUND_TRIPS=200 cargo test --workspace --quiet --test round_trips

.PHONY: port-speed
port-speed: build port ## Measure reads per second through the C library, and messages per second of the brick (a minute)
	$(BIN)/pcielab profiles show hsw2620 --resolved >target/port/hsw2620.json
	$(CC) -O2 -Wall -Werror -Itarget/port bench/port_reads.c target/port/libpcie_port.a -lm -o target/port/port_reads
	target/port/port_reads target/port/hsw2620.json
	cargo test -p pcie-port --release --quiet --test simbricks -- --ignored --nocapture speed

.PHONY: rust-long
rust-long: target/rtl/pcielab-rtl ## Compare both engines of the simulator, the FPGA core and Little's law at full length (3 minutes)
	PCIELAB_TRANSACTIONS=20000 cargo test -p pcie-rtl -p pcie-sim --quiet --test contract --test engines_agree
	PROPTEST_CASES=100 cargo test -p pcie-fabric --quiet simulate

.PHONY: mmio-agreement
mmio-agreement: ## Hold the closed form of loads and stores to the simulation over 300 random cores and links (a minute)
	PCIELAB_MMIO_CASES=300 cargo test --workspace --lib --quiet -- --nocapture closed_form_and_simulation_agree

.PHONY: macos-check
macos-check: ## Type-check the Rust half for macOS (rustup target add x86_64-apple-darwin; needs no C compiler for it)
	CC_x86_64_apple_darwin=true AR_x86_64_apple_darwin=true PYO3_NO_PYTHON=1 RUSTFLAGS='-D warnings' \
		cargo check --quiet --target x86_64-apple-darwin -p pcie-host -p pcie-vfio -p pcielab-run -p pcie-python

.PHONY: test-times
test-times: compiled ## Run the tests; list the slowest, the share of each folder, and those over 10 s of processor time without a reason
	PROPTEST_RNG_SEED=1 $(APART) $(BIN)/python bench/rust_test_times.py --workspace --quiet --no-fail-fast
	PYTHONPATH=tests $(APART) $(BIN)/python -m pytest -p processor_times -n auto --maxprocesses 4 --dist worksteal $(TIMEOUT) python tests rtl/tb

.PHONY: random-machines
random-machines: compiled ## Simulate the flows of COUNT=1000 random machines: no edge above what it carries, no flow 1 % above the closed form (minutes)
	$(BIN)/python bench/random_machines.py --count $(or $(COUNT),1000)

.PHONY: boxes
boxes: compiled ## Make the ranges of `expect` from the tables with each site left out, judge its rows (ROWS=FILE MACHINES=FOLDER: others)
	$(BIN)/python bench/boxes.py $(if $(ROWS),--rows $(ROWS)) $(if $(MACHINES),--machines $(MACHINES))

.PHONY: test-longer
test-longer: extension target/rtl/pcielab-rtl target/debug/libpcie_port.a page-if-possible ## Check pages with simulated numbers, and run the tests of tests/longer_tests.toml: `make test` leaves them out (6 minutes)
	$(BIN)/python -m generate --check
	$(APART) $(BIN)/python -m pytest -m 'longer and not slow' -n auto --maxprocesses 4 --dist worksteal $(TIMEOUT)

.PHONY: test-slow
test-slow: build ## Run the whole published suite against the published measurements (needs PCIELAB_DATA; minutes)
	$(BIN)/python -m pytest -m slow

.PHONY: flits
flits: rust-compiled ## Pack 10,000 random sequences of TLPs into flits each way, in Rust and in Python; compare engines and closed form on 500 links, and on links that send again
	PCIELAB_FLITS=10000 $(BIN)/python -m pytest tests/test_flits.py
	PCIELAB_LINKS=500 cargo test --workspace --quiet --test simulated -- flits replays

.PHONY: page-states
page-states: page ## Open COUNT=50 random states of each page that asks a question and compare them with their commands (10 minutes)
	PCIELAB_STATES=$(or $(COUNT),50) $(BIN)/python -m pytest tests/explore/test_page_states.py

.PHONY: claims
claims: build ## Ask COUNT=1000 random questions and compute every claim in the answers' words again (5 minutes)
	PCIELAB_CLAIMS=$(or $(COUNT),1000) $(BIN)/python -m pytest tests/test_worded_claims.py -k every_claim

.PHONY: why-limits
why-limits: extension ## Plant COUNT=700 limits in random systems and NICs; `why` must name each and its best remedy (RECORD=FILE: resumes)
	PYTHONPATH=tests $(BIN)/python tests/why_limits.py --count $(or $(COUNT),700) $(if $(RECORD),--record $(RECORD))

.PHONY: breaks
breaks: extension ## Break product code at random, SEEDS=1:20, in the parts PART=stores or all in turn; their tests must notice (20 minutes)
	$(BIN)/python bench/breaks.py --seeds $(or $(SEEDS),1:20) $(PART:%=--part %)

.PHONY: faults
faults: build ## Kill commands and fail their writes at every call that changes files (CALLS=20: 20 faults of each command; half a second each)
	PCIELAB_FAULTS=$(or $(CALLS),all) $(BIN)/python -m pytest tests/test_faults.py

.PHONY: kill-loop
kill-loop: build ## Kill runs of every kind at KILLS=100 moments each, then resume them (12 minutes)
	PCIELAB_KILLS=$(or $(KILLS),100) $(BIN)/python -m pytest tests/test_killed_commands.py tests/test_cpu_runs.py

.PHONY: damage
damage: build ## Read stores that were damaged in 560 ways (ONE_IN=4: every fourth; 3 minutes)
	PCIELAB_DAMAGE_ONE_IN=$(or $(ONE_IN),1) $(BIN)/python -m pytest tests/test_damaged_stores.py
	cargo test -p pcie-store --quiet damage_tests

.PHONY: sweep-kills
sweep-kills: build ## Sweep 10,032 points on Dask workers that are killed at random, and compare with a serial sweep (minutes)
	PCIELAB_THOROUGH=1 $(BIN)/python -m pytest tests/test_sweep_command.py -k killed

.PHONY: design-spaces
design-spaces: build ## Search 20 random spaces of designs, and hold each answer to full enumeration (minutes)
	$(BIN)/python bench/design_spaces.py

.PHONY: sizing-cases
sizing-cases: build ## Size 200 random devices for latencies that vary, and hold each size to queues with other draws (minutes)
	$(BIN)/python bench/sizing_cases.py

.PHONY: hostile
hostile: build ## Try 60,000 hostile inputs and write docs/concepts/what-is-trusted.md (SHARE=0.05: a part, writes nothing; needs Chromium; 30 minutes)
	$(BIN)/python bench/hostile.py --share $(or $(SHARE),1)

.PHONY: hostile-text
hostile-text: build ## Open pages with hostile text in every field in a browser (needs Chromium; 15 s)
	$(BIN)/python -m pytest tests/report/test_hostile_text.py

.PHONY: trust-tables
trust-tables: build ## Test bounds, sampling and intervals on random systems and renew docs/concepts/trust.md (1 hour)
	PYTHONPATH=tests $(BIN)/python bench/trust_tables.py

FUZZED := target/fuzz/python

.PHONY: fuzz
fuzz: build ## Mutate inputs of every kind: each must be accepted or refused (COUNT=1000000, MINUTES=60; builds for 3 minutes)
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
sanitize: ## Run unsafe code and SQLite under Miri and the address and thread sanitizers (rustup toolchain install nightly --component miri rust-src; 30 minutes)
	@cargo +$(NIGHTLY) miri --version >/dev/null 2>&1 || { echo 'miri is missing: rustup toolchain install $(NIGHTLY) --component miri rust-src' >&2; exit 1; }
	MIRIFLAGS='-Zmiri-strict-provenance' CARGO_TARGET_DIR=target/miri cargo +$(NIGHTLY) miri test --quiet -p pcie-host --lib shared::
	MIRIFLAGS='-Zmiri-strict-provenance' CARGO_TARGET_DIR=target/miri cargo +$(NIGHTLY) miri test --quiet -p pcie-vfio --lib -- $(MIRI_VFIO)
	ASAN_OPTIONS='detect_odr_violation=0' RUSTFLAGS='-Zsanitizer=address' CFLAGS='-fsanitize=address -fno-omit-frame-pointer' CARGO_TARGET_DIR=target/address \
		cargo +$(NIGHTLY) test --quiet --target $(SANITIZED) --lib --tests -p pcie-host -p pcie-vfio -p pcie-store
	RUSTFLAGS='-Zsanitizer=thread' TSAN_OPTIONS='halt_on_error=1' CARGO_TARGET_DIR=target/thread \
		cargo +$(NIGHTLY) test --quiet -Zbuild-std --target $(SANITIZED) --lib --tests -p pcie-host -p pcie-vfio

.PHONY: hostile-stores
hostile-stores: build ## Open COUNT=10000 stores each with wrong values and with changed numbers under valid digests, and stores that misuse SQLite (an hour)
	PCIELAB_SEALED_STORES=$(or $(COUNT),10000) $(BIN)/python -m pytest tests/mutations/test_mutated_inputs.py -k "accepted_or_refused and sealed"
	$(BIN)/python -m pytest tests/test_foreign_stores.py

.PHONY: swollen
swollen: build ## Swell COUNT=200 texts for each of 41 readers to a MiB: each takes 5 s and 1 GiB at most, or announces more (an hour)
	$(BIN)/python tests/mutations/swell.py --count $(or $(COUNT),200)

.PHONY: stops
stops: build ## Interrupt every long call of the compiled half, and time the longest of the others (a minute)
	PCIELAB_STOPS=1 $(BIN)/python -m pytest -n 0 tests/test_entry_points.py

.PHONY: wrong-types
wrong-types: build ## Call every public function with COUNT=2000 arguments of wrong types (half a minute)
	PCIELAB_WRONG_TYPES=$(or $(COUNT),2000) $(BIN)/python -m pytest -n 0 tests/test_wrong_types.py -k every_public

.PHONY: first-hour
first-hour: ## Carry out the first block of CONTRIBUTING.md in a fresh clone of the last commit, with a new HOME (20 minutes)
	$(PYTHON) setup/first_hour.py

FLOOR := target/floor

# The extension is for the stable ABI, so the one in this tree serves here, too.
$(FLOOR)/.installed: floor.lock setup/adopt.py $(BIN)/uv
	rm -rf $(FLOOR)
	$(BIN)/uv venv --quiet --no-python-downloads --python $(or $(FLOOR_PYTHON),3.11) $(FLOOR)
	env -u UV_CONSTRAINT $(UV) $(BIN)/uv pip install --quiet --python $(FLOOR)/bin/python --requirement floor.lock $(ELSE_CHECK_INDEX)
	$(BIN)/python setup/adopt.py $(FLOOR)
	touch $@

.PHONY: floor
floor: extension target/rtl/pcielab-rtl target/debug/libpcie_port.a $(FLOOR)/.installed ## Run the Python tests with the oldest packages that pyproject.toml allows, on Python 3.11 (FLOOR_PYTHON names another; 12 minutes)
	files="$(if $(SHARD),$$($(BIN)/python setup/shard.py $(SHARD)))" && \
		$(APART) $(FLOOR)/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal $(TIMEOUT) $$files

# Continuous integration builds once: `make pack` puts what tests need of a build into an archive, `make adopt` takes it
# out in another checkout of the same commit, newer than the sources there. The page comes after what makes it.
PACKED := target/built.tar
BUILT = python/pcielab/_core.abi3.so target/rtl/pcielab-rtl target/debug/libpcie_port.a target/bind/debug/bind target/page target/try

.PHONY: pack
pack: build target/rtl/pcielab-rtl target/debug/libpcie_port.a page-if-possible
	tar -cf $(PACKED) $$(ls -d $(BUILT) 2>/dev/null)

.PHONY: adopt
adopt: $(VENV)/.dev-installed $(VENV)/.extras-installed $(VENV)/.rtl-installed
	tar -xmf $(PACKED)
	$(BIN)/python setup/adopt.py $(VENV)
	touch $(VENV)/.built

.PHONY: workflow-lint
workflow-lint: ## Check the workflow of continuous integration with actionlint (needs Go, which fetches it)
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.PHONY: lock
lock: $(VENV)/.installed ## Renew requirements.lock with the newest versions that pyproject.toml allows, and floor.lock with the oldest
	env -u UV_CONSTRAINT $(UV) $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 $(EXTRAS:%=--extra %) --extra cuda13 \
		--group dev --group bench --group docs --group lock --group release --group rtl \
		--upgrade --no-annotate --custom-compile-command "make lock" --output-file $(LOCK) --quiet
	env -u UV_CONSTRAINT $(UV) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python setup/floor.py >floor.lock.new
	mv floor.lock.new floor.lock

.PHONY: bench-compare
bench-compare: build ## Compare the speed with commit BASE=main~3, in turns, with the machine's noise (PAIRS=7, ONLY=BW_RD, RECORD=bench/history.jsonl; INSTRUCTIONS=1: count them, with valgrind; minutes)
	$(BIN)/python bench/compare.py $(or $(BASE),main) --pairs $(or $(PAIRS),7) --only '$(ONLY)' $(if $(INSTRUCTIONS),--instructions) $(if $(RECORD),--record $(RECORD))

.PHONY: speed-figure
speed-figure: build ## Draw the speeds that bench-compare recorded for docs/concepts/engines.md
	$(BIN)/python bench/speed_figure.py

.PHONY: chase
chase: build ## Compare dependent reads of a core with a C program's, in alternation (PAIRS=7, CORE=0, REPORT=chase.html: a report of both; 2 to 10 minutes)
	$(BIN)/python bench/chase.py --pairs $(or $(PAIRS),7) --core $(or $(CORE),0) $(if $(REPORT),--report $(REPORT))

.PHONY: gpu
gpu: build ## Measure this machine's NVIDIA GPU and check its required figures (30 minutes)
	$(BIN)/python bench/gpu_figures.py

# What `gpu-first` needs on a machine that reaches no package index, and has no Rust: PYTHON_VERSION is that machine's.
GPU_WHEELS := target/gpu-wheels
GPU_EXTRAS := cuda13,report,calibrate

.PHONY: gpu-wheels
gpu-wheels: $(VENV)/.installed ## Collect in target/gpu-wheels what `make gpu-first` installs on a machine without an index (PYTHON_VERSION=3.12)
	rm -rf $(GPU_WHEELS)
	$(BIN)/maturin build --release --quiet --out $(GPU_WHEELS)
	$(BIN)/python -m pip download --quiet --only-binary=:all: --python-version $(or $(PYTHON_VERSION),3.12) --dest $(GPU_WHEELS) \
		"$$(ls $(GPU_WHEELS)/pcielab-*.whl)[$(GPU_EXTRAS)]"

ifneq ($(wildcard $(GPU_WHEELS)/*.whl),)
GPU_PYTHON := target/gpu-python/bin/python
$(GPU_PYTHON):
	$(PYTHON) -m venv --system-site-packages target/gpu-python
	env -u PIP_CONSTRAINT $@ -m pip install --quiet --no-index --find-links $(GPU_WHEELS) "$$(ls $(GPU_WHEELS)/pcielab-*.whl)[$(GPU_EXTRAS)]"
else
GPU_PYTHON := $(BIN)/python
endif

.PHONY: gpu-first
gpu-first: $(if $(wildcard $(GPU_WHEELS)/*.whl),target/gpu-python/bin/python,build) ## Measure an NVIDIA GPU for the first time: each step prints what it must show (10 minutes)
	$(GPU_PYTHON) bench/gpu_first.py

.PHONY: doctor-mutations
doctor-mutations: build ## Run the doctor on 100,000 mutated texts of all forms and sysfs trees (minutes)
	$(BIN)/python tests/mutations/fuzz.py --count 100000 --kind doctor-texts --kind doctor-forms --kind doctor-trees \
		--kind doctor-saved

.PHONY: doctor-readings
doctor-readings: build ## Shuffle and mangle 2,000 lspci texts: each register stays with its function (a minute)
	PCIELAB_READINGS=2000 $(BIN)/python -m pytest -n 0 -q tests/test_doctor_pasted.py -k shuffled

.PHONY: tool-mutations
tool-mutations: build ## Import 10,000 mutated outputs each of nvbandwidth, perftest and fio (5 minutes)
	$(BIN)/python tests/mutations/fuzz.py --count 30000 --kind tool-nvbandwidth --kind tool-perftest --kind tool-fio

.PHONY: paste-mutations
paste-mutations: build ## Import 20,000 mutated pastes of every tool's output (minutes)
	$(BIN)/python tests/mutations/fuzz.py --count 20000 --kind tool-pasted

.PHONY: capture-mutations
capture-mutations: ## Read COUNT=100000 changed captures of every format: each must be read or refused (a minute)
	PCIELAB_CAPTURES=$(or $(COUNT),100000) cargo test --workspace --test mutations any_change -- --nocapture

.PHONY: capture-speed
capture-speed: ## Stream a pcap-ng of MEGABYTES=1000 that the writer makes in a temporary folder: rate on one core, peak memory (FORMAT=cyrozap; a minute)
	cargo run --release --quiet -p pcie-capture --example stream -- --megabytes $(or $(MEGABYTES),1000) --format $(or $(FORMAT),raw)

.PHONY: guide-figures
guide-figures: build ## Draw the simulated pictures of the guides again, in docs/images (10 s)
	$(BIN)/python bench/guide_figures.py

.PHONY: paper-numbers
paper-numbers: build ## Compare every number of three papers with ours and renew their pages in docs/reference (half a minute)
	$(BIN)/python -m generate.paper_pages

.PHONY: closeness
closeness: build ## Compare simulated systems with measured ones (needs PCIELAB_DATA; 15 minutes)
	rm -rf closeness
	$(BIN)/python bench/closeness.py

.PHONY: laws
laws: build ## Hold laws of the simulated machine against rivals on raw rows of every measured machine (needs PCIELAB_DATA; 5 minutes)
	$(BIN)/python bench/laws.py

.PHONY: leave-one-out
leave-one-out: build ## Predict each measured machine from constants fitted without it (needs PCIELAB_DATA; 1 hour)
	$(BIN)/python bench/leave_one_out.py --fresh

.PHONY: placements
placements: build ## Predict a machine's other placements from twins of one (needs PCIELAB_DATA; 10 minutes)
	$(BIN)/python bench/placements.py

.PHONY: trust
trust: leave-one-out placements trust-tables ## Renew every table of docs/concepts/trust.md (needs PCIELAB_DATA; 2 hours)

.PHONY: arbiter-kernels
arbiter-kernels: build ## Fit how a root complex chooses among ready reads and renew a table of simulated-machine.md (needs PCIELAB_DATA; 1 minute)
	$(BIN)/python bench/arbiter_kernels.py

.PHONY: calibrated-profiles
calibrated-profiles: build ## Recalibrate the shipped systems of measured machines and their card (needs PCIELAB_DATA)
	$(BIN)/python bench/shipped_profiles.py --card

.PHONY: rustdoc
rustdoc: ## Build the documentation of the crates in target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

.PHONY: audit
audit: ## Find unused, unlicensed and vulnerable dependencies (needs cargo-machete and cargo-deny)
	cargo machete
	cargo deny --all-features check
