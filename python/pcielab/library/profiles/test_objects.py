"""Systems and hosts as immutable objects: a change makes a new one and is recorded."""

import pytest

import pcielab
from pcielab import InputError
from pcielab.library.profiles.keys import keys_of


def test_a_changed_system_is_a_new_one_with_all_changes() -> None:
    snb = pcielab.load_system("snb")
    wide = snb.with_(llc_ddio_ways=4).with_({"link.lanes": 4}, iommu_walk_ns=500)
    assert (snb.host.llc.ddio_ways, wide.host.llc.ddio_ways, wide.link.lanes) == (1, 4, 4)
    assert wide.overrides == {"host.llc.ddio_ways": 4, "link.lanes": 4, "host.iommu.walk_ns": 500}
    assert wide.to_json() == pcielab.resolve("snb", wide.overrides).to_json()
    assert wide.title.startswith(f"{snb.title}, with host.llc.ddio_ways=4, link.lanes=4")


def test_a_changed_host_can_replace_that_of_a_system() -> None:
    snb, other = pcielab.load_system("snb"), pcielab.load_host("ib-e5-2620v2")
    assert snb.with_(host=other).host == other
    host = snb.host.with_(llc_ddio_ways=4, llc_bytes="30M")
    system = snb.with_(host=host)
    assert system.host == host
    assert system.overrides == {"host.llc.llc_bytes": 30 << 20, "host.llc.ddio_ways": 4}
    with pytest.raises(InputError, match="at most ways"):
        host.with_(ddio_ways=99)
    with pytest.raises(InputError, match="no key ends with it"):
        host.with_(lanes=8)


def test_every_key_has_a_meaning_and_a_range() -> None:
    system = pcielab.load_system("ib-000").with_(llc_ddio_ways=4)
    keys = {key.key: key for key in keys_of(system.system, system.source_of)}
    assert len(keys) > 90
    assert [key for key, one in keys.items() if not one.meaning] == []
    ways = keys["host.llc.ddio_ways"]
    assert (ways.value, ways.kind, ways.least, ways.source) == (4, "whole", 1, "changed with --set")
    assert keys["iommu"].choices == ("off", "super-pages", "four-kib-pages")
    assert keys["link.ecrc"].choices == (False, True)
    assert keys["host.iommu.walk_ns"].unit == "ns"
    for key, one in keys.items():
        if one.kind in ("number", "whole", "choice") and one.value is not None:
            assert system.with_({key: one.value}).system == system.system


def test_html_escapes_the_title_of_a_system() -> None:
    attack = "<script>x</script>"
    shown = pcielab.resolve("snb", {"title": attack})._repr_html_()
    assert "&lt;script&gt;" in shown
    assert attack not in shown
    assert "host.llc.ddio_ways" in shown
