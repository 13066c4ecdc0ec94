"""`pcielab design`: the cheapest device that meets its targets on its hosts, or the corners of a device."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.completion import profile_names
from pcielab.cli.output import Cell, Format, FormatOption, print_rows, say
from pcielab.errors import refusal

if TYPE_CHECKING:
    from pcielab.design import Corner, Design

_ANSWER, _REPORT = "answer.json", "report.html"


def design(
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="The design: a TOML file.", show_default=False)
    ] = None,
    attack: Annotated[
        str | None,
        typer.Option(
            "--attack",
            metavar="SYSTEM",
            help="Find the tests at which this system's device reaches least: a name or a file.",
            autocompletion=profile_names("system"),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Folder that keeps every simulated test."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an existing folder.")] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", min=0, max=1024, help="Tests to simulate at once; 0 means one per core.")
    ] = 0,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Use the workers of this Dask scheduler: tcp://HOST:PORT."),
    ] = None,
    front: Annotated[
        bool, typer.Option("--front/--no-front", help="Also find what each target costs, and other levels of it.")
    ] = True,
    corners: Annotated[
        bool, typer.Option("--corners/--no-corners", help="Also search the worst corners of the design.")
    ] = True,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Find the cheapest device that meets its targets on these hosts, or the corners of a device.

    SPEC has hosts, targets (`at_least_gbps`, `at_most_p99_9_ns`, ...) and free keys with their values and costs.
    The answer is the cheapest combination that meets all targets on all hosts, what binds on each of them, which
    target costs most, how the cost grows with each target, and the worst corner of the design. The closed form
    excludes what it can, keys with a direction are bisected, and the simulator decides the rest; the answer
    says how far the optimum can be. The exit code is 1 if no combination meets all targets.

    With `-o`, the folder keeps every simulated test in `points.jsonl`, the answer in `answer.json` and its
    pictures in `report.html`; `--resume` simulates none of them again.

    For example:

        pcielab design nic.toml -o nic

        pcielab design --attack ib-000-nosp
    """
    from pcielab.cli.progress import Bar

    if (spec is None) == (attack is None):
        raise refusal(
            "missing" if spec is None else "conflict", "give SPEC, a design file, or --attack with a system"
        )
    if attack is not None:
        from pcielab.design import attack as attack_system

        with Bar() as bar:
            found = attack_system(attack, output=output, resume=resume, jobs=jobs, dask=dask, progress=bar.update)
        _print_corners(found, attack, output_format)
        return
    from pcielab.design import design as solve

    assert spec is not None
    with Bar() as bar:
        answer = solve(
            spec,
            output=output,
            resume=resume,
            jobs=jobs,
            dask=dask,
            front=front,
            corners=corners,
            progress=bar.update,
        )
    if output is not None:
        _keep(answer, output)
    _print_answer(answer, output_format)
    if not answer.is_met:
        from pcielab.errors import RunError

        raise RunError("no combination meets all targets")


def _keep(answer: "Design", output: Path) -> None:
    """Write the answer, and its report where the packages for pictures are installed."""
    import json

    from pcielab.extras import ExtraMissingError
    from pcielab.outputs import write_file

    write_file(output / _ANSWER, (json.dumps(answer.to_dict(), indent=1) + "\n").encode(), overwrite=True)
    try:
        from pcielab.design.pictures import page

        write_file(output / _REPORT, page(answer).encode(), overwrite=True)
    except ExtraMissingError as missing:
        say(f"note: {_REPORT} is not written: {missing}")


def _print_answer(answer: "Design", output_format: Format) -> None:
    if output_format is Format.JSON:
        from pcielab.cli.output import print_data
        from pcielab.strict_json import strict_json

        print_data(strict_json(answer.to_dict()))
        return
    rows = [dict(row.to_dict()) for row in answer.reached]
    if output_format is Format.CSV:
        print_rows(rows, output_format)
        return
    from pcielab.cli.output import print_text

    print_text("\n".join(answer.sentences))
    print_rows(rows, output_format, f"{answer.origin}: the design on each host")
    if answer.levels:
        print_rows(_level_rows(answer), output_format, f"{answer.origin}: the cheapest design at other levels")
    if answer.corners:
        _print_corners(answer.corners, answer.name, output_format)


def _level_rows(answer: "Design") -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for level in answer.levels:
        limit = "none" if level.limit is None else f"{level.limit:.6g}"
        rows.append({"target": level.target, "limit": limit, "cost": level.cost, **level.design})
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key) for key in keys} for row in rows]


def _print_corners(corners: "tuple[Corner, ...] | list[Corner]", of: str, output_format: Format) -> None:
    rows: list[dict[str, Cell]] = [
        {
            "corner": corner.what,
            "host": corner.host,
            "share_percent": 100 * corner.share,
            "drop_percent": 100 * corner.drop,
            "value": corner.value,
            "unit": corner.unit,
            "sizes": " ".join(str(size) for size in corner.drops),
            "command": corner.command,
        }
        for corner in corners
    ]
    print_rows(rows, output_format, f"simulated: the corners of {of}, the lowest share first")
