"""The figures of the paper: the machines and tests that each needs, and its drawing."""

import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pcielab import model
from pcielab.devices.running import carry_out, open_work
from pcielab.errors import refusal
from pcielab.library.profiles import resolve
from pcielab.model.link import Accounting
from pcielab.report import figures
from pcielab.report.figures import Figure
from pcielab.store import Store
from pcielab.work.options import RunOptions
from pcielab.work.running import Progress, no_progress

_LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
_Draw: TypeAlias = Callable[[Sequence[Store], Accounting], Figure]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Attributes:
        shows: Its content, in a line.
        parts: Functions that draw it from the runs; a figure with parts (a) and (b) has two.
        systems: Profiles of the paper's machines; none if it is modelled or a drawing.
        suites: Their tests: one suite for all, or one for each.
        caution: Warning against a wrong conclusion; mostly empty.
    """

    shows: str
    parts: tuple[_Draw, ...]
    systems: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    caution: str = ""

    @property
    def runs(self) -> list[tuple[str, str]]:
        """The runs that it needs, as pairs of system and suite."""
        suites = self.suites * len(self.systems) if len(self.suites) == 1 else self.suites
        return list(zip(self.systems, suites, strict=True))


FIGURES: dict[int, PaperFigure] = {
    1: PaperFigure(
        "bandwidth of a Gen3 x8 link for packets, bare and with three NICs",
        (lambda runs, accounting: figures.interactions_of_links([_LINK], accounting),),
    ),
    2: PaperFigure("the latency of a looped packet, and PCIe's part", (lambda *_: figures.loopback(),)),
    3: PaperFigure("the host buffer, and the accesses of a test", (lambda *_: figures.buffer_layout(),)),
    4: PaperFigure(
        "bandwidth over the transfer size",
        (lambda runs, accounting: figures.bandwidth_by_size(runs, accounting=accounting),),
        ("hsw2637", "netfpga-hsw"),
        ("fig4", "netfpga"),
    ),
    5: PaperFigure(
        "median latency over the transfer size",
        (lambda runs, _: figures.latency_by_size(runs),),
        ("hsw2637", "netfpga-hsw"),
        ("fig5", "netfpga"),
    ),
    6: PaperFigure(
        "the distribution of 64 B reads on a Xeon E5 and a Xeon E3",
        (lambda runs, _: figures.latency_cdf(runs),),
        ("hsw2637", "e3"),
        ("fig6",),
    ),
    7: PaperFigure(
        "caches and DDIO: latency and bandwidth over the window",
        (lambda runs, _: figures.latency_by_window(runs), lambda runs, _: figures.bandwidth_by_window(runs)),
        ("snb",),
        ("fig7",),
    ),
    8: PaperFigure(
        "remote against local memory",
        (lambda runs, _: figures.local_against_remote(runs),),
        ("bdw-000", "bdw-011"),
        ("fig8-fig9",),
    ),
    9: PaperFigure(
        "the IOMMU with 4 KiB pages against none",
        (lambda runs, _: figures.iommu_against_none(runs),),
        ("bdw-000", "bdw-000-nosp"),
        ("fig8-fig9",),
        "the IOMMU does not speed up 512 B writes: each set-up is calibrated from its own published run, and "
        "those two runs differ in 512, 1,024 and 2,048 B writes (53.0 Gb/s without the IOMMU, 54.4 with it)",
    ),
}
"""By number. Table 1 has other names for the machines: `pcielab profiles list` shows both."""


def make_figure(
    number: int,
    *,
    accounting: Accounting = Accounting.SPEC,
    runs: Path | None = None,
    progress: Progress = no_progress,
) -> list[Figure]:
    """Draw a figure of the paper, in its parts, from simulated machines.

    Args:
        number: 1 to 9.
        accounting: How the bytes of the modelled curves are counted; `sigcomm18` as in the paper.
        runs: Folder of stores named SYSTEM-SUITE.db; missing ones are written. None: nothing is kept.
        progress: Called while tests run.

    Raises:
        InputError: The paper has no figure of this number, or a store in the folder is of another run.
    """
    wanted = FIGURES.get(number)
    if wanted is None:
        raise refusal("not-found", f"figure {number}: the paper has figures 1 to {max(FIGURES)}")
    if runs is not None:
        runs.mkdir(parents=True, exist_ok=True)
        return _drawn(wanted, runs, accounting, progress)
    with tempfile.TemporaryDirectory(prefix="pcielab-figure-") as folder:
        return _drawn(wanted, Path(folder), accounting, progress)


def _drawn(wanted: PaperFigure, folder: Path, accounting: Accounting, progress: Progress) -> list[Figure]:
    runs = [run_of(*one, folder, progress) for one in wanted.runs]
    return [draw(runs, accounting) for draw in wanted.parts]


def run_of(
    system: str,
    suite: str,
    folder: Path,
    progress: Progress = no_progress,
    only: Collection[int] | None = None,
) -> Store:
    """The run of a suite on a system: from its store in the folder, which is written or completed first.

    Args:
        system: A system profile.
        suite: A suite.
        folder: Folder of stores named SYSTEM-SUITE.db.
        progress: Called while tests run.
        only: Positions of the tests that are needed; None: all.
    """
    options = RunOptions(resume=True)
    carrier = open_work(suite, "sim", options, profile=resolve(system))
    return carry_out(carrier, options, folder / f"{system}-{suite}.db", progress, only)
