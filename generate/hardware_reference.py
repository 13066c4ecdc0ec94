"""The page of hardware (`docs/reference/hardware.md`): profiles of devices against published figures."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pcielab import model, run, single_test
from pcielab._core import FCS_BYTES
from pcielab.library import shipped
from pcielab.library.input_files import read_toml
from pcielab.library.link import Link
from pcielab.model.link import Ethernet

FIGURES = Path(__file__).parent / "hardware_figures.toml"
HOST = "gen5-x16"
"""The system that copies are simulated on, with the link and the DMA port of the profile."""
_LARGE_BYTES = 1 << 20
_COLUMNS = (
    *("profile", "measured on", "quantity", "link", "measured", "bound", "below", "binds"),
    *("simulated", "source", "reason"),
)
_TESTS = {"to-device": "bw-rd", "to-host": "bw-wr", "both": "bw-rdwr"}

_INTRODUCTION = """\
# Hardware

<!-- Written by `make generate`: change profiles/nics, profiles/engines and generate/hardware_figures.toml. -->

Profiles of devices that people own, and how far published measurements lie below their bounds. A bound is the
rate that the accesses of the device allow on its link: a measurement above one would refute the profile. A
measurement below it was limited by something else: software, flash, host, other link settings.

```sh
pcielab model nic connectx-6+mprq+cqe-compression --gen 4 --lanes 16 --line 100 --sizes 64,256,1500
pcielab model engine gpu-h100 nvme-gen4 --sizes 4K,128K,1M
pcielab run --profile gen5-x16 --set device=gpu-h100 --test bw-rd --size 4K -o copies.db
```

`pcielab profiles show NAME` prints every value with its source; values that no source gives are marked as assumed.
"""
_NICS = """\
## NICs

`NAME+FEATURE` turns a feature on, `NAME+FEATURE+FEATURE` two. If two features change a key of one step, the later
one determines it.

| NIC | other names | feature | what it does | source |
|---|---|---|---|---|
"""
_ENGINES = """\
## Drives, GPUs, FPGAs

An engine works on commands: doorbell, descriptors, data, completion. `pcielab model engine` gives its rate: the
least of what the link, the commands in flight, the engine's command rate and the device allow.

| engine | title | usual link | commands in flight | a command without its data | simulated as a device |
|---|---|---|---|---|---|
"""
_COMPARED = f"""\
## Against published figures

* **bound**: the closed form of the profile with this link, size and depth.
* **below**: how far the measurement lies below it.
* **simulated**: large copies by the device profile of that name, with this link, on the assumed host of `{HOST}`.
* Rows marked *input* gave the profile a value: they are no check of it.
* A row more than 10 % below its bound gives the reason, as far as the source tells it.

MPS, MRRS and host are those of the profile where a source does not state them, which is nearly always.
"""


class Figure(BaseModel):
    """A published figure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str
    device: str
    quantity: str
    value: float
    unit: Literal["GB/s", "M/s", "Gb/s", "ns"]
    role: Literal["check", "input"]
    key: str | None = None
    """Of an input: the key of `pace` that it gave."""
    source: str
    address: str | None = None
    way: Literal["to-device", "to-host", "both", "tx", "rx"] | None = None
    """Direction, in the words of the profile."""
    size_bytes: int | None = None
    depth: int | None = None
    link: dict[str, int] = {}
    line_gbps: float | None = None
    """The Ethernet line of a NIC, whose `size_bytes` is the frame with its FCS."""
    payload_bytes: int | None = None
    """Data of each frame that the measurement counts."""
    reason: str = ""
    """Why the measurement is far below the bound, as far as the source tells."""


@dataclass(frozen=True)
class Prediction:
    """What a profile allows."""

    bound: float
    binds: str
    simulated: float | None = None


def figures() -> list[Figure]:
    """Every published figure."""
    return [Figure.model_validate(one) for one in read_toml(FIGURES)["figure"]]


def predicted(figure: Figure) -> Prediction:
    """The bound of a figure to check, in its unit, and the simulated rate where there is one."""
    return _of_nic(figure) if figure.line_gbps is not None else _of_engine(figure)


def _of_nic(figure: Figure) -> Prediction:
    assert figure.size_bytes is not None
    assert figure.line_gbps is not None
    assert figure.way is not None
    line = Ethernet(line_gbps=figure.line_gbps)
    keys: dict[str, Any] = {**figure.link}
    [row] = model.nic(model.load_nic(figure.profile), Link(**keys), [figure.size_bytes], ethernet=line)
    answer = {"tx": row.tx, "rx": row.rx, "both": row.bi}[figure.way]
    assert answer is not None
    gbps, binds = min((answer.gbps, str(answer.bound)), (row.line_gbps, "line"))
    data_bytes = figure.size_bytes - FCS_BYTES
    if figure.unit == "M/s":
        return Prediction(gbps * 1e3 / 8 / data_bytes, binds)
    return Prediction(gbps * (figure.payload_bytes or data_bytes) / data_bytes, binds)


def _of_engine(figure: Figure) -> Prediction:
    assert figure.size_bytes is not None
    assert figure.way is not None
    profile = model.load_engine(figure.profile)
    changes: dict[str, Any] = {**figure.link}
    link = replace(profile.usual_link, **changes)
    [row] = model.engine(profile, [figure.size_bytes], link=link, depth=figure.depth)
    rate = {"to-device": row.to_device, "to-host": row.to_host, "both": row.both}[figure.way]
    if figure.unit == "M/s":
        return Prediction(rate.million_commands_per_s, rate.bound)
    large = figure.size_bytes >= _LARGE_BYTES and figure.depth is None
    device = figure.profile if large and figure.profile in shipped.profile_files("device") else None
    return Prediction(rate.gbytes_per_s, rate.bound, _simulated(device, link, figure.way) if device else None)


@cache
def _simulated(device: str, link: Link, way: str) -> float:
    """Data of large copies on the assumed host, in GB/s."""
    work = single_test(_TESTS[way], size=4096, window="4M", cache="host-warm")
    keys = ("generation", "lanes", "mps_bytes", "mrrs_bytes")
    sets = [f"device={device}", *(f"link.{key}={getattr(link, key)}" for key in keys)]
    store = run(work, profile=HOST, sets=sets)
    return float(store.frame["bandwidth_gbps"].iloc[0]) / 8


def markdown() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, _nics(), _engines(), _COMPARED, *_compared()])


def _nics() -> str:
    rows = []
    for name in model.shipped_nics():
        nic = model.load_nic(name)
        for switch, one in nic.switch.items():
            limit = f" (frames of at most {one.frame_bytes_most} B)" if one.frame_bytes_most else ""
            rows.append(_row(name, ", ".join(nic.aliases), f"`{switch}`", one.what + limit, one.source))
    return _NICS + "\n".join(rows) + "\n"


def _engines() -> str:
    rows = []
    for name in model.shipped_engines():
        engine = model.load_engine(name)
        link, pace = engine.link, engine.pace
        usual = f"Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS {link.mrrs_bytes}"
        times = f"{pace.command_ns:,.0f} ns"
        if pace.to_device_command_ns is not None:
            times += f", to the device {pace.to_device_command_ns:,.0f} ns"
        device = f"`{name}`" if name in shipped.profile_files("device") else "no"
        depth = f"{engine.queue.depth} (at most {engine.queue.depth_most:,})"
        rows.append(_row(f"`{name}`", engine.title, usual, depth, times, device))
    return _ENGINES + "\n".join(rows) + "\n"


def _compared() -> Iterator[str]:
    yield _row(*_COLUMNS)
    yield "|" + "---|" * len(_COLUMNS)
    for figure in figures():
        source = f"[{figure.source}]({figure.address})" if figure.address else figure.source
        first = (
            figure.profile,
            figure.device,
            figure.quantity,
            _link_of(figure),
            _number(figure.value, figure.unit),
        )
        if figure.role == "input":
            yield _row(*first, f"*input*: `pace.{figure.key}`", "", "", "", source, "")
            continue
        found = predicted(figure)
        simulated = "" if found.simulated is None else _number(found.simulated, figure.unit)
        below = f"{100 * (1 - figure.value / found.bound):.1f} %"
        yield _row(*first, _number(found.bound, figure.unit), below, found.binds, simulated, source, figure.reason)
    yield ""


def _link_of(figure: Figure) -> str:
    if figure.line_gbps is not None:
        link = figure.link
    else:
        link = {**model.load_engine(figure.profile).link.dump(), **figure.link}
    return f"Gen{link['generation']} x{link['lanes']}, MPS {link['mps_bytes']}"


def _number(value: float, unit: str) -> str:
    return (
        f"{value:,.0f} {unit}" if unit == "ns" else f"{value:.3g} {unit}" if value < 1 else f"{value:.2f} {unit}"
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
