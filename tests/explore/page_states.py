"""Random states of the pages that ask about a NIC, about messages and about a measured number, as addresses."""

import random
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from pcielab.library.shipped import profile_tables

Words = list[tuple[str, Any]]
"""Words of an address; one may occur several times."""


def states(page: str, count: int) -> Iterator[str]:
    """As many addresses of a page, the same ones in each run."""
    draw = random.Random(page)
    for _ in range(count):
        yield f"{_FILES[page]}?{urlencode(_DRAWN[page](draw))}"


def _nic(draw: random.Random) -> Words:
    name, table = draw.choice(list(profile_tables("nic")["nic"].items()))
    while "base" in table and not table.get("switch"):
        name, table = draw.choice(list(profile_tables("nic")["nic"].items()))
    switches = list(table.get("switch", {}))
    words: Words = [
        ("nic", name),
        ("line", draw.choice((10, 40, 100, 200, 400))),
        ("frame", draw.randint(64, 1518)),
    ]
    words += [("feature", one) for one in draw.sample(switches, draw.randint(0, len(switches)))]
    words += [("measured", round(draw.uniform(1, 90), 2))] if draw.random() < 0.5 else []
    words += (
        [("generation", draw.randint(1, 6)), ("lanes", draw.choice((4, 8, 16)))] if draw.random() < 0.5 else []
    )
    words += [("mps", draw.choice((128, 512)))] if draw.random() < 0.3 else []
    words += [("set", f"queues.pairs={draw.randint(1, 64)}")] if draw.random() < 0.3 else []
    return words


def _messages(draw: random.Random) -> Words:
    sizes = ",".join(str(draw.randint(1, 65_536)) for _ in range(draw.randint(1, 6)))
    words: Words = [("profile", draw.choice(list(profile_tables("messages")["messages"]))), ("sizes", sizes)]
    for name, most in (("batch", 64), ("in-flight", 256), ("inline", 1024), ("buffers", 64)):
        words += [(name, draw.randint(1, most))] if draw.random() < 0.4 else []
    words += [("generation", draw.randint(1, 7))] if draw.random() < 0.5 else []
    words += [("lanes", draw.choice((1, 4, 8, 16)))] if draw.random() < 0.5 else []
    return words


def _measured(draw: random.Random) -> Words:
    return [
        ("system", draw.choice(("snb", "hsw2620", "gen5-x16"))),
        ("bandwidth", draw.choice(("bw-rd", "bw-wr", "bw-rdwr"))),
        ("size", draw.choice((64, 256, 512, 2048))),
        ("cache", draw.choice(("cold", "host-warm", "device-warm"))),
        ("measured", round(draw.uniform(1, 100), 2)),
    ]


_FILES = {"nics": "nics.html", "messages": "messages.html", "measured": ""}
_DRAWN: dict[str, Callable[[random.Random], Words]] = {
    "nics": _nic,
    "messages": _messages,
    "measured": _measured,
}
