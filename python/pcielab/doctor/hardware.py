"""What the table of hardware says of a function: its nominal link, a soldered uplink, its errata."""

from pcielab.doctor.tree import Function, Link, LinkEnd, Tree
from pcielab.library.hardware import Fact, facts, ids_of_name


def known(function: Function) -> dict[str, Fact]:
    """The facts of a function by what they are about, by its IDs or else by its name."""
    if function.vendor_id is not None and function.device_id is not None:
        return facts(function.vendor_id, function.device_id)
    return facts(*ids_of_name(function.name))


def vendor_of(function: Function) -> int | None:
    """The vendor of a function, by its ID or its name."""
    return function.vendor_id if function.vendor_id is not None else ids_of_name(function.name)[0]


def on_card_uplink(tree: Tree, link: Link) -> Link | None:
    """The link of the card, if this one is inside it and reports a nominal value; None for any other link.

    A row of the table says that the device or the port above always reports the value, the link does report it,
    and a faster link is above.
    """
    end = link.device.link
    if end is None or link.port is None or not _is_nominal(link, end):
        return None
    above = (tree.link_of(function) for function in tree.path(link.device)[1:])
    uplink = next((one for one in above if one is not None and one.device.kind == "upstream-port"), None)
    faster = uplink is not None and uplink.device.link is not None and uplink.device.link.raw_gbps > end.raw_gbps
    return uplink if faster else None


def _is_nominal(link: Link, end: LinkEnd) -> bool:
    ends = [*link.functions, *([link.port] if link.port else [])]
    nominal = (known(one).get("nominal_link") for one in ends)
    return any(
        (end.speed_gtps, end.lanes) in fact.links for fact in nominal if fact is not None and fact.kind == "gpu"
    )


def soldered_uplink(link: Link) -> Fact | None:
    """What the table says of the link between the processor and a chipset; None for any other link."""
    fact = known(link.device).get("chipset_uplink")
    return fact if fact is not None and fact.links and link.device.kind == "upstream-port" else None


def chipset_above(tree: Tree, link: Link) -> Function | None:
    """The port of a chipset on the path of a device: a listed root port, or the chipset's own upstream port."""
    return next((one for one in tree.path(link.device)[1:] if "chipset_uplink" in known(one)), None)
