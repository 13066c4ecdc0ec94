"""Stores with correct digests and values of a wrong type anywhere in their nested manifests.

The wrong value is drawn evenly over all keys of the manifest, at every depth. A command refuses the store in one
line that names it; a wrong value that no command reads may pass.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from stores import SEEDS, USES

from pcielab import InputError
from pcielab._core import StoreWriter
from pcielab.analysis.compare import compare
from pcielab.analysis.explain import explain_run
from pcielab.analysis.validate import score
from pcielab.cli.runs import _row
from pcielab.devices.running import run
from pcielab.explore.stores import Stores
from pcielab.kinds.flows.rows import flow_table, request_table
from pcielab.kinds.frames.rows import nic_rows
from pcielab.model import load_nic
from pcielab.store import Store, open_store
from pcielab.work.frames import Frames

Draw = random.Random
WRONG: list[Any] = [
    None, True, False, 0, -1, 1, 7, 1.5, -0.5, 1e308, 10**30, "", "x", "nan", "0x10", "9" * 30, "a" * 5000, [], {},
    [[]], [None], [0], ["x"], [{}], {"a": 1}, {"": {}}, {"name": 3}, {"key": [1, {"b": None}]},
]  # fmt: skip
"""Replacements for a value; some may be right by chance."""
LEFT_OUT = 0.1
"""Share of the changes that leave a key out."""


def prepare(folder: Path) -> None:
    """Write the stores that `stores.prepare` does not: a run of a NIC, and one of hardware."""
    seeds = folder / SEEDS
    run(Frames(load_nic("niantic-dpdk"), [64, 256], packets=20), output=seeds / "frames.db")
    manifest = {
        "origin": "measured", "title": "a drive", "version": "0.1.0", "suite": "nvme", "seed": 1, "tests": 1,
        "options": {"samples": "full"}, "backend": {"kind": "nvme", "address": "0000:3b:00.0", "device": {}},
        "device": {
            "name": "a drive", "timer": {"numerator_ns": 1, "denominator": 3, "cycles": 1},
            "dma_transfer_bytes_most": 131072, "command_transfer_bytes_most": None, "outstanding": 64,
            "address": "0000:3b:00.0", "vendor_id": 5197, "device_id": 43016, "firmware": "1", "driver": "nvme",
            "link": {"rate_gtps": 8.0, "lanes": 4, "mps_bytes": 256, "mrrs_bytes": 512}, "deadline_ms": 20000,
            "operations": ["dma bw-rd"], "latency_includes": ["doorbell", "medium"],
        },
        "host": {
            "name": "a host", "sockets": 2, "llc_bytes": 15728640, "buffer_bytes": 67108864, "device_socket": 0,
            "memory_socket": 0, "program_socket": 1, "processor": "a processor", "kernel": "6.1",
            "caches": [{"level": 3, "holds": "unified", "bytes": 15728640, "shared_by": "0-5"}],
            "command_line": "intel_iommu=on", "page_bytes": 4096, "node": 0, "core": 3,
            "iommu": "four-kib-pages", "cold": "flush",
        },
        "conditions_before": [{"metric": "link_rate", "unit": "GT/s", "value": 8.0}],
        "conditions_after": [{"metric": "load", "unit": "1", "value": None}],
    }  # fmt: skip
    [test] = [record for record in open_store(seeds / "transfers.db").records() if record["id"] == 0]
    test["parameters"] = json.dumps(test["parameters"], sort_keys=True, separators=(",", ":"))
    with StoreWriter.create(seeds / "device.db", json.dumps(manifest)) as writer:
        writer.write_test(json.dumps(test))


def paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values within one, its own first."""
    if above:
        yield above
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from paths(inner, (*above, key))


def changed(draw: Draw, manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest with one or two values of another type, or left out."""
    new = copy.deepcopy(manifest)
    for _ in range(draw.choice([1, 1, 1, 2])):
        *above, key = draw.choice([*paths(new)])
        holder: Any = new
        for step in above:
            holder = holder[step]
        if isinstance(holder, dict) and draw.random() < LEFT_OUT:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw.choice(WRONG))
    return new


@cache
def _seeds(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]], dict[str, str], Path]]:
    found = []
    for path in sorted((folder / SEEDS).glob("*.db")):
        store = open_store(path)
        found.append((store.manifest, [*store.records()], store.attachments, path))
    return found


def sealed(draw: Draw, folder: Path) -> None:
    """A changed store, used by some of the commands that read stores."""
    manifest, records, attachments, whole = draw.choice(_seeds(folder.parent))
    path = folder / "run.db"
    with StoreWriter.create(path, json.dumps(changed(draw, manifest)), overwrite=True) as writer:
        for record in records:
            shown = json.dumps(record["parameters"], sort_keys=True, separators=(",", ":"))
            writer.write_test(json.dumps(record | {"parameters": shown}))
        for name, content in attachments.items():
            writer.attach(name, content)
    assert _row(path, folder)["run"] == "run.db"
    try:
        store = open_store(path)
    except InputError as refused:
        _names(refused, path)
        return
    sound = open_store(whole)
    for number, use in enumerate(draw.sample(_USES, 3)):
        output = folder / f"use {number}"
        output.mkdir(exist_ok=True)
        try:
            use(store, sound, draw, output)
        except InputError as refused:
            _names(refused, path)


def _names(refused: InputError, path: Path) -> None:
    if str(path) not in str(refused) and path.name not in str(refused):
        raise AssertionError(f"does not name the store: {refused}")


def _explored(store: Store, _sound: Store, _draw: Draw, _folder: Path) -> None:
    found = Stores([store.path])
    found.listed(), found.tests({"store": 0}), found.compared({"a": 0, "b": 0})
    if store.kind == "transfers" and store.tells_speed:
        found.overlay({"store": 0}), found.distribution({"store": 0, "test": 0})


def _as_kind(store: Store, _sound: Store, _draw: Draw, _folder: Path) -> None:
    if store.kind == "frames":
        nic_rows(store)
    if store.kind == "flows":
        flow_table(store), request_table(store)


def _scored(store: Store, sound: Store, _draw: Draw, _folder: Path) -> None:
    if store.kind == "transfers":
        score(sound, store), score(store, sound)


def _of_one(use: Callable[[Store, Draw, Path], object]) -> Callable[[Store, Store, Draw, Path], object]:
    return lambda store, _sound, draw, folder: use(store, draw, folder)


_USES: list[Callable[[Store, Store, Draw, Path], object]] = [
    *(_of_one(use) for use in USES),
    _explored,
    _as_kind,
    _scored,
    lambda store, sound, _draw, _folder: compare(store, sound),
    lambda store, sound, _draw, _folder: compare(sound, store),
    lambda store, _sound, _draw, _folder: explain_run(store),
]
KINDS = {"sealed-stores": sealed}
