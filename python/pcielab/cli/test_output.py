"""Tables print cells literally."""

import pytest

from pcielab.cli.output import Format, print_rows


def test_brackets_and_colons_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """`devices list` prints `pip install pcielab[cuda]`, and names may come from untrusted files."""
    print_rows([{"name": "[red]x[/red] :x:", "missing": "install pcielab[cuda]"}], Format.TABLE)
    printed = capsys.readouterr().out
    assert "[red]x[/red] :x:" in printed
    assert "pcielab[cuda]" in printed
