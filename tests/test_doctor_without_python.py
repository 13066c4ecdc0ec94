"""`pcielab-run doctor` says of a machine what `pcielab doctor` says: the same findings, tree, and refusals.

Texts are those of the repository, whole and mangled. PCIELAB_CASES is the number of mangled ones.
"""

import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric_machines import MACHINES, NCCL
from pcielab.doctor import examine, machine_of_text, read_sysfs, saved
from pcielab.doctor.branches import branches
from pcielab.doctor.made_machine import server, write
from pcielab.doctor.test_rules import BROKEN, PASTED
from pcielab.doctor.text import describe, draw
from pcielab.errors import InputError
from test_doctor_pasted import MANGLED

ROOT = Path(__file__).parents[1]
CASES = int(os.environ.get("PCIELAB_CASES", "60"))
TEXTS = {path.stem: path.read_text() for path in sorted((ROOT / "tests/lspci_texts").glob("*.txt"))}
WHOLE = {**TEXTS, **{name: made() for name, made in MACHINES.items()}, **PASTED, **MANGLED, "nccl": NCCL}
MOST_BLOCKS = (1, 3, 8)
LETTERS = "\t\n :.-+[]()0123456789abcdefxABC\x1b\u00e9\u2003"


@pytest.fixture(scope="module")
def runner() -> Path:
    """`pcielab-run` of this tree."""
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--bin", "pcielab-run"], cwd=ROOT, check=True)
    return ROOT / "target" / "debug" / "pcielab-run"


def words(runner: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What `pcielab-run doctor` prints of a text on standard input."""
    command = [runner, "doctor", "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, encoding="utf-8")


def report(text: str, symptom: str | None = None) -> Any:
    """What `pcielab doctor` writes of a text as JSON, with its tree; the refusal as a text."""
    try:
        tree = machine_of_text(text, "standard input")
    except InputError as error:
        return str(error)
    examination = examine(tree, symptom=symptom)
    return json.loads(examination.model_copy(update={"tree": tuple(branches(tree))}).model_dump_json())


def report_of_runner(runner: Path, text: str, *options: str) -> Any:
    """The same from `pcielab-run`."""
    ended = words(runner, text, "--json", "--tree", *options)
    if ended.returncode == 0:
        return json.loads(ended.stdout)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr.removeprefix("pcielab-run: ").rstrip("\n")


def mangled(draw: random.Random) -> str:
    """A few functions of a text, in another order, with lines and letters lost, doubled or changed."""
    blocks = TEXTS[draw.choice(sorted(TEXTS))].strip().split("\n\n")
    first = draw.randrange(len(blocks))
    chosen = blocks[first : first + draw.choice(MOST_BLOCKS)]
    draw.shuffle(chosen)
    lines = "\n\n".join(chosen).split("\n")
    for _ in range(draw.choice([0, 1, 4])):
        at = draw.randrange(len(lines))
        line, cut = lines[at], draw.randrange(len(lines[at]) + 1)
        lines[at] = draw.choice(["", line * 2, line[:cut], line[:cut] + draw.choice(LETTERS) + line[cut + 1 :]])
    return "\n".join(lines) + "\n"


def machines() -> Iterator[str]:
    draw = random.Random(7)
    for _ in range(CASES):
        yield mangled(draw)


@pytest.mark.parametrize("name", WHOLE)
def test_texts_give_the_same_report(runner: Path, name: str) -> None:
    assert report_of_runner(runner, WHOLE[name]) == report(WHOLE[name])


def test_mangled_texts_give_the_same_report(runner: Path) -> None:
    reports = 0
    for text in machines():
        expected = report(text)
        assert report_of_runner(runner, text) == expected, text
        reports += not isinstance(expected, str)
    assert reports >= CASES / 2


def test_saved_machines_give_the_same_report(runner: Path, tmp_path: Path) -> None:
    found = set()
    for number, broken in enumerate(BROKEN):
        tree = read_sysfs(write(tmp_path / str(number), broken.functions(), broken.files))
        text = saved(tree, "0").decode()
        expected = report(text)
        assert report_of_runner(runner, text) == expected, broken.name
        found |= {finding["rule"] for finding in expected["findings"]}
    assert found >= {rule for broken in BROKEN for rule, _ in broken.findings}


@pytest.mark.parametrize("symptom", ["RX slow", "p2p", "3.2 GB/s", "hangs"])
def test_a_symptom_gives_the_same_order(runner: Path, symptom: str) -> None:
    text = TEXTS["xeon-6230-bad-riser"]
    assert report_of_runner(runner, text, "--symptom", symptom) == report(text, symptom)


def test_an_unknown_symptom_is_refused_alike(runner: Path) -> None:
    with pytest.raises(InputError) as refused:
        report(TEXTS["raspberry-pi-5"], "purple")
    ended = words(runner, TEXTS["raspberry-pi-5"], "--symptom", "purple")
    assert (ended.returncode, ended.stderr) == (2, f"pcielab-run: {refused.value}\n")


def test_texts_for_people_are_the_same(runner: Path, tmp_path: Path) -> None:
    tree = read_sysfs(write(tmp_path / "server", server()))
    texts = [*(TEXTS[name] for name in ("xeon-6230-bad-riser", "desktop-x570")), saved(tree, "0").decode()]
    for text in texts:
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
