"""Changed outputs of other tools, imported, and the rows of those that are accepted."""

import json
import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mutate

from pcielab.analysis.explain import explain_rows
from pcielab.analysis.normal.rows import judge_run
from pcielab.formats.importers import import_fio, import_nvbandwidth, import_perftest
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.tools.rows import measured_rows
from pcielab.store import open_store

_SAMPLES = Path(__file__).parents[1] / "tool_outputs"
_LINKED = Given(link="gen5x16", mps_bytes=256, mrrs_bytes=512)
_IMPORTERS: dict[str, Callable[..., None]] = {
    "nvbandwidth": import_nvbandwidth,
    "perftest": import_perftest,
    "fio": import_fio,
}


@cache
def _samples(tool: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((_SAMPLES / tool).iterdir())]


def _changed(draw: random.Random, sample: bytes) -> bytes:
    """A changed sample: in half of the cases of JSON a change of a value, else of the text."""
    content: Any = None
    if sample.lstrip()[:2] == b"{\n" and draw.random() < 0.5:
        try:
            content = json.loads(sample)
        except ValueError:  # perftest 4.5 leaves out quotes
            content = None
    if content is None:
        return mutate.text(draw, sample)
    return json.dumps(mutate.table(draw, content), default=str, indent=1).encode(errors="surrogatepass")


def _case(tool: str) -> Callable[[random.Random, Path], None]:
    def case(draw: random.Random, folder: Path) -> None:
        path, output = folder / "output.txt", folder / "run.db"
        path.write_bytes(_changed(draw, draw.choice(_samples(tool))))
        given = draw.choice([None, _LINKED])
        _IMPORTERS[tool](path, output, given=given, overwrite=True)
        try:
            store = open_store(output)
            for row in measured_rows(store):
                assert math.isfinite(row.value), row
                assert row.value >= 0, row
            if draw.random() < 0.1:
                explain_rows(store)
                judge_run(store)
        finally:
            output.unlink()

    return case


KINDS = {f"tool-{tool}": _case(tool) for tool in _IMPORTERS}
