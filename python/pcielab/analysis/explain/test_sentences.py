"""What two runs' differences change, in sentences: from which size on, by how much, and what stays."""

import pytest

from pcielab.analysis.compare import Difference
from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.analysis.explain.sentences import sentences
from pcielab.kinds.transfers.compare import sort

TAGS = (Difference("link.tags", 32, 256),)
IOMMU = (Difference("iommu", "off", "four-kib-pages"),)


def moved(operation: str, size: int, *effects: float, change: float | None = None, unit: str = "Gb/s") -> Moved:
    whole = effects[0] if change is None else change
    parameters = {"operation": operation, "size_bytes": size}
    return Moved(0, "T", parameters, sort(parameters, unit == "ns"), unit, 100.0, 100.0 + whole, effects)


def one_change(*rows: Moved) -> str:
    [sentence] = sentences(Contrast([TAGS], list(rows), []))
    return sentence


def test_sizes_up_to_one_change_and_the_rest_does_not() -> None:
    reads = [moved("bw-rd", size, gain) for size, gain in ((64, 365.0), (256, 8.04), (320, 0.4), (2048, 0.0))]
    assert one_change(*reads, moved("bw-wr", 64, 0.2)) == (
        "link.tags 32 -> 256: reads up to 256 B gain 8 to 365 %, from 320 B nothing; writes nothing"
    )


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ({64: 5.0, 128: 20.0}, "reads gain 5 to 20 %"),
        ({64: 5.0, 128: 5.0}, "reads gain 5 %"),
        ({64: -2.5, 128: -20.0}, "reads lose 2.5 to 20 %"),
        ({64: -2.0, 128: 30.0}, "reads change by -2 to +30 %"),
        ({64: 0.0, 128: 0.0, 4096: 3.0}, "reads of 4 KiB gain 3 %, up to 128 B nothing"),
        ({64: 0.0, 1024: 3.0, 4096: 3.0}, "reads from 1 KiB gain 3 %, up to 64 B nothing"),
        ({64: 3.0, 1024: 0.0, 4096: 0.0}, "reads of 64 B gain 3 %, from 1 KiB nothing"),
        ({64: 0.0, 128: 3.0, 256: 0.0}, "reads of 128 B gain 3 %, other sizes nothing"),
    ],
)
def test_the_sizes_and_the_effects_are_in_words(gains: dict[int, float], said: str) -> None:
    rows = [moved("bw-rd", size, gain) for size, gain in gains.items()]
    assert one_change(*rows) == f"link.tags 32 -> 256: {said}"


def test_some_tests_of_a_size_may_not_change() -> None:
    rows = [moved("bw-rd", 64, 40.0), moved("bw-rd", 64, 0.0), moved("bw-rd", 128, 0.0)]
    assert one_change(*rows).endswith("reads of 64 B gain 40 % in 1 of 2 tests, from 128 B nothing")


def test_latencies_rise_and_fall() -> None:
    assert one_change(moved("lat-rd", 64, 12.0, unit="ns")).endswith("latencies rise by 12 %")
    assert one_change(moved("lat-rd", 64, -12.0, unit="ns")).endswith("latencies fall by 12 %")


def test_nothing_changes() -> None:
    same = one_change(moved("bw-rd", 64, 0.9), moved("bw-wr", 64, -0.9))
    assert same == "link.tags 32 -> 256: none of 2 tests changes by 1 % or more"
    alone = one_change(moved("bw-rd", 64, 0.9))
    assert alone == "link.tags 32 -> 256: the only test changes by less than 1 %"


def test_several_changes_are_shown_together_then_alone() -> None:
    rows = [moved("bw-rd", 64, 50.0, -10.0, change=35.0)]
    assert sentences(Contrast([TAGS, IOMMU], rows, [])) == [
        "link.tags 32 -> 256, iommu off -> four-kib-pages, together: reads gain 35 %",
        "link.tags 32 -> 256 alone: reads gain 50 %",
        "iommu off -> four-kib-pages alone: reads lose 10 %",
    ]


def test_of_many_changes_the_largest_is_named() -> None:
    changes: list[tuple[Difference, ...]] = [(Difference(f"host.key{nth}", 0, 1),) for nth in range(5)]
    rows = [moved("bw-rd", 64, 0.0, 3.0, -20.0, 0.5, 2.0, change=-15.0)]
    assert sentences(Contrast(changes, rows, [])) == [
        "host.key2 0 -> 1 and 4 more values: reads lose 15 %",
        "host.key2 0 -> 1 alone: reads lose 20 %",
        "host.key1 0 -> 1 alone: reads gain 3 %",
        "host.key4 0 -> 1 alone: reads gain 2 %",
        "2 other changes alone: nothing",
    ]


def test_runs_without_profiles_have_no_differences() -> None:
    found = Contrast([], [moved("bw-rd", 64, change=20.0)], [], simulated=False)
    assert sentences(found) == ["B against A: reads gain 20 %"]
