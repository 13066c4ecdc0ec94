"""`pcielab suites`: what is shipped, and the tests of a suite."""

from typing import Annotated, Any

import typer

from pcielab.cli.output import Cell, Format, print_rows

app = typer.Typer()

Formats = Annotated[
    Format, typer.Option("--format", help="Table: one row a family. CSV and JSON: one row a test, in run order.")
]


@app.command("list")
def list_suites(
    output_format: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = Format.TABLE,
) -> None:
    """List the shipped suites."""
    from pcielab import suites

    rows: list[dict[str, Cell]] = []
    for name in suites.names():
        suite = suites.load_suite(name)
        rows.append({"name": suite.name, "tests": len(suite.tests), "title": suite.title})
    for name in suites.message_suite_names():
        messages = suites.load_message_suite(name)
        rows.append({"name": messages.name, "tests": len(messages.tests), "title": messages.title})
    print_rows(rows, output_format)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A shipped suite, or a file (*.toml).")],
    output_format: Formats = Format.TABLE,
) -> None:
    """Show the families of a suite, or all its tests."""
    from pcielab import suites

    suite = suites.load_message_suite(name) if suites.is_message_suite(name) else suites.load_suite(name)
    if output_format is Format.TABLE:
        print_rows(_families(suite.tests), output_format, title=f"{suite.title}: {len(suite.tests)} tests")
    else:
        print_rows([_flat(test) for test in suite.tests], output_format)


def _families(tests: list[dict[str, Any]]) -> list[dict[str, Cell]]:
    """A row for each family, in the order in which they come first."""
    counted: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        counted.setdefault(test["family"], []).append(test)
    return [
        {
            "family": family,
            "tests": len(members),
            "benchmarks": " ".join(dict.fromkeys(test["name"] for test in members)),
        }
        for family, members in counted.items()
    ]


def _flat(test: dict[str, Any]) -> dict[str, Cell]:
    return {"family": test["family"], "name": test["name"], **test["parameters"]}
