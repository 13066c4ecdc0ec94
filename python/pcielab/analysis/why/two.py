"""Why two runs differ: the sentence of `explain A B`, how sure it is, and the test that moves most.

Stands alone: no other question compares two stores.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from pcielab import _core
from pcielab.analysis.explain.contrast import contrast
from pcielab.analysis.explain.sentences import differences
from pcielab.analysis.why.answer import Why, read_answer
from pcielab.analysis.why.predicted import no_progress
from pcielab.store import Store
from pcielab.work.effort import Progress


def why_two(a: Store, b: Store, tests: Sequence[str] = (), progress: Progress = no_progress) -> Why:
    """Why the tests of two runs of one kind differ.

    Args:
        a: The first run.
        b: The second.
        tests: Only these tests of the first. Empty: those that differ most.
        progress: Called while tests are simulated.

    Raises:
        InputError: The runs are of different kinds, or no test is common to both.
    """
    found = contrast(a, b, tests, progress)
    first, second = ({"title": store.title, "file": store.path.name, "origin": store.origin} for store in (a, b))
    asked = {"a": first, "b": second, "differences": differences(found), "notes": found.notes}
    return replace(read_answer(_core.why_two(json.dumps(asked))), contrast=found)
