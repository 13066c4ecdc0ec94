"""Decode the registers of a function's configuration space into fields of a `Function`.

Offsets and bits are those of the PCI Express base specification 6.0, chapter 7 (and of Linux's `pci_regs.h`). Only
registers that the tree keeps are read, one by one, since each costs a read of the device; serial numbers and vital
product data are never read. Registers that cannot be read, as by users other than root, are None.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pcielab.doctor.tree import (
    LANES,
    PAYLOADS,
    SPEEDS,
    Control,
    ErrorReporting,
    Kind,
    LinkEnd,
    ResizableBar,
)

Read = Callable[[int, int], bytes]
"""Read (offset, size); returns fewer bytes if no more can be read."""

_POWER_MANAGEMENT, _EXPRESS = 0x01, 0x10
_AER, _ACS, _ATS, _REBAR, _SECONDARY, _DVSEC, _DEVICE_3 = 0x0001, 0x000D, 0x000F, 0x0015, 0x0019, 0x0023, 0x002F
_CONTAINMENT, _L1_SUBSTATES = 0x001D, 0x001E
_CXL_VENDOR, _CXL_DEVICE = 0x1E98, 0
_ALL_ONES = b"\xff\xff\xff\xff"
_MOST_CAPABILITIES = 48
_MOST_EXTENDED = (4096 - 256) // 8
_KINDS: dict[int, Kind] = {
    0: "endpoint",
    1: "legacy-endpoint",
    4: "root-port",
    5: "upstream-port",
    6: "downstream-port",
    7: "pcie-to-pci-bridge",
    8: "pci-to-pcie-bridge",
    9: "integrated-endpoint",
    10: "event-collector",
}
_SLOT_IMPLEMENTED = 1 << 8
_WITHOUT_LINK: tuple[Kind, ...] = ("integrated-endpoint", "event-collector")
ACS_SERVICES = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
_CORRECTABLE = (
    *("RxErr", "", "", "", "", "", "BadTLP", "BadDLLP", "Rollover", "", "", "", "Timeout"),
    *("AdvNonFatalErr", "CorrIntErr", "HeaderOF"),
)
"""Names of the bits of the correctable error status, as lspci prints them."""
UNCORRECTABLE = (
    *("", "", "", "", "DLP", "SDES", "", "", "", "", "", "", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt"),
    *("RxOF", "MalfTLP", "ECRC", "UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked"),
    *("TLPBlockedErr", "PoisonTLPBlocked"),
)
"""Names of the bits of the uncorrectable error status, as lspci prints them."""
ROOT_STATUS = ("CERcvd", "MultCERcvd", "UERcvd", "MultUERcvd", "FirstFatal", "NonFatalMsg", "FatalMsg")
L1_SUBSTATES = ("PCI-PM L1.2", "PCI-PM L1.1", "ASPM L1.2", "ASPM L1.1")
ATOMICS = ("32bit", "64bit", "128bitCAS")
CONTAINMENT_REASONS = {
    (0, 0): "an uncorrectable error of the port itself",
    (1, 0): "an ERR_NONFATAL message from below",
    (2, 0): "an ERR_FATAL message from below",
    (3, 0): "an error of programmed I/O at the root port",
    (3, 1): "software",
}
"""Why downstream port containment triggered: reason and extension of the reason (PCIe 6.0, section 7.9.14.5)."""
_L0S_EXIT_NS = (64.0, 128.0, 256.0, 512.0, 1e3, 2e3, 4e3, None)
_L1_EXIT_NS = (1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, None)


class ConfigSpace:
    """The configuration space of one function.

    Attributes:
        complete: Whether the capabilities could be read; without root only the first 64 bytes can.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._header = read(0, 64)
        self.complete = len(read(64, 4)) == 4
        self._capabilities = dict(self._chain()) if self.complete else {}
        self._extended = dict(self._extended_chain()) if self.complete else {}

    @property
    def is_present(self) -> bool:
        """Whether the function answers: an absent one reads as all ones."""
        return len(self._header) >= 16 and self._header[:4] != _ALL_ONES

    @property
    def fields(self) -> dict[str, Any]:
        """The header and the capabilities as fields of a `Function`."""
        found: dict[str, Any] = {
            "vendor_id": self._number(0, 2),
            "device_id": self._number(2, 2),
            "class_code": self._number(0x0A, 2),
            "bus_master": self._flag(self._number(4, 2), 2),
        }
        if self._header[0x0E] & 0x7F == 1 and len(self._header) >= 0x1B:
            found |= {"secondary_bus": self._header[0x19], "subordinate_bus": self._header[0x1A]}
        if (power := self._capabilities.get(_POWER_MANAGEMENT)) is not None:
            state = self._number(power + 4, 2)
            found["power_state"] = None if state is None else ("D0", "D1", "D2", "D3hot")[state & 3]
        return found | self._express() | self._extensions()

    def _express(self) -> dict[str, Any]:
        base = self._capabilities.get(_EXPRESS)
        flags = None if base is None else self._number(base + 2, 2)
        if base is None or flags is None:
            return {}
        kind = _KINDS.get((flags >> 4) & 0xF)
        has_second_half = flags & 0xF >= 2
        return {
            "kind": kind,
            "control": self._control(base, has_second_half),
            "link": None if kind in _WITHOUT_LINK else self._link(base, has_second_half),
        } | self._slot(base, kind, flags)

    def _slot(self, base: int, kind: Kind | None, flags: int) -> dict[str, Any]:
        """The slot of a root port or downstream port, from SltCap, SltCtl and SltSta."""
        if kind not in ("root-port", "downstream-port"):
            return {}
        if not flags & _SLOT_IMPLEMENTED:
            return {"has_slot": False}
        capable, control = self._number(base + 0x14, 4), self._number(base + 0x18, 2)
        switched = bool(self._flag(capable, 1))
        return {
            "has_slot": True,
            "card_present": self._flag(self._number(base + 0x1A, 2), 6),
            "slot_off": switched and self._flag(control, 10),
        }

    def _control(self, base: int, has_second_half: bool) -> Control:
        capable, control = self._number(base + 4, 4), self._number(base + 8, 2)
        capable_2 = self._number(base + 0x24, 4) if has_second_half else None
        control_2 = self._number(base + 0x28, 2) if has_second_half else None
        device_3 = self._extended.get(_DEVICE_3)
        return Control.model_construct(
            max_payload_bytes=_size(capable, 0),
            mps_bytes=_size(control, 5),
            mrrs_bytes=_size(control, 12),
            extended_tags_possible=self._flag(capable, 5),
            extended_tags=self._flag(control, 8),
            ten_bit_completer=self._flag(capable_2, 16),
            ten_bit_requester=self._flag(capable_2, 17),
            ten_bit_tags=self._flag(control_2, 12),
            fourteen_bit_tags=self._flag(self._number(device_3 + 8, 4), 2) if device_3 else None,
            relaxed_ordering=self._flag(control, 4),
            completion_timeout_off=self._flag(control_2, 4),
            atomics_routed=self._flag(capable_2, 6),
            atomics_completed=None if capable_2 is None else _names(capable_2 >> 7 & 7, ATOMICS),
            atomics_requested=self._flag(control_2, 6),
            atomics_blocked=self._flag(control_2, 7),
            ltr=self._flag(control_2, 10) if self._flag(capable_2, 11) else None,
        )

    def _link(self, base: int, has_second_half: bool) -> LinkEnd:
        capable, control = self._number(base + 0x0C, 4), self._number(base + 0x10, 2)
        status = self._number(base + 0x12, 2)
        control_2 = self._number(base + 0x30, 2) if has_second_half else None
        status_2 = self._number(base + 0x32, 2) if has_second_half else None
        return LinkEnd.model_construct(
            max_speed_gtps=_speed(capable),
            max_lanes=_lanes(capable),
            speed_gtps=_speed(status),
            lanes=_lanes(status),
            target_speed_gtps=_speed(control_2),
            rcb_bytes=None if control is None else (128 if control & 8 else 64),
            aspm_enabled=None if control is None else _names(control, ("L0s", "L1")),
            l0s_exit_ns=None if capable is None else _L0S_EXIT_NS[capable >> 12 & 7],
            l1_exit_ns=None if capable is None else _L1_EXIT_NS[capable >> 15 & 7],
            flit_mode=self._flag(status_2, 10),
            active=self._flag(status, 13) if self._flag(capable, 20) else None,
            disabled=self._flag(control, 4),
            lane_errors=self._lane_errors(_lanes(capable)),
            aspm_supported=None if capable is None else _names(capable >> 10 & 3, ("L0s", "L1")),
            l1_substates=self._l1_substates(),
            common_clock=self._flag(control, 6),
            retrained=None if status is None else bool(status >> 14 & 3),
        )

    def _l1_substates(self) -> tuple[str, ...] | None:
        base = self._extended.get(_L1_SUBSTATES)
        control = None if base is None else self._number(base + 8, 4)
        return None if control is None else _names(control & 0xF, L1_SUBSTATES)

    def _lane_errors(self, lanes: int | None) -> tuple[int, ...] | None:
        """Lanes with errors, of those that the link has: the bits of the others are reserved."""
        secondary = self._extended.get(_SECONDARY)
        status = None if secondary is None else self._number(secondary + 8, 4)
        return None if status is None else tuple(lane for lane in range(lanes or 0) if status >> lane & 1)

    def _extensions(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if (aer := self._extended.get(_AER)) is not None:
            found["errors"] = self._errors(aer)
        if (dpc := self._extended.get(_CONTAINMENT)) is not None:
            found["contained"] = self._contained(self._number(dpc + 8, 2))
        if (acs := self._extended.get(_ACS)) is not None:
            control = self._number(acs + 6, 2)
            if control is not None:
                found["acs_enabled"] = _names(control, ACS_SERVICES)
        if (ats := self._extended.get(_ATS)) is not None:
            found["ats_enabled"] = self._flag(self._number(ats + 6, 2), 15)
        if (rebar := self._extended.get(_REBAR)) is not None:
            found["resizable_bars"] = tuple(self._resizable(rebar))
        if (cxl := self._extended.get(_DVSEC)) is not None:
            found["cxl_protocols"] = _names(self._number(cxl + 0x0C, 2) or 0, ("Cache", "IO", "Mem"))
        return found

    def _errors(self, aer: int) -> ErrorReporting:
        control, root = self._number(aer + 0x18, 4), self._number(aer + 0x30, 4)
        status, masked = self._number(aer + 4, 4), self._number(aer + 8, 4)
        is_root = self._kind() == "root-port"
        return ErrorReporting.model_construct(
            ecrc_generated=self._flag(control, 6),
            ecrc_checked=self._flag(control, 8),
            correctable_status=_shown(self._number(aer + 0x10, 4), _CORRECTABLE),
            uncorrectable_status=_shown(status, UNCORRECTABLE),
            uncorrectable_masked=_shown(masked, UNCORRECTABLE),
            root_status=_shown(root, ROOT_STATUS) if is_root else None,
        )

    def _kind(self) -> Kind | None:
        base = self._capabilities.get(_EXPRESS)
        flags = None if base is None else self._number(base + 2, 2)
        return None if flags is None else _KINDS.get(flags >> 4 & 0xF)

    @staticmethod
    def _contained(status: int | None) -> str | None:
        if status is None or not status & 1:
            return None
        return CONTAINMENT_REASONS.get((status >> 1 & 3, status >> 5 & 3), "an unknown reason")

    def _resizable(self, base: int) -> Iterator[ResizableBar]:
        count = (self._number(base + 8, 4) or 0) >> 5 & 7
        for entry in range(min(count, 6)):
            sizes, control = self._number(base + 4 + 8 * entry, 4), self._number(base + 8 + 8 * entry, 4)
            if sizes is None or control is None or not sizes >> 4:
                continue
            # Bit 4 of the sizes is 1 MiB. Sizes from 256 TiB on, in the control register, are ignored.
            largest = 1 << (20 + (sizes >> 4).bit_length() - 1)
            yield ResizableBar.model_construct(
                bar=control & 7, size_bytes=1 << (20 + (control >> 8 & 0x3F)), largest_bytes=largest
            )

    def _chain(self) -> Iterator[tuple[int, int]]:
        """Identifier and offset of each capability; the first of a kind counts."""
        status = self._number(6, 2)
        if status is None or not status & 0x10:
            return
        offset, seen = (self._number(0x34, 1) or 0) & 0xFC, set[int]()
        for _ in range(_MOST_CAPABILITIES):
            head = self._number(offset, 2) if offset >= 0x40 else None
            if head is None or head == 0xFFFF:
                return
            if head & 0xFF not in seen:
                seen.add(head & 0xFF)
                yield head & 0xFF, offset
            offset = head >> 8 & 0xFC

    def _extended_chain(self) -> Iterator[tuple[int, int]]:
        offset, seen = 0x100, set[int]()
        for _ in range(_MOST_EXTENDED):
            head = self._number(offset, 4) if offset >= 0x100 else None
            if not head or head == 0xFFFF_FFFF:
                return
            identifier = head & 0xFFFF
            if identifier not in seen and (identifier != _DVSEC or self._is_cxl(offset)):
                seen.add(identifier)
                yield identifier, offset
            offset = head >> 20 & 0xFFC

    def _is_cxl(self, offset: int) -> bool:
        """Whether a designated vendor-specific capability is that of CXL devices (CXL 2.0, section 8.1.3)."""
        vendor, number = self._number(offset + 4, 2), self._number(offset + 8, 2)
        return vendor == _CXL_VENDOR and number == _CXL_DEVICE

    def _number(self, offset: int, size: int) -> int | None:
        data = self._header[offset : offset + size] if offset + size <= 64 else self._read(offset, size)
        if len(data) != size:
            return None
        return int(struct.unpack({1: "<B", 2: "<H", 4: "<I"}[size], data)[0])

    @staticmethod
    def _flag(register: int | None, bit: int) -> bool | None:
        return None if register is None else bool(register >> bit & 1)


def _names(register: int, names: Sequence[str]) -> tuple[str, ...]:
    """The names of the bits that are set, from bit 0 on."""
    return tuple(name for bit, name in enumerate(names) if register >> bit & 1)


def _shown(register: int | None, names: Sequence[str]) -> tuple[str, ...] | None:
    """The names of the bits that are set and have one; None if the register could not be read."""
    return None if register is None else tuple(filter(None, _names(register, names)))


def _size(register: int | None, bit: int) -> int | None:
    code = None if register is None else register >> bit & 7
    return None if code is None or code >= len(PAYLOADS) else PAYLOADS[code]


def _speed(register: int | None) -> float | None:
    code = 0 if register is None else register & 0xF
    return SPEEDS[code - 1] if 1 <= code <= len(SPEEDS) else None


def _lanes(register: int | None) -> int | None:
    lanes = None if register is None else register >> 4 & 0x3F
    return lanes if lanes == 0 or lanes in LANES else None
