"""Links as people write them: `gen4x16`, `PCIe 4.0 x16`, `16 GT/s x16`, `x16 Gen4`; several: `4x gen3x4`."""

import re
from dataclasses import dataclass

from pcielab.errors import InputError
from pcielab.wording import shown

GENERATIONS = (1, 2, 3, 4, 5, 6, 7)
LANES = (1, 2, 4, 8, 12, 16, 32)
_SPEED = r"(?:(?P<gtps>\d{1,3}(?:\.[05])?) ?GT/?s|(?:gen(?:eration)?[ .-]?)?(?P<generation>\d)(?:\.0)?)"
_WIDTH = r"(?:x ?(?P<lanes>\d{1,3})|(?P<of>\d{1,3}) ?lanes?)"
_BUS = r"(?:pci[ -]?e(?:xpress)?[ -]?)?"
_LINKS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (rf"{_BUS}{_SPEED}[ ,@-]*{_WIDTH}", rf"{_BUS}{_WIDTH}[ ,@-]+{_BUS}{_SPEED}")
)
_SEVERAL = re.compile(r"(\d{1,3}) ?[x*] ?(?=p|g)(.*)", re.ASCII | re.IGNORECASE)
_MOST_LINKS = 256
_SPEEDS_GTPS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}


@dataclass(frozen=True)
class Width:
    """Generation and lanes of a link, or of several equal links that carry data side by side.

    Attributes:
        generation: 1 to 7.
        lanes: Of one link.
        links: How many of them.
    """

    generation: int
    lanes: int
    links: int = 1

    @property
    def raw_gbps(self) -> float:
        """Bit rate of one direction after line coding, all links together, Gb/s."""
        speed = _SPEEDS_GTPS[self.generation]
        code = 0.8 if self.generation <= 2 else 128 / 130 if self.generation <= 5 else 1.0
        return speed * code * self.lanes * self.links

    def __str__(self) -> str:
        one = f"Gen{self.generation} x{self.lanes}"
        return one if self.links == 1 else f"{self.links} links of {one}"


def generation_of(speed_gtps: float) -> int | None:
    """The generation of a signalling rate, GT/s; None if none has it."""
    return next((generation for generation, speed in _SPEEDS_GTPS.items() if speed == speed_gtps), None)


def generation_and_lanes(text: str) -> tuple[int, int] | None:
    """Generation and lanes of a link in words, unchecked; None if it is not one."""
    found = next((match for form in _LINKS if (match := form.fullmatch(text.strip()))), None)
    if found is None:
        return None
    lanes = int(found["lanes"] or found["of"])
    if found["gtps"] is None:
        return int(found["generation"]), lanes
    generation = generation_of(float(found["gtps"]))
    return None if generation is None else (generation, lanes)


def read_width(text: str, option: str) -> Width:
    """The link of a word, or several: `gen5x16`, `4x gen3x4`.

    Raises:
        InputError: It is not a link, or there is none of its generation or width.
    """
    several = _SEVERAL.fullmatch(text.strip())
    links, one = (int(several[1]), several[2]) if several else (1, text)
    found = generation_and_lanes(one)
    if found is None:
        raise InputError(
            f"{option} {shown(text)}: not a link: give generation and lanes, for example gen5x16 or 32GT/s x16"
        )
    generation, lanes = found
    if generation not in GENERATIONS or lanes not in LANES or not 1 <= links <= _MOST_LINKS:
        widths = ", ".join(map(str, LANES))
        raise InputError(
            f"{option} {shown(text)}: no such link: give generation 1 to {GENERATIONS[-1]} and lanes {widths}"
        )
    return Width(generation, lanes, links)
