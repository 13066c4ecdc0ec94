"""The work of `pcielab run`: a suite, a single test, frames through a NIC, or lines of a memory expander.

An option selects each kind of work; further options refine it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pcielab._core import read_sizes
from pcielab.cli.output import Cell, Format, print_rows
from pcielab.cli.stores import say_borrowed
from pcielab.errors import refusal
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.store.manifest import borrowed_of

if TYPE_CHECKING:
    from pcielab.devices import Carrier
    from pcielab.store import Store
    from pcielab.work.frames import Frames
    from pcielab.work.options import RunOptions, Work

_STEP_BYTES = 64


def frames(
    nic: str, sizes: str | None, line_gbps: float | None, direction: Any, nics: int | None = None
) -> "Frames":
    """Frames through a NIC as options describe them."""
    from pcielab.model import Ethernet, load_nic
    from pcielab.work.frames import Frames

    line = Ethernet(line_gbps=line_gbps or Ethernet.line_gbps)
    asked, profile = frame_sizes(sizes or "64:1500"), load_nic(nic)
    return Frames(profile, asked, line, direction or profile.direction, nics=nics or 1, source=nic)


def print_frames(store: "Store", output_format: Format) -> None:
    """Print each size's result beside the closed form."""
    rows = list(_rows(store))
    say_borrowed((str(row["binds"]) for row in rows), borrowed_of(store.manifest))
    print_rows(rows, output_format, title=store.described)


def frame_sizes(text: str) -> list[int]:
    """Parse frame sizes; a range without a step has steps of 64 B and includes its end."""
    sizes: list[int] = []
    for part in text.split(","):
        stepped = part.count(":") == 1
        found = read_sizes(f"{part}:{_STEP_BYTES}" if stepped else part, "--frames")
        last = read_sizes(part.split(":")[1], "--frames") if stepped else []
        sizes += [*found, *(size for size in last if size not in found)]
    return sizes


def _rows(store: "Store") -> Iterator[dict[str, Cell]]:
    from pcielab.kinds.frames.rows import nic_rows

    for row in nic_rows(store).to_dict("records"):
        yield {
            "frame_bytes": int(row["frame_bytes"]),
            "gbps": row["bandwidth"],
            "mpackets_per_second": row["rate"] / 1e6,
            "dropped_percent": 100 * row["dropped_share"],
            "line_gbps": row["line_bandwidth"],
            "model_gbps": row["model_gbps"],
            "link_gbps": row["link_bandwidth"],
            "binds": row["binds"],
            "median_ns": row.get("median"),
            "p99_ns": row.get("p99"),
            **_given(row, nics="nics", gbps_of_all="bandwidth_of_all", io_tlb_misses_per_mib="io_tlb_misses"),
            "packet_read_ns": row.get("packet_read_ns"),
            "packet_reads_in_flight": row.get("packet_reads_in_flight"),
            "packet_reads_by_formula": row.get("packet_reads_by_formula"),
            "interrupts_per_second": row["interrupts_per_s"],
            "origin": store.origin,
        }


def _given(row: Mapping[Any, Any], **columns: str) -> dict[str, Cell]:
    """Columns that only some runs have: of several NICs, or of a system that translates."""
    return {name: row[metric] for name, metric in columns.items() if metric in row}


@dataclass(frozen=True)
class Way:
    """A kind of work.

    Attributes:
        option: The option that selects it.
        more: Options that refine it.
        effect: Effect of those options, as error messages say it.
        load: Makes the work from the options' values.
        show: Prints the results, if the work prints any.
    """

    option: str
    more: tuple[str, ...]
    effect: str
    load: Callable[[Mapping[str, Any]], "Work"]
    show: Callable[["Store", "Carrier", Format], None] | None = None
    word: str = ""
    """The option with its value, where only one value selects it."""

    @property
    def named(self) -> str:
        """The option as messages name it."""
        return self.word or f"--{self.option}"


def _suite(given: Mapping[str, Any]) -> "Work":
    from pcielab.library.catalog import load_work

    suite = load_work(given["suite"])
    return suite.only(given["family"]) if given["family"] else suite


def _single(given: Mapping[str, Any]) -> "Work":
    from pcielab.library.suites import single_test

    return single_test(given["test"], **{word: given[word] for word in _WORDS if given[word] is not None})


def _show_single(store: "Store", carrier: "Carrier", output_format: Format) -> None:
    from pcielab.cli.outcome import print_single

    print_single(store, carrier.heading, output_format)


def _frames(given: Mapping[str, Any]) -> "Work":

    return frames(given["nic"], given["frames"], given["line"], given["direction"], given["nics"])


def _show_frames(store: "Store", _carrier: "Carrier", output_format: Format) -> None:

    print_frames(store, output_format)


def _memory(given: Mapping[str, Any]) -> "Work":
    from pcielab._core import read_number
    from pcielab.work.memory_lines import MemoryLines

    def shares(option: str, most: float) -> list[float]:
        return [
            read_number(part.strip(), f"--{option}", "share", "", (0.0, most)) for part in given[option].split(",")
        ]

    words = {word: given[word] for word in ("cores", "fill_buffers", "lines") if given[word] is not None}
    if given["reads"] is not None:
        reads = shares("reads", 1.0)
        if len(reads) > 1:
            raise refusal("wrong-value", f"--reads {given['reads']}: a run has one mix: give one share")
        words["read_share"] = reads[0]
    if given["loads"] is not None:
        words["loads"] = shares("loads", 10.0)
    return MemoryLines(**words)


def _show_memory(store: "Store", _carrier: "Carrier", output_format: Format) -> None:
    from pcielab.kinds.memory.rows import rows_of

    rows: list[dict[str, Cell]] = [
        {
            "expander": row["expander"],
            "read_share": row["read_share"],
            "load": row["load"],
            "gbytes_per_s": row["bandwidth"] / 8,
            "peak_gbytes_per_s": row["peak_bandwidth"] / 8,
            "read_latency_ns": row.get("average"),
            "modelled_ns": row.get("modelled_average"),
            "p99_ns": row.get("p99"),
            "in_flight": row["in_flight"],
            "origin": store.origin,
        }
        for row in rows_of(store)
    ]
    print_rows(rows, output_format, title=store.described)


_LINES = ("reads", "loads", "cores", "fill_buffers", "lines")
_WORDS = tuple(parameter.word for parameter in PARAMETERS if parameter.key != "operation")
_SUITE = Way("suite", ("family",), "chooses tests of a suite", _suite)
_WAYS = (
    _SUITE,
    Way("test", _WORDS, "describes a single test", _single, _show_single),
    Way("memory", _LINES, "describes lines of an expander", _memory, _show_memory, "--test mem-rd"),
    Way("nic", ("frames", "line", "direction", "nics"), "describes the frames of a NIC", _frames, _show_frames),
)
_DEFAULT = "quick"
MEMORY_TEST = "mem-rd"
"""The test of an expander: reads at several loads, among a mix."""


def asked(given: Mapping[str, Any]) -> tuple[Way, "Work"]:
    """The work that the options describe, and its kind; options that were not given are None."""
    if given["test"] == MEMORY_TEST:
        given = {**given, "test": None, "memory": MEMORY_TEST}
    chosen = [way for way in _WAYS if given.get(way.option) is not None]
    for way in _WAYS:
        _refuse_more(way, chosen or [_SUITE], given)
    if len(chosen) > 1:
        options = " and ".join(way.named for way in chosen)
        raise refusal("conflict", f"{options}: give one of them: each chooses its own tests")
    [way] = chosen or [_SUITE]
    return way, way.load({**given, "suite": given["suite"] or _DEFAULT})


def refuse_unkept(way: Way, options: "RunOptions") -> None:
    """Refuse work without `--output` that prints no results, or that continues a store."""
    if way is _SUITE:
        raise refusal(
            "missing", "--output: a suite prints no results: give -o RUN.db; --test prints the result of one test"
        )
    if options.resume:
        raise refusal("missing", "--resume: continues a store: give -o RUN.db")


def _refuse_more(way: Way, chosen: list[Way], given: Mapping[str, Any]) -> None:
    """Refuse options that refine a kind of work that was not selected."""
    more = [f"--{word.replace('_', '-')}" for word in way.more if given.get(word)]
    if not more or way in chosen:
        return
    other = chosen[0]
    asked_for = given.get(other.option)
    written = other.word or f"--{other.option} {asked_for}"
    remedy = f"leave it out with {written}" if asked_for else f"give {way.named} as well"
    raise refusal("conflict", f"{', '.join(more)}: {way.effect}: {remedy}")
