"""The measured rows of a machine, and its recorded files: the input of a calibration.

They come from a store, or from a folder in the published format, from which rows may be missing. A folder is read
with the importer's readers but not imported: it may hold a distribution without its row, as a pack does, which a
store cannot. A row's index in its suite gives the machine's history. Rows of an NFP-6000 count only if they are of
the suite `paper`. For another device, the tests of its store are the suite.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, get_args

from pcielab.analysis.calibrate.given_device import device_of_store, system_of_store, tick_ns_of
from pcielab.analysis.calibrate.recorded_system import RecordedSystem
from pcielab.errors import refusal
from pcielab.formats.importers.pcie_bench.distributions import FORMS, Section, sections_of
from pcielab.formats.importers.pcie_bench.origin import folder_origin
from pcielab.formats.importers.pcie_bench.rows import read_rows
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import CACHE_STATES, FAMILIES, NFP6000_TIMER, ORIGIN_FILE
from pcielab.library.input_files import read_text_roughly
from pcielab.library.profiles.provenance import FittedTo
from pcielab.library.suites import Suite, load_suite
from pcielab.store import Store, open_store
from pcielab.store.identity import Identity, identity
from pcielab.wording import byte_size, shown

RowKey: TypeAlias = tuple[str, str, str, int, int]
"""A row as a pack names it: family, test, cache state (as published), window and size in bytes."""

REFRESH_TEST = "test=LAT_DMA_RD trans_sz=64 win_sz=8192 cache=cold"
REFRESH_FAMILY = "lat_dma_details"
"""The one distribution of a pack."""

EXACT, _ROUGH = 0.004, 0.02
_EXACT_READS_BYTES = (64, 512)

_CACHE_WORDS = {state: word for word, state in CACHE_STATES.items()}


@dataclass(frozen=True)
class Row:
    """One measured row, and its index in its suite."""

    index: int
    family: str
    test: dict[str, Any]
    name: str
    bandwidth_gbps: float | None = None
    average_ns: float | None = None
    median_ns: float | None = None
    bandwidth_share: float = EXACT
    """Best relative error to expect of a predicted bandwidth."""
    slowed_share: float | None = None
    """The same for predictions above the row, as unmodelled effects slow machines; None: `bandwidth_share`."""
    tick_ns: float = float(NFP6000_TIMER.tick_ns)
    """Length of a tick of the device's timer, to which a median is rounded."""

    @property
    def key(self) -> RowKey:
        """The row as a pack names it."""
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
    """The rows and files of one measured machine.

    Attributes:
        source: Name of the folder or store.
        rows: The rows, in the order of the suite.
        texts: The `sys-*.txt` files by name.
        refresh: Distribution of 64 B cold DMA reads of an 8 KiB window: ticks, rising, and the share of samples at
            each; empty without one.
        warnings: Input that was ignored, in words.
        suite: JSON of the suite that the rows' indices are of; None: the suite `paper`.
        recorded: The system of a device other than the NFP-6000; None: `texts` describe it.
        origin: Origin of the rows; of the rows of a folder, what its `ORIGIN.txt` says.
    """

    source: str
    rows: tuple[Row, ...]
    texts: dict[str, str]
    refresh: tuple[tuple[int, float], ...] = ()
    warnings: tuple[str, ...] = field(default=())
    suite: str | None = None
    recorded: RecordedSystem | None = None
    origin: FittedTo = "measured"


def read_measured(path: Path, pack: Path | None = None, device: str | None = None) -> Measured:
    """Read a folder in the published format, or a store.

    Args:
        path: The folder or store; families and rows may be missing from a folder.
        pack: A CSV file that names the rows to use (family, test, cache, window_bytes, size_bytes).
        device: Name or file of the device profile whose constants a store's device has; None: the profile in the
            store, or an NFP-6000.

    Raises:
        InputError: Nothing can be read, no row can be used, or the store's device has no profile.
    """
    chosen = read_pack(pack) if pack is not None else None
    if not path.is_dir():
        store = _opened(path)
        origin = _origin(store.origin, path)
        if (given := device_of_store(store, device)) is not None:
            return replace(_of_other_device(store, system_of_store(store, given), chosen, pack), origin=origin)
        records, texts, refresh, warnings = _of_store(store)
    elif device is not None:
        raise refusal(
            "conflict", f"--device {device}: {path} is in the published format, of an NFP-6000: leave --device out"
        )
    else:
        origin = _origin_of_folder(path)
        records, texts, refresh, warnings = _of_folder(path)
    rows, unknown = _placed(_paper(), records)
    if unknown:
        warnings.append(f"{unknown} rows ignored: not of the suite paper")
    rows = _chosen(rows, chosen, pack, warnings)
    if not rows:
        named = f" that {pack} names" if pack is not None else ""
        raise refusal(
            "missing",
            f"{path}: has no row{named} of the suite paper: give a folder with bw_*.csv and lat_*.csv files of a "
            "pcie-bench run, or a store of one",
        )
    return Measured(path.resolve().name, tuple(rows), texts, refresh, tuple(warnings), origin=origin)


def _origin(word: str, path: Path) -> FittedTo:
    known: tuple[FittedTo, ...] = get_args(FittedTo)
    found = next((origin for origin in known if origin == word), None)
    if found is None:
        raise refusal(
            "wrong-value", f"{path}: origin {shown(word)}: calibration needs rows that are {' or '.join(known)}"
        )
    return found


def _origin_of_folder(folder: Path) -> FittedTo:
    """The origin of a folder's rows.

    Raises:
        InputError: They are of a device with another timer than the NFP-6000's.
    """
    found = folder_origin(folder)
    if found.timer != NFP6000_TIMER:
        raise refusal(
            "wrong-value",
            f"{folder / ORIGIN_FILE}: device {shown(found.device)} is no NFP-6000, whose timer a folder in the "
            "published format has: calibrate from the store that was exported",
        )
    return _origin(found.origin, folder / ORIGIN_FILE)


def _chosen(rows: list[Row], chosen: set[RowKey] | None, pack: Path | None, warnings: list[str]) -> list[Row]:
    """The rows that a pack names; all without one."""
    if chosen is None:
        return rows
    found = [row for row in rows if row.key in chosen and not has_offset(row)]
    missing = len(chosen - {row.key for row in found})
    if missing:
        warnings.append(f"{missing} of the {len(chosen)} rows that {pack} names are missing")
    return found


@cache
def _paper() -> Suite:
    return load_suite("paper")


def read_pack(path: Path) -> set[RowKey]:
    """The rows that a pack names.

    Raises:
        InputError: The file cannot be read, or is no pack.
    """
    columns = ("family", "test", "cache", "window_bytes", "size_bytes")
    head, *lines = read_text(path).splitlines() or [""]
    if head != ",".join(columns):
        raise refusal(
            "malformed", f"{path}, line 1: the columns are {head[:200]!r}: a pack has {','.join(columns)!r}"
        )
    chosen = set()
    for number, line in _rows(path, columns, lines):
        try:
            sizes = int(line["window_bytes"]), int(line["size_bytes"])
        except (TypeError, ValueError):
            raise refusal(
                "malformed", f"{path}, line {number}: give window_bytes and size_bytes as whole numbers"
            ) from None
        chosen.add((line["family"], line["test"], line["cache"], *sizes))
    return chosen


def _rows(path: Path, columns: Sequence[str], lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table by column, each with its line; those of the file's first line are not in `lines`."""
    rows = csv.DictReader(lines, columns)
    try:
        for row in rows:
            yield rows.line_num + 1, row
    except csv.Error as error:
        raise refusal(
            "malformed", f"{path}, line {rows.line_num + 2}: {error}: give rows of {','.join(columns)!r}"
        ) from None


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
    """The one distribution: the section of its name, or the first one if sections have no names."""
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


def _opened(path: Path) -> Store:
    store = open_store(path)
    store.require_kind("transfers", "calibrating")
    store.require_speed("calibrating")
    return store


def _of_other_device(
    store: Store, recorded: RecordedSystem, chosen: set[RowKey] | None, pack: Path | None
) -> Measured:
    """The rows of a store of a device that is no NFP-6000, with their history in the store's own tests."""
    tests, rows = [], []
    tick_ns = tick_ns_of(recorded.system["device"])
    for index, record in enumerate(store.records()):
        tests.append({key: record[key] for key in ("family", "name", "parameters")})
        if record["status"] == "ok":
            rows.append(replace(_row(index, record, record["parameters"]), tick_ns=tick_ns))
    warnings: list[str] = []
    rows = _chosen(rows, chosen, pack, warnings)
    if not rows:
        named = f" that {pack} names" if pack is not None else ""
        raise refusal(
            "missing", f"{store.path}: has no finished test{named}: give a store of a run with transfers"
        )
    suite = json.dumps({"name": "measured", "title": store.title, "tests": tests})
    return Measured(store.path.name, tuple(rows), {}, (), tuple(warnings), suite, recorded)


def _of_store(store: Store) -> _Found:
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


def _placed(suite: Suite, records: list[dict[str, Any]]) -> tuple[list[Row], int]:
    """The suite's rows among records, in its order, and the number of others; repeated ones pair in order."""
    indices: defaultdict[Identity, list[int]] = defaultdict(list)
    for index, test in enumerate(suite.tests):
        indices[identity(**test)].append(index)
    rows = []
    unknown = 0
    for record in records:
        known = indices[identity(record["family"], record["name"], record["parameters"])]
        if not known:
            unknown += 1
            continue
        index = known.pop(0)
        rows.append(_row(index, record, suite.tests[index]["parameters"]))
    return sorted(rows, key=lambda row: row.index), unknown


def _row(index: int, record: dict[str, Any], test: dict[str, Any]) -> Row:
    values = {
        scalar["metric"]: float(scalar["value"]) for scalar in record["scalars"] if not scalar.get("subject")
    }
    # A value of 0 is below the resolution of whatever measured it, and tells no time of a transaction.
    return Row(
        index,
        record["family"],
        test,
        record["name"],
        values.get("bandwidth") or None,
        values.get("average") or None,
        values.get("median") or None,
        bandwidth_share(record["name"], record["parameters"]["size_bytes"]),
    )


def bandwidth_share(name: str, size_bytes: int) -> float:
    """Best relative error to expect of a predicted bandwidth.

    Tags and the link's arithmetic are known exactly. The order in which a root complex answers several requests is
    not, nor how a card divides its time between directions: rows that depend on them weigh less.
    """
    if name == "BW_DMA_RW":
        return _ROUGH
    if name == "BW_DMA_RD" and size_bytes not in _EXACT_READS_BYTES:
        return _ROUGH
    return EXACT


def has_offset(row: Row) -> bool:
    """Whether a row's transfers have an offset on host or device."""
    return bool(row.test["host_offset_bytes"] or row.test["device_offset_bytes"])
