"""Two readings of one machine as one tree: the first has the links, the second adds what the first lacks."""

from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import Function, Tree
from pcielab.errors import refusal

_MOST_NAMED = 4
_ADDED = ("label", "numa_node", "iommu_type", "iommu_group", "driver", "control", "acs_enabled", "ats_enabled")
"""Fields that the second reading may add."""


@refuses_wrong_types
def merged(first: Tree, second: Tree) -> Tree:
    """The first tree, with names, nodes and registers of the second where it has none.

    The tree whose source numbers buses comes first, since the other has neither ports nor registers. Links that
    differ are notes: a link may lower its speed between two readings. So are functions of the second alone.

    Raises:
        InputError: The trees have no function in common, so they are of two machines.
    """
    if first.is_nested and not second.is_nested:
        first, second = second, first
    others = {function.slot: function for function in second.functions}
    if not any(function.slot in others for function in first.functions):
        raise refusal(
            "conflict",
            f"{first.source} and {second.source}: have no function in common: give two readings of one machine",
        )
    functions = tuple(_with(one, others.get(one.slot)) for one in first.functions)
    host = first.host.model_copy(
        update={key: value for key, value in dict(second.host).items() if getattr(first.host, key) is None}
    )
    notes = (*first.unseen, *_differences(first, others, second.source))
    source = f"{first.source}, {second.source}"
    # A copy would keep what the first tree has derived from its functions.
    return Tree(source=source, functions=functions, host=host, unseen=notes, is_nested=first.is_nested)


def _with(one: Function, other: Function | None) -> Function:
    if other is None:
        return one
    node = one.numa_node if one.numa_node is not None and one.numa_node >= 0 else other.numa_node
    update: dict[str, Any] = {key: getattr(other, key) for key in _ADDED if getattr(one, key) is None}
    if one.link is None or (not one.link.is_up and other.link is not None):
        update["link"] = other.link
    return one.model_copy(update=update | {"numa_node": node})


def _differences(first: Tree, others: dict[str, Function], source: str) -> list[str]:
    notes = []
    for one in first.functions:
        other = others.get(one.slot)
        if other is None or one.link is None or other.link is None or not (one.link.is_up and other.link.is_up):
            continue
        ends = [(end.speed_gtps, end.lanes) for end in (one.link, other.link)]
        if ends[0] != ends[1]:
            shown = [f"{speed:g} GT/s x{lanes}" for speed, lanes in ends]
            notes.append(f"{one.slot}: {shown[0]} in {first.source}, {shown[1]} in {source}: the first is used")
    known = {function.slot for function in first.functions}
    missing = [slot for slot in others if slot not in known]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        notes.append(f"{', '.join(missing[:_MOST_NAMED])}{more}: only in {source}, not used")
    return notes
