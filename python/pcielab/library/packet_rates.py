"""How many packets a second NICs process, as their vendors state it.

`profiles/published/nic-packets.csv` has one device a row, by vendor and device ID, from the table of hardware that
the doctor has. A rate of *frames* whose source was read is a bound. A rate of RDMA *messages* bounds no frames: it
is what the vendor claims, and no value is called low because of it. The rate of the *line* is that of all ports
together, no limit of the device. The compiled half finds a device by its name, and words the statement
(`crates/pcie-why`).
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.library import shipped
from pcielab.library.input_files import read_text

_FILE = "published/nic-packets.csv"
_SMALL_FRAME = re.compile(r"packets below (\d+) B")
_SMALLEST_FRAME_BYTES = 64

Counts: TypeAlias = Literal["frames", "messages"]


@dataclass(frozen=True)
class PacketRate:
    """What a vendor states of a NIC.

    Attributes:
        model: The device, as people name it.
        rate_mpps: Millions a second, all ports together.
        counts: What is counted: `frames`, or RDMA `messages`.
        words: The statement, as a part of a sentence.
        limits: Whether it bounds frames of the size in question.
    """

    model: str
    rate_mpps: float
    counts: Counts
    words: str
    limits: bool


def rate_of_name(name: str, frame_bytes: int = _SMALLEST_FRAME_BYTES) -> PacketRate | None:
    """The stated rate of the device that a text names: `ConnectX-6 Dx 100G`, `cx5`; None: none is known.

    Args:
        name: The text.
        frame_bytes: Size of the frames in question, FCS included.
    """
    rates = stated_rates()["rates"]
    found = json.loads(_core.stated_packets(name, frame_bytes, json.dumps(rates)))
    if found is None:
        return None
    row = rates[found["rate"]]
    return PacketRate(row["model"], row["rate_mpps"], row["counts"], found["words"], found["is_bound"])


def above_stated(name: str, frame_bytes: int, rate_mpps: float) -> str | None:
    """A warning of a computed rate that a NIC is not known to process; None: nothing speaks against it.

    It rests on measured rates: a rate above every published one is warned of. What the vendor states keeps a
    warning away, and makes none by itself unless it is a bound.

    Args:
        name: The NIC.
        frame_bytes: Frame size, FCS included.
        rate_mpps: What PCIe and the line allow, millions of packets a second.
    """
    return _core.packets_above_stated(name, frame_bytes, rate_mpps, json.dumps(stated_rates()))


@cache
def stated_rates() -> dict[str, Any]:
    """What vendors state, and the highest published packet rate of a NIC, as the compiled half takes them."""
    from pcielab.library.published_figures import published_figures

    published = [
        (figure.value, figure.id)
        for figure in published_figures().values()
        if figure.what == "iops" and figure.kind == "nic" and figure.unit in ("Mpps", "M/s")
    ]
    most_mpps, most_id = max(published)
    return {"rates": list(_rows()), "most_mpps": most_mpps, "most_id": most_id}


def _rows() -> Iterator[dict[str, Any]]:
    """The statements that say something about a device."""
    for row in csv.DictReader(read_text(shipped.directory("profiles") / _FILE).splitlines()):
        below = _SMALL_FRAME.search(row["note"])
        if row["counts"] != "line":
            yield {
                "model": row["model"],
                "rate_mpps": float(row["rate_mpps"]),
                "counts": row["counts"],
                "below_bytes": int(below[1]) if below else None,
                "is_read": row["source"].startswith("(s)"),
            }
