"""Published figures of machines, each with its source: what `pcielab normal` compares with.

`profiles/published/figures.csv` has one figure a row. CONTRIBUTING.md says how to add one.
Python alone compares with them, and reads them by pydantic.
"""

import csv
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pcielab.errors import refusal
from pcielab.library import shipped
from pcielab.library.input_files import read_text

_FILE = "published/figures.csv"


class PublishedFigure(BaseModel):
    """One published number. Text is empty where the source says nothing: unknown, not a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    id: str
    """M or X and a number; never renumbered, new rows go to the end."""
    evidence: str
    """`opened`: the text with the figure was read. `opened-secondary`: the text read quotes the measurement."""
    category: str
    """Field of measurement, for readers."""
    quantity: str
    """What was measured, in words."""
    value: float
    """The number, in `unit`."""
    unit: str
    """Unit of `value` as the source has it; GB is 10^9 bytes, GiB 2^30; %: a loss of the figure `against`."""
    direction: str
    """H2D: towards the device; D2H: towards the host; P2P, D2D: between devices; CPU: a core's view."""
    size_bytes: int | None
    """Bytes of one transfer."""
    queue_depth: str
    """Transfers in flight."""
    link: str
    """The device's link, as the source has it."""
    mps_bytes: int | None
    """Maximum payload size."""
    mrrs_bytes: str
    """Maximum read request size, as the source has it."""
    cpu: str
    """Processor of the host."""
    device: str
    """The device."""
    numa: str
    """Placement of memory and threads."""
    iommu: str
    """State of the IOMMU."""
    tool: str
    """Program that measured."""
    conditions: str
    """Other conditions, and further points of the curve."""
    confidence: str
    """high: method and machine described; medium: one of them missing; low: a bare number."""
    note: str
    """Remarks."""
    source_key: str
    """Key of the source: rows of one source count as one."""
    source_title: str
    """Title of the source."""
    source_year: str
    """Its year, after its kind."""
    source_ref: str
    """Its address."""
    what: str
    """Question that it answers: `h2d`, `d2h`, `both`, `p2p`, `latency`, `interrupt`, `iops`; empty: none."""
    engine: str
    """What moves the data: `copy`, `kernel`, `dma`, `core`."""
    kind: str
    """Kind of device: `gpu`, `nic`, `nvme`, `fpga`, `accelerator`, `expander`."""
    question_link: str
    """The link in a word, `gen5x16`, or its tunnel, `tb4`; empty: unknown, or inferred from the rate alone."""
    line_gbps: float | None
    """Of a NIC, its line rate, Gb/s."""
    state: str
    """Condition that the asker knows, `pcielab.analysis.normal.STATES`; empty: nothing else is busy."""
    cause: str
    """Cause of a low value that the source names or that `against` isolates: an ID of `causes.toml`, as D01."""
    against: str
    """The figure without that cause: the id of a row, or a value in the same unit."""
    completion: str
    """How the processor learns of completions: `polled` or `interrupt`; empty: the source does not say."""
    read_share: float | None
    """Of a memory expander, share of the lines that were read; empty: `what` says it, or the source does not."""


@cache
def published_figures() -> dict[str, PublishedFigure]:
    """All shipped figures by id, in the order of the file."""
    path = shipped.directory("profiles") / _FILE
    figures = read_figures(path)
    return {figure.id: figure for figure in figures}


def read_figures(path: Path) -> list[PublishedFigure]:
    """The figures of a file.

    Raises:
        InputError: A row is malformed, has no source, or repeats an id.
    """
    lines = read_text(path).splitlines()
    figures: list[PublishedFigure] = []
    seen: set[str] = set()
    for number, row in enumerate(csv.DictReader(lines), start=2):
        place = f"{path}: row {number}"
        try:
            figure = PublishedFigure.model_validate({key: _value(key, text) for key, text in row.items()})
        except ValidationError as error:
            first = error.errors()[0]
            raise refusal("malformed", f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if not (figure.source_key and figure.source_title and figure.source_ref):
            raise refusal(
                "missing", f"{place}: {figure.id}: no source: give source_key, source_title and source_ref"
            )
        if figure.evidence not in ("opened", "opened-secondary"):
            raise refusal(
                "wrong-value", f"{place}: {figure.id}: evidence {figure.evidence}: give a figure that was read"
            )
        if figure.id in seen:
            raise refusal("conflict", f"{place}: {figure.id} is there twice: number new rows on")
        seen.add(figure.id)
        figures.append(figure)
    return figures


_NUMBERS = {"size_bytes", "mps_bytes", "line_gbps", "read_share"}


def _value(key: str | None, text: str | list[str] | None) -> str | list[str] | None:
    return None if key in _NUMBERS and not text else text
