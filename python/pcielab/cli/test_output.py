"""Tables print cells literally."""

import pytest

from pcielab.cli.output import Format, print_rows


def test_brackets_and_colons_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """`devices list` prints `pip install pcielab[cuda]`, and names may come from untrusted files."""
    print_rows([{"name": "[red]x[/red] :x:", "missing": "install pcielab[cuda]"}], Format.TABLE)
    printed = capsys.readouterr().out
    assert "[red]x[/red] :x:" in printed
    assert "pcielab[cuda]" in printed


@pytest.mark.parametrize("columns, widest", [("60", 60), ("", 120), ("wide", 120), ("0", 120)])
def test_a_piped_table_is_as_wide_as_columns(
    columns: str, widest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    print_rows([{"name": "one", "title": "a word " * 30}, {"name": "two", "title": "b"}], Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= widest
    assert (max(map(len, lines)) > 60) == (widest > 60)
