"""Links beside PCIe that connect devices of a machine: NVLink, Infinity Fabric."""

from collections.abc import Iterator, Sequence

from pcielab.doctor import Position, Tree

_WORDS = {"nvlink": "nvlink", "xgmi": "infinity-fabric"}
_ALWAYS_LINKED = {"infinity-fabric": {(0x1002, device) for device in (0x7408, 0x74A1, 0x74A5, 0x75A0)}}
"""GPUs that have links of their own to all others of their board, which `lspci` does not show: MI250X, MI300X,
MI325X and MI350X, by their IDs in pci.ids (the vendor's data sheets)."""


def own_links(tree: Tree, positions: Sequence[Position]) -> list[tuple[str, tuple[str, ...]]]:
    """The kind and the devices of each group that links beside PCIe connect; no source shows their rates.

    Args:
        tree: The machine, whose source may name such links.
        positions: Its parts.
    """
    return [*_shown(tree, positions)] or [*_always(positions)]


def _always(positions: Sequence[Position]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The groups that GPUs of some kinds always form."""
    for kind, ids in _ALWAYS_LINKED.items():
        names = [
            position.name
            for position in positions
            if position.part == "device"
            and any((one.vendor_id, one.device_id) in ids for one in position.functions)
        ]
        if len(names) > 1:
            yield kind, tuple(names)


def _shown(tree: Tree, positions: Sequence[Position]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The groups that the source shows."""
    names = {one.slot: position.name for position in positions for one in position.functions}
    names |= {one.label: position.name for position in positions for one in position.functions if one.label}
    for word, kind in _WORDS.items():
        groups: list[set[str]] = []
        for peer in tree.peers:
            if peer.kind != word:
                continue
            ends = {names.get(end, end) for end in peer.ends}
            touching = [group for group in groups if group & ends]
            groups = [group for group in groups if group not in touching]
            groups.append(ends.union(*touching))
        yield from ((kind, tuple(sorted(group))) for group in groups)
