"""Continuous integration reads only, runs actions pinned by commit, and has a job for each part of `make test`.

The tests that `make test` leaves out have one, too.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github").rglob("*.yml"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
MAKEFILES = [ROOT / "Makefile", ROOT / "bench" / "checks.mk", ROOT / "release" / "release.mk"]


def steps(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def targets(text: str) -> set[str]:
    """The targets of the `make` commands in a text."""
    lines = re.findall(r"(?m)^ *(?:run: )?make ((?:[\w=/.${} -])+)$", text)
    return {word for line in lines for word in line.split() if re.fullmatch(r"[a-z-]+", word)}


def test_permissions_are_to_read() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not [name for name, job in WORKFLOW["jobs"].items() if "permissions" in job]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    used = re.findall(r"(?m)^\s*(?:- )?uses: *(.+)$", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert action.startswith("./") or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_every_part_of_make_test_has_a_job() -> None:
    recipe = re.search(r"(?m)^test: .*\n\t.*\)\) (.+)$", MAKEFILES[0].read_text(encoding="utf-8"))
    assert recipe is not None
    # What `pytest` needs is compiled before; `python-test` sees to it by itself.
    parts = {"python-test" if part == "pytest" else part for part in recipe[1].split()}
    assert parts >= {"python-test", "lint", "rust-test", "rtl-check"}
    jobs = {target: name for name, job in WORKFLOW["jobs"].items() for target in targets(steps(job))}
    assert parts | {"test-longer", "floor", "pack"} <= jobs.keys()
    assert len({jobs[part] for part in parts}) == len(parts), "each in a job of its own"


def test_the_shards_are_the_whole() -> None:
    shards = WORKFLOW["jobs"]["python"]["strategy"]["matrix"]["shard"]
    assert shards == [f"{number}/{len(shards)}" for number in range(1, len(shards) + 1)]
    assert len(shards) == 2


def test_jobs_that_test_take_over_one_build() -> None:
    building = {name for name, job in WORKFLOW["jobs"].items() if "make pack" in steps(job)}
    assert building == {"build"}
    for name in ("lint", "python", "longer", "rtl", "floor"):
        job = WORKFLOW["jobs"][name]
        assert job["needs"] == "build"
        [prepare] = [step for step in job["steps"] if step.get("uses", "").endswith("/prepare")]
        assert prepare["with"]["built"] == "true"


def test_targets_of_the_jobs_exist() -> None:
    known = {
        word for path in MAKEFILES for word in re.findall(r"(?m)^([a-z-]+):", path.read_text(encoding="utf-8"))
    }
    named = {
        word for path in FILES for word in targets(path.read_text(encoding="utf-8").replace("- run:", "run:"))
    }
    assert named >= {"adopt", "pack", "lint", "rust-test", "python-test", "test-longer", "rtl-check", "floor"}
    assert named <= known


def test_the_floor_runs_on_the_oldest_python() -> None:
    [prepare] = [step for step in WORKFLOW["jobs"]["floor"]["steps"] if step.get("uses", "").endswith("/prepare")]
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={prepare["with"]["python"]}"' in pyproject
