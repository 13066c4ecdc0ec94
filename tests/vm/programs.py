"""The programs of the guest, linked statically so that it needs no libraries."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = "x86_64-unknown-linux-gnu"
FOLDER = ROOT / "target" / "static"


def built() -> dict[str, Path]:
    """`pcielab-run`, and the tests of pcie-vfio that need a guest, by name."""
    return {
        "pcielab-run": _executable("build", "-p", "pcielab-run", "--bin", "pcielab-run"),
        "guest": _executable("test", "--no-run", "-p", "pcie-vfio", "--test", "guest"),
    }


def _executable(*command: str) -> Path:
    ran = subprocess.run(
        [
            *("cargo", *command, "--release", "--quiet", "--target", TARGET, "--target-dir", FOLDER),
            "--message-format=json-render-diagnostics",
        ],
        cwd=ROOT,
        env={**os.environ, "RUSTFLAGS": "-C target-feature=+crt-static"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = [json.loads(line).get("executable") for line in ran.stdout.splitlines()]
    return Path(next(path for path in reversed(found) if path))
