"""Read a text that somebody pasted: registers, a kernel's log, a drawing of the buses, a topology, or several.

Each form is read for what it tells. `Tree.pieces` lists the forms with their use; what the text lacks is in
`unseen`.
"""

import re
from collections.abc import Iterator
from itertools import islice

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.bus_tree import bus_tree
from pcielab.doctor.kernel_log import is_kernel_log, log_events
from pcielab.doctor.lspci_text import lspci_tree
from pcielab.doctor.nccl_topology import read_nccl
from pcielab.doctor.saved import of_text
from pcielab.doctor.tree import Peer, Piece, Tree
from pcielab.errors import InputError
from pcielab.library.lspci import COMMAND
from pcielab.wording import named

_HEAD_LETTERS = 4096
_XML = re.compile(r"\ufeff?\s*<(?:\?xml|!|system\b)")
_TOPOLOGY, _TOPOLOGY_END = re.compile(r"<system\b"), "</system>"
_FORM_LETTERS = 65_536
_SHOWN_LETTERS = 40
_FORMS = tuple(
    (form, re.compile(pattern, re.MULTILINE))
    for form, pattern in (
        ("binary data", r"\x00"),
        ("a shell's error message", r"(?:command )?not found$|Permission denied$|No such file or directory$"),
        ("the output of lshw", r"^\s*\*-\w+|bus info: pci@|\"id\" ?: ?\"\w+\".*\"class\" ?:"),
        ("the output of lstopo", r"^\s*(?:Machine \(|HostBridge|PCIBridge|<object type=)"),
        ("the output of nvidia-smi -q", r"^==============NVSMI LOG|GPU Link Info"),
        ("the table of nvidia-smi", r"NVIDIA-SMI \d"),
        ("the output of lsusb", r"^Bus \d{3} Device \d{3}: ID "),
        ("the output of lscpu", r"^(?:Architecture|CPU op-mode\(s\)): "),
        ("the output of dmidecode", r"^Handle 0x[0-9A-F]{4}, DMI type"),
        ("the output of ethtool", r"^Settings for |^\s*Supported link modes: "),
        ("the output of ibstat", r"^CA '\w+'|CA type: "),
        ("the output of inxi", r"^(?:System|Machine|Graphics|Network):$|^\s*Device-1: "),
        ("the output of hwinfo", r"^\d\d: PCI .*\[Created at"),
        ("a device tree", r"^/dts-v1/;|compatible = \""),
        ("the table of /proc/iomem", r"^\s*[0-9a-f]{8,16}-[0-9a-f]{8,16} : "),
        ("the output of fio", r"^\s*(?:read|write): IOPS="),
        ("the output of perftest", r"^ *#bytes +#iterations"),
        ("an HTML page", r"<!DOCTYPE html|<html\b"),
        ("a hex dump without the line that names its function", r"^[0-9a-f]{2,8}: (?:[0-9a-f]{2,4} ){4}"),
        ("a kernel log without a message about PCIe", r"^\[ *\d+\.\d{6}\] "),
        ("JSON", r"\A\s*[\[{]"),
        ("XML", r"\A\s*<[?!\w]"),
    )
)
_MATRIX_NAME = r"(?:GPU\d{1,3}|NIC\d{1,3}|mlx\w{1,16}|[A-Za-z]\w{0,12}_\d{1,3})"
_MATRIX_HEAD = re.compile(rf"^[ \t>|]*(?:{_MATRIX_NAME}[ \t]+){{1,}}(?:{_MATRIX_NAME})?", re.MULTILINE)
_MATRIX_ROW = re.compile(
    rf"^[ \t>|]*(?P<name>{_MATRIX_NAME})[ \t]+"
    r"(?P<cells>(?:(?:X|PIX|PXB|PHB|NODE|SYS|SOC|C2C|NV\d{1,2}|XGMI|PCIE)[ \t]*)+)",
    re.MULTILINE,
)
_MOST_MATRIX_ROWS = 256


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
    log, peers, drawn = log_events(text), _topo_matrix(text), bus_tree(text)
    tree = lspci_tree(text, source)
    if tree is None and (start := _TOPOLOGY.search(text)) is not None:
        topology, end, _ = text[start.start() :].partition(_TOPOLOGY_END)
        tree = read_nccl((topology + end).encode(), source) if end else None
    if tree is None and not (log or peers or drawn):
        raise InputError(
            f"{source}: no PCI function in this text: {_form_of(text)}: give the output of `{COMMAND}`"
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


def _form_of(text: str) -> str:
    """The form of a text, as words for a message."""
    if not text.strip():
        return "it is empty"
    head = text[:_FORM_LETTERS]
    form = next((form for form, pattern in _FORMS if pattern.search(head)), None)
    if form is not None:
        return f"it looks like {form}"
    first = next(line.strip() for line in head.split("\n") if line.strip())
    return f"it starts with {named(first[:_SHOWN_LETTERS])}"


def _topo_matrix(text: str) -> tuple[Peer, ...]:
    """The pairs of a matrix of `nvidia-smi topo -m` or `rocm-smi --showtopo`, each once; empty without a matrix.

    It has no slots and no registers: each pair of devices gets the word that the matrix shows for it.
    """
    rows = list(islice(_MATRIX_ROW.finditer(text), _MOST_MATRIX_ROWS))
    if len(rows) < 2 or not _MATRIX_HEAD.search(text):
        return ()
    names = [row["name"] for row in rows]
    found = []
    for number, row in enumerate(rows):
        for other, word in list(zip(names, row["cells"].split(), strict=False))[:number]:
            if word != "X":
                found.append(_peer(word, other, row["name"]))
    return tuple(found)


def _peer(word: str, one: str, other: str) -> Peer:
    bonded = re.fullmatch(r"NV(\d{1,2})", word)
    return Peer(
        kind="nvlink" if bonded else word.lower(), ends=(one, other), links=int(bonded[1]) if bonded else None
    )
