"""`pcielab suites`: list suites and show their tests."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import suite_names
from pcielab.cli.output import Cell, Format, FormatOption, print_rows
from pcielab.cli.paper import validate
from pcielab.library import catalog, shipped
from pcielab.library.shipped import SuiteKind

if TYPE_CHECKING:
    from pcielab.fabric import FabricSuite

app = typer.Typer()

Formats = Annotated[
    Format,
    typer.Option(
        "--format",
        help="Output format. A table has one row per family; CSV and JSON have one row per test in run order.",
    ),
]


@app.command("list")
def list_suites(
    kind: Annotated[SuiteKind | None, typer.Option("--kind", help="Only this kind.")] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """List the shipped suites. `pcielab fabric run` takes fabric suites, `pcielab run` the others."""
    rows: list[dict[str, Cell]] = [
        {"kind": one, "name": name, "tests": _count(one, name), "title": shipped.title(path)}
        for one in ([kind] if kind else shipped.SUITE_FOLDERS)
        for name, path in shipped.suite_files(one).items()
    ]
    print_rows(rows, output_format)


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A shipped suite of any kind, or a file (*.toml).",
            autocompletion=suite_names(*shipped.SUITE_FOLDERS),
        ),
    ],
    output_format: Formats = Format.TABLE,
) -> None:
    """Show the families of a suite, or all its tests."""
    tests = _tests(catalog.suite_kind(name), name)
    if output_format is Format.TABLE:
        print_rows(_families(tests), output_format, title=f"{name}: {len(tests)} tests")
    else:
        print_rows([_flat(test) for test in tests], output_format)


app.command(hidden=True)(validate)


def _count(kind: SuiteKind, name: str) -> int:
    """The number of tests of a suite; those of a fabric are counted without a look at their flows."""
    if kind == "fabric":
        from pcielab import fabric

        return sum(experiment.count for experiment in fabric.load_fabric_suite(name).experiment)
    return len(_tests(kind, name))


def _tests(kind: SuiteKind, name: str) -> list[dict[str, Any]]:
    """The tests of a suite: `family`, `name`, `parameters`."""
    if kind == "fabric":
        from pcielab import fabric

        return _experiments(fabric.load_fabric_suite(name))
    from pcielab.library import suites

    suite = suites.load_message_suite(name) if kind == "messages" else suites.load_suite(name)
    return suite.tests


def _experiments(suite: "FabricSuite") -> list[dict[str, Any]]:
    """The simulations of a fabric suite, each named by its series."""
    return [
        {
            "family": point.experiment.family,
            "name": point.experiment.series,
            "parameters": {
                "flows": " ".join(point.flow_names),
                "sweep": point.experiment.sweep,
                "value": point.value,
                "discipline": point.experiment.discipline,
                "warm_up_us": point.experiment.warm_up_us,
                "duration_us": point.experiment.duration_us,
            },
        }
        for point in suite.points()
    ]


def _families(tests: list[dict[str, Any]]) -> list[dict[str, Cell]]:
    """A row for each family, in order of first appearance."""
    counted: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        counted.setdefault(test["family"], []).append(test)
    return [
        {
            "family": family,
            "tests": len(members),
            "benchmarks": "; ".join(dict.fromkeys(test["name"] for test in members)),
        }
        for family, members in counted.items()
    ]


def _flat(test: dict[str, Any]) -> dict[str, Cell]:
    return {"family": test["family"], "name": test["name"], **test["parameters"]}
