"""The keys of a system that each bound is made of, and which of them are borrowed from another machine."""

import json
from collections.abc import Iterable, Mapping

from pcielab import _core

KEYS_OF_BOUNDS: Mapping[str, list[str]] = json.loads(_core.keys_of_bounds())
"""Keys of each bound; bounds of messages have none, which a core's profile gives."""


def borrowed_sentences(bounds: Iterable[str | None], borrowed: Mapping[str, str]) -> list[str]:
    """For each bound, one sentence on the borrowed keys that it is made of.

    Args:
        bounds: Bounds that bind; each counts once, and those without keys of a system not at all.
        borrowed: The borrowed keys of the system, and the profile that each comes from; empty: no sentences.
    """
    return _core.borrowed_sentences([bound for bound in bounds if bound], json.dumps(dict(borrowed)))
