"""Causes to check by hand on a measured machine: those that fit the symptoms of its rows.

Several rows together show a symptom, for example reads further from their bound than writes. The causes are the
doctor's; those that registers would show are left out if the run's text of lspci rules them out. A simulated run
has
none: its profile holds every cause.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pcielab.doctor import RULES, Cause, Function, Severity, Tree, causes, examine
from pcielab.doctor.stores import ATTACHMENT, tree_of_store
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.kinds.transfers.explain import Explanation, Row
from pcielab.store import Store
from pcielab.wording import byte_size

_FAR_BELOW = 0.8
_APART = 0.1
_FALLS = 0.85
_LONG_TAIL = 3.0
_LARGE_BYTES, _SMALL_BYTES = 1024, 256
_OVER = 1.02


@dataclass(frozen=True)
class Check:
    """A cause that fits.

    Attributes:
        key: An ID of `causes.toml`, as D01.
        cause: Its symptoms, check, measured cost and source.
        seen: The symptoms of this run that fit it.
    """

    key: str
    cause: Cause
    seen: tuple[str, ...]


def checks(store: Store, explanation: Explanation) -> list[Check]:
    """Causes to check by hand, those that fit most symptoms first; empty if the run is not measured."""
    if store.origin != "measured":
        return []
    seen = dict(_symptoms(store, explanation))
    settled = _settled(store)
    found = [
        Check(key, cause, tuple(seen[symptom] for symptom in cause.symptoms if symptom in seen))
        for key, cause in causes().items()
        if key not in settled
    ]
    return sorted(
        (check for check in found if check.seen), key=lambda check: (-len(check.seen), check.cause.grade)
    )


def _settled(store: Store) -> set[str]:
    """Causes that the registers in the run's text rule out."""
    if ATTACHMENT not in store.attachments:
        return set()
    tree = tree_of_store(store)
    visible = {rule.cause for rule in RULES if rule.cause in _shown_by_registers(tree)}
    return visible - {one.cause for one in examine(tree).findings if one.severity is not Severity.NOTE}


def _shown_by_registers(tree: Tree) -> set[str]:
    """The causes that a text of lspci decides, if it was made as root."""
    devices = [function for function in tree.functions if function.is_endpoint]
    if not devices or not all(map(_is_shown, devices)):
        return set()
    return {"D01", "D02", "D03", "D06", "D07", "D08", "D10", "D11", "D12", "D14", "D27"}


def _is_shown(device: Function) -> bool:
    """Whether the text shows what a device and its link support."""
    control, link = device.control, device.link
    return (
        control is not None and control.max_payload_bytes is not None and link is not None and bool(link.max_lanes)
    )


def _symptoms(store: Store, explanation: Explanation) -> Iterator[tuple[str, str]]:
    rows, facts = explanation.rows, explanation.facts
    if facts is None:
        return
    yield from _sizes(rows)
    yield from _directions(rows)
    yield from _windows(rows, facts)
    yield from _tails(store.records())
    if facts.setup.memory_is_local is False:
        yield "remote", "the buffer is on another socket than the device"
    if "EPYC" in str(facts.setup.host):
        yield "amd", "the processor is an EPYC, whose fabric has settings"


def _sizes(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    large = [row.share for row in rows if row.size_bytes >= _LARGE_BYTES]
    small = [row.share for row in rows if row.size_bytes <= _SMALL_BYTES]
    if large and median(large) < _FAR_BELOW:
        yield "large", f"transfers of {_LARGE_BYTES} B and more reach {median(large):.2f} of their bound"
    if small and median(small) < _FAR_BELOW:
        yield "small", f"transfers of {_SMALL_BYTES} B and less reach {median(small):.2f} of their bound"
    # Nothing exceeds the wire; other bounds use latencies that include the device's own time.
    most = max((row.share for row in rows if row.answer.bound.startswith("wire")), default=0.0)
    if most > _OVER:
        yield "above", f"a row is {most:.2f} times what the wire allows"


def _directions(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    of = {
        operation: [row.share for row in rows if row.parameters["operation"] == operation]
        for operation in ("bw-rd", "bw-wr", "bw-rdwr")
    }
    if not of["bw-rd"] or not of["bw-wr"]:
        return
    reads, writes = median(of["bw-rd"]), median(of["bw-wr"])
    if reads + _APART < writes:
        yield "reads", f"reads reach {reads:.2f} of their bound, writes {writes:.2f}"
    if writes + _APART < reads:
        yield "writes", f"writes reach {writes:.2f} of their bound, reads {reads:.2f}"
    if of["bw-rdwr"] and median(of["bw-rdwr"]) + _APART < min(reads, writes):
        yield "both", f"both at once reach {median(of['bw-rdwr']):.2f} of their bound, less than each alone"


def _windows(explained: Sequence[Row], facts: MachineFacts) -> Iterator[tuple[str, str]]:
    """Bandwidth that falls as the window grows, with all else equal."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in explained:
        alike = tuple(row.parameters[key] for key in ("operation", "size_bytes", "cache", "pattern"))
        groups.setdefault((row.family, *alike), []).append(row)
    worst: tuple[float, Row] | None = None
    for rows in groups.values():
        first = min(rows, key=lambda row: row.parameters["window_bytes"])
        last = max(rows, key=lambda row: row.parameters["window_bytes"])
        kept = last.value_gbps / first.value_gbps if first.value_gbps else 1.0
        if kept < _FALLS and (worst is None or kept < worst[0]):
            worst = kept, last
    if worst is None:
        return
    kept, row = worst
    window = row.parameters["window_bytes"]
    seen = f"{row.name} of {row.size_bytes} B keeps {kept:.2f} of its bandwidth in a window of {byte_size(window)}"
    yield "window", seen
    if facts.setup.iommu in ("super-pages", "four-kib-pages"):
        yield "iommu", f"{seen}, behind an IOMMU"


def _tails(records: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    worst: tuple[float, str] = (0.0, "")
    for record in records:
        of = {row["metric"]: row["value"] for row in record["scalars"] if not row["subject"]}
        if of.get("median") and of.get("p999"):
            worst = max(worst, (of["p999"] / of["median"], record["name"]))
    if worst[0] >= _LONG_TAIL:
        yield "tail", f"the 99.9th percentile of {worst[1]} is {worst[0]:.1f} times the median"
