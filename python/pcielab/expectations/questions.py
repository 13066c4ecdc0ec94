"""Questions to a machine, as text: what moves, between which devices, under which conditions.

    h2d gpu0..3                    host memory to four GPUs at once
    p2p-write gpu0>gpu4            gpu0 writes to gpu4
    p2p-write gpu0..3>gpu4..7      four pairs, one to one
    p2p-write gpu0..3>>gpu4..7     every one of four to every one of four
    ring gpu0..7                   bus bandwidth of an all-reduce over eight GPUs
    p2p-write gpu0>gpu4 sw0:gen2x16    the same with another link above sw0

Conditions are words behind the devices: `memory=1` (memory of that socket), `redirect` (ACS redirects requests),
`NAME:genGxL` (the link above NAME), `protocol=roce` and `mtu=1024` (of the lines of NICs), and `size=64` (bytes of
a frame, of packets).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from pcielab.errors import refusal
from pcielab.expectations.machine import Link, Machine, expanded
from pcielab.library.alike import suggestion
from pcielab.library.protocols import Protocol, read_protocol
from pcielab.wording import named

QuestionKind: TypeAlias = Literal[
    "h2d",
    "d2h",
    "both",
    "h2d-busy",
    "d2h-busy",
    "store",
    "load",
    "doorbell",
    "packets-in",
    "packets-out",
    "p2p-write",
    "p2p-read",
    "p2p-both",
    "staged",
    "staged-both",
    "all-to-all",
    "all-to-all-read",
    "ring",
    "ring-staged",
    "latency-read",
    "latency-write",
    "latency-staged",
    "latency-rdma",
]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
WORDS: dict[QuestionKind, str] = {
    "h2d": "host memory to the device",
    "d2h": "the device to host memory",
    "both": "host memory and the device, both ways at once",
    "h2d-busy": "host memory to the device, while it copies the other way",
    "d2h-busy": "the device to host memory, while it copies the other way",
    "store": "stores of a processor to the device",
    "load": "a load of 4 B by a core from the device, round trip",
    "doorbell": "a doorbell of 4 B by a core until the device has it",
    "packets-in": "packets that a NIC receives, millions a second",
    "packets-out": "packets that a NIC sends, millions a second",
    "p2p-write": "device to device, the first writes",
    "p2p-read": "device to device, the second reads",
    "p2p-both": "device to device, both ways at once",
    "staged": "device to device through host memory",
    "staged-both": "device to device through host memory, both ways at once",
    "all-to-all": "every device writes to every other",
    "all-to-all-read": "every device reads every other",
    "ring": "bus bandwidth of an all-reduce over a ring",
    "ring-staged": "bus bandwidth of a ring through host memory",
    "latency-read": "a small read of another device, round trip",
    "latency-write": "a small write to another device until it is seen",
    "latency-staged": "a small transfer through host memory",
    "latency-rdma": "a small RDMA message to another host, half a round trip",
}
OF_PACKETS = ("packets-in", "packets-out")
OF_ACCESSES = ("load", "doorbell")
_OF_DEVICES = (*OF_ACCESSES, "h2d", "d2h", "both", "h2d-busy", "d2h-busy", "store", "latency-rdma", *OF_PACKETS)
_OF_GROUPS = ("all-to-all", "all-to-all-read", "ring", "ring-staged")
_OF_LINES = ("protocol=", "mtu=", "size=")
_LINK = re.compile(r"([\w.-]+):gen([1-6])x(1|2|4|8|16)", re.ASCII)
_MOST_FLOWS = 4096
_LEAST_FRAME, _MOST_FRAME = 64, 9216


@dataclass(frozen=True)
class Question:
    """A question to one machine.

    Attributes:
        kind: What moves.
        devices: Of `h2d`, `d2h`, `both`, rings and all-to-all: the devices.
        pairs: Of the others: source and destination of each flow.
        memory: Socket of the host memory; None: the device's own.
        is_redirected: Whether ACS redirects requests; None: as the machine says.
        links: Links that differ from the machine's.
        protocol: Protocol of the lines of NICs; None: unknown, the lines are taken bare.
        mtu_bytes: Its MTU; None: the usual one.
        frame_bytes: Size of a frame, FCS included.
        text: The question as it was asked.
    """

    kind: QuestionKind
    devices: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    memory: int | None = None
    is_redirected: bool | None = None
    links: dict[str, Link] = field(default_factory=dict[str, Link])
    protocol: Protocol | None = None
    mtu_bytes: int | None = None
    frame_bytes: int = _LEAST_FRAME
    text: str = ""

    @property
    def is_single(self) -> bool:
        """Whether one flow moves, or one each way between the same ends."""
        return self.kind not in _OF_GROUPS and len(self.devices) + len(self.pairs) == 1


def read_question(text: str, machine: Machine) -> Question:
    """A question from its text.

    Raises:
        InputError: It has no such form, or names a device that the machine does not have.
    """
    word, *rest = text.split()[:64] or [""]
    kind = next((kind for kind in KINDS if kind == word), None)
    if kind is None:
        raise refusal("wrong-value", f"question {named(word)}: unknown: {suggestion(word, list(KINDS))}")
    devices: list[str] = []
    pairs: list[tuple[str, str]] = []
    memory: int | None = None
    is_redirected: bool | None = None
    links: dict[str, Link] = {}
    line: dict[str, str] = {}
    for part in rest:
        if part == "redirect":
            is_redirected = True
        elif part.startswith("memory="):
            memory = _socket(part, machine)
        elif part.startswith(_OF_LINES):
            key, _, value = part.partition("=")
            line[key] = value
        elif found := _LINK.fullmatch(part):
            links[found[1]] = Link(int(found[2]), int(found[3]))
        elif ">" in part:
            pairs += _pairs(part)
        else:
            devices += expanded(part)
    question = Question(
        kind, tuple(devices), tuple(pairs), memory, is_redirected, links, *_of_line(line, kind), text=text
    )
    _check(question, machine)
    return question


def _of_line(given: Mapping[str, str], kind: QuestionKind) -> tuple[Protocol | None, int | None, int]:
    """Protocol, MTU and frame size of the words `protocol=`, `mtu=` and `size=`."""
    numbers = {key: int(value) for key, value in given.items() if value.isdecimal() and len(value) < 7}
    for key, value in given.items():
        if key != "protocol" and key not in numbers:
            raise refusal("malformed", f"{key}={named(value)}: not a number of bytes: give one as {key}=1024")
    protocol = read_protocol(given["protocol"], "protocol") if "protocol" in given else None
    mtu_bytes = numbers.get("mtu")
    if mtu_bytes is not None:
        if protocol is None:
            raise refusal("missing", f"mtu={mtu_bytes}: of a protocol: give one as protocol=roce")
        protocol.check_mtu(mtu_bytes, "mtu")
    frame_bytes = numbers.get("size", _LEAST_FRAME)
    if "size" in numbers and kind not in OF_PACKETS:
        raise refusal("conflict", f"size={frame_bytes}: of {' and '.join(OF_PACKETS)}: leave it out")
    if not _LEAST_FRAME <= frame_bytes <= _MOST_FRAME:
        raise refusal(
            "out-of-range",
            f"size={frame_bytes}: give {_LEAST_FRAME} to {_MOST_FRAME} bytes of a frame, FCS included",
        )
    return protocol, mtu_bytes, frame_bytes


def _socket(part: str, machine: Machine) -> int:
    number = part.removeprefix("memory=")
    most = machine.sockets if machine.sockets is not None else 8
    if not (number.isdigit() and len(number) < 3 and int(number) < most):
        raise refusal("out-of-range", f"{named(part)}: give a socket of {machine.name}, 0 to {most - 1}")
    return int(number)


def _pairs(part: str) -> Iterator[tuple[str, str]]:
    if ">>" in part:
        left, _, right = part.partition(">>")
        sources, targets = expanded(left), expanded(right)
        yield from ((one, other) for one in sources for other in targets if one != other)
        return
    left, _, right = part.partition(">")
    sources, targets = expanded(left), expanded(right)
    if 1 not in (len(sources), len(targets)) and len(sources) != len(targets):
        raise refusal(
            "wrong-value",
            f"{named(part)}: {len(sources)} sources and {len(targets)} destinations: give equal numbers, one of "
            "either, or >> for every pair",
        )
    count = max(len(sources), len(targets))
    yield from zip(sources * (count // len(sources)), targets * (count // len(targets)), strict=True)


def _check(question: Question, machine: Machine) -> None:
    kind = question.kind
    takes_devices = kind in _OF_DEVICES or kind in _OF_GROUPS
    if takes_devices and (question.pairs or not question.devices):
        raise refusal("wrong-value", f"{kind}: asks about devices: write them as {kind} gpu0..3")
    if not takes_devices and (question.devices or not question.pairs):
        raise refusal("wrong-value", f"{kind}: asks about pairs: write them as {kind} gpu0>gpu1")
    if kind in _OF_GROUPS and len(set(question.devices)) < 2:
        raise refusal("wrong-value", f"{kind}: needs two or more devices: write them as {kind} gpu0..3")
    flows = len(question.devices) ** (2 if kind.startswith("all-to-all") else 1) + len(question.pairs)
    if flows > _MOST_FLOWS:
        raise refusal("too-large", f"{kind}: more than {_MOST_FLOWS} flows: give fewer devices")
    for name in (*question.devices, *(end for pair in question.pairs for end in pair)):
        if machine.part(name).kind == "switch":
            raise refusal("wrong-value", f"{named(name)}: is a switch: give a device below it")
    if same := next((one for one, other in question.pairs if one == other), None):
        raise refusal("conflict", f"{named(same)}: is both ends: give two devices")
    for name in question.links:
        machine.part(name)
