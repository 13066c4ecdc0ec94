"""Machines for tests: folders like /sys, with the configuration space of every function, byte by byte.

Tests start from a healthy server and break one thing in it.
"""

import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

from pcielab._core import SPEEDS_GTPS as SPEEDS

_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)
_ACS_SERVICES = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
KINDS = {
    "endpoint": 0,
    "legacy-endpoint": 1,
    "root-port": 4,
    "upstream-port": 5,
    "downstream-port": 6,
    "integrated": 9,
}
_MIB = 1 << 20


@dataclass(frozen=True)
class Made:
    """One function; the defaults are those of a healthy one."""

    slot: str
    kind: str = "endpoint"
    ids: tuple[int, int] = (0x15B3, 0x1021)
    class_code: int = 0x0200
    buses: tuple[int, int] | None = None
    speeds: tuple[float, float] = (32.0, 32.0)
    """Supported and negotiated, as are `lanes`."""
    lanes: tuple[int, int] = (16, 16)
    target_speed: float = 32.0
    payloads: tuple[int, int] = (512, 512)
    """Supported and set, as are `extended_tags`."""
    mrrs: int = 4096
    extended_tags: tuple[bool, bool] = (True, True)
    ten_bit: tuple[bool, bool, bool] = (True, True, True)
    """Supported as completer, supported as requester, and set."""
    relaxed_ordering: bool = True
    timeout_off: bool = False
    bus_master: bool = True
    aspm: int = 0
    power_state: int = 0
    ecrc: bool = False
    correctable: int = 0
    """CESta."""
    uncorrectable: int = 0
    """UESta."""
    containment: int | None = None
    """DpcSta; None without that capability."""
    substates: int | None = None
    """The bits of L1SubCtl1 that switch substates on; None without that capability."""
    atomics: tuple[int, bool] = (0, False)
    """The bits of DevCap2 on atomic operations, and whether the port blocks them."""
    ltr: bool | None = None
    """Whether latency tolerance reporting is on; None if it is not supported."""
    silent: bool = False
    """Whether it does not answer: its configuration space reads as ones."""
    lane_errors: int | None = None
    """Lane Error Status; None without that capability."""
    present: bool | None = None
    """Whether a card is in its slot; None for a port without a slot."""
    active: bool | None = None
    """Whether its data link layer is active; None for a port that does not report it."""
    disabled: bool = False
    acs: tuple[str, ...] | None = None
    rebar: tuple[int, int] | None = None
    """Present and largest size of a BAR, MiB."""
    cxl: tuple[str, ...] | None = None
    driver: str | None = "mlx5_core"
    files: dict[str, str] = field(default_factory=dict)
    """Further files of the kernel: `numa_node`, `aer_dev_correctable`..."""
    iommu: tuple[int, str] | None = (7, "DMA-FQ")
    interrupts: tuple[int, ...] = ()

    def config(self) -> bytes:
        """Its configuration space."""
        if self.silent:
            return b"\xff" * 4096
        space = bytearray(4096)
        struct.pack_into("<HHHH", space, 0, *self.ids, 0x0002 | self.bus_master << 2, 0x0010)
        struct.pack_into("<H", space, 0x0A, self.class_code)
        space[0x0E] = 1 if self.buses else 0
        if self.buses:
            space[0x18:0x1B] = bytes([int(self.slot.split(":")[1], 16), *self.buses])
        space[0x34] = 0x40
        struct.pack_into("<BBHH", space, 0x40, 0x01, 0x60, 0x0003, self.power_state)
        self._express(space, 0x60)
        self._extended(space)
        return bytes(space)

    def _express(self, space: bytearray, base: int) -> None:
        size = [_PAYLOADS.index(value) for value in (*self.payloads, self.mrrs)]
        flags = 2 | KINDS[self.kind] << 4 | (self.present is not None) << 8
        capable = size[0] | self.extended_tags[0] << 5
        control = size[1] << 5 | size[2] << 12 | self.extended_tags[1] << 8 | self.relaxed_ordering << 4
        struct.pack_into("<BBHIH", space, base, 0x10, 0, flags, capable, control)
        # Exit latencies: L0s under 1 us (code 4), L1 under 16 us (code 4).
        link = (SPEEDS.index(self.speeds[0]) + 1) | self.lanes[0] << 4 | 3 << 10 | 4 << 12 | 4 << 15
        link |= (self.active is not None) << 20
        status = (SPEEDS.index(self.speeds[1]) + 1) | self.lanes[1] << 4 | bool(self.active) << 13
        struct.pack_into("<IHH", space, base + 0x0C, link, self.aspm | self.disabled << 4, status)
        struct.pack_into("<H", space, base + 0x1A, bool(self.present) << 6)
        capable_2 = self.ten_bit[0] << 16 | self.ten_bit[1] << 17 | self.atomics[0] | (self.ltr is not None) << 11
        control_2 = self.ten_bit[2] << 12 | self.timeout_off << 4 | self.atomics[1] << 7 | bool(self.ltr) << 10
        struct.pack_into("<IH", space, base + 0x24, capable_2, control_2)
        struct.pack_into("<H", space, base + 0x30, SPEEDS.index(self.target_speed) + 1)

    def _extended(self, space: bytearray) -> None:
        parts = [(0x0001, 2, self._aer()), (0x0003, 1, b"\x11\x22\x33\x44\x55\x66\x77\x88")]
        if self.acs is not None:
            bits = sum(1 << _ACS_SERVICES.index(name) for name in self.acs)
            parts.append((0x000D, 1, struct.pack("<HH", 0x7F, bits)))
        if self.rebar is not None:
            shown, largest = (size.bit_length() - 1 for size in self.rebar)
            sizes = sum(1 << 4 + power for power in range(6, largest + 1))
            parts.append((0x0015, 1, struct.pack("<II", sizes, 1 << 5 | shown << 8)))
        if self.lane_errors is not None:
            parts.append((0x0019, 1, struct.pack("<II", 0, self.lane_errors)))
        if self.containment is not None:
            parts.append((0x001D, 1, struct.pack("<HHH", 0, 0, self.containment)))
        if self.substates is not None:
            parts.append((0x001E, 1, struct.pack("<II", 0xF, self.substates)))
        if self.cxl is not None:
            bits = sum(1 << ("Cache", "IO", "Mem").index(name) for name in self.cxl)
            parts.append((0x0023, 1, struct.pack("<IHHH", 0x1E98 | 0x038 << 20, 0, 0x1E, bits)))
        offset = 0x100
        for number, (identifier, version, body) in enumerate(parts):
            after = offset + 0x40 if number + 1 < len(parts) else 0
            struct.pack_into("<I", space, offset, identifier | version << 16 | after << 20)
            space[offset + 4 : offset + 4 + len(body)] = body
            offset += 0x40

    def _aer(self) -> bytes:
        # Generation possible (5), generation on (6).
        status = struct.pack("<I", self.uncorrectable) + bytes(8) + struct.pack("<I", self.correctable) + bytes(4)
        return status + struct.pack("<I", 1 << 5 | self.ecrc << 6) + bytes(20)


def server() -> list[Made]:
    """A healthy server: a NIC with two functions, a GPU, a switch with two drives, an empty port."""
    port = Made("0000:00:01.0", "root-port", (0x8086, 0x352A), 0x0604, driver="pcieport", iommu=None)
    drive = Made("0000:06:00.0", ids=(0x144D, 0xA80A), class_code=0x0108, driver="nvme")
    drive = replace(drive, lanes=(4, 4), speeds=(16.0, 16.0), target_speed=16.0, mrrs=512)
    drive = replace(drive, ten_bit=(False, False, False))
    down = replace(port, kind="downstream-port", lanes=(4, 4), speeds=(16.0, 16.0), target_speed=16.0)
    return [
        replace(port, buses=(1, 1)),
        Made("0000:01:00.0"),
        Made("0000:01:00.1"),
        replace(port, slot="0000:00:02.0", buses=(2, 2)),
        Made(
            "0000:02:00.0",
            ids=(0x10DE, 0x2330),
            class_code=0x0302,
            driver="nvidia",
            rebar=(131_072, 131_072),
            ten_bit=(False, False, False),
        ),
        replace(port, slot="0000:00:03.0", buses=(3, 3), speeds=(32.0, 2.5), lanes=(16, 0)),
        replace(port, slot="0000:00:04.0", buses=(4, 7), speeds=(32.0, 16.0), lanes=(8, 8)),
        replace(port, slot="0000:04:00.0", kind="upstream-port", buses=(5, 7), speeds=(16.0, 16.0), lanes=(8, 8)),
        replace(down, slot="0000:05:00.0", buses=(6, 6)),
        replace(down, slot="0000:05:01.0", buses=(7, 7)),
        drive,
        replace(drive, slot="0000:07:00.0"),
    ]


def write(root: Path, functions: list[Made], files: dict[str, str] | None = None) -> Path:
    """Write the folder of a machine as a copy of `/`, and return it.

    Args:
        root: The folder.
        functions: The functions of the machine.
        files: Further files by path: `proc/cmdline`.
    """
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    for function in functions:
        _function(root, bus, function)
    defaults = {
        "sys/devices/system/node/has_cpu": "0-1",
        "sys/devices/system/node/has_memory": "0-1",
        "sys/devices/system/node/node0/cpulist": "0-7",
        "sys/devices/system/node/node1/cpulist": "8-15",
        "sys/class/iommu/dmar0/intel-iommu/version": "5:0",
        "proc/cmdline": "root=/dev/nvme0n1p2 quiet",
    }
    for path, text in (defaults | (files or {})).items():
        _file(root / path, text)
    return root


def _function(root: Path, bus: Path, function: Made) -> None:
    folder = root / "sys/devices/pci0000:00" / function.slot
    _file(folder / "vendor", f"0x{function.ids[0]:04x}")
    _file(folder / "device", f"0x{function.ids[1]:04x}")
    _file(folder / "class", f"0x{function.class_code:04x}00")
    files = {"numa_node": "0"} | function.files
    for name, text in files.items():
        _file(folder / name, text)
    (folder / "config").write_bytes(function.config())
    (bus / function.slot).symlink_to(Path("../../../devices/pci0000:00") / function.slot)
    if function.driver:
        (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{function.driver}")
    if function.iommu is not None:
        group = root / f"sys/kernel/iommu_groups/{function.iommu[0]}"
        _file(group / "type", function.iommu[1])
        (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{function.iommu[0]}")
    for number, processor in enumerate(function.interrupts):
        interrupt = str(100 + 10 * int(function.slot[5:7], 16) + number)
        _file(folder / "msi_irqs" / interrupt, "msix")
        _file(root / "proc/irq" / interrupt / "effective_affinity_list", str(processor))


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
