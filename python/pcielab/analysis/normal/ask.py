"""`pcielab.normal`: read the question from words, refuse impossible values, and judge it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from pcielab.analysis.normal.access import judge_access
from pcielab.analysis.normal.answer import Normal
from pcielab.analysis.normal.bound import raw_rate
from pcielab.analysis.normal.judge import judge
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import out_of_range, refusal
from pcielab.kinds.asked_expander import check_name, expander_of, is_expander
from pcielab.kinds.line import Line, read_line
from pcielab.kinds.question import (
    Engine,
    Question,
    kind_of,
    line_of,
    read_carrier,
    read_completion,
    read_engine,
    read_memory_type,
    read_state,
    read_value,
    read_what,
)
from pcielab.library.alike import alike
from pcielab.library.figure_words import ACCESSES
from pcielab.library.published_figures import published_figures
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.store import Store

_MOST_DEPTH = 1 << 20
_PAYLOADS = (128, 256, 512, 1024, 2048, 4096)


@overload
def normal(
    asked: str,
    value: str,
    *,
    link: str | None = None,
    engine: str | None = None,
    size_bytes: int | None = None,
    depth: int | None = None,
    round_trip_ns: float | None = None,
    mps_bytes: int | None = None,
    line_gbps: float | None = None,
    ports: int | None = None,
    protocol: str | None = None,
    mtu_bytes: int | None = None,
    memory: str | None = None,
    state: str | None = None,
    completion: str | None = None,
    memory_type: str | None = None,
    device: str = "",
    cpu: str = "",
    source: str = "",
    read_share: float | None = None,
) -> Normal: ...
@overload
def normal(
    asked: "Store | Path | str",
    value: None = None,
    *,
    tests: Sequence[str] = (),
    link: str | None = None,
    mps_bytes: int | None = None,
    line_gbps: float | None = None,
    ports: int | None = None,
    protocol: str | None = None,
    mtu_bytes: int | None = None,
    memory: str | None = None,
) -> list[Normal]: ...
@refuses_wrong_types
def normal(
    asked: "Store | Path | str",
    value: str | None = None,
    *,
    tests: Sequence[str] = (),
    link: str | None = None,
    engine: str | None = None,
    size_bytes: int | None = None,
    depth: int | None = None,
    round_trip_ns: float | None = None,
    mps_bytes: int | None = None,
    line_gbps: float | None = None,
    ports: int | None = None,
    protocol: str | None = None,
    mtu_bytes: int | None = None,
    memory: str | None = None,
    state: str | None = None,
    completion: str | None = None,
    memory_type: str | None = None,
    device: str = "",
    cpu: str = "",
    source: str = "",
    read_share: float | None = None,
) -> Normal | list[Normal]:
    """Whether one value is normal, or each row of a run.

        print(pcielab.normal("h2d", "54.1GB/s", link="gen5x16", engine="copy"))
        for answer in pcielab.normal("run.db"):
            print(answer.question.name, answer.verdict)

    Args:
        asked: What moves: `h2d`, `d2h`, `both` (the sum), `p2p`, `read` and `write` (as h2d and d2h; by a core
            the other way), `latency`, `interrupt`, `iops`, `store`, `load` or `doorbell`. Without a value,
            a store of transfers or its path.
        value: With its unit: `54.1GB/s`, `860ns`, `1.2M`.
        tests: Of a store, only these: numbers of tests, or parts of their family or name.
        link: `gen5x16`; several side by side: `4x gen3x4`; a tunnel: `tb4`, `usb4`.
        engine: `copy`, `kernel`, `dma` or `core`.
        size_bytes: Bytes of a transfer.
        depth: Transfers in flight.
        round_trip_ns: Time that one is in flight.
        mps_bytes: Maximum payload size.
        line_gbps: Line rate of a port of a NIC [default: the one in `device`].
        ports: Ports of the NIC that carry the value together [default: 1].
        protocol: Protocol of the line: `ethernet`, `udp`, `tcp`, `roce`, `roce-v1` or `infiniband`.
        mtu_bytes: Its MTU: of RDMA the payload of a packet, otherwise what an IP packet may have.
        memory: Where the data of a NIC or drive lie: `host`, `gpu` or `storage` [default: host].
        state: A condition of `STATES`.
        completion: `polled` or `interrupt`: how the processor learns of completions.
        memory_type: `uc` or `wc`, of `store`, `load` and `doorbell`: the type of the core's mapping.
        device: Name of the device.
        cpu: Name of the processor.
        source: Key of the source that published the value: it is not compared with its own figures.
        read_share: Of a memory expander, share of the lines that are read [default: by `asked`; of `both`, half].

    Raises:
        InputError: A value is impossible, or its unit does not fit.
    """
    if value is None or not isinstance(asked, str):
        _check(None, None, None, mps_bytes, line_gbps)
        return _of_store(asked, tests, link, mps_bytes, read_line(line_gbps, ports, protocol, mtu_bytes, memory))
    by = read_engine("core" if asked.strip().lower() in ACCESSES else engine)
    check_name(device)
    by = _of_core(by) if is_expander(device) else by
    moved = read_what(asked, by)
    _check(size_bytes, depth, round_trip_ns, mps_bytes, line_gbps)
    line = read_line(
        line_of(device) if line_gbps is None and kind_of(device, by) == "nic" else line_gbps,
        ports,
        protocol,
        mtu_bytes,
        memory,
    )
    question = Question(
        what=moved,
        value=read_value(value, moved),
        width=None if link is None else read_carrier(link, "--link"),
        engine=by,
        kind=kind_of(device, by),
        size_bytes=size_bytes,
        depth=depth,
        round_trip_ns=round_trip_ns,
        mps_bytes=mps_bytes,
        line_gbps=line.line_gbps,
        ports=line.ports or 1,
        protocol=line.protocol,
        mtu_bytes=line.mtu_bytes,
        memory=line.memory or "host",
        state=read_state(state),
        completion=read_completion(completion),
        memory_type=read_memory_type(memory_type),
        device=device,
        cpu=cpu,
        source_key=_known_source(source),
    )
    question = _with_expander(question, read_share)
    _check_line(question)
    if memory_type is not None and moved not in ACCESSES:
        raise refusal("conflict", f"--memory-type: {moved} has none: leave it out, or give {', '.join(ACCESSES)}")
    if moved in ACCESSES:
        return judge_access(question)
    if moved == "iops" and size_bytes is None:
        raise refusal("missing", "--what iops: no size: give --size, the bytes of a command")
    raw = raw_rate(question)
    if raw is not None and question.value.plain > raw:
        both = "both ways together" if moved == "both" else "of one direction"
        remedy = "check unit and link" if moved == "both" else "check unit and link, or give --what both for a sum"
        raise refusal(
            "wrong-value",
            f"--value {value}: above the raw rate of {question.width}, {question.value.text(raw)} {both}: "
            f"{remedy}",
        )
    return judge(question)


def _of_core(engine: Engine | None) -> Engine:
    """The engine that reaches memory behind CXL.mem: a core."""
    if engine not in (None, "core"):
        raise refusal(
            "conflict",
            f"--engine {engine}: cores read and write memory behind CXL: give --engine core, or leave it out",
        )
    return "core"


def _with_expander(question: Question, read_share: float | None) -> Question:
    """The question with the expander whose bounds apply, and the mix of reads and writes."""
    if question.kind != "expander":
        if read_share is not None:
            raise refusal(
                "conflict", "--reads: is the mix of a CXL memory expander: give its --device, or leave it out"
            )
        return question
    if question.what not in ("d2h", "h2d", "both", "latency"):
        raise refusal(
            "unsupported", f"--what {question.what}: an expander has none: give read, write, both or latency"
        )
    alone = {"d2h": 1.0, "h2d": 0.0}.get(question.what)
    if read_share is not None and alone is not None and read_share != alone:
        word = "read" if alone else "write"
        raise refusal(
            "conflict", f"--reads {read_share:g}: --what {word} is without a mix: give --what both for the sum"
        )
    if read_share is not None and not 0 <= read_share <= 1:
        raise out_of_range("--reads", read_share, "a share of 0 to 1")
    return replace(question, read_share=read_share, expander=expander_of(question.device, question.width))


def _known_source(key: str) -> str:
    keys = {figure.source_key for figure in published_figures().values()}
    if key and key not in keys:
        near = alike(key, keys)
        hint = f"did you mean {near[0]}?" if near else "docs/reference/published-figures.md lists them"
        raise refusal("not-found", f"--source {shown(key)}: no published figure is of this source: {hint}")
    return key


def _of_store(
    asked: "Store | Path | str",
    tests: Sequence[str],
    link: str | None,
    mps_bytes: int | None,
    line: Line,
) -> list[Normal]:
    from pcielab.analysis.normal.rows import judge_run
    from pcielab.store import Store, open_store

    store = asked if isinstance(asked, Store) else open_store(asked)
    return judge_run(store, tests, line, link=link, mps_bytes=mps_bytes)


def _check_line(question: Question) -> None:
    """Refuse facts of a line where the device has none."""
    if question.protocol is not None and question.line_gbps is None:
        raise refusal(
            "missing",
            "--protocol: needs the rate of the line: give --line, or the rate in --device 'ConnectX-6 200G'",
        )
    if question.memory != "host" and (question.engine not in (None, "dma") or question.kind == "gpu"):
        raise refusal(
            "conflict",
            f"--memory {question.memory}: says where the data of a NIC or drive lie: give --engine dma and its "
            "--device, or --what p2p for copies between GPUs",
        )


def _check(
    size_bytes: int | None,
    depth: int | None,
    round_trip_ns: float | None,
    mps_bytes: int | None,
    line_gbps: float | None,
) -> None:
    if size_bytes is not None and size_bytes < 1:
        raise out_of_range("--size", size_bytes, "1 byte or more")
    if depth is not None and not 1 <= depth <= _MOST_DEPTH:
        raise out_of_range("--depth", depth, f"1 to {_MOST_DEPTH} transfers in flight")
    if round_trip_ns is not None and not 1 <= round_trip_ns <= 1e9:
        raise out_of_range("--rtt-ns", round_trip_ns, "1 ns to 1 s")
    if mps_bytes is not None and mps_bytes not in _PAYLOADS:
        raise out_of_range("--mps", mps_bytes, f"one of {', '.join(map(str, _PAYLOADS))}")
    if line_gbps is not None and not 0.01 <= line_gbps <= 10_000:
        raise out_of_range("--line", line_gbps, "0.01 to 10000 Gb/s")
