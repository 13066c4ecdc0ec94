"""Rows of a table say what they were given."""

import pytest

from pcielab.cli.output import Format, print_rows


def test_brackets_and_colons_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """What lacks is often told as `pip install pcielab[cuda]`, and names are anybody's."""
    print_rows([{"name": "[red]x[/red] :x:", "missing": "install pcielab[cuda]"}], Format.TABLE)
    printed = capsys.readouterr().out
    assert "[red]x[/red] :x:" in printed
    assert "pcielab[cuda]" in printed
