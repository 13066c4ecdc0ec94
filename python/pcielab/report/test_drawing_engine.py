"""A process that may reserve too little memory refuses to draw, where V8 would abort it."""

import resource

import pytest

from pcielab.errors import RunError
from pcielab.report.drawing import NEEDED_BYTES, drawing_engine


def test_a_low_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"low": (4 << 30, -1), "enough": (NEEDED_BYTES, -1), "none": (resource.RLIM_INFINITY, -1)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["low"])
    with pytest.raises(RunError, match=r"memory is short.* is 4\.0 GiB: raise it \(ulimit -v unlimited\)"):
        drawing_engine()
    for name in ("enough", "none"):
        monkeypatch.setattr(resource, "getrlimit", lambda _, name=name: limits[name])
        assert drawing_engine().vegalite_to_svg
