"""`pcielab suites`: what is shipped, and the tests of a suite."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcielab.cli.completion import suite_names
from pcielab.cli.output import Cell, Format, print_frame, print_rows, print_text, say
from pcielab.errors import InputError
from pcielab.library import catalog, shipped
from pcielab.library.shipped import SuiteKind

if TYPE_CHECKING:
    from pcielab.fabric import FabricSuite
    from pcielab.store import Store

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
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """List the shipped suites. Fabric suites are for `fabric run`, the others for `run`."""
    rows: list[dict[str, Cell]] = [
        {"kind": one, "name": name, "tests": len(_tests(one, name)), "title": shipped.title(path)}
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


@app.command()
def validate(
    run_path: Annotated[Path, typer.Argument(metavar="RUN.db", help="A run of a suite of published experiments.")],
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
) -> None:
    """Compare every number that a paper gives with a run: simulated, estimated, error, reason.

    A latency or bandwidth is `within` if it is at most 5 % off, a share if it is at most 3 points off, rounding of
    the published number allowed for. What is further off is `explained`, or is `off`. A number that the profile
    was given is an `input`; it is no prediction, and the score leaves it out.

    For example:

        pcielab run --suite kpio -o messages.db

        pcielab suites validate messages.db

        pcielab fabric run fabrex-u55c --suite rpciebench -o experiments.db

        pcielab suites validate experiments.db --format csv
    """
    from pcielab.analysis.published_values import compare_with_published, score
    from pcielab.store import open_store

    store = open_store(run_path)
    compared = compare_with_published(store)
    if compared is None:
        raise InputError(
            f"{run_path}: of suite {store.manifest.get('suite')} no numbers are published: give a run of "
            "`pcielab run --suite kpio`, or of `pcielab fabric run fabrex-u55c --suite rpciebench`"
        )
    _say_unsteady(store)
    if output_format is not Format.TABLE:
        print_frame(compared, output_format)
        return
    print_frame(compared.drop(columns=["reason"]), output_format, "Published and simulated")
    for (verdict, reason), rows in compared.groupby(["verdict", "reason"], sort=False):
        print_text(f"{len(rows)} {verdict}: {reason}")
    print_text(score(compared))


def _say_unsteady(store: "Store") -> None:
    """Warn where averages of flows are not those of a steady state."""
    from pcielab.store.flows import flow_table

    flows = flow_table(store) if store.kind == "fabric" else None
    if flows is not None and "note" in flows:
        count = int(flows["note"].notna().sum())
        say(f"{count} flows are not steady: see `note` in `pcielab export csv`")


def _tests(kind: SuiteKind, name: str) -> list[dict[str, Any]]:
    """The tests of a suite: `family`, `name`, `parameters`."""
    if kind == "fabric":
        from pcielab import fabric

        return _experiments(fabric.load_fabric_suite(name))
    from pcielab.library import suites

    suite = suites.load_message_suite(name) if kind == "messages" else suites.load_suite(name)
    return suite.tests


def _experiments(suite: "FabricSuite") -> list[dict[str, Any]]:
    """The simulations of a suite of a fabric, each named by its series."""
    return [
        {
            "family": point.experiment.family,
            "name": point.experiment.series,
            "parameters": {
                "flows": " ".join(point.frame()["name"]),
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
    """A row for each family, in the order in which they come first."""
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
