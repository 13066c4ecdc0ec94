"""`pcielab` and `pcielab-run` accept and refuse the same tests, with the same key and remedy.

Values of tests are changed at random. PCIELAB_CASES is the number of cases.
"""

import copy
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError
from pcielab.library import profiles
from pcielab.library.suites import single_test
from pcielab.library.suites.parameter import PARAMETERS
from without_python import static_runner

CASES = int(os.environ.get("PCIELAB_CASES", "150"))
NUMBERS = (0, 1, 2, 3, 63, 64, 65, 127, 128, 500, 4095, 4096, 4097, 8192, 2**20, 2**30, 2**30 + 4096, 2**32, 2**40)


@pytest.fixture(scope="module")
def runner() -> Path:
    """`pcielab-run` of this tree."""
    return static_runner()


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
    assert f"{key} is " in words or f" {key}: " in words, f"{about}: pcielab names {key}; pcielab-run: {words}"
    assert refused.remedy, about
    assert words.endswith(refused.remedy), f"{about}: pcielab: {refused.remedy}; pcielab-run: {words}"


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
