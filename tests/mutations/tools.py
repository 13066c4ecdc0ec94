"""Changed outputs of other tools, alone and pasted together, and the rows of those that are accepted."""

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
from pcielab.formats.importers import import_output
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.tools.rows import Tool, measured_rows
from pcielab.store import open_store

_SAMPLES = Path(__file__).parents[1] / "tool_outputs"
_LINKED = Given(link="gen5x16", mps_bytes=256, mrrs_bytes=512)
_TOOLS: tuple[Tool, ...] = ("nvbandwidth", "perftest", "fio")
_AROUND = (
    b"$ ./run.sh\n",
    b"01:00.0 VGA compatible controller: NVIDIA Corporation\n\tLnkSta: Speed 16GT/s, Width x16\n",
    b"Any ideas?\n```\n",
    b"\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n",
    b"",
)
_BEFORE_LINES = (b"> ", b"2024-06-06T16:02:40Z ", b"[1,0]<stdout>:", b"+", b"\x1b[32m", b"")


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


def _pasted(draw: random.Random) -> bytes:
    """Samples of tools below one another with other text around them, changed and mangled."""
    folders = sorted(path for path in _SAMPLES.iterdir() if path.is_dir())
    text = draw.choice(_AROUND)
    for _ in range(draw.choice([1, 1, 2, 3])):
        sample = draw.choice(_samples(draw.choice(folders).name))
        text += (mutate.text(draw, sample) if draw.random() < 0.7 else sample) + draw.choice(_AROUND)
    before = draw.choice(_BEFORE_LINES)
    text = b"".join(before + line for line in text.splitlines(keepends=True))
    return text.replace(b"\n", b"\r\n") if draw.random() < 0.2 else text


def _case(tool: Tool | None) -> Callable[[random.Random, Path], None]:
    def case(draw: random.Random, folder: Path) -> None:
        path, output = folder / "output.txt", folder / "run.db"
        path.write_bytes(_changed(draw, draw.choice(_samples(tool))) if tool else _pasted(draw))
        given = draw.choice([None, _LINKED])
        import_output(path, output, tool=tool, given=given, overwrite=True)
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


KINDS = {**{f"tool-{tool}": _case(tool) for tool in _TOOLS}, "tool-pasted": _case(None)}
