"""Read a text that somebody pasted: registers, a kernel's log, a drawing of the buses, a topology, or several.

Each form is read for what it tells. `Tree.pieces` lists the forms with their use; what the text lacks is in
`unseen`.
"""

import re
from collections.abc import Iterator

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.bus_tree import bus_tree
from pcielab.doctor.forms import form_of
from pcielab.doctor.kernel_log import is_kernel_log, log_events
from pcielab.doctor.lspci_text import lspci_tree
from pcielab.doctor.nccl_topology import read_nccl
from pcielab.doctor.saved import of_text
from pcielab.doctor.topo_matrix import topo_matrix
from pcielab.doctor.tree import Piece, Tree
from pcielab.errors import InputError
from pcielab.library.lspci import COMMAND

_HEAD_LETTERS = 4096
_XML = re.compile(r"\ufeff?\s*<(?:\?xml|!|system\b)")
_TOPOLOGY, _TOPOLOGY_END = re.compile(r"<system\b"), "</system>"


@refuses_wrong_types
def machine_of_text(text: str, source: str) -> Tree:
    """The tree of a text: a saved tree, an NCCL topology, or anything that `read_lspci` reads.

    Raises:
        InputError: It is malformed, or shows nothing of a machine.
    """
    head = text[:_HEAD_LETTERS]
    if head.lstrip("\ufeff \t\r\n").startswith("{"):
        return of_text(text, source)
    return read_nccl(text.encode(), source) if _XML.match(head) else read_lspci(text, source)


@refuses_wrong_types
def read_lspci(text: str, source: str) -> Tree:
    """The tree that a pasted text shows.

    Args:
        text: Output of `lspci -vvv`, in any verbosity, with or without a kernel's log, `lspci -t`,
            `nvidia-smi topo -m` and prose around it.
        source: Its name in messages.

    Raises:
        InputError: It shows nothing of a machine; the message names the form that it has.
    """
    log, peers, drawn = log_events(text), topo_matrix(text), bus_tree(text)
    tree = lspci_tree(text, source)
    if tree is None and (start := _TOPOLOGY.search(text)) is not None:
        topology, end, _ = text[start.start() :].partition(_TOPOLOGY_END)
        tree = read_nccl((topology + end).encode(), source) if end else None
    if tree is None and not (log or peers or drawn):
        raise InputError(
            f"{source}: no PCI function in this text: {form_of(text)}: give the output of `{COMMAND}`"
        )
    pieces = tree.pieces if tree is not None else ()
    if tree is None:
        tree = Tree(source=source, functions=drawn)
        tree = tree.model_copy(update={"unseen": tuple(_without_registers(tree, has_log=bool(log)))})
    more = _pieces(text, tree, has_log=bool(log), has_matrix=bool(peers), is_drawn=bool(drawn))
    found = {"log": log, "peers": (*tree.peers, *peers), "pieces": (*pieces, *more)}
    # A copy would keep what the tree has derived from its functions.
    return Tree.model_construct(None, **{**dict(tree), **found})


def _without_registers(tree: Tree, *, has_log: bool) -> Iterator[str]:
    """What a text without registers lacks."""
    if tree.functions:
        form = "the drawing of lspci -t shows what is below which port"
    elif has_log:
        form = "a kernel log shows what it complains about"
    else:
        form = "the matrix of nvidia-smi topo -m shows how devices reach each other"
    yield f"the registers of every function: {form}, and no links: give the output of `{COMMAND}`, too"


def _pieces(text: str, tree: Tree, *, has_log: bool, has_matrix: bool, is_drawn: bool) -> Iterator[Piece]:
    if has_log or is_kernel_log(text):
        first = min((event.line for event in log_events(text)), default=1)
        yield Piece(form="kernel log", first_line=first, used_for="errors and links" if has_log else None)
    if has_matrix:
        yield Piece(form="nvidia-smi topo -m", first_line=_line_of(text, "GPU0"), used_for="paths between devices")
    if is_drawn:
        used = "ports above functions" if not tree.pieces else None
        yield Piece(form="lspci -t", first_line=_line_of(text, "-["), used_for=used)


def _line_of(text: str, word: str) -> int:
    return text.count("\n", 0, max(text.find(word), 0)) + 1
