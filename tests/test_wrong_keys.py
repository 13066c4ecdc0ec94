"""The error of a wrong file of each kind has the key, the value and the remedy as attributes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pcielab import fabric, model
from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.profiles import check_file
from pcielab.library.suites import load_message_suite

Loader = Callable[[str], object]

LOADERS: dict[str, Loader] = {
    "nic": model.load_nic,
    "messages": model.load_message_profile,
    "fabric": fabric.load,
    "fabric suite": fabric.load_fabric_suite,
    "messages suite": load_message_suite,
    "host": lambda path: check_file("host", Path(path)),
}
CASES = [
    ("nic", "niantic-dpdk", "batch = 40", "batch = 0", ("step.1.batch", "0", "give 1 to 1000000")),
    (
        *("nic", "niantic-dpdk", "batch = 40", "batch = 40\nevery_packets = 2"),
        ("step.1", "None", "give every_packets or batch, not both"),
    ),
    (
        *("messages", "kpio-2012", 'capacity_bytes = "4K"', "capacity_bytes = 100"),
        ("queue.capacity_bytes", "100", "give a multiple of 64, 64 to 67108864"),
    ),
    (
        *("messages", "kpio-2012", "payload_ns = 1736.0", "payload_ns = 1.0"),
        ("descriptors.payload_ns", "1", "give more than payload_request_ns"),
    ),
    (
        *("fabric", "fabrex-u55c", '\nhost = "r740"', '\nhost = "r741"'),
        ("node.0.host", "'r741'", "did you mean r740?"),
    ),
    (
        *("fabric suite", "rpciebench", 'sweep = "F1.size_bytes"', 'sweep = "F1.bytes"'),
        ("experiment.2.sweep", "'F1.bytes'", "give the name of a flow or *"),
    ),
    (
        *("messages suite", "kpio-mux", 'ways = ["mux"]', 'ways = ["mux", "uncached"]'),
        ("ways", "['mux', 'uncached']", "give it a group of its own"),
    ),
    (
        "host",
        "snb-e5-2630",
        "ddio_ways = 1",
        "ddio_ways = 21",
        ("llc.ddio_ways", "21", "give at most ways, which is 20"),
    ),
]


@pytest.mark.parametrize(("kind", "name", "old", "new", "parts"), CASES)
def test_the_error_of_a_wrong_file_has_key_value_and_remedy(
    kind: str, name: str, old: str, new: str, parts: tuple[str, str, str], tmp_path: Path
) -> None:
    part, _, suite = kind.partition(" ")
    files = shipped.suite_files(part) if suite else shipped.profile_files(part)  # type: ignore[arg-type]
    text = files[name].read_text(encoding="utf-8")
    assert old in text
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        LOADERS[kind](str(wrong))
    key, value, remedy = parts
    error = caught.value
    assert str(error.subject).startswith(str(wrong))
    assert (error.key, str(error.value)) == (key, value)
    assert remedy in str(error.remedy)
    assert str(error).startswith(str(wrong))
