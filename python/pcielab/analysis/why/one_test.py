"""Why one test gives its value on a system: simulated there, or measured on a machine like it."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pcielab import _core
from pcielab.analysis.why.answer import Why, read_answer
from pcielab.analysis.why.predicted import no_progress
from pcielab.library.profiles.parts import System
from pcielab.work.effort import Progress


def why_test(
    system: System,
    title: str,
    parameters: Mapping[str, Any],
    *,
    measured: float | None = None,
    origin: str = "measured",
    unmeasured: Mapping[str, str] = MappingProxyType({}),
    borrowed: Mapping[str, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
    progress: Progress = no_progress,
) -> Why:
    """Why one test gives its value on a system.

    Args:
        system: The system, complete.
        title: Its title.
        parameters: The test's parameters.
        measured: A value to explain: Gb/s, or the average in ns of a test of latency; absent: the simulated one.
        origin: Origin of that value.
        unmeasured: Keys of the system that nobody measured, as `unmeasured_keys` names them.
        borrowed: The borrowed keys of the system, and the profile that each comes from.
        notes: Notes for the answer.
        progress: Called while changes are simulated.

    Raises:
        InputError: The system cannot run the test.
    """
    asked = {
        "title": title,
        "test": dict(parameters),
        "measured": measured,
        "origin": origin,
        "unmeasured": dict(unmeasured),
        "borrowed": dict(borrowed),
        "notes": list(notes),
    }
    return read_answer(_core.why_test(system.handle, json.dumps(asked), progress))
