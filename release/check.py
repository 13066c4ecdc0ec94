"""Check a release: `python release/check.py target/released` prints every problem, and fails if there is one."""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHEELS = (
    "manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "musllinux_1_2_x86_64", "musllinux_1_2_aarch64",
)  # fmt: skip
BINARIES = ("pcielab-run-x86_64", "pcielab-run-aarch64")
WHEEL_BYTES_MOST = 25_000_000
PACKAGES_MOST = 6
SMOKE_SECONDS_MOST = 60
SMOKE = (
    ("--version",),
    ("model", "bandwidth", "--gen", "5", "--lanes", "16", "--mps", "512", "--mrrs", "512", "--sizes", "64"),
    ("run", "-o", "quick.db"),
)
_INTERPRETER = 3
"""Type of the program header of a file that needs a dynamic loader: PT_INTERP of elf(5)."""


def problems(released: Path) -> Iterator[str]:
    """What is missing or wrong."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    yield from _of_texts(version)
    for tag in WHEELS:
        yield from _of_wheel(released / f"pcielab-{version}-cp311-abi3-{tag}.whl")
    for name in BINARIES:
        yield from _of_binary(released / name)
    yield from _of_parts(released / "pcielab.cdx.json", version)
    for page in ("index.html", "try/index.html", "schemas/system.json"):
        if not (ROOT / "target" / "site" / page).exists():
            yield f"target/site/{page}: missing: run make site"
    wheel = released / f"pcielab-{version}-cp311-abi3-{WHEELS[0]}.whl"
    if wheel.exists():
        yield from _of_smoke(wheel)


def _of_texts(version: str) -> Iterator[str]:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        yield f"CHANGELOG.md: no section {version}: add it"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        yield f"CITATION.cff: version is not {version}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if len(project["dependencies"]) > PACKAGES_MOST:
        yield f"pyproject.toml: the core needs {len(project['dependencies'])} packages: {PACKAGES_MOST} at most"


def _of_wheel(wheel: Path) -> Iterator[str]:
    if not wheel.exists():
        yield f"{wheel}: missing: run make wheels"
        return
    if wheel.stat().st_size > WHEEL_BYTES_MOST:
        yield f"{wheel}: has {wheel.stat().st_size} bytes: {WHEEL_BYTES_MOST} at most"
    tests = [name for name in zipfile.ZipFile(wheel).namelist() if re.search(r"/(test_|conftest)", name)]
    if tests:
        yield f"{wheel}: contains tests: {tests[0]}"


def _of_binary(binary: Path) -> Iterator[str]:
    if not binary.exists():
        yield f"{binary}: missing: run make static"
    elif needs_loader(binary.read_bytes()):
        yield f"{binary}: needs a dynamic loader"


def needs_loader(content: bytes) -> bool:
    """Whether a 64-bit little-endian ELF file needs a dynamic loader: layout of elf(5)."""

    def number(at: int, length: int) -> int:
        return int.from_bytes(content[at : at + length], "little")

    first, length, count = number(32, 8), number(54, 2), number(56, 2)
    return any(number(first + index * length, 4) == _INTERPRETER for index in range(count))


def _of_parts(path: Path, version: str) -> Iterator[str]:
    if not path.exists():
        yield f"{path}: missing: run make release"
        return
    parts = json.loads(path.read_text(encoding="utf-8"))
    if parts["metadata"]["component"]["version"] != version or len(parts["components"]) < PACKAGES_MOST:
        yield f"{path}: is of another version, or empty: run make release"


def _of_smoke(wheel: Path) -> Iterator[str]:
    """Install the wheel in a bare environment without a compiler, and try it; then a report with its extra."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bare = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": folder, "CC": "false", "CARGO": "false"}
        # Where packages come from is this machine's business.
        kept = ("PIP_INDEX", "PIP_CERT", "SSL_")
        bare |= {key: value for key, value in os.environ.items() if key.startswith(kept)}

        def tried(*words: str) -> bool:
            return (
                subprocess.run(words, cwd=folder, env=bare, stdout=subprocess.DEVNULL, check=False).returncode == 0
            )

        before = _seconds()
        if not tried("pip", "install", "--quiet", "--only-binary", ":all:", str(wheel)):
            yield f"{wheel}: cannot be installed"
            return
        yield from (f"pcielab {' '.join(words)}: failed" for words in SMOKE if not tried("pcielab", *words))
        seconds = _seconds() - before
        print(f"installed and tried in {seconds:.0f} s of CPU", file=sys.stderr)
        if seconds > SMOKE_SECONDS_MOST:
            yield f"{wheel}: took {seconds:.0f} s of CPU: {SMOKE_SECONDS_MOST} at most"
        tried("pip", "install", "--quiet", "--only-binary", ":all:", f"{wheel}[report]")
        if not tried("pcielab", "report", "quick.db", "-o", "report.html"):
            yield "pcielab report: failed with its extra"


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n", file=sys.stderr)
    sys.exit(1 if found else 0)
