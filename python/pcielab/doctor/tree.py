"""A machine's PCIe tree as it was read: functions, the links between them, and their settings.

The data do not depend on the source; a value that could not be read is None, never a guess. Names of bits and
registers are those of the PCI Express base specification, chapter 7. A tree has no serial numbers and no MAC
addresses. `crates/pcie-evidence` reads machines, and has the same shape, which saved files have, too; `topology`
says what is above what. Records are models of pydantic, so that a tree may be made and changed in Python.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pcielab._core import SPEEDS_GTPS


def _speed(value: float) -> float:
    if value not in SPEEDS_GTPS:
        raise ValueError(f"{value} GT/s is not the speed of a generation")
    return value


Speed = Annotated[float, AfterValidator(_speed)]
Payload = Literal[128, 256, 512, 1024, 2048, 4096]
Kind = Literal[
    "endpoint",
    "legacy-endpoint",
    "root-port",
    "upstream-port",
    "downstream-port",
    "pcie-to-pci-bridge",
    "pci-to-pcie-bridge",
    "integrated-endpoint",
    "event-collector",
]
Bus = Annotated[int, Field(ge=0, le=255)]
TAGS_5_BIT, TAGS_8_BIT, TAGS_10_BIT, TAGS_14_BIT = 32, 256, 768, 15_360
UNNAMED_DOMAIN = "fffffffe"
"""Domain of functions whose slot the source does not show; no machine has it."""


class Record(BaseModel):
    """Immutable; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class LinkEnd(Record):
    """One end of a link: supported and negotiated values."""

    max_speed_gtps: Speed | None = None
    """Highest speed of this end (LnkCap), GT/s a lane."""
    max_lanes: int | None = None
    """Lanes of this end (LnkCap)."""
    speed_gtps: Speed | None = None
    """Negotiated speed (LnkSta), GT/s a lane."""
    lanes: int | None = None
    """Negotiated lanes (LnkSta); 0 where nothing is attached."""
    target_speed_gtps: Speed | None = None
    """Highest speed that software allows (LnkCtl2)."""
    rcb_bytes: Literal[64, 128] | None = None
    """Read completion boundary (LnkCtl)."""
    aspm_enabled: tuple[str, ...] | None = None
    """Power states that the link may enter by itself (LnkCtl): L0s, L1."""
    l0s_exit_ns: float | None = None
    """Longest time to leave L0s (LnkCap)."""
    l1_exit_ns: float | None = None
    """Longest time to leave L1 (LnkCap)."""
    flit_mode: bool | None = None
    """Whether the link runs in flit mode (LnkSta2)."""
    active: bool | None = None
    """Of a port: whether its data link layer is active (LnkSta); None if it does not report that (LnkCap)."""
    disabled: bool | None = None
    """Of a port: whether software disabled the link (LnkCtl)."""
    lane_errors: tuple[int, ...] | None = None
    """Lanes on which this end saw errors since the bits were cleared (Lane Error Status), from 8 GT/s on."""
    aspm_supported: tuple[str, ...] | None = None
    """Power states that this end supports (LnkCap): L0s, L1."""
    l1_substates: tuple[str, ...] | None = None
    """L1 substates that are on (L1SubCtl1): `ASPM L1.2`, `ASPM L1.1`, `PCI-PM L1.2`, `PCI-PM L1.1`."""
    common_clock: bool | None = None
    """Whether this end is told that both ends have one reference clock (LnkCtl)."""
    retrained: bool | None = None
    """Of a port: whether the link changed speed or width, or retrained, since the bits were cleared (LnkSta)."""

    @property
    def is_up(self) -> bool:
        """Whether something is attached, and both values of the link are known."""
        return self.speed_gtps is not None and bool(self.lanes)

    @property
    def lanes_gtps(self) -> float:
        """Raw rate of the negotiated link over all lanes, GT/s; 0 if it is down or unknown."""
        return (self.speed_gtps or 0.0) * (self.lanes or 0)


class Control(Record):
    """How a function may use its link: DevCap, DevCtl, DevCap2, DevCtl2."""

    max_payload_bytes: Payload | None = None
    """Largest payload that it supports (DevCap)."""
    mps_bytes: Payload | None = None
    """Maximum payload size that is set (DevCtl)."""
    mrrs_bytes: Payload | None = None
    """Maximum read request size that is set (DevCtl)."""
    extended_tags_possible: bool | None = None
    """Whether it supports 8-bit tags (DevCap)."""
    extended_tags: bool | None = None
    """Whether 8-bit tags are on (DevCtl)."""
    ten_bit_completer: bool | None = None
    """Whether it answers requests with 10-bit tags (DevCap2)."""
    ten_bit_requester: bool | None = None
    """Whether it supports sending 10-bit tags (DevCap2)."""
    ten_bit_tags: bool | None = None
    """Whether 10-bit tags are on (DevCtl2)."""
    fourteen_bit_tags: bool | None = None
    """Whether 14-bit tags are on (DevCtl3)."""
    relaxed_ordering: bool | None = None
    """Whether it may mark requests as relaxed-ordered (DevCtl)."""
    completion_timeout_off: bool | None = None
    """Whether it waits for completions forever (DevCtl2)."""
    atomics_routed: bool | None = None
    """Of a port: whether it passes atomic operations on (DevCap2)."""
    atomics_completed: tuple[str, ...] | None = None
    """Sizes of atomic operations that it completes (DevCap2): 32bit, 64bit, 128bitCAS."""
    atomics_requested: bool | None = None
    """Whether it may send atomic operations (DevCtl2)."""
    atomics_blocked: bool | None = None
    """Of a port: whether it refuses to send atomic operations down (DevCtl2)."""
    ltr: bool | None = None
    """Whether latency tolerance reporting is on (DevCtl2)."""

    @property
    def tags(self) -> int | None:
        """Read requests that it may have in flight; None if unknown."""
        if self.fourteen_bit_tags:
            return TAGS_14_BIT
        if self.ten_bit_tags:
            return TAGS_10_BIT
        if self.extended_tags is None:
            return None
        return TAGS_8_BIT if self.extended_tags else TAGS_5_BIT


class ErrorReporting(Record):
    """Advanced error reporting: ECRC, and errors counted so far."""

    ecrc_generated: bool | None = None
    """Whether it appends an ECRC to its TLPs."""
    ecrc_checked: bool | None = None
    """Whether it checks the ECRC of TLPs that it receives."""
    correctable: dict[str, int] | None = None
    """Correctable errors since boot, by name, as the kernel counts them."""
    fatal: dict[str, int] | None = None
    """Uncorrectable errors since boot, by name."""
    correctable_status: tuple[str, ...] | None = None
    """Correctable errors seen since the bits were cleared (CESta): RxErr, BadTLP, BadDLLP, Rollover, Timeout..."""
    uncorrectable_status: tuple[str, ...] | None = None
    """Uncorrectable errors seen since the bits were cleared (UESta): DLP, SDES, TLP, CmpltTO, MalfTLP..."""
    uncorrectable_masked: tuple[str, ...] | None = None
    """Uncorrectable errors that it does not report (UEMsk)."""
    root_status: tuple[str, ...] | None = None
    """Of a root port: error messages that it received (RootSta): CERcvd, UERcvd, FatalMsg..."""


class ResizableBar(Record):
    """A BAR with a selectable size."""

    bar: int
    size_bytes: int
    largest_bytes: int


class Function(Record):
    """One PCI function."""

    slot: Annotated[str, Field(pattern=r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
    """Domain, bus, device and function: `0000:41:00.0`."""
    title: str
    """Class and name, for people."""
    vendor_id: int | None = None
    device_id: int | None = None
    class_code: int | None = None
    """Class and subclass: 0x0200 is Ethernet. None if the text has an unknown name."""
    kind: Kind | None = None
    """Its type in the PCI Express capability; None for conventional PCI, or if it could not be read."""
    secondary_bus: Bus | None = None
    """Of a bridge: the bus below it."""
    subordinate_bus: Bus | None = None
    """Of a bridge: the highest bus below it."""
    is_virtual_function: bool = False
    """Whether it is an SR-IOV virtual function: most of its control bits are reserved, and its PF's count."""
    has_slot: bool | None = None
    """Of a port: whether it leads to a slot (Slot Implemented)."""
    card_present: bool | None = None
    """Of a port with a slot: whether something is in it (Presence Detect State)."""
    slot_off: bool | None = None
    """Of a port with a slot: whether the power of the slot is switched off (Power Controller Control)."""
    answers: bool | None = None
    """False if its configuration space reads as all ones: it is off, or off the bus."""
    driver: str | None = None
    bus_master: bool | None = None
    """Whether it may issue requests of its own."""
    power_state: str | None = None
    """D0, D1, D2, D3hot or D3cold."""
    numa_node: int | None = None
    """The node that it is attached to; -1 if the firmware does not say."""
    interrupt_nodes: tuple[int, ...] | None = None
    """The nodes whose processors serve its interrupts."""
    iommu_group: int | None = None
    iommu_type: str | None = None
    """Type of its group: `identity`, `DMA` (strict), `DMA-FQ` (lazy)..."""
    link: LinkEnd | None = None
    control: Control | None = None
    errors: ErrorReporting | None = None
    contained: str | None = None
    """Of a port: why downstream port containment took its link down (DpcSta); None if it did not."""
    unassigned_bars: tuple[int, ...] = ()
    """BARs to which neither the firmware nor the kernel gave addresses."""
    acs_enabled: tuple[str, ...] | None = None
    """Access control services that are on: SrcValid, ReqRedir, CmpltRedir, UpstreamFwd..."""
    ats_enabled: bool | None = None
    """Whether it may ask the IOMMU for translations itself (ATS Control)."""
    resizable_bars: tuple[ResizableBar, ...] = ()
    cxl_protocols: tuple[str, ...] = ()
    """CXL protocols that are on: Cache, IO, Mem; empty for anything else."""
    above_slot: str | None = None
    """The function above, from a source that nests functions and has no bus numbers of bridges."""
    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = None
    """Its name in another program: `gpu0`, `mlx5_0`."""

    @property
    def is_endpoint(self) -> bool:
        """Whether it is a device behind a link: neither a port, nor integrated in the root complex."""
        return self.kind in ("endpoint", "legacy-endpoint")

    @property
    def is_port(self) -> bool:
        """Whether a link may lead down from it."""
        return self.kind in ("root-port", "downstream-port")


class Host(Record):
    """Settings of the machine as a whole."""

    nodes: tuple[int, ...] | None = None
    """NUMA nodes with processors."""
    memory_nodes: tuple[int, ...] | None = None
    """NUMA nodes with memory."""
    node_sockets: dict[int, int] | None = None
    """The socket of each NUMA node with processors."""
    command_line: dict[str, str] | None = None
    """The kernel's parameters about PCI, IOMMU and power, and no others."""
    iommu_units: int | None = None
    """Number of IOMMUs that the kernel uses."""
    iommu_pages: Literal["super-pages", "four-kib-pages"] | None = None
    """The largest pages that the IOMMU maps."""
    aspm_policy: str | None = None
    """The kernel's ASPM policy for all links."""
    governor: str | None = None
    """Frequency governor of processor 0."""
    deepest_idle: str | None = None
    """The deepest idle state that processor 0 may enter."""
    deepest_idle_exit_us: float | None = None
    """Time to leave that state."""
    hypervisor: str | None = None
    """The hypervisor; None for none or unknown."""


LogKind = Literal[
    "corrected-error",
    "uncorrected-error",
    "contained",
    "link-down",
    "retrain-failed",
    "bandwidth-limited",
    "no-space",
    "no-atomics",
    "off-bus",
    "device-stopped",
    "address-fault",
]


class LogEvent(Record):
    """What a line of a kernel's log says about a device."""

    kind: LogKind
    slot: str | None
    """The function that it names, with its domain."""
    text: str
    """The line, without its time."""
    line: int
    """Its number in the source."""
    count: int = 1
    """How many lines say the same of the same function."""


class Peer(Record):
    """A connection between two devices that is no PCIe link, or that a source names without registers."""

    kind: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,16}$")]
    """`nvlink`, `xgmi`, or the word of `nvidia-smi topo -m` in lower case: `pix`, `sys`..."""
    ends: tuple[str, str]
    """Slots, or names where the source has no slots."""
    links: int | None = None
    """Number of links side by side."""


class Piece(Record):
    """A part of a source: its form, and what it was used for."""

    form: str
    """`lspci -vvv`, `kernel log`, `nvidia-smi topo -m`..."""
    first_line: int
    used_for: str | None
    """None if it was not used."""


class Tree(Record):
    """A machine."""

    source: str
    """The file, folder or machine that was read."""
    functions: tuple[Function, ...]
    host: Host = Host()
    unseen: tuple[str, ...] = ()
    """Registers and files that could not be read, and how to show them."""
    is_nested: bool = False
    """Whether the source nests functions instead of numbering the buses below bridges."""
    log: tuple[LogEvent, ...] = ()
    """What a kernel's log beside the registers says, in the order of the source."""
    peers: tuple[Peer, ...] = ()
    """Connections between devices that are no PCIe links."""
    pieces: tuple[Piece, ...] = ()
    """The forms that the source has."""
    later: tuple["Tree", ...] = ()
    """Later readings of the same machine in the same source."""

    @cached_property
    def _by_slot(self) -> dict[str, Function]:
        return {function.slot: function for function in self.functions}

    def function(self, slot: str) -> Function | None:
        """The function of a slot; None if there is none."""
        return self._by_slot.get(slot)

    def title(self, slot: str) -> str:
        """The title of the function of a slot; empty if there is none."""
        found = self.function(slot)
        return found.title if found else ""


def short(slot: str) -> str:
    """A slot without the domain 0000, the only one of most machines; a number where the source shows no slot."""
    if slot.startswith(UNNAMED_DOMAIN):
        device, _, function = slot.rpartition(":")[2].partition(".")
        return f"unnamed {int(device, 16) + 32 * int(function) + 1}"
    return slot.removeprefix("0000:")
