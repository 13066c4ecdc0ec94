"""Rows without pandas print as frames do, to the byte."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from pcielab.cli.fabric_tables import print_flows, print_listed
from pcielab.cli.output import Cell, Format

TEXTS = strategies.text(strategies.sampled_from("a 0=+-@'\",;>\n\r\t"), max_size=5)
NUMBERS = strategies.one_of(
    strategies.floats(0, allow_nan=False, allow_infinity=False), strategies.integers(0, 1 << 62).map(float)
)
COLUMNS = ("flow", "gbytes_per_s", "limit", "flows", "fits")
ROW = strategies.tuples(
    TEXTS.map(lambda text: f"f{text}") | TEXTS.map(lambda text: f"={text}"),
    NUMBERS,
    strategies.none() | strategies.just("a->b"),
    strategies.integers(0, 1000),
    strategies.booleans(),
).map(lambda cells: dict(zip(COLUMNS, cells, strict=True)))


@pytest.mark.parametrize("output_format", Format)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=strategies.lists(ROW, min_size=1, max_size=4))
def test_rows_print_as_frames_do(
    rows: list[dict[str, Cell]], output_format: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame(rows).astype({"limit": object})
    print_flows(frame.where(frame.notna(), None), output_format, "Title")
    expected = capsys.readouterr()
    print_listed(rows, output_format, "Title")
    assert capsys.readouterr() == expected
