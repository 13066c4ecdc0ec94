"""The question: one value, what moved, over which link, by which engine; and its words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from pcielab import _core
from pcielab._core import Tunnel, Width, read_tunnel, read_width
from pcielab.errors import InputError, refusal
from pcielab.kinds.asked_expander import is_expander
from pcielab.library.alike import alike
from pcielab.library.figure_words import ACCESSES, COMPLETIONS, ENGINES, MEMORIES, MEMORY_TYPES, STATES, WHATS
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.library.expanders import ExpanderProfile
    from pcielab.library.link import Link
    from pcielab.library.protocols import Protocol

What: TypeAlias = Literal["h2d", "d2h", "both", "p2p", "latency", "interrupt", "iops", "store", "load", "doorbell"]
MemoryType: TypeAlias = Literal["uc", "wc"]
Engine: TypeAlias = Literal["copy", "kernel", "dma", "core"]
Completion: TypeAlias = Literal["polled", "interrupt"]
Memory: TypeAlias = Literal["host", "gpu", "storage"]
Kind: TypeAlias = Literal["gpu", "nic", "nvme", "fpga", "accelerator", "expander"]
Carrier: TypeAlias = Width | Tunnel

_SAME: Mapping[str, What] = {"read": "h2d", "write": "d2h"}
_SAME_BY_CORE: Mapping[str, What] = {"read": "d2h", "write": "h2d"}
_KINDS = (
    (
        "nic",
        r"connect-?x|\bcx-?[3-8]\b|mlx|bcm57|thor|e8[123]0|8259\d|\bxl?[57]\d0\b|xxv710|\bi[23][15]0\b|pensando|bluefield|\bnic\b"
        r"|ethernet|infiniband|\befa\b|slingshot|cassini|chelsio|solarflare|aqc\d{3}|rtl8\d{3}",
    ),
    (
        "nvme",
        r"nvme|\bssd|optane|\bp[45]\d{3}x?\b|\bpm[19]\w{2,3}\b|\bcm[5-7]\b|\bd[57]-p\d{4}|\bsn\d{3,4}\b"
        r"|9[789]0 (?:pro|evo)|\bt[57]\d{2}\b|firecuda|kioxia|solidigm|micron|mz[a-z0-9]{2}\w{4,}",
    ),
    (
        "fpga",
        r"fpga|alveo|\bu(?:50|55c|200|250|280)\b|xdma|qdma|agilex|stratix|versal|ultrascale|kintex|virtex|artix|zynq"
        r"|\bvu\d+p\b|\b[kv]cu\d{3}\b|litepcie|nitefury",
    ),
    ("accelerator", r"tenstorrent|blackhole|wormhole|gaudi|trainium|inferentia|\btpu\b"),
    (
        "gpu",
        r"gpu|nvidia|geforce|rtx|gtx|quadro|tesla|\bg?[ahlbvpt]-?\d{1,3}[a-z]?\b(?<!p2p)|instinct|\bmi-?\d{2,3}|radeon"
        r"|\brx\b|\barc\b",
    ),
)
_BOARDS = (
    (r"raspberry pi 5|\bpi ?5\b|bcm2712", "Gen2 x1, or Gen3 x1 where its firmware is set so"),
    (r"raspberry pi 4|\bpi ?4\b|\bcm4\b|bcm2711", "Gen2 x1"),
    (r"rk3588\b|rock ?5|orange ?pi 5", "Gen3 x4, or Gen2 x1 on a combined port"),
)
"""Small boards by their names, and the links that their slots have."""
LINE_RATE = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d)?) ?(?:G|GbE|Gb/s|Gbps|Gbit/s)\b(?!B)", re.IGNORECASE)
RATES, TIMES, COUNTS = (_core.UNITS[kind] for kind in ("rate", "time", "events"))
"""The units of values: in GB/s, ns, and commands a second."""
TIMED = ("latency", "interrupt")
"""Questions whose values are times."""


@dataclass(frozen=True)
class Value:
    """A value with the unit that it was given in.

    Attributes:
        number: In that unit.
        unit: As given.
        scale: What one of the unit is: in GB/s of a rate, in ns of a time, in commands a second of IOPS.
    """

    number: float
    unit: str
    scale: float

    @property
    def plain(self) -> float:
        """In GB/s, ns, or commands a second."""
        return self.number * self.scale

    def text(self, plain: float) -> str:
        """Another value of the same kind, in this unit: `54.1 GB/s`."""
        unit = self.unit or "/s"
        return f"{digits(plain / self.scale)} {unit}"


@dataclass(frozen=True, kw_only=True)
class Question:
    """Is this value normal?

    Attributes:
        what: What moves: `h2d`, `d2h`, `both`, `p2p`, or `latency`, `interrupt` or `iops`.
        value: The value.
        width: The device's link, or the tunnel that carries it; None if it is unknown.
        engine: What moves it; None if unknown.
        kind: Kind of the device; None if unknown.
        size_bytes: Bytes of a transfer.
        depth: Transfers in flight.
        round_trip_ns: Time that one transfer is in flight.
        mps_bytes: Maximum payload size.
        line_gbps: Line rate of a port of a NIC.
        ports: Ports over which it moves data.
        protocol: Protocol of the line; None if unknown: the line is taken bare.
        mtu_bytes: MTU of the protocol; None if unknown.
        memory: Where the data lie: the host's memory, a GPU's, or a drive.
        link: The whole link, where a store knows more of it than width and MPS.
        state: A word of `STATES`, or empty.
        completion: How the processor learns of completions; None if unknown.
        memory_type: Of a core's access, the type of its mapping; None for the usual one.
        device: Name of the device, for readers and for the order of comparable figures.
        cpu: Name of the processor, likewise.
        name: What asks: a row of a store; empty for one value.
        link_given: Of a row of a store, whether its link is the asker's, because it has none of its own.
        source_key: Source of the value itself, if it is published: no comparison with it.
        read_share: Of an expander, share of the lines that are read; None if unknown.
        expander: Of an expander, the one whose bounds apply, and what was assumed of it; None without a link.
    """

    what: What
    value: Value
    width: Carrier | None = None
    engine: Engine | None = None
    kind: Kind | None = None
    size_bytes: int | None = None
    depth: int | None = None
    round_trip_ns: float | None = None
    mps_bytes: int | None = None
    line_gbps: float | None = None
    ports: int = 1
    protocol: "Protocol | None" = None
    mtu_bytes: int | None = None
    memory: Memory = "host"
    link: "Link | None" = None
    state: str = ""
    completion: Completion | None = None
    memory_type: MemoryType | None = None
    device: str = ""
    cpu: str = ""
    name: str = ""
    link_given: bool = False
    source_key: str = ""
    read_share: float | None = None
    expander: "tuple[ExpanderProfile, str] | None" = None

    @property
    def is_time(self) -> bool:
        """Whether the value is a time: more is worse."""
        return self.what in TIMED or (self.what in ACCESSES and self.value.unit in TIMES)

    @property
    def moved(self) -> What:
        """What moves, as figures are comparable: between devices where the data lie in a device's memory."""
        return "p2p" if self.memory != "host" and self.what in ("h2d", "d2h") else self.what

    @property
    def generation(self) -> int | None:
        """Generation of the link; None if it is unknown, or a tunnel."""
        return self.width.generation if isinstance(self.width, Width) else None


def read_what(text: str, engine: Engine | None = None) -> What:
    """The direction or quantity of `--what`: a device reads the host's memory, a core the device's.

    Raises:
        InputError: There is none of that name.
    """
    word = text.strip().lower()
    if word not in WHATS:
        raise _unknown("--what", text, WHATS)
    same = _SAME_BY_CORE if engine == "core" else _SAME
    return same.get(word) or cast(What, word)


def read_engine(text: str | None) -> Engine | None:
    """The engine of `--engine`; None stays None."""
    if text is None:
        return None
    word = text.strip().lower()
    for engine in get_args(Engine):
        if engine == word:
            return engine  # type: ignore[no-any-return]
    raise _unknown("--engine", text, ENGINES)


def read_state(text: str | None) -> str:
    """The condition of `--state`; None is none."""
    word = (text or "").strip().lower()
    if word and word not in STATES:
        raise _unknown("--state", text or "", STATES)
    return word


def read_completion(text: str | None) -> Completion | None:
    """The way of `--completion`; None stays None."""
    if text is None:
        return None
    word = text.strip().lower()
    if word not in COMPLETIONS:
        raise _unknown("--completion", text, COMPLETIONS)
    return cast(Completion, word)


def read_carrier(text: str, name: str) -> Carrier:
    """A link, several side by side, or a tunnel: `gen5x16`, `4x gen3x4`, `tb4`."""
    return read_tunnel(text, name) or read_width(text, name)


def read_memory(text: str | None) -> Memory:
    """Where the data lie, of `--memory`; None is the host's memory.

    Raises:
        InputError: There is none of that name.
    """
    word = "host" if text is None else text.strip().lower()
    if word not in MEMORIES:
        raise _unknown("--memory", text or "", MEMORIES)
    return cast(Memory, word)


def read_memory_type(text: str | None) -> MemoryType | None:
    """The type of `--memory-type`; None stays None."""
    if text is None:
        return None
    word = text.strip().lower()
    if word not in MEMORY_TYPES:
        raise _unknown("--memory-type", text, MEMORY_TYPES)
    return cast(MemoryType, word)


def read_value(text: str, what: What) -> Value:
    """A value with its unit: `54.1GB/s`, `433 Gb/s`, `860ns`, `1.2M`.

    Raises:
        InputError: It is not a number above 0 with a unit that fits `what`.
    """
    if what in ACCESSES:
        timed = text.strip().lstrip("0123456789.eE+- ") in TIMES
        return Value(*_core.read_quantity(text, "--value", "time" if timed else "rate"))
    kind: Literal["time", "rate", "events"] = "time" if what in TIMED else "rate" if what != "iops" else "events"
    return Value(*_core.read_quantity(text, "--value", kind))


def kind_of(device: str, engine: Engine | None) -> Kind | None:
    """The kind of a device by its name, or by the engine where only GPUs have it."""
    if is_expander(device):
        return "expander"
    for kind, words in _KINDS:
        if re.search(words, device, re.IGNORECASE | re.ASCII):
            return kind  # type: ignore[return-value]
    return "gpu" if engine in ("copy", "kernel") else None


def links_of_board(name: str) -> str | None:
    """The links that the slots of a small board have, in words; None if the name has none that is known."""
    found = (links for board, links in _BOARDS if re.search(board, name, re.IGNORECASE | re.ASCII))
    return next(found, None)


def line_of(device: str) -> float | None:
    """The line rate in the name of a NIC, Gb/s: `ConnectX-6 200G`."""
    found = LINE_RATE.search(device)
    return float(found[1]) if found else None


def digits(value: float) -> str:
    """A number with three digits: `0.893`, `6.81`, `54.1`, `1430`."""
    if value >= 100 or value == 0:
        return f"{value:.0f}" if value < 1e6 else f"{value:.4g}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def share_text(share: float) -> str:
    """A share with two decimals, and a small one with two digits: `0.93`, `0.0013`."""
    return f"{share:.2f}" if share >= 0.01 else f"{share:.2g}"


def _unknown(option: str, text: str, known: Mapping[str, str]) -> InputError:
    near = alike(text.strip().lower(), known)
    hint = f"did you mean {near[0]}?" if near else f"give one of {', '.join(known)}"
    return refusal("not-found", f"{option} {shown(text)}: {hint}")
