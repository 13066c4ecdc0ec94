"""Read a tree from the text of `lspci -vvv`, of old and new pciutils, complete or not.

Registers that the text does not show are None, and `unseen` gives the command that would show them: a text made
without root or without `-vvv` has no registers, and a truncated one ends early.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from pcielab.doctor.config_space import ACS_SERVICES
from pcielab.doctor.tree import (
    LANES,
    MOST_FUNCTIONS,
    PAYLOADS,
    SPEEDS,
    Control,
    ErrorReporting,
    Function,
    Kind,
    LinkEnd,
    ResizableBar,
    Tree,
)
from pcielab.errors import InputError
from pcielab.library import lspci

_EXPRESS = re.compile(r"\] Express (?:\(v\d+\) )?(?P<kind>[A-Z][A-Za-z/ -]*)")
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("Root Complex Integrated Endpoint", "integrated-endpoint"),
    ("Root Complex Event Collector", "event-collector"),
    ("Legacy Endpoint", "legacy-endpoint"),
    ("Endpoint", "endpoint"),
    ("Root Port", "root-port"),
    ("Upstream Port", "upstream-port"),
    ("Downstream Port", "downstream-port"),
    ("PCI-Express to PCI", "pcie-to-pci-bridge"),
    ("PCI/PCI-X to PCI-Express", "pci-to-pcie-bridge"),
    ("PCI to PCI-Express", "pci-to-pcie-bridge"),
)
_CLASSES = {
    "SATA controller": 0x0106,
    "Non-Volatile memory controller": 0x0108,
    "Ethernet controller": 0x0200,
    "Infiniband controller": 0x0207,
    "Network controller": 0x0280,
    "VGA compatible controller": 0x0300,
    "3D controller": 0x0302,
    "Display controller": 0x0380,
    "Host bridge": 0x0600,
    "PCI bridge": 0x0604,
    "CXL": 0x0502,
    "Processing accelerators": 0x1200,
}
_CLASS_CODE = re.compile(r" \[([0-9a-f]{4})\]$|^([0-9a-f]{4})$|^Class ([0-9a-f]{4})$")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]|^([0-9a-f]{4}):([0-9a-f]{4})\b")
_BUSES = re.compile(r"\bsecondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_BAR = re.compile(r"BAR (\d): current\s+size:\s+(\S+),\s+supported:\s+((?:\d{1,6}[KMGT]B\s*)+)")
_LATE = re.compile(r"Capabilities: \[[1-9a-f][0-9a-f]{2} v|Kernel driver in use:|Kernel modules:")
_LISTED_LAST = re.compile(r"(?: \((?:rev|prog-if) [^)]*\))+$")
_ALL_ONES = re.compile(r"!!! Unknown header type 7f|\(rev ff\) \(prog-if ff\)")
_REGISTERS_OF_ALL = {"DevCap", "DevCtl"}
"""Registers of every function with a PCI Express capability (PCIe 6.0, section 7.5.3)."""
_REGISTERS_OF_LINKS = {"LnkCap", "LnkSta"}
_WITHOUT_LINK: tuple[Kind, ...] = ("integrated-endpoint", "event-collector")
_MOST_NAMED = 4
_MOST_BARS = 6
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}
_TIMES_NS = {"ns": 1.0, "us": 1e3}


def read_lspci(text: str, source: str) -> Tree:
    """The tree that a text shows.

    Args:
        text: Output of `lspci -vvv`.
        source: Its name in messages.

    Raises:
        InputError: It shows no PCI function.
    """
    try:
        blocks = lspci.parse(text)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    if len(blocks) > MOST_FUNCTIONS:
        raise InputError(f"{source}: {len(blocks)} PCI functions: give a machine of {MOST_FUNCTIONS} at most")
    blocks, doubled = _of_one_machine(blocks)
    functions = tuple(_function(block) for block in blocks)
    tree = Tree(source=source, functions=functions)
    unseen = (*doubled, *_unseen(text, blocks, functions), *_ports_above(tree))
    return tree.model_copy(update={"unseen": unseen})


def _ports_above(tree: Tree) -> Iterator[str]:
    slots = [link.device.slot.removeprefix("0000:") for link in tree.links if link.device.link is not None]
    if tree.is_selection and slots:
        yield (
            f"the port above {_some(slots)}: a link cannot be judged from one end: give the output of "
            f"`{lspci.COMMAND}` for the whole machine"
        )


def _of_one_machine(blocks: Sequence[lspci.Function]) -> tuple[list[lspci.Function], list[str]]:
    """The blocks before the first repeated slot, and a note if there is one."""
    first: dict[str, int] = {}
    for number, block in enumerate(blocks):
        slot = _with_domain(block.slot)
        if slot in first:
            note = (
                f"line {block.line}: {block.slot} is there already, in line {first[slot]}: the text seems to hold "
                "two machines, and only what stands above this line is used: give one file per machine"
            )
            return list(blocks[:number]), [note]
        first[slot] = block.line
    return list(blocks), []


def _unseen(text: str, blocks: Sequence[lspci.Function], functions: Sequence[Function]) -> Iterator[str]:
    denied = sum("<access denied>" in block.text for block in blocks)
    count = len(blocks)
    if denied:
        yield (
            f"the capabilities of {denied} of {count} functions, which lspci shows to root alone: no links, no "
            f"MPS, no tags: give the output of `{lspci.COMMAND}`"
        )
    elif not any(block.registers for block in blocks):
        yield (
            f"line {blocks[0].line} and all others: no registers, as the text was made without -vvv: give the "
            f"output of `{lspci.COMMAND}`"
        )
        return
    last = blocks[-1]
    is_cut = not denied and _is_cut(text, last, functions[-1])
    if is_cut:
        yield (
            f"line {len(text.splitlines())}: the text ends inside {last.slot}, as if it were cut off: what should "
            f"follow is missing: give the whole output of `{lspci.COMMAND}`"
        )
    yield from _silent(blocks)
    yield from _incomplete(blocks[:-1] if is_cut else blocks)
    yield from _lost(functions)


def _is_cut(text: str, last: lspci.Function, function: Function) -> bool:
    cut_in_register = "] Express " in last.text and function.link is not None and "LnkSta" not in last.registers
    # Copied text often lacks the last line end: then the last function should get to its extended capabilities.
    ends = text.rstrip("`").endswith("\n") or _LATE.search(last.text) is not None
    return cut_in_register or (not ends and bool(last.registers))


def _silent(blocks: Sequence[lspci.Function]) -> Iterator[str]:
    silent = [block.slot for block in blocks if _ALL_ONES.search(block.text)]
    if silent:
        yield (
            f"{_some(silent)}: no answer, lspci read all ones: the device is off (D3cold), or off the bus: "
            "search the kernel's log for its slot"
        )


def _incomplete(blocks: Sequence[lspci.Function]) -> Iterator[str]:
    """Report functions whose PCI Express capability is named without its registers."""
    without = [block.slot for block in blocks if not _has_registers(block)]
    if without and any(block.registers for block in blocks):
        yield (
            f"registers of {_some(without)}: the text names the PCI Express capability, but shows no DevCap, "
            f"DevCtl, LnkCap or LnkSta: give the output of `{lspci.COMMAND}` unchanged"
        )


def _has_registers(block: lspci.Function) -> bool:
    kind = _kind(block.text)
    if kind is None:
        return True
    needed = _REGISTERS_OF_ALL | (set() if kind in _WITHOUT_LINK else _REGISTERS_OF_LINKS)
    return needed <= block.registers.keys()


def _some(slots: Sequence[str]) -> str:
    more = len(slots) - _MOST_NAMED
    return ", ".join(slots[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _lost(functions: Sequence[Function]) -> Iterator[str]:
    """Report ports whose link is up and whose bus lies after every bus of the text.

    An empty bus before the last one is a hidden device, not a truncated text, and is not reported.
    """
    shown = max((function.domain, function.bus) for function in functions)
    lost = [
        function.slot
        for function in functions
        if function.is_port
        and function.secondary_bus
        and function.link is not None
        and function.link.is_up
        and (function.domain, function.secondary_bus) > shown
    ]
    if lost:
        yield (
            f"functions below {', '.join(lost)}: the link is up, but the text shows no function there: give the "
            f"whole output of `{lspci.COMMAND}`"
        )


def _function(block: lspci.Function) -> Function:
    kind = _kind(block.text)
    class_name, _, name = block.title.partition(": ")
    ids = _IDS.search(name)
    buses = _BUSES.search(block.text)
    return Function.model_construct(
        slot=_with_domain(block.slot),
        title=_LISTED_LAST.sub("", block.title),
        vendor_id=int(ids[1] or ids[3], 16) if ids else None,
        device_id=int(ids[2] or ids[4], 16) if ids else None,
        class_code=_class_code(class_name),
        kind=kind,
        secondary_bus=int(buses[1], 16) if buses else None,
        subordinate_bus=int(buses[2], 16) if buses else None,
        is_virtual_function="Virtual Function" in block.title,
        driver=_word(block.text, r"Kernel driver in use: (\S+)"),
        bus_master=_flag(block.text, "BusMaster"),
        power_state=_power_state(block.text),
        numa_node=_integer(block.text, r"NUMA node: (-?\d+)"),
        iommu_group=_integer(block.text, r"IOMMU group: (\d+)"),
        link=_link(block) if "LnkCap" in block.registers else None,
        control=_control(block) if "DevCap" in block.registers else None,
        errors=_errors(block),
        acs_enabled=_services(block),
        ats_enabled=_flag(block.registers.get("ATSCtl", ""), "Enable"),
        has_slot=_flag(block.text, r"Express (?:\(v\d+\) )?(?:Root|Downstream) Port \(Slot"),
        card_present=_flag(block.registers.get("SltSta", ""), "PresDet"),
        slot_off=_slot_off(block),
        answers=False if _ALL_ONES.search(block.text) else None,
        resizable_bars=tuple(_resizable(block.text)),
        cxl_protocols=_cxl(block),
    )


def _with_domain(slot: str) -> str:
    return slot if slot.count(":") == 2 else f"0000:{slot}"


def _kind(text: str) -> Kind | None:
    found = _EXPRESS.search(text)
    if found is None:
        return None
    return next((kind for name, kind in _KINDS if found["kind"].startswith(name)), None)


def _class_code(name: str) -> int | None:
    shown = _CLASS_CODE.search(name)
    if shown:
        return int(shown[1] or shown[2] or shown[3], 16)
    return _CLASSES.get(name)


def _link(block: lspci.Function) -> LinkEnd:
    capable, status = block.registers["LnkCap"], block.registers.get("LnkSta", "")
    control = block.registers.get("LnkCtl", "")
    aspm = re.search(r"ASPM ([^;]*)", control)
    lanes, lane_errors = _lanes(capable), block.registers.get("LaneErrStat")
    rcb = _integer(control, r"RCB (64|128) bytes")
    return LinkEnd.model_construct(
        max_speed_gtps=_speed(capable),
        max_lanes=lanes,
        speed_gtps=_speed(status),
        lanes=_lanes(status),
        target_speed_gtps=_speed(block.registers.get("LnkCtl2", "")),
        rcb_bytes=rcb,
        aspm_enabled=tuple(re.findall(r"L0s|L1", aspm[1])) if aspm else None,
        l0s_exit_ns=_time_ns(capable, r"(?:L0s|L0) <(\d{1,6})(ns|us)"),
        l1_exit_ns=_time_ns(capable, r"L1 <(\d{1,6})(ns|us)"),
        flit_mode=_flag(block.registers.get("LnkSta2", ""), "(?:Flit|FltMode)"),
        active=_flag(status, "DLActive") if _flag(capable, "LLActRep") else None,
        disabled=_flag(control, "(?:LnkDisable|Disabled)"),
        lane_errors=None if lane_errors is None else _lanes_named(lane_errors, lanes or 0),
    )


def _lanes_named(shown: str, lanes: int) -> tuple[int, ...]:
    """Lanes of the lane error status, of those that the link has: the bits of the others are reserved."""
    named = re.match(r"LaneErr at lane:((?: \d{1,2})+)", shown)
    return tuple(lane for lane in map(int, named[1].split()) if lane < lanes) if named else ()


def _control(block: lspci.Function) -> Control:
    registers = block.registers
    capable, control = registers.get("DevCap", ""), registers.get("DevCtl", "")
    capable_2, control_2 = registers.get("DevCap2", ""), registers.get("DevCtl2", "")
    return Control.model_construct(
        max_payload_bytes=_size(capable, "MaxPayload"),
        mps_bytes=_size(control, "MaxPayload"),
        mrrs_bytes=_size(control, "MaxReadReq"),
        extended_tags_possible=_flag(capable, "ExtTag"),
        extended_tags=_flag(control, "ExtTag"),
        ten_bit_completer=_flag(capable_2, "10BitTagComp"),
        ten_bit_requester=_flag(capable_2, "10BitTagReq"),
        ten_bit_tags=_flag(control_2, "10BitTagReq"),
        fourteen_bit_tags=_flag(registers.get("DevCtl3", ""), "14BitTagReq"),
        relaxed_ordering=_flag(control, "RlxdOrd"),
        completion_timeout_off=_flag(control_2, "TimeoutDis"),
    )


def _slot_off(block: lspci.Function) -> bool | None:
    """Whether the slot's power is off; `Power+` in SltCtl means off, and counts where SltCap has a controller."""
    switched = _flag(block.registers.get("SltCap", ""), "PwrCtrl")
    return bool(switched) and _flag(block.registers.get("SltCtl", ""), "Power")


def _errors(block: lspci.Function) -> ErrorReporting | None:
    shown, status = block.registers.get("AERCap"), block.registers.get("CESta")
    if shown is None and status is None:
        return None
    return ErrorReporting.model_construct(
        ecrc_generated=_flag(shown or "", "(?:ECRCGenEn|CGenEn)"),
        correctable_status=None if status is None else tuple(re.findall(r"\b([A-Z]\w{1,20})\+", status)),
    )


def _services(block: lspci.Function) -> tuple[str, ...] | None:
    shown = block.registers.get("ACSCtl")
    return None if shown is None else tuple(name for name in ACS_SERVICES if f"{name}+" in shown)


def _resizable(text: str) -> Iterator[ResizableBar]:
    if "Physical Resizable BAR" not in text:
        return
    for found in islice(_BAR.finditer(text.partition("Physical Resizable BAR")[2]), _MOST_BARS):
        sizes = [_bytes(word) for word in found[3].split()]
        size, known = _bytes(found[2]), [value for value in sizes if value is not None]
        if size is not None and known:
            yield ResizableBar.model_construct(bar=int(found[1]), size_bytes=size, largest_bytes=max(known))


def _cxl(block: lspci.Function) -> tuple[str, ...]:
    shown = block.registers.get("CXLCtl", "")
    return tuple(name for name in ("Cache", "IO", "Mem") if f"{name}+" in shown)


def _power_state(text: str) -> str | None:
    shown = _word(text, r"\n\s*Status: (D[0-3])\b")
    return "D3hot" if shown == "D3" else shown


def _bytes(shown: str) -> int | None:
    found = re.fullmatch(r"(\d{1,6})([KMGT])B", shown)
    return int(found[1]) << _UNITS[found[2]] if found else None


def _speed(register: str) -> float | None:
    found = re.search(r"Speed:? ([\d.]{1,5}) ?GT/s", register)
    speeds = [speed for speed in SPEEDS if found and found[1] == f"{speed:g}"]
    return speeds[0] if speeds else None


def _lanes(register: str) -> int | None:
    lanes = _integer(register, r"Width x(\d{1,3})\b")
    return lanes if lanes == 0 or lanes in LANES else None


def _size(register: str, name: str) -> int | None:
    size = _integer(register, rf"{name} (\d{{3,4}}) bytes")
    return size if size in PAYLOADS else None


def _time_ns(register: str, pattern: str) -> float | None:
    found = re.search(pattern, register)
    return int(found[1]) * _TIMES_NS[found[2]] if found else None


def _flag(register: str, name: str) -> bool | None:
    found = re.search(rf"(?<![A-Za-z0-9]){name}([+-])", register)
    return found[1] == "+" if found else None


def _integer(text: str, pattern: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found and len(found[1]) <= 10 else None


def _word(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return found[1] if found else None
