"""Files are read or refused; a text of TOML is parsed once, and no caller changes it for another."""

from pathlib import Path

import pytest

from pcielab import InputError
from pcielab.library.input_files import parse_toml, read_bytes

TEXT = """
name = "a"
sizes = [1, 2, [3]]
made = 2018-08-20
[part]
key = {inner = 1.5}
"""


def test_a_caller_that_changes_its_content_changes_no_others() -> None:
    first, expected = parse_toml(TEXT), parse_toml(TEXT)
    first["part"]["key"]["inner"] = 2
    first["sizes"][2].append(4)
    del first["name"]
    assert parse_toml(TEXT) == expected != first


def test_an_invalid_text_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="Invalid value"):
            parse_toml("key = ")


def test_a_path_with_a_null_character_is_refused() -> None:
    with pytest.raises(InputError, match="a path has no null characters"):
        read_bytes(Path("a\0b"))
