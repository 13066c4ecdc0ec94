"""The command line: parses what people type, calls the library, prints what comes back.

stdout carries data and stderr everything else. Exit code 0: done; 1: failed; 2: bad usage or input. Each command
lives in a module of this package and does nothing that a notebook could not do with the library.
"""

import os
import sys
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from pcielab import __version__
from pcielab.cli import (
    calibrate,
    compare,
    devices,
    doctor,
    explain,
    exports,
    fabric,
    imports,
    model,
    profiles,
    report,
    run,
    suites,
    validate,
)
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
app.command("calibrate")(calibrate.calibrate)
app.command("validate")(validate.validate)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("doctor")(doctor.doctor)
app.add_typer(imports.app, name="import")
app.add_typer(exports.app, name="export")
app.add_typer(profiles.app, name="profiles")
app.add_typer(suites.app, name="suites")
app.add_typer(devices.app, name="devices")
app.add_typer(fabric.app, name="fabric")


def main() -> None:
    """Run the command line; the entry point of the `pcielab` script."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        _fail(str(error), 2)
    except RunError as error:
        _fail(str(error), 1)
    except KeyboardInterrupt:
        messages.print("interrupted", highlight=False)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        _leave_stdout(0)
    except OSError as error:
        _say(f"{error.filename or 'output'}: {error.strerror or error}")
        _leave_stdout(1)
    except SystemExit:
        raise
    except BaseException as error:  # a panic of the compiled half is no Exception
        if os.environ.get("PCIELAB_TRACEBACK"):
            raise
        about = f"{type(error).__name__}: {error}"
        _fail(f"a defect of pcielab: {about}: please report it, with what PCIELAB_TRACEBACK=1 shows", 1)


def _say(problem: str) -> None:
    messages.print(f"[bold red]error:[/] {escape(problem)}", highlight=False, soft_wrap=True)


def _fail(problem: str, code: int) -> NoReturn:
    _say(problem)
    sys.exit(code)


def _leave_stdout(code: int) -> NoReturn:
    """Exit without what could not be written to stdout, which Python would try again as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
