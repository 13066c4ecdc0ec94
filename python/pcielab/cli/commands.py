"""The list of commands. What each of them does is in a module of its own, which is loaded when it is called."""

import importlib
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "model": (
        "model:app",
        "Bounds in closed form: what a link, a host and a device should give, and which binds.",
    ),
    "explain": (
        "explain:explain",
        "Which bound binds, and the slack of the others: of a run's tests, or of a link.",
    ),
    "doctor": (
        "doctor:doctor",
        "Whether a machine's PCIe is what it should be, worst first, and what that costs.",
    ),
    "run": ("run:run", "Run a suite, or one test, and keep the results in a store."),
    "sweep": ("sweep:sweep", "One test with many values, on many cores or machines; which knob matters."),
    "explore": ("explore:explore", "The live instrument in a browser: move a slider, and see what changes."),
    "calibrate": (
        "calibrate:calibrate",
        "A twin of a machine from some of its measured rows, as a system profile.",
    ),
    "validate": ("validate:validate", "How far a twin's predictions are from measured rows."),
    "runs": ("runs:runs", "The stores of a folder: what each is of, and how far it is."),
    "report": ("report:report", "One HTML file from one run or several: the paper's figures, and every row."),
    "figure": ("figure:figure", "A figure of the pcie-bench paper, made on the machines that the paper used."),
    "findings": (
        "findings:findings",
        "What caches, NUMA and the IOMMU cost between runs, and what to do about it (table 2 of the paper).",
    ),
    "paper": ("paper:app", "The numbers of the pcie-bench paper beside ours, and how far off each may be."),
    "compare": ("compare:compare", "Two runs side by side, and the size of their differences."),
    "import": ("imports:app", "Make a store from measurements taken elsewhere."),
    "export": ("exports:app", "Write a store in a format that other tools read."),
    "profiles": ("profiles:app", "Descriptions of links, hosts, cards, whole systems, NICs and fabrics."),
    "suites": ("suites:app", "Lists of tests: of transfers, of messages, of fabrics."),
    "devices": ("devices:app", "What tests can run on: back ends and their cards."),
    "fabric": ("fabric:app", "Routable fabrics: what each flow gets, and who limits whom."),
}
"""Where each command is, as module of this package and name in it, and what it is for, in one line."""

_MARKUP: Literal["markdown"] = "markdown"


class _Commands(TyperGroup):
    """Lists the commands without loading any of them, and loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, (_, purpose) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=purpose))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and _loaded(str(name)), rest


def _loaded(name: str) -> Any:
    """A command with its options, or a group with its commands."""
    place, purpose = COMMANDS[name]
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(f"pcielab.cli.{module}"), attribute)
    holder = typer.Typer(rich_markup_mode=_MARKUP, add_completion=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name, help=purpose, no_args_is_help=True)
    else:
        holder.command(name)(found)
    return typer.main.get_group(holder).commands[name]


def _version(show: bool) -> None:
    if show:
        from pcielab import __version__
        from pcielab.cli.output import print_data

        print_data(f"pcielab {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="pcielab",
    cls=_Commands,
    help="A laboratory for PCIe performance: model, simulate, measure, explain.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=_MARKUP,
)


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass
