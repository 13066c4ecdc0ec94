"""Six machines as `lspci -vvv -nn` and as NCCL topologies, written for tests after public descriptions.

Each has the registers that pcielab reads, and no others. They are not dumps: slots, buses and names are made up,
widths and speeds are those of the descriptions.

* `p5`: two sockets, eight switches with a Gen4 x8 uplink, each with a Gen5 GPU, four NICs and a drive, as users of
  AWS p5 describe what instances show.
* `epyc-5090`: four consumer GPUs on Gen5 x16 ports of one EPYC, each on a stack of its own, a NIC and two drives.
* `dgx`: two sockets, four switches with Gen5 x16 uplinks, each with two GPUs, two NICs and two drives.
* `dual-socket`: two sockets, each with one NIC and a drive; a GPU on the second.
* `cloudlab-epyc`: a Rome server of a testbed: a NIC, a BMC, and links inside the processor.
* `laptop`: a drive, a wireless card and a discrete GPU at rest; nothing says NUMA nodes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_SPEEDS = {1: "2.5", 2: "5", 3: "8", 4: "16", 5: "32"}
_TITLES = {
    "gpu": ("3D controller [0302]", "NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)"),
    "5090": (
        "VGA compatible controller [0300]",
        "NVIDIA Corporation GB202 [GeForce RTX 5090] [10de:2b85] (rev a1)",
    ),
    "laptop-gpu": ("3D controller [0302]", "NVIDIA Corporation AD107M [10de:28e0] (rev a1)"),
    "nic": ("Ethernet controller [0200]", "Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]"),
    "cx5": ("Ethernet controller [0200]", "Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]"),
    "efa": ("Ethernet controller [0200]", "Amazon.com, Inc. Elastic Fabric Adapter (EFA) [1d0f:efa2]"),
    "wireless": ("Network controller [0280]", "Intel Corporation Wi-Fi 6 AX210 [8086:2725] (rev 1a)"),
    "nvme": ("Non-Volatile memory controller [0108]", "Samsung Electronics Co Ltd PM1743 [144d:a826]"),
    "bmc": ("PCI bridge [0604]", "ASPEED Technology, Inc. AST1150 PCI-to-PCI Bridge [1a03:1150] (rev 06)"),
    "internal": (
        "Non-Essential Instrumentation [1300]",
        "Advanced Micro Devices, Inc. [AMD] Starship/Matisse PCIe Dummy Function [1022:148a]",
    ),
}
_BRIDGES = {
    "root": ("Root Port (Slot+)", "Intel Corporation Device [8086:352a] (rev 04)"),
    "amd-root": ("Root Port (Slot+)", "Advanced Micro Devices, Inc. [AMD] Device [1022:14ab] (rev 01)"),
    "amd-internal": (
        "Root Port (Slot-)",
        "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Internal PCIe GPP Bridge 0 to bus[E:B] [1022:1484]",
    ),
    "up": ("Upstream Port", "Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)"),
    "down": ("Downstream Port (Slot+)", "Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)"),
}
_REDIRECTS = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"


Devices = list[tuple[str, int, int]]
"""Kinds of devices with generation and lanes of their links."""


@dataclass
class Machine:
    """The text of a machine, function by function; buses are handed out as they are needed."""

    blocks: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole text."""
        return "\n\n".join(self.blocks) + "\n"

    def host_bridge(self, bus: int) -> None:
        """The host bridge of a stack."""
        self.blocks.append(f"{bus:02x}:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2] (rev 20)")

    def bridge(self, kind: str, slot: str, below: tuple[int, int], link: tuple[int, int], **more: object) -> None:
        """A port: its slot, the buses below it, and generation and lanes of its link."""
        express, name = _BRIDGES[kind]
        lines = [f"{slot} PCI bridge [0604]: {name} (prog-if 00 [Normal decode])"]
        lines += _node(more)
        buses = f"primary={slot[:2]}, secondary={below[0]:02x}, subordinate={below[1]:02x}"
        lines.append(f"\tBus: {buses}, sec-latency=0")
        most = more.get("most", link)
        assert isinstance(most, tuple)
        lines += _express(express, link, mps=512, mrrs=512, most=most)
        if more.get("redirects"):
            lines += ["\tCapabilities: [148 v1] Access Control Services", f"\t\t{_REDIRECTS}"]
        self.blocks.append("\n".join([*lines, "\tKernel driver in use: pcieport"]))

    def empty(self, slot: str, below: int) -> None:
        """A root port with an empty slot."""
        lines = [f"{slot} PCI bridge [0604]: {_BRIDGES['root'][1]} (prog-if 00 [Normal decode])"]
        lines.append(f"\tBus: primary={slot[:2]}, secondary={below:02x}, subordinate={below:02x}, sec-latency=0")
        lines += _express("Root Port (Slot+)", (5, 0), mps=512, mrrs=512)
        self.blocks.append("\n".join(lines))

    def device(self, kind: str, slot: str, link: tuple[int, int], **more: object) -> None:
        """A device: its slot, and generation and lanes of its link."""
        class_name, name = _TITLES[kind]
        lines = [f"{slot} {class_name}: {name}", *_node(more)]
        express = "PCI-Express to PCI/PCI-X Bridge" if kind == "bmc" else "Endpoint, IntMsgNum 0"
        most = more.get("most", link)
        assert isinstance(most, tuple)
        lines += _express(express, link, mps=256, mrrs=4096 if kind in ("nic", "efa") else 512, most=most)
        lines += ["\tCapabilities: [200 v1] Address Translation Service (ATS)", "\t\tATSCtl:\tEnable-, STU: 00"]
        self.blocks.append("\n".join(lines))

    def switch(
        self, kind: str, root: str, first: int, uplink: tuple[int, int], devices: Devices, **more: object
    ) -> int:
        """A root port with a switch and its devices, (kind, generation, lanes) each; returns the next free bus."""
        last = first + 1 + len(devices)
        self.bridge(kind, root, (first, last), uplink, **more)
        self.bridge("up", f"{first:02x}:00.0", (first + 1, last), uplink, **more)
        for number, (_, *link) in enumerate(devices):
            bus = first + 2 + number
            self.bridge("down", f"{first + 1:02x}:{number:02x}.0", (bus, bus), (link[0], link[1]), **more)
        for number, (device, *link) in enumerate(devices):
            self.device(device, f"{first + 2 + number:02x}:00.0", (link[0], link[1]), **more)
        return last + 1

    def direct(self, kind: str, root: str, bus: int, device: str, link: tuple[int, int], **more: object) -> None:
        """A root port with a device."""
        self.bridge(kind, root, (bus, bus), link, **more)
        self.device(device, f"{bus:02x}:00.0", link, **more)


def _node(more: dict[str, object]) -> Iterator[str]:
    yield "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+"
    if more.get("node") is not None:
        yield f"\tNUMA node: {more['node']}"


def _express(
    kind: str, link: tuple[int, int], *, mps: int, mrrs: int, most: tuple[int, int] | None = None
) -> Iterator[str]:
    most_gen, most_lanes = most or (link[0], link[1] or 16)
    yield f"\tCapabilities: [60] Express (v2) {kind}"
    yield "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0"
    yield "\t\t\tExtTag+ RBE+"
    yield "\t\tDevCtl:\tCorrErr- NonFatalErr- FatalErr- UnsupReq-"
    yield "\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+"
    yield f"\t\t\tMaxPayload {mps} bytes, MaxReadReq {mrrs} bytes"
    yield f"\t\tLnkCap:\tPort #0, Speed {_SPEEDS[most_gen]}GT/s, Width x{most_lanes}, ASPM not supported"
    yield "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+"
    speed = _SPEEDS[link[0] if link[1] else 1]
    yield f"\t\tLnkSta:\tSpeed {speed}GT/s, Width x{link[1]}"


def p5() -> str:
    """Eight switches with a Gen4 x8 uplink, four on each socket."""
    made = Machine()
    for number in range(8):
        stack = 0x10 * (2 * number) + 1
        made.host_bridge(stack)
        devices: Devices = [("gpu", 5, 16), *[("efa", 4, 8)] * 4, ("nvme", 4, 4)]
        made.switch("root", f"{stack:02x}:01.0", stack + 1, (4, 8), devices, node=number // 4)
    return made.text()


def epyc_5090() -> str:
    """Four GPUs on four stacks of one socket, a NIC on the first and two drives on the second."""
    made = Machine()
    for number, stack in enumerate((0x00, 0x40, 0x80, 0xC0)):
        made.host_bridge(stack)
        made.direct("amd-root", f"{stack:02x}:01.1", stack + 1, "5090", (5, 16), node=0)
        if number == 0:
            made.direct("amd-root", "00:03.1", 2, "nic", (5, 16), node=0)
        if number == 1:
            made.direct("amd-root", "40:03.1", 0x42, "nvme", (5, 4), node=0)
            made.direct("amd-root", "40:03.2", 0x43, "nvme", (5, 4), node=0)
    return made.text()


def dgx() -> str:
    """Four switches with Gen5 x16 uplinks, two on each socket; ACS redirects on the ports of the last."""
    made = Machine()
    for number in range(4):
        stack = 0x15 + 0x30 * number
        made.host_bridge(stack)
        devices: Devices = [("gpu", 5, 16)] * 2 + [("nic", 5, 16)] * 2 + [("nvme", 4, 4)] * 2
        more = {"node": number // 2, "redirects": number == 3}
        made.switch("root", f"{stack:02x}:01.0", stack + 1, (5, 16), devices, **more)
    return made.text()


def dual_socket() -> str:
    """Two sockets with a NIC and a drive each, a GPU on the second, and an empty slot."""
    made = Machine()
    for node, stack in ((0, 0x15), (1, 0x97)):
        made.host_bridge(stack)
        made.direct("root", f"{stack:02x}:01.0", stack + 1, "nic", (5, 16), node=node)
        made.direct("root", f"{stack:02x}:03.0", stack + 2, "nvme", (4, 4), node=node)
    made.direct("root", "97:05.0", 0x9A, "gpu", (5, 16), node=1)
    made.empty("97:07.0", 0x9B)
    return made.text()


def cloudlab_epyc() -> str:
    """A Rome server with one NIC, a BMC, and links inside the processor; texts of it show no NUMA nodes."""
    made = Machine()
    made.host_bridge(0x00)
    made.direct("amd-root", "00:01.1", 1, "cx5", (3, 16))
    made.direct("amd-internal", "00:07.1", 2, "internal", (4, 16))
    made.host_bridge(0xC0)
    made.direct("amd-root", "c0:05.2", 0xC1, "bmc", (2, 1))
    return made.text()


def laptop() -> str:
    """A drive, a wireless card, and a GPU whose link rests at 2.5 GT/s."""
    made = Machine()
    made.host_bridge(0)
    made.bridge("root", "00:01.0", (1, 1), (1, 8), most=(4, 8))
    made.device("laptop-gpu", "01:00.0", (1, 8), most=(4, 8))
    made.direct("root", "00:06.0", 2, "nvme", (4, 4))
    made.direct("root", "00:1c.0", 3, "wireless", (2, 1))
    return made.text()


MACHINES: dict[str, Callable[[], str]] = {
    "p5": p5,
    "epyc-5090": epyc_5090,
    "dgx": dgx,
    "dual-socket": dual_socket,
    "cloudlab-epyc": cloudlab_epyc,
    "laptop": laptop,
}

NCCL = """\
<system version="1">
  <cpu host_hash="0x0" numaid="0" affinity="00ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:16:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe"
         link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe"
           link_width="16">
        <gpu dev="1" sm="90" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:19:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe"
           link_width="16">
        <gpu dev="0" sm="90" rank="1" gdr="1"/>
      </pci>
      <pci busid="0000:1a:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe"
           link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1122334455667788" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x0" numaid="1" affinity="ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:76:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="16.0 GT/s PCIe"
         link_width="8">
      <gpu dev="2" sm="90" rank="2" gdr="1"/>
    </pci>
  </cpu>
</system>
"""
"""The first switch of `dgx` as NCCL writes it, with other names for its GPUs, and a GPU without a switch."""
