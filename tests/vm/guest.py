"""Builds the guest from Debian's cloud kernel and busybox."""

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "dpkg", "apt-get")
PACKAGES = "qemu-system-x86 busybox-static cpio kmod xz-utils"
MODULES = ("virtio_pci", "virtio_blk", "vfio_iommu_type1", "vfio-pci", "vmxnet3")
"""Modules that the guest loads first."""
LATER = ("loop", "dm-mod", "md-mod", "nvmet", "target_core_iblock", "zram", "8021q", "bridge", "bonding")
"""Modules that its steps load: a loaded nvmet alone, for example, could export any drive."""
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def missing() -> str:
    """Programs that the guest needs and this machine lacks, with the fix; empty if there are none."""
    lacking = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
    return f"{', '.join(lacking)}: not installed: sudo apt install {PACKAGES}" if lacking else ""


def kernel(folder: Path) -> Path:
    """The folder with the unpacked package of the kernel; unpacks it the first time."""
    root = folder / "kernel"
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        found = re.search(r"Depends: (linux-image-\S+)", _run("apt-cache", "depends", "linux-image-cloud-amd64"))
        if found is None:
            raise SystemExit("linux-image-cloud-amd64: apt does not know this package: sudo apt update")
        subprocess.run(["apt-get", "download", "-q", found[1]], check=True, cwd=root, capture_output=True)
        subprocess.run(["dpkg", "-x", next(root.glob("*.deb")), root], check=True)
        _run("depmod", "-b", root, _version(root))
        (root / "ready").touch()
    return root


def _run(*command: object) -> str:
    words, environment = [str(word) for word in command], {**os.environ, "PATH": _PATH}
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout


def _version(root: Path) -> str:
    return next((root / "lib/modules").iterdir()).name


def image(root: Path) -> Path:
    """The kernel itself."""
    return next((root / "boot").glob("vmlinuz-*"))


def modules(root: Path, names: Iterable[str]) -> list[Path]:
    """These modules, each after its dependencies."""
    found: dict[Path, None] = {}
    for name in names:
        lines = _run("modprobe", "-d", root, "-S", _version(root), "--show-depends", name).splitlines()
        found.update(dict.fromkeys(Path(line.split()[1]) for line in lines if line.startswith("insmod")))
    return list(found)


def initramfs(folder: Path, root: Path, files: dict[str, Path], init: str) -> Path:
    """An archive with busybox, the modules, `files`, and the first program."""
    tree = folder / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("bin", "dev", "etc", "lib", "proc", "sys", "tmp", "measure"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", tree / "bin/busybox")
    for order, names in (("order", MODULES), *((name, (name,)) for name in LATER)):
        files_of_order = modules(root, names)
        for module in files_of_order:
            shutil.copy(module, tree / "lib" / module.name)
        (tree / "lib" / order).write_text("".join(f"{module.name}\n" for module in files_of_order))
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n")
    for name, source in files.items():
        (tree / "measure" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, tree / "measure" / name)
    (tree / "init").write_text(init)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    cpio = ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"]
    packed = subprocess.run(cpio, input=names.encode(), check=True, capture_output=True, cwd=tree).stdout
    archive = folder / "initramfs.gz"
    archive.write_bytes(gzip.compress(packed, compresslevel=1, mtime=0))
    return archive
