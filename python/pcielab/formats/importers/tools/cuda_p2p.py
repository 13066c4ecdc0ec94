"""Read p2pBandwidthLatencyTest of the CUDA samples: matrices of pairs of GPUs, with P2P and without.

A row is the GPU that a copy reads, a column the one that it writes. Cells of the diagonal are copies within a GPU.
Where P2P is off, or the matrix of connections has 0, copies go through the memory of the host. Latencies have two
matrices, by the clock of the GPU and by that of the CPU. Source: the program's own output; NVIDIA/cuda-samples.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from pcielab.formats.importers.tools.pasted import Lines, read_matrix
from pcielab.formats.importers.tools.writing import GIGABYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting

_CONNECTED = "P2P Connectivity Matrix"
_TITLE = re.compile(
    r"(?:(?P<ways>Uni|Bi)directional )?P2P=(?P<p2p>Disabled|Enabled) (?P<what>Bandwidth|Latency) "
    r"(?:\(P2P (?P<by>Writes|Reads)\) )?Matrix \((?P<unit>GB/s|us)\)",
    re.ASCII,
)
_FIRST = re.compile(
    r"\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]|Device=\d{1,3} CAN(?:NOT)? Access Peer.*", re.ASCII
)
_CORNER = re.compile(r"D[\\/]D|[GC]PU")
_DEVICE = re.compile(
    r"Device: (\d{1,3}), (\S.{0,100}?), pciBusID: ([0-9a-f]{1,2}), pciDeviceID: ([0-9a-f]{1,2}), "
    r"pciDomainID:([0-9a-f]{1,4})"
)
_SKIPPED = re.compile(r"\*{3}NOTE: .*|So you can see lesser Bandwidth.*")
BEGINS = (_FIRST, re.compile(_CONNECTED), _TITLE, _DEVICE)
"""Lines with which a report begins, or goes on."""
_END = "NOTE: The CUDA Samples are not meant for performance"
_SQUARE = "give a row for each GPU: the file is truncated or damaged; copy it again"


def read_cuda_p2p(lines: Lines, previous: Measured | None) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Raises:
        InputError: A matrix is truncated or damaged.
    """
    tests: list[Measurement] = []
    devices: dict[int, str] = {}
    addresses: list[str] = []
    connected: list[list[Decimal | None]] = []
    ended = False
    while line := lines.peek():
        if found := _DEVICE.fullmatch(line):
            devices[int(found[1])] = found[2]
            addresses.append(f"{found[5]:0>4}:{found[3]:0>2}:{found[4]:0>2}.0")
            lines.take()
        elif line == _CONNECTED:
            lines.take()
            connected = _square(lines)
        elif found := _TITLE.fullmatch(line):
            lines.take()
            tests += _tests(found, lines, connected, devices)
        elif _FIRST.fullmatch(line) or _SKIPPED.fullmatch(line):
            lines.take()
        elif line.startswith(_END):
            ended = True
            lines.take()
        else:
            break
    names = set(devices.values())
    name = names.pop() if len(names) == 1 else previous.device if previous and not names else None
    missing = "p2pBandwidthLatencyTest: no closing note: later matrices may be missing"
    notes = [missing] if tests and not ended else []
    return Measured("p2pBandwidthLatencyTest", None, tests, name, addresses, notes=notes)


def _tests(
    title: re.Match[str], lines: Lines, connected: list[list[Decimal | None]], devices: Mapping[int, str]
) -> Iterator[Measurement]:
    """The cells of the matrix below a title, and of the second one of latencies."""
    if not _CORNER.match(lines.peek()):
        lines.refuse(lines.peek() or title[0], f"give the matrix below {title[0]}: the file is truncated")
    clocks = ("GPU", "CPU") if title["what"] == "Latency" else ("",)
    for clock in clocks:
        if clock and not lines.peek().startswith(clock):
            continue
        cells = _square(lines, decimals=2)
        for source, row in enumerate(cells):
            for target, cell in enumerate(row):
                if cell is None or (source == target and not cell):
                    continue
                off = title["p2p"] == "Disabled" or not _reaches(connected, source, target)
                local = source == target
                both = title["ways"] == "Bi"
                setting = MeasuredSetting(
                    tool="p2pBandwidthLatencyTest",
                    direction="local" if local else "p2p",
                    beside="opposite" if both else None,
                    counted="both" if both else "one",
                    engine="kernel" if title["by"] == "Reads" else "copy",
                    pair=f"GPU {source} {'<->' if both else '->'} GPU {target}",
                    part=clock or None,
                    state="through-host" if off and not local else None,
                    device=devices.get(source),
                )
                metric, factor = ("average", Decimal(1000)) if clock else ("bandwidth", GIGABYTES_GBPS)
                name = title[0].partition(" Matrix")[0]
                yield Measurement(name, name, setting, {metric: cell * factor})


def _square(lines: Lines, *, decimals: int | None = None) -> list[list[Decimal | None]]:
    cells = read_matrix(lines, _CORNER, decimals=decimals)
    if len(cells) != len(cells[0]):
        lines.refuse(lines.peek() or "end of the file", _SQUARE)
    return cells


def _reaches(connected: list[list[Decimal | None]], source: int, target: int) -> bool:
    """Whether P2P connects two GPUs; yes if the text has no matrix of connections."""
    return source >= len(connected) or target >= len(connected[source]) or connected[source][target] != 0
