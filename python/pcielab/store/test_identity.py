"""What makes two tests the same one: everything that changes the answer, and nothing that does not."""

from dataclasses import asdict
from typing import Any

import pytest

from pcielab import single_test
from pcielab.library.suites.parameters import PARAMETERS
from pcielab.store.identity import NAMED, SETTING, identity


def test_a_setting_is_every_parameter_but_how_long_a_test_is() -> None:
    assert len(set(SETTING)) == len(SETTING)
    assert {one.key for one in PARAMETERS} - set(SETTING) == {"transactions", "details"}


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"transactions": 7}, True),
        ({"cache": "host-warm"}, False),
        ({"pattern": "fixed"}, False),
        ({"size": 65}, False),
        ({"window": "16K"}, False),
        ({"host_offset": 1}, False),
        ({"device_offset": 1}, False),
    ],
)
def test_tests_are_told_apart_by_what_they_ask_for(asked: dict[str, Any], same: bool) -> None:
    first, second = (single_test("bw-rd", **one).entries[0] for one in ({}, asked))
    told = [identity(one.family, one.name, asdict(one.parameters)) for one in (first, second)]
    assert len(told[0]) == len(NAMED)
    assert (told[0] == told[1]) is same
