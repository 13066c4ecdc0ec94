"""Parse the text of `lspci -vvv`: a machine's PCIe functions with their negotiated links and settings.

It accepts text of old and new pciutils, also as mail, forums and Markdown change it. A function is found by
its slot, or by the IDs or the `Device 6000` that the text shows. `crates/pcie-evidence` finds the functions.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcielab._core import generation_of, lspci_functions
from pcielab.errors import refusal
from pcielab.library.profiles.parts import Link
from pcielab.wording import named

_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_TAGS_5_BIT, _TAGS_8_BIT, _TAGS_10_BIT = 32, 256, 768
SPEED_AND_WIDTH = re.compile(r"Speed (\d{1,3}(?:\.\d)?)GT/s.*?Width x(\d{1,4})\b")


@dataclass(frozen=True)
class Function:
    """One PCIe function, as a block of `lspci -vvv`."""

    slot: str
    """Bus, device and function, with the domain where the text shows it."""
    title: str
    """Class and name."""
    text: str
    """Its lines."""
    registers: Mapping[str, str]
    """Text of each decoded register, continuation lines included: `DevCtl`, `LnkSta`, `AERCap`..."""

    @property
    def is_endpoint(self) -> bool:
        """Whether it is a device behind a link: neither a port, nor integrated in the root complex."""
        return re.search(r"Express \(v\d\) (Legacy )?Endpoint", self.text) is not None

    @property
    def may_do_dma(self) -> bool:
        """Whether it may issue requests of its own (bus mastering is on)."""
        return "BusMaster+" in self.text

    @property
    def link_speed(self) -> float:
        """Raw rate of the negotiated link over all lanes, GT/s; 0 if the text does not show it."""
        speed, lanes = speed_and_width(self.registers.get("LnkSta", ""))
        return speed * lanes

    @property
    def tags(self) -> int:
        """Read requests that it may have in flight, by the enabled tag width."""
        if self._flag("DevCtl2", "10BitTagReq"):
            return _TAGS_10_BIT
        return _TAGS_8_BIT if self._flag("DevCtl", "ExtTag") else _TAGS_5_BIT

    def matches(self, device: str) -> bool:
        """Whether `device` matches: a slot, with or without the domain, or `vendor:device`.

        Without `-nn` the text has no vendor ID: then `19ee:6000` matches any function shown as `Device 6000`.
        """
        wanted = device.lower().removeprefix("0000:")
        if wanted == self.slot.removeprefix("0000:"):
            return True
        vendor, colon, number = wanted.partition(":")
        shown = _IDS.search(self.title)
        if shown:
            return (shown[1], shown[2]) == (vendor, number)
        return bool(colon) and re.search(rf"Device {re.escape(number)}\b", self.title) is not None

    def link(self) -> Link:
        """The negotiated link, and the device's configuration for it.

        Raises:
            InputError: The text lacks a register.
        """
        speed, lanes = speed_and_width(self._find("LnkSta", f"({SPEED_AND_WIDTH.pattern})"))
        generation = generation_of(speed)
        if generation is None:
            raise refusal(
                "wrong-value", f"{self.slot}: LnkSta: {speed:g} GT/s is not a PCIe speed: check the text"
            )
        values = {
            "generation": generation,
            "lanes": lanes,
            "mps_bytes": int(self._find("DevCtl", r"MaxPayload (\d{1,5}) bytes")),
            "mrrs_bytes": int(self._find("DevCtl", r"MaxReadReq (\d{1,5}) bytes")),
            "rcb_bytes": int(self._find("LnkCtl", r"RCB (\d{1,5}) bytes", otherwise="64")),
            "ecrc": self._flag("AERCap", "(?:ECRCGenEn|CGenEn)"),
            "tags": self.tags,
            "flit": generation >= 6,
        }
        return Link.of(values, f"{self.slot} {self.title}")

    def _flag(self, register: str, name: str) -> bool:
        return re.search(rf"\b{name}\+", self.registers.get(register, "")) is not None

    def _find(self, register: str, pattern: str, otherwise: str | None = None) -> str:
        found = re.search(pattern, self.registers.get(register, ""))
        if found:
            return found[1]
        if otherwise is not None:
            return otherwise
        raise refusal(
            "missing", f"{self.slot} {self.title}: the text does not show {register}: run lspci -vvv as root"
        )


def speed_and_width(register: str) -> tuple[float, int]:
    """The speed, in GT/s a lane, and the lanes that LnkCap or LnkSta shows; zeros if it does not."""
    found = SPEED_AND_WIDTH.search(register)
    return (float(found[1]), int(found[2])) if found else (0.0, 0)


def parse(text: str) -> list[Function]:
    """Every function that a text of `lspci -vvv` shows; of several readings of one machine, the first.

    Raises:
        InputError: The text shows none.
    """
    return [Function(**found) for found in json.loads(lspci_functions(text))]


def find(functions: Iterable[Function], device: str | None = None) -> Function:
    """The function that matches `device` (slot or `vendor:device`); without it, the device with the fastest link.

    Raises:
        InputError: None matches, or several do.
    """
    known = list(functions)
    devices = [function for function in known if function.is_endpoint and function.may_do_dma]
    if device is None:
        if not devices:
            raise refusal(
                "missing", "no device in this text has bus mastering on: name a function by its slot, as 02:00.0"
            )
        return max(devices, key=lambda one: one.link_speed)
    fitting = [function for function in known if function.matches(device)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        shown = "".join(f"\n  {function.slot} {function.title}" for function in devices) or " none"
        raise refusal("not-found", f"{named(device)}: not in this text; its devices:{shown}")
    slots = ", ".join(function.slot for function in fitting)
    raise refusal("conflict", f"{device}: matches {len(fitting)} functions: name one by its slot: {slots}")
