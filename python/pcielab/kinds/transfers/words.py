"""One test in sentences: its parameters, the bound, possible causes of the rest, and a fix."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from pcielab import _core
from pcielab.kinds.machine_facts import facts_of, no_link
from pcielab.kinds.transfers.compare import is_resolvable
from pcielab.kinds.transfers.explain import CHANGED_OR_WRONG, TOO_SHORT, Row, explain_run
from pcielab.kinds.transfers.reasons import reasons
from pcielab.model.bound_keys import borrowed_sentences
from pcielab.model.taking_part import taking_part
from pcielab.store import Store
from pcielab.store.manifest import borrowed_of

REMEDIES: Mapping[str, str] = {
    "wire-upstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "wire-downstream": "larger transfers or MPS, fewer bytes beside the data, more lanes or a later generation",
    "tags": "more read requests in flight (link.tags), larger ones (link.mrrs_bytes), or a shorter round trip",
    "posted-credits": "larger write buffers at the root complex (its posted credits), or a faster drain",
    "non-posted-credits": "larger read request buffers at the root complex (its non-posted credits)",
    "latency": "more DMAs in flight, or a shorter round trip",
    "device-rate": "a device that starts DMAs faster, or larger transfers",
    "device-port": "a device whose port sends in smaller units, or transfers that fill them",
    "root-port": "a root port that sends in smaller units, or transfers that fill them",
    "replay-buffer": "a larger replay buffer (link.replay_buffer_flits or _bytes), or a shorter way for Acks",
    "request-rate": "a root complex that takes read requests faster, or larger requests (link.mrrs_bytes)",
    "write-rate": "a root complex that takes writes faster, or larger writes (link.mps_bytes)",
    "receive-buffers": "a device that takes data in faster, or with larger buffers",
    "completion-buffer": "a larger buffer for completions (device.dma.completion_buffer_bytes or _headers)",
    "page-walks": "larger pages, a window that the IO-TLB covers, or more page walkers (host.iommu.walkers)",
    "translation": "2 MiB pages, buffers that keep their pages (host.iommu.page_life), or more page walkers",
    "write-pool": "a root complex that holds more lines of writes, or a shorter way to memory",
    "read-pool": "a root complex that holds more lines of reads, or memory with a shorter latency",
    "memory": "fewer cores that read and write memory beside the device (host.load), or more memory channels",
    "store-interval": "more bytes in each store: write-combining buffers",
    "core-stores": "a core that stores faster, or descriptors, which leave the data to the device",
}
"""Remedy for each bound of `pcielab.model`."""


def in_words(store: Store, test: int) -> Iterator[str]:
    """Sentences about a finished test of transfers, for people."""
    record = next(record for record in store.records() if record["id"] == test)
    parameters = record["parameters"]
    cold = (store.manifest.get("host") or {}).get("cold")
    yield f"test: {asked(parameters, flushed=cold == 'flush')}"
    if parameters["operation"].startswith("lat-") and store.latency_includes:
        yield f"includes: {store.latency_includes}"
    if store.tells_speed:
        yield from _measured_beside(record)
    if no_link(store):
        return
    if parameters["operation"].startswith("lat-"):
        found = reasons(facts_of(store), parameters, tags_charged=True)
        if found:
            yield f"added by: {'; '.join(found)}"
        yield from borrowed_sentences(["latency"], borrowed_of(store.manifest))
        return
    for row in explain_run(store, [str(test)]).rows:
        yield from bound_sentences(row)
        yield from borrowed_sentences([row.answer.bound], borrowed_of(store.manifest))


def _measured_beside(record: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a latency that the device timed alone, and the state of the caches, if a store has them."""
    of: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in record["scalars"]:
        of[row["subject"] or ""][row["metric"]] = float(row["value"])
    timed = [(subject, found) for subject, found in of.items() if "standard_error" in found]
    if timed:
        differences_last = sorted(timed, key=lambda part: "difference" in part[1])
        yield f"parts: {', '.join(_part(*part) for part in differences_last)}"
    cold = of["condition"].get("cold_share")
    if cold is not None:
        yield f"caches: {100 * cold:.0f} % of the sampled lines of the window were cold before it was prepared"


def _part(subject: str, found: Mapping[str, float]) -> str:
    """A part with its standard error; one that was computed as a difference may be hidden by it."""
    error, difference = found["standard_error"], found.get("difference")
    value = found.get("median", 0.0) if difference is None else difference
    hidden = difference is not None and not is_resolvable(difference, error)
    return f"{subject} {value:.0f} ns (standard error {error:.1f} ns{', not resolvable' if hidden else ''})"


def asked(parameters: Mapping[str, Any], *, flushed: bool = False) -> str:
    """The parameters of a test of transfers, in words; `flushed`: cold caches were flushed line by line."""
    return _core.test_in_words(json.dumps(dict(parameters)), flushed)


def bound_sentences(row: Row) -> Iterator[str]:
    """The bound of a test, possible causes of the rest, and a fix."""
    binding = row.answer
    yield f"bound: {binding.bound}, {binding.gbps:.2f} Gb/s; the result is {100 * row.share:.0f} % of it"
    above = f"above its bound by {100 * (row.share - 1):.1f} %"
    if row.exceeds_bound:
        yield (
            f"{above}: {CHANGED_OR_WRONG}: make the run again, and report the test and its profile if the result "
            "stays above"
        )
    elif row.above_for_a_short_test:
        yield f"{above}, {TOO_SHORT}"
    if row.reasons:
        yield f"possible causes of the rest: {'; '.join(row.reasons)}"
    remedy = REMEDIES.get(binding.bound, "a higher bound")
    others = taking_part(binding)[1:]
    beyond = f"; next bound: {others[0].bound}, {others[0].gbps:.2f} Gb/s" if others else ""
    yield f"fix: {remedy}{beyond}"
