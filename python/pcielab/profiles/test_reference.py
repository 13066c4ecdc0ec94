"""The reference that people read is the one that the models give."""

from pathlib import Path

import pytest

from pcielab.profiles.reference import DOCUMENT, markdown

REPOSITORY = Path(__file__).parents[3]


def test_the_reference_is_what_the_models_say() -> None:
    document = REPOSITORY / DOCUMENT
    if not document.exists():
        pytest.skip("not in a checkout of the repository")
    assert document.read_text(encoding="utf-8") == markdown(), "run python -m pcielab.profiles.reference"
