"""Holds laws of the simulated machine against rivals, on raw rows of every measured machine at hand.

A law is a choice of values in the twins: an order, a unit, a share. Its fingerprint is the rows that it changes
most. Each twin predicts them as shipped, and with a rival's values in its stead, all else equal: a rival that
comes closer over all machines falsifies the law. Prints each machine, writes the sums into
docs/concepts/simulated-machine.md, and ends with status 1 if a law has lost.

Machines come from PCIELAB_DATA, and from the folder `packs` beside it; one without rows is skipped with a word.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import pcielab
from leave_one_out import rows_of
from marked import write_between
from pcielab.analysis.calibrate.measured import Row, read_measured
from pcielab.analysis.calibrate.residuals import predicted_ns, transaction_ns
from pcielab.analysis.calibrate.twin import Predicted, Twin
from pcielab.library.profiles import names
from pcielab.library.profiles.values import Table

PAGE = Path("docs/concepts/simulated-machine.md")
START, END = "<!-- laws: make laws -->", "<!-- end of laws -->"
HEAD = [
    "| law | rival | rows of | machines | rows | effect, % | law: error, % | bias | rival: error, % | bias "
    "| machines where the rival is closer |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]
_MIB = 1 << 20
_CLOSER = 0.1
"""A rival is closer on a machine if its error is smaller by more than this, in percentage points."""

Rival: TypeAlias = Callable[[Table], Mapping[str, Any]]
"""The values that differ from those of a system; none where the law says nothing about it."""


@dataclass(frozen=True)
class Law:
    """A law, a rival, and the rows on which they differ.

    Attributes:
        name: The law in words.
        rival: The rival in words.
        fingerprint: The rows in words.
        rows: Whether a row belongs to the fingerprint.
        instead: The rival's values.
    """

    name: str
    rival: str
    fingerprint: str
    rows: Callable[[Row], bool]
    instead: Rival


@dataclass(frozen=True)
class Trial:
    """A law on one machine: errors in percent of the time of a transaction."""

    law: Law
    system: str
    of_law: tuple[float, ...]
    of_rival: tuple[float, ...]

    @property
    def rival_is_closer(self) -> bool:
        """Whether the machine speaks against the law."""
        return _size(self.of_rival) < _size(self.of_law) - _CLOSER


def _reads(row: Row, *sizes: int) -> bool:
    test = row.test
    aligned = not test["host_offset_bytes"] and not test["device_offset_bytes"]
    return row.name == "BW_DMA_RD" and aligned and test["size_bytes"] in sizes


def _other_if(holds: Callable[[Table], bool], values: Mapping[str, Any]) -> Rival:
    return lambda system: values if holds(system) else {}


def _any(_system: Table) -> bool:
    return True


def _translated(system: Table) -> bool:
    return bool(system["iommu"] == "four-kib-pages")


def _other_ecrc(system: Table) -> Mapping[str, Any]:
    return {"link.root_port_ecrc": not system["link"].get("root_port_ecrc")}


LAWS = (
    Law(
        "reads that wait for page walks keep their order",
        "each leaves when its walk is done",
        "reads of 256 B in windows beyond the IO-TLB",
        lambda row: _reads(row, 256) and row.test["window_bytes"] >= _MIB,
        _other_if(_translated, {"host.iommu.ordered_reads": "none"}),
    ),
    Law(
        "completions carry an ECRC if the root port's register says so",
        "they carry one if it does not",
        "reads of 64 to 407 B at host offsets",
        lambda row: row.name == "BW_DMA_RD" and row.test["host_offset_bytes"] > 0 and row.test["size_bytes"] < 512,
        _other_ecrc,
    ),
    Law(
        "walks under load take random times",
        "all take the same time",
        "reads of 64 B in windows beyond the IO-TLB",
        lambda row: _reads(row, 64) and row.test["window_bytes"] >= _MIB,
        _other_if(_translated, {"host.iommu.busy_walk_spread": 0.0}),
    ),
    Law(
        "the device reuses its tags in order",
        "it takes any free tag",
        "reads of 129, 257 and 513 B",
        lambda row: _reads(row, 129, 257, 513),
        _other_if(_any, {"device.dma.tag_order": "any-free"}),
    ),
    Law(
        "small requests are answered in any order",
        "the oldest first",
        "reads of 129, 257 and 513 B",
        lambda row: _reads(row, 129, 257, 513),
        _other_if(_any, {"host.root_complex.completion_order": "fifo"}),
    ),
    Law(
        "data that arrive and data that leave take turns in the device",
        "they do not",
        "reads and writes of 256 to 1024 B",
        lambda row: row.name == "BW_DMA_RW" and 256 <= row.test["size_bytes"] <= 1024,
        _other_if(_any, {"device.dma.engine.both_ways_byte_ns": 0.0}),
    ),
    Law(
        "reads that are shifted in the device empty its shifter",
        "they cost as much as others",
        "reads at device offsets",
        lambda row: row.name == "BW_DMA_RD" and row.test["device_offset_bytes"] > 0,
        _other_if(_any, {"device.dma.engine.shifted_flush_ns": 0.0}),
    ),
    Law(
        "memory refreshes delay single reads",
        "they do not",
        "average latencies of cold reads of 64 B",
        lambda row: row.name == "LAT_DMA_RD" and row.test["cache"] == "cold" and row.test["size_bytes"] == 64,
        _other_if(_any, {"host.memory.refresh.share": 0.0}),
    ),
)
"""The laws, in the order of the page."""


def trials(system: str, folder: Path, laws: Sequence[Law]) -> Iterator[Trial]:
    """Try laws on one machine; those that its rows or its values do not show are left out."""
    table = json.loads(pcielab.resolve(system).to_json())
    shown = [
        (law, rows, instead)
        for law in laws
        if (instead := law.instead(table))
        and (rows := [row for row in read_measured(folder).rows if law.rows(row)])
    ]
    if not shown:
        return
    every = sorted({row.index: row for _, rows, _ in shown for row in rows}.values(), key=lambda row: row.index)
    numbers = {row.index: number for number, row in enumerate(every)}
    wanted = [[numbers[row.index] for row in rows] for _, rows, _ in shown]
    found = Twin(table, every).predict([{}] * len(shown) + [instead for *_, instead in shown], wanted * 2)
    for number, (law, rows, _) in enumerate(shown):
        trial = Trial(law, system, _errors(rows, found[number]), _errors(rows, found[number + len(shown)]))
        # Without an effect, the twin has the rival's value already, or its rows do not tell both apart.
        if trial.of_law != trial.of_rival:
            yield trial


def _errors(rows: Sequence[Row], predicted: Sequence[Predicted]) -> tuple[float, ...]:
    pairs = [(transaction_ns(row), predicted_ns(row, one)) for row, one in zip(rows, predicted, strict=True)]
    return tuple(100 * (known / simulated - 1) for known, simulated in pairs if known and simulated)


def _size(errors: Sequence[float]) -> float:
    return fmean(abs(error) for error in errors)


def _effect(tried: Sequence[Trial]) -> float:
    return fmean(
        abs(one - other) for trial in tried for one, other in zip(trial.of_law, trial.of_rival, strict=True)
    )


def summary(law: Law, tried: Sequence[Trial]) -> str:
    """The line of a law over all machines."""
    of_law = [error for trial in tried for error in trial.of_law]
    of_rival = [error for trial in tried for error in trial.of_rival]
    against = ", ".join(f"`{trial.system}`" for trial in tried if trial.rival_is_closer) or "none"
    cells = [law.name, law.rival, law.fingerprint, str(len(tried)), str(len(of_law)), f"{_effect(tried):.1f}"]
    cells += [f"{number:.1f}" for number in (_size(of_law), fmean(of_law), _size(of_rival), fmean(of_rival))]
    return f"| {' | '.join([*cells, against])} |"


def has_lost(tried: Sequence[Trial]) -> bool:
    """Whether the rival comes closer over all rows."""
    of_law = [error for trial in tried for error in trial.of_law]
    return _size([error for trial in tried for error in trial.of_rival]) < _size(of_law) - _CLOSER


def main() -> None:
    """Print each machine, write the table, and fail if a law has lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", action="append", help="only this one; repeatable; leaves the page unchanged")
    parser.add_argument("--law", action="append", type=int, help="only this one, from 1; repeatable; likewise")
    options = parser.parse_args()
    data = Path(os.environ.get("PCIELAB_DATA") or sys.exit("laws: set PCIELAB_DATA to the published data"))
    laws = [LAWS[number - 1] for number in options.law or range(1, len(LAWS) + 1)]
    tried: list[Trial] = []
    for system in options.system or names("system"):
        # Idle states cause stalls of milliseconds, which hide what the laws are about.
        if pcielab.resolve(system).system.host.idle is not None:
            continue
        folder = rows_of(system, data)
        if folder is None:
            print(f"{system}: skipped, no rows at hand", file=sys.stderr)
            continue
        for trial in trials(system, folder, laws):
            tried.append(trial)
            print(f"{system}: {trial.law.name}: {_size(trial.of_law):.2f} %, rival {_size(trial.of_rival):.2f} %")
    by_law = {law: found for law in laws if (found := [trial for trial in tried if trial.law is law])}
    table = [*HEAD, *(summary(law, found) for law, found in by_law.items())]
    if not options.system and not options.law:
        write_between(PAGE, START, END, table)
    print("\n".join(table))
    if lost := [law.name for law, found in by_law.items() if has_lost(found)]:
        sys.exit(f"laws: a rival is closer: {'; '.join(lost)}")


if __name__ == "__main__":
    main()
