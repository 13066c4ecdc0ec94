"""One test in sentences: what was asked, what binds it, and what would help."""

from collections.abc import Iterator, Mapping
from typing import Any

from pcielab.analysis.explain.facts import facts_of, no_link
from pcielab.analysis.explain.reasons import reasons
from pcielab.analysis.explain.remedies import REMEDIES
from pcielab.analysis.explain.rows import Row, explain_run
from pcielab.store import Store
from pcielab.wording import byte_size

_OPERATIONS = {
    "lat-rd": "latency of reads",
    "lat-wrrd": "latency of writes that are read back",
    "bw-rd": "bandwidth of reads",
    "bw-wr": "bandwidth of writes",
    "bw-rdwr": "bandwidth of reads and writes by turns, each direction's",
}
_CACHES = {
    "cold": "after the host thrashed its caches",
    "device-thrash": "after the device thrashed the host's caches",
    "device-warm": "after the device wrote the window",
    "host-warm": "after the host wrote the window",
}


_FLUSHED = "after the window's lines were flushed from the host's caches"


def in_words(store: Store, test: int) -> Iterator[str]:
    """Sentences about a finished test of transfers, for people."""
    record = next(record for record in store.records() if record["id"] == test)
    parameters = record["parameters"]
    cold = (store.manifest.get("host") or {}).get("cold")
    yield f"asked: {asked(parameters, flushed=cold == 'flush')}"
    if parameters["operation"].startswith("lat-") and store.latency_includes:
        yield f"includes: {store.latency_includes}"
    if no_link(store):
        return
    if parameters["operation"].startswith("lat-"):
        found = reasons(facts_of(store), parameters, tags_charged=True)
        if found:
            yield f"adds to it: {'; '.join(found)}"
        return
    for row in explain_run(store, [str(test)]).rows:
        yield from bound_sentences(row)


def asked(parameters: Mapping[str, Any], *, flushed: bool = False) -> str:
    """What a test of transfers asks for.

    Args:
        parameters: Of the test.
        flushed: Whether the host made its caches cold line by line.
    """
    offsets = [
        f"{parameters[f'{end}_offset_bytes']} B past {place}"
        for end, place in (("host", "a cache line of the host"), ("device", "a word of the device"))
        if parameters[f"{end}_offset_bytes"]
    ]
    in_flight = parameters["outstanding"]
    parts = [
        f"{_OPERATIONS.get(parameters['operation'], parameters['operation'])} of {parameters['size_bytes']} B",
        *offsets,
        f"{parameters['pattern']} in a window of {byte_size(parameters['window_bytes'])}",
        _FLUSHED
        if flushed and parameters["cache"] == "cold"
        else _CACHES.get(parameters["cache"], parameters["cache"]),
        f"by the {parameters['path']} path",
        *([f"{in_flight} in flight at most"] if in_flight is not None else []),
    ]
    return ", ".join(parts)


def bound_sentences(row: Row) -> Iterator[str]:
    """What binds a test, what else may hold it back, and what would help."""
    binding = row.answer
    yield f"binds: {binding.bound}, at {binding.gbps:.2f} Gb/s; the value is {100 * row.share:.0f} % of that"
    if row.is_defect:
        yield (
            f"defect: no value can be {100 * (row.share - 1):.1f} % above what binds it, so simulator or model is "
            "wrong; please report this test and its profile"
        )
    if row.reasons:
        yield f"may explain the rest: {'; '.join(row.reasons)}"
    remedy = REMEDIES.get(binding.bound, "a higher bound")
    others = binding.ceilings[1:]
    beyond = f"; the next bound is {others[0].bound}, at {others[0].gbps:.2f} Gb/s" if others else ""
    yield f"would help: {remedy}{beyond}"
