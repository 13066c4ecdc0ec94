"""The command line: parses what people type, calls the library, prints what comes back.

stdout carries data and stderr everything else. Exit code 0: done; 1: failed; 2: bad usage or input. Each command
lives in a module of this package and does nothing that a notebook could not do with the library.
"""

import sys

import typer
from rich.console import Console
from rich.markup import escape

from pcielab import __version__
from pcielab.cli import compare, devices, explain, exports, fabric, imports, model, profiles, report, run, suites
from pcielab.errors import InputError, RunError

app = typer.Typer(
    name="pcielab",
    help="A laboratory for PCIe performance: model, simulate, measure, explain.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
messages = Console(stderr=True)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"pcielab {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


app.add_typer(model.app, name="model")
app.command("explain")(explain.explain)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.add_typer(imports.app, name="import")
app.add_typer(exports.app, name="export")
app.add_typer(profiles.app, name="profiles")
app.add_typer(suites.app, name="suites")
app.add_typer(devices.app, name="devices")
app.add_typer(fabric.app, name="fabric")


def main() -> None:
    """Run the command line; the entry point of the `pcielab` script."""
    try:
        app()
    except InputError as error:
        messages.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except RunError as error:
        messages.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        messages.print("interrupted", highlight=False)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
