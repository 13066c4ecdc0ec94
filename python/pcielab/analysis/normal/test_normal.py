"""Answers beside calculations by hand, and the score of the comparison on sources that are left out."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from pcielab import InputError, normal
from pcielab.analysis.normal import comparable
from pcielab.analysis.normal.causes import _is_ruled_out
from pcielab.analysis.normal.comparable import comparables, elsewhere, question_of
from pcielab.analysis.normal.left_out import LOSSES, leave_one_source_out
from pcielab.analysis.normal.rows import summary
from pcielab.analysis.normal.spread import T90, T95, spread_of, usual_range
from pcielab.formats import importers
from pcielab.formats.importers.tools.given import Given
from pcielab.kinds.question import Question, kind_of
from pcielab.library import shipped
from pcielab.library.causes import causes
from pcielab.library.figure_words import ENGINES
from pcielab.library.published_figures import published_figures, read_figures

GEN5_X16_GB = 32 * 16 * 128 / 130 / 8
"""Raw rate of one direction, GB/s, by hand."""
SKIPS = 0.998
"""Share of the raw rate that is left beside skip symbols and DLLPs, to a quarter of a per cent."""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"device": "ConectX-6 200G"}, "No device like 'ConectX-6 200G' is known (did you mean ConnectX-6?)"),
        ({"device": "frobnicator"}, "No device like 'frobnicator' is known: "),
        ({"cpu": "Ryzne 9"}, "No processor like 'Ryzne 9' is known (did you mean Ryzen?)"),
    ],
)
def test_a_name_that_nothing_knows_is_said_to_be_unknown(given: dict[str, Any], words: str) -> None:
    answer = normal("d2h", "150Gb/s", link="gen4x16", engine="dma", **given)
    assert words in str(answer)
    assert "device" not in given or "--device" not in answer.missing


@pytest.mark.parametrize(
    "given", [{"device": "ConnectX-6 200G"}, {"device": "my NIC"}, {"device": "Z19-P"}, {"cpu": "Xeon Gold 6442Y"}]
)
def test_a_known_name_is_not_said_to_be_unknown(given: dict[str, Any]) -> None:
    answer = normal("d2h", "150Gb/s", link="gen4x16", engine="dma", **given)
    assert "is known" not in str(answer)


def test_bounds_are_those_of_a_calculation_by_hand() -> None:
    # A completion of 256 B: 12 B of header, 4 B LCRC, 2 B sequence, 2 B framing = 20 B more.
    copied = normal("h2d", "54.1GB/s", link="gen5x16", engine="copy")
    assert copied.bounds[0].value == pytest.approx(GEN5_X16_GB * 256 / 276 * SKIPS, rel=2.5e-3)
    # A write with a 64-bit address has 4 B more.
    written = normal("d2h", "54.1GB/s", link="gen5x16", engine="copy")
    assert written.bounds[0].value == pytest.approx(GEN5_X16_GB * 256 / 280 * SKIPS, rel=2.5e-3)
    # Write-combining buffers of 64 B.
    stored = normal("h2d", "20GB/s", link="gen4x16", engine="core")
    assert stored.bounds[0].value == pytest.approx(GEN5_X16_GB / 2 * 64 / 88 * SKIPS, rel=2.5e-3)
    # 32 requests of 512 B in flight over 700 ns.
    flying = normal("h2d", "20GB/s", link="gen5x16", size_bytes=512, depth=32, round_trip_ns=700)
    assert flying.bounds[0].value == pytest.approx(32 * 512 / 700)
    assert flying.bounds[0].name == "in flight"
    # 4 KiB with 6.25 us a call.
    called = normal("h2d", "0.5GB/s", link="gen3x16", engine="copy", size_bytes=4096)
    peak = called.bounds[1].value
    assert called.bounds[0].value == pytest.approx(4096 / (6250 + 4096 / peak))
    assert peak == pytest.approx(8 * 16 * 128 / 130 / 8 * 256 / 276 * SKIPS, rel=2.5e-3)


def test_bounds_of_an_expander_name_its_mix() -> None:
    asked: dict[str, Any] = {
        "link": "gen5x8",
        "device": "CXL memory expander",
        "engine": "core",
        "read_share": 0.3,
    }
    because = [bound.because for bound in normal("both", "20GB/s", **asked).bounds]
    assert len(because) == 4
    assert all(one.endswith("(30 % reads)") for one in because)


COPY = {"engine": "copy"}
THREADS: list[tuple[str, str, dict[str, str], str, float, float, str | None]] = [
    # 57 GB/s to an H100: is the VM fine?
    ("h2d", "57.06 GB/s", {"link": "PCIe 5.0 x16", **COPY, "device": "H100", "source": "nvbw-6"},
     "normal", 58.28, 0.98, None),
    # Eight 4090s show 23.9 to 26.4 GB/s host to device.
    ("h2d", "25.8GB/s", {"link": "Gen4 x16", **COPY, "device": "RTX 4090", "source": "nvbw-15"},
     "normal", 29.14, 0.885, None),
    # An A100 with 25 GB/s: where is the rest of 32?
    ("h2d", "25 GB/s", {"link": "16 GT/s x16", **COPY, "device": "A100", "source": "bam-54"},
     "normal", 29.14, 0.858, None),
    # 5090 on a Sapphire Rapids server, 56.35 GB/s by the copy engine.
    ("h2d", "56.35GB/s", {"link": "32GT/s x16", **COPY, "device": "RTX 5090", "source": "tiny-okm-29"},
     "normal", 58.28, 0.967, None),
    # The Gen3 nodes give 12.4 GB/s to the GPU.
    ("h2d", "12400 MB/s", {"link": "PCIe Gen3 x16", **COPY, "device": "P100", "source": "della-a100"},
     "normal", 14.57, 0.851, None),
    # H200 to host, 55 GB/s.
    ("d2h", "440.48 Gb/s", {"link": "x16 Gen5", **COPY, "device": "H200", "source": "mleng-network"},
     "normal", 57.46, 0.958, None),
    # Three 3090s with the P2P driver: 25.9 GB/s one way.
    ("p2p", "25.9GB/s", {"link": "gen4x16", **COPY, "device": "RTX 3090", "source": "ikllama-1018"},
     "normal", 28.73, 0.901, None),
    # Two 4090s: 20 GB/s instead of 25.
    ("p2p", "20 GB/s", {"link": "gen4x16", **COPY, "device": "RTX 4090", "source": "tiny-okm-26"},
     "low", 28.73, 0.696, "D29"),
    # One of four H100s has 14.2 GB/s.
    ("h2d", "14.2GB/s", {"link": "gen5x16", **COPY, "device": "H100", "source": "nvbw-6"},
     "low", 58.28, 0.244, "D01"),
    # 11 GB/s to an A100 as soon as the other way runs.
    ("h2d", "11GB/s", {"link": "gen4x16", **COPY, "device": "A100", "state": "other-way-busy",
                       "source": "nvbw-53"},
     "low", 29.14, 0.377, "D24"),
    # 100G: 91.78 Gb/s of TCP once the IOMMU is on.
    ("d2h", "91.78 Gbps", {"link": "gen3x16", "engine": "dma", "device": "ConnectX-5 100G", "state": "iommu",
                           "source": "farshin-thesis"}, "normal", 12.5, 0.918, None),
    # XDMA reads 5.5 GB/s with dd on Gen3 x16.
    ("d2h", "5.5GB/s", {"link": "gen3x16", "engine": "dma", "device": "Zynq UltraScale+ XDMA",
                        "state": "one-at-a-time", "source": "xdma-293"},
     "nothing to compare with", 14.37, 0.383, None),
]  # fmt: skip
"""Questions in the words of public threads, whose source is left out, and their answers."""


@pytest.mark.parametrize(("what", "value", "given", "verdict", "bound", "ratio", "cause"), THREADS)
def test_questions_of_public_threads_without_their_own_source(
    what: str, value: str, given: dict[str, str], verdict: str, bound: float, ratio: float, cause: str | None
) -> None:
    """Bounds (GB/s) and ratios by hand, from raw rates and TLPs of 256 B as above."""
    answer = normal(what, value, **given)  # type: ignore[call-overload]
    assert answer.verdict == verdict
    wire = next(one for one in answer.bounds if one.name in ("wire", "line"))
    assert wire.value == pytest.approx(bound, rel=2e-3)
    assert answer.ratio == pytest.approx(ratio, rel=6e-3)
    assert cause is None or cause in {one.key for one in answer.causes}
    assert given["source"] not in {one.figure.source_key for one in answer.figures}


def test_the_loads_and_stores_of_a_core_are_not_pooled_and_go_the_other_way() -> None:
    load = normal("read", "30MB/s", link="gen4x16", engine="core")
    store = normal("write", "20.5GB/s", link="gen4x16", engine="core")
    assert (load.question.what, store.question.what) == ("d2h", "h2d")
    # A load takes a line of 64 B at most: 20 B around it in the completion.
    assert load.bounds[0].value == pytest.approx(GEN5_X16_GB / 2 * 64 / 84 * SKIPS, rel=5e-3)
    assert {one.question.what for one in load.figures} <= {"d2h"}
    assert "0.0013 of it" in load.sentences[0]


def test_without_a_link_there_is_no_ratio_and_no_verdict() -> None:
    answer = normal("h2d", "54GB/s", engine="copy")
    assert (answer.verdict, answer.ratio) == ("nothing to compare with", None)
    assert "sources" not in answer.sentences[1]
    assert "--link" in answer.missing


def test_packets_have_preamble_and_gap_on_their_line() -> None:
    answer = normal("iops", "148.8Mpps", link="gen3x16", engine="dma", size_bytes=64, device="ConnectX-5 100G")
    assert answer.bounds[0].value == pytest.approx(100e9 / 8 / 84)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("L40S, GH200, H-100 PCIe, RTX PRO 6000, A10G, GB200 NVL, MI-300, Arc B580", "gpu"),
        ("PM1743, P5800X, Samsung 990 PRO, Crucial T705, WD SN850, D5-P5316", "nvme"),
        ("Connect-X 6, CX-7, X710, E810, i210, Slingshot", "nic"),
        ("VU9P, KCU105, NiteFury, Zynq", "fpga"),
        ("p2p, PCIe 4, my box", None),
    ],
)
def test_devices_are_known_by_the_names_that_people_use(names: str, kind: str | None) -> None:
    assert {name: kind_of(name, None) for name in names.split(", ")} == dict.fromkeys(names.split(", "), kind)


def test_a_store_of_4_bytes_is_a_tlp_of_its_own() -> None:
    answer = normal("write", "3GB/s", link="gen4x16", engine="core", size_bytes=4)
    # 4 B in a TLP with 24 B around them: a header for 64-bit addresses, LCRC, sequence number and framing.
    assert answer.bounds[0].value == pytest.approx(GEN5_X16_GB / 2 * 4 / 28 * SKIPS, rel=5e-3)


GEN3_X4_GBPS = 8 * 4 * 128 / 130


@pytest.mark.parametrize(
    ("link", "raw_gbps"),
    [
        ("tb3", GEN3_X4_GBPS),
        ("Thunderbolt 4", GEN3_X4_GBPS),
        ("tb5", 2 * GEN3_X4_GBPS),
        ("usb4", 40),
        ("USB4 80G", 2 * GEN3_X4_GBPS),
    ],
)
def test_a_tunnel_carries_payloads_of_128_bytes(link: str, raw_gbps: float) -> None:
    answer = normal("d2h", "1.5GB/s", link=link, engine="dma", device="NVMe")
    # A write of 128 B has 24 B around it.
    assert answer.bounds[0].value == pytest.approx(raw_gbps / 8 * 128 / 152 * SKIPS, rel=2.5e-3)
    assert (answer.verdict, answer.figures, answer.causes) == ("nothing to compare with", (), ())
    assert "no source measured the same" in answer.sentences[1]
    assert "--mps" not in answer.missing
    with pytest.raises(InputError, match=r"above the raw rate of (Thunderbolt|USB4)"):
        normal("d2h", f"{raw_gbps * 1.01}Gb/s", link=link, engine="dma")


@pytest.mark.parametrize(
    ("value", "given", "payload_gbps"),
    [
        # A Raspberry Pi 5 reads an NVMe drive, and writes arrive at 5 GT/s with 8b/10b, or at 8 GT/s.
        ("442MB/s", {"link": "gen2x1", "cpu": "Raspberry Pi 5"}, 4 * 256 / 280),
        ("858MB/s", {"link": "gen3x1", "cpu": "Raspberry Pi 5"}, 8 * 128 / 130 * 256 / 280),
        # A drive of an RK3588 on four lanes, and on one.
        ("3.2GB/s", {"link": "gen3x4", "cpu": "RK3588"}, 4 * 8 * 128 / 130 * 256 / 280),
        ("0.4GB/s", {"link": "gen2x1", "cpu": "RK3588"}, 4 * 256 / 280),
        ("0.2GB/s", {"link": "gen1x1", "cpu": "Jetson"}, 2 * 256 / 280),
    ],
)
def test_small_boards_have_a_bound_and_comparable_figures(
    value: str, given: dict[str, str], payload_gbps: float
) -> None:
    answer = normal("d2h", value, engine="dma", device="NVMe", source="rpi-pcie-664", **given)  # type: ignore[call-overload]
    assert answer.bounds[0].value == pytest.approx(payload_gbps / 8 * SKIPS, rel=2.5e-3)
    assert answer.verdict == "normal"
    assert answer.elsewhere.sources >= 3
    assert "is known" not in str(answer)


@pytest.mark.parametrize(("board", "links"), [("Raspberry Pi 5", "Gen3 x1"), ("RK3588", "Gen3 x4")])
def test_a_board_without_a_link_has_the_links_of_its_slots(board: str, links: str) -> None:
    for where in ("device", "cpu"):
        answer = normal("d2h", "0.8GB/s", engine="dma", **{where: board})  # type: ignore[call-overload]
        assert links in answer.missing["--link"]
        assert "is known" not in str(answer)


def test_an_interrupt_is_a_message_of_4_bytes_and_one_more_transfer_of_a_completion() -> None:
    message, raw = 4 + 24, 4 * 8 * 128 / 130 / 8
    alone = normal("interrupt", "2us", link="gen3x4")
    assert alone.bounds[0].value == pytest.approx(message / raw)
    assert (alone.verdict, alone.figures) == ("nothing to compare with", ())
    given = {"link": "gen3x4", "engine": "dma", "device": "PM9A3", "size_bytes": 4096}
    polled, announced, unknown = (
        normal("latency", "80us", completion=way, **given)  # type: ignore[call-overload]
        for way in ("polled", "interrupt", None)
    )
    assert polled.bounds[0].value == pytest.approx((24 + 20 + 4096) / raw)
    assert announced.bounds[0].value == pytest.approx(polled.bounds[0].value + message / raw)
    assert [{one.question.completion for one in answer.figures} for answer in (polled, announced)] == [
        set(),
        {"interrupt"},
    ]
    assert ["--completion" in answer.missing for answer in (polled, announced, unknown)] == [False, False, True]


def test_an_interrupt_that_wakes_a_core_is_a_condition() -> None:
    asleep = normal("interrupt", "200us", state="idle-core")
    assert {one.figure.id for one in asleep.figures} == {"M262", "M263"}
    assert asleep.verdict == "nothing to compare with"


def test_a_condition_may_cost_nothing() -> None:
    given = {"link": "gen3x16", "engine": "dma", "device": "ConnectX-5 100G"}
    free, costly, without = (
        normal("d2h", value, state=state, **given)  # type: ignore[call-overload]
        for value, state in (("96Gb/s", "iommu"), ("20Gb/s", "iommu"), ("96Gb/s", None))
    )
    assert (free.verdict, costly.verdict) == ("normal", "low")
    assert free.elsewhere.high == without.elsewhere.high
    assert free.elsewhere.low < without.elsewhere.low


def test_a_nic_of_known_line_is_compared_with_others_of_known_line() -> None:
    known, unknown = (
        normal("d2h", "90Gb/s", link="gen4x16", engine="dma", device=name)
        for name in ("ConnectX-6 100G", "ConnectX-6")
    )
    assert {one.question.line_gbps is None for one in known.figures} == {False}
    assert {one.question.line_gbps is None for one in unknown.figures} == {False, True}


def test_a_loss_of_a_sixth_of_a_gpu_is_low() -> None:
    answer = normal("h2d", "48.5GB/s", link="gen5x16", engine="copy", device="H100")
    assert (answer.verdict, "Gen5," in answer.sentences[1]) == ("low", True)


@pytest.mark.parametrize(
    ("given", "named", "not_named"),
    [
        ({}, "D29", "D30"),
        ({"cpu": "2x Xeon Gold 6442Y"}, "D29", "D30"),
        ({"cpu": "AMD EPYC 7763"}, None, "D29"),
        ({"cpu": "NVIDIA Grace"}, None, "D29"),
    ],
)
def test_no_cause_contradicts_the_processor(given: dict[str, str], named: str | None, not_named: str) -> None:
    answer = normal("p2p", "20GB/s", link="gen4x16", engine="copy", device="RTX 4090", **given)  # type: ignore[call-overload]
    keys = {one.key for one in answer.causes}
    assert answer.verdict == "low"
    assert named is None or named in keys
    assert not_named not in keys


def test_a_copy_engine_is_not_said_to_be_a_kernel() -> None:
    copied = normal("d2h", "46GB/s", link="gen5x16", engine="copy", device="MI300X")
    assert copied.verdict == "low"
    assert "D16" not in {one.key for one in copied.causes}


def test_commands_latencies_and_iommus_have_something_to_compare_with() -> None:
    answered: dict[str, list[bool]] = {"iops": [], "latency": [], "iommu": []}
    for figure in published_figures().values():
        asked = question_of(figure)
        for kind in ("iops", "latency", "iommu"):
            if asked and kind in (figure.what, figure.state):
                answered[kind].append(elsewhere(asked[1]) is not None)
    for kind, found in answered.items():
        assert len(found) >= 8, kind
        assert sum(found) / len(found) >= 0.30, kind


def test_flash_is_not_compared_with_memories_that_read_in_microseconds() -> None:
    given = {"link": "gen4x4", "engine": "dma", "size_bytes": 4096}
    flash, optane = (
        normal("latency", "80us", device=name, **given)  # type: ignore[call-overload]
        for name in ("PM9A3", "Optane P5800X")
    )
    assert (flash.verdict, optane.verdict) == ("nothing to compare with", "low")


def test_a_loss_in_per_cent_is_of_the_figure_that_it_is_against() -> None:
    figures = published_figures()
    lost = question_of(figures["M118"])
    assert (figures["M118"].unit, figures["M118"].against) == ("%", "M117")
    assert lost is not None
    assert lost[1].value.plain == pytest.approx(0.8 * 100 / 8)


def test_sources_that_are_left_out_are_predicted() -> None:
    score = leave_one_source_out()
    assert score.answered / score.figures >= 0.50
    assert score.inside / score.standards >= 0.91
    assert score.all_inside / score.answered >= 0.85
    assert score.width <= 1.335
    assert score.width_without_conditions <= 1.29


def test_a_loss_is_called_low_and_a_standard_is_not() -> None:
    kinds = {power.kind: power for power in leave_one_source_out().kinds}
    assert LOSSES[:2] == (0.15, 0.25)
    copies, others, nics = (kinds[kind] for kind in ("GPU copies, one way", "other GPU figures", "NICs"))
    assert copies.called_low.value <= 0.05
    assert [copies.noticed[0].value >= 0.85, copies.noticed[1].value >= 0.98] == [True, True]
    assert others.called_low.value <= 0.10
    assert [others.noticed[0].value >= 0.50, others.noticed[1].value >= 0.80] == [True, True]
    assert nics.called_low.low <= 0.10
    for power in kinds.values():
        for share in (power.called_low, *power.noticed):
            assert 0 <= share.low <= share.value <= share.high <= 1


def test_the_maker_of_a_gpu_would_call_more_standards_low_and_no_more_losses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = {power.kind: power for power in leave_one_source_out().kinds}
    first = comparable._LADDER[0][0]

    def of_maker(question: Question) -> tuple[object, ...]:
        is_amd = re.search(r"\bmi\d{2,3}|\brx \d|radeon", question.device, re.IGNORECASE) is not None
        return (*first(question), question.kind == "gpu" and is_amd)

    monkeypatch.setattr(comparable, "_LADDER", ((of_maker, ""), *comparable._LADDER))
    with_maker = {power.kind: power for power in leave_one_source_out().kinds}
    for kind in ("GPU copies, one way", "other GPU figures"):
        assert with_maker[kind].called_low.value > without[kind].called_low.value
        for more, less in zip(with_maker[kind].noticed, without[kind].noticed, strict=True):
            assert more.value <= less.value


def test_no_cause_of_a_figure_is_called_a_false_low() -> None:
    score = leave_one_source_out()
    assert score.standards + 14 == score.answered
    assert score.caused >= 7


def test_sources_that_agree_have_a_close_limit_and_those_that_do_not_a_wide_one() -> None:
    close, wide = [math.log(x) for x in (0.95, 0.96, 0.97, 0.965)], [math.log(x) for x in (0.5, 0.7, 0.9, 0.95)]
    for logs in (close, wide):
        own = spread_of([logs])
        error = own * math.sqrt(1 + 1 / 4)
        below, middle, above = usual_range(logs, own, low_is_bad=True)
        high = middle + stats.t.ppf(0.95, 11) * error
        assert above == pytest.approx(high, abs=1e-3)
        point = 0.95 if logs is close else 0.90
        assert below == pytest.approx(middle - stats.t.ppf(point, 11) * error, abs=1e-3)
    turned = usual_range([-log for log in wide], spread_of([wide]), low_is_bad=False)
    assert turned == pytest.approx(
        [-log for log in reversed(usual_range(wide, spread_of([wide]), low_is_bad=True))]
    )


def test_the_spread_of_few_sources_is_that_of_related_ones() -> None:
    logs = [-0.01, 0.0, 0.01]
    alone, related = (usual_range(logs, spread, low_is_bad=True)[0] for spread in (0.0, 0.1))
    assert related < 4 * alone < 0


def test_no_comparable_figure_exceeds_its_bound() -> None:
    shares = [one.ratio for one in comparables() if not one.question.is_time]
    assert len(shares) > 80
    assert max(shares) <= 1


def test_the_points_are_those_of_students_t() -> None:
    for points, share in ((T90, 0.9), (T95, 0.95)):
        exact = [stats.t.ppf(share, freedom) for freedom in range(1, len(points))] + [stats.norm.ppf(share)]
        assert pytest.approx(exact, abs=6e-4) == points


def test_a_ratio_does_not_depend_on_the_unit() -> None:
    one = normal("h2d", "54.1GB/s", link="gen5x16", engine="copy")
    other = normal("read", "432.8Gb/s", link="PCIe 5.0 x16", engine="copy")
    assert other.ratio == pytest.approx(one.ratio)
    assert other.in_unit(other.bounds[0].value) == pytest.approx(8 * one.in_unit(one.bounds[0].value))
    assert "Gb/s" in other.sentences[0]


def test_two_links_carry_twice_as_much() -> None:
    one, two = (normal("d2h", "10GB/s", link=link, engine="dma") for link in ("gen4x16", "2x gen4x16"))
    assert two.bounds[0].value == pytest.approx(2 * one.bounds[0].value)


def test_without_three_sources_there_is_no_verdict_but_the_bound() -> None:
    answer = normal("iops", "206k", link="gen5x4", engine="dma", size_bytes=4096, device="Agilex")
    assert answer.verdict == "nothing to compare with"
    assert answer.elsewhere is None
    assert answer.bounds[0].value == pytest.approx(57.46 / 4 / 4096 * 1e9, rel=5e-3)
    assert not answer.causes


def test_a_value_above_the_bound_says_what_may_be_wrong() -> None:
    answer = normal("h2d", "60GB/s", link="gen5x16", engine="copy")
    assert answer.verdict == "above the bound"
    assert "GiB" in answer.sentences[1]


@pytest.mark.parametrize(
    ("value", "link", "words"),
    [
        ("64GB/s", "gen5x16", "above the raw rate of Gen5 x16, 63.0 GB/s"),
        ("600Gb/s", "gen5x16", "above the raw rate of Gen5 x16, 504 Gb/s"),
        ("54.1ns", "gen5x16", "'ns' is not a unit of a rate"),
        ("54.1", "gen5x16", "has no unit"),
        ("-1GB/s", "gen5x16", "above 0"),
        ("many GB/s", "gen5x16", "is not a rate"),
        ("1e300GB/s", "gen5x16", "above the raw rate"),
    ],
)
def test_impossible_values_are_refused_with_the_reason(value: str, link: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        normal("h2d", value, link=link)


def test_the_sum_of_maker_ways_may_be_twice_the_rate() -> None:
    assert normal("both", "101.3GB/s", link="gen5x16", engine="copy").verdict == "normal"
    with pytest.raises(InputError, match="both ways together"):
        normal("both", "127GB/s", link="gen5x16")


def test_every_figure_has_a_source_and_no_recalled_one_ships() -> None:
    figures = published_figures()
    assert len(figures) > 300
    for figure in figures.values():
        assert figure.source_key, figure.id
        assert figure.source_ref, figure.id
        assert figure.evidence != "recalled", figure.id
        assert math.isfinite(figure.value), figure.id
        assert not figure.against.startswith("M") or figure.against in figures, figure.id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("gdrcopy-readme,", ","), "no source"),
        (("M001,opened,", "M001,recalled,"), "evidence recalled"),
        (("9638.54", "fast"), "value"),
    ],
)
def test_a_row_without_source_or_value_is_refused(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    text = (shipped.directory("profiles") / "published/figures.csv").read_text().splitlines()[:2]
    path = tmp_path / "figures.csv"
    path.write_text("\n".join(text).replace(*change))
    with pytest.raises(InputError, match=rf"row 2: .*{words}"):
        read_figures(path)


@pytest.mark.parametrize(
    ("cause", "given"),
    [
        ("D29", {"cpu": "AMD EPYC 7763"}),
        ("D30", {"cpu": "Xeon Gold 6442Y"}),
        ("D32", {"cpu": "Raspberry Pi 5"}),
        ("D16", {"engine": "copy"}),
    ],
)
def test_the_table_of_causes_says_what_rules_one_out(cause: str, given: dict[str, Any]) -> None:
    question = normal("d2h", "1GB/s", **given).question
    assert _is_ruled_out(cause, question)
    assert not _is_ruled_out(cause, normal("d2h", "1GB/s").question)
    for one in causes().values():
        assert one.maker in ("", "AMD", "Intel", "Arm")
        assert one.not_engine in ("", *ENGINES)


TOOLS = Path(__file__).parents[4] / "tests" / "tool_outputs"


def test_a_given_link_is_that_of_the_rows_without_one(tmp_path: Path) -> None:
    path = tmp_path / "tool.db"
    importers.import_output(TOOLS / "nvbandwidth/0.5-one-gpu.txt", path)
    answers = normal(path, link="gen5x16")
    linked = [one for one in answers if one.question.link_given]
    assert linked
    assert {str(one.question.width) for one in linked} == {"Gen5 x16"}
    assert "Gen5 x16 is taken for" in summary(answers)
    assert "is taken for" not in summary(normal(path))
    [tunnelled, *_] = normal(path, link="tb5")
    assert "Thunderbolt 5" in tunnelled.bounds[0].because


def test_a_link_that_contradicts_the_rows_is_refused_by_the_name_of_one(tmp_path: Path) -> None:
    path = tmp_path / "tool.db"
    importers.import_output(TOOLS / "perftest/write-bw.txt", path, given=Given(link="gen4x16"))
    assert [one.question.link_given for one in normal(path, link="gen4x16")] == [False]
    with pytest.raises(
        InputError, match=r"--link gen5x16: row '0 ib_write_bw 65536 B' says Gen4 x16: leave out --link"
    ):
        normal(path, link="gen5x16")


@pytest.mark.parametrize(
    ("tool", "sample", "link", "expected"),
    [
        ("nvbandwidth", "0.5-one-gpu.txt", "gen5x16", {"h2d copy": "normal", "d2h copy": "normal"}),
        ("perftest", "write-bw.txt", "gen4x16", {"h2d dma": "low"}),
        ("fio", "3.33-randread.json", None, {"d2h dma": "nothing to compare with"}),
    ],
)
def test_rows_of_other_tools_are_judged(
    tmp_path: Path, tool: str, sample: str, link: str | None, expected: dict[str, str]
) -> None:
    path = tmp_path / "tool.db"
    importers.import_output(TOOLS / tool / sample, path, given=Given(link=link))
    verdicts = {f"{one.question.what} {one.question.engine}": one.verdict for one in reversed(normal(path))}
    assert verdicts.items() >= expected.items()
    assert {one.origin for one in normal(path)} == {"measured"}


def test_the_line_of_a_nic_may_be_what_binds(tmp_path: Path) -> None:
    path = tmp_path / "tool.db"
    importers.import_output(TOOLS / "perftest/write-bw.txt", path, given=Given(link="gen4x16"))
    [without] = normal(path)
    assert without.causes[0].key == "line"
    [answer] = normal(path, line_gbps=100)
    assert (answer.bounds[0].name, answer.verdict) == ("line", "normal")


@pytest.mark.parametrize(
    ("value", "given", "words"),
    [
        ("26GB/s", {"device": "ConnectX-6 200G"}, "above what the NIC's line can carry: .* or another line rate"),
        (
            "26GB/s",
            {"size_bytes": 512, "depth": 32, "round_trip_ns": 700.0},
            "above what the bytes in flight can reach: .* or a shorter round trip",
        ),
        ("29.5GB/s", {}, "above what the link can carry: look for an MPS above 256 B, .* or another link"),
    ],
)
def test_a_value_above_a_bound_names_that_bound(value: str, given: dict[str, str], words: str) -> None:
    answer = normal("d2h", value, link="gen4x16", engine="dma", **given)  # type: ignore[call-overload]
    assert answer.verdict == "above the bound"
    assert re.search(words, answer.sentences[1])


def test_the_cost_of_a_call_is_not_that_of_the_source_itself() -> None:
    given = {"link": "gen3x16", "engine": "copy", "size_bytes": 4096}
    every = normal("h2d", "0.5GB/s", **given)  # type: ignore[call-overload]
    rows = [one for one in published_figures().values() if one.id in every.bounds[0].assumed]
    assert len(rows) > 1
    without = normal("h2d", "0.5GB/s", source=rows[0].source_key, **given)  # type: ignore[call-overload]
    assert rows[0].id in every.bounds[0].assumed
    assert rows[0].id not in without.bounds[0].assumed
