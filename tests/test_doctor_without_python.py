"""`pcielab-run doctor` reports a machine as `pcielab doctor` does: findings, tree, words and refusals.

Both ask the same crates, so a few machines are enough: what is tried is how each passes questions and answers on.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabric_machines import NCCL
from made_machine import server, write
from pcielab.doctor import examine, machine_of_text, read_sysfs, saved
from pcielab.doctor.examine import branches, describe, draw
from pcielab.errors import InputError
from without_python import static_runner

ROOT = Path(__file__).parents[1]
RISER = (ROOT / "tests/lspci_texts/xeon-6230-bad-riser.txt").read_text()
TEXTS = {"lspci": RISER, "topology": NCCL, "foreign": "hello\nworld\n", "empty": ""}


@pytest.fixture(scope="module")
def runner() -> Path:
    """`pcielab-run` of this tree."""
    return static_runner()


def words(runner: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What `pcielab-run doctor` prints of a text on standard input."""
    command = [runner, "doctor", "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, encoding="utf-8")


def report(text: str, symptom: str | None = None) -> Any:
    """What `pcielab doctor` writes of a text as JSON, with its tree; the refusal as a text."""
    try:
        tree = machine_of_text(text, "standard input")
        examination = examine(tree, symptom=symptom)
    except InputError as error:
        return str(error)
    return json.loads(examination.model_copy(update={"tree": tuple(branches(tree))}).model_dump_json())


def report_of_runner(runner: Path, text: str, *options: str) -> Any:
    """The same from `pcielab-run`."""
    ended = words(runner, text, "--json", "--tree", *options)
    if ended.returncode == 0:
        return json.loads(ended.stdout)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr.removeprefix("pcielab-run: ").rstrip("\n")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_give_the_same_report(runner: Path, name: str) -> None:
    assert report_of_runner(runner, TEXTS[name]) == report(TEXTS[name])


@pytest.mark.parametrize("symptom", ["RX slow", "purple"])
def test_a_symptom_gives_the_same_order_or_refusal(runner: Path, symptom: str) -> None:
    assert report_of_runner(runner, RISER, "--symptom", symptom) == report(RISER, symptom)


def test_texts_for_people_are_the_same(runner: Path, tmp_path: Path) -> None:
    for text in (RISER, saved(read_sysfs(write(tmp_path / "server", server())), "0").decode()):
        tree = machine_of_text(text, "standard input")
        examination = examine(tree)
        expected = draw(tree, examination) + "\n" + describe(examination, tree)
        ended = words(runner, text, "--tree")
        assert ended.stdout.rstrip("\n") == expected.rstrip("\n")
        assert ended.stderr.splitlines() == [f"not seen: {line}" for line in examination.unseen]


def test_a_copy_of_sysfs_and_this_machine_are_examined_alike(runner: Path, tmp_path: Path) -> None:
    def expected(root: Path | None) -> Any:
        try:
            return json.loads(examine(read_sysfs(root)).model_dump_json())
        except InputError as error:
            return f"pcielab-run: {error}\n"

    root = write(tmp_path / "server", server())
    for words, machine in (([root], root), ([root / "sys"], root / "sys"), ([], None), ([tmp_path], tmp_path)):
        ended = subprocess.run(
            [runner, "doctor", "--json", *words], capture_output=True, text=True, check=False, encoding="utf-8"
        )
        assert (json.loads(ended.stdout) if ended.stdout else ended.stderr) == expected(machine), words
