"""The guest's machine: QEMU without hardware acceleration, with an emulated IOMMU and devices to measure.

Its numbers say nothing about PCIe; it shows that measuring works with a real kernel.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from patience import HANGS_AFTER_SECONDS

PASSED = 33
"""Exit code of QEMU after the guest writes 16 to its exit device; any other code, even 0, is a failure."""
DISK_BYTES = 64 << 20
BAR_BYTES = 64 << 20

COMMAND_LINE = "console=ttyS0 quiet intel_iommu=on panic=-1 tsc=reliable no_timer_check mitigations=off"
"""By default the kernel does not trust the time stamp counter, and each reading of the clock exits the guest.
Nor does it trust its timer: on a busy machine, too few interrupts arrive during its check, and it panics.
Mitigations are useless in a guest that runs only our programs, and slow each call down."""

_ONE_VIRTUAL_FUNCTION = "sriov_max_vfs=1,sriov_vq_flexible=2,sriov_vi_flexible=1,max_ioqpairs=4,msix_qsize=5"
"""Options of a drive with a virtual function, which takes queues and interrupts of it."""


@dataclass(frozen=True)
class Ended:
    """The exit code and the console output of a guest that has ended."""

    code: int
    console: str


def start(folder: Path, kernel: Path, initramfs: Path) -> Ended:
    """Run a guest to its end: its output disk is then `out.raw`, and the BAR that it stored into `bar.raw`."""
    for name in ("drive0.raw", "drive1.raw", "drive2.raw", "out.raw", "bar.raw"):
        path = folder / name
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(BAR_BYTES if name == "bar.raw" else DISK_BYTES)
    console = folder / "console.log"
    console.unlink(missing_ok=True)
    command = ["qemu-system-x86_64", *_arguments(folder), "-kernel", str(kernel), "-initrd", str(initramfs)]
    try:
        ended = subprocess.run(command, timeout=HANGS_AFTER_SECONDS, stdin=subprocess.DEVNULL, check=False)
        code = ended.returncode
    except subprocess.TimeoutExpired:
        code = 124
    return Ended(code, console.read_text(errors="replace") if console.exists() else "")


def _arguments(folder: Path) -> list[str]:
    def disk(number: int) -> list[str]:
        file = f"{folder}/drive{number}.raw,format=raw,cache=unsafe,discard=unmap"
        return ["-drive", f"if=none,id=d{number},file={file}"]

    def drive(number: int, bus: str, extra: str) -> list[str]:
        return [*disk(number), "-device", f"nvme,bus={bus},drive=d{number},serial=pcielab{number}{extra}"]

    def port(number: int, bus: str) -> list[str]:
        return ["-device", f"pcie-root-port,id=rp{number},chassis={number + 1},slot={number + 1},bus={bus}"]

    return [
        *("-machine", "q35,kernel-irqchip=split", "-accel", "tcg,thread=multi", "-cpu", "max,-cx16", "-smp", "2"),
        *("-m", "768", "-nodefaults", "-nic", "none", "-display", "none", "-no-reboot"),
        *("-object", "memory-backend-ram,id=m0,size=512M", "-object", "memory-backend-ram,id=m1,size=256M"),
        *("-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1,memdev=m1"),
        *("-serial", f"file:{folder}/console.log", "-append", COMMAND_LINE),
        *("-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
        *("-device", "pxb-pcie,id=pxb1,bus_nr=128,numa_node=1,bus=pcie.0"),
        *port(0, "pcie.0"),
        *("-device", "edu,bus=rp0"),
        *port(1, "pcie.0"),
        *drive(0, "rp1", ",cmb_size_mb=16"),
        *port(2, "pxb1"),
        *drive(1, "rp2", ""),
        *port(4, "pcie.0"),
        *("-device", "nvme-subsys,id=both,nqn=both"),
        *("-device", f"nvme,id=spare,bus=rp4,serial=pcielab2,subsys=both,{_ONE_VIRTUAL_FUNCTION}"),
        *(*disk(2), "-device", "nvme-ns,bus=spare,drive=d2"),
        *port(5, "pcie.0"),
        # A program that QEMU runs answers connections to this address; nothing else is reached. Without IPv6,
        # whose router would give the guest a default route at some time.
        *("-netdev", "user,id=net1,restrict=on,ipv6=off,guestfwd=tcp:10.0.2.100:22-cmd:cat"),
        *("-device", "vmxnet3,bus=rp5,netdev=net1,romfile="),
        *port(3, "pcie.0"),
        *("-netdev", "hubport,id=net0,hubid=0", "-device", "e1000e,bus=rp3,netdev=net0,romfile="),
        *("-object", f"memory-backend-file,id=bar,share=on,mem-path={folder}/bar.raw,size={BAR_BYTES}"),
        *("-device", "ivshmem-plain,memdev=bar,bus=pcie.0"),
        # A peer: behind a port, so that the kernel can reset it.
        *port(6, "pcie.0"),
        *("-object", "memory-backend-ram,id=peer,share=on,size=1M"),
        *("-device", "ivshmem-plain,memdev=peer,bus=rp6"),
        *("-drive", f"if=none,id=out,file={folder}/out.raw,format=raw"),
        *("-device", "virtio-blk-pci,drive=out,bus=pcie.0"),
    ]
