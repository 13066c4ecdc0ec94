"""Functions as lspci prints them, for texts that tests paste together: a healthy one, and what differs from it."""

from dataclasses import dataclass, field
from typing import Any, TypedDict

LATENCY = "Exit Latency L1 <16us"


@dataclass(frozen=True)
class Shown:
    """A function of a text; the defaults are those of a healthy endpoint at 16 GT/s x4."""

    slot: str
    title: str
    kind: str = "Endpoint"
    buses: tuple[str, str, str] | None = None
    cap: str = "Speed 16GT/s, Width x4"
    sta: str = "Speed 16GT/s, Width x4"
    aspm: str = "ASPM Disabled"
    common_clock: str = "CommClk+"
    payload: tuple[int, int] = (256, 256)
    """Supported and set."""
    mrrs: int = 512
    more: tuple[str, ...] = ()
    """Further lines of the capability: registers."""
    extended: tuple[str, ...] = ()
    """Lines after the capability: further capabilities with their registers, and the driver."""
    head: tuple[str, ...] = field(default=("Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV-",))

    def __str__(self) -> str:
        return "\n".join([f"{self.slot} {self.title}", *(f"\t{line}" for line in self._lines()), ""])

    def _lines(self) -> list[str]:
        buses = "Bus: primary={}, secondary={}, subordinate={}, sec-latency=0"
        return [
            *self.head,
            *([buses.format(*self.buses)] if self.buses else []),
            f"Capabilities: [40] Express (v2) {self.kind}, MSI 00",
            f"\tDevCap:\tMaxPayload {self.payload[0]} bytes, PhantFunc 0",
            "\t\tExtTag+ RBE+",
            "\tDevCtl:\tCorrErr- NonFatalErr- FatalErr- UnsupReq-",
            "\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+",
            f"\t\tMaxPayload {self.payload[1]} bytes, MaxReadReq {self.mrrs} bytes",
            f"\tLnkCap:\tPort #0, {self.cap}, ASPM L1, {LATENCY}",
            f"\tLnkCtl:\t{self.aspm}; RCB 64 bytes, Disabled- {self.common_clock}",
            f"\tLnkSta:\t{self.sta}",
            *(f"\t{line}" for line in self.more),
            *self.extended,
        ]


def root(slot: str = "00:01.0", below: str = "01", **changes: Any) -> Shown:
    """A root port with one bus below it."""
    known: dict[str, Any] = {"buses": ("00", below, below)}
    return Shown(slot, "PCI bridge: Example Root Port", "Root Port (Slot+)", **known | changes)


def drive(slot: str = "01:00.0", **changes: Any) -> Shown:
    """An NVMe drive."""
    return Shown(slot, "Non-Volatile memory controller: Example Drive", **changes)


def nic(slot: str = "01:00.0", **changes: Any) -> Shown:
    """A network controller at 5 GT/s x1."""
    link: dict[str, Any] = {"cap": "Speed 5GT/s, Width x1", "sta": "Speed 5GT/s, Width x1"}
    title = "Ethernet controller: Realtek Semiconductor Co., Ltd. RTL8125 2.5GbE Controller (rev 05)"
    return Shown(slot, title, **link | changes)


def gpu(slot: str = "01:00.0", **changes: Any) -> Shown:
    """A display of AMD at 16 GT/s x16."""
    link: dict[str, Any] = {"cap": "Speed 16GT/s, Width x16", "sta": "Speed 16GT/s, Width x16"}
    title = "VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Example"
    return Shown(slot, title, "Legacy Endpoint", **link | changes)


def errors(
    uncorrectable: str = "", correctable: str = "", ecrc: str = "-", root_status: str | None = None
) -> tuple[str, ...]:
    """An error capability with the named bits set."""
    bits = ("DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq")
    seen = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "AdvNonFatalErr")
    lines = [
        "Capabilities: [100 v1] Advanced Error Reporting",
        f"\tUESta:\t{_bits(bits, uncorrectable)}",
        f"\tUEMsk:\t{_bits(bits, '')}",
        f"\tCESta:\t{_bits(seen, correctable)}",
        f"\tAERCap:\tFirst Error Pointer: 00, ECRCGenCap+ ECRCGenEn{ecrc} ECRCChkCap+ ECRCChkEn{ecrc}",
    ]
    if root_status is not None:
        names = ("CERcvd", "MultCERcvd", "UERcvd", "MultUERcvd")
        messages = ("FirstFatal", "NonFatalMsg", "FatalMsg")
        lines += [f"\tRootSta: {_bits(names, root_status)}", f"\t\t {_bits(messages, root_status)} IntMsg 0"]
    return tuple(lines)


def _bits(names: tuple[str, ...], on: str) -> str:
    return " ".join(f"{name}{'+' if name in on.split() else '-'}" for name in names)


def text(*functions: Shown) -> str:
    """The text of a machine."""
    return "\n".join(map(str, functions))


class LinkLines(TypedDict):
    """What a text shows of a link: supported and negotiated."""

    cap: str
    sta: str


X8: LinkLines = {"cap": "Speed 16GT/s, Width x8", "sta": "Speed 16GT/s, Width x4"}
X16: LinkLines = {"cap": "Speed 16GT/s, Width x16", "sta": "Speed 16GT/s, Width x16"}
NOMINAL: LinkLines = {"cap": "Speed 2.5GT/s, Width x1", "sta": "Speed 2.5GT/s, Width x1"}
_AMD = "PCI bridge: Advanced Micro Devices, Inc. [AMD]"
_INTEL = "PCI bridge: Intel Corporation"
_DOWN = "Downstream Port (Slot+)"
X570 = text(
    root("00:01.2", "02", buses=("00", "02", "05"), **X8),
    Shown("02:00.0", f"{_AMD} Device 57ad", "Upstream Port", ("02", "03", "05"), **X8),
    Shown(
        "03:04.0",
        f"{_AMD} Device 57a3",
        _DOWN,
        ("03", "05", "05"),
        "Speed 16GT/s, Width x1",
        "Speed 5GT/s, Width x1",
    ),
    nic("05:00.0"),
)
ARC = text(
    root(below="01", buses=("00", "01", "04"), **X16),
    Shown("01:00.0", f"{_INTEL} Device 4fa1 (rev 01)", "Upstream Port", ("01", "02", "04"), **X16),
    Shown("02:01.0", f"{_INTEL} Device 4fa4", _DOWN, ("02", "03", "03"), **NOMINAL),
    Shown("02:04.0", f"{_INTEL} Device 4fa4", _DOWN, ("02", "04", "04"), **NOMINAL),
    Shown(
        "03:00.0",
        "VGA compatible controller: Intel Corporation DG2 [Arc A770] (rev 08)",
        payload=(128, 128),
        **NOMINAL,
    ),
    Shown("04:00.0", "Audio device: Intel Corporation DG2 Audio Controller", payload=(128, 128), **NOMINAL),
)
ECRC_BOTH = text(root(extended=errors(ecrc="+")), drive(extended=errors(ecrc="+")))
HEALTHY = {"x570": X570, "arc": ARC, "ecrc-both": ECRC_BOTH}
"""Machines that work; `tests/healthy_machines.toml` lists their true errors and warnings."""
