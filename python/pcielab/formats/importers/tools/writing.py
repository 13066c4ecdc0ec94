"""Write what a tool measured as a store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pcielab._core import StoreWriter
from pcielab.errors import found_in, refusal
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.tools.rows import MeasuredSetting, Tool

MEBIBYTES_GBPS = Decimal(8 << 20) / 10**9
"""A MiB/s in Gb/s; perftest writes it MB/sec."""
GIGABYTES_GBPS = Decimal(8)
"""A GB/s in Gb/s."""
MEGABYTES_GBPS = Decimal(8) / 1000
"""A MB/s of 10^6 B/s in Gb/s; bandwidthTest and mlc print it."""
UNITS = {
    "bandwidth": "Gb/s",
    "bandwidth_peak": "Gb/s",
    "rate": "1/s",
    "transactions": "1",
    "samples": "1",
    "bytes": "B",
    **dict.fromkeys(("time", "average", "median", "minimum", "maximum", "deviation", "p95", "p99", "p999"), "ns"),
}
"""Unit of each metric that an importer writes."""


@dataclass(frozen=True)
class Measurement:
    """One test of a tool.

    Attributes:
        family: Its group in tables; the tool's test.
        name: Its name, as the tool has it.
        setting: What was measured.
        metrics: Its numbers by metric, in the unit of `UNITS`.
        status: `ok`, `not-supported` or `failed`.
        message: The reason for another status.
    """

    family: str
    name: str
    setting: MeasuredSetting
    metrics: Mapping[str, Decimal | int] = field(default_factory=dict)
    status: str = "ok"
    message: str | None = None


@dataclass(frozen=True)
class Measured:
    """What a file of a tool holds.

    Attributes:
        tool: The tool.
        version: Its version; None if the file does not give it.
        tests: Its tests, in the order of the file.
        device: Name of the device; None if the file gives none, or several.
        addresses: PCI addresses of the devices that it names.
        facts: Other facts of its head, by name.
        notes: What the text may lack, as sentences.
        devices: Names of its devices, in the order of their numbers.
        form: The form of its text, where a tool has several that may hold the same run.
    """

    tool: Tool
    version: str | None
    tests: Sequence[Measurement]
    device: str | None = None
    addresses: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    devices: Sequence[str] = ()
    form: str = ""


def write(
    found: Sequence[Measured], given: Given, file: Path, text: str, output: Path, *, overwrite: bool
) -> None:
    """Write a store; `text` is the whole file, which is attached.

    Args:
        found: What each tool measured; one for each tool.
        given: Facts about the machine.
        file: Where it was read.
        text: Its content.
        output: The store.
        overwrite: Replace an existing one.

    Raises:
        InputError: The file has no result, a given fact is wrong, or the output is refused.
    """
    tests = [test for one in found for test in one.tests]
    tools = ", ".join(one.tool for one in found)
    if not tests:
        raise refusal("missing", f"{file}: has no test: give the whole output of {tools}")
    names = {one.device for one in found if one.device}
    device = given.device([address for one in found for address in one.addresses])
    version = found[0].version if len(found) == 1 else None
    facts = {key: value for one in found for key, value in one.facts.items()}
    manifest = {
        "origin": "measured",
        "title": f"{tools} {version or ''}".strip() + f", {file.name}",
        "suite": tools,
        "system": None,
        "overrides": {},
        "options": {},
        "device": ({"name": names.pop()} if len(names) == 1 else {}) | device,
        "host": given.host(),
        "source": {"format": tools, "file": file.name, "version": version, **facts},
    }
    with StoreWriter.create(output, json.dumps(manifest), overwrite=overwrite) as store:
        for identifier, test in enumerate(tests):
            with found_in(file):
                store.write_test(json.dumps(_record(identifier, test)))
        kind = ".json" if text.lstrip()[:1] == "{" else ".txt"
        store.attach(f"{found[0].tool if len(found) == 1 else 'tools'}{kind}", text)


def _record(identifier: int, test: Measurement) -> dict[str, Any]:
    return {
        "id": identifier,
        "family": test.family,
        "name": test.name,
        "status": test.status,
        "parameters": json.dumps(asdict(test.setting), sort_keys=True, separators=(",", ":")),
        "scalars": [
            {"metric": metric, "unit": UNITS[metric], "value": float(value)}
            for metric, value in test.metrics.items()
        ],
    } | ({"message": test.message} if test.message else {})
