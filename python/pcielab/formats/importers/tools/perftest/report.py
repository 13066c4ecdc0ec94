"""What a report of perftest holds, in either form: the test of its title, and its results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from pcielab.errors import refusal
from pcielab.formats.importers.tools.writing import MEBIBYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import Direction, LinkLayer, MeasuredSetting
from pcielab.wording import shown

RateUnit: TypeAlias = Literal["MB/sec", "Gb/sec"]
"""Units of bandwidths; MB are MiB."""
TITLE = re.compile(
    r"(RDMA_Write|RDMA_Read|Send|Atomic(?:[ _](?:FETCH_AND_ADD|COMPARE_AND_SWAP))?)[ _](Bidirectional[ _])?"
    r"(?:Dual-port[ _])?(?:Post[ _]List[ _])?(BW|Latency)[ _]Test",
    re.ASCII,
)
"""Title of a report."""
_DIRECTIONS: dict[str, Direction] = {
    "RDMA_Write": "write",
    "RDMA_Read": "read",
    "Send": "send",
    "Atomic": "atomic",
}
_FACTORS: dict[RateUnit, Decimal] = {"MB/sec": MEBIBYTES_GBPS, "Gb/sec": Decimal(1)}
_LINK_LAYERS: dict[str, LinkLayer] = {"Ethernet": "ethernet", "IB": "infiniband"}
_NS = Decimal(1000)
PORTS = ("port_1", "port_2")
"""Ports of a report with two, as keys of its results end."""
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
_REMEDY = "give a report of ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw, or of one of their latencies"


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
    direction: Direction | None
    both_ways: bool
    is_latency: bool

    @classmethod
    def of(cls, text: str, where: str) -> "Title":
        """The test of a title.

        Raises:
            InputError: It is of another test.
        """
        found = TITLE.fullmatch(text.strip())
        if found is None:
            raise refusal(
                "unsupported", f"{where}: {shown(text.strip())}: not a known test of perftest: {_REMEDY}"
            )
        direction, is_latency = _DIRECTIONS[re.split("[ _](?=FETCH|COMP)", found[1])[0]], found[3] == "Latency"
        name = f"ib_{direction}_{'lat' if is_latency else 'bw'}"
        return cls(name, found[0].replace("_Test", " Test"), direction, bool(found[2]), is_latency)

    @classmethod
    def unknown(cls, *, is_latency: bool) -> "Title":
        """The test of a table without a title."""
        return cls("perftest", "perftest", None, False, is_latency)


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
        head: The words of its head: `device`, `transport`, `tx_depth`, `queues`, `mtu`, `link_layer`, `memory`.
        where: The file, for errors.

    Raises:
        InputError: There are no results, or their numbers contradict one another.
    """
    if not results:
        raise refusal("missing", f"{where}: has no result: give the report of the client, which prints them")
    outstanding, queues = (_count(head, key) for key in ("tx_depth", "queues"))
    tests = []
    for result in results:
        size = result.values["MsgSize"]
        if not 1 <= size < 1 << 40 or size % 1:
            raise refusal(
                "damaged", f"{result.where}: a message of {size} bytes: the file is damaged; copy it again"
            )
        ports = [port for port in PORTS if f"BW_{port}" in result.values]
        setting = MeasuredSetting(
            tool="perftest",
            direction=title.direction,
            beside="opposite" if title.both_ways else None,
            counted="both" if title.both_ways else "one",
            part="both ports" if ports else None,
            size_bytes=int(size),
            outstanding=outstanding,
            queues=queues,
            transport=head.get("transport"),
            device=head.get("device"),
            link_layer=_LINK_LAYERS.get(head.get("link_layer", "")),
            mtu_bytes=_count(head, "mtu"),
            memory="gpu" if "memory" in head else None,
        )
        metrics = _times(result) if title.is_latency else _rates(title, result, unit)
        tests.append(Measurement(title.title, title.name, setting, metrics))
        for port in ports:
            one = {"BW_average": f"BW_{port}", "MsgRate": f"MsgRate_{port}"}
            of_names = {key: result.values[name] for key, name in one.items() if name in result.values}
            values = {**result.values, **of_names, "BW_peak": Decimal()}
            of_port = replace(
                setting,
                beside="others-opposite" if title.both_ways else "others",
                part=port.replace("_", " "),
            )
            rates = _rates(title, Result(values, result.where), unit)
            rates.pop("transactions")
            tests.append(Measurement(title.title, title.name, of_port, rates))
    return Measured("perftest", None, tests, head.get("device"))


def _count(head: Mapping[str, str], key: str) -> int | None:
    text = head.get(key, "")
    return int(text) if text.isdecimal() and text.isascii() and 0 < len(text) < 8 else None


def _times(result: Result) -> dict[str, Decimal]:
    """Latencies in ns; the samples are the iterations."""
    values = result.values
    found = {metric: values[key] * _NS for key, metric in TIMES.items() if key in values}
    if not found:
        raise refusal("damaged", f"{result.where}: has no times: the file is damaged; copy it again")
    ordered = [values[key] for key in ("t_min", "t_typical", "percentile_99", "percentile_99.9") if key in values]
    if ordered != sorted(ordered) or ("t_max" in values and values["t_max"] < max(ordered)):
        raise refusal("damaged", f"{result.where}: its times are not in order: the file is damaged; copy it again")
    if "tps_average" in values:
        found["rate"] = values["tps_average"]
    return found | {"samples": values["n_iterations"]}


def _rates(title: Title, result: Result, unit: RateUnit | None) -> dict[str, Decimal]:
    values = result.values
    if "BW_average" not in values or (unit is None and "MsgRate" not in values):
        raise refusal("damaged", f"{result.where}: has no BW_average and MsgRate: copy the file again")
    factor = _FACTORS[unit] if unit and "MsgRate" not in values else _FACTORS[_unit(title, result, unit)]
    # Without `--noPeak`, a peak is at least the average.
    peak = {"bandwidth_peak": values["BW_peak"] * factor} if values.get("BW_peak") else {}
    rate = {"rate": values["MsgRate"] * 10**6} if "MsgRate" in values else {}
    return {
        "bandwidth": values["BW_average"] * factor,
        **peak,
        **rate,
        "transactions": values["n_iterations"],
    }


def _unit(title: Title, result: Result, unit: RateUnit | None) -> RateUnit:
    """The unit in which the bandwidth fits the rate of messages.

    Raises:
        InputError: There is none, or there are two.
    """
    values = result.values
    fitting = [one for one in _FACTORS if unit in (None, one) and _fits(title, values, one)]
    if len(fitting) != 1:
        problem = (
            f"MsgRate {values['MsgRate']} does not give the unit of BW_average {values['BW_average']}"
            if len(fitting) > 1
            else f"BW_average {values['BW_average']} is not MsgRate {values['MsgRate']} times the message of "
            f"{values['MsgSize']} bytes"
        )
        remedy = "import the text of the report" if len(fitting) > 1 else "the file is damaged; copy it again"
        raise refusal("damaged", f"{result.where}: {problem}: {remedy}")
    return fitting[0]


def _fits(title: Title, values: Mapping[str, Decimal], unit: RateUnit) -> bool:
    """Whether a bandwidth in a unit is the rate of messages times their size, to 1 % and the last digit of each.

    Both directions count as messages, or as two directions of one message.
    """
    bits = 8 * values["MsgSize"] / 1000 / _FACTORS[unit]
    rounded = Decimal("0.01") + Decimal("6e-7") * bits
    expected = [values["MsgRate"] * bits * each for each in ((1, 2) if title.both_ways else (1,))]
    return any(abs(values["BW_average"] - one) <= one / 100 + rounded for one in expected)
