"""The guide shows an example of each finding, as the doctor prints it for a machine that has the defect."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import made_text as pasted
from made_machine import server, write
from pcielab.doctor import RULES, Finding, Tree, changes, examine, read_lspci, read_sysfs
from pcielab.doctor.examine import finding_text
from pcielab.doctor.test_rules import BROKEN, DRIVE, PASTED

GUIDE = Path(__file__).parents[1] / "docs/guides/is-my-link-right.md"
SERVER = (Path(__file__).parent / "lspci_texts" / "pciutils-3.9.txt").read_text()
EXAMPLE = re.compile(r"```console\n\$ (?:sudo )?pcielab doctor[^\n]*\n(?P<text>.*?)```", re.DOTALL)
WATCHED = ("errors-rise", "link-changes")
NAMES = [*(rule.name for rule in RULES), *WATCHED, "readings-differ"]


def _pair(status: str) -> tuple[pasted.Shown, pasted.Shown]:
    return pasted.root(sta=status), pasted.drive(sta=status)


BEFORE_AND_AFTER = pasted.text(*_pair("Speed 16GT/s, Width x1"), *_pair("Speed 16GT/s, Width x4"))


def example(name: str, folder: Path) -> str:
    """A finding of this rule: from the modern server if it has one, else from a machine broken for it."""
    tree, found = _with_finding(name, folder)
    return finding_text(next(one for one in found if one.rule == name), tree, 100)


def _with_finding(name: str, folder: Path) -> tuple[Tree, list[Finding]]:
    if name in WATCHED:
        before, after = _watched(folder)
        return after, changes(before, after, 2.0)
    texts = (SERVER, SERVER.replace("Corporation Device 352a", "Corporation Z790 Chipset PCIe Root Port", 4))
    for text in texts:
        tree = read_lspci(text, "server.txt")
        found = list(examine(tree).findings)
        if any(one.rule == name for one in found):
            return tree, found
    if name == "port-not-shown":
        tree = read_lspci(SERVER[SERVER.index("01:00.0 Ethernet") : SERVER.index("02:00.0 3D")], "card.txt")
        return tree, list(examine(tree).findings)
    if name in PASTED:
        tree = read_lspci(PASTED[name], "log.txt")
        return tree, list(examine(tree).findings)
    if name == "readings-differ":
        tree = read_lspci(BEFORE_AND_AFTER, "lspci.txt")
        return tree, list(examine(tree).findings)
    if name == "vfio-without-iommu":
        functions = [replace(one, iommu=None) for one in server()]
        functions = [replace(one, driver="vfio-pci") if one.slot == DRIVE else one for one in functions]
        tree = read_sysfs(write(folder / "machine", functions))
        tree = tree.model_copy(update={"host": tree.host.model_copy(update={"iommu_units": 0})})
        return tree, list(examine(tree).findings)
    broken = next(one for one in BROKEN if name in {rule for rule, _ in one.findings})
    tree = read_sysfs(write(folder / "machine", broken.functions(), broken.files))
    return tree, list(examine(tree).findings)


def _watched(folder: Path) -> tuple[Tree, Tree]:
    trees = []
    for name, errors, speed in (("before", 100, 32.0), ("after", 550, 16.0)):
        files = {"aer_dev_correctable": f"BadTLP {errors}"}
        functions = [
            replace(one, files=files, speeds=(32.0, speed)) if one.slot == "0000:01:00.0" else one
            for one in server()
        ]
        trees.append(read_sysfs(write(folder / name, functions)))
    return trees[0], trees[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_guide_shows_each_finding_as_printed(name: str, tmp_path: Path) -> None:
    shown = [found["text"] for found in EXAMPLE.finditer(GUIDE.read_text(encoding="utf-8"))]
    expected = f"{example(name, tmp_path)}\n"
    assert expected in shown, f"an example of {name} should be:\n{expected}"
