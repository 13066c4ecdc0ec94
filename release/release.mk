# Releases: wheels, static binaries and their checks. `make checks` lists these targets, too.

RELEASED := target/released
WHEELS_FOR := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl
STATIC_FOR := x86_64-unknown-linux-musl aarch64-unknown-linux-musl
# Zig compiles C for every target; glibc 2.28 is that of Debian 10 and RHEL 8.
LIBC = $(if $(findstring musl,$(1)),musllinux_1_2,manylinux_2_28)

$(VENV)/.release-installed: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group release
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
release-check: $(VENV)/.installed ## Check target/released: version, changelog, wheels, binaries, parts list, and a wheel in a bare environment (1 minute)
	$(BIN)/python release/check.py $(RELEASED)
