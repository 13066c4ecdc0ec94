"""`pcielab export`: stores in formats that other tools read, one command for each exporter.

Stands alone: `commands.py` loads each command at its use.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pcielab.cli.output import OverwriteOption, say
from pcielab.cli.stores import opened
from pcielab.formats.exporters import EXPORTERS, Exporter, export

app = typer.Typer()
RunArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", help="The store to export.")]
CaptureOutput: TypeAlias = Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="File to write.")]
TestOption: TypeAlias = Annotated[
    int | None, typer.Option("--test", min=0, help="Number of the test [default: the first].", show_default=False)
]


def _add(exporter: Exporter) -> None:
    @app.command(exporter.name, help=exporter.help)
    def write(
        run: RunArgument,
        output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.")],
        overwrite: OverwriteOption = False,
    ) -> None:
        for warning in export(opened(run), exporter.name, output, overwrite=overwrite):
            say(f"warning: {warning}")
        say(f"wrote {output}")


for _exporter in EXPORTERS.values():
    _add(_exporter)


def _write_capture(run: Path, output: Path, test: int | None, form: str, *, overwrite: bool) -> None:
    from pcielab.kinds.lanes import chosen_test
    from pcielab.outputs import check_file, write_file

    store = opened(run)
    chosen = chosen_test(store, test)["id"]
    check_file(output, overwrite=overwrite)
    content, left_out = store.capture(chosen, form)
    write_file(output, content, overwrite=overwrite)
    for what, count in left_out:
        say(f"warning: left out: {count} x {what}")
    say(f"wrote {output}: the TLPs of test {chosen}, without data ({store.origin})")


@app.command(
    "pcapng", help="Write the TLPs of a run with --trace as pcap-ng of link type 147 (USER0), without data."
)
def _pcapng(
    run: RunArgument, output: CaptureOutput, test: TestOption = None, overwrite: OverwriteOption = False
) -> None:
    _write_capture(run, output, test, "raw", overwrite=overwrite)


@app.command(
    "capture", help="Write the TLPs of a run with --trace in a form of captures, which tlp explain reads."
)
def _capture(
    run: RunArgument,
    output: CaptureOutput,
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="FORM",
            help="raw (pcap-ng), cyrozap (pcap-ng records), list (CSV), text, ila-csv or vcd.",
        ),
    ] = "raw",
    test: TestOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    _write_capture(run, output, test, form, overwrite=overwrite)


@app.command(
    "svg", help="Draw the first requests of a run with --trace as a waterfall: *.svg, *.png, *.pdf, *.html."
)
def _svg(
    run: RunArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="Picture to write.")],
    test: TestOption = None,
    requests: Annotated[
        int, typer.Option("--requests", min=1, max=32, help="Requests to draw, from the first on.")
    ] = 4,
    overwrite: OverwriteOption = False,
) -> None:
    from pcielab.charts.selection import MissingDataError
    from pcielab.errors import refusal
    from pcielab.report.figures.waterfall import waterfall
    from pcielab.report.save import save_figure

    try:
        figure = waterfall(opened(run), test, requests)
    except MissingDataError as missing:
        raise refusal("missing", f"{run}: needs {missing}") from None
    save_figure(figure, output, overwrite=overwrite)
    say(f"wrote {output}")
