"""The system that a machine's `sys-*.txt` files describe: link, card, caches, sockets and addresses.

A value that no file states is the base host's, with a warning. Nothing is estimated here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from pcielab.doctor import read_lspci
from pcielab.doctor.devices import find, link_of, root_port
from pcielab.doctor.tree import short
from pcielab.errors import InputError, refusal
from pcielab.library.profiles import Kind, check_file
from pcielab.library.profiles.values import Table
from pcielab.store.setup import setup_of

CARD = "19ee:6000"
BOARDS = {"AMDA0058-0001": "nfp6000-0001", "AMDA0058-0002": "nfp6000", "AMDA0058-0011": "nfp6000"}
"""Device profiles of the card's boards, by `assembly.partno`; two boards share one until shown to differ."""
CARDS = tuple(dict.fromkeys(BOARDS.values()))
"""The device profiles whose constants calibration knows without being given them."""

BASE_HOST = "generic-e5"
DUAL_BASE_HOST = "generic-e5-dual"
IDLE_BASE_HOST = "generic-idle"
DEFAULT_BOARD = "AMDA0058-0002"
_DEFAULT_LINK = "gen3-x8"
DEFAULT_CHUNK_BYTES = 4 << 20
_DEFAULT_CHUNKS = 16
_MIB = 1 << 20
OLDER_HOST = "snb-e5-2630"
MERGING: Table = {"merge_partial_lines": True, "partial_line_busy_ns": 0.0}
"""How a root complex treats partial lines from Haswell on."""
_BEFORE_HASWELL = frozenset({42, 45, 58, 62})
"""Intel's model numbers, family 6, of Sandy Bridge and Ivy Bridge."""
_WAY_BYTES = 128 << 10
"""2,048 sets of 64 B: a way of a slice on every Xeon from Sandy Bridge to Broadwell."""


@dataclass
class RecordedSystem:
    """A complete system: recorded values over those of a base host.

    Attributes:
        system: A resolved system as a table, link, host and device included.
        device: Name of the device profile.
        base_host: Name of the host profile that fills the gaps.
        sources: File and entry behind the value of a dotted key.
        warnings: The assumptions.
        unplaced: Several sockets, and no record of the memory's and the control program's.
    """

    system: Table
    device: str
    base_host: str
    sources: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unplaced: bool = False


def read_recorded_system(
    texts: Mapping[str, str], folder: str, name: str, base_host: str = BASE_HOST
) -> RecordedSystem:
    """Read the system of a machine.

    Args:
        texts: The `sys-*.txt` files by name; any may be missing.
        folder: Name of their folder; it may end in the sockets and the IOMMU mode.
        name: Name of the new system.
        base_host: Host profile that fills the gaps.

    Raises:
        InputError: The files are of another card.
    """
    device = _board(texts)
    host = part("host", base_host)
    system: Table = {
        "name": name,
        "title": folder,
        "calibrated": True,
        "device_socket": 0,
        "memory_socket": 0,
        "program_socket": 0,
        "host": host,
        "device": part("device", device or BOARDS[DEFAULT_BOARD]),
    }
    recorded = RecordedSystem(system, device or BOARDS[DEFAULT_BOARD], base_host)
    if device is None:
        recorded.warnings.append(f"sys-nfp-hwinfo.txt names no board: {DEFAULT_BOARD} assumed")
    else:
        recorded.sources["device"] = "sys-nfp-hwinfo.txt: assembly.partno"
    _add_link(recorded, texts.get("sys-lspci.txt", ""))
    _add_processor(recorded, texts)
    _add_placement(recorded, texts, folder)
    _add_buffer(recorded, texts)
    return recorded


@cache
def older_host() -> Table:
    """The measured Sandy Bridge host, for behaviour of older hosts that no row of a pack shows."""
    return part("host", OLDER_HOST)


def not_merging() -> Table:
    """How a root complex treats partial lines before Haswell.

    It sends each separately, and a line that a write has begun blocks the next write to it; no aligned row shows
    for how long.
    """
    return {key: older_host()["root_complex"][key] for key in MERGING}


def part(kind: Kind, name: str) -> Table:
    """A part with every key of the simulator."""
    values = check_file(kind, name).values
    return {key: value for key, value in values.items() if kind != "link" or key != "name"}


def _board(texts: Mapping[str, str]) -> str | None:
    found = re.search(r"^assembly\.partno=(\S+)", texts.get("sys-nfp-hwinfo.txt", ""), re.MULTILINE)
    if not found:
        return None
    if found[1] not in BOARDS:
        raise refusal(
            "unsupported",
            f"sys-nfp-hwinfo.txt: assembly.partno={found[1]}: calibration knows the constants of the NFP-6000 "
            f"boards {', '.join(BOARDS)} only",
        )
    return BOARDS[found[1]]


def _add_link(recorded: RecordedSystem, lspci: str) -> None:
    if not lspci.strip():
        recorded.system["link"] = part("link", _DEFAULT_LINK)
        recorded.warnings.append(f"sys-lspci.txt is missing: link {_DEFAULT_LINK} assumed")
        return
    try:
        tree = read_lspci(lspci, "the text")
        card = find(tree, CARD)
    except InputError as error:
        raise refusal(
            "unsupported", f"sys-lspci.txt: {error}: calibration knows the constants of the NFP-6000 ({CARD}) only"
        ) from None
    port = root_port(tree, card)
    recorded.system["link"] = link_of(card, port).dump()
    below = f", below {short(port.slot)}" if port else ""
    recorded.sources["link"] = f"sys-lspci.txt: {short(card.slot)}{below}"


def _add_processor(recorded: RecordedSystem, texts: Mapping[str, str]) -> None:
    cpuinfo = texts.get("sys-cpuinfo.txt", "")
    host = recorded.system["host"]
    model = re.search(r"^model name\s*:\s*(.+)", cpuinfo, re.MULTILINE)
    cache = re.search(r"^cache size\s*:\s*(\d{1,12}) KB", cpuinfo, re.MULTILINE)
    nodes = re.search(r"^available: (\d{1,3}) nodes", texts.get("sys-numactl.txt", ""), re.MULTILINE)
    packages = len(set(re.findall(r"^physical id\s*:\s*(\d+)", cpuinfo, re.MULTILINE)))
    sockets = packages or (int(nodes[1]) if nodes else 0)
    if model:
        host["name"] = " ".join(model[1].split())
    if (number := re.search(r"^model\s*:\s*(\d{1,5})\b", cpuinfo, re.MULTILINE)) and int(
        number[1]
    ) in _BEFORE_HASWELL:
        for key, value in not_merging().items():
            host["root_complex"][key] = value
            recorded.sources[f"host.root_complex.{key}"] = "sys-cpuinfo.txt: a processor from before Haswell"
    if sockets:
        host["sockets"] = sockets
        recorded.sources["host.sockets"] = "sys-cpuinfo.txt: physical id" if packages else "sys-numactl.txt"
    else:
        recorded.warnings.append(f"sys-cpuinfo.txt has no number of sockets: {host['sockets']} assumed")
    if cache:
        host["llc"] = {**host["llc"], **llc_shape(int(cache[1]) << 10)}
        recorded.sources["host.llc.llc_bytes"] = "sys-cpuinfo.txt: cache size"
        recorded.sources["host.llc.ways"] = "size over slices of 2,048 sets"
    else:
        recorded.warnings.append("sys-cpuinfo.txt has no LLC size: the base host's assumed")


def llc_shape(llc_bytes: int) -> dict[str, int]:
    """Capacity, ways and slices of a Xeon's last-level cache: slices of 2.5 MiB and 20 ways, or 2 MiB and 16.

    For other sizes only the capacity: the ways stay the base host's.
    """
    for slice_bytes in (5 * _MIB // 2, 2 * _MIB):
        if llc_bytes % slice_bytes == 0:
            return {
                "llc_bytes": llc_bytes,
                "ways": slice_bytes // _WAY_BYTES,
                "slices": llc_bytes // slice_bytes,
            }
    return {"llc_bytes": llc_bytes}


def _add_placement(recorded: RecordedSystem, texts: Mapping[str, str], folder: str) -> None:
    system = recorded.system
    command_line = texts.get("sys-kernel-cmdline.txt")
    setup = setup_of({"host": {"command_line": command_line}, "source": {"directory": folder}})
    if setup.iommu is not None:
        system["iommu"] = setup.iommu
        recorded.sources["iommu"] = "sys-kernel-cmdline.txt: intel_iommu"
    else:
        words = folder.split("-")
        system["iommu"] = ("four-kib-pages" if "nosp" in words else "super-pages") if "iommu" in words else "off"
        recorded.warnings.append(
            f"sys-kernel-cmdline.txt is missing: IOMMU {system['iommu']} taken from the folder's name"
        )
    if setup.sockets is not None:
        for key, socket in zip(("device_socket", "memory_socket", "program_socket"), setup.sockets, strict=True):
            system[key] = socket
            recorded.sources[key] = "name of the folder"
        system["host"]["sockets"] = max(system["host"]["sockets"], *(socket + 1 for socket in setup.sockets))
    elif system["host"]["sockets"] > 1:
        recorded.unplaced = True


def default_addresses(translated: bool, chunks: int = 0) -> list[int]:
    """Addresses of a buffer that nobody recorded: one stretch, where an IOMMU or a kernel would put it.

    Args:
        translated: Whether an IOMMU translates them.
        chunks: Number of chunks of 4 MiB; 0: as the NFP-6000's buffer has.
    """
    start = 0xC000_0000 if translated else 0x4_0000_0000
    return [start + DEFAULT_CHUNK_BYTES * chunk for chunk in range(chunks or _DEFAULT_CHUNKS)]


def _add_buffer(recorded: RecordedSystem, texts: Mapping[str, str]) -> None:
    system = recorded.system
    found = re.findall(r"0x[0-9a-fA-F]{1,16}\b", texts.get("sys-dma-addrs.txt", ""))
    addresses = [int(address, 16) for address in found]
    size = re.match(r"\s*(\d{1,18})\b", texts.get("sys-buf-sz.txt", ""))
    if addresses:
        chunk_bytes = int(size[1]) // len(addresses) if size else DEFAULT_CHUNK_BYTES
        system["chunk_bytes"] = chunk_bytes
        system["chunk_addresses"] = addresses
        recorded.sources["chunk_addresses"] = "sys-dma-addrs.txt"
        return
    system["chunk_bytes"] = DEFAULT_CHUNK_BYTES
    system["chunk_addresses"] = default_addresses(system["iommu"] != "off")
    recorded.warnings.append("sys-dma-addrs.txt is missing: addresses of the buffer assumed")
