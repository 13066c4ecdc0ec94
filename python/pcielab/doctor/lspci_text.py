"""Read a tree from the text of lspci, of old and new pciutils, in any verbosity and order, complete or not.

Registers that the text does not show are None, and `unseen` gives the command that would show them: a text made
without root or without `-vvv` has no registers, and a truncated one ends early. A hex dump (`-xxx`, `-xxxx`) fills
in registers that the text does not decode. A text may show one machine several times, as before and after a
change.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pcielab.doctor.config_space import ACS_SERVICES, ATOMICS, CONTAINMENT_REASONS, ROOT_STATUS, ConfigSpace
from pcielab.doctor.slots import short
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
    Piece,
    ResizableBar,
    Tree,
)
from pcielab.errors import InputError
from pcielab.library import lspci
from pcielab.library.lspci_blocks import Block, blocks
from pcielab.library.lspci_states import States, states, with_domain

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
_ALL_ONES = re.compile(r"!!! Unknown header type 7f|\(rev ff\)(?: \(prog-if ff\)|$)|\[ffff:ffff\]", re.MULTILINE)
_CLOSING = re.compile(r"(?:`|</\w{1,10}>)+\s*$")
"""What closes a block of code after its last line."""
_CLOSING_LETTERS = 256
_UNASSIGNED = re.compile(r"Region (\d): Memory at <(?:unassigned|ignored)>")
_SUBSTATES = {
    "PCI-PM_L1.2": "PCI-PM L1.2",
    "PCI-PM_L1.1": "PCI-PM L1.1",
    "ASPM_L1.2": "ASPM L1.2",
    "ASPM_L1.1": "ASPM L1.1",
}
_REGISTERS_OF_ALL = {"DevCap", "DevCtl"}
"""Registers of every function with a PCI Express capability (PCIe 6.0, section 7.5.3)."""
_REGISTERS_OF_LINKS = {"LnkCap", "LnkSta"}
_WITHOUT_LINK: tuple[Kind, ...] = ("integrated-endpoint", "event-collector")
_MOST_NAMED = 4
_MOST_BARS = 6
_HEADER_BYTES = 64
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}
_TIMES_NS = {"ns": 1.0, "us": 1e3}


def lspci_tree(text: str, source: str) -> Tree | None:
    """The tree that a text of lspci shows; None if it shows no function.

    Args:
        text: Output of lspci, with or without anything around it.
        source: Its name in messages.

    Raises:
        InputError: It shows more functions than a machine has.
    """
    try:
        found = blocks(text)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    if len(found) > MOST_FUNCTIONS:
        raise InputError(f"{source}: {len(found)} PCI functions: give a machine of {MOST_FUNCTIONS} at most")
    if not found:
        return None
    shown = states(found)
    trees = [_state(number, shown, source) for number in range(len(shown.functions))]
    unseen = (*_other_machine(shown), *_unseen(text, found, trees[0]), *_ports_above(trees[0]))
    pieces = (Piece(form=_form(found), first_line=found[0].line, used_for=_used_for(found)),)
    return trees[0].model_copy(update={"unseen": unseen, "later": tuple(trees[1:]), "pieces": pieces})


def _state(number: int, shown: States, source: str) -> Tree:
    functions = tuple(_function(block) for block in shown.functions[number])
    name = source if number == 0 else f"{source}, from line {shown.lines[number]} on"
    return Tree(source=name, functions=functions)


def _form(found: Sequence[Block]) -> str:
    if any(block.registers for block in found):
        return "lspci -vvv" if any("Capabilities: [" in block.text for block in found) else "registers of lspci"
    if any(block.space for block in found):
        return "hex dump of lspci"
    return "lspci without -vvv"


def _used_for(found: Sequence[Block]) -> str:
    count = len({block.slot for block in found})
    what = "registers" if any(block.is_rich for block in found) else "names"
    return f"{what} of {count} function{'' if count == 1 else 's'}"


def _ports_above(tree: Tree) -> Iterator[str]:
    slots = [short(link.device.slot) for link in tree.links if link.device.link is not None]
    if tree.is_selection and slots:
        yield (
            f"the port above {_some(slots)}: a link cannot be judged from one end: give the output of "
            f"`{lspci.COMMAND}` for the whole machine"
        )


def _other_machine(shown: States) -> Iterator[str]:
    if shown.other is not None:
        line, slot, first = shown.other
        yield (
            f"line {line}: {slot} has another name than in line {first}: the text seems to hold two machines, and "
            "only what stands above this line is used: give one file per machine"
        )


def _unseen(text: str, found: Sequence[Block], tree: Tree) -> Iterator[str]:
    """What the text does not show.

    Args:
        text: The text.
        found: Its blocks, in its order.
        tree: The tree of its first state.
    """
    if unnamed := [block for block in found if block.is_unnamed]:
        yield (
            f"the slot of {len(unnamed)} function{'' if len(unnamed) == 1 else 's'}, from line "
            f"{unnamed[0].line} on: the text shows registers without the line that names their device, so they "
            f"are judged alone: give the output of `{lspci.COMMAND}` unchanged"
        )
    denied = sum("<access denied>" in block.text for block in found)
    count = len({block.slot for block in found})
    if denied:
        yield (
            f"the capabilities of {denied} of {count} functions, which lspci shows to root alone: no links, no "
            f"MPS, no tags: give the output of `{lspci.COMMAND}`"
        )
    elif not any(block.is_rich for block in found):
        yield (
            f"line {found[0].line} and all others: no registers, as the text was made without -vvv: give the "
            f"output of `{lspci.COMMAND}`"
        )
        return
    last = found[-1]
    is_cut = not denied and _is_cut(text, last, _function(last))
    if is_cut:
        yield (
            f"line {len(text.splitlines())}: the text ends inside {short(last.slot)}, as if it were cut off: what "
            f"should follow is missing: give the whole output of `{lspci.COMMAND}`"
        )
    yield from _silent(found)
    yield from _incomplete([block for block in found if not (is_cut and block is last)])
    yield from _lost(tree.functions)


def _is_cut(text: str, last: Block, function: Function) -> bool:
    cut_in_register = "] Express " in last.text and function.link is not None and "LnkSta" not in last.registers
    # Copied text often lacks the last line end: then the last function should get to its extended capabilities.
    ends = (
        _CLOSING.sub("", text[-_CLOSING_LETTERS:]).endswith("\n")
        or "\n" not in text
        or _LATE.search(last.text) is not None
        or bool(last.space)
    )
    return (cut_in_register and not last.space) or (not ends and bool(last.registers) and not last.is_unnamed)


def _silent(found: Sequence[Block]) -> Iterator[str]:
    silent = list(dict.fromkeys(block.slot for block in found if _reads_ones(block)))
    if silent:
        yield (
            f"{_some(silent)}: no answer, lspci read all ones: the device is off (D3cold), or off the bus: "
            "search the kernel's log for its slot"
        )


def _incomplete(found: Sequence[Block]) -> Iterator[str]:
    """Report functions whose PCI Express capability is named without its registers."""
    shown: dict[str, set[str]] = {}
    for block in found:
        lacking = _lacking(block)
        shown[block.slot] = lacking & shown.get(block.slot, lacking)
    without = [short(slot) for slot, lacking in shown.items() if lacking]
    if without and any(block.registers for block in found):
        yield (
            f"registers of {_some(without)}: the text names the PCI Express capability, but shows no DevCap, "
            f"DevCtl, LnkCap or LnkSta: give the output of `{lspci.COMMAND}` unchanged"
        )


def _lacking(block: Block) -> set[str]:
    """Registers of a PCI Express capability that the block names and does not show, in text or as bytes."""
    kind = _kind(block.text)
    if kind is None or len(block.space) > _HEADER_BYTES or _reads_ones(block):
        return set()
    needed = _REGISTERS_OF_ALL | (set() if kind in _WITHOUT_LINK else _REGISTERS_OF_LINKS)
    return needed - block.registers.keys()


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
        and not function.is_unnamed
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


def _function(block: Block) -> Function:
    decoded = _of_text(block)
    if len(block.space) >= _HEADER_BYTES:
        decoded = _with_bytes(decoded, ConfigSpace(lambda offset, size: block.space[offset : offset + size]))
    return Function.model_construct(None, **decoded)


def _with_bytes(decoded: dict[str, Any], space: ConfigSpace) -> dict[str, Any]:
    """The fields of a text, and from its hex dump those that the text does not show."""
    if not space.is_present:
        return decoded | {"answers": False}
    shown = {key: value for key, value in space.fields.items() if not _is_empty(value)}
    return decoded | {key: value for key, value in shown.items() if _is_empty(decoded.get(key))}


def _is_empty(value: object) -> bool:
    return value is None or value == ()


def _of_text(block: Block) -> dict[str, Any]:
    class_name, _, name = block.title.partition(": ")
    ids = _IDS.search(name)
    buses = _BUSES.search(block.text)
    silent = _reads_ones(block)
    title = _LISTED_LAST.sub("", block.title)
    return {
        "slot": with_domain(block.slot),
        "title": f"{title}, line {block.line}" if block.is_unnamed else title,
        "vendor_id": int(ids[1] or ids[3], 16) if ids else None,
        "device_id": int(ids[2] or ids[4], 16) if ids else None,
        "class_code": _class_code(class_name),
        "kind": _kind(block.text),
        "secondary_bus": int(buses[1], 16) if buses else None,
        "subordinate_bus": int(buses[2], 16) if buses else None,
        "is_virtual_function": "Virtual Function" in block.title,
        "driver": _word(block.text, r"Kernel driver in use: (\S+)"),
        "bus_master": _flag(block.text, "BusMaster"),
        "power_state": _power_state(block.text),
        "numa_node": _integer(block.text, r"NUMA node: (-?\d+)"),
        "iommu_group": _integer(block.text, r"IOMMU group: (\d+)"),
        "link": None if silent or not {"LnkCap", "LnkSta"} & block.registers.keys() else _link(block),
        "control": None if silent or not {"DevCap", "DevCtl"} & block.registers.keys() else _control(block),
        "errors": None if silent else _errors(block),
        "contained": None if silent else _contained(block.registers.get("DpcSta", "")),
        "unassigned_bars": tuple(int(found[1]) for found in _UNASSIGNED.finditer(block.text)),
        "acs_enabled": _services(block),
        "ats_enabled": _flag(block.registers.get("ATSCtl", ""), "Enable"),
        "has_slot": _flag(block.text, r"Express (?:\(v\d+\) )?(?:Root|Downstream) Port \(Slot"),
        "card_present": _flag(block.registers.get("SltSta", ""), "PresDet"),
        "slot_off": _slot_off(block),
        "answers": False if silent else None,
        "resizable_bars": tuple(_resizable(block.text)),
        "cxl_protocols": _cxl(block),
    }


def _reads_ones(block: Block) -> bool:
    """Whether every register reads as ones: the device does not answer."""
    capable, status = block.registers.get("LnkCap", ""), block.registers.get("LnkSta", "")
    registers = "Width x63" in capable or ("Width x63" in status and "Train+" in status)
    return registers or _ALL_ONES.search(block.text) is not None


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


def _link(block: Block) -> LinkEnd:
    capable, status = block.registers.get("LnkCap", ""), block.registers.get("LnkSta", "")
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
        aspm_supported=_aspm_supported(capable),
        l1_substates=_l1_substates(block),
        common_clock=_flag(control, "CommClk"),
        retrained=_retrained(status),
    )


def _lanes_named(shown: str, lanes: int) -> tuple[int, ...]:
    """Lanes of the lane error status, of those that the link has: the bits of the others are reserved."""
    named = re.match(r"LaneErr at lane:((?: \d{1,2})+)", shown)
    return tuple(lane for lane in map(int, named[1].split()) if lane < lanes) if named else ()


def _aspm_supported(capable: str) -> tuple[str, ...] | None:
    shown = re.search(r"ASPM ([^,]*)", capable)
    return tuple(re.findall(r"L0s|L1", shown[1])) if shown else None


def _l1_substates(block: Block) -> tuple[str, ...] | None:
    shown = block.registers.get("L1SubCtl1")
    return None if shown is None else tuple(name for bit, name in _SUBSTATES.items() if f"{bit}+" in shown)


def _retrained(status: str) -> bool | None:
    bits = [_flag(status, name) for name in ("BWMgmt", "ABWMgmt")]
    return None if None in bits else any(bits)


def _control(block: Block) -> Control:
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
        ltr=_flag(control_2, "LTR") if _flag(capable_2, "LTR") else None,
        **_atomics(capable_2, control_2),
    )


def _atomics(capable: str, control: str) -> dict[str, Any]:
    shown, asked = capable.partition("AtomicOpsCap:")[2], control.partition("AtomicOpsCtl:")[2]
    return {
        "atomics_routed": _flag(shown, "Routing"),
        "atomics_completed": tuple(name for name in ATOMICS if f"{name}+" in shown) if shown else None,
        "atomics_requested": _flag(asked, "ReqEn"),
        "atomics_blocked": _flag(asked, "EgressBlck"),
    }


def _slot_off(block: Block) -> bool | None:
    """Whether the slot's power is off; `Power+` in SltCtl means off, and counts where SltCap has a controller."""
    switched = _flag(block.registers.get("SltCap", ""), "PwrCtrl")
    return bool(switched) and _flag(block.registers.get("SltCtl", ""), "Power")


def _contained(status: str) -> str | None:
    """Why containment triggered; None if it did not."""
    found = re.search(r"Trigger\+(?: Reason:([01]{2}))?", status)
    if found is None:
        return None
    more = re.search(r"TriggerExt:([01]{2})", status)
    reason = (int(found[1] or "0", 2), int(more[1], 2) if more else 0)
    return CONTAINMENT_REASONS.get(reason, "an unknown reason")


def _errors(block: Block) -> ErrorReporting | None:
    names = ("AERCap", "CESta", "UESta", "UEMsk", "RootErrSta")
    control, correctable, uncorrectable, masked, root = (block.registers.get(name) for name in names)
    if control is correctable is uncorrectable is root is None:
        return None
    return ErrorReporting.model_construct(
        ecrc_generated=_flag(control or "", "(?:ECRCGenEn|CGenEn)"),
        ecrc_checked=_flag(control or "", "(?:ECRCChkEn|ChkEn)"),
        correctable_status=_set_bits(correctable),
        uncorrectable_status=_set_bits(uncorrectable),
        uncorrectable_masked=_set_bits(masked),
        root_status=None if root is None else tuple(name for name in ROOT_STATUS if _flag(root, name)),
    )


def _set_bits(register: str | None) -> tuple[str, ...] | None:
    """The names of the bits that a register shows as set."""
    return None if register is None else tuple(re.findall(r"\b([A-Z]\w{1,20})\+", register))


def _services(block: Block) -> tuple[str, ...] | None:
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


def _cxl(block: Block) -> tuple[str, ...]:
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
