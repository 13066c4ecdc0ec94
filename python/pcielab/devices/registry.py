"""The kinds of devices that `--device` accepts: the shipped ones, and those of other packages.

A package registers a kind in the entry-point group `pcielab.devices`: the name of the entry point is the word for
`--device`, its value a `Kind` or a function that makes one.
Options of kinds are models of pydantic, since packages in Python define them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import BaseModel

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.devices import cpu, real, rtl, sim
from pcielab.devices.cuda import kind as cuda
from pcielab.devices.cuda.options import CudaOptions
from pcielab.devices.kind import OF_DEVICES, Kind, Takes, messages_by_options
from pcielab.errors import InputError, refusal
from pcielab.library.alike import suggestion
from pcielab.library.profiles.part import Part
from pcielab.work.options import WorkKind

GROUP = "pcielab.devices"

_CPU_TITLE = "A core of this machine: memory without PCIe, the baseline"
_FPGA_TITLE = "The FPGA core on a board, by its PCI address"
_STORES: dict[WorkKind, Takes] = {"messages": Takes(messages_by_options, OF_DEVICES)}


def _at_address(
    name: str, title: str, options: type[Part], constructor: Callable[..., _core.Backend], **more: Any
) -> Kind:
    """A kind at a PCI address; its constructor takes the address and each table of the options."""

    def make(chosen: Part, address: str) -> _core.Backend:
        return constructor(address, *(table.model_dump_json() for _, table in chosen))

    present = more.pop("present", lambda: real.present(name))
    return Kind(name, title, options, make, present, needs_address=True, **more)


_SHIPPED = {
    kind.name: kind
    for kind in (
        Kind("sim", sim.TITLE, None, None, sim.present, sim.TAKES, titled=sim.titled),
        Kind("cpu", _CPU_TITLE, cpu.CpuOptions, cpu.make, cpu.present),
        _at_address("nvme", real.NVME_TITLE, real.NvmeOptions, _core.Backend.nvme),
        _at_address("e1000e", real.E1000E_TITLE, real.HostSideOptions, _core.Backend.e1000e),
        _at_address("pio", real.PIO_TITLE, real.PioOptions, _core.Backend.pio, takes=_STORES),
        Kind("cuda", cuda.TITLE, CudaOptions, cuda.make, cuda.present),
        Kind("rtl", rtl.TITLE, None, None, rtl.present, rtl.TAKES),
        _at_address("fpga", _FPGA_TITLE, real.HostSideOptions, _core.Backend.fpga, present=real.present_boards),
    )
}


def kinds() -> dict[str, Kind]:
    """Every kind, by name."""
    found = dict(_SHIPPED)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found.setdefault(entry.name, _loaded(entry))
    return found


def _loaded(entry: EntryPoint) -> Kind:
    where = f"{entry.dist.name if entry.dist else 'a package'}: entry point {GROUP}: {entry.name}"
    try:
        loaded = entry.load()
        kind = loaded if isinstance(loaded, Kind) else loaded()
    except Exception as error:
        # A broken package must not make the other kinds unusable.
        return _broken(entry.name, f"{where}: {error}")
    if reason := _mistake(kind, entry.name):
        return _broken(entry.name, f"{where}: {reason}")
    return _guarded(kind)


def _mistake(kind: Any, name: str) -> str | None:
    """What is wrong with the kind of a package; None for nothing."""
    if not isinstance(kind, Kind):
        return "must give a pcielab.devices.Kind"
    if kind.name != name:
        return f"its Kind has the name {kind.name!r}: give both the same name"
    if not (isinstance(kind.options, type) and issubclass(kind.options, BaseModel)) or kind.options is BaseModel:
        return "options of its Kind: give a class that inherits from pydantic.BaseModel"
    if not (kind.make is None or callable(kind.make)):
        return "make of its Kind: give a function of the options and the address"
    return None if callable(kind.present) else "present of its Kind: give a function that lists devices"


def _guarded(kind: Kind) -> Kind:
    """The kind of a package, whose mistakes are refusals."""
    # It loads NumPy, which the list of the shipped kinds does without.
    from pcielab.devices.mistakes import located

    make, where = kind.make, f"--device {kind.name}"

    def made(options: Any, address: str | None) -> _core.Backend:
        try:
            with located("make", kind.name):
                backend = make(options, address) if make else None
        except (InputError, _core.UnavailableError):
            raise
        except Exception as error:
            raise refusal("wrong-value", f"{where}: {type(error).__name__}: {error}") from error
        if not isinstance(backend, _core.Backend):
            shown = type(backend).__name__
            raise refusal("wrong-type", f"{where}: make returned {shown}: return devices.bridged({shown}(...))")
        return backend

    def present() -> list[tuple[str, str]]:
        try:
            with located("present", kind.name):
                return [(str(name), str(missing)) for name, missing in kind.present()]
        except Exception as error:
            # The list of the other devices must not suffer.
            return [(kind.name, f"{type(error).__name__}: {error}")]

    return replace(kind, make=made if make else None, present=present)


def _broken(name: str, reason: str) -> Kind:
    def make(_options: Part, _address: str | None) -> _core.Backend:
        raise refusal("unsupported", f"--device {name}: {reason}")

    return Kind(name, "cannot be loaded", Part, make, lambda: [(name, reason)])


@refuses_wrong_types
def open_kind(
    device: str, profile: Mapping[str, Any] | None = None, sets: Mapping[str, object] | None = None
) -> _core.Backend:
    """Make the back end of `--device KIND[:ADDRESS]`.

    Args:
        device: The kind, and an address if it has any.
        profile: Its options as nested tables, as in a TOML file.
        sets: Changes to them by dotted key, as `host.page_bytes`.

    Raises:
        InputError: The kind is unknown, or an option is wrong.
    """
    kind, address = kind_of(device)
    return kind.backend(device, address, profile or {}, sets or {})


def kind_of(device: str) -> tuple[Kind, str | None]:
    """Split `--device KIND[:ADDRESS]` into the kind and the address.

    Raises:
        InputError: The kind is unknown, or it has no addresses.
    """
    name, _, address = device.partition(":")
    # Other packages are loaded only for names that are not shipped.
    known = _SHIPPED if name in _SHIPPED else kinds()
    if name not in known:
        systems_first = sorted(known, key=lambda one: known[one].make is not None)
        raise refusal("not-found", f"--device {name}: unknown: {suggestion(name, systems_first)}")
    kind = known[name]
    if address and kind.make is None:
        raise refusal(
            "conflict", f"--device {device}: runs on a system (--profile) and has no address: give --device {name}"
        )
    return kind, address or None
