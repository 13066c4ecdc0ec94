"""Flits: a second packing, written from the specification, gives those of `pcie-wire`; `explain` names them.

`make flits` packs 10,000 random sequences of TLPs each way.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from pcielab import open_store, single_test
from pcielab.devices.running import simulate
from pcielab.errors import InputError
from pcielab.kinds.transfers.explain import explain_run
from pcielab.kinds.transfers.latencies import explain_latencies
from pcielab.library.profiles import resolve
from pcielab.store import Store

_PACKER = Path(__file__).parents[1] / "target" / "debug" / "examples" / "flits"
_SEQUENCES = int(os.environ.get("PCIELAB_FLITS", "200"))
_TLP_BYTES, _OTHER_BYTES = 236, 20

Tlp = tuple[int, int]
"""Bytes of flits that have been sent when it is ready, and its double words."""
Flit = list[int | None]
"""The number of the TLP in each double word; None: a NOP."""


def _pack(tlps: list[Tlp], joins: bool) -> list[Flit]:
    """Fill flit after flit, double word by double word, as a transmitter does."""
    flits: list[Flit] = []
    number, left, sent = 0, 0, 0
    while number < len(tlps) or left:
        flit: Flit = []
        closes = sent
        for word in range(_TLP_BYTES // 4):
            # A flit that is filled before it is sent takes what is ready at its start.
            now = sent + 4 * word if joins else closes
            if not left and number < len(tlps) and tlps[number][0] <= now:
                left = tlps[number][1]
                number += 1
            flit.append(number - 1 if left else None)
            left -= bool(left)
        flits.append(flit)
        sent += _TLP_BYTES + _OTHER_BYTES
    return flits


def _random_tlps(random: Random) -> list[Tlp]:
    """Requests, completions and writes, in bursts and with pauses."""
    ready, tlps = 0, []
    for _ in range(random.randint(1, 30)):
        ready += random.choice([0, 0, random.randrange(40), random.randrange(1500)])
        header, longest = random.choice([(3, 0), (4, 0), (3, 64), (4, 64), (4, 1024)])
        tlps.append((ready, header + (random.randint(1, longest) if longest else 0)))
    return tlps


@pytest.mark.parametrize("entry", ["running", "next"])
def test_two_implementations_pack_the_same_flits(entry: str) -> None:
    random = Random(entry)
    directions = [_random_tlps(random) for _ in range(_SEQUENCES)]
    lines = "".join(f"{json.dumps(tlps)}\n" for tlps in directions)
    packed = subprocess.run([_PACKER, entry], input=lines, capture_output=True, text=True, check=True).stdout
    for tlps, line in zip(directions, packed.splitlines(), strict=True):
        assert json.loads(line) == _pack(tlps, joins=entry == "running"), tlps


def _simulated(
    folder: Path, lanes: int, operation: str, changes: Mapping[str, str] | None = None, **options: object
) -> Store:
    """A test on a link of generation 6."""
    path = folder / f"x{lanes}-{operation}.db"
    link = {"link.generation": "6", "link.flit": "true", "link.lanes": str(lanes), **(changes or {})}
    simulate(resolve("gen5-x16", link), single_test(operation, transactions=20_000, **options), path)  # type: ignore[arg-type]
    return open_store(path)


def test_explain_shows_what_flits_add_to_a_latency(tmp_path: Path) -> None:
    [narrow], [wide] = (
        explain_latencies(_simulated(tmp_path, lanes, "lat-rd", size=64), [0]).rows for lanes in (1, 16)
    )

    def added_ns(parts: Mapping[str, float | None]) -> float:
        times = [ns for part, ns in parts.items() if part.startswith("flit_")]
        assert len(times) == 3
        return sum(ns or 0.0 for ns in times)

    # The sum of two even distributions has its median at its mean.
    assert narrow.value - wide.value == pytest.approx(added_ns(narrow.parts) - added_ns(wide.parts), abs=1)


def test_explain_names_flit_fill_where_it_binds(tmp_path: Path) -> None:
    [read] = explain_run(_simulated(tmp_path, 1, "bw-rd", size=512)).rows
    assert read.flit_fill["upstream"] < 0.1 < 0.9 < read.flit_fill["downstream"] <= 1
    share = f"{100 * read.flit_fill['downstream']:.1f} %"
    assert f"flit fill: flits downstream are full; TLPs take {share} of the bytes for TLPs" in read.reasons
    [few] = explain_run(_simulated(tmp_path, 16, "bw-rd", size=8)).rows
    assert not any(reason.startswith("flit fill") for reason in few.reasons)


def test_explain_says_what_replays_cost(tmp_path: Path) -> None:
    changes = {"link.flit_error_rate": "1e-3", "link.flit_replay": "selective"}
    [read] = explain_run(_simulated(tmp_path, 4, "bw-rd", changes, size=512)).rows
    # A flit of 256 B takes 8 ns on four lanes, and is sent once more for every 999 that arrive.
    assert (
        "replays: one in 1,000 flits arrives damaged, and its replay takes 8.0 ns, "
        "together 0.1 % of the time downstream"
    ) in read.reasons


def test_explain_names_a_small_replay_buffer(tmp_path: Path) -> None:
    changes = {"link.replay_buffer_flits": "4"}
    [write] = explain_run(_simulated(tmp_path, 16, "bw-wr", changes, size=512)).rows
    assert write.answer.bound == "replay-buffer"
    assert 0.9 < write.share <= 1


def test_a_rate_of_errors_is_a_number_or_the_design(tmp_path: Path) -> None:
    named = _simulated(tmp_path, 16, "bw-rd", {"link.flit_error_rate": '"specification"'}, size=512)
    assert named.manifest["system"]["link"]["flit_error_rate"] == "specification"
    with pytest.raises(InputError, match=r'link.flit_error_rate is 0\.7: give 0 to 0\.5 or "specification"'):
        resolve("gen5-x16", {"link.flit_error_rate": "0.7"})
    with pytest.raises(
        InputError, match=r"link.replay_buffer_bytes is 100: give \d+ or more: a TLP with mps_bytes"
    ):
        resolve("gen5-x16", {"link.replay_buffer_bytes": "100"})
