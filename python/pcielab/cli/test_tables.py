"""Tables fit their width, and keep every cell."""

import re

import pytest

from pcielab.cli.tables import Column, tables


def column(head: str, *cells: str, is_numeric: bool = False) -> Column:
    return Column(head, cells, is_numeric)


def printed(columns: list[Column], width: int) -> str:
    line, parts = tables(columns, width)
    return "\n".join(
        [*([line] if line else []), *(text for part in parts for text, _ in part.lines(ascii_only=False))]
    )


WIDE = [
    column("test", *map(str, range(20)), is_numeric=True),
    column("cache", *["host-warm"] * 20),
    column("bound", *(f"bound-{number}" for number in range(20))),
    *(column(f"metric {name} Gb/s", *(f"{7919 * number}.25" for number in range(20))) for name in "abcdefghijkl"),
    column("advice", *(f"a sentence of some length about row {number}" for number in range(20))),
]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_wide_tables_fit_and_lose_nothing(width: int) -> None:
    shown = printed(WIDE, width)
    assert max(map(len, shown.splitlines())) <= width
    found = set(re.findall(r"[\w.]+", shown))
    for one in WIDE:
        assert found >= {word for text in one.texts for word in re.findall(r"[\w.]+", text)}


def test_a_table_that_fits_is_one_with_all_columns() -> None:
    line, parts = tables(WIDE[:3], 80)
    assert (line, len(parts), parts[0].heads) == ("", 1, ("test", "cache", "bound"))


def test_what_all_rows_say_is_said_once() -> None:
    shown = printed(WIDE, 80)
    assert shown.startswith("In all rows: cache host-warm\n")
    assert shown.count("host-warm") == 1


def test_each_part_has_the_columns_that_tell_rows_apart() -> None:
    _, parts = tables(WIDE, 60)
    assert len(parts) > 2
    assert {part.heads[0] for part in parts} == {"test"}


def test_rows_that_are_alike_are_numbered() -> None:
    alike = [column("name", *["x"] * 10, *["y"] * 10), *(one for one in WIDE if one.head.startswith("metric"))]
    _, parts = tables([*alike[:1], *(column(one.head, *["1", "2"] * 10) for one in alike[1:])], 60)
    assert {part.heads[0] for part in parts} == {"row"}


def test_a_single_row_is_printed_one_column_above_the_other() -> None:
    shown = printed([column("name", "one"), column("meaning", "a word " * 40)], 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("│ name") == 1


def test_tables_without_rows_or_columns_are_empty() -> None:
    assert tables([], 80)[0] == ""
    assert "name" in printed([column("name")], 80)


def test_a_table_with_a_frame_and_one_without() -> None:
    columns = [
        column("a long head of words", "1.5", "22", is_numeric=True),
        column("meaning", "日本", "a word " * 3),
    ]
    assert printed(columns, 80).splitlines() == [
        "┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━┓",
        "┃ a long head of words ┃ meaning               ┃",
        "┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━┩",
        "│                  1.5 │ 日本                  │",
        "│                   22 │ a word a word a word  │",
        "└──────────────────────┴───────────────────────┘",
    ]
    assert printed(columns, 14).splitlines() == [
        "    a",
        " long",
        " head",
        "   of",
        "words meaning",
        "─────────────",
        "  1.5 日本",
        "   22 a word",
        "      a word",
        "      a word",
    ]
    _, [only] = tables(columns, 80)
    assert next(only.lines(ascii_only=True)) == (f"+{46 * '-'}+", False)
    assert [line for line, is_head in only.lines(ascii_only=True) if is_head] == [
        "| a long head of words | meaning               |"
    ]
