"""Causes as people met them: the true one comes first, with its evidence, and working machines are left alone."""

import json
import tomllib
from pathlib import Path

import pytest

import made_text as made
from pcielab.doctor import Examination, Finding, Severity, examine, machine_of_text
from pcielab.doctor.examine import branches
from pcielab.errors import InputError
from pcielab.fabric import fabric_of, path
from pcielab.library.fabrics.load import of_text
from shell import pcielab, refuse

TRUE = tomllib.loads((Path(__file__).parent / "healthy_machines.toml").read_text())
L1 = {"aspm": "ASPM L1 Enabled"}
GEN3 = "Speed 8GT/s, Width x16"
X16 = {"cap": "Speed 16GT/s, Width x16", "sta": "Speed 16GT/s, Width x16"}
ATOMICS = "DevCap2: Completion Timeout: Range ABCD\n\t\t\t AtomicOpsCap: {}"
ACS = ("Capabilities: [2a0 v1] Access Control Services", "\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+")
DPC = (
    "Capabilities: [1d0 v1] Downstream Port Containment",
    "\tDpcSta:\tTrigger+ Reason:10 INT+ RPBusy- TriggerExt:00 RP PIO ErrPtr:1f",
)


def examined(text: str, symptom: str | None = None) -> Examination:
    return examine(machine_of_text(text, "pasted.txt"), symptom=symptom)


def first(text: str) -> Finding:
    return examined(text).findings[0]


CAUSES = {
    "a port of 256 B above a drive of 128 B that asks for 512 B": (
        made.text(made.root(), made.drive(payload=(128, 128))),
        ("mps-above-device", "error", "0000:01:00.0"),
    ),
    "a port set to more than it supports": (
        made.text(made.root(payload=(128, 256)), made.nic(payload=(512, 128))),
        ("mps-above-capability", "error", "0000:00:01.0"),
    ),
    "what was signalled where": (
        made.text(
            made.root(extended=made.errors("DLP MalfTLP", root_status="UERcvd FirstFatal FatalMsg")),
            made.drive(extended=made.errors("CmpltTO")),
        ),
        ("uncorrectable-errors", "error", "0000:00:01.0"),
    ),
    "a link that was contained": (
        made.text(made.root(sta="Speed 2.5GT/s, Width x0", extended=DPC)),
        ("containment-triggered", "error", "0000:00:01.0"),
    ),
    "receiver errors with ASPM on": (
        made.text(made.root(**L1, extended=made.errors("", "RxErr")), made.drive(**L1, extended=made.errors())),
        ("errors-with-aspm", "warning", "0000:01:00.0"),
    ),
    "L1 on the path of a slow network controller": (
        made.text(made.root(**L1), made.nic(**L1)),
        ("aspm-on", "warning", "0000:01:00.0"),
    ),
    "replays at both ends without ASPM": (
        made.text(
            made.root(extended=made.errors("", "BadTLP")), made.nic(extended=made.errors("", "RxErr Timeout"))
        ),
        ("lanes-with-errors", "warning", "0000:01:00.0"),
    ),
    "atomic operations that a root port does not complete": (
        made.text(
            made.root(**X16, more=(ATOMICS.format("Routing- 32bit- 64bit- 128bitCAS-"),)),
            made.gpu(more=(ATOMICS.format("32bit+ 64bit+ 128bitCAS-"),)),
        ),
        ("atomics-not-routed", "warning", "0000:01:00.0"),
    ),
    "redirection at both root ports": (
        made.text(
            made.root("00:01.0", "01", **X16, extended=ACS),
            made.root("00:02.0", "02", **X16, extended=ACS),
            made.gpu("01:00.0"),
            made.gpu("02:00.0"),
        ),
        ("acs-at-root-ports", "warning", "0000:01:00.0"),
    ),
    "a display that reports a nominal link": (made.ARC, ("on-card-link", "note", "0000:03:00.0")),
    "a card of a later generation than its host": (
        made.text(
            made.root(below="01", buses=("00", "01", "03"), cap=GEN3, sta=GEN3),
            made.Shown("01:00.0", "PCI bridge: Example", "Upstream Port", ("01", "02", "03"), cap=X16["cap"],
                       sta="Speed 8GT/s (downgraded), Width x16"),
            made.Shown("02:00.0", "PCI bridge: Example", "Downstream Port (Slot-)", ("02", "03", "03"), **X16),
            made.gpu("03:00.0"),
        ),
        ("path-limits-card", "note", "0000:03:00.0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_comes_first(name: str) -> None:
    text, expected = CAUSES[name]
    found = first(text)
    assert (found.rule, found.severity.value, found.device) == expected
    assert found.guide.startswith("guides/is-my-link-right/#")


def test_the_finding_on_uncorrectable_errors_says_what_was_signalled_where() -> None:
    what = first(CAUSES["what was signalled where"][0]).what
    assert "00:01.0 saw data link protocol error (DLP), malformed TLP (MalfTLP)" in what
    assert "01:00.0 saw completion time-out (CmpltTO)" in what
    assert "00:01.0 received UERcvd FatalMsg" in what


def test_the_generation_of_the_host_is_named() -> None:
    what = first(CAUSES["a card of a later generation than its host"][0]).what
    assert "the host's port supports no more than 8 GT/s (generation 3), the card 16" in what


def test_surprise_down_alone_is_a_warning() -> None:
    found = first(made.text(made.root(extended=made.errors("SDES")), made.drive()))
    assert (found.rule, found.severity) == ("uncorrectable-errors", Severity.WARNING)


def test_the_display_of_a_bmc_is_no_peer() -> None:
    one_lane = {"cap": "Speed 5GT/s, Width x1", "sta": "Speed 5GT/s, Width x1"}
    text = made.text(
        made.root("00:01.0", "01", **X16, extended=ACS), made.gpu("01:00.0"),
        made.root("00:02.0", "02", **one_lane, extended=ACS), made.gpu("02:00.0", **one_lane),
    )  # fmt: skip
    assert "acs-at-root-ports" not in {one.rule for one in examined(text).findings}


def test_windows_that_the_kernel_could_not_place_are_a_note() -> None:
    line = "pcieport 0000:00:1c.0: bridge window [mem size 0x00200000 64bit pref]: can't assign; no space\n"
    assert first(line).severity is Severity.NOTE
    assert first(line.replace("bridge window", "BAR 0")).severity is Severity.ERROR


@pytest.mark.parametrize("name", made.HEALTHY)
def test_a_machine_that_works_has_only_its_true_findings(name: str) -> None:
    _has_only_true_findings(made.HEALTHY[name], name)


def _has_only_true_findings(text: str, name: str) -> None:
    true = next((listed for key, listed in TRUE.items() if name.startswith(key)), {})
    for severity in (Severity.ERROR, Severity.WARNING):
        found = {(one.rule, str(one.device)[5:]) for one in examined(text).findings if one.severity is severity}
        assert found == {tuple(one) for one in true.get(f"{severity}s", [])}


def test_a_chipset_below_its_soldered_width_is_not_to_be_reseated() -> None:
    slow = made.X570.replace("16GT/s, Width x4", "8GT/s, Width x4")
    found = first(slow)
    assert (found.rule, found.severity) == ("below-both-ends", Severity.WARNING)
    assert "soldered" in found.what
    assert "nothing there can be reseated" in found.remedy


def test_a_card_behind_a_chipset_is_told_so() -> None:
    fast = made.X570.replace("5GT/s, Width x1", "16GT/s, Width x4").replace("16GT/s, Width x1", "16GT/s, Width x4")
    assert ("chipset-slot", "0000:05:00.0") in {(one.rule, one.device) for one in examined(fast).findings}


def test_a_nominal_link_does_not_limit_the_fabric() -> None:
    fabric = of_text(fabric_of(machine_of_text(made.ARC, "arc"), "arc").text, Path("arc.toml"))
    assert path(fabric, "gpu0", "host0").posted.gbytes_per_s > 20


def test_paths_say_that_requests_pass_the_iommu() -> None:
    text = CAUSES["redirection at both root ports"][0]
    fabric = of_text(fabric_of(machine_of_text(text, "acs"), "acs").text, Path("acs.toml"))
    [note] = [note for note in path(fabric, "gpu0", "gpu1").notes if "IOMMU" in note]
    assert "root port 0000:00:01.0 and root port 0000:00:02.0" in note


def test_evidence_is_named_and_ranks_findings_of_one_severity() -> None:
    settings = made.text(
        made.root("00:01.0", "01", **L1), made.nic("01:00.0", **L1),
        made.root("00:02.0", "02", **L1, extended=made.errors("", "RxErr")), made.drive("02:00.0", **L1),
    )  # fmt: skip
    found = [one for one in examined(settings).findings if one.severity is Severity.WARNING]
    assert [(one.rule, one.explained) for one in found] == [
        ("errors-with-aspm", ("00:02.0 saw RxErr",)),
        ("aspm-on", ()),
    ]


@pytest.mark.parametrize(
    ("symptom", "rule"),
    [
        ("RX slow", "mps-below-path"),
        ("it hangs", "aspm-on"),
        ("p2p", "acs-at-root-ports"),
        ("11.5 GB/s", "mps-below-path"),
    ],
)
def test_a_symptom_moves_what_explains_it_to_the_front(symptom: str, rule: str) -> None:
    text = made.text(
        made.root("00:01.0", "01", **X16, extended=ACS, payload=(512, 512)),
        made.gpu("01:00.0", payload=(512, 128)),
        made.root("00:02.0", "02", **X16, extended=ACS),
        made.gpu("02:00.0"),
        made.root("00:03.0", "03", **L1),
        made.nic("03:00.0", **L1),
    )
    rules = [one.rule for one in examined(text, symptom).findings]
    assert rules[0] == rule, rules
    assert sorted(rules) == sorted(one.rule for one in examined(text).findings)


def test_an_unknown_symptom_is_refused_with_the_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no symptom: give errors, slow"):
        examined(made.ARC, "purple")
    (tmp_path / "arc.txt").write_text(made.ARC)
    assert "names no symptom" in refuse("doctor", "--lspci", tmp_path / "arc.txt", "--symptom", "purple")
    shown = pcielab("doctor", "--lspci", tmp_path / "arc.txt", "--symptom", "slow", "--format", "json")
    written = json.loads(shown.stdout)
    assert (written["format"], written["version"]) == ("pcielab-doctor-1", 2)
    assert written["findings"][0]["guide"] == "guides/is-my-link-right/#the-link"


def test_both_ends_of_a_link_have_their_register_write() -> None:
    found = first(CAUSES["L1 on the path of a slow network controller"][0])
    assert found.commands == (
        "sudo setpci -s 0000:01:00.0 CAP_EXP+10.w=0000:0003",
        "sudo setpci -s 0000:00:01.0 CAP_EXP+10.w=0000:0003",
    )


TOPOLOGY = """<system version="1">
  <cpu numaid="0">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0"><nvlink target="0000:12:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
    </pci>
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1"><xgmi target="0000:11:00.0" count="2"/></gpu>
      </pci>
    </pci>
  </cpu>
</system>
"""


def test_a_repeated_bridge_is_one_and_other_edges_have_their_own_kind() -> None:
    tree = machine_of_text(TOPOLOGY, "topo.xml")
    assert len(tree.functions) == 3
    assert [(one.slot, one.depth) for one in branches(tree)] == [
        (tree.functions[0].slot, 0),
        ("0000:11:00.0", 1),
        ("0000:12:00.0", 1),
    ]
    assert {(one.kind, one.links) for one in tree.peers} == {("nvlink", 4), ("xgmi", 2)}
    assert any("nvlink between devices, which is no PCIe link" in note for note in fabric_of(tree, "box").notes)
    other = TOPOLOGY.replace("16.0 GT/s", "8.0 GT/s", 1)
    with pytest.raises(InputError, match="is there twice"):
        machine_of_text(other, "two.xml")
