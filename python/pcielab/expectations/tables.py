"""The published figures that ranges rest on: rows of whole boxes, and single figures of `pcielab normal`.

`profiles/published/boxes.csv` has one figure of a box a row: the question that it answers, in the language of
`pcielab expect --ask`, and the edge that its source shows to be the limit (`informs`). `profiles/published/boxes/`
has the boxes as machines. `profiles/published/figures.csv` adds copies of single devices, by `what` and `engine`.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from pcielab.errors import found_in, refusal
from pcielab.expectations.answers import facets_of_all_to_all, via_of_ring, without_staging
from pcielab.expectations.described import read_described
from pcielab.expectations.edges import Edge, EdgeKind, Facets, Flow, flows_of
from pcielab.expectations.latencies import facets_of_latency
from pcielab.expectations.machine import Link, Machine, link_of_word
from pcielab.expectations.packets import facets_of_packets
from pcielab.expectations.processors import family_of_name
from pcielab.expectations.questions import Question, read_question
from pcielab.expectations.ranges import Observation, Ranges
from pcielab.expectations.sharing import equal_rate, fair_rates
from pcielab.library import shipped
from pcielab.library.input_files import read_text
from pcielab.library.published_figures import PublishedFigure, published_figures

_ROWS = "published/boxes.csv"
_BOXES = "published/boxes"
_SCALES = {"GB/s": 1.0, "Gb/s": 1 / 8, "GiB/s": 1.073741824, "us": 1.0, "MB/s": 1e-3, "Mpps": 1.0, "M/s": 1.0}
_PACKET_UNITS = ("Mpps", "M/s")
_INFORMED = (*get_args(EdgeKind), "ring", "all-to-all", "latency")
_AT_LEAST = " at least"
_OF_HOPS = ("ring", "all-to-all")
_LARGE_BYTES, _LARGE_BLOCK_BYTES = 1 << 20, 1 << 16
_SITES_OF_SOURCES = {"nccl-2036": "rtx6kpro"}
"""Sources of single figures that are the same site as a box, and must be left out with it."""


@dataclass(frozen=True)
class BoxRow:
    """One published figure of a box.

    Attributes:
        id: The row: the box's number and a letter; never renumbered.
        site: Boxes of one site are not independent.
        box: Name of its machine.
        asks: The question that it answers.
        value: The figure, in `unit`.
        quantity: What was measured, as the source has it.
        unit: `GB/s`, `GiB/s`, `Gb/s` or `us`.
        conditions: As the source states them.
        confidence: high, medium or low.
        limit: Kind of the edge that the source established as the limit; empty: none.
        informs: Kind of the edge that the figure says something about; empty: none.
        note: Remarks.
        source_title: Title of the source.
        source_ref: Its address.
    """

    id: str
    site: str
    box: str
    asks: str
    value: float
    unit: str
    quantity: str
    conditions: str
    confidence: str
    limit: str
    informs: str
    note: str
    source_title: str
    source_ref: str

    @property
    def informed(self) -> list[str]:
        """The kinds of edges that it informs; ` at least` follows one that did not hold it down."""
        return self.informs.split(" + ") if self.informs else []

    @property
    def scaled(self) -> float:
        """The figure in GB/s, or in us."""
        return self.value * _SCALES[self.unit]


@cache
def box_rows(path: Path | None = None) -> tuple[BoxRow, ...]:
    """The rows of a table; None: the shipped one.

    Raises:
        InputError: A row is malformed.
    """
    path = path or shipped.directory("profiles") / _ROWS
    found: list[BoxRow] = []
    for number, row in enumerate(csv.DictReader(read_text(path).splitlines()), start=2):
        with found_in(f"{path}: row {number}"):
            found.append(_row(row))
    ids = [row.id for row in found]
    if len(set(ids)) < len(ids):
        raise refusal("conflict", f"{path}: an id is there twice: number new rows on")
    return tuple(found)


def _row(row: dict[str, str]) -> BoxRow:
    if missing := set(BoxRow.__dataclass_fields__) - set(row):
        raise refusal("missing", f"{', '.join(sorted(missing))}: no such column: give every column of boxes.csv")
    try:
        value = float(row["value"])
    except ValueError:
        raise refusal("wrong-type", f"value is {row['value']}: give a number") from None
    if row["unit"] not in _SCALES or not math.isfinite(value) or value <= 0:
        raise refusal("wrong-value", f"{value:g} {row['unit']}: give a positive number in {', '.join(_SCALES)}")
    for word in row["informs"].split(" + ") if row["informs"] else ():
        if word.removesuffix(_AT_LEAST) not in _INFORMED:
            raise refusal("wrong-value", f"informs is {word}: give one of {', '.join(_INFORMED)}")
    texts = {key: row[key] for key in BoxRow.__dataclass_fields__ if key != "value"}
    return BoxRow(value=value, **texts)


@cache
def box(name: str, folder: Path | None = None) -> Machine:
    """The machine of a box, shipped or in a folder."""
    return read_described((folder or shipped.directory("profiles") / _BOXES) / f"{name}.toml")


def box_names() -> list[str]:
    """The names of the shipped boxes."""
    return sorted(path.stem for path in (shipped.directory("profiles") / _BOXES).glob("*.toml"))


@cache
def shipped_ranges(without: str = "") -> Ranges:
    """The ranges of the shipped tables.

    Args:
        without: A site whose rows, and whatever rests on them, are left out.
    """
    return Ranges(observations(box_rows(), without=without))


def observations(rows: Iterable[BoxRow], *, without: str = "") -> Iterator[Observation]:
    """What rows of boxes, and the shipped single figures, say of edges; one site is left out."""
    used = [row for row in rows if row.informs and row.confidence != "low" and row.site != without]
    edges = [one for one in _single_figures() if one.site != without]
    edges += [_observation(row, word, None) for row in used for word in row.informed if word not in _OF_HOPS]
    yield from edges
    hops = Ranges(edges)
    yield from (_observation(row, word, hops) for row in used for word in row.informed if word in _OF_HOPS)


def _observation(row: BoxRow, word: str, hops: Ranges | None) -> Observation:
    with found_in(f"{_ROWS}: {row.id}"):
        machine = box(row.box)
        kind = word.removesuffix(_AT_LEAST)
        facets, share = _observed(row, kind, machine, read_question(row.asks, machine), hops)
        return Observation(row.id, row.site, facets, share, kind == word)


def _observed(
    row: BoxRow, kind: str, machine: Machine, question: Question, hops: Ranges | None
) -> tuple[Facets, float]:
    """The facets of the edge that a row informs, and what it reached; `hops`: of rings and all-to-all traffic."""
    if kind == "latency":
        [pair, *_] = question.pairs or ((question.devices[0], question.devices[0]),)
        return facets_of_latency(machine, question.kind.removeprefix("latency-"), *pair)[0], row.scaled
    flows = flows_of(question, machine)
    if hops is not None:
        return _of_hops(row, question, flows, hops)
    edges = [edge for edge in dict.fromkeys(edge for flow in flows for edge in flow.edges) if edge.kind == kind]
    if not edges:
        raise refusal("conflict", f"informs {kind}: the question {row.asks} has no such edge")
    rates, limits = fair_rates(
        [flow.edges for flow in flows], {edge: edge.nominal for flow in flows for edge in flow.edges}
    )
    edge = next((edge for edge in limits if edge in edges), edges[0])
    if edge.is_absolute:
        return _all_facets(edge), row.scaled / len(edges)
    return _all_facets(edge), row.scaled / sum(rates)


def _all_facets(edge: Edge) -> Facets:
    """All facets of an edge: those of its own kind, known ones alone."""
    chain = edge.at_once or edge.facets
    kind = chain[0]["edge"]
    found: Facets = {}
    for facets in reversed([one for one in chain if one["edge"] == kind]):
        found |= facets
    return {key: value for key, value in found.items() if value}


def _of_hops(row: BoxRow, question: Question, flows: list[Flow], ranges: Ranges) -> tuple[Facets, float]:
    """What a ring or all-to-all traffic reached of its worst hop, at what comparable edges reach."""
    middle = {edge: _middle(edge, ranges) for flow in flows for edge in flow.edges}
    if question.kind.startswith("all-to-all"):
        rate, limit = equal_rate([flow.edges for flow in flows], middle)
        return facets_of_all_to_all(limit)[0], row.scaled / (rate * len(flows))
    via = via_of_ring(question, flows)
    used = middle if via == "p2p" else {edge: edge.nominal for edge in middle}
    worst, _ = equal_rate([without_staging(flow) for flow in flows], used)
    return {"edge": "ring", "via": via}, row.scaled / worst


def _middle(edge: Edge, ranges: Ranges) -> float:
    found = ranges.of_edge(edge)
    if found is None or not math.isfinite(found.upper):
        return edge.nominal
    return min(found.middle * (1.0 if edge.is_absolute else edge.nominal), edge.bound)


@cache
def _single_figures() -> tuple[Observation, ...]:
    """What single published figures say of links, root complexes and copy engines."""
    return tuple(_all_single_figures())


def _all_single_figures() -> Iterator[Observation]:
    figures = published_figures()
    for figure in figures.values():
        link = link_of_word(figure.question_link)
        if link is None or figure.unit not in _SCALES or figure.engine not in ("copy", "dma"):
            continue
        found = _of_copy(figure, link)
        if found is not None:
            yield _single(figure, *found)
    for figure in figures.values():
        if figure.what == "iops" and figure.kind == "nic" and figure.unit in _PACKET_UNITS:
            [facets] = facets_of_packets(figure.line_gbps)
            yield _single(figure, {key: value for key, value in facets.items() if value}, 1.0)
    for row, (facets, is_limit) in _OTHER_FIGURES.items():
        figure = figures[row]
        family = family_of_name(figure.cpu)
        of_family = {"family": family.name, "lineage": family.lineage} if family else {}
        yield _single(figure, {**facets, **of_family}, _reference(figure, facets), is_limit=is_limit)


def _single(figure: PublishedFigure, facets: Facets, reference: float, *, is_limit: bool = True) -> Observation:
    site = _SITES_OF_SOURCES.get(figure.source_key, figure.source_key)
    return Observation(figure.id, site, facets, figure.value * _SCALES[figure.unit] / reference, is_limit)


def _of_copy(figure: PublishedFigure, link: Link) -> tuple[Facets, float] | None:
    """The link or engine that a large copy informs, and the model's value of it; None: none for sure."""
    large_bytes = _LARGE_BLOCK_BYTES if figure.kind == "nvme" else _LARGE_BYTES
    if figure.confidence == "low" or (figure.size_bytes is not None and figure.size_bytes < large_bytes):
        return None
    generation, what = str(link.generation), figure.what
    reads, writes = link.payload_gbytes_per_s("down", reads=True), link.payload_gbytes_per_s("up", reads=False)
    base: Facets = {"kind": figure.kind, "generation": generation}
    if vendor := _vendor(figure.device):
        base["vendor"] = vendor
    if figure.state == "other-way-busy" and figure.kind == "gpu" and figure.engine == "copy":
        return {"edge": "busy", "use": what} | base, reads if what == "h2d" else writes
    if figure.state or figure.cause or figure.kind not in ("gpu", "nvme") or figure.id in _BESIDE_CHIPSETS:
        return None
    if what in ("h2d", "d2h"):
        return {"edge": "link", "use": what} | base, reads if what == "h2d" else writes
    if what == "p2p" and figure.engine == "copy":
        return {"edge": "link", "use": "p2p"} | base, writes
    if what == "both" and figure.kind == "gpu":
        use = "p2p" if "P2P" in figure.quantity else "host"
        return {"edge": "both-ways", "use": use} | base, reads + writes
    return None


def _vendor(device: str) -> str:
    """The vendor of a GPU by its name; empty if it says nothing."""
    return next((vendor for vendor, pattern in _VENDORS.items() if re.search(pattern, device)), "")


_VENDORS = {
    "nvidia": r"\b(RTX|GTX|Tesla|Quadro|[AHBLVP]\d{1,3}|T4|GH\d+)\b|\bA\d{3,4}\b",
    "amd": r"\b(MI\d+\w*|RX \d|Radeon|Instinct)",
}
_BESIDE_CHIPSETS = ("M177",)
"""Copies between devices of a chipset, whose own link limits them (cause D06)."""
_OTHER_FIGURES: dict[str, tuple[Facets, bool]] = {
    "M001": ({"edge": "stores"}, True),
    "M162": ({"edge": "stores"}, True),
    "M030": ({"edge": "staging", "ways": "one"}, True),
    "M173": ({"edge": "staging", "ways": "one"}, True),
    "M195": ({"edge": "staging", "ways": "one"}, True),
    "M062": ({"edge": "crossing", "scope": "one-socket", "operation": "read"}, True),
    "M063": ({"edge": "crossing", "scope": "one-socket", "operation": "write"}, False),
    "M209": ({"edge": "crossing", "scope": "one-socket", "operation": "write"}, True),
    "M212": ({"edge": "crossing", "scope": "one-socket", "operation": "write"}, True),
    "M221": ({"edge": "crossing", "scope": "one-socket", "operation": "write"}, True),
    "M399": ({"edge": "crossing", "scope": "one-socket", "operation": "write"}, False),
    "M232": ({"edge": "crossing", "scope": "other-socket", "operation": "write"}, True),
    "M161": ({"edge": "memory-crossing"}, False),
    "M341": ({"edge": "memory", "data": "up"}, True),
    "M230": ({"edge": "memory", "data": "down"}, True),
    "M220": ({"edge": "shared-link", "generation": "4"}, True),
    "M159": ({"edge": "media", "operation": "read"}, True),
    "M010": ({"edge": "latency", "how": "read", "scope": "one-socket"}, True),
    "M192": ({"edge": "latency", "how": "read", "scope": "one-socket"}, True),
    "X067": ({"edge": "latency", "how": "read", "scope": "one-socket"}, True),
    "M175": ({"edge": "latency", "how": "write", "scope": "one-socket"}, True),
    "M196": ({"edge": "latency", "how": "staged"}, True),
    "M243": ({"edge": "latency", "how": "rdma"}, True),
    "M244": ({"edge": "latency", "how": "rdma"}, True),
}
"""Rows of single figures whose fields do not say which edge they inform: the edge, and whether it limited.

A core's load of a device's memory passes the root complex as another device's read does.
"""
_DEVICES = {"M341": 4, "M230": 4, "M220": 2}
"""How many devices, or links, a row's value is multiplied by or shared among."""
_MEDIA_GBYTES_PER_S = {"M159": 5.0}
"""What the drive's vendor states: FireCuda 520, sequential read."""


def _reference(figure: PublishedFigure, facets: Facets) -> float:
    """What the value of a row is a share of; 1 where it is GB/s or us itself."""
    edge, row = facets["edge"], figure.id
    if edge == "latency":
        return 1.0
    if edge == "memory":
        return 1.0 / _DEVICES[row]
    if row in _MEDIA_GBYTES_PER_S:
        return _MEDIA_GBYTES_PER_S[row]
    link = link_of_word(figure.question_link.removeprefix(f"{_DEVICES.get(row)}x"))
    assert link is not None, f"{row}: names no link"
    reads = figure.what == "h2d" or facets.get("operation") == "read"
    one = link.payload_gbytes_per_s("down" if reads else "up", reads=reads) * _DEVICES.get(row, 1)
    both = link.payload_gbytes_per_s("down", reads=True) + link.payload_gbytes_per_s("up", reads=False)
    return both if figure.what == "both" else one
