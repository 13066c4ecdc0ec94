"""What the guest is made of: Debian's cloud kernel, QEMU and busybox, as apt has them."""

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "dpkg", "apt-get")
PACKAGES = "qemu-system-x86 busybox-static cpio kmod xz-utils"
MODULES = ("virtio_pci", "virtio_blk", "vfio_iommu_type1", "vfio-pci")


def missing() -> str:
    """What the guest needs and this machine lacks; empty for nothing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    lacking = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    return f"{', '.join(lacking)}: not installed: sudo apt install {PACKAGES}" if lacking else ""


def kernel(folder: Path) -> Path:
    """The kernel's package, unpacked into a folder once; where its root is."""
    root = folder / "kernel"
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        depends = subprocess.run(
            ["apt-cache", "depends", "linux-image-cloud-amd64"], check=True, capture_output=True, text=True
        ).stdout
        found = re.search(r"Depends: (linux-image-\S+)", depends)
        if found is None:
            raise SystemExit("linux-image-cloud-amd64: apt knows no such package: sudo apt update")
        subprocess.run(["apt-get", "download", "-q", found[1]], check=True, cwd=root, capture_output=True)
        subprocess.run(["dpkg", "-x", next(root.glob("*.deb")), root], check=True)
        _run("depmod", "-b", root, _version(root))
        (root / "ready").touch()
    return root


def _run(*command: object) -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    ran = subprocess.run(
        [str(word) for word in command],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    return ran.stdout


def _version(root: Path) -> str:
    return next((root / "lib/modules").iterdir()).name


def image(root: Path) -> Path:
    """The kernel itself."""
    return next((root / "boot").glob("vmlinuz-*"))


def modules(root: Path) -> list[Path]:
    """Modules that the guest loads, each after those that it needs."""
    found: dict[Path, None] = {}
    for name in MODULES:
        lines = _run("modprobe", "-d", root, "-S", _version(root), "--show-depends", name).splitlines()
        found.update(dict.fromkeys(Path(line.split()[1]) for line in lines if line.startswith("insmod")))
    return list(found)


def initramfs(folder: Path, root: Path, files: dict[str, Path], init: str) -> Path:
    """An archive with busybox, modules, files of ours, and the program that the kernel starts."""
    tree = folder / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("bin", "dev", "etc", "lib", "proc", "sys", "tmp", "measure"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", tree / "bin/busybox")
    order = []
    for module in modules(root):
        shutil.copy(module, tree / "lib" / module.name)
        order.append(module.name)
    (tree / "lib/order").write_text("\n".join(order) + "\n")
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n")
    for name, source in files.items():
        (tree / "measure" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, tree / "measure" / name)
    (tree / "init").write_text(init)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
        input=names.encode(),
        check=True,
        capture_output=True,
        cwd=tree,
    ).stdout
    archive = folder / "initramfs.gz"
    archive.write_bytes(gzip.compress(packed, compresslevel=1, mtime=0))
    return archive
