"""What a report of perftest holds, in either form: the test of its title, and its results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from pcielab.errors import InputError
from pcielab.formats.importers.tools.writing import MEBIBYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import Direction, MeasuredSetting
from pcielab.wording import shown

RateUnit: TypeAlias = Literal["MB/sec", "Gb/sec"]
"""Units of bandwidths; MB are MiB."""
_TITLE = re.compile(
    r"(RDMA_Write|RDMA_Read|Send)[ _](Bidirectional[ _])?(?:Post[ _]List[ _])?(BW|Latency)[ _]Test", re.ASCII
)
_DIRECTIONS: dict[str, Direction] = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send"}
_FACTORS: dict[RateUnit, Decimal] = {"MB/sec": MEBIBYTES_GBPS, "Gb/sec": Decimal(1)}
_NS = Decimal(1000)
TIMES = {
    "t_min": "minimum",
    "t_max": "maximum",
    "t_typical": "median",
    "t_avg": "average",
    "t_stdev": "deviation",
    "percentile_99": "p99",
    "percentile_99.9": "p999",
}
"""Metric of each time, by its key in JSON. `t_typical` is the median."""
_REMEDY = "give a report of ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat, ib_read_lat or ib_send_lat"


@dataclass(frozen=True)
class Title:
    """The test of a report.

    Attributes:
        name: The program, `ib_write_bw`.
        title: As printed, `RDMA_Write BW Test`.
        direction: Its operation.
        both_ways: Whether both sides send at once; bandwidths are then those of both.
        is_latency: Whether it measures latencies.
    """

    name: str
    title: str
    direction: Direction
    both_ways: bool
    is_latency: bool

    @classmethod
    def of(cls, text: str, where: str) -> "Title":
        """The test of a title.

        Raises:
            InputError: It is of another test.
        """
        found = _TITLE.fullmatch(text.strip())
        if found is None:
            raise InputError(f"{where}: {shown(text.strip())}: not a known test of perftest: {_REMEDY}")
        direction, is_latency = _DIRECTIONS[found[1]], found[3] == "Latency"
        name = f"ib_{direction}_{'lat' if is_latency else 'bw'}"
        return cls(name, found[0].replace("_Test", " Test"), direction, bool(found[2]), is_latency)


@dataclass(frozen=True)
class Result:
    """A line of a report, with the keys of its JSON.

    Attributes:
        values: Its numbers.
        where: Its place, for errors.
    """

    values: Mapping[str, Decimal]
    where: str


def measured(
    title: Title, results: Sequence[Result], unit: RateUnit | None, head: Mapping[str, str], where: str
) -> Measured:
    """The tests of a report.

    Args:
        title: Its test.
        results: Its lines.
        unit: Unit of its bandwidths; None if it does not say.
        head: The words of its head: `device`, `transport`, `tx_depth`, `queues`.
        where: The file, for errors.

    Raises:
        InputError: There are no results, or their numbers contradict one another.
    """
    if not results:
        raise InputError(f"{where}: has no result: give the report of the client, which prints them")
    outstanding, queues = (_count(head, key) for key in ("tx_depth", "queues"))
    tests = []
    for result in results:
        size = result.values["MsgSize"]
        if not 1 <= size < 1 << 40 or size % 1:
            raise InputError(f"{result.where}: a message of {size} bytes: the file is damaged; copy it again")
        setting = MeasuredSetting(
            tool="perftest",
            direction=title.direction,
            beside="opposite" if title.both_ways else None,
            counted="both" if title.both_ways else "one",
            size_bytes=int(size),
            outstanding=outstanding,
            queues=queues,
            transport=head.get("transport"),
        )
        metrics = _times(result) if title.is_latency else _rates(title, result, unit)
        tests.append(Measurement(title.title, title.name, setting, metrics))
    return Measured("perftest", None, tests, head.get("device"))


def _count(head: Mapping[str, str], key: str) -> int | None:
    text = head.get(key, "")
    return int(text) if text.isdecimal() and text.isascii() and 0 < len(text) < 8 else None


def _times(result: Result) -> dict[str, Decimal]:
    """Latencies in ns; the samples are the iterations."""
    values = result.values
    found = {metric: values[key] * _NS for key, metric in TIMES.items() if key in values}
    if not found:
        raise InputError(f"{result.where}: has no times: the file is damaged; copy it again")
    ordered = [values[key] for key in ("t_min", "t_typical", "percentile_99", "percentile_99.9") if key in values]
    if ordered != sorted(ordered) or ("t_max" in values and values["t_max"] < max(ordered)):
        raise InputError(f"{result.where}: its times are not in order: the file is damaged; copy it again")
    if "tps_average" in values:
        found["rate"] = values["tps_average"]
    return found | {"samples": values["n_iterations"]}


def _rates(title: Title, result: Result, unit: RateUnit | None) -> dict[str, Decimal]:
    values = result.values
    if any(key not in values for key in ("BW_average", "BW_peak", "MsgRate")):
        raise InputError(f"{result.where}: has no BW_average, BW_peak and MsgRate: copy the file again")
    fitting = [one for one in _FACTORS if unit in (None, one) and _fits(title, values, one)]
    if len(fitting) != 1:
        problem = (
            f"MsgRate {values['MsgRate']} does not give the unit of BW_average {values['BW_average']}"
            if len(fitting) > 1
            else f"BW_average {values['BW_average']} is not MsgRate {values['MsgRate']} times the message of "
            f"{values['MsgSize']} bytes"
        )
        remedy = "import the text of the report" if len(fitting) > 1 else "the file is damaged; copy it again"
        raise InputError(f"{result.where}: {problem}: {remedy}")
    factor = _FACTORS[fitting[0]]
    # Without `--noPeak`, a peak is at least the average.
    peak = {"bandwidth_peak": values["BW_peak"] * factor} if values["BW_peak"] else {}
    return {
        "bandwidth": values["BW_average"] * factor,
        **peak,
        "rate": values["MsgRate"] * 10**6,
        "transactions": values["n_iterations"],
    }


def _fits(title: Title, values: Mapping[str, Decimal], unit: RateUnit) -> bool:
    """Whether a bandwidth in a unit is the rate of messages times their size, to 1 % and the last digit of each.

    Both directions count as messages, or as two directions of one message.
    """
    bits = 8 * values["MsgSize"] / 1000 / _FACTORS[unit]
    rounded = Decimal("0.01") + Decimal("6e-7") * bits
    expected = [values["MsgRate"] * bits * each for each in ((1, 2) if title.both_ways else (1,))]
    return any(abs(values["BW_average"] - one) <= one / 100 + rounded for one in expected)
