"""`pcielab` and `pcielab-run` accept and refuse the same systems and tests, with the same key and remedy.

Values of shipped systems and of tests are changed at random. PCIELAB_CASES is the number of cases of each.
"""

import copy
import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, _core
from pcielab.library import profiles
from pcielab.library.profiles.parts import System
from pcielab.library.suites import single_test
from pcielab.library.suites.parameters import PARAMETERS
from pcielab.library.validation import checked

ROOT = Path(__file__).parents[1]
CASES = int(os.environ.get("PCIELAB_CASES", "150"))
SYSTEMS = ("snb", "hsw2620-iommu", "e3", "netfpga-hsw", "gen5-x16")
VALUES: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 7, 64, 100, 255, 256, 300, 4096, 65_537, 2**20, 2**32, 2**53, 0.5, 1.5, -0.1, 1e5, 1e6, 1e12,
    1e300, True, "x", "infinite", [], {},
)  # fmt: skip
"""New values for a key that is not left out."""
NUMBERS = (0, 1, 2, 3, 63, 64, 65, 127, 128, 500, 4095, 4096, 4097, 8192, 2**20, 2**30, 2**30 + 4096, 2**32, 2**40)


@pytest.fixture(scope="module")
def runner() -> Path:
    """`pcielab-run` of this tree."""
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--bin", "pcielab-run"], cwd=ROOT, check=True)
    return ROOT / "target" / "debug" / "pcielab-run"


def words_of_runner(runner: Path, folder: Path, system: object, suite: object) -> str | None:
    """The error of `pcielab-run` for a system and a suite; None if it accepts them."""
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "suite.json").write_text(json.dumps(suite))
    command = [runner, "run", "system.json", "suite.json", "--check"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 2), ended.stderr
    return ended.stderr.strip() if ended.returncode else None


def compared(refused: InputError | None, words: str | None, key: str | None, about: str) -> None:
    """Check that both accept, or both refuse the same key with the same remedy."""
    assert (refused is None) == (words is None), f"{about}: pcielab: {refused}; pcielab-run: {words}"
    if refused is None or words is None:
        return
    if key is None:  # pcielab lists the problems, pcielab-run names the first of them.
        missing = re.search(r"(\S+) is missing", words)
        assert missing, f"{about}: {refused}; pcielab-run: {words}"
        assert f"missing key {missing[1]} " in str(refused), about
        return
    assert f"{key} is " in words or f" {key}: " in words, f"{about}: pcielab names {key}; pcielab-run: {words}"
    assert refused.remedy, about
    assert words.endswith(refused.remedy), f"{about}: pcielab: {refused.remedy}; pcielab-run: {words}"


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all scalar values."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [leaf for step, one in pairs for leaf in leaves(one, (*path, step))]
    yield from inner or [path]


def changed(content: dict[str, Any], draw: random.Random) -> tuple[dict[str, Any], str]:
    """A system with one value changed or left out, and a description of the change."""
    content = copy.deepcopy(content)
    path = draw.choice(
        [leaf for leaf in leaves(content) if leaf[:1] != ("chunk_addresses",) or draw.random() < 0.01]
    )
    *parents, last = path
    table: Any = content
    for step in parents:
        table = table[step]
    # Users' files may have sizes as texts, for example "4K"; pcielab-run reads numbers only.
    texts = "_bytes" in str(last)
    value = draw.choice([value for value in (*VALUES, None) if not (texts and isinstance(value, str))])
    if value is None and isinstance(last, str):
        del table[last]
    else:
        table[last] = 0 if value is None else value
    return content, f"{'.'.join(map(str, path))} = {value}"


def refusal_of_system(content: dict[str, Any]) -> InputError | None:
    """The error of `pcielab` for a resolved system; None if it accepts it."""
    try:
        _core.check_system(checked(System, content, "system").model_dump_json())
    except InputError as refused:
        return refused
    return None


def test_systems_are_refused_alike(runner: Path, tmp_path: Path) -> None:
    suite = json.loads(single_test("lat-rd", transactions=1).to_json())
    systems = [json.loads(profiles.resolve(name).to_json()) for name in SYSTEMS]
    draw = random.Random(1)
    refusals = 0
    for _ in range(CASES):
        content, about = changed(draw.choice(systems), draw)
        refused = refusal_of_system(content)
        words = words_of_runner(runner, tmp_path, content, suite)
        compared(refused, words, refused.key if refused else None, about)
        refusals += refused is not None
    assert CASES / 4 < refusals < CASES, "some are accepted, and many are refused"


def test_tests_are_refused_alike(runner: Path, tmp_path: Path) -> None:
    system = json.loads(profiles.resolve("snb").to_json())
    draw = random.Random(2)
    whole = json.loads(single_test("bw-rd").to_json())
    refusals = 0
    for _ in range(CASES):
        asked: dict[str, Any] = {"operation": draw.choice(["bw-rd", "lat-rd"])}
        for parameter in draw.sample(PARAMETERS[1:], 4):
            asked[parameter.word] = draw.choice(
                {"word": parameter.choices, "switch": (False, True)}.get(parameter.kind, NUMBERS)
            )
        suite = copy.deepcopy(whole)
        for parameter in PARAMETERS:
            word = "operation" if parameter.key == "operation" else parameter.word
            if word in asked:
                suite["tests"][0]["parameters"][parameter.key] = asked[word]
        try:
            single_test(**asked)
            refused = None
        except InputError as error:
            refused = error
        words = words_of_runner(runner, tmp_path, system, suite)
        compared(refused, words, refused.key if refused else None, str(asked))
        refusals += refused is not None
    assert CASES / 4 < refusals < CASES
