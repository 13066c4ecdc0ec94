"""The list of commands; each command's module is loaded when the command is called."""

import importlib
from collections.abc import Mapping
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from pcielab.cli.own_inputs import keep_inputs
from pcielab.cli.quantities import read_quantities

COMMANDS = {
    "model": (
        "model:app",
        "Compute the highest rate of a link, host and device, and the bound that binds.",
    ),
    "why": ("why:why", "Say in three sentences what binds a value, how sure that is, and what to change."),
    "explain": (
        "explain:explain",
        "Show which bound limits each test of a run, or a link, and the slack of the others.",
    ),
    "normal": ("normal:normal", "Say whether a value is normal: its bound, and what others measured."),
    "expect": (
        "expect:expect",
        "Show what a machine should give: bound, expected range and limiting edge of each path.",
    ),
    "doctor": (
        "doctor:doctor",
        "Find PCIe settings that cost this machine bandwidth or latency, worst first.",
    ),
    "run": ("run:run", "Run a suite or one test and keep the results in a store."),
    "trace": ("trace:app", "Record traces of DMA, play them on a simulated host, make them from captures."),
    "tlp": ("tlp:app", "Explain captures of PCIe packets: what bound the transfers, and each transaction."),
    "simbricks": ("simbricks:simbricks", "Put a calibrated host between the devices and hosts of SimBricks."),
    "sweep": ("sweep:sweep", "Run one test over many parameter values on many cores or machines."),
    "design": ("design:design", "Find the cheapest device that meets its targets, or the corners of one."),
    "explore": ("explore:explore", "Explore a system live in a browser: move a slider and see what changes."),
    "calibrate": (
        "calibrate:calibrate",
        "Fit a system profile (a twin) to some of a machine's measured rows.",
    ),
    "validate": ("validate:validate", "Compare a twin's predictions with measured rows."),
    "runs": ("runs:runs", "List the stores in a folder: machine, suite, origin and progress."),
    "report": ("report:report", "Write one HTML file with figures and all rows of one or several runs."),
    "paper": ("paper:app", "Draw and check the figures, findings and numbers of the papers."),
    "compare": ("compare:compare", "Compare two runs side by side."),
    "import": ("imports:app", "Import measurements of other tools into a store."),
    "export": ("exports:app", "Export a store to a format that other tools read."),
    "profiles": ("profiles:app", "List, show and make profiles: links, hosts, devices, systems, NICs, fabrics."),
    "suites": ("suites:app", "List and show suites of tests: transfers, messages, fabrics."),
    "devices": ("devices:app", "List, show and bind the devices that tests run on."),
    "fabric": ("fabric:app", "Estimate and simulate routable fabrics: each flow's share, and who limits whom."),
}
"""Each command's module and name within it, and its purpose in one line."""

QUESTIONS = {
    "What should it give?": ("model", "expect", "normal", "design"),
    "Why is it less?": ("why", "explain", "tlp", "doctor"),
    "What would it give?": ("run", "sweep", "explore", "fabric", "trace", "simbricks"),
    "What did a run give?": ("report", "compare", "runs", "export", "import", "paper"),
    "On which machine, with what?": ("profiles", "suites", "devices", "calibrate", "validate"),
}
"""The commands by what is asked: panels of the help, in order."""

FORMER = {"figure": "paper:figure", "findings": "paper:findings"}
"""Former names of commands of `paper`, hidden, and gone with the next release."""
FORMER_OPTIONS = {"explain": {"--picture": "--output"}, "fabric explain": {"--picture": "--output"}}
"""Former spellings of options, by command: they keep working, and no help shows them."""

_MARKUP: Literal["markdown"] = "markdown"


class _Commands(TyperGroup):
    """Lists the commands without loading them; loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for question, names in QUESTIONS.items():
            for name in names:
                self.add_command(TyperCommand(name, help=COMMANDS[name][1], rich_help_panel=question))
        for name in FORMER:
            self.add_command(TyperCommand(name, hidden=True))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and _loaded(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Typer may have a click of its own, so that the class of the error is not known here.
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):
                _add_hint(error)
            raise


def _loaded(name: str) -> Any:
    """A command with its options, or a group with its commands."""
    path, purpose = COMMANDS[name] if name in COMMANDS else (FORMER[name], "")
    module, _, attribute = path.partition(":")
    found = getattr(importlib.import_module(f"pcielab.cli.{module}"), attribute)
    holder = typer.Typer(rich_markup_mode=_MARKUP, add_completion=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name, help=purpose, no_args_is_help=True)
    else:
        holder.command(name)(found)
    command: Any = typer.main.get_group(holder).commands[name]
    keep_inputs(command)
    read_quantities(command)
    for words, spellings in FORMER_OPTIONS.items():
        first, *rest = words.split()
        if first == name:
            _keep_spellings(command.commands[rest[0]] if rest else command, spellings)
    return command


def _keep_spellings(command: Any, spellings: Mapping[str, str]) -> None:
    """Make a command read former spellings of its options: `--picture FILE` or `--picture=FILE`."""
    parse = command.parse_args

    def parse_args(ctx: Any, args: list[str]) -> Any:
        parts = [argument.partition("=") for argument in args]
        return parse(ctx, [spellings.get(option, option) + equals + value for option, equals, value in parts])

    command.parse_args = parse_args


def _add_hint(error: Any) -> None:
    """Name the options that have the parts of an unknown option."""
    from pcielab.library.alike import alike, either, with_most_parts, with_parts

    parameters = error.ctx.command.params if error.ctx is not None else []
    known = [option[2:] for one in parameters for option in one.opts if option.startswith("--")]
    word = error.option_name.lstrip("-")
    found = with_parts(word, known) or with_most_parts(word, known) or alike(word, known)
    if found:
        error.message = f"{error.message}. Did you mean {either([f'--{name}' for name in found])}?"
        error.possibilities = None


def _version(show: bool) -> None:
    if show:
        from pcielab import __version__
        from pcielab.cli.output import print_data

        print_data(f"pcielab {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="pcielab",
    cls=_Commands,
    help="Model, simulate, measure and explain PCIe performance.",
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
