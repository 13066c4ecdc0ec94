"""Texts in figures that the drawing library cannot take."""

import altair
import pytest

from pcielab.report.specification import vega_lite


@pytest.mark.parametrize("escape", [r"\u001b[2J", r"\x1b", r"\33", r"\b"])
def test_titles_have_no_escapes_that_expressions_read(escape: str) -> None:
    values = altair.InlineData([{"text": escape}])
    axis = altair.Y("text:N", title=f"a{escape}")
    written = vega_lite(altair.Chart(values).mark_bar().encode(y=axis))
    assert written["encoding"]["y"]["title"] == "a?" + escape[1:]
    assert [{"text": escape}] in written["datasets"].values(), "values are in no expression"
