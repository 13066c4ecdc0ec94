"""Texts in figures that the drawing library cannot take."""

import altair
import pytest

from pcielab.report.drawing import vega_lite, writable


@pytest.mark.parametrize("escape", [r"\u001b[2J", r"\x1b", r"\33", r"\b"])
def test_titles_have_no_escapes_that_expressions_read(escape: str) -> None:
    values = altair.InlineData([{"text": escape}])
    axis = altair.Y("text:N", title=f"a{escape}")
    written = vega_lite(altair.Chart(values).mark_bar().encode(y=axis))
    assert written["encoding"]["y"]["title"] == "a?" + escape[1:]
    assert [{"text": escape}] in written["datasets"].values(), "values are in no expression"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\0b", "a?b"),
        ("a\x1b[2J", "a?[2J"),
        ("a\x7fb\x80", "a\x7fb\x80"),
        ("a\ufffeb\uffff", "a?b?"),
        ("a\ud800b", "a?b"),
        ("a\U0010ffffb", "a\U0010ffffb"),
        ("a\tb", "a\tb"),
    ],
)
def test_letters_outside_of_xml_end_no_process(text: str, written: str) -> None:
    assert writable({"name": [text], text: 1}) == {"name": [written], written: 1}


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029"])
def test_line_ends_break_no_expression(end: str) -> None:
    assert writable({"title": f"a{end}b", "name": f"a{end}b"}) == {"title": "a b", "name": "a b"}
