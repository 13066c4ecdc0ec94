"""`pcielab validate`: score a twin against measured rows."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.completion import profile_names
from pcielab.cli.output import Cell, Format, OverwriteOption, is_stdout, print_rows, say
from pcielab.cli.stores import opened

if TYPE_CHECKING:
    from pcielab.analysis.validate import Score
    from pcielab.library.profiles import ResolvedSystem
    from pcielab.library.suites.load import Suite
    from pcielab.store import Store

_PROMISED = 0.9
"""Share of measured values that an interval is to hold."""
_ALLOWED = 0.05
"""Share by which the intervals of one machine may differ from that without a word."""


def validate(
    profile: Annotated[
        str,
        typer.Argument(
            metavar="PROFILE", help="The twin: a shipped system or a file.", autocompletion=profile_names("system")
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR|RUN", help="Measured rows: a folder in the published format, or a store."),
    ],
    exclude: Annotated[
        Path | None,
        typer.Option(
            "--exclude",
            metavar="CSV",
            help="Leave out the rows listed in this file, in the format of `calibrate --pack`.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="Draw the worst rows into an HTML file.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN.db", help="Keep the twin's run here; an existing one is continued."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the twin's run.")] = 1,
    overwrite: OverwriteOption = False,
    output_format: Annotated[Format, typer.Option("--format", help="Output format of the scores.")] = Format.TABLE,
) -> None:
    """Run the suite paper on a twin and compare it with measured rows, by kind of test and by bound.

    Scores are the relative error of bandwidths, the errors of median and average latency, and the mean difference
    of the quantiles of distributions, in ns. The last rows count the measured values inside the 90 % intervals of
    the twin's predictions. On a machine with idle states, these are the middle 90 % of its write bandwidths over
    several seeds. It takes one to two minutes on two cores.
    """
    from pcielab.analysis.calibrate.measured import read_pack
    from pcielab.analysis.validate import require_common, score, write_bands
    from pcielab.library.profiles import resolve
    from pcielab.library.suites import load_suite
    from pcielab.outputs import check_page, write_file
    from pcielab.report.worst import draw_worst

    if output is not None:
        check_page(output, overwrite=overwrite)
    excluded = read_pack(exclude) if exclude is not None else set()
    system = resolve(profile)
    with tempfile.TemporaryDirectory() as folder:
        measured = _measured(source)
        measured.require_kind("transfers", "validate")
        suite = load_suite("paper")
        require_common(measured, suite, str(source))
        twin = _run(system, suite, run or Path(folder) / "twin.db", seed)
        result = score(measured, twin, excluded)
        if output is not None:
            write_file(output, draw_worst(result).encode(), overwrite=overwrite)
        coverage = _coverage(result)
        rows = [*_rows(result), *coverage]
        if system.system.host.idle is not None:
            bands = write_bands(system.system, measured)
            inside = sum(band.inside for band in bands)
            rows.append(_row("write bandwidth inside its band", "share", "1", len(bands), inside / len(bands)))
    title = f"{system.system.name} (simulated) against {measured.described}"
    if not is_stdout(output):
        print_rows(rows, output_format, title=title)
    for row in coverage:
        _say_of_width(row)
    if result.excluded or result.missing:
        say(f"{result.excluded} rows left out, {result.missing} measured rows not predicted")


def _measured(source: Path) -> "Store":
    """The measured run: a store as it is, a folder imported."""
    from pcielab.analysis.of_runs import measured_run

    store = measured_run(source if source.is_dir() else opened(source))
    store.require_speed("validating")
    return store


def _run(system: "ResolvedSystem", suite: "Suite", path: Path, seed: int) -> "Store":
    from pcielab.cli.progress import Bar
    from pcielab.devices.running import simulate

    with Bar() as bar:
        return simulate(system, suite, path, seed=seed, resume=True, progress=bar.update)


def _rows(result: "Score") -> list[dict[str, Cell]]:
    """Scores by test and by regime, with the same keys."""
    found: list[dict[str, Cell]] = []
    for frame in (result.by_test, result.by_regime):
        found += [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
    ticks = int((result.rows["metric"] == "median latency").sum())
    if ticks:
        found.append(_row("all", "median latency within a tick", "1", ticks, result.medians_within_a_tick))
    return found


def _say_of_width(row: dict[str, Cell]) -> None:
    """Say of 90 % intervals that hold far more or far less than 90 % of the measured values."""
    held, rows = row["mean"], row["rows"]
    if not isinstance(held, float) or abs(held - _PROMISED) <= _ALLOWED:
        return
    wide = held > _PROMISED
    meaning = "too wide for this machine: a value inside says little" if wide else "too narrow for this machine"
    say(f"note: {row['metric']}: 90 % intervals hold {100 * held:.1f} % of {rows} values: they are {meaning}")


def _coverage(result: "Score") -> list[dict[str, Cell]]:
    """The share of measured values inside the intervals of their predictions; nothing if it has none."""
    from pcielab.analysis.validate import METRICS, judge

    judged = judge(result.comparison)
    found = []
    for metric in METRICS:
        inside = [one.inside for one in judged if one.metric == metric]
        if inside:
            called = "bandwidth" if metric == "bandwidth" else f"{metric} latency"
            found.append(_row("all", f"{called} inside its interval", "1", len(inside), sum(inside) / len(inside)))
    return found


def _row(group: str, metric: str, unit: str, rows: int, mean: float) -> dict[str, Cell]:
    same: dict[str, Cell] = {"group": group, "metric": metric, "unit": unit, "rows": rows}
    return {**same, "median": None, "mean": mean, "p95": None, "maximum": None}
