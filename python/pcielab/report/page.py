"""The page of a report: what binds, main numbers, figures, every row, runs and systems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcielab.analysis.why.stored import why_stored
from pcielab.charts.frame import Figure
from pcielab.charts.run import Run
from pcielab.errors import InputError
from pcielab.kinds.transfers.summary import summary
from pcielab.report.catalogue import Drawn, LeftOut
from pcielab.report.doctor import machines
from pcielab.report.figures.why import draw_why
from pcielab.report.html import html_page
from pcielab.report.provenance import provenance
from pcielab.report.table import family_tables
from pcielab.store.exercised import NOTICE, WHY


def render(runs: Sequence[Run], drawn: Sequence[Drawn], left_out: Sequence[LeftOut]) -> str:
    """The page of all runs, the measured overlay included, with its figures in order."""
    timed = [run for run in runs if run.store.tells_speed]
    answers = list(openings(runs))
    return html_page(
        "report.html.j2",
        {one.name: one.figure for one in answers} | {one.entry.name: one.figure for one in drawn},
        answers=answers,
        title=", ".join(dict.fromkeys(run.label for run in runs)),
        badges=list(dict.fromkeys(run.badge for run in runs)),
        provenances=[provenance(run) for run in runs],
        entries=[run.entry for run in timed],
        summary=summary(timed),
        exercised=[exercised_of(run) for run in runs if not run.store.tells_speed],
        notice=NOTICE,
        why=WHY,
        machines=machines(runs),
        sections=_by_section(drawn),
        left_out=left_out,
        tables=[(run.entry, list(family_tables(run))) for run in runs],
        rows=sum(len(run.rows) for run in runs),
        incomplete=[f"{run.label}: {run.store.extent}" for run in runs if run.store.incomplete],
    )


def _by_section(drawn: Sequence[Drawn]) -> dict[str, list[Drawn]]:
    sections: dict[str, list[Drawn]] = {}
    for one in drawn:
        sections.setdefault(one.entry.section, []).append(one)
    return sections


@dataclass(frozen=True)
class Opening:
    """The answer for one run.

    Attributes:
        entry: The run as legends name it.
        name: The name of its figure.
        sentences: What binds, how sure that is, and what a change would give.
        figure: The values, bounds and changes as bars.
    """

    entry: str
    name: str
    sentences: tuple[str, ...]
    figure: Figure


def openings(runs: Sequence[Run]) -> Iterator[Opening]:
    """The answers of the runs that have one; measured overlays have none of their own."""
    for number, run in enumerate(runs, start=1):
        if run.measured_overlay or not run.store.tells_speed:
            continue
        try:
            answer = why_stored(run.store)
        except InputError:
            # A foreign store may lack what the question needs, which its own figures then say.
            continue
        if answer is not None:
            yield Opening(run.entry, f"answer-{number}", answer.sentences, draw_why(answer, said=False))


@dataclass(frozen=True)
class Exercised:
    """The tests of a run.

    Attributes:
        label: The run's name.
        entry: The run as legends name it.
        device: Name of the device.
        heads: Column heads: name, number of tests, and number by status.
        lines: One for each name, in the order of the suite.
    """

    label: str
    entry: str
    device: str
    heads: list[str]
    lines: list[list[str]]


def exercised_of(run: Run) -> Exercised:
    """The tests of a run by name."""
    tests = run.store.tests
    ends = [str(status) for status in tests["status"].unique()]
    lines = [
        [str(name), str(len(rows)), *(str(int((rows["status"] == end).sum())) for end in ends)]
        for name, rows in tests.groupby("name", sort=False)
    ]
    device = run.manifest.get("device") or {}
    return Exercised(run.label, run.entry, str(device.get("name", "unknown")), ["test", "tests", *ends], lines)
