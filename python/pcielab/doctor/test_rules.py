"""On a machine with one fault, the rule for it fires and no other."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import made_text as pasted
from made_machine import Made, server, write
from pcielab.doctor import RULES, Severity, Sureness, examine, read_lspci, read_sysfs

NIC, GPU, DRIVE, SWITCH = "0000:01:00.0", "0000:02:00.0", "0000:06:00.0", "0000:04:00.0"
NIC_PORT, GPU_PORT, EMPTY_PORT = "0000:00:01.0", "0000:00:02.0", "0000:00:03.0"
FULL = (True, True, False)


@dataclass(frozen=True)
class Broken:
    """A healthy server with some functions changed, and all expected findings."""

    name: str
    changes: dict[str, dict[str, Any]]
    findings: set[tuple[str, str | None]]
    files: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    """Functions that are missing."""

    def functions(self) -> list[Made]:
        kept = [one for one in server() if one.slot not in self.without]
        return [replace(one, **self.changes.get(one.slot, {})) for one in kept]


def both(slots: tuple[str, ...], **changes: Any) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(slots, changes)


NICS = (NIC, "0000:01:00.1")
DRIVES = (DRIVE, "0000:07:00.0")

BROKEN = [
    Broken(
        "a card in a loose riser: half the speed, half the lanes",
        both((NIC_PORT, *NICS), speeds=(32.0, 16.0), lanes=(16, 8)),
        {("below-both-ends", NIC)},
    ),
    Broken(
        "all speed, a quarter of the lanes",
        both((NIC_PORT, *NICS), lanes=(16, 4)),
        {("below-both-ends", NIC)},
    ),
    Broken(
        "a display at rest: to be looked at under load",
        both((GPU_PORT, GPU), speeds=(32.0, 2.5)),
        {("below-both-ends", GPU)},
    ),
    Broken("a drive at rest", both(("0000:05:00.0", DRIVE), speeds=(16.0, 2.5)), {("below-both-ends", DRIVE)}),
    Broken(
        "a port whose target speed was lowered after a failed retrain",
        both((NIC_PORT, *NICS), speeds=(32.0, 16.0)) | {NIC_PORT: {"speeds": (32.0, 16.0), "target_speed": 16.0}},
        {("target-speed-lowered", NIC)},
    ),
    Broken(
        "a port of an earlier generation with fewer lanes",
        {NIC_PORT: {"speeds": (16.0, 16.0), "lanes": (8, 8)}} | both(NICS, speeds=(32.0, 16.0), lanes=(16, 8)),
        {("port-limits-card", NIC)},
    ),
    Broken(
        "a card of an earlier generation",
        {NIC_PORT: {"speeds": (32.0, 16.0)}} | both(NICS, speeds=(16.0, 16.0)),
        {("card-limits-port", NIC)},
    ),
    Broken("a x8 card in a x16 slot", {NIC_PORT: {"lanes": (16, 8)}} | both(NICS, lanes=(8, 8)), set()),
    Broken(
        "a switch whose uplink is slower than a drive",
        {SWITCH: {"speeds": (8.0, 8.0), "lanes": (2, 2)}, "0000:00:04.0": {"speeds": (8.0, 8.0), "lanes": (2, 2)}},
        {("path-limits-card", DRIVE), ("path-limits-card", "0000:07:00.0"), ("uplink-shared", SWITCH)},
    ),
    Broken(
        "an uplink that two drives exceed only together",
        {SWITCH: {"lanes": (4, 4)}, "0000:00:04.0": {"lanes": (4, 4)}},
        {("uplink-shared", SWITCH)},
    ),
    Broken(
        "a virtual machine that shows cards on its root bus",
        {},
        {("made-up-link", NIC), ("made-up-link", GPU)},
        without=(NIC_PORT, GPU_PORT),
    ),
    Broken(
        "a hypervisor's root port with a link that it made up",
        {NIC_PORT: {"ids": (0x1B36, 0x000C), "speeds": (16.0, 2.5), "lanes": (32, 1)}},
        {("made-up-link", NIC)},
    ),
    Broken(
        "a NIC of two ports at 1 Gb/s on one lane of two",
        {NIC_PORT: {"speeds": (5.0, 5.0), "lanes": (2, 1)}}
        | both(NICS, ids=(0x14E4, 0x165F), speeds=(5.0, 5.0), lanes=(2, 1), ten_bit=(False,) * 3),
        {("below-both-ends", NIC)},
    ),
    Broken(
        "a device inside an AMD processor, at the default MPS",
        {NIC_PORT: {"ids": (0x1022, 0x1484), "payloads": (512, 128)}}
        | both(NICS, ids=(0x1022, 0x148A), payloads=(256, 128), extended_tags=(True, False)),
        set(),
    ),
    Broken(
        "a processor that the lists do not have: a root port without a slot, both ends x16, AMD's own function",
        {NIC_PORT: {"ids": (0x1022, 0x9999), "payloads": (512, 128)}}
        | both(NICS, ids=(0x1022, 0x9998), payloads=(256, 128), speeds=(32.0, 16.0)),
        set(),
    ),
    Broken(
        "the same behind a slot is a card",
        {NIC_PORT: {"ids": (0x1022, 0x9999), "payloads": (512, 128), "present": True}}
        | both(NICS, ids=(0x1022, 0x9998), payloads=(256, 128)),
        {("mps-below-path", NIC)},
    ),
    Broken(
        "a network controller of a SoC",
        {NIC_PORT: {"speeds": (32.0, 2.5), "lanes": (16, 1)}}
        | both(NICS, ids=(0x8086, 0x37D2), speeds=(32.0, 2.5), lanes=(16, 1)),
        set(),
    ),
    Broken(
        "errors on lanes 0 and 3 of the card",
        both(NICS, correctable=0x41, lane_errors=0x9),
        {("lanes-with-errors", NIC)},
    ),
    Broken("bad TLPs without lanes: a note", both(NICS, correctable=0x40), {("lanes-with-errors", NIC)}),
    Broken("a receiver error from training", both(NICS, correctable=0x1, lane_errors=0), set()),
    Broken("lane errors from training", both(NICS, correctable=0x2000, lane_errors=0xF), set()),
    Broken("bits of lanes that the link does not have", both(NICS, correctable=0x1, lane_errors=1 << 16), set()),
    Broken(
        "a card whose link is down",
        {EMPTY_PORT: {"present": True, "active": False}},
        {("link-down", EMPTY_PORT)},
    ),
    Broken("an empty slot", {EMPTY_PORT: {"present": False, "active": False}}, set()),
    Broken("a port that does not report its data link layer", {EMPTY_PORT: {"present": True}}, set()),
    Broken(
        "a card whose link was disabled",
        {EMPTY_PORT: {"present": True, "active": False, "disabled": True}},
        {("link-down", EMPTY_PORT)},
    ),
    Broken("128 B where all support 512", both(NICS, payloads=(512, 128)), {("mps-below-path", NIC)}),
    Broken("a drive at 256 of 512", {DRIVE: {"payloads": (512, 256)}}, {("mps-below-path", DRIVE)}),
    Broken(
        "a card that sends more than its port accepts",
        {NIC_PORT: {"payloads": (512, 256)}},
        {("mps-differs", NIC)},
    ),
    Broken(
        "a port that supports at most 256",
        {NIC_PORT: {"payloads": (256, 256)}} | both(NICS, payloads=(512, 256)),
        {("mps-limited", NIC)},
    ),
    Broken("ECRC on", both(NICS, ecrc=True), {("ecrc-on", NIC)}),
    Broken("reads of 512 B on a fast network card", both(NICS, mrrs=512), {("mrrs-small", NIC)}),
    Broken(
        "reads of 128 B on a drive, with few tags",
        {DRIVE: {"mrrs": 128, "extended_tags": (False, False)}},
        {("mrrs-small", DRIVE), ("tags-limited", DRIVE)},
    ),
    Broken(
        "extended tags off",
        both(NICS, extended_tags=(True, False), ten_bit=(False, False, False)),
        {("extended-tags-off", NIC)},
    ),
    Broken("10-bit tags off", both(NICS, ten_bit=FULL), {("ten-bit-tags-off", NIC)}),
    Broken(
        "10-bit tags off, and a root port that does not support them",
        both(NICS, ten_bit=FULL) | {NIC_PORT: {"ten_bit": (False, False, False)}},
        set(),
    ),
    Broken("a drive without extended tags", {DRIVE: {"extended_tags": (False, False)}}, {("tags-limited", DRIVE)}),
    Broken("no completion time-out", {DRIVE: {"timeout_off": True}}, {("completion-timeout-off", DRIVE)}),
    Broken("no bus mastering, with a driver", {DRIVE: {"bus_master": False}}, {("bus-master-off", DRIVE)}),
    Broken("no bus mastering, without a driver", {DRIVE: {"bus_master": False, "driver": None}}, set()),
    Broken(
        "relaxed ordering off on a network card",
        both(NICS, relaxed_ordering=False),
        {("relaxed-ordering-off", NIC)},
    ),
    Broken("relaxed ordering off on a drive", both(DRIVES, relaxed_ordering=False), set()),
    Broken(
        "relaxed ordering below a Haswell root port",
        {NIC_PORT: {"ids": (0x8086, 0x2F04), "speeds": (8.0, 8.0)}} | both(NICS, speeds=(8.0, 8.0)),
        {("relaxed-ordering-harmful", NIC)},
    ),
    Broken(
        "errors since boot",
        {NIC: {"files": {"aer_dev_correctable": "RxErr 0\nBadTLP 17\nTOTAL_ERR_COR 17"}}},
        {("errors-counted", NIC)},
    ),
    Broken("ASPM L1 on a network card", both((NIC_PORT, *NICS), aspm=2), {("aspm-on", NIC)}),
    Broken("ASPM L1 on one end alone", both(NICS, aspm=2), set()),
    Broken("a drive in D3", {DRIVE: {"power_state": 3}}, {("asleep", DRIVE)}),
    Broken(
        "deep idle states",
        {},
        {("deep-idle", None)},
        {
            "sys/devices/system/cpu/cpu0/cpuidle/state3/name": "C6",
            "sys/devices/system/cpu/cpu0/cpuidle/state3/latency": "190",
            "sys/devices/system/cpu/cpu0/cpuidle/state3/disable": "0",
        },
    ),
    Broken(
        "a power-saving governor",
        {},
        {("slow-governor", None)},
        {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave"},
    ),
    Broken(
        "ACS between two drives",
        both(("0000:05:00.0", "0000:05:01.0"), acs=("SrcValid", "ReqRedir", "CmpltRedir")),
        {("acs-redirects", SWITCH)},
    ),
    Broken(
        "ACS that validates and does not redirect",
        both(("0000:05:00.0", "0000:05:01.0"), acs=("SrcValid", "TransBlk")),
        set(),
    ),
    Broken("a firmware that gives no node", {NIC: {"files": {"numa_node": "-1"}}}, {("node-unknown", NIC)}),
    Broken(
        "a node without memory",
        {NIC: {"files": {"numa_node": "1"}}},
        {("node-without-memory", NIC)},
        {"sys/devices/system/node/has_memory": "0"},
    ),
    Broken("interrupts on the other socket", {NIC: {"interrupts": (9, 10)}}, {("interrupts-elsewhere", NIC)}),
    Broken("interrupts on both sockets", {NIC: {"interrupts": (1, 10)}}, set()),
    Broken("strict invalidation", {NIC: {"iommu": (8, "DMA")}}, {("iommu-strict", NIC)}),
    Broken(
        "pages of 4 KiB only",
        {},
        {("iommu-small-pages", None)},
        {"proc/cmdline": "quiet intel_iommu=on,sp_off"},
    ),
    Broken(
        "amd_iommu=pt, an unknown option",
        {},
        {("passthrough-not-in-effect", None)},
        {"proc/cmdline": "amd_iommu=pt"},
    ),
    Broken(
        "passthrough asked for, and one card translated",
        both((GPU, *DRIVES, *NICS), iommu=(9, "identity")) | {NIC: {"iommu": (8, "DMA-FQ")}},
        {("passthrough-not-in-effect", NIC)},
        {"proc/cmdline": "iommu=pt"},
    ),
    Broken("a BAR of 256 MiB", {GPU: {"rebar": (256, 131_072)}}, {("bar-not-resized", GPU)}),
    Broken("a device that does not answer", {DRIVE: {"silent": True}}, {("device-off-bus", DRIVE)}),
    Broken("malformed TLPs", both(NICS, uncorrectable=1 << 18), {("uncorrectable-errors", NIC)}),
    Broken("an unsupported request, as a scan leaves it", both(NICS, uncorrectable=1 << 20), set()),
    Broken("a link that was pulled", {EMPTY_PORT: {"uncorrectable": 1 << 5}}, set()),
    Broken(
        "containment that triggered", {EMPTY_PORT: {"containment": 1}}, {("containment-triggered", EMPTY_PORT)}
    ),
    Broken("containment that did not trigger", {EMPTY_PORT: {"containment": 0}}, set()),
    Broken(
        "receiver errors on a link with ASPM",
        both((NIC_PORT, *NICS), aspm=2, correctable=0x1),
        {("errors-with-aspm", NIC)},
    ),
    Broken(
        "L1 substates at one end alone",
        both((NIC_PORT, *NICS), aspm=2, substates=8) | {NIC_PORT: {"aspm": 2, "substates": 0}},
        {("aspm-on", NIC), ("aspm-ends-differ", NIC)},
    ),
    Broken(
        "L1.2 without latency tolerance reporting",
        both((NIC_PORT, *NICS), aspm=2, substates=4, ltr=False),
        {("aspm-on", NIC), ("substates-without-ltr", NIC)},
    ),
    Broken(
        "L1.2 with latency tolerance reporting",
        both((NIC_PORT, *NICS), aspm=2, substates=4, ltr=True),
        {("aspm-on", NIC)},
    ),
    Broken(
        "ASPM L1 on the uplink of two drives",
        both(("0000:00:04.0", SWITCH), aspm=2) | {DRIVE: {"class_code": 0x0200, "mrrs": 4096}},
        {("aspm-on", DRIVE)},
    ),
    Broken(
        "more payload than a drive supports", {DRIVE: {"payloads": (256, 512)}}, {("mps-above-capability", DRIVE)}
    ),
    Broken(
        "a port that sends more than a drive takes",
        {DRIVE: {"payloads": (256, 256)}},
        {("mps-above-device", DRIVE)},
    ),
    Broken(
        "the same with short requests, as pcie_bus_perf sets it",
        {DRIVE: {"payloads": (256, 256), "mrrs": 256}},
        set(),
    ),
    Broken(
        "10-bit tags that the root port does not answer",
        {NIC_PORT: {"ten_bit": (False, False, False)}},
        {("ten-bit-tags-unanswered", NIC)},
    ),
    Broken(
        "a root port that does not complete atomic operations",
        {GPU: {"atomics": (0x180, False)}},
        {("atomics-not-routed", GPU)},
    ),
    Broken(
        "a root port that does", {GPU: {"atomics": (0x180, False)}, GPU_PORT: {"atomics": (0x180, False)}}, set()
    ),
    Broken(
        "two accelerators below root ports that redirect",
        both((NIC_PORT, GPU_PORT), acs=("SrcValid", "ReqRedir")) | both(NICS, class_code=0x1200),
        {("acs-at-root-ports", NIC)},
    ),
    Broken("one accelerator below a root port that redirects", {GPU_PORT: {"acs": ("ReqRedir",)}}, set()),
    Broken(
        "a controller that must not use L0s",
        both((NIC_PORT, *NICS), aspm=1) | both(NICS, aspm=1, ids=(0x8086, 0x10B6)),
        {("aspm-on", NIC), ("known-fault", NIC)},
    ),
    Broken("the same controller without L0s", both(NICS, ids=(0x8086, 0x10B6)), set()),
    Broken(
        "two displays whose driver refuses peers",
        both((GPU, *NICS), ids=(0x10DE, 0x2684), class_code=0x0300),
        {("no-peer-to-peer", NIC)},
    ),
    Broken(
        "a display behind the switch of its card",
        {"0000:05:00.0": {"speeds": (2.5, 2.5), "lanes": (1, 1)}}
        | {DRIVE: {"speeds": (2.5, 2.5), "lanes": (1, 1), "ids": (0x8086, 0x56A0), "class_code": 0x0300}},
        {("on-card-link", DRIVE)},
    ),
    Broken(
        "a CXL memory expander",
        {GPU: {"class_code": 0x0502, "cxl": ("IO", "Mem"), "rebar": None}},
        {("cxl-memory", GPU)},
    ),
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_finds_exactly_the_fault(broken: Broken, tmp_path: Path) -> None:
    tree = read_sysfs(write(tmp_path / "machine", broken.functions(), broken.files))
    found = examine(tree).findings
    assert {(finding.rule, finding.device) for finding in found} == broken.findings
    assert len(found) == len(broken.findings)


def test_a_healthy_machine_gives_no_finding(tmp_path: Path) -> None:
    examination = examine(read_sysfs(write(tmp_path / "machine", server())))
    assert examination.findings == ()
    assert examination.unseen == ()


def test_vfio_without_an_iommu_is_found(tmp_path: Path) -> None:
    functions = [replace(one, iommu=None) for one in server()]
    functions = [replace(one, driver="vfio-pci") if one.slot == DRIVE else one for one in functions]
    root = write(tmp_path / "machine", functions)
    (root / "sys/class/iommu/dmar0/intel-iommu/version").unlink()
    for folder in ("dmar0/intel-iommu", "dmar0"):
        (root / "sys/class/iommu" / folder).rmdir()
    assert [(finding.rule, finding.device) for finding in examine(read_sysfs(root)).findings] == [
        ("vfio-without-iommu", DRIVE)
    ]


_PORT = "pcieport 0000:00:1c.0"
_DRIVE = "nvme 0000:01:00.0"
PASTED = {
    "errors-in-log": f"{_PORT}: AER: Uncorrected (Fatal) error received: 0000:01:00.0\n",
    "corrected-in-log": f"{_DRIVE}: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n",
    "retraining-failed": f"{_PORT}: broken device, retraining non-functional downstream link at 2.5GT/s\n",
    "link-went-down": f"{_PORT}: pciehp: Slot(4): Link Down\n",
    "limited-in-log": "pci 0000:01:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link "
    "at 0000:00:1c.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n",
    "device-stopped": "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10\n",
    "address-faults": "DMAR: [DMA Read NO_PASID] Request device [01:00.0] fault addr 0xffe00000\n",
    "bar-without-space": "pci 0000:01:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space\n",
    "peers-across-sockets": "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n",
    "port-alone": pasted.text(pasted.root(sta="Speed 8GT/s, Width x4")),
}
"""A text for each rule on what only a text shows."""


@pytest.mark.parametrize("name", PASTED)
def test_a_text_makes_its_rule_fire_and_no_other(name: str) -> None:
    assert [one.rule for one in examine(read_lspci(PASTED[name], "log.txt")).findings] == [name]


def test_every_rule_has_a_test_on_which_it_fires() -> None:
    fired = {rule for broken in BROKEN for rule, _ in broken.findings} | set(PASTED)
    elsewhere = {"vfio-without-iommu", "chipset-slot", "port-not-shown"}
    assert {rule.name for rule in RULES} == fired | elsewhere


def examined(changes: dict[str, dict[str, Any]], tmp_path: Path) -> Any:
    broken = Broken("", changes, set())
    return examine(read_sysfs(write(tmp_path / "machine", broken.functions())))


@pytest.mark.parametrize(
    "rule, changes, lost_gbps, severity",
    [
        # 16 GT/s x8 instead of 32 GT/s x16: a quarter of the wire.
        ("below-both-ends", both((NIC_PORT, *NICS), speeds=(32.0, 16.0), lanes=(16, 8)), 3 / 4, "error"),
        # 32 tags of 512 B over 1 us are 131 Gb/s.
        (
            "extended-tags-off",
            both(NICS, extended_tags=(True, False), ten_bit=(False,) * 3, mrrs=512),
            0.72,
            "warning",
        ),
        # 128 B instead of 512 B: the model's loss alone is no error.
        ("mps-below-path", both(NICS, payloads=(512, 128)), 0.11, "warning"),
    ],
)
def test_loss_equals_the_model(
    rule: str, changes: dict[str, dict[str, Any]], lost_gbps: float, severity: str, tmp_path: Path
) -> None:
    found = next(one for one in examined(changes, tmp_path).findings if one.rule == rule)
    assert found.losses[0].share == pytest.approx(lost_gbps, abs=0.02)
    assert found.severity == severity


def test_an_ecrc_on_a_link_that_carries_all_is_a_note(tmp_path: Path) -> None:
    slow = {"ids": (0x8086, 0x1533), "speeds": (8.0, 8.0), "lanes": (1, 1), "ecrc": True}
    [found] = [one for one in examined(both(NICS, **slow), tmp_path).findings if one.rule == "ecrc-on"]
    assert found.severity is Severity.NOTE


@pytest.mark.parametrize("payload_bytes", [256, 2048, 4096])
@pytest.mark.parametrize("speed_gtps", [2.5, 5.0])
def test_the_cost_of_an_ecrc_shows_in_the_digits(payload_bytes: int, speed_gtps: float, tmp_path: Path) -> None:
    payloads = (payload_bytes, payload_bytes)
    slow = {"speeds": (speed_gtps, speed_gtps), "lanes": (1, 1), "ecrc": True, "payloads": payloads}
    [found] = [one for one in examined(both(NICS, **slow), tmp_path).findings if one.rule == "ecrc-on"]
    now_gbps, could_gbps = map(float, found.losses[0].shown_gbps)
    assert could_gbps - now_gbps == pytest.approx(found.losses[0].lost_gbps, rel=0.5)


def test_a_slow_link_that_may_rest_is_a_note(tmp_path: Path) -> None:
    examination = examined(both((GPU_PORT, GPU), speeds=(32.0, 2.5)), tmp_path)
    [found] = examination.findings
    assert (found.severity, found.sureness) == (Severity.NOTE, Sureness.LOOK_UNDER_LOAD)
    assert not examination.has_errors


def test_a_display_with_too_few_lanes_is_an_error(tmp_path: Path) -> None:
    assert examined(both((GPU_PORT, GPU), speeds=(32.0, 2.5), lanes=(16, 8)), tmp_path).has_errors


def test_an_idle_display_behind_its_own_switch_is_a_note(tmp_path: Path) -> None:
    """A card with a switch of its own rests at the switch's upstream port, which is a bridge."""
    resting = both(("0000:00:04.0", SWITCH), speeds=(16.0, 2.5)) | {DRIVE: {"class_code": 0x0300}}
    found = examined(resting, tmp_path).findings
    assert {one.severity for one in found if one.rule == "below-both-ends"} == {Severity.NOTE}


def test_an_x1_of_a_slow_nic_is_a_note_and_one_of_a_fast_nic_an_error(tmp_path: Path) -> None:
    on_one_lane = {"speeds": (5.0, 5.0), "lanes": (2, 1), "target_speed": 5.0}
    for name, ids, severity in (("slow", (0x8086, 0x1521), "note"), ("fast", (0x8086, 0x10FB), "error")):
        changes = {NIC_PORT: on_one_lane} | both(NICS, ids=ids, **on_one_lane)
        found = next(one for one in examined(changes, tmp_path / name).findings if one.rule == "below-both-ends")
        assert found.severity == severity


def test_errors_name_their_lanes_at_both_ends(tmp_path: Path) -> None:
    changes = {NIC_PORT: {"correctable": 0x1, "lane_errors": 0x8}} | both(
        NICS, correctable=0x1040, lane_errors=0x9
    )
    [found] = examined(changes, tmp_path).findings
    assert found.severity is Severity.WARNING
    assert "the port received them on lane 3, the device received them on lanes 0 and 3" in found.what
    shown = {(one.function, one.name): one.value for one in found.values}
    assert shown[NIC, "CESta"] == "BadTLP+ Timeout+"
    assert shown[NIC_PORT, "LaneErrStat"] == "3"


def test_errors_without_lanes_are_a_note(tmp_path: Path) -> None:
    [found] = examined(both(NICS, correctable=0x40), tmp_path).findings
    assert found.severity is Severity.NOTE


@pytest.mark.parametrize("disabled, severity", [(False, Severity.ERROR), (True, Severity.WARNING)])
def test_a_link_that_is_down_is_an_error_unless_software_did_it(
    disabled: bool, severity: Severity, tmp_path: Path
) -> None:
    port = {"present": True, "active": False, "disabled": disabled}
    [found] = examined({EMPTY_PORT: port}, tmp_path).findings
    assert found.severity is severity


COMMANDS = [
    # 4096 B is code 5 in bits 14:12.
    ("mrrs-small", both(NICS, mrrs=512), f"-s {NIC} CAP_EXP+8.w=5000:7000"),
    ("mrrs-small", {DRIVE: {"mrrs": 128, "extended_tags": (False, False)}}, f"-s {DRIVE} CAP_EXP+8.w=2000:7000"),
    ("extended-tags-off", both(NICS, extended_tags=(True, False), ten_bit=(False,) * 3),
     f"-s {NIC} CAP_EXP+8.w=0100:0100"),
    ("relaxed-ordering-off", both(NICS, relaxed_ordering=False),
     f"-s {NIC} CAP_EXP+8.w=0010:0010 -s {NICS[1]} CAP_EXP+8.w=0010:0010"),
    ("relaxed-ordering-harmful", {NIC_PORT: {"ids": (0x8086, 0x2F04)}}, f"-s {NIC} CAP_EXP+8.w=0000:0010"),
    ("aspm-on", both((NIC_PORT, *NICS), aspm=2), f"-s {NIC} CAP_EXP+10.w=0000:0003"),
    ("completion-timeout-off", {DRIVE: {"timeout_off": True}}, f"-s {DRIVE} CAP_EXP+28.w=0000:0010"),
    ("link-down", {EMPTY_PORT: {"present": True, "active": False, "disabled": True}},
     f"-s {EMPTY_PORT} CAP_EXP+10.w=0000:0010"),
]  # fmt: skip


@pytest.mark.parametrize("rule, changes, write", COMMANDS)
def test_a_fix_of_one_register_write_has_a_finished_command(
    rule: str, changes: dict[str, dict[str, Any]], write: str, tmp_path: Path
) -> None:
    found = next(one for one in examined(changes, tmp_path).findings if one.rule == rule)
    assert found.command == f"sudo setpci {write}"


@pytest.mark.parametrize(
    "rule, changes",
    [
        ("mps-below-path", both(NICS, payloads=(512, 128))),
        ("ten-bit-tags-off", both(NICS, ten_bit=FULL)),
        # A port of 5 GT/s may follow a specification that lets it refuse 8-bit tags.
        (
            "extended-tags-off",
            {NIC_PORT: {"speeds": (5.0, 5.0)}}
            | both(NICS, speeds=(5.0, 5.0), extended_tags=(True, False), ten_bit=(False,) * 3),
        ),
    ],
)
def test_a_fix_that_needs_more_than_one_write_has_no_command(
    rule: str, changes: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    found = next(one for one in examined(changes, tmp_path).findings if one.rule == rule)
    assert found.command is None


def test_the_worst_comes_first(tmp_path: Path) -> None:
    changes = both((NIC_PORT, *NICS), speeds=(32.0, 16.0)) | {DRIVE: {"timeout_off": True, "payloads": (512, 128)}}
    found = examined(changes, tmp_path).findings
    assert [one.rule for one in found] == ["below-both-ends", "mps-below-path", "completion-timeout-off"]
