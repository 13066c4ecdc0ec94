"""The questions of a run of transfers: each bandwidth, and each latency of a read.

Stands alone: only `normal` asks these, of the runs of each kind.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from pcielab._core import Width
from pcielab.errors import refusal
from pcielab.kinds.machine_facts import MachineFacts, facts_of, no_link
from pcielab.kinds.question import Kind, Question, Value, What, kind_of
from pcielab.kinds.transfers.bounds import scalar
from pcielab.store import Store

_WAYS: Mapping[str, What] = {"rd": "h2d", "wr": "d2h", "rdwr": "both", "wrrd": "latency"}


def transfer_questions(store: Store, chosen: Set[int]) -> Iterator[Question]:
    """The questions of a run of transfers."""
    if no_link(store):
        raise refusal(
            "missing", f"{store.path}: unknown link: give one value with --what, --value and --link instead"
        )
    facts = facts_of(store)
    device = str((store.manifest.get("device") or {}).get("name") or "")
    for record in store.records():
        question = _question(record, facts, device) if record["id"] in chosen else None
        if question is not None:
            yield question


def _question(record: Mapping[str, Any], facts: MachineFacts, device: str) -> Question | None:
    """The question of a test; None if it has no value."""
    parameters = record["parameters"]
    kind, _, way = str(parameters["operation"]).partition("-")
    link, size = facts.link, parameters.get("size_bytes")
    common: dict[str, Any] = {
        "width": Width(link.generation, link.lanes),
        "engine": "dma",
        "kind": _device_kind(device),
        "size_bytes": None if size is None else int(size),
        "mps_bytes": link.mps_bytes,
        "link": facts.model_link,
        "device": device,
        "name": f"{record['id']} {record['name']}" + ("" if size is None else f" {size} B"),
    }
    if kind == "bw" and (value := scalar(record, "bandwidth")) is not None:
        what = _WAYS[way]
        return Question(what=what, value=Value(value * (2 if what == "both" else 1), "Gb/s", 0.125), **common)
    if kind == "lat" and way == "rd" and (time := scalar(record, "median")) is not None:
        return Question(what="latency", value=Value(time, "ns", 1.0), **common)
    return None


def _device_kind(device: str) -> Kind:
    """The kind of a measuring device: a programmable one, unless its name says otherwise."""
    return kind_of(device, None) or "fpga"
