"""Every bench, in every size."""

from collections.abc import Iterator
from typing import Any

import pytest

from benches import BENCHES, WIDTHS
from simulator import HERE, run_bench


def cases() -> Iterator[Any]:
    """Benches and sizes; those outside ``make test`` are marked as slow."""
    for name, bench in BENCHES.items():
        for number, size in enumerate(bench.sizes):
            marks = () if number < bench.fast else pytest.mark.slow
            yield pytest.param(name, size, marks=marks, id="-".join([name, *(f"{k}{v}" for k, v in size.items())]))


@pytest.mark.long("the first test of a design compiles it")
@pytest.mark.parametrize(("name", "size"), list(cases()))
def test_bench(name: str, size: dict[str, int]) -> None:
    run_bench(BENCHES[name].top, f"test_{name}", size)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
@pytest.mark.parametrize("data_width", WIDTHS)
def test_every_max_read_request_with_seed(data_width: int, seed: int) -> None:
    parameters = {"DATA_WIDTH": data_width, "TAGS": 64}
    run_bench("pcielab_usp", "test_usp", parameters, "every_operation_moves_the_right_bytes", chosen_seed=seed)


def test_table_has_every_bench() -> None:
    found = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py") if "@cocotb" in path.read_text()}
    assert found == {*BENCHES, "root", "contracts"} | {"benches"}
