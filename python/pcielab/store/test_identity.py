"""Two tests are the same if all parameters that affect the result are equal."""

from dataclasses import asdict
from typing import Any

import pytest

from pcielab import single_test
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.store.identity import NAMED, SETTING, identity


def test_a_setting_is_every_parameter_but_the_length() -> None:
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
def test_parameters_identify_a_test(asked: dict[str, Any], same: bool) -> None:
    first, second = (single_test("bw-rd", **one).entries[0] for one in ({}, asked))
    identities = [identity(one.family, one.name, asdict(one.parameters)) for one in (first, second)]
    assert len(identities[0]) == len(NAMED)
    assert (identities[0] == identities[1]) is same
