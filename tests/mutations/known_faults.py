"""Every fault that changed inputs ever showed: its smallest input, by name.

Whoever finds a fault by changing inputs adds a row. Faults of other campaigns are rows elsewhere: files that are
costly to read in `test_costly_inputs.py`, tricks of SQLite in `sqlite_tricks.py`, texts that no picture holds in
`report/test_specification.py`, bounds that random systems exceeded in `test_random_systems.py`.
"""

import copy
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
import uses
from kinds import LSPCI, QUESTION, SWEEP, short_experiments, tables, two_groups, whole_systems
from machines import examined
from resealed import read_by, reseal
from stores import SEEDS

from made_machine import server, write
from pcielab._core import StoreWriter, read_sizes
from pcielab.analysis.calibrate.measured import read_pack
from pcielab.analysis.explain import explain_run
from pcielab.charts.run import runs_of
from pcielab.doctor import read_file, read_lspci_file, read_sysfs
from pcielab.formats.exporters import export
from pcielab.kinds.beside_published import compare_with_published
from pcielab.kinds.explained import matching
from pcielab.kinds.transfers.summary import summary
from pcielab.report.provenance import provenance
from pcielab.store import Store, open_store

Input = Callable[[Path], object]
"""Makes an input in a folder, and uses it."""


@dataclass(frozen=True)
class Fault:
    """A fault that was found once.

    Attributes:
        kind: Kind of input.
        name: What is in the input.
        went_wrong: What it did before it was mended.
        try_it: Makes the input in a folder, and uses it.
        refused: Part of the message that refuses it; None if it is accepted.
    """

    kind: str
    name: str
    went_wrong: str
    try_it: Input
    refused: str | None


Table = dict[str, Any]
Use = Callable[[Path], object]
DIGITS = "9" * 5_000
BRACKETS = "[" * 20_000
REPEATED = "05:00.0 Ethernet controller: a\n\tCapabilities: [40] Express (v2{}) Endpoint\n\n"
PACK = "family,test,cache,window_bytes,size_bytes\n"


def text(use: Use, content: str | bytes, name: str = "mine.toml") -> Input:
    """A file with that content."""

    def try_it(folder: Path) -> object:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return use(path)

    return try_it


def changed(use: Use, seed: Callable[[], Table], changes: Table) -> Input:
    """A TOML file with some values changed, by their dotted keys."""

    def try_it(folder: Path) -> object:
        content = seed()
        for key, value in changes.items():
            content = replaced(content, key, value)
        return text(use, tomli_w.dumps(content))(folder)

    return try_it


def replaced(content: Table, key: str, value: Any) -> Table:
    """A copy with the value of a dotted key changed; `...` deletes it."""
    copied: Table = copy.deepcopy(content)
    *above, last = (int(step) if step.isdecimal() else step for step in key.split("."))
    holder: Any = copied
    for step in above:
        holder = holder[step] if isinstance(step, int) else holder.setdefault(step, {})
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return copied


def system(key: str, value: Any) -> Input:
    """A whole system with one value changed."""
    return changed(uses.system, lambda: whole_systems()[0], {key: value})


def sleepy_system() -> Table:
    """A system with idle states."""
    return next(content for content in whole_systems() if "idle" in content["host"])


def with_clusters(count: int) -> Table:
    """A system with that many idle states."""
    found = sleepy_system()
    return replaced(found, "host.idle.clusters", found["host"]["idle"]["clusters"][:1] * count)


def setting(*given: str) -> Input:
    """Changes as `--set` takes them."""
    return lambda _folder: uses.changes(list(given))


def quick() -> Table:
    """A suite of two groups."""
    return two_groups("suites/quick.toml")[0]


def suite(key: str, value: Any) -> Input:
    """A suite with one value of its first group changed."""
    return changed(uses.suite, quick, {f"group.0.{key}": value})


def messages(key: str, value: Any) -> Input:
    """A suite of messages with one value of its first group changed."""
    return changed(
        uses.message_suite, lambda: two_groups("suites/messages/kpio.toml")[0], {f"group.0.{key}": value}
    )


def recorded(name: str, old: str, new: str, use: Callable[[Path, Path], object]) -> Input:
    """A folder in the published format in which a file is changed by a regular expression."""

    def try_it(folder: Path) -> object:
        own = folder / "published"
        own.mkdir()
        for path in (folder.parent / "published").iterdir():
            content = path.read_text(encoding="utf-8")
            if path.name == name:
                content, count = re.subn(old, lambda _found: new, content, count=1, flags=re.MULTILINE)
                assert count == 1, f"{old} is not in {name}"
            (own / name if path.name == name else own / path.name).write_text(content, encoding="utf-8")
        return use(own, folder / "run.db")

    return try_it


def calibrated(folder: Path, _output: Path) -> None:
    """Read the folder for calibration."""
    uses.measured(folder)


def lspci(old: str, new: str, name: str = "mine", device: str | None = None) -> Input:
    """A text of lspci with every occurrence of a part changed."""
    assert old in LSPCI
    return lambda folder: uses.lspci_text(LSPCI.replace(old, new), name, device, folder / "mine.toml")


def question(**changes: Any) -> Input:
    """A question of a page with some values changed."""
    return lambda _folder: uses.question(QUESTION | changes)


def machine(change: Callable[[Path], object]) -> Input:
    """A changed folder like /sys; `change` gets that of the last function."""

    def try_it(folder: Path) -> None:
        root = folder / "machine"
        write(root, server())
        change(sorted((root / "sys/bus/pci/devices").iterdir())[-1].resolve())
        examined(read_sysfs(root))

    return try_it


def linked(name: str, target: str) -> Callable[[Path], object]:
    """A change that makes a file of a function a link."""

    def change(function: Path) -> None:
        (function / name).unlink(missing_ok=True)
        (function / name).symlink_to(target)

    return change


def piped(function: Path) -> None:
    """Make an attribute of a function a pipe."""
    (function / "vendor").unlink()
    os.mkfifo(function / "vendor")


def saved(tree: str) -> Input:
    """A saved tree."""
    content = f'{{"format":"pcielab-tree-1","pcielab":"0","tree":{tree}}}'
    return text(lambda path: examined(read_file(path)), content, "machine.json")


def store(seed: str, changes: Mapping[str, Any], *uses_of_store: Callable[[Store, Path], object]) -> Input:
    """A store with sound digests in which values of the manifest are changed, or of each test's parameters."""

    def try_it(folder: Path) -> None:
        whole, path = open_store(folder.parent / SEEDS / f"{seed}.db"), folder / "run.db"
        manifest, attachments = dict(whole.manifest), dict(whole.attachments)
        parameters: Mapping[str, Any] = {}
        for key, value in changes.items():
            if key == "parameters":
                parameters = value
            elif key.startswith("sys-"):
                attachments[key] = value
            else:
                manifest = replaced(manifest, key, value)
        with StoreWriter.create(path, json.dumps(manifest), overwrite=True) as writer:
            for record in whole.records():
                own = record["parameters"] | parameters
                own = {key: value for key, value in own.items() if value is not ...}
                shown = json.dumps(own, sort_keys=True, separators=(",", ":"))
                writer.write_test(json.dumps(record | {"parameters": shown}))
            for name, content in attachments.items():
                writer.attach(name, content)
        found = open_store(path)
        for use in uses_of_store:
            use(found, folder)

    return try_it


def numbers(seed: str, change: str, *arguments: str) -> Input:
    """A store whose numbers an SQL statement changes, with matching digests, read by a command.

    Of the command's arguments, STORE is the store, SOUND the unchanged one and OUT a file to write.
    """

    def try_it(folder: Path) -> None:
        whole, path = folder.parent / SEEDS / f"{seed}.db", folder / "run.db"
        shutil.copyfile(whole, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(change)
            reseal(connection)
        words = {"STORE": path, "SOUND": whole, "OUT.csv": folder / "out.csv", "OUT.html": folder / "out.html"}
        words["OUT.toml"] = folder / "twin.toml"
        read_by([str(words.get(word, word)) for word in arguments])

    return try_it


def explained(found: Store, _folder: Path) -> None:
    """Explain a run."""
    explain_run(found)


def searched(found: Store, _folder: Path) -> None:
    """Look for a test by a number of 5,000 digits."""
    matching(found, [DIGITS])


def described(found: Store, _folder: Path) -> None:
    """Describe a run as the head of a report does."""
    [run] = runs_of(found)
    provenance(run), summary([run])


def exported(found: Store, folder: Path) -> None:
    """Export a run in each format of one file."""
    export(found, "parquet", folder / "out.parquet")


def flows(line: str) -> Input:
    """Flows as CSV: the row below the columns source, destination, size_bytes, queue."""
    return text(uses.flows, f"source,destination,size_bytes,queue\n{line}\n", "mine.csv")


def sizes(given: str) -> Input:
    """Sizes on the command line."""
    return lambda _folder: read_sizes(given, "--sizes")


def swept(key: str, value: Any) -> Input:
    """A sweep with one value changed."""
    return changed(uses.sweep, lambda: SWEEP, {key: value})


TRACEBACK, MEMORY, ENDLESS = "ended in a traceback", "took gigabytes", "did not end"
WRONG, CONTROL, FOREIGN = "was read as another number", "sent control characters", "spoke of pydantic"
WITHOUT_STORE = "refused it without its store"
FAULTS: tuple[Fault, ...] = (
    Fault(
        "profiles",
        "a number of 5,000 digits",
        TRACEBACK,
        text(uses.system, f"a = {DIGITS}"),
        "a number has too many digits",
    ),
    Fault("profiles", "20,000 brackets", TRACEBACK, text(uses.system, f"a = {BRACKETS}"), "nested too deeply"),
    Fault(
        "profiles", "bytes that are not UTF-8", TRACEBACK, text(uses.system, b"a = '\xff'"), "is not text in UTF-8"
    ),
    Fault(
        "profiles",
        "a part in an unknown user's home",
        TRACEBACK,
        system("link", "~nosuchuser/x.toml"),
        "unknown user",
    ),
    Fault("profiles", "a part's path has a NUL", TRACEBACK, system("host", "\0.toml"), "not a path"),
    Fault(
        "profiles",
        "a part's path has 5,000 letters",
        TRACEBACK,
        system("host", "a" * 5_000 + ".toml"),
        "not a path",
    ),
    Fault(
        "profiles",
        "a part's path has a name of 300 letters",
        TRACEBACK,
        system("host", "a" * 300 + ".toml"),
        "aaaa.toml: ",
    ),
    Fault(
        "profiles", "4,095 slices of a cache", "took minutes", system("host.llc.slices", 4095), "give 1 to 1024"
    ),
    Fault("profiles", "1,023 ways of a cache", MEMORY, system("host.llc.ways", 1023), "give 1 to 255"),
    Fault("profiles", "a cache of 1 TiB", MEMORY, system("host.llc.llc_bytes", 1 << 40), "to 2147483648"),
    Fault(
        "profiles",
        "a gibibyte of DDIO and more",
        MEMORY,
        changed(
            uses.system,
            lambda: whole_systems()[0],
            {"host.llc.llc_bytes": 2 << 30, "host.llc.ways": 16, "host.llc.ddio_ways": 9},
        ),
        "give fewer, for at most 1 GiB",
    ),
    Fault(
        "profiles",
        "a chunk of 64 GiB",
        MEMORY,
        system("chunk_bytes", 1 << 36),
        "give a power of two, 4096 to 2^30",
    ),
    Fault(
        "profiles",
        "256 chunks of 4 MiB and one more",
        MEMORY,
        system("chunk_addresses", [chunk << 22 for chunk in range(1025)]),
        "at most 1 GiB together",
    ),
    Fault("profiles", "a million page walkers", MEMORY, system("host.iommu.walkers", 10**6), "give 1 to 4096"),
    Fault(
        "profiles", "a billion pending walks", MEMORY, system("host.iommu.pending_walks", 10**9), "give 1 to 65536"
    ),
    Fault("profiles", "20,000 tags", MEMORY, system("link.tags", 20_000), "give 1 to 16384"),
    Fault(
        "profiles",
        "a billion requests in flight",
        MEMORY,
        system("device.dma.outstanding", 10**9),
        "give 1 to 65536",
    ),
    Fault(
        "profiles",
        "credits of all ones",
        MEMORY,
        system("host.root_complex.posted_header_credits", 2**32 - 1),
        '1 to 65536 or "infinite"',
    ),
    Fault(
        "profiles",
        "data credits of a billion",
        MEMORY,
        system("host.root_complex.posted_data_credits", 10**9),
        '1 to 1048576 or "infinite"',
    ),
    Fault(
        "profiles",
        "padding of 4 GiB",
        "overflowed",
        system("device.uplink_gap_bytes", 2**32 - 1),
        "give 0 to 4096",
    ),
    Fault(
        "profiles",
        "a quantum of 4 GiB",
        "overflowed",
        system("device.uplink_quantum_bytes", 2**32 - 1),
        "give 1 to 4096",
    ),
    Fault(
        "profiles",
        "65 clusters of idle states",
        MEMORY,
        changed(uses.system, lambda: with_clusters(65), {}),
        "a list of 64 entries at most",
    ),
    Fault(
        "profiles",
        "a stall of 10,000 intervals",
        "took minutes",
        changed(
            uses.system, sleepy_system, {"host.idle.stalls.duration_ns": 1e8, "host.idle.stalls.interval_ns": 1e4}
        ),
        "at most 1000 times interval_ns",
    ),
    Fault("profiles", "64 sockets and one more", MEMORY, system("host.sockets", 65), "give 1 to 64"),
    Fault(
        "profiles",
        "a number beyond any time",
        "gave an infinite time",
        system("host.iommu.walk_ns", 1e300),
        "give 0 to 100000",
    ),
    Fault(
        "profiles",
        "a negative time",
        "gave a negative time",
        system("host.iommu.walk_ns", -1.0),
        "give 0 to 100000",
    ),
    Fault(
        "profiles",
        "true for a number of choices",
        WRONG,
        system("link.generation", True),
        "link.generation is true: give 1, 2",
    ),
    Fault(
        "profiles", "8.0 for a number of choices", WRONG, system("link.lanes", 8.0), "link.lanes is 8.0: give 1, 2"
    ),
    Fault(
        "profiles",
        "a control character in a name",
        CONTROL,
        system("name", "a\x7fb"),
        "letters that can be printed",
    ),
    Fault("profiles", "a title of 5,000 letters", "printed them all", system("title", "a" * 5_000), "aaa...aaa"),
    Fault(
        "profiles",
        "an unknown key of 5,000 letters",
        "compared it with all",
        system("a" * 5_000, 1),
        "unknown key",
    ),
    Fault("profiles", "an unknown key with control characters", CONTROL, system("\x1b[2J", 1), "unknown key"),
    Fault("sets", "5,000 digits", TRACEBACK, setting(f"link.tags={DIGITS}"), "give 1 to 16384"),
    Fault("sets", "20,000 brackets", TRACEBACK, setting(f"link.tags={BRACKETS}"), "give 1 to 16384"),
    Fault(
        "sets",
        "an index that is a superscript",
        TRACEBACK,
        setting("chunk_addresses.²=0"),
        "did you mean chunk_addresses?",
    ),
    Fault(
        "sets", "an index of 4,400 digits", TRACEBACK, setting(f"chunk_addresses.{'1' * 4_400}=1"), "unknown key"
    ),
    Fault("sets", "a key of 1,000 parts", "took minutes", setting(".".join("a" * 1_000) + "=1"), "200 letters"),
    Fault("sets", "a key of 100,000 letters", "took minutes", setting("a" * 100_000 + "=1"), "200 letters"),
    Fault("sets", "two lines of TOML", TRACEBACK, setting("link.tags=1\nother=2"), "link.tags is '1\\nother=2'"),
    Fault("sets", "a key twice", WRONG, setting("link.tags=8", "link.tags=16"), "given twice"),
    Fault("sets", "a control character", CONTROL, setting("name='a\x7fb'"), "letters that can be printed"),
    Fault("sets", "no key", TRACEBACK, setting("="), "give KEY=VALUE"),
    Fault(
        "suites", "a width of 900 MB", MEMORY, suite("family", "{size:>900000000}"), "width of at most two digits"
    ),
    Fault(
        "suites",
        "a width of its own size",
        TRACEBACK,
        suite("family", "{size:{size}}"),
        "width of at most two digits",
    ),
    Fault("suites", "a conversion", WRONG, suite("family", "{size!r:>99}"), "placeholders"),
    Fault("suites", "an attribute", "showed a class", suite("family", "{direction.__class__}"), "placeholders"),
    Fault("suites", "a placeholder by number", TRACEBACK, suite("family", "{0}"), "placeholders"),
    Fault("suites", "an open brace", TRACEBACK, suite("family", "{"), "a brace stands alone"),
    Fault(
        "suites",
        "a control character in a family",
        CONTROL,
        suite("family", "a\x7fb"),
        "letters that can be printed",
    ),
    Fault(
        "suites", "a family that is a list", TRACEBACK, suite("family", ["\x1b[2J"]), "family is ['\\u{1b}[2J']"
    ),
    Fault(
        "suites", "two ranges of 100,000 sizes", MEMORY, suite("sizes", ["1:100000", "1:100000"]), "100000 sizes"
    ),
    Fault("suites", "a range up to 10^19", TRACEBACK, suite("sizes", ["1:1e19"]), "give whole bytes"),
    Fault(
        "suites", "a range up to 2^63", MEMORY, suite("sizes", ["64:9223372036854775807"]), "100000 at most in all"
    ),
    Fault(
        "suites",
        "a size of 5,000 hexadecimal digits",
        TRACEBACK,
        text(uses.suite, f"group = [{{sizes = [0x{'f' * 5_000}]}}]"),
        "a number has too many digits",
    ),
    Fault("suites", "a size that is no number", TRACEBACK, suite("sizes", [float("nan")]), "sizes.0 is nan"),
    Fault(
        "suites",
        "a range of windows and one of sizes",
        MEMORY,
        changed(
            uses.suite,
            quick,
            {
                "group.0.sizes": ["1:4096"],
                "group.0.windows": ["8192:4194304:64"],
                "group.0.loop": ["size", "window", "test"],
            },
        ),
        "535830528 tests: give 100000 at most",
    ),
    Fault("suites", "a test without entries", TRACEBACK, suite("tests", []), "give a list of 1 or more entries"),
    Fault(
        "message-suites", "a million messages on 256 cores", MEMORY, messages("messages", 1 << 20), "give fewer"
    ),
    Fault(
        "message-suites",
        "four cores for 65,536 sizes",
        MEMORY,
        messages("sizes", ["1:65536"]),
        "196608 tests: give 100000 at most",
    ),
    Fault("sizes", "digits of another script", WRONG, sizes("٣"), "is not a size"),
    Fault("sizes", "a superscript", TRACEBACK, sizes("²"), "is not a size"),
    Fault("sizes", "infinity", TRACEBACK, sizes("inf"), "is not a size"),
    Fault("sizes", "not a number", TRACEBACK, sizes("nan"), "is not a size"),
    Fault("sizes", "an exponent", WRONG, sizes("1e19"), "is not a size"),
    Fault("sizes", "an underscore", WRONG, sizes("1_000"), "is not a size"),
    Fault("sizes", "a fraction lost in rounding", WRONG, sizes("1.0000000000000000000001G"), "is not a size"),
    Fault("sizes", "5,000 digits", TRACEBACK, sizes(DIGITS), "is not a size"),
    Fault("sizes", "a step of 0", TRACEBACK, sizes("64:64:0"), "'0' is not a size"),
    Fault("sizes", "four ends", WRONG, sizes("1:2:3:4"), "is not a range"),
    Fault("sizes", "a unit alone", TRACEBACK, sizes("K"), "is not a size"),
    Fault("sizes", "a billion sizes", MEMORY, sizes("1:1G"), "give a step"),
    Fault("sizes", "100,000 ranges", MEMORY, sizes("1:100000," * 2 + "1"), "give a step"),
    Fault(
        "sizes", "more than 2^63 bytes", TRACEBACK, sizes("99999999999G"), "give at most 9223372036854775807 bytes"
    ),
    Fault(
        "sizes",
        "a round trip of the smallest number",
        "gave an infinite rate",
        lambda _folder: uses.limits(5e-324, 64, 64),
        "1e-9",
    ),
    Fault(
        "sizes", "a round trip of 10^308 ns", "gave no rate", lambda _folder: uses.limits(1e308, 64, 64), "1e-9"
    ),
    Fault(
        "nics",
        "a name that is a list",
        TRACEBACK,
        changed(uses.nic, lambda: tables("profiles/nics/simple-nic.toml")[0], {"name": []}),
        "name is []",
    ),
    Fault(
        "nics",
        "a step of 4 GiB",
        "overflowed",
        changed(uses.nic, lambda: tables("profiles/nics/simple-nic.toml")[0], {"step.0.bytes": 1 << 32}),
        "step.0.bytes",
    ),
    Fault(
        "fabrics",
        "a name with control characters",
        CONTROL,
        changed(uses.fabric_file, lambda: tables("profiles/fabrics/fabrex-u55c.toml")[0], {"name": "a\x1b[2J"}),
        "letters that can be printed",
    ),
    Fault(
        "fabrics",
        "a set of flows whose name cannot be seen",
        "was accepted",
        changed(
            uses.fabric_file,
            lambda: tables("profiles/fabrics/fabrex-u55c.toml")[0],
            {"flows.sets": {"\ufeff": []}},
        ),
        "flows.sets is '\\u{feff}': give names of letters that can be printed",
    ),
    Fault(
        "flows",
        "a header that pyarrow quotes",
        CONTROL,
        text(uses.flows, "source,destination\nhost1,C\x1b[2J,9\n", "mine.csv"),
        "cannot be read as flows",
    ),
    Fault("flows", "an empty file", TRACEBACK, text(uses.flows, "", "mine.csv"), "cannot be read as flows"),
    Fault(
        "flows",
        "no Parquet",
        TRACEBACK,
        text(uses.flows, "PAR1 and then nothing PAR1", "mine.parquet"),
        "cannot be read as flows",
    ),
    Fault("flows", "half a queue", WRONG, flows("host1,C,64,1.5"), "give 0 to 255"),
    Fault("flows", "a size that is no number", TRACEBACK, flows("host1,C,nan,0"), "size_bytes is 'nan'"),
    Fault(
        "fabric-suites",
        "a family with control characters",
        CONTROL,
        changed(uses.fabric_suite, short_experiments, {"experiment.0.family": "a\x7f"}),
        "letters that can be printed",
    ),
    Fault("sweeps", "half a window", TRACEBACK, swept("grid.window", [1.5]), "give a size"),
    Fault("sweeps", "a cache that is a table", TRACEBACK, swept("test.cache", {}), "give a word"),
    Fault("sweeps", "a size that is true", WRONG, swept("grid.size", [True]), "give a size"),
    Fault(
        "sweeps",
        "a range of a key within a number",
        TRACEBACK,
        swept("draw.between", {"host.root_complex.read_ns.at": {"low": 2.0, "high": 6.0}}),
        "at: unknown key",
    ),
    Fault("sweeps", "a stride that is a text", TRACEBACK, swept("test.stride", "2"), "give a whole number"),
    Fault("questions", "a change to null", TRACEBACK, question(sets={"link.tags": None}), "link.tags is none"),
    Fault("questions", "an option that is null", TRACEBACK, question(sets={"host.idle": None}), None),
    Fault("questions", "no changes", TRACEBACK, question(sets={}), None),
    Fault(
        "imports",
        "a tick of 1e400000000",
        ENDLESS,
        recorded("ORIGIN.txt", "tick_ns: .*", "tick_ns: 1e400000000", uses.published),
        "tick_ns",
    ),
    Fault(
        "imports",
        "a tick of 5,000 digits",
        TRACEBACK,
        recorded("ORIGIN.txt", "tick_ns: .*", f"tick_ns: {DIGITS}", uses.published),
        "tick_ns",
    ),
    Fault(
        "imports",
        "cycles of 0",
        TRACEBACK,
        recorded("ORIGIN.txt", "tick_cycles: .*", "tick_cycles: 0", uses.published),
        "tick_cycles",
    ),
    Fault(
        "imports",
        "infinite cycles of a distribution",
        TRACEBACK,
        recorded("lat_dma_details_cdf.csv", r"^\d+,", "inf,", uses.published),
        "give three numbers",
    ),
    Fault(
        "imports",
        "a distribution above 1",
        WRONG,
        recorded("lat_dma_details_cdf.csv", r"^(\d+),(.*),.*", "5,6,7", uses.published),
        "give three numbers",
    ),
    Fault(
        "imports",
        "a column of 10^19",
        WRONG,
        recorded("bw_dma_sz_sweep.csv", r",8192,64,\d+,", ",8192,64,1e19,", uses.published),
        "'Time(cyc)' is '1e19'",
    ),
    Fault(
        "imports",
        "a head of 5,000 letters",
        "printed them all",
        recorded("bw_dma_sz_sweep.csv", "^", "a" * 5_000, uses.published),
        "aaa...yc)",
    ),
    Fault(
        "imports",
        "a cell with control characters",
        CONTROL,
        recorded("bw_dma_sz_sweep.csv", "8192", "\x1b[2J", uses.published),
        "column 'WinSZ' is '\\x1b[2J'",
    ),
    Fault(
        "imports",
        "a width of 5,000 digits",
        TRACEBACK,
        recorded("sys-lspci.txt", "Width x16", f"Width x{DIGITS}", uses.published),
        None,
    ),
    Fault(
        "imports",
        "a speed with two points",
        TRACEBACK,
        recorded("sys-lspci.txt", "Speed 8GT", "Speed 8.0.0GT", uses.published),
        None,
    ),
    Fault(
        "imports",
        "a cache of 5,000 digits",
        TRACEBACK,
        recorded("sys-cpuinfo.txt", "15360", DIGITS, uses.published),
        None,
    ),
    Fault(
        "imports",
        "memory of 5,000 digits",
        TRACEBACK,
        recorded("sys-meminfo.txt", r"\d+ kB", f"{DIGITS} kB", uses.published),
        None,
    ),
    Fault(
        "imports",
        "a buffer of 5,000 digits",
        TRACEBACK,
        recorded("sys-buf-sz.txt", r"\d+", DIGITS, uses.published),
        None,
    ),
    Fault(
        "measured",
        "a cell of a pack that is longer than Python's limit",
        TRACEBACK,
        text(read_pack, f"{PACK}{'a' * 140_000},BW_DMA_RD,HWarm,8192,64\n", "pack.csv"),
        "pack.csv, line 2: field larger than field limit (131072)",
    ),
    Fault(
        "measured",
        "a model of 5,000 digits",
        TRACEBACK,
        recorded("sys-cpuinfo.txt", "45", DIGITS, calibrated),
        None,
    ),
    Fault(
        "measured",
        "a cache of 5,000 digits",
        TRACEBACK,
        recorded("sys-cpuinfo.txt", "15360", DIGITS, calibrated),
        None,
    ),
    Fault(
        "measured",
        "nodes of 5,000 digits",
        TRACEBACK,
        recorded("sys-numactl.txt", "2 nodes", f"{DIGITS} nodes", calibrated),
        None,
    ),
    Fault(
        "measured",
        "a buffer of 5,000 digits",
        TRACEBACK,
        recorded("sys-buf-sz.txt", r"\d+", DIGITS, calibrated),
        None,
    ),
    Fault(
        "measured",
        "an address of 5,000 digits",
        TRACEBACK,
        recorded("sys-dma-addrs.txt", "0x400000000", "0x" + "f" * 5_000, calibrated),
        None,
    ),
    Fault(
        "doctor-texts",
        "a function 8,000 times, each with lines of its own",
        "took minutes",
        text(read_lspci_file, "".join(map(REPEATED.format, range(8_000))), "lspci.txt"),
        None,
    ),
    Fault(
        "lspci",
        "a speed with two points",
        TRACEBACK,
        lspci("Speed 8GT/s", "Speed 8.0.0GT/s"),
        "does not show LnkSta",
    ),
    Fault(
        "lspci",
        "a width of 5,000 digits",
        TRACEBACK,
        lspci("Width x8", f"Width x{DIGITS}"),
        "does not show LnkSta",
    ),
    Fault(
        "lspci",
        "an MPS of 5,000 digits",
        TRACEBACK,
        lspci("MaxPayload 256", f"MaxPayload {DIGITS}"),
        "does not show DevCtl",
    ),
    Fault(
        "lspci",
        "a delete character in a title",
        "made a file that is no TOML",
        lspci("Netronome", "Netro\x7fnome"),
        None,
    ),
    Fault(
        "lspci",
        "a slot of 100 digits",
        TRACEBACK,
        lspci("0000:3b:00.0", "0" * 100 + ":3b:00.0"),
        None,
    ),
    Fault(
        "lspci",
        "a name with control characters",
        "made a file that is no TOML",
        lspci("Device", "Device", name="\x1b[2J"),
        "printable characters",
    ),
    Fault(
        "lspci",
        "an unknown device with control characters",
        CONTROL,
        lspci("Device", "Device", device="\x1b[2J"),
        "not in this text",
    ),
    Fault("doctor-trees", "a function that links to itself", ENDLESS, machine(linked("vendor", "vendor")), None),
    Fault(
        "doctor-trees",
        "an attribute outside of the folder",
        "read another folder",
        machine(linked("vendor", "/etc/hostname")),
        None,
    ),
    Fault("doctor-trees", "an attribute that is a folder", TRACEBACK, machine(linked("config", "..")), None),
    Fault("doctor-trees", "an attribute that is a pipe", ENDLESS, machine(piped), None),
    Fault("doctor-trees", "an IOMMU group that is the root", TRACEBACK, machine(linked("iommu_group", "/")), None),
    Fault(
        "doctor-saved",
        "a slot that is none",
        TRACEBACK,
        saved('{"source":"","functions":[{"slot":"x","title":""}]}'),
        "tree.functions.0.slot is wrong",
    ),
    Fault("doctor-saved", "a wrong value", FOREIGN, saved('{"source":1,"functions":[]}'), "tree.source is wrong"),
    Fault(
        "doctor-saved",
        "a key with control characters",
        CONTROL,
        saved('{"source":"","functions":[],"\\u001b[2J":1}'),
        "'tree.\\u{1b}[2J' is wrong",
    ),
    Fault(
        "doctor-saved",
        "bytes that are not UTF-8",
        TRACEBACK,
        text(lambda path: examined(read_file(path)), b"\xff\xfe{", "machine.json"),
        "is not text in UTF-8",
    ),
    Fault(
        "stores",
        "a system that is null",
        TRACEBACK,
        store("fabric", {"system": None}, lambda found, _folder: compare_with_published(found)),
        "the manifest describes no fabric",
    ),
    Fault(
        "stores",
        "latencies that include a number",
        TRACEBACK,
        store("transfers", {"device.latency_includes": [3]}, described),
        "latency_includes.0 is 3: give text",
    ),
    Fault(
        "stores",
        "a seed that is a text",
        TRACEBACK,
        store("transfers", {"seed": "x"}, described),
        "`seed` is 'x': it must be a whole number",
    ),
    Fault(
        "stores",
        "a size of 0",
        "drew an axis without end",
        store("transfers", {"parameters": {"size_bytes": 0}}, described),
        "must be above 0",
    ),
    Fault(
        "stores",
        "a window that is null",
        TRACEBACK,
        store("transfers", {"parameters": {"window_bytes": None}}, described),
        None,
    ),
    Fault(
        "stores",
        "tests without a size",
        TRACEBACK,
        store("transfers", {"parameters": {"size_bytes": ...}}, explained),
        "has no `size_bytes`",
    ),
    Fault(
        "stores",
        "addresses that are none",
        TRACEBACK,
        store("measured", {"sys-dma-addrs.txt": "x"}, explained),
        "give addresses as hexadecimal numbers",
    ),
    Fault(
        "stores",
        "a test by a number of 5,000 digits",
        TRACEBACK,
        store("transfers", {}, searched),
        "matches no test",
    ),
    Fault(
        "stores",
        "a title of control characters",
        CONTROL,
        store("transfers", {"title": ["\x1b[2J"]}, described),
        "it must be a text",
    ),
    Fault(
        "stores",
        "a title of 5,000 letters where a number belongs",
        "printed them all",
        store("transfers", {"tests": "x" * 5_000}, described),
        "xxx': it must be a whole number",
    ),
    Fault(
        "sealed-stores",
        "a list where a profile has a number",
        FOREIGN,
        store("transfers", {"system.link.tags": []}),
        "system.link.tags is []: give 1 to 16384",
    ),
    Fault(
        "sealed-stores",
        "a link that is a text",
        TRACEBACK,
        store("transfers", {"system.link": "x8"}),
        "system.link is 'x8': give a table",
    ),
    Fault(
        "sealed-stores",
        "a timer's fraction with a text",
        TRACEBACK,
        store("measured", {"device.timer": {"numerator_ns": "40"}}),
        "device.timer.numerator_ns is '40': give a whole number",
    ),
    Fault(
        "sealed-stores",
        "a rate that is a text",
        TRACEBACK,
        store("measured", {"device.link": {"rate_gtps": "8GT/s"}}),
        "device.link.rate_gtps is '8GT/s': give a number",
    ),
    Fault(
        "sealed-stores",
        "a cache's level that is a text",
        TRACEBACK,
        store("measured", {"host.caches": [{"level": "L3"}]}),
        "host.caches.0.level is 'L3': give a whole number",
    ),
    Fault(
        "sealed-stores",
        "a condition that is a text",
        TRACEBACK,
        store("measured", {"conditions_before": ["warm"]}),
        "conditions_before.0 is 'warm': give a table",
    ),
    Fault(
        "sealed-stores",
        "a time of messages that is a list",
        TRACEBACK,
        store("messages", {"messages.core.fill_ns": []}),
        "messages.core.fill_ns is []: give a number",
    ),
    Fault(
        "sealed-stores",
        "a link of messages that is a text",
        TRACEBACK,
        store("messages", {"messages.link": "x8"}),
        "`messages.link` is 'x8': it must be an object",
    ),
    Fault(
        "sealed-stores",
        "a fabric whose nodes are a number",
        TRACEBACK,
        store("fabric", {"system.fabric.nodes": 3}),
        "system.fabric: nodes: invalid type",
    ),
    Fault(
        "sealed-stores",
        "a kind of node with control characters",
        CONTROL,
        store("fabric", {"system.fabric.nodes.0.kind": "\x1b[2J"}),
        "nodes[0].kind: unknown variant `\\u{1b}[2J`",
    ),
    Fault(
        "sealed-stores",
        "a node's name with control characters",
        CONTROL,
        store("fabric", {"system.fabric.nodes.0.name": "\x1b[2J"}),
        "unknown node: known: \\u{1b}[2J, board1",
    ),
    Fault(
        "sealed-stores",
        "a text of 5,000 letters where a fabric has a number",
        "printed them all",
        store("fabric", {"system.fabric.mps_bytes": "x" * 5_000}),
        "xxx...xxx",
    ),
    Fault(
        "sealed-stores",
        "a NIC's steps that are a text",
        TRACEBACK,
        store("frames", {"nic.step": "x"}),
        "nic.step is 'x': give a list",
    ),
    Fault(
        "sealed-numbers",
        "a test whose bandwidth is 0",
        TRACEBACK,
        numbers(
            "transfers", "UPDATE scalar SET value = 0 WHERE metric = 'bandwidth'", "why", "STORE", "--test", "4"
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "bandwidths of 0 that a system is calibrated to",
        TRACEBACK,
        numbers(
            "transfers", "UPDATE scalar SET value = 0 WHERE unit = 'Gb/s'", "calibrate", "STORE", "-o", "OUT.toml"
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "an unknown unit of a tool's bandwidth",
        TRACEBACK,
        numbers("gpu", "UPDATE scalar SET unit = 'GB/s' WHERE unit = 'Gb/s'", "normal", "STORE"),
        "the unit of `bandwidth` is `GB/s`: a store has Gb/s",
    ),
    Fault(
        "sealed-numbers",
        "no bound of a NIC's frames",
        "showed nan as a bound's name",
        numbers("frames", "DELETE FROM scalar WHERE metric = 'binds'", "explain", "STORE", "--format", "json"),
        "has no `binds`: run it again",
    ),
    Fault(
        "sealed-numbers",
        "no window of a latency test",
        TRACEBACK,
        numbers(
            "measured",
            "UPDATE test SET parameters = json_set(parameters, '$.window_bytes', NULL)"
            " WHERE json_extract(parameters, '$.operation') LIKE 'lat%'",
            "why",
            "STORE",
            "--test",
            "0",
        ),
        "has no `window_bytes`: run it again",
    ),
    Fault(
        "sealed-numbers",
        "bandwidths of 1e308",
        "showed nan and inf",
        numbers("transfers", "UPDATE scalar SET value = 1e308 WHERE unit = 'Gb/s'", "compare", "STORE", "SOUND"),
        "`bandwidth` is 1e308: a store has 0, or 1e-30 to 1e9 Gb/s",
    ),
    Fault(
        "sealed-numbers",
        "a latency of 5e-324 ns",
        TRACEBACK,
        numbers(
            "measured",
            "UPDATE scalar SET value = 5e-324 WHERE unit = 'ns'",
            "calibrate",
            "STORE",
            "-o",
            "OUT.toml",
        ),
        "is 5e-324: a store has",
    ),
    Fault(
        "sealed-numbers",
        "an infinite time",
        TRACEBACK,
        numbers(
            "transfers",
            "UPDATE scalar SET value = 9e999 WHERE unit = 'ns'",
            "export",
            "csv",
            "STORE",
            "-o",
            "OUT.csv",
        ),
        "is inf: a store has",
    ),
    Fault(
        "sealed-numbers",
        "bandwidths of 0 beside others, as JSON",
        "wrote Infinity",
        numbers(
            "gpu",
            "UPDATE scalar SET value = 0 WHERE unit = 'Gb/s'",
            "compare",
            "STORE",
            "SOUND",
            "--format",
            "json",
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "messages without latencies",
        "showed nan",
        numbers("messages", "DELETE FROM scalar WHERE unit = 'ns'", "compare", "STORE", "SOUND"),
        None,
    ),
    Fault(
        "sealed-numbers",
        "transfers without their number",
        WITHOUT_STORE,
        numbers(
            "transfers",
            "UPDATE test SET parameters = json_set(parameters, '$.transactions', NULL)",
            "explain",
            "STORE",
        ),
        "run.db: tests: [0].transactions: invalid type: null",
    ),
    Fault(
        "sealed-numbers",
        "flows of half a second",
        "took minutes",
        numbers(
            "fabric",
            "UPDATE test SET parameters = json_set(parameters, '$.duration_us', 5e5, '$.warm_up_us', 5e5)",
            "why",
            "STORE",
            "--format",
            "csv",
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "flows in flight without a latency",
        "showed nan",
        numbers("fabric", "DELETE FROM scalar WHERE metric = 'average'", "why", "STORE", "--format", "json"),
        None,
    ),
    Fault(
        "sealed-numbers",
        "tests of bandwidth without bandwidths",
        TRACEBACK,
        numbers("transfers", "DELETE FROM scalar WHERE metric = 'bandwidth'", "report", "STORE", "-o", "OUT.html"),
        None,
    ),
    Fault(
        "sealed-numbers",
        "a bandwidth above its bound",
        "called it a defect of pcielab",
        numbers("transfers", "UPDATE scalar SET value = value * 9 WHERE unit = 'Gb/s'", "explain", "STORE"),
        None,
    ),
    Fault(
        "sealed-numbers",
        "a fraction as a stride",
        WITHOUT_STORE,
        numbers(
            "transfers",
            "UPDATE test SET parameters = json_set(parameters, '$.stride_units', 1.5)",
            "explain",
            "STORE",
        ),
        "run.db: test 0: `stride_units` is '1.5': it must be a whole number",
    ),
    Fault(
        "sealed-numbers",
        "frames without rates",
        TRACEBACK,
        numbers("frames", "DELETE FROM scalar WHERE metric = 'rate'", "report", "STORE", "-o", "OUT.html"),
        "run.db: test 0: has no `rate`: run it again with this version",
    ),
    Fault(
        "sealed-numbers",
        "a line rate that Ethernet lacks",
        WITHOUT_STORE,
        numbers(
            "frames",
            "UPDATE test SET parameters = json_set(parameters, '$.line_gbps', 1e-31)",
            "explain",
            "STORE",
            "--format",
            "csv",
        ),
        "run.db: line_gbps is 0.0000000000000000000000000000001: give 1, 2.5",
    ),
    Fault(
        "sealed-numbers",
        "a NIC's link that carries nothing",
        "showed inf times",
        numbers(
            "frames",
            "UPDATE scalar SET value = 0 WHERE metric = 'link_bandwidth'",
            "explain",
            "STORE",
            "--test",
            "0",
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "flows without a time",
        TRACEBACK,
        numbers(
            "fabric",
            "UPDATE test SET parameters = json_set(parameters, '$.duration_us', null)",
            "why",
            "STORE",
        ),
        "run.db: test 0: has no `duration_us`: run it again with this version",
    ),
    Fault(
        "sealed-numbers",
        "transfers without a size",
        TRACEBACK,
        numbers(
            "transfers",
            "UPDATE test SET parameters = json_set(parameters, '$.size_bytes', null)",
            "normal",
            "STORE",
        ),
        None,
    ),
    Fault(
        "sealed-numbers",
        "flows of an endless time",
        WITHOUT_STORE,
        numbers(
            "fabric",
            "UPDATE test SET parameters = json_set(parameters, '$.duration_us', 1e15)",
            "why",
            "STORE",
            "--format",
            "json",
        ),
        "run.db: test 0: --duration-us 1e+15: give microseconds",
    ),
)
"""All of them, in the order of `kinds.KINDS`."""
