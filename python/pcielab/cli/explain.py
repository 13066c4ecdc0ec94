"""`pcielab explain`: the binding bound of each test or of a link, and the slack of the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from pcielab import model
from pcielab._core import read_sizes
from pcielab.cli.completion import profile_names
from pcielab.cli.explain_kinds import print_explained
from pcielab.cli.model import Sizes
from pcielab.cli.model_options import ModelOptions, NicSets, nic_with, takes_model_options
from pcielab.cli.option_groups import GROUP, given_options, refuse_without_effect
from pcielab.cli.output import (
    Cell,
    Format,
    FormatOption,
    OverwriteOption,
    Theme,
    ThemeOption,
    picture_option,
    print_rows,
    records,
    say,
)
from pcielab.cli.stores import opened, say_borrowed
from pcielab.errors import refusal
from pcielab.model.taking_part import taking_part
from pcielab.store.manifest import borrowed_of

if TYPE_CHECKING:
    from pcielab.analysis.explain import Explanation, MachineFacts, Row
    from pcielab.model import Answer, NicProfile
    from pcielab.store import Store

_OF_MESSAGES = ("store-interval", "core-stores")
"""Bounds of messages only."""
_OF_RUNS = ("run", "other", "tests", "picture", "theme", "overwrite", "output_format")
_OF_PICTURE = ("theme", "overwrite")
"""Parameters that describe the picture."""
_SHOWN_OTHERS = _SHOWN_REASONS = 2


@takes_model_options
def explain(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="A store that `pcielab run` or `import` wrote. Without it, explain the link given by options.",
            show_default=False,
        ),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN_B]",
            help="A second simulated run: show which differences of the two systems change each value.",
            show_default=False,
        ),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="TEXT|N",
            help="Only tests of RUN whose family or name contains TEXT, or test number N; repeatable.",
        ),
    ] = None,
    sizes: Sizes = "64,256,1024",
    nic: Annotated[
        str | None,
        typer.Option(
            "--nic",
            help="Explain this NIC (a name or a .toml file); sizes are then Ethernet frames, FCS included.",
            metavar="NAME|FILE",
            autocompletion=profile_names("nic"),
        ),
    ] = None,
    sets: NicSets = None,
    picture: Annotated[
        Path | None,
        picture_option("With RUN_B: draw the effect of each change on each test, as .png, .svg, .pdf or .html."),
    ] = None,
    theme: ThemeOption = Theme.LIGHT,
    overwrite: OverwriteOption = False,
    output_format: FormatOption = Format.TABLE,
    options: ModelOptions = GROUP,
) -> None:
    """Show which bound limits each test of a RUN, or a link given by options, and the slack of the other bounds.

    For a RUN, each row is a bandwidth test: its value, the binding bound, the value's share of it, and the slack
    of the next bounds. If the value is more than 5 % below its bound, the row lists possible causes. A simulated
    run is compared with every limit of its profile; an import has no profile and is compared with its link and
    tags, using its own read latency. A table also shows what the cache states add to measured latencies.

    Latencies (choose them with --test LAT) show the round trip of link and host within them. Frames of a NIC are
    compared with line, link and tags; messages with the closed form of their way; flows of a fabric with the edges
    on their path, their own demand, and their requests in flight.

    For two simulated runs, each row is a test that both have. It shows the value on each system, simulated again,
    and the effect of each change alone. This takes up to a minute.

    For a link, each row is the rate that one bound alone allows, tightest first; `slack_percent` is its distance
    above the binding bound. A table leaves out bounds that allow over ten times the rate.

    Examples:
    `pcielab explain run.db`

    `pcielab explain run.db --test BW_DMA_RD --test bw_dma_win_sweep_wr`

    `pcielab explain run.db --test 42 --format json`

    `pcielab explain a.db b.db --picture why.svg`

    `pcielab explain --gen 3 --lanes 8 --mps 256 --mrrs 512 --sizes 64`

    `pcielab explain --gen 5 --lanes 16 --mps 512 --tags 256 --rtt-ns 900 --sizes 64,4K`

    `pcielab explain --nic niantic-kernel --sizes 64,1500`

    `pcielab explain --nic niantic-kernel --set nic.step.1.batch=8 --sizes 64`
    """
    if run is not None:
        _refuse_options_of_links(context)
        if other is not None:
            from pcielab.cli.explain_two import explain_two

            if picture is None:
                refuse_without_effect(context, _OF_PICTURE, "describes a picture: give -o FILE as well")
            explain_two(run, other, tests or [], picture, output_format, theme=theme, overwrite=overwrite)
        elif picture is not None:
            raise refusal("missing", "-o needs a second run: pass RUN_B")
        else:
            refuse_without_effect(context, _OF_PICTURE, "describes a picture of two runs: give RUN_B and -o FILE")
            _explain_run(run, tests or [], output_format)
        return
    if tests:
        raise refusal("missing", f"--test {tests[0]}: needs a run to choose from: give RUN, the path of a store")
    refuse_without_effect(
        context, ("picture", *_OF_PICTURE), "describes a picture of two runs: give RUN and RUN_B"
    )
    rows: list[dict[str, Cell]] = [
        {
            "size_bytes": size,
            "operation": operation,
            "bound": ceiling.bound,
            "gbps": ceiling.gbps,
            "slack_percent": 100 * ceiling.slack,
            "binds": ceiling.bound == answer.bound,
        }
        for size, operation, answer in _answers(options, read_sizes(sizes, "--sizes"), nic_with(nic, sets))
        for ceiling in (taking_part(answer) if output_format is Format.TABLE else answer.ceilings)
    ]
    print_rows(rows, output_format, options.title)


def _answers(
    options: ModelOptions, sizes: list[int], nic: "NicProfile | None"
) -> Iterator[tuple[int, str, "Answer"]]:
    if nic is None:
        for row in model.bandwidth(options.link, sizes, accounting=options.accounting, limits=options.limits):
            yield from ((row.size_bytes, "read", row.read), (row.size_bytes, "write", row.write))
            yield row.size_bytes, "rdwr", row.rdwr
        return
    for throughput in model.nic(nic, options.link, sizes, accounting=options.accounting, limits=options.limits):
        paths = {"bi": throughput.bi, "tx": throughput.tx, "rx": throughput.rx}
        yield from ((throughput.frame_bytes, path, answer) for path, answer in paths.items() if answer)


def _refuse_options_of_links(context: typer.Context) -> None:
    """Refuse options of a link beside a run, which has its own link and would ignore them."""
    for name, option in given_options(context).items():
        if name not in _OF_RUNS:
            raise refusal(
                "conflict", f"{option}: describes a link, but RUN has its own: leave out {option} or RUN"
            )


def _explain_run(path: Path, tests: list[str], output_format: Format) -> None:
    from pcielab.analysis.explain import explain_rows, explain_run
    from pcielab.analysis.explain.run import flow_counts, has_link_bounds
    from pcielab.kinds.machine_facts import no_link

    store = opened(path)
    if not store.tells_speed:
        _print_exercised(store, output_format)
        return
    if not has_link_bounds(store, tests):
        from pcielab.cli.progress import announce_many

        announce_many(0, sum(flow_counts(store, tests)))
        explained = explain_rows(store, tests)
        bounds = ("latency" if row.is_latency else row.limits[0].name for row in explained.rows if row.limits)
        say_borrowed(bounds, borrowed_of(store.manifest))
        print_explained(store, explained, output_format)
        _print_effects(store, tests, output_format)
        if no_link(store):
            _print_sweeps(explain_run(store, tests))
        return
    explanation = explain_run(store, tests)
    for note in explanation.notes:
        say(note)
    shown = _narrow if output_format is Format.TABLE else _wide
    link = _link(explanation.facts) if explanation.facts is not None else "no link"
    title = f"{store.title}: {store.origin} values, modelled bounds (spec) for {link}"
    say_borrowed((row.answer.bound for row in explanation.rows), borrowed_of(store.manifest))
    print_rows([shown(row, store.origin) for row in explanation.rows], output_format, title)
    if output_format is Format.TABLE:
        _print_checks(store, explanation)
    _print_effects(store, tests, output_format)
    _print_sweeps(explanation)


def _print_effects(store: "Store", tests: list[str], output_format: Format) -> None:
    """Print how much the state of the caches adds to the latencies of a whole measured run."""
    from pcielab.kinds.transfers.effects import effects_of

    if tests or output_format is not Format.TABLE:
        return
    rows: list[dict[str, Cell]] = [
        {
            "test": effect.test,
            "name": effect.name,
            "size": effect.parameters.get("size_bytes"),
            "window": effect.parameters.get("window_bytes"),
            "cache": effect.parameters.get("cache"),
            "median ns": effect.median_ns,
            "less host-warm": f"{effect.difference_ns:+.0f} ns" if effect.is_resolvable else "not resolvable",
            "standard error": f"{effect.standard_error_ns:.1f} ns",
        }
        for effect in effects_of(store)
    ]
    if rows:
        print_rows(rows, Format.TABLE, "Latencies by cache state: medians less those of host-warm caches")


def _print_exercised(store: "Store", output_format: Format) -> None:
    """Print the tests of an emulator, which has no bounds, with their status."""
    from pcielab.store.exercised import NOTICE, exercised

    frame = exercised(store.tests, store.origin)
    if output_format is Format.TABLE:
        always = ("id", "name", "status")
        frame = frame[[one for one in frame if one in always or frame[one].nunique(dropna=False) > 1]]
    print_rows(records(frame), output_format, f"{NOTICE}: {store.title}")


def _print_sweeps(explanation: "Explanation") -> None:
    """Summarise each group of rows that differ only in the number of transfers in flight."""
    from pcielab.kinds.transfers.sweeps import in_words

    for sweep in explanation.sweeps:
        say(in_words(sweep))


def _print_checks(store: "Store", explanation: "Explanation") -> None:
    """Print causes that registers do not show but these rows suggest."""
    from pcielab.kinds.transfers.checks import checks

    rows: list[dict[str, Cell]] = [
        {
            "cause": check.key,
            "meaning": check.cause.title,
            "check by hand": check.cause.check,
            "evidence": "; ".join(check.seen),
        }
        for check in checks(store, explanation)
    ]
    if rows:
        print_rows(rows, Format.TABLE, "To check by hand: causes that fit these rows, likeliest first")


def _link(facts: "MachineFacts") -> str:
    link = facts.link
    more = (", ECRC" if link.ecrc else "") + (", IDE" if link.ide else "")
    tags = f", {facts.tags} tags" if facts.tags is not None else ""
    return f"Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}, MRRS {link.mrrs_bytes}{more}{tags}"


def _wide(row: "Row", origin: str) -> dict[str, Cell]:
    from pcielab.model.answers import Bound

    bounds = [bound for bound in get_args(Bound) if bound not in _OF_MESSAGES]
    ceilings = {ceiling.bound: ceiling.gbps for ceiling in row.answer.ceilings}
    parameters = row.parameters
    return {
        "test": row.test,
        "family": row.family,
        "name": row.name,
        "size_bytes": row.size_bytes,
        "window_bytes": parameters["window_bytes"],
        "host_offset_bytes": parameters["host_offset_bytes"],
        "device_offset_bytes": parameters["device_offset_bytes"],
        "cache": parameters["cache"],
        "origin": origin,
        "value_gbps": row.value_gbps,
        "bound": row.answer.bound,
        "bound_gbps": row.answer.gbps,
        "share_percent": 100 * row.share,
        "round_trip_ns": row.round_trip.ns if row.round_trip else None,
        "round_trip_from": row.round_trip.source if row.round_trip else None,
        **{f"{bound.replace('-', '_')}_gbps": ceilings.get(bound) for bound in bounds},
        "may_explain": "; ".join(row.reasons) or None,
    }


def _narrow(row: "Row", origin: str) -> dict[str, Cell]:
    others = [f"{ceiling.bound} +{100 * ceiling.slack:.0f} %" for ceiling in taking_part(row.answer)[1:]]
    parameters = row.parameters
    return {
        "test": row.test,
        "name": row.name,
        "size": row.size_bytes,
        "window": parameters["window_bytes"],
        "offsets": f"{parameters['host_offset_bytes']}/{parameters['device_offset_bytes']}",
        "cache": parameters["cache"],
        f"{origin}_Gb/s": row.value_gbps,
        "bound": row.answer.bound,
        "bound_Gb/s": row.answer.gbps,
        "share_%": 100 * row.share,
        "others": ", ".join(others[:_SHOWN_OTHERS]) or None,
        "may_explain": "; ".join(row.reasons[:_SHOWN_REASONS]) or None,
    }
