"""A machine's devices: one by its slot or numbers, and the negotiated link of each."""

import re
from typing import Any

from pcielab._core import generation_of
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import TAGS_5_BIT, Function, Tree, short
from pcielab.errors import InputError, refusal
from pcielab.library.profiles.parts import Link
from pcielab.wording import named


def find(tree: Tree, device: str | None = None) -> Function:
    """The function that is named; without a name, the device with the fastest link.

    Args:
        tree: The machine.
        device: A slot, with or without the domain, or `vendor:device`.

    Raises:
        InputError: None matches, or several do.
    """
    devices = [one for one in tree.functions if one.is_endpoint and one.bus_master]
    if device is None:
        if not devices:
            raise refusal(
                "missing", "no device in this text has bus mastering on: name a function by its slot, as 02:00.0"
            )
        return max(devices, key=lambda one: one.link.lanes_gtps if one.link else 0.0)
    fitting = [one for one in tree.functions if matches(one, device)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        shown = "".join(f"\n  {short(one.slot)} {one.title}" for one in devices) or " none"
        raise refusal("not-found", f"{named(device)}: not in this text; its devices:{shown}")
    slots = ", ".join(short(one.slot) for one in fitting)
    raise refusal("conflict", f"{device}: matches {len(fitting)} functions: name one by its slot: {slots}")


def matches(function: Function, device: str) -> bool:
    """Whether a slot, with or without the domain, or `vendor:device` names a function.

    A text without numbers (`lspci` without `-nn`) has no vendor: then `19ee:6000` matches what it shows as
    `Device 6000`.
    """
    wanted = device.lower().removeprefix("0000:")
    if wanted == short(function.slot):
        return True
    vendor, colon, number = wanted.partition(":")
    if function.vendor_id is not None and function.device_id is not None:
        return (f"{function.vendor_id:04x}", f"{function.device_id:04x}") == (vendor, number)
    return bool(colon) and re.search(rf"Device {re.escape(number)}\b", function.title) is not None


def root_port(tree: Tree, function: Function) -> Function | None:
    """The root port above a function, through any switches; None if not all ports between are known."""
    below = {(_domain_and_bus(one)[0], one.secondary_bus): one for one in tree.functions if one.secondary_bus}
    port = below.pop(_domain_and_bus(function), None)
    while port is not None and port.kind != "root-port":
        port = below.pop(_domain_and_bus(port), None)
    return port


def _domain_and_bus(function: Function) -> tuple[str, int]:
    domain, bus, _ = function.slot.split(":")
    return domain, int(bus, 16)


def link_of(function: Function, port: Function | None = None) -> Link:
    """The negotiated link of a function, and its configuration for it.

    Args:
        function: The function.
        port: The root port above it, whose completions may carry an ECRC, too; None: unknown.

    Raises:
        InputError: Its source lacks a register.
    """
    name = f"{short(function.slot)} {function.title}"
    end, control = function.link, function.control
    generation = generation_of(end.speed_gtps) if end and end.speed_gtps else None
    if end is None or generation is None or end.lanes is None:
        raise _without("LnkSta", name)
    if control is None or control.mps_bytes is None or control.mrrs_bytes is None:
        raise _without("DevCtl", name)
    values = {
        "generation": generation,
        "lanes": end.lanes,
        "mps_bytes": control.mps_bytes,
        "mrrs_bytes": control.mrrs_bytes,
        "rcb_bytes": end.rcb_bytes or 64,
        "ecrc": bool(function.errors and function.errors.ecrc_generated),
        **({"root_port_ecrc": True} if port and port.errors and port.errors.ecrc_generated else {}),
        "tags": control.tags or TAGS_5_BIT,
        # A link that came up in flit mode keeps it at lower rates.
        "flit": generation >= 6 or bool(end.flit_mode),
    }
    return Link.of(values, name)


def _without(register: str, name: str) -> InputError:
    return refusal("missing", f"{name}: the text does not show {register}: run lspci -vvv as root")


@refuses_wrong_types
def device_links(tree: Tree) -> dict[str, dict[str, Any]]:
    """The negotiated link of each device by address, with the keys of a manifest's `device.link`.

    Unknown values are left out; so are devices without a link that is up.
    """
    return {
        one.slot: manifest_link(one) for one in tree.functions if one.link and one.link.is_up and not one.is_port
    }


def manifest_link(function: Function) -> dict[str, Any]:
    """The known values of a function's link, with the keys of a manifest's `device.link`."""
    end, control = function.link, function.control
    link = {
        "rate_gtps": end.speed_gtps if end else None,
        "lanes": end.lanes or None if end else None,
        "mps_bytes": control.mps_bytes if control else None,
        "mrrs_bytes": control.mrrs_bytes if control else None,
        "rcb_bytes": end.rcb_bytes if end else None,
        "ecrc": function.errors.ecrc_generated if function.errors else None,
    }
    return {key: value for key, value in link.items() if value is not None}
