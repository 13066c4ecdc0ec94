"""The keys behind bounds: each bound of a system has some, all exist, and borrowed ones are named."""

from typing import get_args

import pytest

from pcielab.library.profiles import resolve
from pcielab.library.profiles.borrowed import borrowed_in_short, borrowed_keys
from pcielab.library.profiles.keys import keys_of
from pcielab.model.answers import Bound
from pcielab.model.bound_keys import KEYS_OF_BOUNDS, borrowed_sentences

OF_MESSAGES = {"store-interval", "core-stores"}


def test_every_bound_of_a_system_has_keys() -> None:
    assert set(get_args(Bound)) - OF_MESSAGES == KEYS_OF_BOUNDS.keys()


def test_every_key_behind_a_bound_exists() -> None:
    loaded = resolve("clx-6234")
    known = {key.key for key in keys_of(loaded.system, loaded.source_of)}
    assert {key for keys in KEYS_OF_BOUNDS.values() for key in keys} <= known


def test_borrowed_keys_are_those_whose_source_says_so() -> None:
    system = resolve("clx-6234")
    borrowed = borrowed_keys(system)
    assert borrowed["host.root_complex.busy_read_ns"] == "gen5-server"
    assert "host.memory.saturated_gbytes_per_s" not in borrowed, "a published row determines it"
    assert "host.iommu.page_life" not in borrowed, "the system has no such key"
    assert borrowed_in_short(borrowed, system.system).startswith(f"{len(borrowed)} of ")


def test_a_changed_key_is_no_longer_borrowed() -> None:
    assert "host.iommu.pending_walks" in borrowed_keys(resolve("icx-6346"))
    assert "host.iommu.pending_walks" not in borrowed_keys(resolve("icx-6346", ["host.iommu.pending_walks=8"]))


@pytest.mark.parametrize("name", ["hsw2620", "gen5-x16"])
def test_a_system_of_its_own_borrows_nothing(name: str) -> None:
    assert borrowed_keys(resolve(name)) == {}


def test_each_bound_is_named_once_with_its_keys() -> None:
    borrowed = borrowed_keys(resolve("icx-6346"))
    found = borrowed_sentences(["translation", "line", None, "translation", "write-pool"], borrowed)
    assert found == [
        "borrowed keys behind translation: host.iommu.pending_walks (from gen5-server)",
        "borrowed keys behind write-pool: host.root_complex.write_ns (from gen5-server)",
    ]
    assert borrowed_sentences(["translation"], {}) == []
