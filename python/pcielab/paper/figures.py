"""The figures of the paper: which machines and tests each needs, and how it is made of them."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pcielab import model
from pcielab.devices.running import simulate
from pcielab.errors import InputError
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite
from pcielab.model.link import Accounting
from pcielab.report import figures
from pcielab.report.figures import Figure
from pcielab.store import Store
from pcielab.work.running import Progress, no_progress

_LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
_Draw: TypeAlias = Callable[[Sequence[Store], Accounting], Figure]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Attributes:
        shows: What it shows, in a line.
        systems: The paper's machines that it is made on; none where it is modelled or a drawing.
        suites: Their tests: one suite for all, or one for each.
        parts: Make it from their runs; a figure with parts (a) and (b) has two.
        caution: What its curves could be mistaken for; empty where nothing is.
    """

    shows: str
    parts: tuple[_Draw, ...]
    systems: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    caution: str = ""

    @property
    def runs(self) -> list[tuple[str, str]]:
        """The runs that it needs, as system and suite."""
        suites = self.suites * len(self.systems) if len(self.suites) == 1 else self.suites
        return list(zip(self.systems, suites, strict=True))


FIGURES: dict[int, PaperFigure] = {
    1: PaperFigure(
        "what a Gen3 x8 link leaves for packets, bare and with three NICs",
        (lambda runs, accounting: figures.interactions_of_links([_LINK], accounting),),
    ),
    2: PaperFigure("the latency of a looped packet, and PCIe's part in it", (lambda *_: figures.loopback(),)),
    3: PaperFigure("the host buffer, and what a test accesses of it", (lambda *_: figures.buffer_layout(),)),
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
"""By number. Table 1 calls the machines otherwise: `pcielab profiles list` has both names."""


def make_figure(
    number: int,
    *,
    accounting: Accounting = Accounting.SPEC,
    runs: Path | None = None,
    progress: Progress = no_progress,
) -> list[Figure]:
    """A figure of the paper, in its parts, from simulated machines; tests are run as far as they lack.

    Args:
        number: 1 to 9.
        accounting: How the bytes of the modelled curves are counted: `sigcomm18` as the paper does.
        runs: Folder of stores named SYSTEM-SUITE.db: those that are there are used, the others written. Without
            it, nothing is kept.
        progress: Called while tests run.

    Raises:
        InputError: There is no such figure, or a store in the folder is of another run.
    """
    wanted = FIGURES.get(number)
    if wanted is None:
        raise InputError(f"figure {number}: the paper has figures 1 to {max(FIGURES)}")
    if runs is not None:
        runs.mkdir(parents=True, exist_ok=True)
        return _drawn(wanted, runs, accounting, progress)
    with tempfile.TemporaryDirectory(prefix="pcielab-figure-") as folder:
        return _drawn(wanted, Path(folder), accounting, progress)


def _drawn(wanted: PaperFigure, folder: Path, accounting: Accounting, progress: Progress) -> list[Figure]:
    runs = [run_of(*one, folder, progress) for one in wanted.runs]
    return [draw(runs, accounting) for draw in wanted.parts]


def run_of(system: str, suite: str, folder: Path, progress: Progress = no_progress) -> Store:
    """The run of a suite on a system: the store in the folder, whole, or carried out into it."""
    path = folder / f"{system}-{suite}.db"
    return simulate(resolve(system), load_suite(suite), path, resume=True, progress=progress)
