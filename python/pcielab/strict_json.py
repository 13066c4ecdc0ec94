"""JSON that every reader accepts: NaN and infinities, which JSON does not have, are null."""

import json
import math
from typing import Any


def known(value: Any) -> Any:
    """The value with None for each number, at any depth, that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: known(one) for key, one in value.items()}
    return [known(one) for one in value] if isinstance(value, list | tuple) else value


def strict_json(value: Any, **options: Any) -> str:
    """`json.dumps` with these options, always valid."""
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:  # a number that is not finite, which is rare, so that the others are not looked for
        return json.dumps(known(value), allow_nan=False, **options)
