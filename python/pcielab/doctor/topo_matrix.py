"""Read the matrix of `nvidia-smi topo -m` or `rocm-smi --showtopo`: how devices reach each other.

It has no slots and no registers: each pair of devices gets the word that the matrix shows for it.
"""

import re
from itertools import islice

from pcielab.doctor.tree import Peer

_NAME = r"(?:GPU\d{1,3}|NIC\d{1,3}|mlx\w{1,16}|[A-Za-z]\w{0,12}_\d{1,3})"
_HEAD = re.compile(rf"^[ \t>|]*(?:{_NAME}[ \t]+){{1,}}(?:{_NAME})?", re.MULTILINE)
_ROW = re.compile(
    rf"^[ \t>|]*(?P<name>{_NAME})[ \t]+(?P<cells>(?:(?:X|PIX|PXB|PHB|NODE|SYS|SOC|C2C|NV\d{{1,2}}|XGMI|PCIE)[ "
    rf"\t]*)+)",
    re.MULTILINE,
)
_MOST_ROWS = 256
WORDS = {
    "pix": "one switch",
    "pxb": "several switches",
    "phb": "a host bridge",
    "node": "host bridges of one NUMA node",
    "sys": "the connection between sockets",
    "soc": "the connection between sockets",
}
"""What traffic of a pair crosses, by the word of the matrix."""


def topo_matrix(text: str) -> tuple[Peer, ...]:
    """The pairs of a matrix, each once; empty if the text has none."""
    rows = list(islice(_ROW.finditer(text), _MOST_ROWS))
    if len(rows) < 2 or not _HEAD.search(text):
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
