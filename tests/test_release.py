"""The check of a release names everything that is missing, and the parts list has what the wheel is built from."""

import json
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_an_empty_folder_lacks_everything(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "release" / "check.py", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    for missing in (
        f"pcielab-{version}-cp311-abi3-manylinux_2_28_x86_64.whl: missing: run make wheels",
        "manylinux_2_28_aarch64.whl: missing",
        "musllinux_1_2_x86_64.whl: missing",
        "pcielab-run-aarch64: missing: run make static",
        "pcielab.cdx.json: missing: run make release",
    ):
        assert missing in done.stderr
    assert "CITATION.cff" not in done.stderr, "its version is that of the crates"
    assert "pyproject.toml" not in done.stderr, "the core needs few packages"


def test_a_program_with_shared_libraries_needs_a_loader() -> None:
    needs_loader = runpy.run_path(str(ROOT / "release" / "check.py"))["needs_loader"]
    assert needs_loader(Path(sys.executable).resolve().read_bytes())
    header = bytearray(Path(sys.executable).resolve().read_bytes()[:64])
    # A file without program headers.
    header[56:58] = b"\0\0"
    assert not needs_loader(bytes(header))


def test_the_parts_list_has_crates_of_the_extension_and_packages_but_no_tools() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "release" / "parts.py"], capture_output=True, text=True, check=True
    )
    parts = json.loads(done.stdout)["components"]
    names = {part["name"] for part in parts}
    assert {"libm", "pcie-sim", "pyo3", "rusqlite", "pandas"} <= names
    assert not {"criterion", "proptest", "wasm-bindgen", "scipy"} & names
    assert all(part["purl"].startswith(("pkg:cargo/", "pkg:pypi/")) for part in parts)
