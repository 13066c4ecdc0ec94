"""Read the JSON of nvbandwidth (`nvbandwidth -j`).

Python alone reads it, by pydantic.
"""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pcielab.errors import refusal
from pcielab.formats.importers.tools.nvbandwidth.tables import (
    Table,
    devices_of,
    measurements,
    version_of,
    without_result,
)
from pcielab.formats.importers.tools.writing import Measured
from pcielab.library.validation import checked
from pcielab.wording import shown

_Number = Annotated[float, Field(ge=0, le=1e12)]
_Cell = Annotated[str, Field(pattern=r"^(N/A|[0-9]{1,15}(\.[0-9]{1,15})?)$")] | _Number | None
_MOST_FACT = 80


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True, populate_by_name=True)


class _Testcase(_Part):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,80}$")]
    status: Literal["Passed", "Waived", "Error"]
    bandwidth_description: Annotated[str, Field(max_length=300)] | None = None
    bandwidth_matrix: list[list[_Cell]] | None = None
    sum: _Number | None = None
    error: str | None = None


class _Run(_Part):
    version: str
    testcases: list[_Testcase]
    devices: list[str] = Field(default=[], alias="GPU Device list")
    cuda_runtime: int | str | None = Field(default=None, alias="CUDA Runtime Version")
    cuda_driver: int | str | None = Field(default=None, alias="CUDA Driver Version")
    driver: str | None = Field(default=None, alias="Driver Version")


class _File(_Part):
    nvbandwidth: _Run


def read_json(content: Any, where: str, size_bytes: int | None) -> Measured:
    """The tests of the JSON of a run; `where` is for errors.

    Raises:
        InputError: It is foreign or damaged.
    """
    run = checked(_File, content, where).nvbandwidth
    version = version_of(run.version, f"{where}: nvbandwidth.version")
    names, addresses = devices_of(run.devices)
    tests = []
    for index, case in enumerate(run.testcases):
        if case.status == "Waived":
            tests.append(without_result(case.name, size_bytes, "not-supported", "waived by nvbandwidth"))
        elif case.status == "Error":
            message = f"nvbandwidth: {shown(case.error or 'no reason given')}"
            tests.append(without_result(case.name, size_bytes, "failed", message))
        else:
            table = _table(case, f"{where}: nvbandwidth.testcases.{index}, {case.name}")
            tests += measurements(case.name, [table], size_bytes, dict(enumerate(names)))
    facts = {key: getattr(run, key) for key in ("cuda_runtime", "cuda_driver", "driver")}
    known = {key: str(value)[:_MOST_FACT] for key, value in facts.items() if value is not None}
    name = names[0] if len(set(names)) == 1 else None
    return Measured("nvbandwidth", version, tests, name, addresses, known, devices=names)


def _table(case: _Testcase, where: str) -> Table:
    """The table of a test that passed."""
    if not case.bandwidth_matrix or not case.bandwidth_matrix[0] or case.bandwidth_description is None:
        raise refusal(
            "damaged", f"{where}: passed, but has no bandwidth_matrix with a description: copy the file again"
        )
    words, bracket, unit = case.bandwidth_description.strip().removesuffix(")").rpartition("(")
    if not bracket or unit not in ("GB/s", "ns"):
        raise refusal(
            "malformed",
            f"{where}: bandwidth_description is {shown(case.bandwidth_description)}: give one that ends with its "
            "unit, (GB/s) or (ns)",
        )
    if len({len(row) for row in case.bandwidth_matrix}) > 1:
        raise refusal("damaged", f"{where}: bandwidth_matrix has rows of different lengths: copy the file again")
    cells = [[_decimal(cell) for cell in row] for row in case.bandwidth_matrix]
    table = Table(words.strip(), unit, cells, _decimal(case.sum))
    if table.total is not None and not table.sums_to(table.total):
        raise refusal(
            "damaged", f"{where}: sum is {case.sum}: bandwidth_matrix has another sum: copy the file again"
        )
    return table


def _decimal(cell: str | float | None) -> Decimal | None:
    try:
        return None if cell in (None, "N/A") else Decimal(str(cell))
    except InvalidOperation:
        return None
