"""JSON has no NaN and no infinities, at any depth."""

import json

from pcielab.strict_json import strict_json


def _refuse(word: str) -> float:
    raise AssertionError(word)


def test_numbers_that_are_none_become_null() -> None:
    value = {"a": float("nan"), "b": [1.5, float("inf"), {"c": (float("-inf"), None, True, "inf")}], "d": 1e308}
    text = strict_json(value, separators=(",", ":"))
    assert text == '{"a":null,"b":[1.5,null,{"c":[null,null,true,"inf"]}],"d":1e+308}'
    assert json.loads(text, parse_constant=_refuse)["d"] == 1e308
    assert strict_json([0.1, 3], indent=1) == json.dumps([0.1, 3], indent=1)
