"""Flows of fabrics as lists and as frames; checked, with defaults and names.

`flow_files` reads CSV and Parquet files. pandas is loaded with the first frame.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pcielab.errors import InputError
from pcielab.library.fabrics.parts import Flow
from pcielab.library.validation import checked
from pcielab.wording import named

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = re.compile(r"[+-]?\d{1,20}", re.ASCII)


def frame_of(flows: Iterable[Flow], where: str) -> "pd.DataFrame":
    """Checked flows as a frame.

    Raises:
        InputError: There are no flows, or two have the same name.
    """
    import pandas as pd

    named_flows = with_names(flows, where)
    frame = pd.DataFrame([flow.model_dump() for flow in named_flows], columns=list(Flow.model_fields))
    return frame.astype({"standalone_gbytes_per_s": "float64"})


def with_names(flows: Iterable[Flow], where: str) -> list[Flow]:
    """Checked flows, the unnamed ones named by their ends.

    Raises:
        InputError: There are no flows, or two have the same name.
    """
    flows = list(flows)
    names = names_of((flow.name, flow.source, flow.destination) for flow in flows)
    found = [
        flow if flow.name else flow.model_copy(update={"name": name})
        for flow, name in zip(flows, names, strict=True)
    ]
    check_names([flow.name for flow in found], where)
    return found


def names_of(flows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Names for flows given as name, source and destination; unnamed ones are numbered between the same nodes."""
    counts: Counter[str] = Counter()
    for name, source, destination in flows:
        if name:
            yield name
            continue
        arrow = f"{source}->{destination}"
        counts[arrow] += 1
        yield arrow if counts[arrow] == 1 else f"{arrow} ({counts[arrow]})"


def flows_of(frame: "pd.DataFrame", where: str) -> list[Flow]:
    """The checked flows of a frame."""
    flows = []
    for number, row in enumerate(frame.to_dict("records"), start=1):
        filled = {str(key): value for key, value in row.items() if not is_empty(value)}
        given = {key: READ[key](value) if key in READ else value for key, value in filled.items()}
        flows.append(checked(Flow, given, f"{where}: flow {number}"))
    return flows


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse repeated names, since results refer to flows by name; and an empty list."""
    if not names:
        raise InputError(f"{where}: has no flows: give at least one")
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if name in seen:
            raise InputError(
                f"{where}: flow {number}: name is {named(name)}: another flow has this name: give unique names"
            )
        seen.add(name)


def is_empty(value: Any) -> bool:
    """Whether a value of a frame or a file stands for an absent key."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _whole(value: Any) -> Any:
    """A whole number, which CSV has as text, and Parquet as a float if the column has empty cells."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _real(value: Any) -> Any:
    """A real number, which CSV has as text, and Parquet may have as an integer."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


READ = {
    "size_bytes": _whole,
    "outstanding": _whole,
    "socket": _whole,
    "queue": _whole,
    "standalone_gbytes_per_s": _real,
}
"""How keys are read that files may have as texts or as floats."""
