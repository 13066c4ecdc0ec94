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
its own. What a file does not say is unknown.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pcielab.errors import found_in, out_of_range, refusal
from pcielab.expectations.machine import Link, Machine, Part, PartKind, Peers, checked, expanded
from pcielab.expectations.processors import family_of_name
from pcielab.library.alike import suggestion
from pcielab.library.input_files import read_toml
from pcielab.wording import named, shown

_HEAD = ("kind", "name", "title", "processor", "sockets", "p2p", "switch", "device", "peers", "provenance")
_OF_PART = ("name", "link", "socket", "stack", "below", "redirects", "title")
_OF_DEVICE = (*_OF_PART, "kind", "vendor", "line_gbps", "read_gbytes_per_s", "write_gbytes_per_s")
_OF_PEERS = ("kind", "devices", "gbytes_per_s", "pair_gbytes_per_s")
_KINDS = tuple(kind for kind in get_args(PartKind) if kind != "switch")
_VENDORS = ("nvidia", "amd", "intel")
_LINK = re.compile(r"gen([1-6])x(1|2|4|8|16)(?:-mps(128|256|512|1024|2048|4096))?", re.ASCII)
_MOST_SOCKETS, _MOST_RATE, _MOST_PARTS = 16, 1e5, 4096


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
    _known(content, _HEAD, "")
    parts = [*_switches(content), *_devices(content)]
    if not any(part.kind != "switch" for part in parts):
        raise refusal("missing", "no device: give one as [[device]] with name, kind and link")
    sockets = _number(content, "sockets", 1, _MOST_SOCKETS, whole=True)
    processor = _text(content, "processor") or ""
    family = family_of_name(processor) if processor else None
    parts_by_name = checked(parts)
    notes = (f"processor {named(processor)}: no known family",) if processor and family is None else ()
    return Machine(
        name=_text(content, "name") or "machine",
        title=_text(content, "title") or "",
        processor=processor,
        family=family.name if family else None,
        sockets=int(sockets) if sockets is not None else None,
        parts=parts_by_name,
        peers=tuple(_peers(content, parts_by_name)),
        p2p=_flag(content, "p2p"),
        notes=notes,
    )


def _switches(content: Mapping[str, Any]) -> Iterator[Part]:
    for table in _tables(content, "switch"):
        _known(table, _OF_PART, "switch.")
        for name in _names(table, "switch"):
            yield Part(name=name, kind="switch", **_of_part(table))


def _devices(content: Mapping[str, Any]) -> Iterator[Part]:
    for table in _tables(content, "device"):
        _known(table, _OF_DEVICE, "device.")
        kind = next((kind for kind in _KINDS if kind == table.get("kind")), None)
        if kind is None:
            raise refusal(
                "wrong-value",
                f"device.kind is {shown(table.get('kind'))}: {suggestion(str(table.get('kind')), list(_KINDS))}",
            )
        vendor = _text(table, "vendor")
        if vendor is not None and vendor not in _VENDORS:
            raise refusal("wrong-value", f"device.vendor is {named(vendor)}: {suggestion(vendor, list(_VENDORS))}")
        for name in _names(table, "device"):
            yield Part(
                name=name,
                kind=kind,
                vendor=vendor,
                line_gbps=_number(table, "line_gbps", 1e-3, _MOST_RATE),
                read_gbytes_per_s=_number(table, "read_gbytes_per_s", 1e-3, _MOST_RATE),
                write_gbytes_per_s=_number(table, "write_gbytes_per_s", 1e-3, _MOST_RATE),
                **_of_part(table),
            )


def _of_part(table: Mapping[str, Any]) -> dict[str, Any]:
    socket = _number(table, "socket", 0, _MOST_SOCKETS - 1, whole=True)
    stack = table.get("stack")
    return {
        "link": _link(table),
        "socket": int(socket) if socket is not None else None,
        "stack": None if stack is None else str(stack)[:32],
        "upper": _text(table, "below"),
        "redirects": _flag(table, "redirects"),
        "title": _text(table, "title") or "",
    }


def _peers(content: Mapping[str, Any], parts: Mapping[str, Part]) -> Iterator[Peers]:
    for table in _tables(content, "peers"):
        _known(table, _OF_PEERS, "peers.")
        devices = tuple(expanded(_text(table, "devices") or ""))
        for name in devices:
            if name not in parts:
                raise refusal("not-found", f"peers.devices: {named(name)}: {suggestion(name, list(parts))}")
        yield Peers(
            kind=_text(table, "kind") or "peers",
            devices=devices,
            gbytes_per_s=_number(table, "gbytes_per_s", 1e-3, _MOST_RATE),
            pair_gbytes_per_s=_number(table, "pair_gbytes_per_s", 1e-3, _MOST_RATE),
        )


def _tables(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = content.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found) or len(found) > _MOST_PARTS:
        raise refusal("wrong-type", f"{key} is {shown(found)}: give tables, as [[{key}]]")
    return found


def _known(table: Mapping[str, Any], keys: tuple[str, ...], prefix: str) -> None:
    for key in table:
        if key not in keys:
            raise refusal("unknown-key", f"{prefix}{named(key)}: unknown key: {suggestion(key, list(keys))}")


def _names(table: Mapping[str, Any], what: str) -> list[str]:
    name = _text(table, "name")
    if not name or not re.fullmatch(r"[A-Za-z0-9_.,-]{1,200}", name, re.ASCII):
        raise refusal("wrong-value", f"{what}.name is {shown(name)}: give letters and digits, as gpu0 or gpu0..7")
    return expanded(name)


def _link(table: Mapping[str, Any]) -> Link | None:
    text = _text(table, "link")
    if text is None:
        return None
    found = _LINK.fullmatch(text)
    if found is None:
        raise refusal(
            "wrong-value", f"link is {named(text)}: give generation and lanes, as gen5x16 or gen5x16-mps512"
        )
    return Link(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def _text(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise refusal("wrong-type", f"{key} is {shown(value)}: give a text")
    return value


def _flag(table: Mapping[str, Any], key: str) -> bool | None:
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise refusal("wrong-type", f"{key} is {shown(value)}: give true or false")
    return value


def _number(table: Mapping[str, Any], key: str, least: float, most: float, *, whole: bool = False) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    is_right = isinstance(value, int) if whole else isinstance(value, int | float)
    if isinstance(value, bool) or not is_right or not least <= value <= most:
        raise out_of_range(
            key, shown(value), f"{'a whole number' if whole else 'a number'} from {least:g} to {most:g}"
        )
    return float(value)
