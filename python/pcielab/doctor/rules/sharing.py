"""Rules about switches: devices that share an uplink, and peers below one."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness
from pcielab.doctor.real_links import made_up, real_cards
from pcielab.doctor.rules.link import links_above, rate_gbps, shown
from pcielab.doctor.rules.rule import judged, on_edge, rule, short, value
from pcielab.doctor.topology import edges
from pcielab.doctor.tree import Link, Tree

_PEERS = (0x01, 0x02, 0x03, 0x12)
"""Classes that exchange data with each other: storage, network, display, accelerator."""
_OFTEN_PEERS = (0x03, 0x12)
_REDIRECTS = ("ReqRedir", "CmpltRedir")
_MENTIONED = 1.01


@rule("D07")
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


@rule("D27")
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


def _below_switches(tree: Tree) -> dict[str, tuple[Link, list[Link]]]:
    """The devices below each switch's upstream port."""
    found: dict[str, tuple[Link, list[Link]]] = {}
    for card, _ in real_cards(tree):
        for above in links_above(tree, card):
            found.setdefault(above.device.slot, (above, []))[1].append(card)
    return found
