"""Hostile stores: sound files with matching digests and any content."""

import copy
import json
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mutate

from pcielab import fabric
from pcielab._core import StoreWriter
from pcielab.analysis.compare import compare
from pcielab.analysis.explain import explain_rows, explain_run
from pcielab.analysis.normal.rows import judge_run
from pcielab.charts.run import runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.devices.running import run, simulate
from pcielab.doctor.stores import tree_of_store
from pcielab.formats.exporters import EXPORTERS, export
from pcielab.formats.importers import import_output, import_pcie_bench
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.rooms import room
from pcielab.kinds.transfers.checks import checks
from pcielab.kinds.transfers.summary import summary
from pcielab.library import profiles, suites
from pcielab.report.comparison import families, runs_of_comparison
from pcielab.report.doctor import machines
from pcielab.report.provenance import provenance
from pcielab.report.table import family_tables
from pcielab.store import Store, kinds, open_store

Draw = random.Random
SEEDS = "seeds"
"""Name of the folder with the stores that cases start from, beside their folders."""
_DEEPER, _LEFT_OUT = 0.8, 0.15


@dataclass(frozen=True)
class _Seed:
    """The content of a sound store."""

    manifest: dict[str, Any]
    records: Sequence[dict[str, Any]]
    attachments: dict[str, str]


def prepare(folder: Path, tiny: Path, published: Path) -> None:
    """Write a store of each kind into `folder`: from a tiny suite and a folder in the published format."""
    seeds = folder / SEEDS
    seeds.mkdir()
    simulate(profiles.resolve("snb-iommu"), suites.load_suite(str(tiny)), seeds / "transfers.db", jobs=1)
    import_pcie_bench(published, seeds / "measured.db")
    outputs = Path(__file__).parents[1] / "tool_outputs"
    linked = Given(link="gen5x16", mps_bytes=256, mrrs_bytes=512, numa_node=0)
    import_output(outputs / "nvbandwidth" / "0.5-one-gpu.txt", seeds / "gpu.db", given=linked)
    import_output(outputs / "fio" / "3.36-mixed.json", seeds / "drive.db")
    small = Path(__file__).parents[1] / "documents" / "small"
    chosen = suites.load_message_suite(str(small / "messages" / "kpio.toml"))
    run(chosen, profile="kpio-2012", output=seeds / "messages.db")
    testbed = fabric.load("fabrex-u55c")
    points = fabric.flow_set(testbed.flows("latency"), "latency", "fifo", 1.0)
    run(fabric.Flows(testbed, points, "rpciebench"), output=seeds / "fabric.db")


@cache
def _seeds(folder: Path) -> list[_Seed]:
    stores = [open_store(path) for path in sorted((folder / SEEDS).iterdir())]
    return [_Seed(store.manifest, [*store.records()], store.attachments) for store in stores]


def stores(draw: Draw, folder: Path) -> None:
    """Changed stores, used by a command that reads stores."""
    path = folder / "run.db"
    _write(draw, draw.choice(_seeds(folder.parent)), path)
    store = open_store(path)
    draw.choice(USES)(store, draw, folder)


def _write(draw: Draw, seed: _Seed, path: Path) -> None:
    kind = draw.random()
    manifest = _changed(draw, seed.manifest) if kind < 0.7 else seed.manifest
    with StoreWriter.create(path, json.dumps(manifest, default=str), overwrite=True) as writer:
        for record in seed.records:
            parameters = mutate.table(draw, record["parameters"]) if 0.6 < kind < 0.95 else record["parameters"]
            shown = json.dumps(parameters, sort_keys=True, separators=(",", ":"), default=str)
            writer.write_test(json.dumps(record | {"parameters": shown}))
        for name, content in seed.attachments.items():
            changed = mutate.text(draw, content.encode()).decode(errors="replace") if kind > 0.85 else content
            writer.attach(name, changed.replace("\0", ""))


def _changed(draw: Draw, manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest with one or two values changed; each level is equally likely, however many keys it has."""
    changed = copy.deepcopy(manifest)
    for _ in range(draw.choice([1, 1, 2])):
        table = changed
        key = draw.choice([*table])
        while isinstance(table[key], dict) and table[key] and draw.random() < _DEEPER:
            table = table[key]
            key = draw.choice([*table])
        if draw.random() < _LEFT_OUT:
            del table[key]
        else:
            table[key] = mutate.value(draw, table[key])
        if not changed:
            break
    return changed


def _figure(store: Store, draw: Draw, _folder: Path) -> None:
    every = [entry for kind in kinds.KINDS for entry in room(kind).figures.entries]
    with suppress(MissingDataError):
        draw.choice(every).draw(runs_of(store), None).to_dict(validate=False)


def _summarized(store: Store, _draw: Draw, _folder: Path) -> None:
    [run] = runs_of(store)
    provenance(run), summary([run]), [*family_tables(run)]


def _compared(store: Store, _draw: Draw, _folder: Path) -> None:
    found = compare(store, store)
    assert found.system_differences == []
    for family in families(found, *runs_of_comparison(found)):
        family.figure.to_dict(validate=False)


def _export(store: Store, draw: Draw, folder: Path) -> None:
    kind = draw.choice([*EXPORTERS])
    export(store, kind, folder / f"out {kind}", overwrite=True)


USES: tuple[Callable[[Store, Draw, Path], object], ...] = (
    _figure,
    _export,
    _summarized,
    _compared,
    lambda store, _draw, _folder: machines(runs_of(store)),
    lambda store, _draw, _folder: checks(store, explain_run(store)),
    lambda store, _draw, _folder: tree_of_store(store),
    lambda store, _draw, _folder: explain_rows(store) if store.kind == "tools" else None,
    lambda store, _draw, _folder: judge_run(store) if store.kind == "tools" else None,
    lambda store, _draw, _folder: compare_with_published(store),
)

KINDS = {"stores": stores}
