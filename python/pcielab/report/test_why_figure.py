"""The picture of an answer of `why`: bars, or two runs over size."""

from dataclasses import replace
from typing import Any

import pytest

import pcielab
from pcielab.analysis.why import Why
from pcielab.report.drawing import vega_lite
from pcielab.report.figures.why import draw_why


@pytest.fixture(scope="module")
def two() -> Why:
    """Two runs of reads and writes of several sizes, whose systems differ in one value."""
    suite = pcielab.load_suite("quick").only(["bw_dma_sz_sweep"])
    tags = pcielab.load_system("hsw2620").with_(link_tags=256)
    return pcielab.why(*(pcielab.simulate(system, suite) for system in ("hsw2620", tags)))


def texts(answer: Why) -> str:
    return str(vega_lite(draw_why(answer)))


def test_two_runs_are_drawn_over_size_with_their_bounds_under_the_sentences(two: Why) -> None:
    drawn = texts(two)
    assert "size (bytes)" in drawn
    assert "'bound'" in drawn
    assert two.sentences[0][:40] in drawn
    assert "with a change, computed" not in drawn


def test_two_runs_of_one_size_are_bars_named_a_and_b(two: Why) -> None:
    assert two.contrast is not None
    [*_, row] = two.contrast.moved
    drawn = texts(replace(two, contrast=replace(two.contrast, rows=[row])))
    assert "'domain': ['A', 'B']" in drawn


def test_bars_of_two_runs_leave_out_tests_that_do_not_change(two: Why) -> None:
    shown: dict[str, Any] = {bar.name: bar.value for bar in two.bars}
    assert {bar.role for bar in two.bars} == {"a", "b"}
    assert all("reads of" in name and "with writes" not in name for name in shown)
