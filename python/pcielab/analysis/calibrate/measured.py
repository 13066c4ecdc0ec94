"""The measured rows that a machine is calibrated from, and what is recorded of it.

They come from a store, or from a folder in the published format in which any rows may be missing. Such a folder
is read with the importer's own readers and not imported: it may hold a distribution whose row is missing, as that
of a pack does, for which a store would have no test. A row counts if it is one of the suite `paper`, for its place
there says what the machine had done before.
"""

import csv
import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.analysis.calibrate.facts import CARDS
from pcielab.analysis.compare import Difference, differences
from pcielab.errors import InputError
from pcielab.formats.importers.pcie_bench.distributions import FORMS, Section, sections_of
from pcielab.formats.importers.pcie_bench.rows import read_rows
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import CACHE_STATES, FAMILIES, NFP6000_TIMER
from pcielab.library.input_files import read_text_roughly
from pcielab.library.profiles import resolve
from pcielab.library.suites import Suite, load_suite
from pcielab.store import Store, open_store
from pcielab.store.identity import Identity, identity
from pcielab.wording import byte_size, shown

RowKey: TypeAlias = tuple[str, str, str, int, int]
"""Family, test, cache state (as published), window and size in bytes: what a pack names rows by."""

REFRESH_TEST = "test=LAT_DMA_RD trans_sz=64 win_sz=8192 cache=cold"
REFRESH_FAMILY = "lat_dma_details"
"""The one distribution of a pack."""

EXACT, _ROUGH = 0.004, 0.02
_SHOWN_DIFFERENCES = 3
_EXACT_READS_BYTES = (64, 512)

_CACHE_WORDS = {state: word for word, state in CACHE_STATES.items()}


@dataclass(frozen=True)
class Row:
    """One measured row, and its place in the suite `paper`."""

    place: int
    family: str
    test: dict[str, Any]
    name: str
    bandwidth_gbps: float | None = None
    average_ns: float | None = None
    median_ns: float | None = None
    bandwidth_share: float = EXACT
    """A bandwidth that is relatively this far off is as good as can be."""
    slowed_share: float | None = None
    """The same for a prediction above it, where what is not modelled slows the machine down; None: the same."""

    @property
    def key(self) -> RowKey:
        """What a pack calls it."""
        asked = self.test
        cache = _CACHE_WORDS[asked["cache"]]
        return self.family, self.name, cache, int(asked["window_bytes"]), int(asked["size_bytes"])

    @property
    def label(self) -> str:
        """The row in words, short enough for a provenance note."""
        asked = self.test
        offsets = "".join(
            f" at {whose} offset {asked[f'{whose}_offset_bytes']}"
            for whose in ("host", "device")
            if asked[f"{whose}_offset_bytes"]
        )
        shown = byte_size(int(asked["window_bytes"]))
        return f"{self.name} {asked['size_bytes']} B {self.key[2]} {shown}{offsets}"


@dataclass(frozen=True)
class Measured:
    """What was measured on one machine, and what is recorded of it.

    Attributes:
        source: Name of the folder or store.
        rows: The rows, in the order of the suite.
        texts: The `sys-*.txt` files by name.
        refresh: Distribution of 64 B cold DMA reads of an 8 KiB window: ticks and shares of samples at each, in
            order; empty without one.
        warnings: What was left aside, in words.
    """

    source: str
    rows: tuple[Row, ...]
    texts: dict[str, str]
    refresh: tuple[tuple[int, float], ...] = ()
    warnings: tuple[str, ...] = field(default=())


def read_measured(path: Path, pack: Path | None = None) -> Measured:
    """What `path` holds: a folder in the published format, or a store.

    Args:
        path: The folder or store; a folder need not have all families, nor a family all rows.
        pack: A CSV file that names the rows to use (family, test, cache, window_bytes, size_bytes); only they
        count.

    Raises:
        InputError: Nothing can be read, or there is no row that the suite knows.
    """
    chosen = read_pack(pack) if pack is not None else None
    if path.is_dir():
        records, texts, refresh, warnings = _of_folder(path)
    else:
        records, texts, refresh, warnings = _of_store(path)
    suite = _paper()
    rows, unknown = _placed(suite, records)
    if unknown:
        warnings.append(f"{unknown} rows are not of the suite paper, and were left aside")
    if chosen is not None:
        rows = [row for row in rows if row.key in chosen and not _offset(row)]
        missing = len(chosen - {row.key for row in rows})
        if missing:
            warnings.append(f"{missing} of the {len(chosen)} rows that {pack} names are not there")
    if not rows:
        named = f" that {pack} names" if pack is not None else ""
        raise InputError(
            f"{path}: has no row{named} of the suite paper: give a folder with bw_*.csv and lat_*.csv files of a "
            "pcie-bench run, or a store of one"
        )
    return Measured(path.resolve().name, tuple(rows), texts, refresh, tuple(warnings))


@cache
def _paper() -> Suite:
    return load_suite("paper")


def read_pack(path: Path) -> set[RowKey]:
    """The rows that a pack names.

    Raises:
        InputError: The file cannot be read, or is none.
    """
    columns = ("family", "test", "cache", "window_bytes", "size_bytes")
    lines = read_text(path).splitlines()
    table = csv.DictReader(lines)
    if tuple(table.fieldnames or ()) != columns:
        raise InputError(f"{path}, line 1: the columns are {lines[0][:200]!r}: a pack has {','.join(columns)!r}")
    chosen = set()
    for number, line in enumerate(table, start=2):
        try:
            sizes = int(line["window_bytes"]), int(line["size_bytes"])
        except (TypeError, ValueError):
            raise InputError(f"{path}, line {number}: window_bytes and size_bytes must be whole numbers") from None
        chosen.add((line["family"], line["test"], line["cache"], *sizes))
    return chosen


_Found: TypeAlias = tuple[list[dict[str, Any]], dict[str, str], tuple[tuple[int, float], ...], list[str]]


def _of_folder(folder: Path) -> _Found:
    files = {path.stem: path for path in sorted(folder.glob("*.csv")) if path.stem.startswith(("bw_", "lat_"))}
    records: list[dict[str, Any]] = []
    warnings: list[str] = []
    for family in FAMILIES:
        path = files.get(family)
        if path is None:
            continue
        if len(read_text(path).splitlines()) < 2:
            warnings.append(f"{path.name} has no rows")
            continue
        records.extend(read_rows(path, NFP6000_TIMER))
    texts = {path.name: read_text_roughly(path) for path in sorted(folder.glob("sys-*.txt"))}
    return records, texts, _refresh_of_folder(folder), warnings


def _refresh_of_folder(folder: Path) -> tuple[tuple[int, float], ...]:
    """The section of the one distribution: by its name, or the first one where sections have none."""
    for form in sorted(FORMS, key=lambda form: form == ".csv"):
        path = folder / f"{REFRESH_FAMILY}_cdf{form}"
        if not path.exists():
            continue
        for section in sections_of(path):
            if section.label in (REFRESH_TEST, None):
                return _shares(section)
    return ()


def _shares(section: Section) -> tuple[tuple[int, float], ...]:
    found = []
    below = 0.0
    for cycles, share in zip(section.cycles, section.shares, strict=True):
        if share > below:
            found.append((cycles // NFP6000_TIMER.cycles, share - below))
        below = share
    return tuple(found)


def _of_store(path: Path) -> _Found:
    store = open_store(path)
    store.require_kind("transfers", "calibrating")
    store.require_speed("calibrating")
    _require_known_card(store)
    records = []
    refresh: tuple[tuple[int, float], ...] = ()
    for record in store.records():
        if record["status"] != "ok":
            continue
        records.append(record)
        asked = record["parameters"]
        is_refresh = record["family"] == REFRESH_FAMILY and record["name"] == "LAT_DMA_RD"
        if is_refresh and (asked["size_bytes"], asked["window_bytes"], asked["cache"]) == (64, 8192, "cold"):
            bins = [pair for one in record["distributions"] for pair in one["bins"]]
            total = sum(count for _, count in bins) or 1
            refresh = tuple((tick, count / total) for tick, count in bins)
    return records, store.attachments, refresh, []


def _require_known_card(store: Store) -> None:
    """Refuse a run of a device whose constants are not those that calibration knows, whatever it is called.

    Raises:
        InputError: The store says that it is of another device; names the keys that differ.
    """
    device = (store.manifest.get("system") or {}).get("device")
    if not device:
        return
    name = str(device.get("name"))
    apart = {card: _apart(card, device) for card in CARDS}
    if not all(apart.values()) and ("dma" in device or name in CARDS):
        return
    nearest = min(CARDS, key=lambda card: len(apart[card]))
    keys = [str(one) for one in apart[nearest][:_SHOWN_DIFFERENCES]]
    more = len(apart[nearest]) - len(keys)
    listed = ", ".join([*keys, f"{more} more"] if more > 0 else keys)
    raise InputError(
        f"{store.path}: its device {shown(name)} is not the shipped {nearest} ({listed}): calibration knows the "
        f"constants of the NFP-6000 ({', '.join(CARDS)}) only"
    )


def _apart(card: str, device: dict[str, Any]) -> list[Difference]:
    """In what a device of a manifest is not the shipped one; a key that the manifest lacks says nothing."""
    shipped = json.loads(resolve("hsw2620", [f"device={card}"]).to_json())["device"]
    return [
        one for one in differences({"device": shipped}, {"device": device}) if one.b is not None or one.a is None
    ]


def _placed(suite: Suite, records: list[dict[str, Any]]) -> tuple[list[Row], int]:
    """The records that are tests of the suite, at their places, and how many are not.

    A test that occurs several times is taken in order.
    """
    places: defaultdict[Identity, list[int]] = defaultdict(list)
    for place, test in enumerate(suite.tests):
        places[identity(**test)].append(place)
    rows = []
    unknown = 0
    for record in records:
        known = places[identity(record["family"], record["name"], record["parameters"])]
        if not known:
            unknown += 1
            continue
        values = {
            scalar["metric"]: float(scalar["value"]) for scalar in record["scalars"] if not scalar.get("subject")
        }
        place = known.pop(0)
        rows.append(
            Row(
                place,
                record["family"],
                suite.tests[place]["parameters"],
                record["name"],
                values.get("bandwidth"),
                values.get("average"),
                values.get("median"),
                bandwidth_share(record["name"], record["parameters"]["size_bytes"]),
            )
        )
    return sorted(rows, key=lambda row: row.place), unknown


def bandwidth_share(name: str, size_bytes: int) -> float:
    """How far off, relatively, a predicted bandwidth may well be.

    Tags and the link's arithmetic are known exactly. In which order a root complex answers several requests is
    not, nor how a card shares itself between directions: so such rows must not tell what others tell better.
    """
    if name == "BW_DMA_RW":
        return _ROUGH
    if name == "BW_DMA_RD" and size_bytes not in _EXACT_READS_BYTES:
        return _ROUGH
    return EXACT


def _offset(row: Row) -> bool:
    return bool(row.test["host_offset_bytes"] or row.test["device_offset_bytes"])
