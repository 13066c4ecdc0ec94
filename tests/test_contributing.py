"""The instructions of CONTRIBUTING work: their tests pass; their targets, files and folders exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
MAKEFILES = [
    (ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "bench/checks.mk", "release/release.mk")
]


def targets(*pages: str) -> set[str]:
    return {found for page in pages for found in re.findall(r"(?m)^([a-z-]+):.*##", page)}


def command(program: str) -> list[str]:
    [found] = [words for words in COMMANDS if words[0].endswith(program)]
    return found


@pytest.mark.parametrize(
    ("program", "expected"), [("cargo", r"test result: ok\. [1-9]\d* passed"), ("python", r"[1-9]\d* passed")]
)
def test_the_test_of_the_first_hour_passes(program: str, expected: str) -> None:
    found, *arguments = command(program)
    # `make first-hour` carries out the command itself. One crate alone has other features: a minute to compile.
    asked = shlex.split(re.sub("-p [a-z-]+", "--workspace", shlex.join(arguments)))
    words = [sys.executable if program == "python" else found, *asked]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search(expected, done.stdout)


def test_targets_of_the_first_hour_exist() -> None:
    asked = {word for words in COMMANDS if words[0] == "make" for word in words[1:]}
    assert asked >= {"dev", "generate", "test"}
    assert asked <= targets(*MAKEFILES)


def test_few_targets_are_listed() -> None:
    assert len(targets(MAKEFILES[0])) <= 16


def test_targets_of_the_page_of_checks_exist() -> None:
    page = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    named = {word for line in re.findall(r"`make ([a-z -]+)", page) for word in line.split()}
    assert named <= targets(*MAKEFILES)
    assert targets(MAKEFILES[1]) - named <= {"hostile-text", "rustdoc"}, "bench/README.md does not name them"


@pytest.mark.parametrize("folder", ["crates", "python", "docs", "tests", "bench", "profiles", "suites", "rtl"])
def test_paths_of_the_page_exist(folder: str) -> None:
    named = set(re.findall(rf"[`(]({folder}/[\w./-]+)[`)]", PAGE))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
