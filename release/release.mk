# What is released: the page without a server, the site, wheels, static binaries. `make checks` lists these targets, too.

# The page without a server: the crates that it needs as two modules of WebAssembly, and the scripts that load them.
# `make test` has it compiled in less time: PAGE_PROFILE=page-for-tests.
PAGE_PROFILE := release
PAGE_COMPILED := target/page/$(PAGE_PROFILE)
PAGE := $(PAGE_COMPILED)/pcie_page_bg.wasm $(PAGE_COMPILED)/pcie_doctor_bg.wasm
PAGE_CRATES := page bench bench-sim describe doctor evidence fabric model refusal schema sim statistics store time why wire workload
PAGE_SOURCES := $(foreach crate,$(PAGE_CRATES),$(shell find crates/pcie-$(crate) -name '*.rs' -o -name Cargo.toml -o -path '*/data/*')) Cargo.toml $(wildcard Cargo.lock)

.PHONY: wasm-target
wasm-target:
	@test -d "$$($(APART) rustc --print target-libdir --target wasm32-unknown-unknown)" || rustup target add wasm32-unknown-unknown

# Without the target, nothing of the page is built.
target/bind/debug/bind: page/bind/Cargo.toml page/bind/Cargo.lock page/bind/src/main.rs | wasm-target
	$(APART) CARGO_TARGET_DIR=target/bind cargo build --quiet --locked --manifest-path page/bind/Cargo.toml

$(PAGE_COMPILED)/pcie_%_bg.wasm: $(PAGE_SOURCES) target/bind/debug/bind
	$(APART) cargo rustc --profile $(PAGE_PROFILE) --quiet --target wasm32-unknown-unknown -p pcie-$* --lib --crate-type cdylib
	mkdir -p $(PAGE_COMPILED)
	target/bind/debug/bind target/wasm32-unknown-unknown/$(PAGE_PROFILE)/pcie_$*.wasm $(PAGE_COMPILED)

.PHONY: page
page: extension $(PAGE) ## Build the page without a server in target/try (needs rustup, or Rust with the target wasm32-unknown-unknown)
	$(BIN)/python page/build.py $(PAGE_COMPILED) target/try

.PHONY: site
site: docs page ## Build the documentation with the page in target/site
	cp -r target/try target/site/

RELEASED := target/released
WHEELS_FOR := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl
STATIC_FOR := x86_64-unknown-linux-musl aarch64-unknown-linux-musl
# Zig compiles C for every target; glibc 2.28 is that of Debian 10 and RHEL 8.
LIBC = $(if $(findstring musl,$(1)),musllinux_1_2,manylinux_2_28)

$(VENV)/.release-installed: $(VENV)/.dev-installed pyproject.toml
	$(INSTALL) --group release $(ELSE_CHECK_INDEX)
	rustup target add $(sort $(WHEELS_FOR) $(STATIC_FOR))
	touch $@

.PHONY: wheels
wheels: $(VENV)/.release-installed ## Build wheels for x86-64 and ARM64, glibc and musl, in target/released (needs rustup; 10 minutes)
	$(foreach target,$(WHEELS_FOR),PATH=$(abspath $(BIN)):$$PATH CARGO_TARGET_DIR=target/for-release \
		maturin build --release --quiet --zig --target $(target) --compatibility $(call LIBC,$(target)) --out $(RELEASED) &&) true

.PHONY: static
static: $(VENV)/.release-installed ## Build pcielab-run without shared libraries for x86-64 and ARM64 in target/released (needs rustup)
	mkdir -p $(RELEASED)
	$(foreach target,$(STATIC_FOR),PATH=$(abspath $(BIN)):$$PATH CARGO_TARGET_DIR=target/for-release \
		cargo zigbuild --release --quiet -p pcielab-run --target $(target) && \
		cp target/for-release/$(target)/release/pcielab-run $(RELEASED)/pcielab-run-$(firstword $(subst -, ,$(target))) &&) true

.PHONY: release
release: wheels static site ## Build everything that is released in target/released, with the parts list
	$(BIN)/python release/parts.py > $(RELEASED)/pcielab.cdx.json

.PHONY: release-check
release-check: $(VENV)/.dev-installed ## Check target/released: version, changelog, wheels, binaries, parts list, and a wheel in a bare environment (1 minute)
	$(BIN)/python release/check.py $(RELEASED)
