"""Rules about switches: devices that share an uplink, and peers below one."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.real_links import made_up, real_cards
from pcielab.doctor.register_writes import clear_redirection
from pcielab.doctor.rules.link import links_above, rate_gbps, shown
from pcielab.doctor.rules.rule import judged, on_edge, rule, value
from pcielab.doctor.slots import short
from pcielab.doctor.topology import edges
from pcielab.doctor.tree import Function, Link, Tree

_PEERS = (0x01, 0x02, 0x03, 0x12)
"""Classes that exchange data with each other: storage, network, display, accelerator."""
_OFTEN_PEERS = (0x03, 0x12)
_REDIRECTS = ("ReqRedir", "CmpltRedir")
_LANES_OF_PEERS = 4
"""Fewest lanes of a device that copies to peers: the display of a BMC has one."""
_MENTIONED = 1.01
_ACROSS_SOCKETS = ("sys", "soc")
_MOST_NAMED = 4


@rule("D07", Symptom.LOST_RATE, confirm="each device is right alone, and their sum stays at the uplink's rate")
def uplink_shared(tree: Tree) -> Iterator[Observation]:
    """Devices below one upstream port share its link: when all are busy, each gets a part."""
    names = edges(tree)
    for uplink, cards in _below_switches(tree).values():
        end = uplink.device.link
        if end is None or not end.is_up or made_up(tree, uplink) or len(cards) < 2:
            continue
        asked, has = sum(rate_gbps(card.device.link) for card in cards), rate_gbps(end)
        if asked < _MENTIONED * has:
            continue
        slots = [short(card.device.slot) for card in cards]
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, uplink.device, uplink.port),
            what=(
                f"{len(cards)} links below can deliver {asked:.0f} Gb/s, {asked / has:.1f} times the {has:.0f} "
                f"Gb/s of the uplink at {shown(end.speed_gtps, end.lanes)}"
            ),
            values=(
                value(uplink.device, "LnkSta", shown(end.speed_gtps, end.lanes)),
                value(None, "below", ", ".join(slots)),
                *on_edge(names, uplink.device),
            ),
            remedy="spread devices that are busy at the same time over uplinks; pcielab fabric from and fabric "
            "explain show each share",
        )


@rule("D27", Symptom.PEER_TO_PEER, Symptom.HANG, confirm="peer copies are faster, or work, with the bits cleared")
def acs_redirects(tree: Tree) -> Iterator[Observation]:
    """Redirected requests between peers go up to the root and back (ACS: PCIe 6.0, section 6.12.3).

    Fires on switches with at least two devices of classes that exchange data; a note unless one is a display
    or an accelerator, since drives and network controllers alone rarely do. Virtual machines need redirection
    for isolation.
    """
    names = edges(tree)
    for uplink, cards in _below_switches(tree).values():
        peers = [card for card in cards if card.device.base_class in _PEERS and card.port is not None]
        redirecting = [card for card in peers if card.port and set(_REDIRECTS) & set(card.port.acs_enabled or ())]
        if len(peers) < 2 or not redirecting:
            continue
        exchanging = any(card.device.base_class in _OFTEN_PEERS for card in peers)
        yield Observation(
            **judged(
                Severity.WARNING if exchanging else Severity.NOTE, Sureness.LIKELY, uplink.device, uplink.port
            ),
            what=f"{len(peers)} devices below could exchange data directly, but ACS redirects their requests to "
            "the root",
            values=(
                *(
                    value(card.port, "ACSCtl", " ".join(card.port.acs_enabled or ()))
                    for card in redirecting
                    if card.port
                ),
                *on_edge(names, uplink.device),
            ),
            remedy="where no virtual machine needs the isolation: pci=disable_acs_redir=... or config_acs= on the "
            "kernel's command line, for the ports between the peers",
        )


@rule(
    "D27",
    Symptom.PEER_TO_PEER,
    Symptom.HANG,
    Symptom.LOST_RATE,
    confirm="peer copies work, or are faster, after ReqRedir is cleared at both root ports, or with the IOMMU off",
)
def acs_at_root_ports(tree: Tree) -> Iterator[Observation]:
    """With ReqRedir at a root port, requests of one device to another pass the IOMMU.

    The IOMMU then has to map the peers for each other, and on some hosts such requests hang (ACS: PCIe 6.0,
    section 6.12). Fires for two or more displays or accelerators, each below a root port with ReqRedir+. Linux
    sets it on every root port where the IOMMU is on.
    """
    roots: dict[str, tuple[Function, list[Link]]] = {}
    for card, _ in real_cards(tree):
        root = tree.path(card.device)[-1]
        end = card.device.link
        is_wide = end is not None and (end.max_lanes or 0) >= _LANES_OF_PEERS
        if is_wide and card.device.base_class in _OFTEN_PEERS and "ReqRedir" in (root.acs_enabled or ()):
            roots.setdefault(root.slot, (root, []))[1].append(card)
    if len(roots) < 2:
        return
    ports = [root for root, _ in roots.values()]
    devices = [cards[0].device for _, cards in roots.values()]
    yield Observation(
        **judged(Severity.WARNING, Sureness.LIKELY, devices[0], ports[0]),
        what=f"requests between {', '.join(short(one.slot) for one in devices)} pass the IOMMU: ReqRedir is on "
        f"at the root port{'s' if len(ports) > 1 else ''} {', '.join(short(one.slot) for one in ports)}",
        values=(
            *(value(one, "ACSCtl", " ".join(one.acs_enabled or ())) for one in ports),
            *(value(one, "device", one.name) for one in devices[1:]),
        ),
        remedy="where no virtual machine needs the isolation: switch ACS off in the BIOS or clear ReqRedir at "
        "these ports (config_acs= on the kernel's command line), or boot with iommu=pt; with virtual machines, "
        "give the peers to one",
        commands=tuple(clear_redirection(one) for one in ports),
    )


@rule("D24", Symptom.PEER_TO_PEER, confirm="the rate of the pair against that of a pair on one socket")
def peers_across_sockets(tree: Tree) -> Iterator[Observation]:
    """A matrix of `nvidia-smi topo -m` says what traffic of two devices crosses; sockets are the slowest."""
    pairs = [peer for peer in tree.peers if peer.kind in _ACROSS_SOCKETS]
    if pairs:
        names = ", ".join(f"{one} and {other}" for one, other in (peer.ends for peer in pairs[:_MOST_NAMED]))
        more = f", and {len(pairs) - _MOST_NAMED} more pairs" if len(pairs) > _MOST_NAMED else ""
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, None),
            what=f"peers reach each other over the connection between sockets: {names}{more}",
            values=tuple(value(None, " and ".join(peer.ends), peer.kind.upper()) for peer in pairs[:_MOST_NAMED]),
            remedy="give work that exchanges data to devices of one socket, or to a device and the NIC of its "
            "socket",
        )


def _below_switches(tree: Tree) -> dict[str, tuple[Link, list[Link]]]:
    """The devices below each switch's upstream port."""
    found: dict[str, tuple[Link, list[Link]]] = {}
    for card, _ in real_cards(tree):
        for above in links_above(tree, card):
            found.setdefault(above.device.slot, (above, []))[1].append(card)
    return found
