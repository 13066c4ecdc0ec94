"""Options for facts about a machine that a tool's file does not give."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcielab.cli.option_groups import annotated, option, takes
from pcielab.cli.quantities import size_option

if TYPE_CHECKING:
    from pcielab.formats.importers.tools.given import Given

_PANEL = "Machine"


def _option(name: str, kind: Any, metavar: str, meaning: str) -> Any:
    return option(name, kind, None, meaning, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


def _size(name: str, meaning: str) -> Any:
    return annotated(
        name, int | None, None, size_option(f"--{name}", meaning, rich_help_panel=_PANEL, show_default=False)
    )


_OPTIONS = [
    _option("doctor", Path | None, "FILE", "Machine of `pcielab doctor --save`: gives link, MPS and MRRS."),
    _option("address", str | None, "BDF", "PCI address of the device, e.g. 0000:17:00.0."),
    _option("link", str | None, "LINK", "Negotiated link, generation and lanes, e.g. gen5x16."),
    _size("mps", "Maximum payload size of the device."),
    _size("mrrs", "Maximum read request size of the device."),
    _option("numa", int | None, "NODE", "NUMA node of the host memory that the tool used."),
]


def _given(options: Mapping[str, Any]) -> "Given":
    from pcielab.formats.importers.tools.given import Given

    machine: dict[str, dict[str, Any]] = {}
    if options["doctor"] is not None:
        from pcielab.doctor import device_links, read_file
        from pcielab.errors import InputError

        machine = device_links(read_file(options["doctor"]))
        if not machine:
            raise InputError(f"--doctor {options['doctor']}: no device with a link: run the doctor with sudo")
    return Given(
        link=options["link"],
        mps_bytes=options["mps"],
        mrrs_bytes=options["mrrs"],
        numa_node=options["numa"],
        address=options["address"],
        machine=machine,
        machine_source=f"--doctor {options['doctor']}",
    )


takes_machine_options = takes("given", _OPTIONS, _given)
"""Adds the options to a command, which gets their facts as its parameter `given`."""
