"""Texts in figures, as far as what draws pictures cannot take them."""

import altair
import pytest

from pcielab.report.specification import vega_lite


@pytest.mark.parametrize("escape", [r"\u001b[2J", r"\x1b", r"\33", r"\b"])
def test_a_title_has_no_escape_that_an_expression_would_read(escape: str) -> None:
    values = altair.InlineData([{"text": escape}])
    axis = altair.Y("text:N", title=f"a{escape}")
    written = vega_lite(altair.Chart(values).mark_bar().encode(y=axis))
    assert written["encoding"]["y"]["title"] == "a?" + escape[1:]
    assert [{"text": escape}] in written["datasets"].values(), "a value stands in no expression"
