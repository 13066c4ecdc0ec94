"""TOML that was parsed before is not parsed again, and callers cannot change it for one another."""

import pytest

from pcielab.library.input_files import parse_toml

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
