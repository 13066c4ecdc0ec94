"""Read rocm-bandwidth-test: matrices of pairs of devices, and tables of sizes.

A row is the device that a copy reads, a column the one that it writes. Both ways, a cell counts both directions. A
copy within a device counts what it reads and what it writes. GB/s are 10^9 B/s. Source: the program's own output;
ROCm/rocm_bandwidth_test.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from pcielab.formats.importers.tools.pasted import Lines, read_matrix
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import GIGABYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import Direction, MeasuredSetting

_VERSION = re.compile(r"RocmBandwidthTest Version: (\d{1,3}\.\d{1,3}\.\d{1,3})", re.ASCII)
_TITLE = re.compile(
    r"(?P<ways>Uni|Bi)directional (?:copy )?(?:peak |average )?bandwidth \(?GB/s\)?", re.IGNORECASE
)
_OTHER = re.compile(r"Inter-Device (?:Access|Numa Distance)|Data Path Validation.*", re.IGNORECASE)
_RESULT = re.compile(r"=+\s+(?P<ways>Uni|Bi)directional Benchmark Result\s+=+", re.IGNORECASE)
_DEVICE = re.compile(
    r"Device(?: Index)?: +(\d{1,3}),? +(\S.{0,100}?)"
    r"(?:, +GPU-\w{1,20}, +([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7]))?",
    re.ASCII | re.IGNORECASE,
)
_GPU = re.compile(r"AMD (?:Radeon|Instinct)|Radeon|Instinct|Vega|\bMI\d|gfx|Graphics", re.IGNORECASE)
_END = re.compile(
    r"=*\s*(?P<end>Src|Dst) Device Id: (?P<id>\d{1,3}) (?P=end) Device Type: (?P<type>Cpu|Gpu)\s*=*", re.IGNORECASE
)
BEGINS = (_VERSION, _TITLE, _OTHER, _RESULT, _END)
"""Lines with which a report begins, or goes on."""
_SIZES = re.compile(r"Data Size\s+Avg Time\(us\)\s+Avg BW\(GB/s\)\s+Min Time\(us\)\s+Peak BW\(GB/s\)", re.ASCII)
_ROW = re.compile(rf"(\d{{1,9}}) ([KMG]?B)\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})", re.ASCII)
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SKIPPED = re.compile(r"Launch Command is: .*|\.+|=+|_+")
_CORNER = re.compile(r"D/D")
_SQUARE = "give a row for each device: the file is truncated or damaged; copy it again"


def read_rocm_bandwidth(lines: Lines, previous: Measured | None) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Raises:
        InputError: A matrix or a table is truncated or damaged.
    """
    tests: list[Measurement] = []
    version, addresses = None, list[str]()
    # True for a GPU; the name stands for the device.
    devices: dict[int, tuple[bool, str]] = {}
    ends: dict[str, tuple[bool, int]] = {}
    both = False
    while line := lines.peek():
        if found := _VERSION.fullmatch(line):
            version = found[1]
        elif found := _DEVICE.fullmatch(line):
            devices[int(found[1])] = (found[3] is not None or bool(_GPU.search(found[2])), found[2].rstrip(","))
            if found[3]:
                addresses.append(f"0000:{found[3]:0>2}:{found[4]:0>2}.{found[5]}")
        elif found := _TITLE.fullmatch(line):
            lines.take()
            tests += _cells(found, lines, devices)
            continue
        elif _OTHER.fullmatch(line):
            lines.take()
            if _CORNER.match(lines.peek()):
                _square(lines)
            continue
        elif found := _RESULT.fullmatch(line):
            both = found["ways"].lower() == "bi"
        elif found := _END.fullmatch(line):
            ends[found["end"].lower()] = (found["type"].lower() == "gpu", int(found["id"]))
        elif _SIZES.fullmatch(line):
            pass
        elif len(ends) == 2 and (found := _ROW.fullmatch(line)):
            if not _is_whole(found, is_cut=lines.ends_in_line and not lines.peek(1)):
                lines.refuse(line, "a rate is not the size over its time: the file is truncated or damaged")
            tests.append(_sized(found, ends, both=both))
        elif not _SKIPPED.fullmatch(line):
            break
        lines.take()
    names = {name for is_gpu, name in devices.values() if is_gpu}
    return Measured("rocm-bandwidth-test", version, tests, names.pop() if len(names) == 1 else None, addresses)


def _cells(title: re.Match[str], lines: Lines, devices: Mapping[int, tuple[bool, str]]) -> Iterator[Measurement]:
    if not _CORNER.match(lines.peek()):
        lines.refuse(lines.peek() or title[0], f"give the matrix below {title[0]}: the file is truncated")
    for source, row in enumerate(_square(lines)):
        for target, cell in enumerate(row):
            if cell is None or (source == target and not cell):
                continue
            from_, to = ((devices.get(one, (None, ""))[0], one) for one in (source, target))
            name = devices.get(target if to[0] else source, (None, ""))[1]
            setting = _setting(from_, to, both=title["ways"].lower() == "bi", device=name or None)
            yield Measurement(title[0], title[0], setting, {"bandwidth": cell * GIGABYTES_GBPS})


def _square(lines: Lines) -> list[list[Decimal | None]]:
    cells = read_matrix(lines, _CORNER)
    if len(cells) != len(cells[0]):
        lines.refuse(lines.peek() or "end of the file", _SQUARE)
    return cells


def _sized(row: re.Match[str], ends: Mapping[str, tuple[bool, int]], *, both: bool) -> Measurement:
    setting = _setting(ends["src"], ends["dst"], both=both, size_bytes=int(row[1]) * _UNITS[row[2]])
    average, rate, least, peak = (Decimal(row[at]) for at in (3, 4, 5, 6))
    metrics = {
        "bandwidth": rate * GIGABYTES_GBPS,
        "bandwidth_peak": peak * GIGABYTES_GBPS,
        "average": average * 1000,
        "minimum": least * 1000,
    }
    name = f"{'Bi' if both else 'Uni'}directional Benchmark"
    return Measurement(name, name, setting, metrics)


def _is_whole(row: re.Match[str], *, is_cut: bool) -> bool:
    """Whether rates are the size over their times; both ways and within a device, it counts twice or four times.

    A line that may have lost digits at its end has numbers of the same decimals.
    """
    size = Decimal(row[1]) * _UNITS[row[2]]
    for time, rate in ((Decimal(row[3]), Decimal(row[4])), (Decimal(row[5]), Decimal(row[6]))):
        expected = [factor * size / time / 1000 for factor in (1, 2, 4)] if time else [rate]
        if not any(abs(rate - one) <= Decimal("0.001") + one / 50 for one in expected):
            return False
    return not is_cut or len({len(row[at].partition(".")[2]) for at in range(3, 7)}) == 1


def _setting(
    source: tuple[bool | None, int],
    target: tuple[bool | None, int],
    *,
    both: bool,
    size_bytes: int | None = None,
    device: str | None = None,
) -> MeasuredSetting:
    """What a pair measures; ends whose kind is unknown have no direction."""
    directions: dict[tuple[bool | None, bool | None], Direction] = {
        (False, True): "h2d",
        (True, False): "d2h",
        (True, True): "p2p",
    }
    local = source[1] == target[1]
    words = {True: "GPU", False: "CPU", None: "device"}
    ends = [f"{words[one[0]]} {one[1]}" for one in (source, target)]
    return MeasuredSetting(
        tool="rocm-bandwidth-test",
        direction="local" if local else directions.get((source[0], target[0])),
        beside="opposite" if both else None,
        counted="both" if both else "one",
        engine="copy",
        pair=f" {'<->' if both else '->'} ".join(ends),
        size_bytes=size_bytes,
        device=device,
    )
