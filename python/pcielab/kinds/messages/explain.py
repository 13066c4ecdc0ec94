"""Messages from a core: the closed form of each way of sending, and the steps of a message alone.

A stream's rate is compared with the model's bounds, and with the wire at the bytes that the run itself counted.
A message alone has a latency, compared with the model's; its longest step is named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pcielab import model
from pcielab.kinds.explained import (
    MARKED_BELOW,
    NO_KNOWN_CAUSE,
    Explained,
    ExplainedRun,
    Limit,
    check_has,
)
from pcielab.kinds.rooms import Explain, OfPaper
from pcielab.library.link import Link
from pcielab.library.message_profiles import RecordedMessages, recorded_messages
from pcielab.model.answers import Sending
from pcielab.store import Store

if TYPE_CHECKING:
    from pcielab.kinds.messages.published import MessageNumbers
    from pcielab.kinds.published.values import Published

_ASKED = (
    *("size_bytes", "way", "pace", "cores", "generation", "lanes"),
    *("store_bytes", "store_kind", "stores_up_to_bytes"),
)
_WAYS = {"uncached": "uncached", "write-combined": "write_combined", "descriptors": "descriptors"}
_LOADS = ("uncached-load", "streaming-load", "read-modify-write")
_WORD_BYTES, _LINE_BYTES = 8, 64
_STALLS = {
    "buffers": "write-combining buffers",
    "queue": "space in the device's queue",
    "lock": "the queue's lock",
}
_STEPS = (
    "first-store",
    "last-store",
    "doorbell",
    "descriptor-request",
    "descriptor",
    "payload-request",
    "payload",
)
"""The steps that a message's latency ends with; those after it are of the loop and the answers."""
_LEAST_STALL = 0.05
"""Least share of a message's time that a stall takes to be named."""
_SLOWER = 1.05
_MODELLED_STORE_BYTES = (None, 8)


def explain_messages(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The messages of a run among `tests`, each with its limits."""
    manifest = store.manifest
    profile = recorded_messages(manifest, str(store.path)) if manifest.get("messages") else None
    records = [record for record in store.records() if record["id"] in tests and record["status"] == "ok"]
    for record in records:
        check_has({"id": record["id"], **record["parameters"]}, ("size_bytes", "way", "pace"), store.path)
    rows = [row for record in records if (row := _row(record, profile)) is not None]
    if profile is None:
        notes = ["no message profile in the manifest: no limits known"]
        return ExplainedRun(rows, "stores of a real core", notes)
    link = profile.link
    return ExplainedRun(rows, f"{profile.name}, Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}", [])


def _row(record: Mapping[str, Any], profile: RecordedMessages | None) -> Explained | None:
    parameters = record["parameters"]
    whole = {row["metric"]: float(row["value"]) for row in record["scalars"] if not row["subject"]}
    alone = parameters["pace"] == "alone" and "median" in whole
    value = whole.get("median" if alone else "bandwidth")
    if value is None:
        return None
    link = _link(parameters, profile)
    sending = _sending(parameters, profile, link)
    limit = _round_trips(parameters, profile, alone=alone)
    limits = (limit,) if limit else tuple(_least(sending) if alone else _most(sending, parameters, whole, link))
    return Explained(
        test=int(record["id"]),
        family=record["family"],
        name=record["name"],
        asked={key: parameters.get(key) for key in _ASKED},
        value=value,
        unit="ns" if alone else "Gb/s",
        limits=limits,
        parts={f"{metric}_ns": whole.get(metric) for metric in ("median", "cpu")}
        | {"downstream_bytes": whole.get("downstream_bytes")},
        reasons=tuple(_reasons(record, value, limits, alone=alone)),
    )


def _link(parameters: Mapping[str, Any], profile: RecordedMessages | None) -> Link | None:
    if profile is None:
        return None
    generation, lanes = parameters.get("generation"), parameters.get("lanes")
    if generation is None or lanes is None:
        return profile.link
    return replace(profile.link, generation=generation, lanes=lanes, flit_mode=None)


def _sending(parameters: Mapping[str, Any], profile: RecordedMessages | None, link: Link | None) -> Sending | None:
    """The closed form of a test; None if it has none: of a mux, fences, or stores of other widths."""
    way = _WAYS.get(parameters["way"])
    if profile is None or way is None or parameters.get("store_bytes") not in _MODELLED_STORE_BYTES:
        return None
    [answer] = model.messages(profile, [parameters["size_bytes"]], link=link)
    found: Sending = getattr(answer, way)
    return found


def _round_trips(parameters: Mapping[str, Any], profile: RecordedMessages | None, *, alone: bool) -> Limit | None:
    """What round trips allow loads: one in flight, or as many lines as the core's buffers hold."""
    if parameters["way"] not in _LOADS or profile is None or profile.loads is None:
        return None
    size, width = int(parameters["size_bytes"]), int(parameters.get("store_bytes") or _WORD_BYTES)
    trip_ns = profile.loads.round_trip_ns
    if parameters["way"] == "read-modify-write":
        stores = profile.stores
        trip_ns += stores.uncached_interval_ns or stores.stream_interval_ns
    streams = parameters["way"] == "streaming-load"
    trips = -(-size // _LINE_BYTES) / profile.loads.streaming_lines if streams else -(-size // width)
    if alone:
        return Limit("round-trip", max(trips, 1) * trip_ns)
    cores = parameters.get("cores") or 1
    return Limit("streaming-lines" if streams else "round-trip", cores * 8 * size / (trips * trip_ns))


def _least(sending: Sending | None) -> Iterator[Limit]:
    """The least latency of a message alone."""
    if sending is not None:
        yield Limit("one-message", sending.latency_ns)


def _most(
    sending: Sending | None, parameters: Mapping[str, Any], whole: Mapping[str, float], link: Link | None
) -> list[Limit]:
    """The limits of a stream, tightest first."""
    found = {}
    cores = parameters.get("cores") or 1
    for ceiling in sending.bandwidth.ceilings if sending is not None else ():
        # All cores share the link; the other limits are of each core and its queue.
        shared = ceiling.bound.startswith("wire")
        if shared or cores == 1 or parameters.get("sharing") == "own-queues":
            found[str(ceiling.bound)] = ceiling.gbps * (1 if shared else cores)
    counted = whole.get("downstream_bytes")
    rate, bandwidth = whole.get("rate"), whole.get("bandwidth")
    if not found and link is not None and counted and rate and bandwidth:
        capacity = model.bandwidth(link, [64])[0].tlp_gbps
        found["wire-downstream"] = bandwidth * capacity / (8e-9 * counted * rate)
    return sorted((Limit(*item) for item in found.items()), key=lambda limit: limit.value)


def _reasons(record: Mapping[str, Any], value: float, limits: Sequence[Limit], *, alone: bool) -> Iterator[str]:
    found = list(_longest_step(record["scalars"])) if alone else []
    whole_ns = value if alone else _interval_ns(record["scalars"])
    stalls = [row for row in record["scalars"] if row["metric"] == "stall" and row["subject"] in _STALLS]
    for row in sorted(stalls, key=lambda row: -row["value"]):
        if whole_ns and row["value"] > _LEAST_STALL * whole_ns:
            found.append(f"the core waits {row['value']:.0f} ns a message for {_STALLS[row['subject']]}")
    if limits and alone and value > _SLOWER * limits[0].value:
        found.append(f"{value - limits[0].value:.0f} ns over one message alone")
    if limits and not found and not alone and value < MARKED_BELOW * limits[0].value:
        found.append(NO_KNOWN_CAUSE)
    yield from found


def _interval_ns(scalars: Sequence[Mapping[str, Any]]) -> float | None:
    """Time from one message to the next."""
    rate = next((row["value"] for row in scalars if row["metric"] == "rate" and not row["subject"]), None)
    return 1e9 / rate if rate else None


def _longest_step(scalars: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The longest of the steps of a message, which are times after its first packet."""
    at = [row for row in scalars if row["metric"] == "at" and row["subject"] in _STEPS]
    steps = sorted((float(row["value"]), row["subject"]) for row in at)
    gaps = [(end[0] - start[0], start[1], end[1]) for start, end in pairwise(steps)]
    if len(gaps) > 1:
        took, start, end = max(gaps)
        yield f"longest step: {took:.0f} ns from {start} to {end}"


def _published(store: Store, known: "Published") -> "MessageNumbers":
    from pcielab.kinds.messages.published import MessageNumbers

    return MessageNumbers(store, known)


EXPLAIN = Explain(
    rows=explain_messages,
    told=("size_bytes", "way", "pace", "cores"),
    published=OfPaper({"way", "size_bytes", "generation", "cores"}, _published),
)
