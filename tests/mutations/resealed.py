"""Sound stores whose numbers were changed afterwards, with digests that match the changes.

A number may become one that no run has, or an extreme one that a run may have; units, subjects, names, ticks, bins
and counts change, too, and numbers are left out. Every command that reads stores then refuses the store in one
line that names it, or prints tables without `nan` and `inf` and JSON that is valid.
"""

import contextlib
import io
import json
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Literal

import click
from stores import SEEDS
from typer.main import get_command

from pcielab import InputError
from pcielab.cli import commands
from pcielab.errors import RunError
from pcielab.formats.exporters import EXPORTERS
from pcielab.store.test_store import digest_of

Draw = random.Random
_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-30, 1e-12, 1e-3, 1e6, 1e9, 1e12, 1e15, 1e17, 1e18, -1e17]
"""Numbers that some metric may have."""
_WRONG = [5e-324, 1e-300, 1e-31, 1e300, 1e308, -1e308, -5e-324, float("inf"), float("-inf"), 2.0**63, 0.1]
_FACTORS = [-1.0, 0.0, 1e-15, 1e-6, 0.001, 0.5, 2.0, 1000.0, 1e6, 1e12, 1e300]
_UNITS = ["ns", "us", "B", "Gb/s", "GB/s", "MB/s", "1/s", "1", "", "%", "ns\x1b[2J", "1/MiB"]
_COUNTS = [0, 1, 2, 7, 10**6, 10**12, 10**15, 10**15 + 1, 2**53, 2**63 - 1]
_BINS = [0, 1, -1, 10**6, 10**12, 10**17, 2**53, 2**63 - 1, -(2**63)]
_TICKS = [
    "1",
    "1/1",
    "40/3",
    "1/1000000000",
    "100000000000000000",
    "0",
    "1/0",
    "0/1",
    "-1",
    "1.5",
    "x",
    "",
    "1e308",
]
_MESSAGES = [None, "", "x", "a" * 500]
_WORDS = re.compile(r"(?<![\w.-])[-+]?(nan|NaN|inf|Infinity)(?![\w.-])")
"""Numbers that are none, in a table; in JSON they are no words at all."""
_COMMANDS = 3
"""Commands that read a store."""
_SLOW = {"report": 0.05, "export pcie-bench": 0.1, "calibrate": 0.3, "why frames": 0.02}
"""Commands, of one kind of run or of all, that take three to a hundred times as long as the others, and how often
each is drawn for one of those."""
_PAGES = 0.1
"""The same for a command that writes a page."""
_REFUSED = re.compile(r"-?inf:[\s│]+a[\s│]+store[\s│]+has")
"""Why `runs` cannot read a store, perhaps on two lines of its table."""
Change = Callable[[Draw, sqlite3.Connection], None]


def reseal(connection: sqlite3.Connection) -> None:
    """Give each test the digest of its rows."""
    for [test] in connection.execute("SELECT id FROM test").fetchall():
        connection.execute("UPDATE test SET digest = ? WHERE id = ?", [digest_of(connection, test), test])


def _number(draw: Draw, old: float) -> float:
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(_NUMBERS)
    return draw.choice(_WRONG) if kind < 0.6 else old * draw.choice(_FACTORS)


def _some(draw: Draw, connection: sqlite3.Connection, columns: str, table: str) -> tuple[Any, ...] | None:
    """A random row of a table; None of an empty one."""
    [count] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    if not count:
        return None
    row: tuple[Any, ...] = connection.execute(
        f"SELECT {columns} FROM {table} LIMIT 1 OFFSET ?", [draw.randrange(count)]
    ).fetchone()
    return row


def _value(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change the value of a metric of one test, or of all."""
    if found := _some(draw, connection, "test, subject, metric, value", "scalar"):
        test, subject, metric, old = found
        new = _number(draw, old)
        if draw.random() < 0.5:
            connection.execute("UPDATE scalar SET value = ? WHERE metric = ?", [new, metric])
        else:
            where = "test = ? AND subject = ? AND metric = ?"
            connection.execute(f"UPDATE scalar SET value = ? WHERE {where}", [new, test, subject, metric])


def _all_values(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change all values of a unit, or of a test."""
    if found := _some(draw, connection, "test, unit", "scalar"):
        column = draw.choice(["test", "unit"])
        key = found[column == "unit"]
        new = draw.choice(["value * ?", "?"])
        number = draw.choice(_FACTORS if "*" in new else _NUMBERS)
        connection.execute(f"UPDATE OR IGNORE scalar SET value = {new} WHERE {column} = ?", [number, key])


def _word(column: Literal["unit", "subject", "metric"]) -> Change:
    """Change a unit, a subject or a name, of one number or wherever it is."""

    def change(draw: Draw, connection: sqlite3.Connection) -> None:
        found = _some(draw, connection, f"test, metric, subject, {column}", "scalar")
        if found is None:
            return
        others = [row[0] for row in connection.execute(f"SELECT DISTINCT {column} FROM scalar")]
        new = draw.choice(
            [*others, *(_UNITS if column == "unit" else ["", "x", "condition", "median", "bandwidth"])]
        )
        test, metric, subject, old = found
        where, values = ("test = ? AND metric = ? AND subject = ?", [test, metric, subject])
        if draw.random() < 0.5:
            where, values = f"{column} = ?", [old]
        connection.execute(f"UPDATE OR IGNORE scalar SET {column} = ? WHERE {where}", [new, *values])

    return change


def _less(draw: Draw, connection: sqlite3.Connection) -> None:
    """Leave numbers out: a metric, a subject, or all of a test."""
    table = draw.choice(["scalar", "scalar", "scalar", "distribution", "series"])
    column = draw.choice(["metric", "test", *(["subject"] if table == "scalar" else [])])
    if found := _some(draw, connection, f"{column}, test", table):
        only = " AND test = ?" if draw.random() < 0.5 else ""
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?{only}", found if only else found[:1])


def _histogram(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change a tick, a bin or a count."""
    if found := _some(draw, connection, "test, metric, bin", "distribution"):
        column, values = draw.choice([("tick", _TICKS), ("bin", _BINS), ("count", _COUNTS)])
        one = " AND bin = ?" if column == "bin" or (column == "count" and draw.random() < 0.5) else ""
        where = f"test = ? AND metric = ?{one}"
        connection.execute(
            f"UPDATE OR IGNORE distribution SET {column} = ? WHERE {where}",
            [draw.choice(values), *(found if one else found[:2])],
        )


def _series(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change a value of a series, or cut it."""
    if found := _some(draw, connection, 'test, metric, "index", value', "series"):
        test, metric, index, old = found
        where = 'test = ? AND metric = ? AND "index"'
        if draw.random() < 0.3:
            connection.execute(f"DELETE FROM series WHERE {where} > ?", [test, metric, index])
        else:
            connection.execute(f"UPDATE series SET value = ? WHERE {where} = ?", [_number(draw, old), *found[:3]])


def _status(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change how a test ended, without a change of its numbers."""
    if found := _some(draw, connection, "id", "test"):
        status = draw.choice(["ok", "not-supported", "failed", "interrupted"])
        connection.execute(
            "UPDATE test SET status = ?, message = ? WHERE id = ?", [status, draw.choice(_MESSAGES), *found]
        )


def _parameter(draw: Draw, connection: sqlite3.Connection) -> None:
    """Change a number among the parameters of a test, or of all."""
    if found := _some(draw, connection, "id, parameters", "test"):
        keys = [key for key, value in json.loads(found[1]).items() if isinstance(value, int | float)]
        key = draw.choice(keys or ["size_bytes"])
        new = draw.choice(
            [*(number for number in _NUMBERS + _WRONG if abs(number) < float("inf")), 0, 1, 64, None]
        )
        for test, text in connection.execute("SELECT id, parameters FROM test").fetchall():
            if test == found[0] or draw.random() < 0.3:
                changed = json.dumps(json.loads(text) | {key: new}, sort_keys=True, separators=(",", ":"))
                connection.execute("UPDATE test SET parameters = ? WHERE id = ?", [changed, test])


_CHANGES: list[Change] = [
    *[_value] * 8, *[_all_values] * 3, _word("unit"), _word("subject"), _word("metric"), *[_less] * 2,
    *[_histogram] * 2, _series, _status, _parameter,
]  # fmt: skip


@cache
def command_line() -> click.Command:
    """The command line, for any number of calls in this process."""
    # Each call would make the command's options again.
    commands._loaded = cache(commands._loaded)
    return get_command(commands.app)


def called(arguments: Sequence[str]) -> tuple[str, str]:
    """What a command writes on stdout and stderr, in this process."""
    out, error = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            command_line()(list(arguments), standalone_mode=False)
        except SystemExit:
            pass
        except RunError as failed:  # a comparison that fails as asked
            print(failed, file=sys.stderr)
        out.flush(), error.flush()
    return tuple(stream.buffer.getvalue().decode() for stream in (out, error))  # type: ignore[attr-defined,return-value]


def _refuse_constant(word: str) -> float:
    raise AssertionError(f"invalid JSON: {word}")


def check_output(arguments: Sequence[str], out: str, error: str) -> None:
    """Raise AssertionError unless an output has only numbers that are some, and valid JSON where it is JSON."""
    if "json" in arguments and out:
        json.loads(out, parse_constant=_refuse_constant)
    # The published format writes sections that it lacks in this way.
    for text in (_REFUSED.sub("", out), error.replace("are filled with NaN", "")):
        if found := _WORDS.search(text):
            line = next(line for line in text.splitlines() if _WORDS.search(line))
            raise AssertionError(f"{' '.join(arguments)}: {found[0]} in {line.strip()[:200]!r}")
        if "defect of pcielab" in text:
            raise AssertionError(f"{' '.join(arguments)}: {text[text.index('defect of') - 100 :][:300]!r}")


def check_file(path: Path) -> None:
    """Raise AssertionError unless a written file has only numbers that are some, and valid JSON."""
    text = path.read_text(encoding="utf-8") if path.suffix in (".json", ".csv", ".html") and path.is_file() else ""
    if path.suffix == ".json":
        json.loads(text, parse_constant=_refuse_constant)
    shown = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    if found := _WORDS.search(shown):
        around = shown[max(0, found.start() - 150) : found.end() + 50]
        raise AssertionError(f"{path.name}: {found[0]} in {around!r}")
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL):
        json.loads(data, parse_constant=_refuse_constant)


def _readers(path: str, sound: str, folder: str) -> Iterable[list[str]]:
    """The commands that read a store, each with its arguments."""
    for form in ("table", "json", "csv"):
        yield ["why", path, "--format", form]
        yield ["normal", path, "--format", form]
        yield ["explain", path, "--format", form]
        yield ["compare", path, sound, "--format", form]
        yield ["compare", sound, path, "--format", form]
        yield ["calibrate", path, "-o", f"{folder}/twin.toml", "--overwrite", "--format", form]
        yield ["runs", folder, "--format", form]
    for test in ("0", "4"):
        yield ["why", path, "--test", test]
        yield ["explain", path, "--test", test]
    yield ["why", path, sound]
    yield ["why", sound, path]
    yield ["explain", path, sound]
    yield ["compare", path, sound, "--summary"]
    yield ["compare", path, sound, "--fail-above", "5%"]
    yield ["compare", path, sound, "-o", f"{folder}/pair.html", "--overwrite"]
    yield ["report", path, "-o", f"{folder}/report.html", "--overwrite"]
    yield ["report", path, sound, "-o", f"{folder}/report.html", "--overwrite"]
    for kind in EXPORTERS:
        yield ["export", kind, path, "-o", f"{folder}/run.{kind}", "--overwrite"]


def _weight(arguments: Sequence[str], kind: str) -> float:
    """How often a command is drawn for a store of this kind, for one of a command that is quick."""
    first, second = arguments[:2]
    is_page = any(word.endswith(".html") for word in arguments)
    weights = (_SLOW.get(words) for words in (first, f"{first} {second}", f"{first} {kind}"))
    return next(filter(None, weights), _PAGES if is_page else 1.0)


def _drawn(draw: Draw, commands: Iterable[list[str]], kind: str) -> list[list[str]]:
    """A few commands, by their weight."""

    def place(arguments: Sequence[str]) -> float:
        return draw.random() ** (1 / _weight(arguments, kind))

    return sorted(commands, key=place, reverse=True)[:_COMMANDS]


def read_by(arguments: Sequence[str]) -> None:
    """Run a command that reads a store, and check what it writes."""
    check_output(arguments, *called(arguments))
    if "-o" in arguments:
        check_file(Path(arguments[arguments.index("-o") + 1]))


def load_pages(folder: Path) -> None:
    """Load what pages need, once for all processes that are made afterwards: seconds."""
    read_by(["report", str(folder / SEEDS / "transfers.db"), "-o", str(folder / "loaded.html")])


def resealed(draw: Draw, folder: Path) -> None:
    """A store with changed numbers, read by a few commands."""
    seeds = sorted((folder.parent / SEEDS).glob("*.db"))
    whole, path = draw.choice(seeds), folder / "run.db"
    shutil.copyfile(whole, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            draw.choice(_CHANGES)(draw, connection)
        reseal(connection)
    refused = 0
    for arguments in _drawn(draw, _readers(str(path), str(whole), str(folder)), whole.stem):
        try:
            read_by(arguments)
        except InputError as error:
            refused += 1
            if path.name not in str(error):
                raise AssertionError(f"{' '.join(arguments)}: does not name the store: {error}") from None
    if refused == _COMMANDS:
        raise InputError(f"{path}: refused by every command that was tried")


KINDS = {"sealed-numbers": resealed}
