"""The C library with the calls of `_core.HostPort`, so that one test holds both."""

import ctypes as c
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab.errors import InputError

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

LIBRARY = Path(__file__).parents[1] / "target" / "debug" / "libpcie_port.a"
KINDS = ["read", "write", "message", "relaxed-write"]
OUTCOMES = ["data", "poisoned", "unsupported", "aborted", "lost"]
NEVER = (1 << 64) - 1
FUNCTIONS = [
    "create", "free", "limits", "address", "has_room", "submit_with", "give_up", "advance", "take", "next",
    "occupancy",
]  # fmt: skip


class Tlp(c.Structure):
    _fields_ = [("address", c.c_uint64), ("length", c.c_uint32), ("tag", c.c_uint16), ("kind", c.c_uint16)]


class Sent(c.Structure):
    _fields_ = [("left_ps", c.c_uint64), ("arrived_ps", c.c_uint64), ("credited_ps", c.c_uint64)]


class Event(c.Structure):
    _fields_ = [
        ("at_ps", c.c_uint64), ("address", c.c_uint64), ("kind", c.c_uint32), ("length", c.c_uint32),
        ("byte_count", c.c_uint32), ("posted_headers", c.c_uint32), ("posted_data", c.c_uint32),
        ("non_posted_headers", c.c_uint32), ("tag", c.c_uint16), ("lower_address", c.c_uint8), ("last", c.c_uint8),
        ("outcome", c.c_uint32),
    ]  # fmt: skip


class Occupancy(c.Structure):
    _fields_ = [
        ("uplink_free_ps", c.c_uint64), ("reads", c.c_uint32), ("posted_headers", c.c_uint32),
        ("posted_data", c.c_uint32), ("non_posted_headers", c.c_uint32),
    ]  # fmt: skip


def shared_library(folder: Path) -> c.CDLL:
    """The C library as a shared one."""
    made = folder / "libpcie_port.so"
    wanted = [f"-Wl,-u,pcielab_port_{name}" for name in FUNCTIONS] + ["-Wl,-u,pcielab_code_text"]
    command = ["cc", "-shared", "-o", made, *wanted, LIBRARY, "-lpthread", "-ldl", "-lm"]
    subprocess.run([*map(str, command)], check=True)
    library = c.CDLL(str(made))
    library.pcielab_port_next.restype = c.c_uint64
    library.pcielab_code_text.restype = c.c_char_p
    return library


class Port:
    """A host behind the C interface."""

    def __init__(self, library: c.CDLL, system: "ResolvedSystem") -> None:
        self._library, self._port, text = library, c.c_void_p(), c.create_string_buffer(512)
        json = system.to_json().encode()
        code = library.pcielab_port_create(
            json, c.c_size_t(len(json)), None, c.byref(self._port), text, c.c_size_t(512)
        )
        assert code == 0, text.value

    def __del__(self) -> None:
        self._library.pcielab_port_free(self._port)

    def _call(self, name: str, *arguments: object) -> int:
        code = int(getattr(self._library, f"pcielab_port_{name}")(self._port, *arguments))
        if code < 0:
            raise InputError(self._library.pcielab_code_text(code).decode())
        return code

    def address(self, offset: int) -> int | None:
        found = c.c_uint64()
        self._call("address", c.c_uint64(offset), c.byref(found))
        return found.value

    @property
    def credits(self) -> tuple[int, int, int]:
        left = Occupancy()
        self._call("occupancy", c.byref(left))
        return left.posted_headers, left.posted_data, left.non_posted_headers

    @property
    def next_ps(self) -> int | None:
        at = int(self._library.pcielab_port_next(self._port))
        return None if at == NEVER else at

    def has_room(self, kind: str, tag: int, address: int, length: int) -> bool:
        return bool(self._call("has_room", c.byref(Tlp(address, length, tag, KINDS.index(kind)))))

    def submit(
        self, kind: str, tag: int, address: int, length: int, ready_ps: int, outcome: str = "data"
    ) -> tuple[int, int, int]:
        sent, tlp = Sent(), Tlp(address, length, tag, KINDS.index(kind))
        self._call("submit_with", c.byref(tlp), c.c_uint64(ready_ps), OUTCOMES.index(outcome), c.byref(sent))
        return sent.left_ps, sent.arrived_ps, sent.credited_ps

    def give_up(self, tag: int) -> None:
        self._call("give_up", c.c_uint16(tag))

    def advance(self, to_ps: int) -> None:
        self._call("advance", c.c_uint64(to_ps))

    def take(self) -> tuple[str, int, int, int, int, int, bool, str] | None:
        event = Event()
        if self._call("take", c.byref(event)) == 1:
            return None
        if event.kind == 0:
            kind, outcome = "completion", OUTCOMES[event.outcome]
        else:
            posted = "posted-credits" if event.posted_headers else "non-posted-credits"
            kind, outcome = ("message" if event.kind == 2 else posted), ""
        where = event.tag, event.address, event.length, event.byte_count
        return kind, event.at_ps, *where, bool(event.last), outcome
