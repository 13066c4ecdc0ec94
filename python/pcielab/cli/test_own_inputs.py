"""No command writes over its own input."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pcielab.cli.commands import COMMANDS, app
from pcielab.cli.own_inputs import is_output, keep_inputs
from pcielab.errors import InputError

_TRACE = "# pcielab trace 1\n0 read 0 64\n"
_FABRIC = 'title = "a machine"\n'


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for inner_name, inner in command.commands.items():
        yield from _leaves(inner, f"{name} {inner_name}")


def _commands() -> list[tuple[str, Any]]:
    import typer

    group = typer.main.get_group(app)
    return [
        leaf
        for name in COMMANDS
        for leaf in _leaves(group.resolve_command(None, [name])[1], name)  # type: ignore[arg-type]
    ]


def _is_file(parameter: Any) -> bool:
    """Whether a parameter can name a file: a path or a text."""
    return parameter.type.name in ("path", "str")


def test_every_command_that_overwrites_has_an_output_that_is_checked() -> None:
    commands = [(name, command) for name, command in _commands() if _overwrites(command)]
    assert len(commands) > 20
    for name, command in commands:
        assert any(is_output(parameter) for parameter in command.params), name


def test_each_output_of_each_command_is_refused_when_it_is_one_of_its_inputs(tmp_path: Path) -> None:
    file, link = tmp_path / "a.toml", tmp_path / "link.toml"
    file.write_text(_FABRIC)
    link.symlink_to(file)
    tried = 0
    for _, command in _commands():
        for output in filter(is_output, command.params):
            for given in command.params:
                if is_output(given) or not _is_file(given):
                    continue
                several = given.multiple or given.nargs == -1
                values = {output.name: link, given.name: [str(file)] if several else file}
                with pytest.raises(InputError, match="is also an input of this command"):
                    command.callback(**values)
                tried += 1
    assert tried >= 50
    assert file.read_text() == _FABRIC


def _overwrites(command: Any) -> bool:
    return any("--overwrite" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize("way", ["same", "other path", "hard link", "link"])
def test_a_trace_is_not_replaced_by_its_own_transfers(way: str, tmp_path: Path) -> None:
    trace, output = tmp_path / "a.trace", tmp_path / "b.trace"
    trace.write_text(_TRACE)
    match way:
        case "same":
            output = trace
        case "other path":
            output = tmp_path / ".." / tmp_path.name / "a.trace"
        case "hard link":
            os.link(trace, output)
        case "link":
            output.symlink_to(trace)
    with pytest.raises(
        InputError, match=r"is also an input of this command \(.*a\.trace\): give --output another"
    ):
        _run("trace", "play", trace, "-o", output, "--overwrite")
    assert trace.read_text() == _TRACE


def test_a_folder_that_holds_the_input_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    folder.mkdir()
    (folder / "run.db").write_text("a store")
    with pytest.raises(InputError, match="holds an input of this command"):
        _run("export", "pcie-bench", folder / "run.db", "-o", folder, "--overwrite")


def test_a_name_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output may have the name of a shipped profile."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        _run("trace", "record", "--profile", "snb", "--transactions", "1", "-o", "snb", "--overwrite")
    assert Path("snb").read_text().startswith("# pcielab trace")


def test_an_output_beside_its_input_is_written(tmp_path: Path) -> None:
    trace, output = tmp_path / "a.trace", tmp_path / "a.csv"
    trace.write_text(_TRACE)
    output.write_text("old")
    _run("trace", "play", trace, "-o", output, "--overwrite")
    assert output.read_text().startswith("ready_ps,")


def test_pipes_and_terminals_may_be_both() -> None:
    """A terminal that is input and output is not overwritten."""

    class Option:
        def __init__(self, name: str) -> None:
            self.name, self.opts = name.strip("-"), [name]

    class Command:
        params = (Option("--output"), Option("--trace"))

        @staticmethod
        def callback(**values: Any) -> Any:
            return values["output"]

    command = Command()
    keep_inputs(command)
    null = Path(os.devnull)
    assert command.callback(output=null, trace=null) == null


def _run(*arguments: str | Path) -> None:
    app([str(one) for one in arguments], standalone_mode=False)
