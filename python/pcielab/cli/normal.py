"""`pcielab normal`: whether a value is normal: the bound first, then what others measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import choice
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
from pcielab.cli.quantities import size_option
from pcielab.errors import refusal
from pcielab.library.figure_words import COMPLETIONS, ENGINES, MEMORIES, MEMORY_TYPES, STATES, WHATS
from pcielab.library.protocols import PROTOCOLS
from pcielab.library.usual_link import USUAL_MPS_BYTES
from pcielab.strict_json import strict_json

if TYPE_CHECKING:
    from pcielab.analysis.normal import Normal


_MOST_ROWS = 40
"""Rows of a run that fall out and are shown one by one."""


def _listed(meanings: Any) -> str:
    return "; ".join(f"{word}: {meaning}" for word, meaning in meanings.items())


def normal(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="A store of transfers or of an imported tool: each row is judged. Without: --what, --value.",
            show_default=False,
        ),
    ] = None,
    what: Annotated[str | None, choice("--what", tuple(WHATS), f"What moves: {_listed(WHATS)}")] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value", metavar="VALUE", help="The value with its unit: 54.1GB/s, 860ns, 1.2M.", show_default=False
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="LINK",
            help="The device's link: gen5x16; several side by side: '4x gen3x4'; a tunnel: tb4, usb4. With "
            "RUN: of rows that say none.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None, choice("--engine", tuple(ENGINES), f"What moves the data: {_listed(ENGINES)}")
    ] = None,
    size: Annotated[
        int | None, size_option("--size", "Bytes of one transfer or command.", show_default=False)
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, max=1_000_000, help="Transfers in flight.", show_default=False)
    ] = None,
    rtt_ns: Annotated[
        float | None,
        typer.Option(
            "--rtt-ns", min=1, max=1e9, help="Time that one transfer is in flight, ns.", show_default=False
        ),
    ] = None,
    mps: Annotated[
        int | None, size_option("--mps", f"Maximum payload size [default: {USUAL_MPS_BYTES}].", show_default=False)
    ] = None,
    line: Annotated[
        float | None,
        typer.Option(
            "--line",
            min=0.01,
            max=10_000,
            help="Line rate of a NIC, Gb/s; also with RUN [default: the one in --device].",
            show_default=False,
        ),
    ] = None,
    ports: Annotated[
        int | None,
        typer.Option(
            "--ports",
            help="Ports of a NIC that carry the value together [default: 1]; also with RUN.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        choice(
            "--protocol", tuple(PROTOCOLS), "Protocol of a NIC's line; also with RUN [default: as perftest says]"
        ),
    ] = None,
    mtu: Annotated[
        int | None,
        typer.Option(
            "--mtu",
            help="With --protocol: its MTU in bytes; of RDMA the payload of a packet [default: as perftest says, "
            "else 4096 of RDMA and 1500].",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        choice(
            "--memory",
            tuple(MEMORIES),
            f"Where the data of a NIC or drive lie; also with RUN: {_listed(MEMORIES)}",
        ),
    ] = None,
    state: Annotated[
        str | None, choice("--state", tuple(STATES), f"A condition that you know: {_listed(STATES)}")
    ] = None,
    completion: Annotated[
        str | None,
        choice(
            "--completion", tuple(COMPLETIONS), f"How the processor learns of completions: {_listed(COMPLETIONS)}"
        ),
    ] = None,
    memory_type: Annotated[
        str | None,
        choice("--memory-type", tuple(MEMORY_TYPES), f"Of a core's mapping: {_listed(MEMORY_TYPES)}"),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="The device: 'ConnectX-6 200G'.", show_default=False),
    ] = None,
    cpu: Annotated[
        str | None, typer.Option("--cpu", metavar="NAME", help="The processor.", show_default=False)
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="SHARE",
            help="Of a CXL memory expander with --what both: share of the lines that are read, 67% or 0.67 "
            "[default: half].",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="KEY",
            help="Source that published the value: it is not compared with its own figures.",
            show_default=False,
        ),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="TEXT|N",
            help="With RUN: only tests whose family or name contains TEXT, or test number N; repeatable.",
        ),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="List the comparable figures with their sources.")
    ] = False,
    picture: Annotated[
        Path | None,
        picture_option("Draw the value among the comparable ones as .svg, .png, .pdf or .html."),
    ] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Say whether a value is normal: what link, path and engine allow, and what others measured.

    The bound comes first: ratios to bounds agree over generations and widths, rates do not. The comparison is with
    published figures of other machines; with fewer than three sources there is none. A low value gets the causes
    whose measured effect is of its size.

    Examples:
    `pcielab normal --what h2d --link gen5x16 --value 54.1GB/s --engine copy`

    `pcielab normal --what d2h --link gen4x16 --value 150Gb/s --engine dma --device 'ConnectX-6 200G'`

    `pcielab normal --what write --link gen4x16 --value 92.6Gb/s --device 'CX-6 100G' --protocol roce --mtu 1024`

    `pcielab normal --what latency --link gen3x16 --value 860ns --engine core --figures`

    `pcielab normal --what both --reads 67% --link gen5x8 --value 25.1GB/s --device 'CXL memory expander'`

    `pcielab normal --what load --size 4 --memory-type uc --link gen5x16 --value 900ns`

    `pcielab normal --what d2h --link tb4 --value 2.8GB/s --engine dma --device NVMe`

    `pcielab normal run.db`

    `pcielab normal imported.db --link gen4x16`
    """
    if picture is not None:
        from pcielab.outputs import check_file

        check_file(picture, overwrite=overwrite)
    given = {
        "--what": what,
        "--value": value,
        "--link": link,
        "--engine": engine,
        "--size": size,
        "--depth": depth,
        "--rtt-ns": rtt_ns,
        "--mps": mps,
        "--line": line,
        "--ports": ports,
        "--protocol": protocol,
        "--mtu": mtu,
        "--memory": memory,
        "--state": state,
        "--completion": completion,
        "--memory-type": memory_type,
        "--device": device,
        "--cpu": cpu,
        "--reads": reads,
        "--source": source,
    }
    if run is not None:
        of_run = dict.fromkeys(("--line", "--link", "--mps", "--ports", "--protocol", "--mtu", "--memory"))
        _refuse_beside_run({**given, **of_run, "-o": picture, "--figures": figures or None})
        of_line = {"line_gbps": line, "ports": ports, "protocol": protocol, "mtu_bytes": mtu, "memory": memory}
        _print_run(run, tests or [], output_format, link=link, mps_bytes=mps, **of_line)
        return
    if tests:
        raise refusal("conflict", "--test: has no effect without RUN: leave --test out")
    answer = _answer(given)
    if picture is not None:
        from pcielab.report.figures.normal import draw_normal
        from pcielab.report.save import save_figure

        save_figure(draw_normal(answer), picture, theme=theme.value, overwrite=overwrite)
    _print(answer, figures, output_format)


def _refuse_beside_run(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise refusal(
                "conflict", f"{option}: has no effect with RUN, which has its own values: leave {option} out"
            )


def _answer(given: dict[str, Any]) -> "Normal":
    from pcielab.analysis.normal import normal as answer

    what, value = given["--what"], given["--value"]
    for option, example in (("--what", "--what h2d"), ("--value", "--value 54.1GB/s")):
        if given[option] is None:
            raise refusal("missing", f"{option}: missing: give RUN, or one value, for example {example}")
    return answer(
        what,
        value,
        link=given["--link"],
        engine=given["--engine"],
        size_bytes=given["--size"],
        depth=given["--depth"],
        round_trip_ns=given["--rtt-ns"],
        mps_bytes=given["--mps"],
        line_gbps=given["--line"],
        ports=given["--ports"],
        protocol=given["--protocol"],
        mtu_bytes=given["--mtu"],
        memory=given["--memory"],
        state=given["--state"],
        completion=given["--completion"],
        memory_type=given["--memory-type"],
        device=given["--device"] or "",
        cpu=given["--cpu"] or "",
        source=given["--source"] or "",
        read_share=None if given["--reads"] is None else _share(given["--reads"]),
    )


def _share(text: str) -> float:
    from pcielab._core import read_number

    return read_number(text, "--reads", "share", "", (0.0, 1.0))


def _print_run(run: Path, tests: list[str], output_format: Format, **given: Any) -> None:
    """Print the answers to a run: a sentence, the rows that fall out, and the others counted."""
    from pcielab.analysis.normal import normal as answer
    from pcielab.analysis.normal.rows import fallen_out, folded, not_asked, rows_of, summary, whole_file
    from pcielab.store import open_store

    store = open_store(run)
    answers = answer(store, tests=tests, **given)
    if output_format is not Format.TABLE:
        print_rows(whole_file(store, answers, tests), output_format)
        return
    print_text(summary(answers, len(not_asked(store, answers, tests))))
    if any("--link" in one.missing and one.question.what != "p2p" for one in answers):
        say("not given: --link: without it there is no bound of the wire")
    out = fallen_out(answers)
    if out:
        first = list(rows_of(out[:_MOST_ROWS]))
        more = f"; {len(out) - _MOST_ROWS} more with --format json" if len(out) > _MOST_ROWS else ""
        print_rows(_rounded(first), output_format, f"rows that fall out, the worst first{more}")
    if len(out) < len(answers):
        print_rows(_rounded(folded(answers)), output_format, "the other rows, counted; --format json has each")


def _print(answer: "Normal", figures: bool, output_format: Format) -> None:
    """Print an answer: sentences and tables; JSON has all of it, CSV the bounds, or the figures with --figures."""
    if output_format is Format.JSON:
        print_data(strict_json(answer.to_dict(), indent=1))
        return
    if output_format is Format.CSV:
        print_rows(answer.figure_rows() if figures else answer.bound_rows(), output_format)
        return
    for sentence in answer.sentences:
        print_text(sentence)
    for option, reason in answer.missing.items():
        say(f"not given: {option}: {reason}")
    print_rows(_rounded(answer.bound_rows()), output_format, "what the value is measured against")
    if answer.causes:
        rows = [{key: cell for key, cell in row.items() if key != "figures"} for row in answer.cause_rows()]
        print_rows(rows, output_format, "causes worth a check")
    if figures and answer.figures:
        print_rows(_rounded(answer.figure_rows()), output_format, "comparable figures, published")


def _rounded(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Rows with rates and ratios to four digits, for people."""
    return [
        {key: float(f"{cell:.4g}") if isinstance(cell, float) else cell for key, cell in row.items()}
        for row in rows
    ]
