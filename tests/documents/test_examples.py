"""Every Python example runs and prints a result; examples of crates are tested with their crates."""

import subprocess
import sys
from pathlib import Path

import pytest

from .blocks import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_examples_exist() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"
