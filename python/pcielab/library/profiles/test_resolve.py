"""Profiles and `--set`, right and wrong."""

import json
from pathlib import Path

import pytest

from pcielab.errors import InputError
from pcielab.library.profiles import check_file, resolve

SOURCE = '[provenance]\nsource = "me"\n'


def written(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def system(folder: Path, text: str, base: str = "snb", name: str = "mine") -> str:
    return written(folder, name, f'name = "{name}"\ntitle = "Mine"\nbase = "{base}"\n{text}\n{SOURCE}')


def refused(name: str, *sets: str) -> str:
    with pytest.raises(InputError) as caught:
        resolve(name, sets)
    return str(caught.value)


def test_a_file_inherits_from_its_base(tmp_path: Path) -> None:
    mine, base = resolve(system(tmp_path, "device_socket = 0")), resolve("snb")
    assert mine.system.with_({"name": "snb", "title": base.system.title}) == base.system
    assert mine.provenance["system"].source.startswith("me. From snb: ")


def test_files_are_found_beside_the_one_that_names_them(tmp_path: Path) -> None:
    written(
        tmp_path, "host", f'name = "big"\ntitle = "Big"\nbase = "snb-e5-2630"\n[llc]\nllc_bytes = "30M"\n{SOURCE}'
    )
    host = resolve(system(tmp_path, 'host = "host.toml"')).system.host
    assert (host.name, host.llc.llc_bytes, host.llc.ways) == ("big", 30 << 20, 20)


def test_a_part_can_be_a_table_in_the_system_file(tmp_path: Path) -> None:
    link = resolve(system(tmp_path, '[link]\nbase = "gen3-x8"\nlanes = 4')).system.link
    assert (link.lanes, link.mps_bytes) == (4, 256)


def test_the_set_table_and_the_option_do_the_same(tmp_path: Path) -> None:
    by_file = resolve(system(tmp_path, '[set]\n"host.iommu.walk_ns" = 300\n"link.ecrc" = true', name="snb"))
    by_option = resolve("snb", ["host.iommu.walk_ns=300", "link.ecrc=true", "title=Mine"])
    assert by_file.system.host == by_option.system.host
    assert by_file.system.link == by_option.system.link
    assert by_option.overrides == {"host.iommu.walk_ns": 300, "link.ecrc": True, "title": "Mine"}
    assert by_file.overrides == {}


def test_set_takes_sizes_indices_absence_and_whole_parts() -> None:
    changed = resolve("e3", {"host.llc.llc_bytes": "6M", "host.idle.clusters.1.share": "0.5"}).system.host
    assert changed.llc.llc_bytes == 6 << 20
    assert changed.idle is not None
    shipped = resolve("e3").system.host.idle
    assert shipped is not None
    assert [cluster.share for cluster in changed.idle.clusters][:2] == [shipped.clusters[0].share, 0.5]
    assert resolve("e3", ["host.idle=none"]).system.host.idle is None
    other = resolve("snb", ["host=hsw-e5-2620v3"]).system.host
    assert (other.name, other.root_complex.read_ns) == ("hsw-e5-2620v3", 308.0), (
        "settings of snb apply to its own host"
    )


def test_changes_are_sources_of_values() -> None:
    resolved = resolve("snb", ["host.iommu.walk_ns=300"])
    assert resolved.source_of("host.iommu.walk_ns") == "changed with --set"
    assert "LAT_CMD_RD 8 B" in resolved.source_of("host.root_complex.read_ns")
    assert "14 reproduces" in resolved.source_of("device.dma.busy_request_interval_ns")


def test_a_files_own_values_override_the_settings_of_its_base(tmp_path: Path) -> None:
    text = '[host]\nbase = "snb-e5-2630"\n[host.llc]\nllc_bytes = "30M"'
    mine = resolve(system(tmp_path, text)).system.host
    assert (mine.llc.llc_bytes, mine.root_complex.read_ns) == (30 << 20, 313.0)


def test_whole_numbers_and_decimals_give_identical_bytes() -> None:
    whole, decimal = (resolve("snb", [f"host.iommu.walk_ns={text}"]).to_json() for text in ("300", "300.0"))
    assert whole == decimal
    assert json.loads(whole)["host"]["iommu"]["walk_ns"] == 300.0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("host.iommu.wlak_ns=3", "did you mean walk_ns?"),
        ("host.iommu.walk_us=3", "the key is walk_ns"),
        ("link.mps=256", "the key is mps_bytes"),
        ("walk_ns=3", "did you mean host.iommu.walk_ns?"),
        ("nonsense=3", "unknown key"),
        ("host.iommu.walk_ns", "give KEY=VALUE"),
        ("host.iommu.walk_ns=fast", "'fast': give 0 to 100000"),
        ("host.iommu.walk_ns=true", "give 0 to 100000"),
        ("host.iommu.walk_ns=-1", "give 0 to 100000"),
        ("host.iommu.walk_ns=nan", "give 0 to 100000"),
        ("host.iommu=3", "give a table"),
        ("host.iommu=4k", "host.iommu is '4k': give a table, or one of its keys: host.iommu."),
        ("host.iommu=4k", 'iommu takes values: give "off", "super-pages" or "four-kib-pages"'),
        ("host.llc=5", "give a table, or one of its keys: host.llc."),
        ("link.generation=9", "give 1, 2, 3, 4, 5, 6 or 7"),
        ("link.mps_bytes=300", "link.mps_bytes is 300: give 128, 256"),
        ("link.mrrs_bytes=64", "link.mrrs_bytes is 64: give 128, 256"),
        ("link.generation=6", "set flit = true"),
        ("link.lanes=3", "link.lanes is 3"),
        ("link.lanes=true", "link.lanes is true: give 1, 2"),
        ("link.lanes=8.0", "link.lanes is 8.0: give 1, 2"),
        ("host.llc.ways=0", "give 1 to 255"),
        ("host.llc.ddio_ways=21", "at most ways, which is 20"),
        ("host.llc.llc_bytes=15Q", "give bytes"),
        ("device_socket=1", "snb-e5-2630 has sockets 0 to 0"),
        ("iommu=on", '"off", "super-pages" or "four-kib-pages"'),
        ("chunk_bytes=3M", "a power of two"),
        ("chunk_addresses=[4096, 8192]", "give multiples of chunk_bytes, which is 4194304"),
        ("chunk_addresses=[0, 0]", "0x0 twice"),
        ("chunk_addresses=[]", "give a list of 1 or more entries"),
        ("host=hsw2620", "did you mean hsw-e5-2620v3?"),
    ],
)
def test_a_wrong_change_is_explained(change: str, expected: str) -> None:
    message = refused("snb", change)
    assert expected in message
    assert "--set" in message or change.startswith("host=")


@pytest.mark.parametrize(
    ("change", "key", "value", "remedy"),
    [
        ("host.llc.ddio_ways=21", "host.llc.ddio_ways", "21", "give at most ways, which is 20"),
        ("chunk_bytes=5000", "chunk_bytes", "5000", "give a power of two, 4096 to 2^30"),
        ("memory_socket=3", "memory_socket", "3", "snb-e5-2630 has sockets 0 to 0"),
    ],
)
def test_a_rule_across_keys_names_key_value_and_remedy(change: str, key: str, value: str, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve("snb", [change])
    assert (caught.value.key, caught.value.value, caught.value.remedy) == (key, value, remedy)


def test_a_rule_holds_in_a_file_of_a_part_alone(tmp_path: Path) -> None:
    text = f'name = "big"\ntitle = "Big"\nbase = "snb-e5-2630"\n[llc]\nddio_ways = 21\n{SOURCE}'
    with pytest.raises(InputError, match=r"llc\.ddio_ways is 21: give at most ways, which is 20") as caught:
        check_file("host", Path(written(tmp_path, "big", text)))
    assert caught.value.key == "llc.ddio_ways"


def test_an_index_beyond_a_list_is_explained() -> None:
    assert "'99' is not an index of a list of" in refused("e3", "host.idle.clusters.99.share=1")


def test_an_unknown_name_lists_the_known_ones() -> None:
    message = refused("hsw-2620")
    assert "did you mean hsw2620?" in message
    assert "ib-011-nosp" in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "nowhere.toml: system profile not found" in refused(str(tmp_path / "nowhere.toml"))


def test_wrong_toml_is_named_with_its_line(tmp_path: Path) -> None:
    assert "line 2" in refused(written(tmp_path, "broken", 'name = "a"\ntitle = oops\n'))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("devise_socket = 1", "unknown key devise_socket: did you mean device_socket?"),
        ('iommu = "on"', "iommu is 'on'"),
        ("chunk_bytes = 1.5", "chunk_bytes is 1.5: give 1 to 9223372036854775807"),
        ("[link]\ngeneration = 3", "missing key link.mps_bytes (Maximum payload size"),
        ("iommu = 2026-01-01", 'iommu is 2026-01-01: give "off", "super-pages" or "four-kib-pages"'),
        ('[set]\n"host.iommu.walk_ns" = 07:30:00', "set.host.iommu.walk_ns is 07:30:00: give 0 to 100000"),
        ("[set]\nwalk_ns = 3", "[set] walk_ns: unknown key: did you mean host.iommu.walk_ns?"),
        ('base = "x"', "line 4, column 1: duplicate key"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, expected: str) -> None:
    message = refused(system(tmp_path, text))
    assert expected in message
    assert "mine.toml" in message


def test_a_problem_in_a_host_names_the_file_of_the_host(tmp_path: Path) -> None:
    text = f'name = "h"\ntitle = "H"\nbase = "snb-e5-2630"\n[iommu]\nwalk_us = 0.3\n[llc]\nways = 0\n{SOURCE}'
    written(tmp_path, "h", text)
    message = refused(system(tmp_path, 'host = "h.toml"'))
    assert "h.toml: 2 problems" in message
    assert "unknown key iommu.walk_us: the key is walk_ns" in message
    assert "llc.ways is 0" in message


def test_a_file_without_provenance_is_refused(tmp_path: Path) -> None:
    name = written(tmp_path, "bare", 'name = "bare"\ntitle = "Bare"\ngeneration = 3\n')
    assert "missing key provenance" in refused(system(tmp_path, f'link = "{name}"'))


WRONG = "[iommu]\nwalk_ns = -5"
WRONG_HOST = '[host]\nbase = "snb-e5-2630"\n[host.iommu]\nwalk_ns = -5'
PROBLEM = "iommu.walk_ns is -5: give 0 to 100000 ("


@pytest.mark.parametrize(
    ("files", "sets", "expected"),
    [
        ({"mine": WRONG_HOST}, (), f"mine.toml: host.{PROBLEM}"),
        ({"mine": "", "base": WRONG_HOST}, (), f"base.toml: host.{PROBLEM}"),
        ({"mine": 'host = "part.toml"', "part": WRONG}, (), f"part.toml: {PROBLEM}"),
        ({"mine": 'host = "part.toml"', "part": "", "below": WRONG}, (), f"below.toml: {PROBLEM}"),
        ({"mine": '[set]\n"host.iommu.walk_ns" = -5'}, (), f"mine.toml: [set] host.{PROBLEM}"),
        ({"mine": "", "base": '[set]\n"host.iommu.walk_ns" = -5'}, (), f"base.toml: [set] host.{PROBLEM}"),
        ({"mine": '[set]\n"host.llc.ddio_ways" = 99'}, (), "mine.toml: [set]: host.llc.ddio_ways is 99: give"),
        ({"mine": ""}, ("host.iommu.walk_ns=-5",), f"--set: host.{PROBLEM}"),
        ({"mine": ""}, ("host.llc.ddio_ways=99",), "--set: host.llc.ddio_ways is 99: give at most ways"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_blamed_on_what_gave_it(
    files: dict[str, str], sets: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    first = "base.toml" if "base" in files else "snb"
    for name, text in files.items():
        if name in ("part", "below"):
            base = "below.toml" if name == "part" and "below" in files else "snb-e5-2630"
            written(tmp_path, name, f'name = "{name}"\ntitle = "H"\nbase = "{base}"\n{SOURCE}{text}')
        else:
            system(tmp_path, text, base=first if name == "mine" else "snb", name=name)
    message = refused(str(tmp_path / "mine.toml"), *sets)
    assert message.removeprefix(f"{tmp_path}/").startswith(expected), message


def test_a_wrong_value_that_another_file_replaces_is_no_problem(tmp_path: Path) -> None:
    system(tmp_path, '[set]\n"host.iommu.walk_ns" = -5', name="base")
    mine = resolve(system(tmp_path, '[set]\n"host.iommu.walk_ns" = 5', base="base.toml"))
    assert mine.system.host.iommu.walk_ns == 5
    assert mine.handle.source("host.iommu.walk_ns") == f"{tmp_path}/mine.toml: [set]"
    assert str(mine.handle.source("host.iommu.tlb.entries")).endswith("snb-e5-2630.toml")


def test_refuses_bases_in_a_circle(tmp_path: Path) -> None:
    name = system(tmp_path, "", base="mine.toml")
    assert "in a circle" in refused(name)


@pytest.mark.parametrize(
    ("paper", "name"),
    [
        ("NFP6000-BDW", "bdw-000"),
        ("NFP6000-HSW", "hsw2637"),
        ("NFP6000-HSW-E3", "e3"),
        ("NFP6000-IB", "ib-000"),
        ("nfp6000-snb", "snb"),
        ("NetFPGA-HSW", "netfpga-hsw"),
    ],
)
def test_aliases_of_the_paper_name_its_machines(paper: str, name: str) -> None:
    assert resolve(paper).system.name == name


def test_a_mistyped_name_of_the_paper_is_suggested() -> None:
    assert "did you mean NFP6000-BDW?" in refused("NFP6000-BDX")


def test_a_system_does_not_inherit_the_aliases_of_its_base(tmp_path: Path) -> None:
    assert "aliases" not in json.loads(resolve(system(tmp_path, "")).to_json())
