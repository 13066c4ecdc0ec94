"""How many packets a second NICs process, as their vendors state it.

`profiles/published/nic-packets.csv` has one device a row, by vendor and device ID, from the table of hardware that
the doctor has. A rate of *frames* whose source was read is a bound. A rate of RDMA *messages* bounds no frames: it
is what the vendor claims, and no value is called low because of it. The rate of the *line* is that of all ports
together, no limit of the device.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, cast

from pcielab.library import shipped
from pcielab.library.input_files import read_text

_FILE = "published/nic-packets.csv"
_SMALL_FRAME = re.compile(r"packets below (\d+) B")

Counts: TypeAlias = Literal["frames", "messages", "line"]


@dataclass(frozen=True)
class PacketRate:
    """What a vendor states of a NIC.

    Attributes:
        model: The device, as people name it.
        ids: Vendor and device.
        rate_mpps: Millions a second, all ports together.
        counts: What is counted: `frames`, RDMA `messages`, or frames of the `line`.
        note: Remarks.
        source: Where it is from; `(s)`: read there, `(m)`: general knowledge.
    """

    model: str
    ids: tuple[int, int]
    rate_mpps: float
    counts: Counts
    note: str
    source: str

    @property
    def is_bound(self) -> bool:
        """Whether frames cannot exceed it: a rate of frames whose source was read."""
        return self.counts == "frames" and self.source.startswith("(s)")

    def limits(self, frame_bytes: int) -> bool:
        """Whether it bounds frames of a size, FCS included."""
        below = _SMALL_FRAME.search(self.note)
        return self.is_bound and (below is None or frame_bytes < int(below[1]))

    @property
    def words(self) -> str:
        """The statement, as a part of a sentence."""
        what = {"frames": "packets", "messages": "RDMA messages", "line": "packets on all lines"}[self.counts]
        trust = "" if self.source.startswith("(s)") else ", general knowledge without a source that was read"
        return f"{self.model} is stated to process {self.rate_mpps:g} million {what} a second{trust}"


@cache
def packet_rates() -> tuple[PacketRate, ...]:
    """All stated rates that say something about a device."""
    return tuple(_read())


def _read() -> Iterator[PacketRate]:
    for row in csv.DictReader(read_text(shipped.directory("profiles") / _FILE).splitlines()):
        if row["counts"] != "line":
            yield PacketRate(
                row["model"],
                (int(row["vendor"], 16), int(row["device"], 16)),
                float(row["rate_mpps"]),
                cast("Counts", row["counts"]),
                row["note"],
                row["source"],
            )


def rate_of_name(name: str) -> PacketRate | None:
    """The stated rate of the device that a text names: `ConnectX-6 Dx 100G`, `cx5`; None: none is known."""
    found = [rate for rate in packet_rates() if _pattern(rate.model).search(name)]
    return max(found, key=lambda rate: len(rate.model), default=None)


@cache
def _pattern(model: str) -> re.Pattern[str]:
    words = r"[\s_-]*".join(map(re.escape, re.split(r"[\s-]", model)))
    words = words.replace("ConnectX", "c(?:onnect)?-?x")
    return re.compile(rf"(?<![a-z0-9]){words}(?!\d)", re.IGNORECASE | re.ASCII)


def above_stated(name: str, frame_bytes: int, rate_mpps: float) -> str | None:
    """A warning of a computed rate that a NIC is not known to process; None: nothing speaks against it.

    It rests on measured rates: a rate above every published one is warned of. What the vendor states keeps a
    warning away, and makes none by itself unless it is a bound.

    Args:
        name: The NIC.
        frame_bytes: Frame size, FCS included.
        rate_mpps: What PCIe and the line allow, millions of packets a second.
    """
    stated = rate_of_name(name)
    if stated is None or rate_mpps <= stated.rate_mpps:
        return None
    allowed = f"{name}: PCIe and line allow {rate_mpps:.0f} million packets of {frame_bytes} B a second"
    if stated.limits(frame_bytes):
        return f"{allowed}; {stated.words}"
    most_mpps, row = _most_published()
    if rate_mpps <= most_mpps:
        return None
    return f"{allowed}, the most published of any NIC is {most_mpps:.0f} ({row}), and {stated.words}"


@cache
def _most_published() -> tuple[float, str]:
    """The highest published packet rate of a NIC, millions a second, and its row."""
    from pcielab.library.published_figures import published_figures

    rates = [
        (figure.value, figure.id)
        for figure in published_figures().values()
        if figure.what == "iops" and figure.kind == "nic" and figure.unit in ("Mpps", "M/s")
    ]
    return max(rates)
