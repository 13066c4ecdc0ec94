"""Commands take facts about a run from its manifest, never from a shipped profile of the same name.

Each kind of profile is copied twice: with another value, and with another name, too. The output of a command must
be equal for these two, and different from that of the shipped profile. A lookup by name breaks both rules: of the
two it finds the shipped file, and nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

from pages import unpacked
from pcielab import InputError, model
from pcielab.kinds.beside_published import compare_with_published
from pcielab.library import shipped
from pcielab.library.fabrics.load import recorded
from pcielab.library.message_profiles import load_message_profile, recorded_messages
from pcielab.store import open_store
from shell import pcielab, refuse, succeed
from suite_texts import messages, suite_text, transfers

PROFILES = shipped.directory("profiles")
TRANSFERS = suite_text(
    *(
        transfers(family, tests, 64, 512, caches=["host-warm"], transactions=3000)
        for family, tests in (("bw_dma_sz_sweep", "BW_DMA_RD BW_DMA_RW"), ("lat_dma_sizes", "LAT_DMA_RD"))
    )
)
MESSAGES = suite_text(
    messages("message_latency_sizes", "uncached write-combined descriptors", 20, 64, messages=4), name="kpio"
)
FLOWS = """
name = "rpciebench"
title = "The flows of the paper's table 2"
fabric = "fabrex-u55c"
[provenance]
source = "Invented for a test"
[[experiment]]
family = "table2-validation"
series = "HS is full"
flows = [
    { name = "H->C", source = "host1", destination = "C", standalone_gbytes_per_s = 8.51 },
    { name = "H->A", source = "host1", destination = "A", standalone_gbytes_per_s = 7.21 },
    { name = "C->B", source = "C", destination = "B", standalone_gbytes_per_s = 1.76 },
]
[[experiment]]
family = "fig3-one-way"
series = "one way"
flows = [
    { name = "local", source = "host1", destination = "L", primitive = "mmio-write", size_bytes = 64 },
    { name = "remote", source = "host1", destination = "A", primitive = "mmio-write", size_bytes = 64 },
]
"""
TRANSFER_RUN = ("run", "--suite", "suite.toml")
SYSTEM = """
name = "bench"
title = "A system of mine"
base = "hsw2620"
{parts}
[provenance]
source = "Invented for a test"
"""


TABLES = {
    ("compare", "run.db", "run.db", "--format", "csv"): "",
    ("export", "csv", "run.db", "-o", "run.csv"): "run.csv",
    ("export", "json", "run.db", "-o", "run.json"): "run.json",
}
REPORT = {("report", "run.db", "-o", "run.html"): "run.html"}


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of profile.

    Attributes:
        copies: The files that are copied, by the names of the copies: a part of a system is named after its key,
            all else `profile.toml`. Each with a text of the file, and its replacement.
        run: The command that runs the copies.
        says: Commands for runs of this kind, each with the file or folder that it writes, if any.
        suite: The suite of `run`.
        everywhere: Commands for runs of every kind.
    """

    copies: Mapping[str, tuple[str, str, str]]
    run: tuple[str, ...]
    says: Mapping[tuple[str, ...], str]
    suite: str = ""
    everywhere: Mapping[tuple[str, ...], str] = field(default_factory=lambda: {**TABLES, **REPORT})

    @property
    def names(self) -> list[str]:
        """The names of the shipped profiles."""
        return [Path(file).stem for file, _, _ in self.copies.values()]

    @property
    def system(self) -> str:
        """A system with the copied parts."""
        parts = (f'{Path(copy).stem} = "{copy}"' for copy in self.copies)
        return SYSTEM.format(parts="\n".join(parts))

    @property
    def commands(self) -> dict[tuple[str, ...], str]:
        """All commands for runs of this kind."""
        return {**self.everywhere, **self.says}


def other_name(name: str) -> str:
    """Another name of the same length, so that shortened texts are cut alike."""
    return f"q{name[1:]}"


OF_PARTS = {("explain", "run.db", "--format", "csv"): ""}
OF_TRANSFERS = {
    **OF_PARTS,
    ("explain", "run.db", "run.db", "--format", "csv"): "",
    ("findings", "run.db", "--format", "csv"): "",
    ("export", "pcie-bench", "run.db", "-o", "folder"): "folder",
}
OF_DEVICES = {**OF_PARTS, ("calibrate", "run.db", "-o", "twin.toml"): ""}
VALIDATED = {
    ("suites", "validate", "run.db", "--format", "csv"): "",
    ("fabric", "validate", "run.db", "--format", "csv"): "",
}
ON_PROFILE = (*TRANSFER_RUN, "--profile", "profile.toml")
ON_SYSTEM = (*TRANSFER_RUN, "--profile", "system.toml")
HOST = (
    "hosts/hsw-e5-2620v3.toml", "[root_complex]\n", "[root_complex]\ncompletion_interval_ns = 60.0\n",
)  # fmt: skip
DEVICE = ("devices/nfp6000.toml", "\nrequest_interval_ns = 6", "\nrequest_interval_ns = 9")
LINK = ("links/gen3-x8.toml", "lanes = 8", "lanes = 4")
PARTS = {"host.toml": HOST, "device.toml": DEVICE, "link.toml": LINK}
KINDS = {
    "system": Kind(
        {"profile.toml": ("systems/hsw2620.toml", 'complex.read_ns" = 3', 'complex.read_ns" = 4')},
        *(ON_PROFILE, OF_TRANSFERS, TRANSFERS),
    ),
    # Each part alone in the tables, all of them in the report, which takes longest.
    "host": Kind({"host.toml": HOST}, ON_SYSTEM, OF_PARTS, TRANSFERS, TABLES),
    "device": Kind({"device.toml": DEVICE}, ON_SYSTEM, OF_DEVICES, TRANSFERS, TABLES),
    "link": Kind({"link.toml": LINK}, ON_SYSTEM, OF_PARTS, TRANSFERS, TABLES),
    "parts": Kind(PARTS, ON_SYSTEM, OF_PARTS, TRANSFERS, REPORT),
    "nic": Kind(
        {"profile.toml": ("nics/simple-nic.toml", "bytes = 16", "bytes = 64")},
        *(("run", "--nic", "profile.toml", "--frames", "64"), {}),
    ),
    "messages": Kind(
        {"profile.toml": ("pio/kpio-2012.toml", "payload_ns = 1736.0", "payload_ns = 1800.0")},
        *(ON_PROFILE, VALIDATED, MESSAGES),
    ),
    "loopback": Kind(
        {"profile.toml": ("pio/exanic-2018.toml", "pcie_ns = 900.0", "pcie_ns = 800.0")},
        *(ON_PROFILE, VALIDATED, MESSAGES),
    ),
    "fabric": Kind(
        {"profile.toml": ("fabrics/fabrex-u55c.toml", "down_gbytes_per_s = 11.55", "down_gbytes_per_s = 9.0")},
        *(("fabric", "run", "profile.toml", "--suite", "suite.toml"), VALIDATED, FLOWS),
    ),
}  # fmt: skip
VARIANTS = ("as shipped", "edited", "renamed and edited")


@pytest.fixture(scope="module", params=KINDS)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Kind, dict[str, Path]]:
    """A kind, and a folder with a run of each variant."""
    kind = KINDS[request.param]
    folders = {}
    for variant in VARIANTS:
        folders[variant] = folder = tmp_path_factory.mktemp(variant.replace(" ", "-")) / "same"
        folder.mkdir()
        for copy, (file, before, after) in kind.copies.items():
            text = (PROFILES / file).read_text(encoding="utf-8")
            name, other = (f'name = "{one}"' for one in (Path(file).stem, other_name(Path(file).stem)))
            assert (text.count(name), text.count(before) > 0) == (1, True)
            text = text.replace(name, other) if "renamed" in variant else text
            text = text.replace(before, after, 1) if "edited" in variant else text
            (folder / copy).write_text(text, encoding="utf-8")
        (folder / "suite.toml").write_text(kind.suite, encoding="utf-8")
        (folder / "system.toml").write_text(kind.system, encoding="utf-8")
        succeed(*kind.run, "-o", "run.db", cwd=folder)
        for copy in (*kind.copies, "system.toml"):
            (folder / copy).unlink()
    return kind, folders


@cache
def said(kind: Kind, folder: Path) -> dict[tuple[str, ...], str]:
    """The output of every command for the run in a folder, without names and times."""
    found = {}
    for command, written in kind.commands.items():
        done = pcielab(*command, *(["--overwrite"] if "-o" in command else []), cwd=folder)
        texts = [str(done.exit_code), done.stdout, done.stderr]
        if written and done.exit_code == 0:
            path = folder / written
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            texts += [
                _in_any_order(neutral(kind, unpacked(file.read_text(encoding="utf-8"))), file) for file in files
            ]
        found[command] = neutral(kind, "\n".join(texts))
    return found


def _in_any_order(text: str, file: Path) -> str:
    """The text of a file; a page's parts are sorted, because its figures order their data by hashes."""
    return "\n".join(sorted(re.split(r"[,<>{}]", text))) if file.suffix == ".html" else text


def neutral(kind: Kind, text: str) -> str:
    for name in kind.names:
        other = other_name(name)
        text = text.replace(other, name)
        # A text that is cut may end within the name.
        for letters in range(2, len(name)):
            text = text.replace(f"name {other[:letters]} ...", f"name {name[:letters]} ...")
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([+]00:00|Z| UTC)?", "TIME", text)
    return re.sub(r"data-[0-9a-f]{32}|view_[0-9a-f]{16}", "HASH", text)


def test_a_name_changes_no_output(runs: tuple[Kind, dict[str, Path]]) -> None:
    kind, folders = runs
    one, other = said(kind, folders["edited"]), said(kind, folders["renamed and edited"])
    different = {
        " ".join(command): next(
            (a[:300], b[:300])
            for a, b in zip_longest(one[command].split("\n"), other[command].split("\n"))
            if a != b
        )
        for command in one
        if one[command] != other[command]
    }
    assert different == {}


def test_a_value_changes_the_output(runs: tuple[Kind, dict[str, Path]]) -> None:
    kind, folders = runs
    one, other = said(kind, folders["as shipped"]), said(kind, folders["edited"])
    tried = [command for command in kind.commands if command in REPORT or command[:2] == ("export", "json")]
    assert tried
    assert [command for command in tried if one[command] == other[command]] == []
    assert not [command for command, text in other.items() if "defect" in text or "Traceback" in text]


def test_no_command_fails_on_a_users_own_profile(runs: tuple[Kind, dict[str, Path]]) -> None:
    kind, folders = runs
    shipped_says = said(kind, folders["as shipped"])
    for command, text in said(kind, folders["renamed and edited"]).items():
        # A command that refuses the run of a shipped profile, for lack of rows, refuses this one too.
        expected = shipped_says[command].split("\n")[0]
        assert text.split("\n")[0] == expected, (command, text[:500])


def validated(kind: str, profile: Path, text: str, suite: str) -> dict[tuple[str, str], float]:
    """The estimates of `suites validate` for a run of a profile with this text."""
    profile.write_text(text, encoding="utf-8")
    suite_path = profile.with_name("suite.toml")
    suite_path.write_text(suite, encoding="utf-8")
    command = ("fabric", "run", profile) if kind == "fabric" else ("run", "--profile", profile)
    succeed(*command, "--suite", suite_path, "-o", profile.with_suffix(".db"))
    profile.unlink()
    compared = compare_with_published(open_store(profile.with_suffix(".db")))
    assert compared is not None
    rows = compared.dropna(subset=["estimated"]).to_dict("records")
    return {(row["source"], row["what"]): row["estimated"] for row in rows}


def test_estimates_of_messages_use_the_runs_own_profile(tmp_path: Path) -> None:
    text = (PROFILES / "pio/kpio-2012.toml").read_text(encoding="utf-8")
    edited = text.replace("payload_ns = 1736.0", "payload_ns = 1800.0")
    (tmp_path / "mine.toml").write_text(edited, encoding="utf-8")
    [expected] = model.messages(load_message_profile(str(tmp_path / "mine.toml")), [64])
    found = validated("messages", tmp_path / "mine.toml", edited, MESSAGES)
    assert found["table 1", "64 B by descriptors"] == expected.descriptors.latency_ns == pytest.approx(1800)


def test_set_changes_messages_and_their_system(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(MESSAGES, encoding="utf-8")
    run = ("run", "--profile", "kpio-2012", "--suite", tmp_path / "suite.toml", "-o", tmp_path / "run.db")
    succeed(*run, "--set", "messages.descriptors.payload_ns=1800", "--set", "host.iommu.walk_ns=300")
    manifest = open_store(tmp_path / "run.db").manifest
    assert manifest["messages"]["descriptors"]["payload_ns"] == 1800.0
    assert manifest["system"]["host"]["iommu"]["walk_ns"] == 300
    assert ", with messages.descriptors.payload_ns=1800, host.iommu.walk_ns=300" in manifest["title"]
    for change, words in (
        ("messages.core.fence_us=1", "--set messages.core.fence_us: unknown key: the key is fence_ns"),
        ("messages.core.fence_ns=-1", "--set: core.fence_ns is -1: give a number above 0"),
        ("messages.stores.stream_interval_ns=1", "--set: stores.stream_interval_ns is 1: give at least what 64 B"),
        ("messages.system=kpio", "--set: no system profile is named 'kpio'"),
    ):
        assert words in refuse(*run, "--set", change, "--overwrite")


def test_estimates_of_flows_use_the_runs_own_fabric(tmp_path: Path) -> None:
    text = (PROFILES / "fabrics/fabrex-u55c.toml").read_text(encoding="utf-8")
    edited = text.replace("down_gbytes_per_s = 11.55", "down_gbytes_per_s = 9.0")
    found = validated("fabric", tmp_path / "mine.toml", edited, FLOWS)
    assert found["table 2-b", "HS is full, H->C"] == pytest.approx(4.5)
    shipped_share = validated("fabric", tmp_path / "same.toml", text, FLOWS)["table 2-b", "HS is full, H->C"]
    assert shipped_share == pytest.approx(5.775)


def test_a_missing_key_of_a_manifest_is_named() -> None:
    with pytest.raises(InputError, match=r"run.db: the manifest describes no fabric"):
        recorded({"system": {"name": "fabrex-u55c"}}, "run.db")
    with pytest.raises(InputError, match=r"run.db: system.fabric: .*mps_bytes"):
        recorded({"system": {"fabric": {"name": "fabrex-u55c"}}}, "run.db")
    profile = load_message_profile("kpio-2012").as_question()
    assert recorded_messages({"messages": profile}, "run.db").as_question() == profile
    with pytest.raises(InputError, match=r"run.db: messages: missing key core|run.db: messages: core"):
        recorded_messages({"messages": {key: value for key, value in profile.items() if key != "core"}}, "run.db")
    with pytest.raises(InputError, match=r"run.db: messages"):
        recorded_messages({"messages": profile | {"link": {"generation": 9}}}, "run.db")
    with pytest.raises(InputError, match=r"run.db: messages"):
        recorded_messages({}, "run.db")
