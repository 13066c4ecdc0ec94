"""The kinds of back ends that `--device` knows: those that are shipped, and those of other packages.

A package offers a kind through the entry-point group `pcielab.devices`: an entry point whose name is the word
that people write, and whose value is a `Kind`, or a function that makes one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pcielab import _core
from pcielab.devices import cpu, real, rtl
from pcielab.devices.cuda import kind as cuda
from pcielab.devices.cuda.options import CudaOptions
from pcielab.errors import InputError
from pcielab.library.profiles.part import Part
from pcielab.library.validation import checked, suggestion

GROUP = "pcielab.devices"
OF_SYSTEMS = ("sim", "rtl")
"""Kinds whose options are the profile of a system: they have ways of their own to be opened."""


@dataclass(frozen=True)
class Kind:
    """A kind of back end.

    Attributes:
        name: The word that it is chosen by.
        title: One line for people.
        options: Everything that it can be told, as a model with the tables `device` and `host`, as far as it has
        them.
        make: Makes the back end from options and an address (`cuda:1`); raises `InputError` for what cannot be.
        present: What could be measured here: names, and what is missing for each, empty for nothing. Opens
        nothing.
    """

    name: str
    title: str
    options: type[Part]
    make: Callable[[Any, str | None], _core.Backend]
    present: Callable[[], Sequence[tuple[str, str]]]


_SHIPPED = (
    Kind(
        "cpu", "A core of this machine: memory without PCIe, the baseline", cpu.CpuOptions, cpu.make, cpu.present
    ),
    Kind("nvme", real.NVME_TITLE, real.NvmeOptions, real.make_nvme, lambda: real.present("nvme")),
    Kind("e1000e", real.E1000E_TITLE, real.NicOptions, real.make_nic, lambda: real.present("e1000e")),
    Kind("pio", real.PIO_TITLE, real.PioOptions, real.make_pio, lambda: real.present("pio")),
    Kind("cuda", cuda.TITLE, CudaOptions, cuda.make, cuda.present),
    Kind("rtl", rtl.TITLE, rtl.RtlOptions, rtl.make, rtl.present),
    Kind(
        "fpga",
        "The FPGA core on a board, by its PCI address",
        real.BoardOptions,
        real.make_board,
        real.present_boards,
    ),
)


def kinds() -> dict[str, Kind]:
    """Every kind but those on systems, by name."""
    found = {kind.name: kind for kind in _SHIPPED}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, _loaded(entry))
    return found


def _loaded(entry: EntryPoint) -> Kind:
    where = f"{entry.dist.name if entry.dist else 'a package'}: entry point {GROUP}: {entry.name}"
    try:
        loaded = entry.load()
        kind = loaded if isinstance(loaded, Kind) else loaded()
    except Exception as error:
        # Whatever a foreign package does wrong, the other devices are not to be lost by it.
        return _broken(entry.name, f"{where}: {error}")
    return kind if isinstance(kind, Kind) else _broken(entry.name, f"{where}: is no pcielab.devices.Kind")


def _broken(name: str, reason: str) -> Kind:
    def make(_options: Part, _address: str | None) -> _core.Backend:
        raise InputError(f"--device {name}: {reason}")

    return Kind(name, "cannot be loaded", Part, make, lambda: [(name, reason)])


def open_kind(
    device: str, profile: Mapping[str, Any] | None = None, sets: Mapping[str, object] | None = None
) -> _core.Backend:
    """The back end that `--device KIND[:ADDRESS]` means.

    Args:
        device: The kind, and an address where there are several.
        profile: Its options as nested tables, as a TOML file has them.
        sets: Changes to them by dotted key, as `host.page_bytes`.

    Raises:
        InputError: There is no such kind, or its options cannot be.
    """
    kind, address, options = kind_and_options(device, profile, sets)
    return kind.make(options, address)


def kind_and_options(
    device: str, profile: Mapping[str, Any] | None = None, sets: Mapping[str, object] | None = None
) -> tuple[Kind, str | None, Any]:
    """What `--device KIND[:ADDRESS]` means: the kind, the address, and the options; see `open_kind`.

    Raises:
        InputError: There is no such kind, or its options cannot be.
    """
    name, _, address = device.partition(":")
    known = kinds()
    if name in OF_SYSTEMS:
        raise InputError(
            f"--device {device}: is on a system (--profile), and has no address: give --device {name}"
        )
    if name not in known:
        raise InputError(f"--device {name}: unknown: {suggestion(name, dict.fromkeys((*OF_SYSTEMS, *known)))}")
    kind = known[name]
    content = _with_changes(profile or {}, sets or {})
    return kind, address or None, checked(kind.options, content, f"--device {name}")


def _with_changes(content: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in content.items()}
    for key, value in changes.items():
        table, _, last = key.partition(".")
        inner = changed.setdefault(table, {})
        if not last or not isinstance(inner, dict):
            raise InputError(f"--set {key}: give device.KEY=VALUE or host.KEY=VALUE")
        inner[last] = value
    return changed
