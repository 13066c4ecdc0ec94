"""`export netfpga`: the raw results that the control program of the NetFPGA design writes."""

from pathlib import Path
from typing import Any

from pcielab.errors import refusal
from pcielab.formats.exporters.exporter import Exporter
from pcielab.formats.published import Timer
from pcielab.formats.raw_results import (
    BY_LENGTH,
    COUNTER_NS,
    FIRST_LINE,
    IN_ORDER,
    LATENCIES_MOST,
    SIZE_STEP_BYTES,
    TRANSFERS_MOST,
    Section,
    head_of,
)
from pcielab.outputs import check_file, write_file
from pcielab.store import Store


def _write(store: Store, output: Path, *, overwrite: bool) -> None:
    store.require_kind("transfers", "raw results")
    check_file(output, overwrite=overwrite)
    timer = Timer.of_manifest(store.manifest, str(store.path))
    if timer.tick_ns != COUNTER_NS:
        raise refusal(
            "unsupported",
            f"{store.path}: its device counts in ticks of {timer.tick_ns} ns: the NetFPGA's counter has "
            f"{COUNTER_NS} ns",
        )
    finished = [test for test in store.scalars.to_dict("records") if test["status"] == "ok"]
    if not finished:
        raise refusal("missing", f"{store.path}: has no finished test to export: finish the run with --resume")
    sections = [_section(store, {str(key): value for key, value in test.items()}) for test in finished]
    facts = f"# origin={store.origin} device={store.manifest['device'].get('name', 'unknown')}"
    head = "\n".join([FIRST_LINE, facts, f"# title={' '.join(store.title.split())}", f"# counter_ns={COUNTER_NS}"])
    text = "\n\n".join([head, *(section.text() for section in sections)]) + "\n"
    write_file(output, text.encode(), overwrite=overwrite)


def _section(store: Store, test: dict[str, Any]) -> Section:
    named = f"{store.path}: test {test['id']} ({test['family']}, {test['name']})"
    if test["size_bytes"] % SIZE_STEP_BYTES:
        raise refusal(
            "unsupported",
            f"{named}: {test['size_bytes']} B: the NetFPGA's transfers are multiples of {SIZE_STEP_BYTES} B",
        )
    if test["name"].startswith("LAT_"):
        return _latencies(store, test, named)
    transfers = int(test["transactions"])
    if transfers > TRANSFERS_MOST:
        raise refusal(
            "too-large", f"{named}: {transfers} transfers, but the device makes {TRANSFERS_MOST} at most"
        )
    ticks = round(test["time"] / COUNTER_NS)
    return Section(head_of(test) | {"transfers": str(transfers)}, (ticks,))


def _latencies(store: Store, test: dict[str, Any], named: str) -> Section:
    distribution = store.distribution(test["id"])
    count = int(distribution["count"].sum())
    if not 0 < count <= LATENCIES_MOST:
        raise refusal("too-large", f"{named}: {count} latencies, but the device keeps 1 to {LATENCIES_MOST}")
    in_order = store.series(test["id"])["value"]
    if len(in_order) == count:
        return Section(head_of(test) | {"order": IN_ORDER}, tuple(map(int, in_order)))
    pairs = zip(distribution["bin"], distribution["count"], strict=True)
    by_length = tuple(int(tick) for tick, times in pairs for _ in range(times))
    return Section(head_of(test) | {"order": BY_LENGTH}, by_length)


EXPORTER = Exporter("netfpga", "Write the raw results of a NetFPGA: its counter's ticks, test by test.", _write)
