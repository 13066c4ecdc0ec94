"""Put together what a text shows several times: a list beside registers, one machine before and after a change.

Blocks of one slot are merged if they do not contradict each other. If they do, they are two states of one machine;
if their names differ, the text holds two machines.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pcielab.library.lspci_blocks import Block

_MOST_STATES = 8
_MOST_OF_A_SLOT = 64
"""Most texts of a slot that are read: each is compared with all lines of those before."""
_IDS = re.compile(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]")
_DETAILS = re.compile(r" \[[0-9a-f]{4}(?::[0-9a-f]{4})?\]|(?: \((?:rev|prog-if) [^)]*\))+")


@dataclass(frozen=True)
class States:
    """The functions of a machine, once for each state that the text shows.

    Attributes:
        functions: The functions of each state, in the order of their slots.
        lines: The first line of each state.
        other: The first line of another machine, with its slot and that slot's first line; None if there is none.
    """

    functions: tuple[tuple[Block, ...], ...]
    lines: tuple[int, ...]
    other: tuple[int, str, int] | None


def states(blocks: Sequence[Block]) -> States:
    """The states of the first machine of a text."""
    kept, other = _of_one_machine(blocks)
    grouped: dict[str, list[Block]] = {}
    shown = Counter[str]()
    for block in kept:
        slot = with_domain(block.slot)
        shown[slot] += 1
        if shown[slot] <= _MOST_OF_A_SLOT:
            _add(grouped.setdefault(slot, []), block)
    count = min(_MOST_STATES, max((len(found) for found in grouped.values()), default=1))
    functions = tuple(
        tuple(found[min(number, len(found) - 1)] for _, found in sorted(grouped.items()))
        for number in range(count)
    )
    lines = tuple(
        min(found[number].line for found in grouped.values() if len(found) > number) for number in range(count)
    )
    return States(functions, lines, other)


def with_domain(slot: str) -> str:
    """The slot with its domain, which lspci leaves out where all are 0."""
    return slot if slot.count(":") == 2 else f"0000:{slot}"


def _of_one_machine(blocks: Sequence[Block]) -> tuple[Sequence[Block], tuple[int, str, int] | None]:
    """The blocks before the first slot that has another name than above."""
    first: dict[str, Block] = {}
    for number, block in enumerate(blocks):
        known = first.setdefault(with_domain(block.slot), block)
        if not _is_same(known, block):
            return blocks[:number], (block.line, block.slot, known.line)
    return blocks, None


def _is_same(one: Block, other: Block) -> bool:
    """Whether two blocks of one slot may show the same function: no title contradicts the other."""
    if one is other or "(no header)" in (one.title, other.title) or "!!!" in one.text or "!!!" in other.text:
        return True
    ids = [_IDS.search(block.title) for block in (one, other)]
    if ids[0] and ids[1]:
        return ids[0][1] == ids[1][1]
    titles = sorted((" ".join(_DETAILS.sub("", block.title).split()) for block in (one, other)), key=len)
    return titles[1].startswith(titles[0]) or _is_numeric(one) != _is_numeric(other)


def _is_numeric(block: Block) -> bool:
    """Whether the title has numbers only, as `lspci -n` prints it."""
    return re.match(r"(?:Class )?[0-9a-f]{4}: ", block.title) is not None


def _add(found: list[Block], block: Block) -> None:
    """Merge a block into the state that it does not contradict, or append it as a new state."""
    for number, known in enumerate(found):
        if not known.is_rich or not block.is_rich or _agree(known, block):
            found[number] = _merged(known, block)
            return
    if len(found) < _MOST_STATES:
        found.append(block)


def _agree(one: Block, other: Block) -> bool:
    common = one.registers.keys() & other.registers.keys()
    shorter = min(len(one.space), len(other.space))
    same_text = all(one.registers[name] == other.registers[name] for name in common)
    return same_text and one.space[:shorter] == other.space[:shorter]


def _merged(one: Block, other: Block) -> Block:
    """Both as one: the richer text first, and the title with most in it."""
    first, second = (one, other) if one.is_rich or not other.is_rich else (other, one)
    titles = [block.title for block in (first, second) if block.title != "(no header)"]
    shown = [title for title in titles if _IDS.search(title)] or titles or [first.title]
    lines = [f"{first.slot} {shown[0]}", *first.text.split("\n")[1:]]
    known = set(lines)
    lines += [line for line in second.text.split("\n")[1:] if line not in known]
    return replace(
        first,
        title=shown[0],
        text="\n".join(lines),
        line=min(one.line, other.line),
        below=one.below or other.below,
    )
