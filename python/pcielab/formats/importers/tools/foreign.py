"""Text around the output of tools: its form, and the paths between GPUs that `nvidia-smi topo -m` shows."""

import re
from collections.abc import Set

from pcielab.wording import shown

_FIO_MESSAGE, _FIO_HEAD, _SHELL = "a message of fio", "the head of fio without results", "a shell's error message"
_WAITS = "a report of perftest that waits for its client"
_LSPCI = "lspci, whose links --doctor FILE takes"
_FRAMES = {_FIO_HEAD: "fio", _WAITS: "perftest"}
"""Forms that belong to the output of a tool, if it was read."""
FORMS = (
    (_LSPCI, r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [A-Z].*: .*"),
    ("a hex dump of lspci", r"[0-9a-f]{2,3}: (?:[0-9a-f]{2} ){15}[0-9a-f]{2}"),
    ("nvidia-smi topo -m", r"GPU\d+\s+X\s.*|GPU0\s+GPU1.*"),
    ("the table of nvidia-smi", r"\| NVIDIA-SMI \d.*"),
    ("rocm-smi", r"=+ ROCm System Management Interface =+"),
    (_FIO_MESSAGE, r"fio: .*"),
    (_FIO_HEAD, r"fio-\d.*|Jobs: \d.*|Starting \d+ (?:process|thread).*"),
    (_SHELL, r".*(?:command not found|Permission denied|No such file or directory)"),
    ("iperf", r"\[ *\d+\] +\d+\.\d+-\d+\.\d+ +sec .*|Client connecting to .*"),
    ("iperf3 JSON", r".*\"sum_sent\".*"),
    ("dd", r"\d+ bytes (?:\(.*\) )?copied, .*"),
    ("STREAM", r"Function\s+Best Rate MB/s.*"),
    ("OSU micro-benchmarks", r"# OSU MPI.*"),
    ("hdparm", r"Timing (?:cached|buffered disk) reads:.*"),
    ("gdrcopy", r"(?:writing|reading) test, size=.*|GPU id:\d+; name: .*"),
    ("SPDK perf", r"Device Information\s+:\s+IOPS\s+MiB/s.*"),
    ("TransferBench", r"TransferBench v.*"),
    ("nvmetop or nvme list", r"Node\s+(?:Generic\s+)?SN\s+Model.*"),
    ("ethtool", r"Settings for \S+:|Supported link modes: .*"),
    ("ibstat", r"CA '\w+'|hca_id:\s.*"),
    ("lscpu", r"(?:Architecture|CPU op-mode\(s\)):.*"),
    ("a kernel log", r"\[ *\d+\.\d{6}\] .*|.* kernel: .*"),
    (_WAITS, r"\* Waiting for client to connect.*"),
    ("JSON", r"\{.*|\[\{?"),
    ("XML or HTML", r"<(?:\?xml|!DOCTYPE|[a-z]{1,10}[ >]).*"),
)
"""Forms that are known by a line, and not read."""
_NOTHING_RAN = {
    _FIO_MESSAGE: "fio measured nothing: correct what its message names, run it again, and",
    _SHELL: "the tool did not run: correct the command, run it again, and",
}
_ANY = re.compile("|".join(f"({pattern})" for _, pattern in FORMS), re.ASCII)
"""A group for each form."""
_MOST_SHOWN = 4096
_MOST_FORMS = 12
_MOST_QUOTED = 100
_ROW = re.compile(r"GPU(\d{1,3})((?:\s+(?:X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|C2C))+)\b.*", re.ASCII)
_MOST_GPUS = 64


class ForeignText:
    """The lines that no reader took.

    Attributes:
        first: The first of them.
        first_line: Its number.
    """

    def __init__(self) -> None:
        self.first = ""
        self.first_line = 1
        self._seen: dict[str, str] = {}

    def add(self, line: str, number: int) -> None:
        """Add a line; an empty one has no form."""
        if not line:
            return
        if not self.first:
            self.first, self.first_line = line, number
        if len(self._seen) < _MOST_FORMS:
            head = line[:_MOST_SHOWN]
            found = _ANY.fullmatch(head)
            if found is not None and found.lastindex is not None:
                form = FORMS[found.lastindex - 1][0]
                named = f"{form}, {shown(head[:_MOST_QUOTED])}" if form in (_FIO_MESSAGE, _SHELL) else form
                self._seen.setdefault(form, f"{named} (line {number})")

    def forms(self, around: Set[str] = frozenset()) -> list[str]:
        """The forms that were seen, each with the line where it begins.

        Args:
            around: Tools whose output was read: lines around it are no form of their own.
        """
        return [text for form, text in self._seen.items() if _FRAMES.get(form) not in around]

    def remedy(self) -> str:
        """What to do first, if the text is the message of a tool that measured nothing; else empty."""
        [form, *others] = self._seen or [""]
        return "" if others else _NOTHING_RAN.get(form, "")


class TopologyLines:
    """The rows of a matrix of `nvidia-smi topo -m`."""

    def __init__(self) -> None:
        self._rows: dict[int, list[str]] = {}

    def add(self, line: str) -> None:
        """Add a line, if it is a row."""
        found = _ROW.fullmatch(line[:_MOST_SHOWN]) if line.startswith("GPU") else None
        if found and len(self._rows) < _MOST_GPUS:
            self._rows[int(found[1])] = found[2].split()

    def paths(self) -> dict[tuple[int, int], str]:
        """The word of each pair of GPUs; empty without a matrix."""
        count = len(self._rows)
        if sorted(self._rows) != list(range(count)):
            return {}
        return {
            (source, target): words[target]
            for source, words in self._rows.items()
            for target in range(min(count, len(words)))
            if source != target
        }
