"""The page of memory expanders (`docs/reference/expanders.md`): the model against published curves."""

import csv
from dataclasses import dataclass
from functools import cache
from typing import Any

from pcielab import MemoryLines, model, run
from pcielab.kinds.memory.rows import rows_of
from pcielab.library import shipped

_LOADS = (0.25, 0.5, 0.75, 0.9)
_PAGE = """\
# CXL expanders

<!-- Written by `make generate`: change profiles/expanders and profiles/published/expander-curves.csv. -->

`pcielab model cxl` computes what memory behind CXL.mem gives, and `pcielab run --test mem-rd` simulates it; here
both are beside published values.

{source}

Of the profile, the times of a bank, the share of the bus and the unevenness of arrivals were fitted, to the mixes
marked so; the rest is predicted. How many headers share a slot is in no public note: small fractions were chosen
that match the peaks of all mixes.

## Peaks

| expander | reads | | published GB/s | modelled GB/s | error | simulated GB/s | error | bound |
|---|---|---|---|---|---|---|---|---|
{peaks}

## Read latency below the peak

What a read takes longer than alone, at shares of the peak: published, modelled, simulated, ns. A read alone takes
{alone} ns in the profile and {simulated_alone} ns simulated, where it waits for the flits of both directions.

| expander | reads | | 25 % | 50 % | 75 % | 90 % |
|---|---|---|---|---|---|---|
{latencies}

## Saturated

The time of a read where cores always want another line, ns. Nothing was fitted to it: 16 cores with 16 fill
buffers each have 256 lines in flight. Where the way to memory is full, writes wait there and reads pass them.
Where the way back or the bus is full, reads wait in the expander.

| expander | reads | | published | simulated |
|---|---|---|---|---|
{full}
"""


@dataclass(frozen=True, slots=True)
class _Curve:
    expander: str
    percent_reads: int
    fitted: bool
    peak_gbytes_per_s: float
    added_ns: tuple[float, ...]
    full_ns: float

    @property
    def simulated(self) -> list[dict[str, Any]]:
        """The simulated tests: a read alone, the loads, and the saturated state."""
        return _simulated(self.expander, self.percent_reads)

    @property
    def head(self) -> str:
        return f"| `{self.expander}` | {self.percent_reads} % | {'fitted' if self.fitted else 'predicted'} |"

    @property
    def modelled(self) -> model.ExpanderRates:
        profile = model.load_expander(self.expander)
        [rates] = model.expander(profile, [self.percent_reads / 100], loads=_LOADS)
        return rates


def markdown() -> str:
    """The whole page."""
    source, curves = _published()
    return _PAGE.format(
        source=source,
        peaks="\n".join(map(_peak, curves)),
        latencies="\n".join(map(_latency, curves)),
        full="\n".join(map(_full, curves)),
        alone=f"{model.load_expander(curves[0].expander).controller.unloaded_ns:.1f}",
        simulated_alone=f"{_simulated(curves[0].expander, 100)[0]['average']:.1f}",
    )


def _peak(curve: _Curve) -> str:
    modelled, published = curve.modelled.peak_gbytes_per_s, curve.peak_gbytes_per_s
    error = 100 * (modelled / published - 1)
    simulated = curve.simulated[-1]["bandwidth"] / 8
    off = 100 * (simulated / published - 1)
    values = f"{published:.2f} | {modelled:.2f} | {error:+.1f} % | {simulated:.2f} | {off:+.1f} %"
    return f"{curve.head} {values} | {curve.modelled.bound} |"


def _latency(curve: _Curve) -> str:
    alone_ns = model.load_expander(curve.expander).controller.unloaded_ns
    cells = [
        f"{published:.1f} {at.read_latency_ns - alone_ns:.1f} {test['average'] - alone_ns:.1f}"
        for published, at, test in zip(curve.added_ns, curve.modelled.loads, curve.simulated[1:-1], strict=True)
    ]
    return f"{curve.head} {' | '.join(cells)} |"


def _full(curve: _Curve) -> str:
    return f"{curve.head} {curve.full_ns:.0f} | {curve.simulated[-1]['average']:.0f} |"


@cache
def _simulated(expander: str, percent_reads: int) -> list[dict[str, Any]]:
    lines = MemoryLines(read_share=percent_reads / 100, loads=(0.0, *_LOADS, 1.0))
    return list(rows_of(run(lines, profile=expander)))


@cache
def _published() -> tuple[str, list[_Curve]]:
    """The source in words, and the curves."""
    path = shipped.directory("profiles") / "published" / "expander-curves.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    head = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return head, [
        _Curve(
            row["expander"],
            int(row["percent_reads"]),
            row["fitted"] == "yes",
            float(row["peak_gbytes_per_s"]),
            tuple(float(row[f"added_at_{round(100 * load)}_percent_ns"]) for load in _LOADS),
            float(row["full_ns"]),
        )
        for row in rows
    ]
