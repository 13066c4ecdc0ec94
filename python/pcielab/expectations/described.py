"""Machines that people describe: files with `kind = "machine"`.

    kind = "machine"
    name = "two-switches"
    processor = "EPYC 9575F"
    sockets = 2

    [[switch]]
    name = "sw0"
    link = "gen5x16"
    socket = 0

    [[device]]
    name = "gpu0..3"
    kind = "gpu"
    link = "gen5x16"
    below = "sw0"

Names may be ranges: each name gets the same keys. `below` names a switch; without it a device is on a root port of
its own. What a file does not say is unknown. `crates/pcie-describe` reads it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import found_in, refusal
from pcielab.expectations.machine import Link, Machine, Part, Peers, checked
from pcielab.expectations.processors import family_of_name
from pcielab.library.alike import suggestion
from pcielab.library.input_files import read_toml
from pcielab.wording import named


def is_described(content: Mapping[str, Any]) -> bool:
    """Whether the content of a file is such a machine."""
    return content.get("kind") == "machine"


def read_described(path: Path) -> Machine:
    """The machine of a file.

    Raises:
        InputError: A key is unknown, or its value wrong; the message names file, key, value and remedy.
    """
    with found_in(path):
        return machine_of(read_toml(path))


def machine_of(content: Mapping[str, Any]) -> Machine:
    """The machine of the content of a file.

    Raises:
        InputError: As `read_described`.
    """
    read = _core.described_machine(dict(content), "")
    parts = checked(_part(one) for one in read["parts"])
    peers = tuple(Peers(**{**one, "devices": tuple(one["devices"])}) for one in read["peers"])
    for name in (name for one in peers for name in one.devices):
        if name not in parts:
            raise refusal("not-found", f"peers.devices: {named(name)}: {suggestion(name, list(parts))}")
    processor = read["processor"]
    family = family_of_name(processor) if processor else None
    notes = (f"processor {named(processor)}: no known family",) if processor and family is None else ()
    return Machine(
        name=read["name"],
        title=read["title"],
        processor=processor,
        family=family.name if family else None,
        sockets=read["sockets"],
        parts=parts,
        peers=peers,
        p2p=read["p2p"],
        host=read["host"],
        notes=notes,
    )


def _part(read: Mapping[str, Any]) -> Part:
    link = read["link"]
    return Part(**{**read, "link": Link(**link) if link is not None else None})
