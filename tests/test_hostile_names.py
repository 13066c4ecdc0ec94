"""Commands with hostile names, titles, versions and paths print only printable characters, and can draw them.

A name may be refused; it never sends control characters to the terminal, and never crashes the process.
`make hostile` tries all names.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hostile_names import hostile_names
from pcielab import InputError, open_store
from pcielab._core import StoreWriter
from pcielab.library import shipped
from shell import Done, pcielab, succeed
from suite_texts import suite_text, transfers
from test_bad_files import LSPCI

ASKED = os.environ.get("PCIELAB_NAMES", "8")
NAMES = hostile_names()
TRIED = NAMES if ASKED == "all" else NAMES[:: -(-len(NAMES) // int(ASKED))]
SUITE = suite_text(transfers("bw_dma_sz_sweep", "BW_DMA_RD", 64, 256, transactions=500))


def test_there_are_two_hundred_names() -> None:
    assert len(NAMES) == 200
    assert sum(not name.isprintable() for name in NAMES) > 100


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one small suite: on a system, and on that system with one value changed."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.toml").write_text(SUITE)
    run = ("run", "--suite", folder / "small.toml", "--profile", "hsw2620")
    succeed(*run, "-o", folder / "whole.db")
    succeed(*run, "--set", "host.root_complex.read_ns=500", "-o", folder / "changed.db")
    return [folder / "whole.db", folder / "changed.db"]


def prints_only_letters(done: Done, about: str) -> None:
    """The output is printable characters and line ends, and the command did not crash."""
    for stream in (done.stdout, done.stderr):
        unprintable = [letter for letter in stream if not letter.isprintable() and letter != "\n"]
        assert unprintable == [], f"{about}: {stream[:2000]!r}"
    assert done.exit_code in (0, 1, 2), f"{about}: {done.exit_code}"
    assert "defect" not in done.stderr, f"{about}: {done.stderr}"
    assert "Traceback" not in done.stderr, f"{about}: {done.stderr}"


def renamed(run: Path, path: Path, name: str) -> None:
    """A copy of a run with `name` in every free text of its manifest and its tests."""
    store = open_store(run)
    manifest = dict(store.manifest)
    system = manifest["system"] | {"name": name, "title": name}
    system |= {part: system[part] | {"name": name} for part in ("host", "device")}
    texts = dict.fromkeys(("title", "suite", "version", "started", "machine"), name)
    manifest |= {"system": system, "overrides": {name: name}, **texts}
    with StoreWriter.create(path, json.dumps(manifest)) as writer:
        for number, test in enumerate(store.records()):
            texts = {"family": name, "name": test["name"] + name, "message": name}
            parameters = json.dumps(test["parameters"], sort_keys=True, separators=(",", ":"))
            writer.write_test(json.dumps(test | texts | {"id": number, "parameters": parameters}))


def of_stores(runs: list[Path], name: str, folder: Path) -> Iterator[tuple[str | Path, ...]]:
    """Commands that read stores with that name."""
    for run, copy in zip(runs, ("a", "b"), strict=True):
        # Some names are refused by the store.
        with suppress(InputError):
            renamed(run, folder / f"{copy}.db", name)
    if not (folder / "b.db").exists():
        return
    # Some names are not valid in a path.
    with suppress(OSError, ValueError):
        shutil.copy(folder / "b.db", folder / f"{name}.db")
    yield "runs", folder
    yield "explain", folder / "a.db"
    yield "explain", folder / "a.db", "--test", name
    yield "explain", folder / "a.db", folder / "b.db", "--picture", folder / "why.png"
    yield "compare", folder / "a.db", folder / "b.db"
    if NAMES.index(name) % 10 == 0:
        figures = ("--figures", folder, "--figure-format", "svg")
        yield "report", folder / "a.db", *figures, "-o", folder / "report.html"
        yield "why", folder / "a.db", "-o", folder / "three.svg", "--overwrite"
    for path in folder.glob("*.db"):
        if path.stem not in ("a", "b"):
            yield "explain", path
            yield "compare", folder / "a.db", path


def of_files(name: str, folder: Path) -> Iterator[tuple[str | Path, ...]]:
    """Commands that read files with that name in them, or look for files of that name."""
    quoted = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    (folder / "system.toml").write_text(
        f'base = "hsw2620"\nname = {quoted}\ntitle = {quoted}\n[provenance]\nsource = {quoted}\n', errors="replace"
    )
    (folder / "key.toml").write_text(f'base = "hsw2620"\n{quoted} = {quoted}\n', errors="replace")
    (folder / "sweep.toml").write_text(
        f"name = {quoted}\ntitle = {quoted}\nsystem = {quoted}\n[grid]\n{quoted} = [1]\n", errors="replace"
    )
    (folder / "flows.csv").write_text(f"flow,{quoted}\n{quoted},1\n", errors="replace")
    (folder / "lspci.txt").write_text(LSPCI.format(port=name, speed=8, possible=8, lanes=4), errors="replace")
    yield "profiles", "show", folder / "system.toml"
    yield "run", "--profile", folder / "system.toml", "--suite", "quick", "-o", folder / "run.db"
    yield "profiles", "show", folder / "key.toml"
    yield "sweep", folder / "sweep.toml", "-o", folder / "sweep"
    yield "fabric", "estimate", "fabrex-u55c", "--flows", folder / "flows.csv"
    yield "doctor", "--lspci", folder / "lspci.txt", "--tree"
    yield "fabric", "from", folder / "lspci.txt"
    yield "fabric", "estimate", "fabrex-u55c", "--flow", f"{name}->{name}:{name}"
    text = (shipped._ROOT / "profiles" / "fabrics" / "separating.toml").read_text()
    for old in ('"The smallest fabric on which the two estimators differ"', '"S"', '"f1"'):
        assert old in text
        text = text.replace(old, quoted)
    (folder / "fabric.toml").write_text(text, errors="replace")
    yield "fabric", "explain", folder / "fabric.toml", "--picture", folder / "fabric.svg"
    if "\0" not in name:
        yield "explain", name + ".db"
        yield "report", folder / name, "-o", folder / "none.html"
        yield "profiles", "show", name


DRAW = """
import json, sys
import altair, pandas
from pathlib import Path
from pcielab.report import save_figure
for name in json.load(sys.stdin):
    print(ascii(name), flush=True)
    frame = pandas.DataFrame({"text": [name, "b"], "y": [1, 2]})
    axis = altair.Y("text", title=name)
    chart = altair.Chart(frame, title=name).mark_bar().encode(x="y", y=axis, color="text", tooltip="text")
    for kind in ("svg", "png", "pdf"):
        save_figure(chart, Path(sys.argv[1]) / f"name.{kind}")
"""
"""Prints each name, then draws it in every text of a picture."""


def test_pictures_are_drawn_with_every_name(tmp_path: Path) -> None:
    script = [sys.executable, "-c", DRAW, str(tmp_path)]
    done = subprocess.run(script, input=json.dumps(TRIED), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode} at {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert done.stdout.count("\n") == len(TRIED)


@pytest.mark.parametrize("name", TRIED, ids=ascii)
def test_a_hostile_name_is_only_printed(
    name: str, runs: list[Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("tried", 1)
    for command in (*of_stores(runs, name, tmp_path), *of_files(name, tmp_path)):
        prints_only_letters(pcielab(*command, cwd=tmp_path), f"{command} of {name!r}")
