"""The readers of a machine in Python and in Rust (`pcie-evidence`) give the same tree, or the same refusal.

Texts are mangled as people paste them, and changed at random. PCIELAB_READINGS is the number of texts.
"""

import json
import os
import random
import re
import subprocess
from pathlib import Path

import machines
import mutate
import pytest

from pcielab.doctor import machine_of_text, read_sysfs
from pcielab.doctor.made_machine import server, write
from pcielab.errors import InputError
from test_doctor_pasted import MANGLED, _mangled

ROOT = Path(__file__).parents[2]
TRIED = int(os.environ.get("PCIELAB_READINGS", "60"))
TEXTS = sorted((ROOT / "tests" / "lspci_texts").glob("*.txt"))
_XML = "<system"
_ESCAPE = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
"""An unprintable letter that a message of Rust quotes."""


@pytest.fixture(scope="module")
def reader() -> Path:
    """The example of `pcie-evidence` that prints the tree of each file."""
    command = ["cargo", "build", "--quiet", "--workspace", "--example", "machine"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "debug" / "examples" / "machine"


def text(path: Path) -> str:
    """The content of a file, as the doctor reads it."""
    return path.read_bytes().decode(errors="replace")


def in_python(path: Path) -> object:
    """The tree of a file or folder as JSON, or why it is refused."""
    try:
        tree = read_sysfs(path) if path.is_dir() else machine_of_text(text(path), str(path))
    except InputError as error:
        return str(error)
    return json.loads(tree.model_dump_json())


def in_rust(reader: Path, paths: list[Path]) -> list[object]:
    """The same of each file by the reader in Rust."""
    ended = subprocess.run([reader, *paths], capture_output=True, text=True, check=True)
    found = map(json.loads, ended.stdout.splitlines())
    return [_as_python(tree["refused"]) if "refused" in tree else tree for tree in found]


def _as_python(message: str) -> str:
    """A message with unprintable letters as Python quotes them."""
    return _ESCAPE.sub(lambda letter: repr(chr(int(letter[1], 16)))[1:-1], message)


def text_of(number: int) -> bytes:
    """A text to compare: a mangled machine, some changed functions of one, or a changed text of another form."""
    draw = random.Random(number)
    if number % 3 == 0:
        return _mangled(draw, draw.choice(TEXTS).read_text().strip().split("\n\n")).encode()
    if number % 3 == 1:
        blocks = machines._blocks()
        first = draw.randrange(len(blocks))
        return mutate.text(draw, b"\n\n".join(blocks[first : first + draw.choice([1, 3, 8])]) + b"\n")
    # Editions of XML differ in whether a name may have the letter that stands for a wrong byte.
    changed = mutate.text(draw, "\n".join(draw.sample(machines._FORMS, draw.choice([1, 1, 2]))).encode())
    return changed.decode(errors="ignore").encode()


def test_both_readers_see_the_same(reader: Path, tmp_path: Path) -> None:
    texts = [*MANGLED.values(), *machines._FORMS, machines._saved().decode()]
    contents = [text.encode() for text in texts] + [text_of(number) for number in range(TRIED)]
    paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    paths += TEXTS
    for path, tree in zip(paths, in_rust(reader, paths), strict=True):
        other = in_python(path)
        # Of a topology with two faults each parser finds another one first, in words of its own.
        both_refuse_xml = isinstance(tree, str) and isinstance(other, str) and _XML in text(path)
        assert both_refuse_xml or tree == other, path


def test_both_readers_see_the_same_in_copies_of_sysfs(reader: Path, tmp_path: Path) -> None:
    """Machines of which a register, a file or a link was changed."""
    roots = []
    for number in range(TRIED // 5):
        draw = random.Random(number)
        machine = server()
        first = draw.randrange(len(machine))
        root = write(tmp_path / str(number), machine[first : first + draw.choice([2, 3, 12])])
        files = sorted(path for path in root.rglob("*") if path.is_file() or path.is_symlink())
        for path in draw.sample(files, draw.choice([0, 1, 2, 4])):
            machines._change(draw, path, machine)
        roots.append(root)
    for root, tree in zip(roots, in_rust(reader, roots), strict=True):
        assert tree == in_python(root), root
