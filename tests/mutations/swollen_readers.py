"""The readers of swollen texts: commands and requests of pages, each with texts that it takes.

A reader has five seconds and 1 GiB for a MiB. One that announces its work before it begins may take longer: it is
interrupted then.
"""

import io
import json
import os
import random
import signal
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kinds
import machines
import tomli_w
import tools
import uses
from resealed import command_line
from swollen import swollen

from fabric_machines import MACHINES, NCCL
from pcielab import InputError
from pcielab.analysis.calibrate.measured import read_measured, read_pack
from pcielab.explore.dropped import Dropped
from pcielab.explore.fabrics import Fabrics
from pcielab.explore.question import Systems
from pcielab.library.profiles import resolve
from pcielab.port import trace

Draw = random.Random
SECONDS_MOST = 5.0
"""Processor time of a case that announces nothing."""
BESIDE_SECONDS = 2.0
"""Processor time beyond that of a reader: the text is made in the same process."""
MEMORY_MOST = 1 << 30
ANNOUNCED = ("Ctrl-C stops it",)
"""Words of a command that announces work of seconds."""
_ENDLESS_SECONDS = 15.0
"""Processor time after which a case that no signal interrupts is ended."""


class Over(BaseException):
    """A case has used its time."""


@dataclass(frozen=True)
class Reader:
    """A reader of texts.

    Attributes:
        name: The name of the file that it reads.
        texts: Texts that it takes.
        read: Reads the file; what it wrote on stderr.
    """

    name: str
    texts: Callable[[], Sequence[bytes]]
    read: Callable[[Path, list[str]], None]


def called(arguments: Sequence[str], said: list[str]) -> None:
    """Run a command in this process; what it says on stderr goes to `said`, its output nowhere."""
    error = _Said(said)
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(error),
        suppress(SystemExit),
    ):
        command_line()(list(arguments), standalone_mode=False)


class _Said(io.TextIOBase):
    """A stream that keeps the first texts that are written."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def write(self, text: str, /) -> int:
        """Keep a text, up to a few; Click tries whether a stream takes bytes, and would write them."""
        if not isinstance(text, str):
            raise TypeError(f"a text is written, not {type(text).__name__}")
        if len(self._said) < 1_000:
            self._said.append(text[:1_000])
        return len(text)


def command(*words: str) -> Callable[[Path, list[str]], None]:
    """A command that reads FILE, and may write OUT."""

    def read(path: Path, said: list[str]) -> None:
        output = str(path.with_suffix(""))
        arguments = [word.replace("FILE", str(path)).replace("OUT", f"{output} out") for word in words]
        if any("OUT" in word for word in words):
            arguments.append("--overwrite")
        called(arguments, said)

    return read


def function(read: Callable[[Path], object]) -> Callable[[Path, list[str]], None]:
    """A function that reads a file."""
    return lambda path, _said: void(read(path))


def void(_result: object) -> None:
    """Drop a result."""


def toml(*contents: dict[str, Any]) -> list[bytes]:
    """Tables as TOML."""
    return [tomli_w.dumps(content).encode() for content in contents]


def shipped(*patterns: str) -> Callable[[], Sequence[bytes]]:
    """Shipped files, with their comments and lines."""
    return cache(lambda: toml(*kinds.tables(*patterns)))


@cache
def _flows() -> list[bytes]:
    head = b"name,source,destination,primitive,size_bytes,outstanding\n"
    return [
        head + b"f1,host1,A,h2d,4096,8\nf2,host2,B,d2h,64,1\nf3,A,B,d2d-write,1024,64\n",
        b"name,source,destination,standalone_gbytes_per_s\na,host1,A,8.0\nb,A,host2,1.5\nc,B,C,0.5\n",
        b"source,destination\nhost1,A\nA,B\n",
    ]


@cache
def _traces() -> list[bytes]:
    recorded = trace.record(resolve("snb"), "bw-rdwr", size=256, window="64K", transactions=30)
    return [recorded.encode(), b"# pcielab trace 1\n0 read 0 4096\n1000 write 4096 300\n2000 read 64 64\n"]


@cache
def _captures() -> list[bytes]:
    header = struct.pack("<IIIHHQI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, (1 << 64) - 1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 125, 0, 0, 20)
    read = bytes.fromhex("00000010010000ff00001000")
    packet = struct.pack("<IIIIIII", 6, 32 + len(read), 0, 0, 1, len(read), len(read)) + read
    return [header + interface + (packet + struct.pack("<I", 32 + len(read))) * 4]


def _published(name: str) -> Callable[[Path], None]:
    """The folder in the published format with one file changed, imported and read for calibration."""

    def read(path: Path) -> None:
        folder = path.parent / "published"
        folder.mkdir(exist_ok=True)
        for original in (path.parent.parent / "published").iterdir():
            with suppress(FileExistsError):
                (folder / original.name).symlink_to(original)
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(path.read_bytes())
        try:
            uses.published(folder, path.with_suffix(".db"))
        finally:
            read_measured(folder)

    return read


def _dropped(path: Path) -> None:
    """A file that is dropped on a page."""
    text = path.read_bytes().decode(errors="replace")
    Dropped(Systems(), Fabrics()).take({"file": "mine.toml", "text": text})


def _asked(path: Path) -> None:
    """The body of a question on a page."""
    try:
        asked = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("the request is not JSON: send an object") from None
    uses.question(asked)


def _page_of_fabric(path: Path) -> None:
    """A fabric that is dropped on a page, its flows estimated there."""
    fabrics = Fabrics()
    taken = Dropped(Systems(), fabrics).take(
        {"file": "mine.toml", "text": path.read_bytes().decode(errors="replace")}
    )
    if taken["kind"] == "fabric":
        fabrics.listed()
        fabrics.estimated({"fabric": taken["name"]})


@cache
def _lspci() -> list[bytes]:
    return [
        kinds.LSPCI.encode(),
        *(block for block in machines._blocks()[:6]),
        MACHINES["dgx"]().encode()[:30_000],
    ]


@cache
def _forms() -> list[bytes]:
    return [form.encode() for form in machines._FORMS]


def _of_fabric(*words: str) -> Reader:
    return Reader("mine.toml", shipped("profiles/fabrics/*.toml"), command(*words))


def _of_flows(*words: str) -> Reader:
    return Reader("mine.csv", _flows, command(*words, "--flows", "FILE"))


_SYSTEMS = cache(lambda: toml(*kinds.whole_systems()))
READERS: dict[str, Reader] = {
    "system": Reader("mine.toml", _SYSTEMS, command("profiles", "show", "FILE")),
    "system, asked why": Reader(
        "mine.toml", _SYSTEMS, command("why", "--test", "bw-rd", "--size", "64", "--profile", "FILE")
    ),
    "host": Reader("mine.toml", shipped("profiles/hosts/*.toml"), command("profiles", "show", "FILE")),
    "device": Reader("mine.toml", shipped("profiles/devices/*.toml"), command("profiles", "show", "FILE")),
    "NIC": Reader(
        "mine.toml", shipped("profiles/nics/*.toml"), command("model", "nic", "FILE", "--sizes", "64,1500")
    ),
    "messages": Reader("mine.toml", shipped("profiles/pio/*.toml"), command("model", "pio", "--profile", "FILE")),
    "suite": Reader(
        "mine.toml", shipped("suites/quick.toml", "suites/demo.toml"), command("suites", "show", "FILE")
    ),
    "suite of messages": Reader("mine.toml", shipped("suites/messages/*.toml"), command("suites", "show", "FILE")),
    "suite of fabrics": Reader("mine.toml", shipped("suites/fabric/*.toml"), command("suites", "show", "FILE")),
    "sweep": Reader("mine.toml", lambda: toml(kinds.SWEEP), function(uses.sweep)),
    "fabric": _of_fabric("fabric", "estimate", "FILE"),
    "fabric, asked why": _of_fabric("why", "FILE"),
    "fabric, explained": _of_fabric("fabric", "explain", "FILE"),
    "fabric, listed": _of_fabric("profiles", "show", "FILE"),
    "flows": _of_flows("fabric", "estimate", "fabrex-u55c"),
    "flows, asked why": _of_flows("why", "fabrex-u55c"),
    "flows, explained": _of_flows("fabric", "explain", "fabrex-u55c", "--format", "csv"),
    "flows, simulated": _of_flows("fabric", "simulate", "fabrex-u55c", "--duration-us", "1", "--warm-up-us", "0"),
    "lspci": Reader("mine.txt", _lspci, command("doctor", "--lspci", "FILE")),
    "lspci as a fabric": Reader("mine.txt", _lspci, command("fabric", "from", "FILE", "-o", "OUT.toml")),
    "lspci as a profile": Reader(
        "mine.txt", _lspci, command("profiles", "skeleton", "--lspci", "FILE", "-o", "OUT.toml")
    ),
    "pasted texts": Reader("mine.txt", _forms, command("doctor", "--lspci", "FILE")),
    "saved tree": Reader("mine.json", lambda: [machines._saved()], command("doctor", "FILE")),
    "NCCL topology": Reader("mine.xml", lambda: [NCCL.encode()], command("doctor", "--lspci", "FILE")),
    "NCCL topology as a fabric": Reader(
        "mine.xml", lambda: [NCCL.encode()], command("fabric", "from", "FILE", "-o", "OUT.toml")
    ),
    **{
        tool: Reader(
            "mine.txt", lambda tool=tool: tools._samples(tool), command("import", tool, "FILE", "-o", "OUT.db")
        )
        for tool in ("nvbandwidth", "perftest", "fio")
    },
    "pasted outputs of tools": Reader(
        "mine.txt", lambda: tools._samples("pasted"), command("import", "output", "FILE", "-o", "OUT.db")
    ),
    "raw results": Reader(
        "mine.txt", lambda: [kinds.RAW_RESULTS.encode()], command("import", "netfpga", "FILE", "-o", "OUT.db")
    ),
    **{
        f"published {name}": Reader("mine.txt", lambda name=name: [_original(name)], function(_published(name)))
        for name in (
            "bw_dma_sz_sweep.csv",
            "lat_dma_details.csv",
            "sys-lspci.txt",
            "sys-cpuinfo.txt",
            "sys-dma-addrs.txt",
        )
    },
    "pack of rows": Reader(
        "mine.csv",
        lambda: [b"family,test,cache,window_bytes,size_bytes\nbw_dma_sz_sweep,BW_DMA_RD,HWarm,8192,64\n"],
        function(read_pack),
    ),
    "trace": Reader("mine.trace", _traces, command("trace", "play", "FILE")),
    "capture": Reader("mine.pcapng", _captures, command("trace", "convert", "FILE", "-o", "OUT.trace")),
    "page: dropped system": Reader("mine.toml", _SYSTEMS, function(_dropped)),
    "page: dropped fabric": Reader("mine.toml", shipped("profiles/fabrics/*.toml"), function(_page_of_fabric)),
    "page: dropped machine": Reader("mine.txt", _lspci, function(_page_of_fabric)),
    "page: question": Reader("mine.json", lambda: [json.dumps(kinds.QUESTION).encode()], function(_asked)),
}
_FOLDER: list[Path] = []


def _original(name: str) -> bytes:
    return (_FOLDER[0] / "published" / name).read_bytes()


def prepare(folder: Path) -> None:
    """Make what texts are taken from, in a folder."""
    _FOLDER[:] = [folder]
    kinds.prepare(folder)


def _interrupt(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _ENDLESS_SECONDS)
    raise Over


def case(reader: Reader) -> Callable[[Draw, Path], None]:
    """Swell a text of a reader, and let it read for its time."""

    def read(draw: Draw, folder: Path) -> None:
        path = folder / reader.name
        path.write_bytes(swollen(draw, draw.choice(reader.texts())))
        said: list[str] = []
        signal.signal(signal.SIGPROF, _interrupt)
        signal.setitimer(signal.ITIMER_PROF, SECONDS_MOST)
        started = time.process_time()
        try:
            reader.read(path, said)
        except Over:
            if not any(words in text for text in said for words in ANNOUNCED):
                raise AssertionError(f"takes over {SECONDS_MOST:g} s and announces nothing") from None
            raise InputError("takes long, as it announced") from None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            with (folder.parent / "measured.txt").open("a") as file:
                file.write(f"{time.process_time() - started:.3f}\n")

    return read
