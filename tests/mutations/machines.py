"""Changed machines for the doctor: texts of lspci, folders like /sys, saved trees.

A case reads a changed machine and examines it; an endless chain of capabilities or bridges would show as a hang.
"""

import os
import random
from functools import cache
from pathlib import Path

import mutate

from pcielab.doctor import Tree, examine, read_file, read_lspci_file, read_sysfs, saved
from pcielab.doctor.branches import branches
from pcielab.doctor.made_machine import Made, server, write
from pcielab.doctor.text import describe

Draw = random.Random
_TEXTS = Path(__file__).parents[1] / "lspci_texts"


@cache
def _blocks() -> list[bytes]:
    """Functions as two versions of lspci print them."""
    return [block for path in sorted(_TEXTS.glob("*.txt")) for block in path.read_bytes().strip().split(b"\n\n")]


def examined(tree: Tree) -> None:
    branches(tree)
    describe(examine(tree), tree)


def doctor_texts(draw: Draw, folder: Path) -> None:
    """A few functions of a text."""
    first = draw.randrange(len(_blocks()))
    chosen = b"\n\n".join(_blocks()[first : first + draw.choice([1, 3, 8])]) + b"\n"
    path = folder / "lspci.txt"
    path.write_bytes(mutate.text(draw, chosen))
    examined(read_lspci_file(path))


def doctor_trees(draw: Draw, folder: Path) -> None:
    """A few functions of a folder: bytes of configuration spaces, files, and links."""
    root = folder / f"machine{draw.randrange(1 << 60)}"
    machine = server()
    first = draw.randrange(len(machine))
    write(root, machine[first : first + draw.choice([2, 3])])
    files = sorted(path for path in root.rglob("*") if path.is_file() or path.is_symlink())
    for path in draw.sample(files, min(draw.choice([1, 2, 4]), len(files))):
        _change(draw, path, machine)
    examined(read_sysfs(root))


def _change(draw: Draw, path: Path, machine: list[Made]) -> None:
    if path.is_symlink():
        path.unlink()
        path.symlink_to(draw.choice(["..", "/", path.name, "../../../../../../etc", draw.choice(machine).slot]))
    elif path.name == "config":
        space = bytearray(path.read_bytes())
        for _ in range(draw.choice([1, 8, 64])):
            # Most registers that matter are in the first bytes, and in the extended capabilities.
            offset = draw.choice([draw.randrange(0xA0), 0x100 + draw.randrange(0x100)])
            space[min(offset, len(space) - 1)] = draw.randrange(256)
        path.write_bytes(bytes(space[: draw.choice([4096, 4096, 256, 64, draw.randrange(4096)])]))
    elif draw.random() < 0.1:
        path.unlink()
        os.mkfifo(path)
    else:
        path.write_bytes(mutate.text(draw, path.read_bytes()))


@cache
def _saved() -> bytes:
    return saved(read_lspci_file(_TEXTS / "pciutils-3.9.txt"), "0")


def doctor_saved(draw: Draw, folder: Path) -> None:
    """A saved tree."""
    path = folder / "machine.json"
    path.write_bytes(mutate.text(draw, _saved()))
    examined(read_file(path))


KINDS = {"doctor-texts": doctor_texts, "doctor-trees": doctor_trees, "doctor-saved": doctor_saved}
