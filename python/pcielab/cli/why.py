"""`pcielab why`: what binds, how sure that is, and what to change, in three sentences, a picture and a table."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab._core import MEASURED_RANGE, read_number
from pcielab.cli.completion import choice, profile_names, set_option
from pcielab.cli.model_options import errors_name_options, link_option
from pcielab.cli.option_groups import GROUP
from pcielab.cli.option_sets import takes_test_options
from pcielab.cli.output import (
    Cell,
    Format,
    FormatOption,
    OverwriteOption,
    Theme,
    ThemeOption,
    picture_option,
    print_data,
    print_rows,
    print_text,
    say,
)
from pcielab.cli.progress import Bar, Limit, announce_many
from pcielab.cli.quantities import named_range
from pcielab.errors import refusal
from pcielab.library.figure_words import INSTRUCTIONS
from pcielab.library.protocols import PROTOCOLS
from pcielab.model.link import Ethernet
from pcielab.strict_json import strict_json
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.analysis.why import Why
    from pcielab.library.link import Link
    from pcielab.work.effort import Progress

_PICTURE_WIDTH = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"
_ROLES = {"value": "", "bound": "bound", "cause": "defect", "change": "change", "a": "A", "b": "B"}


_USUAL = "with --nic, usual for its line"
_MEMORY_TEST = "mem-rd"


@takes_test_options
def why(
    asked: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|FABRIC]",
            help="A store; or a fabric, by name or .toml file. Without it, ask about --test or --nic.",
            show_default=False,
        ),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN_B]", help="A second simulated run: why the two differ.", show_default=False),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="TEXT|N|TEST",
            help="With RUN: only tests whose family or name contains TEXT, or test number N; repeatable. Without: "
            "one test, as for `run`, like bw-rd, or mem-rd.",
        ),
    ] = None,
    nic: Annotated[
        str | None,
        typer.Option(
            "--nic", metavar="NAME|FILE", help="Ask about this NIC.", autocompletion=profile_names("nic")
        ),
    ] = None,
    frame: Annotated[
        int | None,
        typer.Option(
            "--frame", help="With --nic: frame size in bytes, FCS included [default: 64].", show_default=False
        ),
    ] = None,
    line: Annotated[
        float | None,
        typer.Option(
            "--line",
            help=f"With --nic: line rate in Gb/s [default: {Ethernet.line_gbps:g}]. "
            "With RUN of perftest: rate of a port.",
            show_default=False,
        ),
    ] = None,
    ports: Annotated[
        int | None,
        typer.Option("--ports", help="With RUN of perftest: ports that carry the value.", show_default=False),
    ] = None,
    protocol: Annotated[
        str | None,
        choice(
            "--protocol",
            tuple(PROTOCOLS),
            "With RUN of perftest: protocol of the line [default: RoCE or InfiniBand, as the report says]",
        ),
    ] = None,
    mtu: Annotated[
        int | None,
        typer.Option(
            "--mtu", help="With --protocol: its MTU in bytes [default: the report's].", show_default=False
        ),
    ] = None,
    direction: Annotated[
        str | None,
        choice(
            "--direction", ("both", "tx", "rx"), "With --nic: send, receive, or both [default: what the NIC has]"
        ),
    ] = None,
    mmio: Annotated[
        str | None,
        choice("--mmio", tuple(INSTRUCTIONS), "Ask about loads or stores of a core; with --size, --gen, --lanes"),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option("--cpu", metavar="TEXT", help="With --mmio: the processor.", show_default=False),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="TEXT", help="With --mmio: the device.", show_default=False),
    ] = None,
    gen: Annotated[int | None, link_option("generation", _USUAL)] = None,
    lanes: Annotated[int | None, link_option("lanes", _USUAL)] = None,
    mps: Annotated[int | None, link_option("mps_bytes", _USUAL)] = None,
    mrrs: Annotated[int | None, link_option("mrrs_bytes", _USUAL)] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="SHARE",
            help="With --test mem-rd: share of the lines that are read, 0.58 or 58% [default: all].",
            show_default=False,
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores",
            help="With --test mem-rd: cores, whose lines in flight may bind [default: any number].",
            show_default=False,
        ),
    ] = None,
    fill_buffers: Annotated[
        int | None,
        typer.Option(
            "--fill-buffers",
            help="With --cores: lines that each keeps in flight [default: 16].",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME|FILE",
            help="System of --test [default: hsw2620], of mem-rd a CXL memory expander; with --nic, simulate the "
            "NIC on it.",
            autocompletion=profile_names("system", "expander"),
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        set_option(
            "Change one value of the profile, the NIC (nic.KEY), the expander (expander.KEY) or FABRIC "
            "(fabric.KEY)",
            "nic",
            "expander",
            "fabric",
            system=True,
        ),
    ] = None,
    flows: Annotated[
        str | None, typer.Option("--flows", metavar="SET|FILE", help="Flows of FABRIC.", show_default=False)
    ] = None,
    measured: Annotated[
        str | None,
        typer.Option(
            "--measured",
            metavar="VALUE",
            help="The value to explain, of --test or --nic: Gb/s of one direction (of a NIC, frames "
            "less their FCS); ns for a test of latency; or with its unit, as in 7.5GB/s.",
            show_default=False,
        ),
    ] = None,
    single: dict[str, object] = GROUP,
    limit: Limit = None,
    picture: Annotated[
        Path | None,
        picture_option("Draw the picture as .svg, .png, .pdf or .html."),
    ] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Say in three sentences what binds a value, how sure that is, and what to change; then a picture and a table.

    Ask about a store, two stores, a fabric with its flows, one test on a system, or a NIC at a line rate. Gains
    are computed: the model, the simulator or the estimator runs again with each change. `explain` has every bound
    of every test.

    Examples:
    `pcielab why run.db`

    `pcielab why a.db b.db`

    `pcielab why perftest.db --line 100`

    `pcielab why --test bw-rd --size 64 --profile ib-000-nosp --measured 20`

    `pcielab why --test mem-rd --profile cxl2-ddr5-5600 --reads 67% --measured 25GB/s`

    `pcielab why --nic niantic-dpdk --line 100 --frame 64 --direction rx --measured 40`

    `pcielab why --mmio uncached-load --size 4K --gen 4 --measured 400us --device V100`

    `pcielab why fabrex-u55c --flows table2 -o why.svg`

    `pcielab why fabrex-u55c --flows table2 --set fabric.devices.u55c.engine.tags=64`
    """
    if picture is not None:
        from pcielab.outputs import check_file

        check_file(picture, overwrite=overwrite)
    of_nic = {
        "frame": frame,
        "line": line,
        "direction": direction,
        "gen": gen,
        "lanes": lanes,
        "mps": mps,
        "mrrs": mrrs,
    }
    is_time = mmio is not None or (tests or [""])[0].startswith("lat-")
    value = None if measured is None else _value(measured, of_latency=is_time)
    common = {"profile": profile, "sets": sets or [], "flows": flows, "measured": value, "limit": limit}
    of_line = {"ports": ports, "protocol": protocol, "mtu_bytes": mtu}
    _check_line(of_line, asked, nic)
    with errors_name_options(frame_bytes="--frame", frames_bytes="--frame", limit="--limit"):
        of_memory = {"reads": reads, "cores": cores, "fill_buffers": fill_buffers}
        if mmio is None:
            _refuse(
                {f"--{word}": text for word, text in (("cpu", cpu), ("device", device)) if text}, "without --mmio"
            )
            answer = _answer(asked, other, tests or [], nic, of_nic, single, common | of_line, of_memory)
        else:
            given: dict[str, object] = {
                "RUN": asked,
                "--nic": nic,
                "--test": tests or None,
                "--profile": profile,
                "--flows": flows,
            }
            given |= {f"--{word}": of_nic[word] for word in ("frame", "line", "direction")}
            others = {**of_memory, **{word: one for word, one in single.items() if word != "size"}}
            given |= {f"--{word.replace('_', '-')}": one for word, one in others.items()}
            _refuse({word: one for word, one in given.items() if one is not None}, "with --mmio")
            answer = _of_access(mmio, single.get("size"), (cpu, device), of_nic, value)
    if picture is not None:
        from pcielab.report.figures.why import draw_why
        from pcielab.report.save import save_figure

        save_figure(draw_why(answer), picture, theme=theme.value, overwrite=overwrite)
    _print(answer, output_format)


def _check_line(of_line: dict[str, Any], asked: str | None, nic: str | None) -> None:
    """Refuse a protocol without a run of perftest: a NIC's profile has a core's work for each packet."""
    given = {f"--{key.removesuffix('_bytes')}": value for key, value in of_line.items() if value is not None}
    if asked is not None or not given:
        return
    if nic is not None and of_line["protocol"] is not None:
        from pcielab.library.protocols import read_protocol

        protocol = read_protocol(of_line["protocol"])
        if protocol.is_rdma:
            raise refusal(
                "unsupported",
                f"--protocol {protocol.word}: the profile of {nic} has the driver's work for each packet, which "
                "RDMA does not have: import perftest's report and ask with RUN, or ask pcielab expect MACHINE",
            )
    _refuse(given, "without RUN, a run of perftest")


def _value(text: str, *, of_latency: bool) -> float:
    """A measured value, in ns of a latency and in Gb/s otherwise."""

    def read(allowed: tuple[float, float] | None) -> float:
        return read_number(text, "--measured", *(("time", "ns") if of_latency else ("rate", "Gb/s")), allowed)

    return named_range(read, MEASURED_RANGE)


def _answer(
    asked: str | None,
    other: Path | None,
    tests: list[str],
    nic: str | None,
    of_nic: dict[str, Any],
    single: dict[str, object],
    common: dict[str, Any],
    of_memory: dict[str, Any],
) -> "Why":
    from pcielab.analysis.why import why as answer

    of_lines = {f"--{word.replace('_', '-')}": value for word, value in of_memory.items() if value is not None}
    if asked is None and nic is None and tests == [_MEMORY_TEST]:
        own = {
            f"--{word.replace('_', '-')}": value
            for word, value in {**single, **of_nic}.items()
            if value is not None
        }
        _refuse({**own, **({"--flows": 1} if common["flows"] else {})}, f"with --test {_MEMORY_TEST}")
        return _of_lines(of_memory, common)
    _refuse(of_lines, f"without --test {_MEMORY_TEST}")
    own = {f"--{word.replace('_', '-')}": value for word, value in single.items() if value is not None}
    of_nics = {f"--{word}": value for word, value in of_nic.items() if value is not None}
    if nic is not None:
        given = {"RUN": asked, **({"--test": tests} if tests else {}), **own}
        _refuse({key: value for key, value in given.items() if value is not None}, "with --nic")
        return _of_nic(nic, of_nic, common)
    if asked is not None:
        line_gbps = of_nics.pop("--line", None)
        _refuse({**of_nics, **own}, f"with {asked}")
        with Bar() as bar:
            return answer(asked, other, tests=tests, line_gbps=line_gbps, progress=_shown_on(bar), **common)
    _refuse(of_nics, "without --nic")
    if not tests:
        _refuse(own, "without --test")
        raise refusal("missing", "nothing to ask about: give RUN, a fabric, --test TEST or --nic NAME")
    if len(tests) > 1:
        raise refusal("conflict", f"--test {tests[1]}: without RUN, one test is asked about: give --test once")
    from pcielab.library.suites import single_test

    words = {word: value for word, value in single.items() if value is not None}
    if common["profile"] is None:
        from pcielab.devices.sim import SYSTEM

        say(f"assumed: --profile {SYSTEM}")
    with Bar() as bar:
        return answer(single_test(tests[0], **words), progress=_shown_on(bar), **common)


def _of_lines(given: dict[str, Any], common: dict[str, Any]) -> "Why":
    from pcielab.analysis.why.ask import why_lines
    from pcielab.work.memory_lines import MemoryLines

    words = {word: given[word] for word in ("cores", "fill_buffers") if given[word] is not None}
    if given["reads"] is not None:
        words["read_share"] = read_number(given["reads"], "--reads", "share", "", (0.0, 1.0))
    if given["cores"] is None and given["fill_buffers"] is not None:
        raise refusal("missing", "--fill-buffers: of --cores: give --cores as well")
    if common["profile"] is None:
        from pcielab.devices.sim import EXPANDER

        say(f"assumed: --profile {EXPANDER}")
    lines = MemoryLines(**words)
    any_cores = given["cores"] is None
    return why_lines(lines, common["profile"], common["sets"], common["measured"], any_cores=any_cores)


def _shown_on(bar: Bar) -> "Progress":
    """Progress on a bar; the first work of seconds is announced."""
    is_announced = False

    def show(done: int, total: int) -> None:
        nonlocal is_announced
        is_announced = is_announced or announce_many(done, total)
        bar.update(done, total, "trying one change at a time")

    return show


def _refuse(given: dict[str, object], where: str) -> None:
    """Refuse options that do not belong to the question."""
    if given:
        name = next(iter(given))
        raise refusal("conflict", f"{name}: has no effect {where}: leave {name} out")


def _of_nic(nic: str, of_nic: dict[str, Any], common: dict[str, Any]) -> "Why":
    from pcielab.analysis.why import why as answer
    from pcielab.model import load_nic
    from pcielab.work.frames import Frames

    if of_nic["line"] is None:
        say(f"assumed: --line {Ethernet.line_gbps:g}")
    line = Ethernet(line_gbps=Ethernet.line_gbps if of_nic["line"] is None else of_nic["line"])
    size = _FRAME_BYTES if of_nic["frame"] is None else of_nic["frame"]
    profile = load_nic(nic)
    frames = Frames(profile, [size], line, of_nic["direction"] or profile.direction, source=nic)
    return answer(frames, link=_link_of(of_nic, line.line_gbps), **common)


def _of_access(
    instruction: str,
    size: Any,
    names: tuple[str | None, str | None],
    given: dict[str, Any],
    measured: float | None,
) -> "Why":
    from pcielab import model
    from pcielab.analysis.why.access import why_access
    from pcielab.library.cores import bar_for, core_for
    from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes

    if instruction not in INSTRUCTIONS:
        raise refusal("not-found", f"--mmio {shown(instruction)}: give one of {', '.join(INSTRUCTIONS)}")
    generation = 5 if given["gen"] is None else given["gen"]
    mps = USUAL_MPS_BYTES if given["mps"] is None else given["mps"]
    lanes = 16 if given["lanes"] is None else given["lanes"]
    mrrs = usual_mrrs_bytes(mps) if given["mrrs"] is None else given["mrrs"]
    link = model.Link(generation=generation, lanes=lanes, mps_bytes=mps, mrrs_bytes=mrrs)
    fenced = instruction == "combined-store"
    access = model.Access(instruction=instruction, size_bytes=4 if size is None else size, fenced=fenced)  # type: ignore[arg-type]
    core, bar = model.load_core(core_for(names[0], generation)), model.load_bar(bar_for(names[1]))
    with errors_name_options(size_bytes="--size"):
        return why_access(access, core, bar, link, measured)


_FRAME_BYTES = 64
_LINK_KEYS = {"gen": "generation", "lanes": "lanes", "mps": "mps_bytes", "mrrs": "mrrs_bytes"}


def _link_of(of_nic: dict[str, Any], line_gbps: float) -> "Link | None":
    """The usual link of a line rate with the given values; None if none is given."""
    given = {key: of_nic[word] for word, key in _LINK_KEYS.items() if of_nic[word] is not None}
    if not given:
        return None
    from pcielab.analysis.why.nic import usual_link

    return replace(usual_link(line_gbps), **given)


def _print(answer: "Why", output_format: Format) -> None:
    """Print an answer; JSON is one object, CSV the table alone."""
    if output_format is Format.JSON:
        print_data(strict_json(answer.to_dict(), indent=1))
        return
    for note in answer.notes:
        say(note)
    rows = [dict(row) for row in answer.rows]
    if output_format is Format.CSV:
        print_rows(rows, output_format)
        return
    for sentence in answer.sentences:
        print_text(sentence)
    print_rows(list(_bars(answer)), output_format, answer.question)
    print_rows(rows, output_format)


def _bars(answer: "Why") -> Iterator[dict[str, Cell]]:
    """The picture: each bar as a row of a table."""
    longest = max((bar.value for bar in answer.bars), default=1.0)
    for bar in answer.bars:
        eighths = round(8 * _PICTURE_WIDTH * bar.value / longest) if longest else 0
        drawn = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        yield {"": _ROLES[bar.role], "bar": bar.name, answer.unit: bar.value, "picture": drawn}
