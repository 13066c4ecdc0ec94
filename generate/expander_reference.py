"""The page of memory expanders (`docs/reference/expanders.md`): the model against published curves."""

import csv
from dataclasses import dataclass
from functools import cache

from pcielab import model
from pcielab.library import shipped

_LOADS = (0.25, 0.5, 0.75, 0.9)
_PAGE = """\
# CXL expanders

<!-- Written by `make generate`: change profiles/expanders and profiles/published/expander-curves.csv. -->

`pcielab model cxl` computes what memory behind CXL.mem gives; here it is beside published values.

{source}

Of the profile, the times of a bank, the share of the bus and the unevenness of arrivals were fitted, to the mixes
marked so; the rest is predicted. How many headers share a slot is in no public note: small fractions were chosen
that match the peaks of all mixes.

## Peaks

| expander | reads | | published GB/s | modelled GB/s | error | bound |
|---|---|---|---|---|---|---|
{peaks}

## Read latency below the peak

What a read takes longer than alone, at shares of the peak: published, then modelled, ns.

| expander | reads | | 25 % | 50 % | 75 % | 90 % |
|---|---|---|---|---|---|---|
{latencies}
"""


@dataclass(frozen=True, slots=True)
class _Curve:
    expander: str
    percent_reads: int
    fitted: bool
    peak_gbytes_per_s: float
    added_ns: tuple[float, ...]

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
        source=source, peaks="\n".join(map(_peak, curves)), latencies="\n".join(map(_latency, curves))
    )


def _peak(curve: _Curve) -> str:
    modelled, published = curve.modelled.peak_gbytes_per_s, curve.peak_gbytes_per_s
    error = 100 * (modelled / published - 1)
    return f"{curve.head} {published:.2f} | {modelled:.2f} | {error:+.1f} % | {curve.modelled.bound} |"


def _latency(curve: _Curve) -> str:
    alone_ns = model.load_expander(curve.expander).controller.unloaded_ns
    cells = [
        f"{published:.1f} {at.read_latency_ns - alone_ns:.1f}"
        for published, at in zip(curve.added_ns, curve.modelled.loads, strict=True)
    ]
    return f"{curve.head} {' | '.join(cells)} |"


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
        )
        for row in rows
    ]
