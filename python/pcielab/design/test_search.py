"""Searches find what full enumeration finds, with few simulations; killed ones find it again."""

import json
from pathlib import Path

import numpy as np
import pytest

from pcielab import InputError
from pcielab.design import design, load_problem
from pcielab.design.knowledge import Knowledge
from pcielab.design.measuring import Measuring
from pcielab.design.problem import Problem
from pcielab.design.search import Search
from pcielab.sweeps.journal import NAME

SPEC = """\
name = "reads"
title = "Reads through an IOMMU"
hosts = ["snb-iommu"]
set = { device = "fpga-xdma" }

[[free]]
key = "device.dma.tags"
values = "4:16:2"
cost = 1

[[free]]
key = "link.mrrs_bytes"
values = [512, 128, 256]
cost = [3, 0, 1]

[[target]]
test = "bw-rd"
size = 512
with = { window = "4M", transactions = 20000 }
at_least_gbps = 27

[[target]]
test = "lat-rd"
size = 64
at_most_median_ns = 600
"""


def problem(folder: Path, text: str = SPEC) -> Problem:
    spec = folder / "design.toml"
    spec.write_text(text)
    return load_problem(spec)


def enumerated(of: Problem, measuring: Measuring) -> tuple[int, ...] | None:
    """The cheapest combination that meets all targets, by asking for every one."""
    costs = of.space.costs()
    for flat in np.argsort(costs.ravel(), kind="stable"):
        point = tuple(int(index) for index in np.unravel_index(flat, of.space.shape))
        found = measuring.measure(of, [(point, pair) for pair in of.pairs], lambda _: 1.0)
        if all(one.score >= 1 for one in found):
            return point
    return None


@pytest.mark.parametrize("limit", [15, 27, 100])
def test_a_search_finds_what_enumeration_finds(tmp_path: Path, limit: int) -> None:
    of = problem(tmp_path, SPEC.replace("= 27", f"= {limit}"))
    with Measuring() as measuring:
        found = Search(Knowledge(of), measuring).cheapest([1.0, 1.0])
        assert measuring.simulated <= of.space.count * len(of.pairs) / 3
        assert found.point == enumerated(of, measuring)
    assert found.cheaper == found.by_bounds + found.by_simulation + found.by_direction
    assert (found.point is None) == (limit == 100)


def test_the_closed_form_decides_alone(tmp_path: Path) -> None:
    text = SPEC.replace('name = "reads"', 'name = "reads"\ndecide = "closed-form"').split("[[target]]")
    of = problem(tmp_path, "[[target]]".join(text[:2]))
    answer = design(of, corners=False)
    assert answer.origin == "modelled"
    with Measuring() as measuring:
        point = enumerated(of, measuring)
    assert point is not None
    assert answer.design == of.space.named(point)


def test_a_killed_search_gives_the_same_answer(tmp_path: Path) -> None:
    of, folder = problem(tmp_path), tmp_path / "out"
    whole = design(of, output=folder, front=False, corners=False).to_dict()
    journal = folder / NAME
    kept = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(kept[: len(kept) // 2]) + kept[-1][:20])
    again = design(of, output=folder, front=False, corners=False).to_dict()
    assert again["counts"].pop("reused") == len(kept) // 2
    assert whole["counts"].pop("reused") == 0
    assert json.dumps(again) == json.dumps(whole)


def test_values_are_ordered_by_the_direction_of_their_key(tmp_path: Path) -> None:
    of = problem(
        tmp_path,
        SPEC.replace('"link.mrrs_bytes"\nvalues = [512, 128, 256]', '"link.generation"\nvalues = [3, 1, 2]'),
    )
    assert of.space.axes[1].values == (1, 2, 3)
    assert of.space.axes[1].costs == (0.0, 1.0, 3.0)
    less = SPEC.replace(
        '"link.mrrs_bytes"\nvalues = [512, 128, 256]', '"host.memory.miss_ns"\nvalues = [60, 90, 70]'
    )
    assert problem(tmp_path, less).space.axes[1].values == (90, 70, 60)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("device.dma.tags", "device.dma.tagz", "tagz"),
        ("cost = 1\n", "cost = [1]\n", "free.0.cost: 1 costs for 7 values: give one each"),
        ("[512, 128, 256]", "[]", "free.1.values: an empty list: give the values to choose from"),
        ("[512, 128, 256]", "[512, 512, 256]", "a value is there twice: give it once"),
        ("[512, 128, 256]", "[512, 128, 200]", "mrrs_bytes is 200"),
        ("at_least_gbps = 27", "at_least_gbps = 27\nat_least_mpps = 1", "give one limit"),
        ('test = "lat-rd"', 'test = "lat-r"', "lat-r: unknown"),
        ('test = "lat-rd"', "frame = 64", "target.1: is of frames: name nic above the tables"),
        ('hosts = ["snb-iommu"]', 'hosts = ["snb-iomm"]', "snb-iommu"),
        ('hosts = ["snb-iommu"]', 'hosts = ["snb", "snb"]', "hosts: two are called snb"),
        ('"link.mrrs_bytes"', '"device.dma.tags"', "device.dma.tags: is free twice"),
        ('"link.mrrs_bytes"', '"nic.queues.pairs"', "free key nic.queues.pairs: name nic above the tables"),
        ('name = "reads"', 'name = "reads"\ndecide = "closed-form"', "it knows no lat-rd 64 median"),
    ],
)
def test_wrong_designs_are_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in SPEC
    with pytest.raises(InputError, match=r".") as refused:
        design(problem(tmp_path, SPEC.replace(old, new)))
    assert expected in str(refused.value)
    assert refused.value.kind
