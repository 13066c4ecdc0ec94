"""Changed machines for the doctor: texts of lspci, other pasted forms, folders like /sys, saved trees.

A case reads a changed machine and examines it; an endless chain of capabilities or bridges would show as a hang.
"""

import os
import random
from functools import cache
from pathlib import Path

import mutate

import made_text
from made_machine import Made, server, write
from pcielab.doctor import Tree, examine, read_file, read_lspci_file, read_sysfs, saved
from pcielab.doctor.examine import branches, describe

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


_LOG = """\
[    1.1] pci 0000:01:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space
[    2.5] pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0
[    3.0] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
[    4.0] pcieport 0000:00:1c.0: DPC: containment event, status:0x1f01 source:0x0000
[    5.0] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.
"""
_DRAWING = r"""-[0000:00]-+-00.0  Example Host Bridge
           +-1c.0-[01]----00.0  Example Drive
           \-1d.0-[02-04]--+-00.0  Example NIC
                           \-00.1  Example NIC
"""
_MATRIX = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tNV4\nNIC0\tPIX\tNV4\t X \n"
_TOPOLOGY = """<system version="1"><cpu numaid="0">
<pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:11:00.0" class="0x030200"><gpu dev="0"><nvlink target="0000:12:00.0" count="4"/></gpu>
</pci></pci></cpu></system>
"""
_BYTES = "".join(
    f"{offset:02x}: {server()[0].config()[offset : offset + 16].hex(' ')}\n" for offset in range(0, 4096, 16)
)
_GREP = """\
$ lspci -vvv -s 01:00.0 | grep Lnk
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4
\t\tLnkSta:\tSpeed 8GT/s, Width x4
"""
_FORMS = (
    *(_LOG, _DRAWING, _MATRIX, _TOPOLOGY, _GREP, made_text.X570, made_text.ARC, made_text.ECRC_BOTH),
    f"00:01.0 PCI bridge: Port\n{_BYTES}",
    "--- good\n+++ bad\n@@ -1,4 +1,4 @@\n" + made_text.ECRC_BOTH,
    made_text.ECRC_BOTH.replace("\n", "\\n").replace("\t", "\\t"),
)


def doctor_forms(draw: Draw, folder: Path) -> None:
    """One or two forms in one text: registers, logs, drawings, matrices, topologies, hex dumps, differences."""
    chosen = "\n".join(draw.sample(_FORMS, draw.choice([1, 1, 2])))
    path = folder / "pasted.txt"
    path.write_bytes(mutate.text(draw, chosen.encode()))
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


KINDS = {
    "doctor-texts": doctor_texts,
    "doctor-forms": doctor_forms,
    "doctor-trees": doctor_trees,
    "doctor-saved": doctor_saved,
}
